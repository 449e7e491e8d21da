//! The record in words.

use super::record::{Missing, Ran, Record};

impl Record {
    pub fn text(&self, file: &str, this_boot: bool, next: &[String]) -> String {
        let mut out = format!("{}: {}\n", if this_boot { "this boot" } else { "an earlier boot" }, self.headline());
        out.push_str(&format!(
            "  when      {} (the clock of that boot), {} s after the kernel started\n",
            utc(self.time),
            self.uptime
        ));
        for pv in &self.missing {
            out.push_str(&format!("  missing   {} (PV {})\n", pv.name(), pv.id));
        }
        let verdict = [self.verdict.as_str(), self.code.as_str()].join(" ");
        if !verdict.trim().is_empty() {
            out.push_str(&format!("  verdict   {}\n", verdict.trim()));
        }
        let facts: Vec<String> = self.evidence.iter().map(|e| format!("{} ({})", e.fact, e.source)).collect();
        lines(&mut out, "evidence", &facts);
        lines(&mut out, "because", &self.reasons);
        if !self.vg.is_empty() {
            let seqno = match (self.seqno_before, self.seqno_after) {
                (before, after) if before == after => format!("{}: seqno {before}, not written to", self.vg),
                (before, after) => format!("{}: seqno {before} before, {after} after", self.vg),
            };
            lines(&mut out, "VG", &[seqno]);
        }
        if let Some(layer) = &self.preview {
            lines(
                &mut out,
                "layer",
                &[format!("{} MiB over {}, in {}", layer.store_bytes >> 20, layer.origin, layer.store)],
            );
        }
        let commands: Vec<String> = self.commands.iter().map(Ran::text).collect();
        lines(&mut out, "ran", &commands);
        lines(&mut out, "backup", &self.saved);
        lines(&mut out, "next", next);
        out.push_str(&format!("  record    {file}\n"));
        clean(&out)
    }

    pub fn headline(&self) -> String {
        match self.outcome.as_str() {
            "detached" => "the cache was detached, root runs from its origin".to_owned(),
            "activated" => "root was activated by name; a device of its VG is missing".to_owned(),
            "previewed" => "a preview: root is shown over a layer in RAM, nothing of this boot is kept".to_owned(),
            "held" if self.seqno_before != self.seqno_after => {
                "the boot was held after a step had failed its check".to_owned()
            }
            "held" => "the boot was held, nothing was written to any disk".to_owned(),
            "stopped" => "a step failed its check, and nothing more was done".to_owned(),
            other => format!("outcome \"{other}\""),
        }
    }

    /// What the reader can do now: the record's own words, which fit what was done, behind a look at the result.
    pub fn next(&self) -> Vec<String> {
        let first = match self.outcome.as_str() {
            "detached" | "activated" => Some("originboot inspect: see what root stands on now"),
            "previewed" => Some("copy what you need off this machine: it is gone at power-off"),
            _ => None,
        };
        first.map(str::to_owned).into_iter().chain(self.remedy.iter().cloned()).collect()
    }
}

impl Missing {
    /// `Samsung SSD S3Z9, was /dev/vdb`.
    pub fn name(&self) -> String {
        let what = [self.model.as_str(), self.serial.as_str()].join(" ");
        let what = if what.trim().is_empty() { "a physical volume" } else { what.trim() };
        let was = if self.device.is_empty() { String::new() } else { format!(", was {}", self.device) };
        format!("{what}{was}")
    }
}

impl Ran {
    fn text(&self) -> String {
        let words: Vec<String> = self.argv.iter().map(|word| quote(word)).collect();
        // As `execute::Ran` has it: 128 + signal, as in the shell; none at all where the program was never started.
        let status = match (self.timed_out, self.status) {
            (true, _) => "stopped at its time limit".to_owned(),
            (false, Some(status @ 129..=192)) => format!("ended by signal {}", status - 128),
            (false, Some(status)) => format!("exit status {status}"),
            (false, None) => "did not run".to_owned(),
        };
        let last = self.output.lines().rev().map(str::trim).find(|line| !line.is_empty());
        let said = last.filter(|_| self.status != Some(0)).map(|line| format!(": {line}")).unwrap_or_default();
        format!("{}: {status}, {} ms{said}", words.join(" "), self.ms)
    }
}

/// As one would type it.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Names come from disks: nothing may move the cursor.
pub(in crate::cli) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '?' } else { c }).collect()
}

fn lines(out: &mut String, heading: &str, lines: &[String]) {
    for (i, line) in lines.iter().enumerate() {
        out.push_str(&format!("  {:<8}  {line}\n", if i == 0 { heading } else { "" }));
    }
}

/// Seconds since 1970 as date and time (days to a civil date: proleptic Gregorian calendar, years from March).
pub(super) fn utc(time: i64) -> String {
    let (days, second) = (time.div_euclid(86_400), time.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{:02} UTC", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_796_075_999), "2026-11-30 21:59:59 UTC");
        // A hostile number is not a panic.
        let _ = (utc(i64::MAX / 2), utc(i64::MIN / 2));
    }

    #[test]
    fn a_command_says_how_it_ended_and_why() {
        let ran = |status, timed_out, output: &str| {
            Ran { argv: vec!["lvm".into()], status, timed_out, ms: 5, output: output.into() }.text()
        };
        assert_eq!(ran(Some(0), false, "done\n"), "lvm: exit status 0, 5 ms");
        assert_eq!(ran(Some(5), false, "a\n  No such VG\n\n"), "lvm: exit status 5, 5 ms: No such VG");
        assert_eq!(ran(Some(139), false, ""), "lvm: ended by signal 11, 5 ms");
        assert_eq!(ran(None, true, ""), "lvm: stopped at its time limit, 5 ms");
        assert_eq!(ran(None, false, "lvm: No such file"), "lvm: did not run, 5 ms: lvm: No such file");
    }
}
