//! All checks together, and the edits that put right what they find.

use std::collections::{BTreeSet, HashSet};

use super::effective::{Effective, Uuid};
use super::finding::{Code, Edit, Finding, Fix, Severity, apply};
use super::lint::{Meant, Rules, Source, check, sort};
use super::machine::{Host, RealArray, check_machine};

/// Rounds of edits. Each removes what it can; most files need one, wrapped ones two.
const ROUNDS: usize = 16;

/// The machine, where it is to be asked.
pub type Machine<'m> = Option<(&'m Host<'m>, &'m [RealArray])>;

/// Everything that is found.
#[must_use]
pub fn examine(sources: &[Source], rules: Rules, machine: Machine<'_>) -> Vec<Finding> {
    let mut findings = check(sources, rules);
    if let Some((host, arrays)) = machine {
        let meant = Meant::of(sources);
        let files = meant.documents(sources);
        let effective = Effective::of(&files, rules.version);
        let seen = check_machine(&files, &effective, host, arrays);
        // What the machine says of a place is more than what the text says of it.
        let told: HashSet<_> = seen.iter().filter_map(|finding| Some((finding.code, finding.place?))).collect();
        findings.retain(|old| old.place.is_none_or(|place| !told.contains(&(old.code, place))));
        findings.extend(seen);
        let none = arrays.is_empty();
        for finding in findings.iter_mut().filter(|finding| finding.code == Code::NoArrays && !none) {
            finding.severity = Severity::Degrading;
        }
        sort(&mut findings);
    }
    findings
}

/// Files with edits made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// The files, those that did not change too.
    pub sources: Vec<Source>,
    /// What was done, in order: the code and the fix's title.
    pub done: Vec<(Code, String)>,
    /// What is still found.
    pub left: Vec<Finding>,
}

/// Makes the edits of every finding of at least this severity.
///
/// # Errors
/// A sentence, where a file is no text, and where the edits would do harm: lose an array that mdadm keeps now, or add
/// something that keeps the machine from booting. Nothing is to be written then.
pub fn repair(sources: &[Source], rules: Rules, machine: Machine<'_>, least: Severity) -> Result<Repaired, String> {
    let mut now = Repaired { sources: sources.to_vec(), done: Vec::new(), left: Vec::new() };
    let before = kept(sources, rules);
    let mut breaking = Vec::new();
    for round in 0.. {
        now.left = examine(&now.sources, rules, machine);
        if round == ROUNDS {
            break;
        }
        if round == 0 {
            if let Some(binary) = now.left.iter().find(|finding| finding.code == Code::Binary) {
                return Err(format!("{}; nothing is changed", binary.reason));
            }
            breaking = breaks(&now.left);
        }
        let fixes: Vec<(Code, &Fix)> = now
            .left
            .iter()
            .filter(|finding| finding.severity >= least)
            .filter_map(|finding| Some((finding.code, finding.fix.as_ref()?)))
            // A line that was added and is not seen would be added for ever.
            .filter(|(code, fix)| !appends(*code) || !now.done.iter().any(|(c, t)| c == code && *t == fix.title))
            .collect();
        let (edits, done) = apart(&fixes);
        if edits.is_empty() {
            break;
        }
        now.done.extend(done);
        for (file, source) in now.sources.iter_mut().enumerate() {
            let mine: Vec<Edit> = edits.iter().filter(|edit| edit.file == file).cloned().collect();
            if !mine.is_empty() {
                source.bytes = apply(&source.bytes, mine);
            }
        }
    }
    let repeated = |sources: &[Source]| {
        let files = super::documents(sources);
        Effective::of(&files, rules.version).duplicate_message()
    };
    if let (None, Some(says)) = (repeated(sources), repeated(&now.sources)) {
        return Err(format!("with the edits mdadm would assemble nothing ({says}); nothing is changed"));
    }
    let worse = breaks(&now.left);
    if worse.len() > breaking.len() {
        let known: HashSet<&(Code, String)> = breaking.iter().collect();
        let new = worse.iter().find(|finding| !known.contains(finding)).or(worse.last());
        let why = new.map_or_else(String::new, |(code, reason)| format!(" ({}: {reason})", code.word()));
        return Err(format!("the edits would add what keeps the machine from booting{why}; nothing is changed"));
    }
    let after = kept(&now.sources, rules);
    // What the machine knows to be gone may go.
    let gone = |uuid: &&Uuid| machine.is_some_and(|(_, real)| !real.iter().any(|array| array.uuid == Some(**uuid)));
    match before.difference(&after).find(|uuid| !gone(uuid)) {
        Some(lost) => Err(format!("the edits would lose the array {lost}; nothing is changed")),
        None => Ok(now),
    }
}

/// What keeps the machine from booting: the code and the reason.
fn breaks(findings: &[Finding]) -> Vec<(Code, String)> {
    let breaking = findings.iter().filter(|finding| finding.severity == Severity::Breaking);
    breaking.map(|finding| (finding.code, finding.reason.clone())).collect()
}

/// The edits add a line, as the array of the finding has none.
fn appends(code: Code) -> bool {
    matches!(code, Code::MissingArray | Code::AutoExcludes)
}

/// Edits that do not touch each other; the rest waits for the next round.
fn apart(fixes: &[(Code, &Fix)]) -> (Vec<Edit>, Vec<(Code, String)>) {
    let mut taken: Vec<Edit> = Vec::new();
    let mut known: HashSet<&Edit> = HashSet::new();
    let mut ends: BTreeSet<(usize, usize, usize)> = BTreeSet::new();
    let mut done = Vec::new();
    for (code, fix) in fixes {
        if fix.edits.iter().all(|edit| known.contains(edit)) {
            continue;
        }
        let appended =
            |edit: &Edit| *code == Code::MissingArray || (*code == Code::AutoExcludes && edit.start == edit.end);
        let clear = |edit: &Edit| {
            let before = ends.range(..(edit.file, edit.end + 1, 0)).next_back();
            before.is_none_or(|(file, _, end)| *file != edit.file || *end < edit.start)
        };
        if fix.edits.iter().all(|edit| appended(edit) || clear(edit)) {
            ends.extend(fix.edits.iter().map(|edit| (edit.file, edit.start, edit.end)));
            taken.extend(fix.edits.iter().cloned());
            known.extend(&fix.edits);
            done.push((*code, fix.title.clone()));
        }
    }
    (taken, done)
}

/// UUIDs of the arrays that mdadm keeps, of the files as they are.
fn kept(sources: &[Source], rules: Rules) -> BTreeSet<Uuid> {
    let files = super::documents(sources);
    Effective::of(&files, rules.version).arrays.iter().filter_map(|array| Some(array.uuid?.value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mdadm_conf::Version;

    /// Two lines have run together, and apart they have one name: dropped now, and a stop for everything then.
    #[test]
    fn what_would_stop_everything_is_no_repair() {
        let conf = "ARRAY /dev/md0 UUID=5a6b0c11:9f3e2d70:41c8e7aa:0b19d4f2\n\
                    MAILADDR root\n ARRAY /dev/md0 UUID=77e1a40b:c2d95f18:8e03b6d4:f1a2c3b4\n";
        let sources = [Source { path: "f".to_owned(), bytes: conf.as_bytes().to_vec() }];
        let rules = Rules { version: Version::NEWEST, debian: true };
        let error = repair(&sources, rules, None, Severity::Degrading).unwrap_err();
        assert!(error.contains("have the same name: /dev/md0") && error.ends_with("nothing is changed"), "{error}");
    }
}
