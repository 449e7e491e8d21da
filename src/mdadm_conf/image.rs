//! What an image's copy of mdadm.conf lacks, as Debian's hook makes it (mdadm 4.2-5 and 4.4-11,
//! `/usr/share/initramfs-tools/hooks/mdadm`): `/etc/mdadm/mdadm.conf`, else `/etc/mdadm.conf`, without the folder beside
//! it, and with lines that begin with CREATE commented out. A file in which no line begins with ARRAY is replaced by what
//! `mkconf` finds at that moment.

use super::effective::Effective;
use super::finding::Severity;
use super::lint::{Rules, Source, documents};
use super::machine::{Host, RealArray, array_line, arrays, free_names, names_of, needed, unlisted};
use super::repair::examine;
use super::version::Version;

/// A line to be added to the image's copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageLine {
    /// Name of the array; empty where it gets none.
    pub name: String,
    /// UUID of the array, as mdadm prints it.
    pub uuid: String,
    /// The ARRAY line, without its line end.
    pub line: String,
}

/// The lines that the copy of `source` lacks for what the machine boots from: none where mdadm keeps a line for each of
/// these arrays. Where the hook replaces the file, or there is none, what will stand there is not known: a line for every
/// such array, to be added where the copy has none.
///
/// # Errors
/// A sentence, where the copy would keep the machine from booting with the lines too. It is then left as it is.
pub fn image_lines(source: Option<&Source>, version: Version, host: &Host<'_>) -> Result<Vec<ImageLine>, String> {
    let all = arrays(host);
    if !all.iter().any(RealArray::is_needed) {
        // Nothing that the machine boots from is on an array; others may have lines or not.
        return Ok(Vec::new());
    }
    let needed = needed(&all);
    let Some((source, bytes)) = source.and_then(|source| Some((source, copied(&source.bytes)?))) else {
        return Ok(lines(host, &needed, []));
    };
    let mut copy = Source { path: source.path.clone(), bytes };
    let added: Vec<ImageLine> = {
        let files = documents(std::slice::from_ref(&copy));
        let effective = Effective::of(&files, version);
        lines(host, &unlisted(&files, &effective, host, &all, &needed), names_of(&effective))
    };
    for line in &added {
        copy.bytes.extend_from_slice(format!("\n{}\n", line.line).as_bytes());
    }
    let rules = Rules { version, debian: false };
    let mut breaking: Vec<String> = Vec::new();
    for finding in examine(std::slice::from_ref(&copy), rules, Some((host, &all))) {
        if finding.severity == Severity::Breaking && !breaking.iter().any(|code| code == finding.code.word()) {
            breaking.push(finding.code.word().to_owned());
        }
    }
    if breaking.is_empty() {
        return Ok(added);
    }
    Err(format!(
        "{} would keep the machine from booting ({}); the image gets it as it is: originboot check mdadm-conf --fix",
        source.path,
        breaking.join(", ")
    ))
}

/// The bytes as the hook leaves them; `None` where it makes a file of its own.
fn copied(bytes: &[u8]) -> Option<Vec<u8>> {
    let lines = || bytes.split_inclusive(|byte| *byte == b'\n');
    if !lines().any(|line| line.starts_with(b"ARRAY")) {
        return None;
    }
    let mut copy = Vec::with_capacity(bytes.len());
    for line in lines() {
        if line.starts_with(b"CREATE") {
            copy.push(b'#');
        }
        copy.extend_from_slice(line);
    }
    Some(copy)
}

/// Lines for these arrays, none with the name of another one or of a line that is there: mdadm would assemble nothing.
fn lines<'n>(host: &Host<'_>, arrays: &[&RealArray], taken: impl IntoIterator<Item = &'n str>) -> Vec<ImageLine> {
    let named = arrays.iter().zip(free_names(host, arrays, taken));
    let line = |(array, name): (&&RealArray, Option<String>)| {
        let line = array_line(host, array, name.as_deref())?;
        Some(ImageLine { name: name.unwrap_or_default(), uuid: array.uuid?.to_string(), line })
    };
    named.filter_map(line).collect()
}
