//! `originboot explain CODE`: the page of a finding, or when a boot is held with this code.

use super::{Outcome, Usage, out};
use crate::mdadm_conf::Code;
use crate::settings::hint;

/// Every page, as the reader finds it in the documentation too.
const PAGES: &str = include_str!("../../docs/mdadm-conf.md");

/// When a boot is held, code by code: a table of `codes | when | shown by`.
const REFUSALS: &str = include_str!("../../docs/backends.md");

/// Explain a code that `check`, `simulate` or a held boot names
///
/// Of a finding: what is wrong, what it does at boot, what to do. Of a held
/// boot: when that is so.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The code as printed; without one, all codes are listed
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

impl Args {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let Some(word) = self.code else {
            let findings = Code::ALL.iter().map(|code| (code.word(), code.title()));
            let line = |(code, what): (&str, &str)| format!("{code:<28} {what}\n");
            let mut list = String::from("findings of \"check\"\n");
            list.extend(findings.map(line));
            list.push_str("\nwhy a boot is held\n");
            list.extend(refusals().into_iter().map(line));
            out::print(list.as_bytes())?;
            return Ok(Outcome::Fine);
        };
        let Some(code) = Code::named(&word) else {
            if let Some((code, when)) = refusals().into_iter().find(|(code, _)| code.eq_ignore_ascii_case(&word)) {
                let way = if when.contains("Has a token") {
                    "Reconnect the cache device and reboot. To go on without it, and accept what only the cache may have \
                     held: the screen shows a token for \"originboot detach TOKEN\" in the initramfs shell, or \
                     rd.originboot=detach:TOKEN on the kernel command line."
                } else {
                    "Reconnect what is missing, or mend what is said above, and reboot; no token goes past this code."
                };
                let text = format!(
                    "{code}: the boot is held\n\nWhen: {when}\n\n{way}\n\nNothing is written to any disk then. \"originboot simulate\" \
                     and the initramfs shell name the remedy of the case; docs/troubleshooting.md goes by what is on \
                     the screen.\n"
                );
                out::print(text.as_bytes())?;
                return Ok(Outcome::Fine);
            }
            let refusals = refusals();
            let known: Vec<&str> =
                Code::ALL.iter().map(|code| code.word()).chain(refusals.iter().map(|(code, _)| *code)).collect();
            let shown: String = word.chars().take(60).filter(|c| !c.is_control()).collect();
            let hint = hint(&word.to_ascii_uppercase(), &known);
            return Err(Usage(format!("\"{shown}\" is no code that originboot prints{hint}")).into());
        };
        let page = page(code).unwrap_or_default();
        out::print(format!("{}: {}\n\n{page}\n", code.word(), code.title()).as_bytes())?;
        Ok(Outcome::Fine)
    }
}

/// The text below a code's heading.
fn page(code: Code) -> Option<&'static str> {
    let heading = format!("\n### {}\n", code.word());
    let (_, rest) = PAGES.split_once(&heading)?;
    Some(rest.split("\n#").next().unwrap_or_default().trim())
}

/// Each code of a refusal and when it is given.
fn refusals() -> Vec<(&'static str, &'static str)> {
    let table = REFUSALS.split_once("\n### What is refused\n").map_or("", |(_, rest)| rest);
    let table = table.split("\n#").next().unwrap_or_default();
    let mut found = Vec::new();
    for row in table.lines().filter(|row| row.starts_with("| `")) {
        let mut cells = row.split('|').map(str::trim).skip(1);
        let (Some(codes), Some(when)) = (cells.next(), cells.next()) else { continue };
        found.extend(codes.split('`').filter(|c| !c.is_empty() && *c != ", ").map(|code| (code, when)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_a_refusal_is_explained() {
        let mut codes = vec!["DIRTY", "EVIDENCE_MISSING", "HELD", LOST];
        for source in [include_str!("../decide/rules.rs"), include_str!("../decide/compose.rs")] {
            for before in ["veto(", "code: "] {
                let words = source.split(before).skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"'));
                codes.extend(words.filter_map(|rest| rest.split('"').next()));
            }
        }
        assert!(codes.len() > 15, "{codes:?}");
        let explained = refusals();
        for code in &codes {
            assert!(explained.iter().any(|(word, when)| word == code && when.len() > 10), "{code}");
        }
        for (word, _) in &explained {
            assert!(codes.contains(word), "{word} is given by nobody");
        }
    }

    #[test]
    fn a_refusal_with_a_token_says_so_in_its_row() {
        let has = |word: &str| refusals().iter().any(|(code, when)| *code == word && when.contains("Has a token"));
        assert!(has("EVIDENCE_MISSING") && !has("ORIGIN_MISSING"));
    }

    /// `decide::compose::LOST`.
    const LOST: &str = "LV_LOST";

    #[test]
    fn every_code_has_a_page_and_every_page_a_code() {
        for code in Code::ALL {
            assert!(page(*code).is_some_and(|page| page.len() > 100), "{}", code.word());
        }
        for heading in PAGES.lines().filter_map(|line| line.strip_prefix("### ")) {
            assert!(Code::named(heading).is_some_and(|code| code.word() == heading), "{heading}");
        }
    }
}
