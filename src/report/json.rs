//! Writing JSON without a library: the early program holds none (RFC 8259).

use std::fmt;

/// A JSON value to be printed.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// An integer.
    Number(i64),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Value>),
    /// An object, keys in this order.
    Object(Vec<(&'static str, Value)>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, 0)
    }
}

impl Value {
    fn print(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let indent = |f: &mut fmt::Formatter<'_>, depth: usize| write!(f, "\n{:1$}", "", depth * 2);
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(text) => quote(f, text),
            Self::List(items) if items.is_empty() => f.write_str("[]"),
            Self::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { "," })?;
                    indent(f, depth + 1)?;
                    item.print(f, depth + 1)?;
                }
                indent(f, depth)?;
                f.write_str("]")
            }
            Self::Object(items) => {
                f.write_str("{")?;
                for (i, (key, item)) in items.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { "," })?;
                    indent(f, depth + 1)?;
                    quote(f, key)?;
                    f.write_str(": ")?;
                    item.print(f, depth + 1)?;
                }
                indent(f, depth)?;
                f.write_str("}")
            }
        }
    }
}

fn quote(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            c if (c as u32) < 0x20 || c == '\u{7f}' => write!(f, "\\u{:04x}", c as u32)?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(all(test, feature = "cli"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_json_reader_gets_back_what_was_written(text in any::<String>(), number in any::<i64>()) {
            let value = Value::Object(vec![
                ("text", Value::Text(text.clone())),
                ("list", Value::List(vec![Value::Number(number), Value::Null, Value::Bool(true), Value::List(vec![])])),
            ]);
            let read: serde_json::Value = serde_json::from_str(&value.to_string()).unwrap();
            prop_assert_eq!(read, serde_json::json!({"text": text, "list": [number, null, true, []]}));
        }
    }
}
