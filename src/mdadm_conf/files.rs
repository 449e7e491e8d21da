//! Which files mdadm reads, in which order (mdadm `config.c:load_conffile`).

/// A file and the folder that is read after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// The file; it may also be a folder.
    pub file: &'static str,
    /// The folder whose files ending in `.conf` follow.
    pub folder: &'static str,
}

const ETC: Candidate = Candidate { file: "/etc/mdadm.conf", folder: "/etc/mdadm.conf.d" };
const ETC_MDADM: Candidate = Candidate { file: "/etc/mdadm/mdadm.conf", folder: "/etc/mdadm/mdadm.conf.d" };

/// The first one whose file can be opened is read, with its folder; where none can, the first one's folder. Debian
/// builds mdadm with the other order than everybody else.
#[must_use]
pub fn candidates(debian: bool) -> [Candidate; 2] {
    if debian { [ETC_MDADM, ETC] } else { [ETC, ETC_MDADM] }
}

/// The files of a folder that are read, in order: `*.conf`, no dot files, by their bytes.
#[must_use]
pub fn of_folder(mut names: Vec<String>) -> Vec<String> {
    names.retain(|name| name.len() > 5 && name.ends_with(".conf") && !name.starts_with('.'));
    names.sort_unstable();
    names
}

/// An os-release(5) file is of Debian or a distribution made from it.
#[must_use]
pub fn is_debian(os_release: &str) -> bool {
    let fields = os_release.lines().filter_map(|line| line.split_once('='));
    let ids =
        fields.filter(|(key, _)| matches!(*key, "ID" | "ID_LIKE")).map(|(_, value)| value.trim_matches(['"', '\'']));
    ids.flat_map(str::split_whitespace).any(|id| matches!(id, "debian" | "ubuntu" | "devuan"))
}

/// The version of an installed package in dpkg's status file.
#[must_use]
pub fn dpkg_version<'s>(status: &'s str, package: &str) -> Option<&'s str> {
    let field = |stanza: &'s str, key: &str| stanza.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
    status.split("\n\n").find(|stanza| field(stanza, "Package") == Some(package)).and_then(|s| field(s, "Version"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_reads_the_folder_s_file_first() {
        assert_eq!(candidates(true)[0].file, "/etc/mdadm/mdadm.conf");
        assert_eq!(candidates(false)[0].file, "/etc/mdadm.conf");
        assert!(is_debian("NAME=x\nID=raspbian\nID_LIKE=\"debian\"\n"));
        assert!(!is_debian("ID=fedora\nID_LIKE=\"rhel\"\nHOME_URL=https://debian/\n"));
    }

    #[test]
    fn only_conf_files_in_byte_order() {
        let names = ["b.conf", "a.conf", ".x.conf", "c.conf~", ".conf", "Z.conf", "mdadm.conf.bak"];
        assert_eq!(of_folder(names.map(str::to_owned).to_vec()), ["Z.conf", "a.conf", "b.conf"]);
    }

    #[test]
    fn the_version_of_a_package() {
        let status = "Package: a\nVersion: 1\n\nPackage: mdadm\nStatus: install ok installed\nVersion: 4.2-5\n\n";
        assert_eq!(dpkg_version(status, "mdadm"), Some("4.2-5"));
        assert_eq!(dpkg_version(status, "lvm2"), None);
    }
}
