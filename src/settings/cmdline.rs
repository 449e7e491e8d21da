//! The kernel command line: `rd.originboot=…`, `rd.originboot.wait=…` and what else a decision must know of it.

/// Longest kernel command line that is looked at, in bytes (`COMMAND_LINE_SIZE` is 2048 on x86, 4096 elsewhere).
const MAX_LINE: usize = 65_536;

/// What the command line asks for this one boot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Request {
    /// Nothing, or `auto`: by policy.
    #[default]
    Auto,
    /// `off`: decide nothing, do nothing.
    Off,
    /// `hold`: whatever the verdict, stop and explain.
    Hold,
    /// `preview`: whatever the verdict, boot over a layer in RAM.
    Preview,
    /// `detach:TOKEN`: detach although the verdict forbids it, if this is the token of the case at hand.
    Detach {
        /// The token as given.
        token: String,
    },
    /// A value nobody knows: decide as `hold`, and say so.
    Unknown {
        /// The value as given.
        value: String,
    },
}

/// The kernel command line, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandLine {
    /// `rd.originboot=` (or `originboot=`); the last one wins.
    pub request: Request,
    /// `rd.originboot.wait=` in seconds.
    pub wait: Option<u64>,
    /// `root=` as given.
    pub root: String,
    /// `noresume` stands there.
    pub noresume: bool,
    /// `resume_offset=` stands there: a hibernation image may lie in a swap file.
    pub swap_file: bool,
    /// `panic=` as given: with one, no shell ever opens.
    pub panic: Option<String>,
    /// `quiet` stands there.
    pub quiet: bool,
}

impl CommandLine {
    /// Reads `/proc/cmdline`'s text. Never fails: a word that makes no sense is no word.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut line = Self::default();
        for word in words(text.get(..MAX_LINE).unwrap_or(text)) {
            let (key, value) = word.split_once('=').unwrap_or((word.as_str(), ""));
            match key {
                "rd.originboot" | "originboot" => line.request = request(value),
                "rd.originboot.wait" | "originboot.wait" => line.wait = value.parse().ok(),
                "root" => value.clone_into(&mut line.root),
                "noresume" => line.noresume = true,
                "resume_offset" => line.swap_file = true,
                "panic" => line.panic = Some(value.to_owned()),
                "quiet" => line.quiet = true,
                // Behind "--" the words are init's.
                "--" => break,
                _ => {}
            }
        }
        line
    }
}

fn request(value: &str) -> Request {
    match value {
        "auto" => Request::Auto,
        "off" => Request::Off,
        "hold" => Request::Hold,
        "preview" => Request::Preview,
        _ => match value.strip_prefix("detach:") {
            Some(token) if !token.is_empty() => Request::Detach { token: token.to_owned() },
            _ => Request::Unknown { value: value.to_owned() },
        },
    }
}

/// Splits as the kernel's `next_arg` does: blanks separate, double quotes hold together and are dropped.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c.is_ascii_whitespace() && !quoted => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_request_wins() {
        let line = CommandLine::parse("root=/dev/mapper/vg0-root originboot=off rd.originboot=detach:ab12 quiet");
        assert_eq!(line.request, Request::Detach { token: "ab12".into() });
        assert_eq!(line.root, "/dev/mapper/vg0-root");
        assert!(line.quiet);
    }

    #[test]
    fn a_detach_without_a_token_is_not_a_detach() {
        for text in ["rd.originboot=detach", "rd.originboot=detach:", "rd.originboot=yes", "rd.originboot"] {
            assert!(matches!(CommandLine::parse(text).request, Request::Unknown { .. }), "{text}");
        }
    }

    #[test]
    fn quotes_hold_a_value_together_and_init_arguments_are_not_ours() {
        let line = CommandLine::parse("x=\"a rd.originboot=off\" -- rd.originboot=off panic=3");
        assert_eq!(line.request, Request::Auto);
        assert_eq!(line.panic, None);
    }

    proptest! {
        #[test]
        fn no_input_panics(text in any::<String>()) {
            let _ = CommandLine::parse(&text);
        }
    }
}
