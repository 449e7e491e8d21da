//! ARRAY lines for arrays that are there.

use std::collections::HashSet;

use super::checks::bare;
use super::{Host, RealArray, arrays};

/// The name an array should have: the first of [`candidates`].
#[must_use]
pub fn name_for(host: &Host<'_>, array: &RealArray) -> Option<String> {
    candidates(host, array).into_iter().next().map(|(_, name)| name)
}

/// Names that would do, the best first, each with its rank: the one it is mounted by, its link, its own name less the
/// host, its own name with the host, its number.
fn candidates(host: &Host<'_>, array: &RealArray) -> Vec<(usize, String)> {
    let running = array.running.as_deref().unwrap_or_default();
    let used = used_paths(host).into_iter().map(|(path, _)| path).find(|path| {
        path.strip_prefix("/dev/").is_some_and(|name| name == running && !running.is_empty())
            || array.path.as_deref() == Some(path.as_str())
    });
    let (home, own) = array.title.split_once(':').unwrap_or(("", &array.title));
    let long = (!home.is_empty() && !own.is_empty()).then(|| format!("/dev/md/{home}_{own}"));
    let own = (!own.is_empty()).then(|| format!("/dev/md/{own}"));
    let number = (!running.is_empty()).then(|| format!("/dev/{running}"));
    let all = [used, array.path.clone(), own, long, number].into_iter().enumerate();
    all.filter_map(|(rank, name)| Some((rank, name.filter(|name| is_plain(name))?))).collect()
}

/// A name for each of these arrays: no two are one device, and none is a device of `taken`. What is mounted by a name
/// gets it; of two arrays with the same name of their own this host's does, and one that the machine boots from. `None`
/// where no name is left.
pub(in crate::mdadm_conf) fn free_names<'n>(
    host: &Host<'_>,
    arrays: &[&RealArray],
    taken: impl IntoIterator<Item = &'n str>,
) -> Vec<Option<String>> {
    let mut taken: HashSet<String> = taken.into_iter().map(|name| bare(name).to_owned()).collect();
    let mut offers = Vec::new();
    for (index, array) in arrays.iter().enumerate() {
        let foreign = array.title.split_once(':').is_some_and(|(home, _)| home != host.hostname);
        let offer = |(rank, name)| (rank, foreign, !array.is_needed(), index, name);
        offers.extend(candidates(host, array).into_iter().map(offer));
    }
    offers.sort();
    let mut names: Vec<Option<String>> = vec![None; arrays.len()];
    for (.., index, name) in offers {
        if let Some(slot @ None) = names.get_mut(index)
            && taken.insert(bare(&name).to_owned())
        {
            *slot = Some(name);
        }
    }
    names
}

/// Nothing that would be another word on the line: a superblock's name can be anything.
fn is_plain(name: &str) -> bool {
    let bare = name.strip_prefix("/dev/md/").or_else(|| name.strip_prefix("/dev/")).unwrap_or(name);
    let good = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    (1..=32).contains(&bare.len()) && !bare.starts_with(['.', '-']) && bare.bytes().all(good)
}

/// The ARRAY line for an array under this name, without its line end; `None` where its UUID is not known.
#[must_use]
pub fn array_line(host: &Host<'_>, array: &RealArray, name: Option<&str>) -> Option<String> {
    let uuid = array.uuid?;
    let name = name.map_or_else(String::new, |name| format!(" {name}"));
    let metadata = match &array.inside {
        Some((container, number)) => {
            let all = arrays(host);
            let holder = all.iter().find(|other| other.holds(array)).and_then(|holder| holder.uuid);
            let holder = holder.map_or_else(|| format!("/dev/{container}"), |uuid| uuid.to_string());
            let plain = number.bytes().all(|b| b.is_ascii_digit());
            format!(" container={holder}{}", if plain { format!(" member={number}") } else { String::new() })
        }
        None if array.metadata.is_empty() => String::new(),
        None => format!(" metadata={}", array.metadata),
    };
    Some(format!("ARRAY{name}{metadata} UUID={uuid}"))
}

/// The lines for what the machine boots from, those below others and containers first; for all arrays where nothing is
/// known of what it boots from.
#[must_use]
pub fn needed_lines(host: &Host<'_>) -> Vec<String> {
    let all = arrays(host);
    let needed = needed(&all);
    let names = free_names(host, &needed, []);
    needed.into_iter().zip(names).filter_map(|(array, name)| array_line(host, array, name.as_deref())).collect()
}

/// The arrays that [`needed_lines`] is about.
pub(in crate::mdadm_conf) fn needed(all: &[RealArray]) -> Vec<&RealArray> {
    let known = all.iter().any(RealArray::is_needed);
    let holds = |array: &RealArray| all.iter().any(|other| other.is_needed() && array.holds(other));
    all.iter().filter(|array| !known || array.is_needed() || holds(array)).collect()
}

/// Paths of arrays in fstab and on the kernel command line, and where each stands; a partition's number taken off.
pub(super) fn used_paths(host: &Host<'_>) -> Vec<(String, &'static str)> {
    let fstab = host.fstab.lines().filter(|line| !line.trim_start().starts_with('#'));
    let fstab = fstab.filter_map(|line| Some((line.split_whitespace().next()?, "/etc/fstab")));
    let cmdline = host.cmdline.split_whitespace();
    let cmdline = cmdline.filter_map(|word| Some((word.strip_prefix("root=")?, "the kernel command line")));
    let mut paths: Vec<(String, &'static str)> =
        fstab.chain(cmdline).filter_map(|(path, place)| Some((whole_array(path)?, place))).collect();
    paths.dedup();
    paths
}

/// `/dev/md0p1` is on `/dev/md0`.
fn whole_array(path: &str) -> Option<String> {
    if let Some(name) = path.strip_prefix("/dev/md/") {
        return (!name.is_empty()).then(|| path.to_owned());
    }
    let digits = path.strip_prefix("/dev/md")?;
    let number = digits.split_once('p').map_or(digits, |(number, _)| number);
    (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then(|| format!("/dev/md{number}"))
}
