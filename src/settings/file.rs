//! `originboot.toml`: the layers, the keys, the errors. Pure: texts in, settings out.
//!
//! Later layers win, key by key: `/usr/lib/originboot/originboot.toml`, `/etc/originboot/originboot.toml`, then
//! `/etc/originboot/conf.d/*.toml` in the order of their names. A key or table that nobody knows is an error and never
//! ignored: a misspelt `unknown = "hold"` must not leave a machine on a policy that its owner has forbidden.

use super::nearest::hint;
use super::policy::Policy;
use toml::de::{DeTable, DeValue};

/// Longest settings file that is read, in bytes.
pub const MAX_SETTINGS: u64 = 1 << 20;

/// The defaults that the package installs.
pub const VENDOR_FILE: &str = "/usr/lib/originboot/originboot.toml";
/// The admin's file.
pub const ADMIN_FILE: &str = "/etc/originboot/originboot.toml";
/// The folder of the admin's further files.
pub const ADMIN_FOLDER: &str = "/etc/originboot/conf.d";

/// Tables of a settings file.
const TABLES: &[&str] = &["policy"];
/// Keys of `[policy]`.
const POLICY_KEYS: &[&str] = &["safe", "bounded", "unknown", "unsafe"];

/// Everything the admin can set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// `[policy]`.
    pub policy: Policy,
}

/// Why a settings file cannot be used. Nothing of any layer is used then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// The file.
    pub path: String,
    /// Line and column, from 1, where known.
    pub at: Option<(usize, usize)>,
    /// What is wrong, with the nearest known key.
    pub reason: String,
}

impl std::error::Error for SettingsError {}

impl std::fmt::Display for SettingsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.at {
            Some((line, column)) => write!(f, "{}:{line}:{column}: {}", self.path, self.reason),
            None => write!(f, "{}: {}", self.path, self.reason),
        }
    }
}

/// One settings file: its path, for messages, and its text.
#[derive(Debug, Clone, Copy)]
pub struct Layer<'a> {
    /// Path as the reader should see it.
    pub path: &'a str,
    /// The text.
    pub text: &'a str,
}

impl Settings {
    /// Reads the layers, weakest first.
    ///
    /// # Errors
    /// [`SettingsError`] for the first thing that is wrong.
    pub fn from_layers(layers: &[Layer<'_>]) -> Result<Self, SettingsError> {
        let mut settings = Self::default();
        for layer in layers {
            layer.apply(&mut settings)?;
        }
        Ok(settings)
    }
}

impl Layer<'_> {
    fn apply(&self, settings: &mut Settings) -> Result<(), SettingsError> {
        let root = DeTable::parse(self.text).map_err(|e| self.error(e.span(), one_line(e.message())))?;
        for (name, value) in root.get_ref() {
            let span = Some(name.span());
            if name.get_ref() != "policy" {
                let reason = match (value.get_ref().is_table(), POLICY_KEYS.contains(&name.get_ref().as_ref())) {
                    (false, true) => {
                        format!("key \"{0}\" stands outside its table; write [policy] above it", name.get_ref())
                    }
                    (false, false) => format!("unknown key \"{0}\"{1}", name.get_ref(), hint(name.get_ref(), TABLES)),
                    (true, _) => format!("unknown table [{0}]{1}", name.get_ref(), hint(name.get_ref(), TABLES)),
                };
                return Err(self.error(span, reason));
            }
            let DeValue::Table(table) = value.get_ref() else {
                return Err(self.error(span, "\"policy\" is a table; write [policy]".to_owned()));
            };
            self.policy(table, &mut settings.policy)?;
        }
        Ok(())
    }

    fn policy(&self, table: &DeTable<'_>, policy: &mut Policy) -> Result<(), SettingsError> {
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if !POLICY_KEYS.contains(&name) {
                let reason = format!("unknown key \"{name}\" in [policy]{}", hint(name, POLICY_KEYS));
                return Err(self.error(Some(key.span()), reason));
            }
            let Some(word) = value.get_ref().as_str() else {
                let reason =
                    format!("{name} is {}, not a word in quotes: \"detach\" or \"hold\"", value.get_ref().type_str());
                return Err(self.error(Some(value.span()), reason));
            };
            policy.set(name, word).map_err(|e| self.error(Some(value.span()), e.to_string()))?;
        }
        Ok(())
    }

    fn error(&self, span: Option<std::ops::Range<usize>>, reason: String) -> SettingsError {
        let at = span.map(|span| position(self.text, span.start));
        SettingsError { path: self.path.to_owned(), at, reason }
    }
}

/// Line and column, from 1, of a byte offset; columns count characters.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
    (line, column)
}

fn one_line(message: &str) -> String {
    message.trim().replace('\n', ", ")
}

#[cfg(test)]
mod tests {
    use super::super::Action;
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Settings, String> {
        Settings::from_layers(&[Layer { path: "/etc/originboot/originboot.toml", text }]).map_err(|e| e.to_string())
    }

    #[test]
    fn later_layers_win_key_by_key() {
        let layers = [
            Layer { path: "a", text: "[policy]\nsafe = \"hold\"\nunknown = \"hold\"\n" },
            Layer { path: "b", text: "" },
            Layer { path: "c", text: "[policy]\nunknown = \"detach\"\n" },
        ];
        let settings = Settings::from_layers(&layers).unwrap();
        assert_eq!(settings.policy.safe, Action::Hold);
        assert_eq!(settings.policy.unknown, Action::Detach);
        assert_eq!(settings.policy.bounded, Action::Detach);
    }

    #[test]
    fn a_wrong_file_is_an_error_with_its_place_and_the_way_out() {
        for (text, expected) in [
            ("[policy]\nunkown = \"detach\"\n", ":2:1: unknown key \"unkown\" in [policy]; did you mean \"unknown\"?"),
            ("[policy]\n  unknown = \"drop\"\n", ":2:13: \"drop\" is no action; known are \"detach\" and \"hold\""),
            ("[polciy]\nunknown = \"hold\"\n", ":1:2: unknown table [polciy]; did you mean \"policy\"?"),
            (
                "# nothing\nunknown = \"detach\"\n",
                ":2:1: key \"unknown\" stands outside its table; write [policy] above it",
            ),
            ("[policy]\nunknown = true\n", ":2:11: unknown is boolean, not a word in quotes: \"detach\" or \"hold\""),
            ("policy = 1\n", ":1:1: \"policy\" is a table; write [policy]"),
        ] {
            assert_eq!(read(text).unwrap_err(), format!("/etc/originboot/originboot.toml{expected}"));
        }
        assert!(
            read("[policy]\nunsafe = \"detach\"\n").unwrap_err().contains(":2:10: unsafe = \"detach\" is not a policy")
        );
        assert!(read("[policy]\nunknown = detach\n").unwrap_err().contains("originboot.toml:2:"));
        assert!(read("[policy]\nsafe=\"hold\"\nsafe=\"hold\"\n").unwrap_err().contains("originboot.toml:3:1"));
    }

    #[test]
    fn the_installed_file_changes_nothing_and_shows_every_key_with_its_default() {
        let text = include_str!("../../hooks/usr/lib/originboot/originboot.toml");
        assert_eq!(read(text).unwrap(), Settings::default());
        let shown: String = text
            .lines()
            .map(|l| l.strip_prefix('#').filter(|l| !l.starts_with(' ')).unwrap_or(l))
            .collect::<Vec<_>>()
            .join("\n");
        assert_eq!(read(&shown).unwrap(), Settings::default());
        for key in POLICY_KEYS {
            assert!(text.contains(&format!("\n#{key} = ")), "{key}");
        }
    }

    #[test]
    fn the_manual_has_every_key_with_its_default() {
        let page = include_str!("../../packaging/man/originboot.toml.5");
        for table in TABLES {
            assert!(page.contains(&format!("\n.SH [{table}]\n")), "{table}");
        }
        let vendor = include_str!("../../hooks/usr/lib/originboot/originboot.toml");
        for key in POLICY_KEYS {
            let line = vendor.lines().find_map(|l| l.strip_prefix(&format!("#{key} = "))).unwrap();
            let default = line.trim_matches('"');
            assert!(page.contains(&format!("\n.BR {key} \" (default \\(dq{default}\\(dq)\"\n")), "{key}");
        }
    }

    proptest! {
        #[test]
        fn no_input_panics(text in any::<String>(), key in "[a-z]{1,9}") {
            let _ = read(&text);
            let _ = read(&format!("[policy]\n{key} = {text}"));
        }
    }
}
