//! Reading the layers of `originboot.toml`.

use crate::settings::{ADMIN_FILE, ADMIN_FOLDER, Layer, MAX_SETTINGS, Settings, SettingsError, VENDOR_FILE};
use crate::sys::Root;

/// The settings of the system in `root`. A file that is not there is an empty one.
///
/// # Errors
/// [`SettingsError`]: a file that cannot be read, is not UTF-8, or says something wrong.
pub fn read_settings(root: &Root) -> Result<Settings, SettingsError> {
    let wrong = |path: &str, reason: String| SettingsError { path: path.to_owned(), at: None, reason };
    let mut paths = vec![VENDOR_FILE.to_owned(), ADMIN_FILE.to_owned()];
    let names = root.list(ADMIN_FOLDER).map_err(|e| wrong(ADMIN_FOLDER, e.reason))?.unwrap_or_default();
    // The rest are editors' and dpkg's leftovers, as in every conf.d.
    let names = names.iter().filter(|name| name.ends_with(".toml") && !name.starts_with('.'));
    paths.extend(names.map(|name| format!("{ADMIN_FOLDER}/{name}")));
    let mut texts = Vec::new();
    for path in paths {
        let Some(bytes) = root.read(&path, MAX_SETTINGS).map_err(|e| wrong(&path, e.reason))? else { continue };
        let text = String::from_utf8(bytes).map_err(|_| wrong(&path, "not UTF-8".to_owned()))?;
        texts.push((path, text));
    }
    let layers: Vec<Layer<'_>> = texts.iter().map(|(path, text)| Layer { path, text }).collect();
    Settings::from_layers(&layers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Action;

    #[test]
    fn conf_d_is_read_in_the_order_of_its_names_and_wins() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("etc/originboot/conf.d");
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, word: &str| {
            std::fs::write(folder.join(name), format!("[policy]\nunknown = \"{word}\"\n")).unwrap();
        };
        write("../originboot.toml", "detach");
        let root = Root::new(dir.path()).unwrap();
        let unknown = || read_settings(&root).unwrap().policy.unknown;
        assert_eq!(unknown(), Action::Detach);
        write("10-a.toml", "hold");
        assert_eq!(unknown(), Action::Hold);
        write("20-b.toml", "detach");
        assert_eq!(unknown(), Action::Detach);
        write("30-c.toml.dpkg-old", "hold");
        assert_eq!(unknown(), Action::Detach);
        write("40-d.toml", "drop");
        assert!(read_settings(&root).unwrap_err().to_string().starts_with("/etc/originboot/conf.d/40-d.toml:2:11: "));
    }
}
