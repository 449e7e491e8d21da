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

/// Tables of a settings file, each with its keys.
const TABLES: &[(&str, &[&str])] = &[
    ("policy", &["safe", "bounded", "unknown", "unsafe"]),
    ("evidence", &["stamp", "shutdown_flush"]),
    ("report", &["notify_command"]),
];

/// Longest time, in seconds: a day.
const MAX_SECONDS: u64 = 86_400;

/// Most words of a command.
const MAX_WORDS: usize = 64;

/// Everything the admin can set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `[policy]`: travels in the image.
    pub policy: Policy,
    /// `[evidence] stamp`.
    pub stamp: StampChoice,
    /// `[evidence] shutdown_flush`, in seconds: how long a writeback cache may be written back at an orderly shutdown. 0:
    /// never.
    pub shutdown_flush: u64,
    /// `[report] notify_command`: program and arguments; empty: mail to root.
    pub notify_command: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            stamp: StampChoice::default(),
            shutdown_flush: 60,
            notify_command: Vec::new(),
        }
    }
}

/// `[evidence] stamp`: whether `originboot install` makes a stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StampChoice {
    /// `"auto"`: for every cached volume of root's VG.
    #[default]
    Auto,
    /// `"none"`: never.
    None,
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
            let word = name.get_ref().as_ref();
            let Some((table, keys)) = TABLES.iter().find(|(table, _)| *table == word) else {
                return Err(self.error(Some(name.span()), no_table(word, value.get_ref().is_table())));
            };
            let DeValue::Table(content) = value.get_ref() else {
                return Err(self.error(Some(name.span()), format!("\"{table}\" is a table; write [{table}]")));
            };
            for (key, value) in content {
                let name = key.get_ref().as_ref();
                if !keys.contains(&name) {
                    let reason = format!("unknown key \"{name}\" in [{table}]{}", hint(name, keys));
                    return Err(self.error(Some(key.span()), reason));
                }
                set(settings, table, name, value.get_ref()).map_err(|reason| self.error(Some(value.span()), reason))?;
            }
        }
        Ok(())
    }

    fn error(&self, span: Option<std::ops::Range<usize>>, reason: String) -> SettingsError {
        let at = span.map(|span| position(self.text, span.start));
        SettingsError { path: self.path.to_owned(), at, reason }
    }
}

/// A name at the top that is no table of ours.
fn no_table(word: &str, is_table: bool) -> String {
    let tables: Vec<&str> = TABLES.iter().map(|(table, _)| *table).collect();
    match (is_table, TABLES.iter().find(|(_, keys)| keys.contains(&word))) {
        (false, Some((table, _))) => format!("key \"{word}\" stands outside its table; write [{table}] above it"),
        (false, None) => format!("unknown key \"{word}\"{}", hint(word, &tables)),
        (true, _) => format!("unknown table [{word}]{}", hint(word, &tables)),
    }
}

/// Sets one known key, or says what is wrong with its value.
fn set(settings: &mut Settings, table: &str, key: &str, value: &DeValue<'_>) -> Result<(), String> {
    let word = |known: &str| {
        value.as_str().ok_or_else(|| format!("{key} is {}, not a word in quotes: {known}", value.type_str()))
    };
    match (table, key) {
        ("evidence", "shutdown_flush") => {
            settings.shutdown_flush = seconds(key, word("\"60s\", \"0s\" for never")?)?;
        }
        ("evidence", _) => {
            settings.stamp = match word("\"auto\" or \"none\"")? {
                "auto" => StampChoice::Auto,
                "none" => StampChoice::None,
                other => return Err(format!("stamp is \"auto\" or \"none\", not \"{other}\"")),
            };
        }
        ("report", _) => settings.notify_command = command(key, value)?,
        _ => {
            settings.policy.set(key, word("\"detach\", \"preview\" or \"hold\"")?).map_err(|e| e.to_string())?;
        }
    }
    Ok(())
}

/// `60s`, `5min`.
fn seconds(key: &str, word: &str) -> Result<u64, String> {
    let number = |end: &str| word.strip_suffix(end).and_then(|digits| digits.parse::<u32>().ok()).map(u64::from);
    let seconds = number("s").or_else(|| Some(number("min")? * 60));
    match seconds {
        Some(seconds) if seconds <= MAX_SECONDS => Ok(seconds),
        Some(_) => Err(format!("{key} is at most {MAX_SECONDS}s, not \"{word}\"")),
        None => Err(format!("{key} is a time such as \"60s\" or \"5min\", not \"{word}\"")),
    }
}

/// A program and its arguments. No shell sees them, and `PATH` is not asked.
fn command(key: &str, value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let wanted = format!("{key} is a list of words, the program first: [\"/usr/local/bin/tell\", \"--urgent\"]");
    let DeValue::Array(items) = value else {
        return Err(format!("{wanted}, not {}", value.type_str()));
    };
    let words: Option<Vec<String>> = items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect();
    let words = words.ok_or_else(|| wanted.clone())?;
    match words.first() {
        Some(program) if !program.starts_with('/') => {
            Err(format!("{key}: \"{program}\" is not a path that begins with /"))
        }
        _ if words.len() > MAX_WORDS => Err(format!("{key} has more than {MAX_WORDS} words")),
        _ if words.iter().any(|word| word.contains('\0')) => Err(format!("{key}: no word may hold a NUL")),
        _ => Ok(words),
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
            (
                "[policy]\n  unknown = \"drop\"\n",
                ":2:13: \"drop\" is no action; known are \"detach\", \"preview\" and \"hold\"",
            ),
            ("[polciy]\nunknown = \"hold\"\n", ":1:2: unknown table [polciy]; did you mean \"policy\"?"),
            (
                "# nothing\nunknown = \"detach\"\n",
                ":2:1: key \"unknown\" stands outside its table; write [policy] above it",
            ),
            (
                "[policy]\nunknown = true\n",
                ":2:11: unknown is boolean, not a word in quotes: \"detach\", \"preview\" or \"hold\"",
            ),
            ("policy = 1\n", ":1:1: \"policy\" is a table; write [policy]"),
            ("stamp = \"none\"\n", ":1:1: key \"stamp\" stands outside its table; write [evidence] above it"),
            ("[evidence]\nstamp = \"no\"\n", ":2:9: stamp is \"auto\" or \"none\", not \"no\""),
            ("[evidence]\nstamp = false\n", ":2:9: stamp is boolean, not a word in quotes: \"auto\" or \"none\""),
            (
                "[evidence]\nshutdown_flush = \"60\"\n",
                ":2:18: shutdown_flush is a time such as \"60s\" or \"5min\", not \"60\"",
            ),
            (
                "[evidence]\nshutdown_flush = 60\n",
                ":2:18: shutdown_flush is integer, not a word in quotes: \"60s\", \"0s\" for never",
            ),
            ("[evidence]\nshutdown_flush = \"2000min\"\n", ":2:18: shutdown_flush is at most 86400s, not \"2000min\""),
            (
                "[report]\nnotify_comand = []\n",
                ":2:1: unknown key \"notify_comand\" in [report]; did you mean \"notify_command\"?",
            ),
            (
                "[report]\nnotify_command = \"/bin/tell me\"\n",
                ":2:18: notify_command is a list of words, the program first: [\"/usr/local/bin/tell\", \"--urgent\"], \
                 not string",
            ),
            (
                "[report]\nnotify_command = [\"tell\"]\n",
                ":2:18: notify_command: \"tell\" is not a path that begins with /",
            ),
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
        for key in TABLES.iter().flat_map(|(_, keys)| *keys) {
            assert!(text.contains(&format!("\n#{key} = ")), "{key}");
        }
    }

    #[test]
    fn the_manual_has_every_key_with_its_default() {
        let page = include_str!("../../packaging/man/originboot.toml.5");
        for (table, _) in TABLES {
            assert!(page.contains(&format!("\n.SH [{table}]\n")), "{table}");
        }
        let vendor = include_str!("../../hooks/usr/lib/originboot/originboot.toml");
        for key in TABLES.iter().flat_map(|(_, keys)| *keys) {
            let line = vendor.lines().find_map(|l| l.strip_prefix(&format!("#{key} = "))).unwrap();
            let default = line.replace('"', "\\(dq");
            assert!(page.contains(&format!("\n.BR {key} \" (default {default})\"\n")), "{key}");
        }
    }

    #[test]
    fn a_command_is_words_and_a_later_layer_takes_it_back() {
        let command = |text| read(text).unwrap().notify_command;
        assert_eq!(command("[report]\nnotify_command = [\"/bin/tell\", \"a b\"]\n"), ["/bin/tell", "a b"]);
        assert_eq!(read("[evidence]\nstamp = \"none\"\n").unwrap().stamp, StampChoice::None);
        let flush = |word| read(&format!("[evidence]\nshutdown_flush = \"{word}\"\n")).unwrap().shutdown_flush;
        assert_eq!([flush("0s"), flush("90s"), flush("5min")], [0, 90, 300]);
        let layers = [
            Layer { path: "a", text: "[report]\nnotify_command = [\"/bin/tell\"]\n" },
            Layer { path: "b", text: "[report]\nnotify_command = []\n" },
        ];
        assert_eq!(Settings::from_layers(&layers).unwrap(), Settings::default());
    }

    proptest! {
        #[test]
        fn no_input_panics(text in any::<String>(), key in "[a-z]{1,9}") {
            let _ = read(&text);
            let _ = read(&format!("[policy]\n{key} = {text}"));
        }
    }
}
