//! The template engine: delimiters that no shell text contains, and shell quoting by default.
//!
//! `"@{ value }@"` inside double quotes would be quoted twice: a test looks for it. `@{ value | safe }@` is for words
//! that this program wrote itself.

use std::io::{self, Write};
use tera::{Delimiters, Tera};

/// Why a template gave no text. Values that no shell word can hold are found before rendering.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The template or its context is wrong: a fault of this program.
    #[error("rendering {template}: {reason}")]
    Template {
        /// Template name.
        template: String,
        /// The engine's words.
        reason: String,
    },
    /// A value with a control character: it could end a comment or a line.
    #[error("\"{value}\" cannot stand in a generated file: it has a control character")]
    Control {
        /// The value, escaped.
        value: String,
    },
}

/// An engine with these templates.
///
/// # Errors
/// [`RenderError::Template`] when one does not parse.
pub fn engine(templates: &[(&'static str, &'static str)]) -> Result<Tera, RenderError> {
    let wrong = |e: tera::Error| RenderError::Template { template: "the templates".to_owned(), reason: chain(&e) };
    let mut tera = Tera::new();
    tera.set_delimiters(Delimiters {
        variable_start: "@{".into(),
        variable_end: "}@".into(),
        block_start: "@%".into(),
        block_end: "%@".into(),
        comment_start: "@#".into(),
        comment_end: "#@".into(),
    })
    .map_err(wrong)?;
    tera.autoescape_on(vec![".sh"]);
    tera.set_escape_fn(quote);
    tera.add_raw_templates(templates.iter().copied()).map_err(wrong)?;
    Ok(tera)
}

/// Renders one template.
///
/// # Errors
/// [`RenderError::Template`].
pub fn render(tera: &Tera, template: &str, context: &tera::Context) -> Result<String, RenderError> {
    tera.render(template, context)
        .map_err(|e| RenderError::Template { template: template.to_owned(), reason: chain(&e) })
}

/// Refuses a value that could leave the line it is put on.
///
/// # Errors
/// [`RenderError::Control`].
pub fn checked(value: &str) -> Result<&str, RenderError> {
    if value.chars().any(char::is_control) {
        return Err(RenderError::Control { value: value.escape_debug().to_string() });
    }
    Ok(value)
}

/// Writes a value as one POSIX shell word: bare where every character is harmless, else in single quotes.
fn quote(value: &str, out: &mut dyn Write) -> io::Result<()> {
    if value.chars().any(char::is_control) {
        return Err(io::Error::other("a control character"));
    }
    let harmless = |c: char| c.is_ascii_alphanumeric() || "._/+:,%@-".contains(c);
    if !value.is_empty() && !value.starts_with('-') && value.chars().all(harmless) {
        return out.write_all(value.as_bytes());
    }
    write!(out, "'{}'", value.replace('\'', r"'\''"))
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text.push_str(": ");
        text.push_str(&source.to_string());
        next = source.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(name: &'static str, template: &'static str, value: &str) -> Result<String, RenderError> {
        let mut context = tera::Context::new();
        context.insert("v", value);
        render(&engine(&[(name, template)])?, name, &context)
    }

    #[test]
    fn a_value_in_a_script_is_one_word_and_elsewhere_it_is_itself() {
        for (value, word) in [
            ("/usr/sbin/lvm", "/usr/sbin/lvm"),
            ("a b", "'a b'"),
            ("$(reboot)", "'$(reboot)'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("-rf", "'-rf'"),
            ("~root", "'~root'"),
            ("a=b", "'a=b'"),
        ] {
            assert_eq!(
                rendered("x.sh", "run @{ v }@ \"${#x}\"\n", value).unwrap(),
                format!("run {word} \"${{#x}}\"\n")
            );
            assert_eq!(rendered("x.list", "@{ v }@", value).unwrap(), value);
        }
    }

    #[test]
    fn a_newline_never_gets_into_a_script() {
        assert!(rendered("x.sh", "# @{ v }@", "a\nreboot").is_err());
        assert!(matches!(checked("a\nreboot"), Err(RenderError::Control { .. })));
    }
}
