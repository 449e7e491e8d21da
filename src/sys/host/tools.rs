//! Executables of a system, and the links that call them by another name.

use crate::sys::Root;

/// Folders that are searched, in this order; the first that holds the name wins. With a merged `/usr` the last two are
/// links to the first.
const FOLDERS: &[&str] = &["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The path of an executable, and of every link in its folder that leads to it.
#[must_use]
pub fn find_tool(root: &Root, name: &str) -> Option<(String, Vec<String>)> {
    let folder = FOLDERS.iter().find(|folder| root.exists(&format!("{folder}/{name}")))?;
    let mut links = Vec::new();
    for entry in root.list(folder).ok().flatten().unwrap_or_default() {
        let path = format!("{folder}/{entry}");
        let target = root.link(&path).and_then(|t| t.into_string().ok());
        let leads_here = target.is_some_and(|t| t == name || t == format!("{folder}/{name}"));
        if leads_here && entry != name {
            links.push(path);
        }
    }
    Some((format!("{folder}/{name}"), links))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_name_of_a_tool_is_found_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("usr/sbin");
        std::fs::create_dir_all(&bin).unwrap();
        for name in ["pdata_tools", "lvm"] {
            std::fs::write(bin.join(name), "").unwrap();
        }
        symlink("pdata_tools", bin.join("cache_check")).unwrap();
        symlink("/usr/sbin/pdata_tools", bin.join("cache_dump")).unwrap();
        symlink("lvm", bin.join("vgs")).unwrap();
        let root = Root::new(dir.path()).unwrap();
        let (path, links) = find_tool(&root, "pdata_tools").unwrap();
        assert_eq!(path, "/usr/sbin/pdata_tools");
        assert_eq!(links, ["/usr/sbin/cache_check", "/usr/sbin/cache_dump"]);
        assert_eq!(find_tool(&root, "mdadm"), None);
    }
}
