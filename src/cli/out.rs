//! Writing to stdout: bytes, JSON, colour.

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::Context as _;

/// Prints; a reader that has gone away (`| head`) is no error.
pub(super) fn print(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("writing to stdout"),
    }
}

/// Prints a value as JSON. Its fields are documented in docs/json.md.
pub(super) fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(value).context("writing JSON")?;
    text.push('\n');
    print(text.as_bytes())
}

/// The terminal can show line-drawing characters, by the locale's word.
pub(super) fn utf8() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// How a text is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// As it should be.
    Good,
    /// Needs a look.
    Warn,
    /// Needs a hand.
    Bad,
}

/// Colours, on a terminal and not asked otherwise (no-color.org).
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint(bool);

impl Paint {
    /// For stdout.
    pub fn stdout() -> Self {
        let asked_not = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Self(io::stdout().is_terminal() && !asked_not && !dumb)
    }

    /// No colours.
    #[cfg(test)]
    pub fn plain() -> Self {
        Self(false)
    }

    /// The text in its colour (ECMA-48 SGR).
    pub fn text(self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Good => 32,
            Style::Warn => 33,
            Style::Bad => 31,
        };
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
