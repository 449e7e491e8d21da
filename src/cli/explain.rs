//! `originboot explain CODE`: the page of a finding.

use super::{Outcome, Usage, out};
use crate::mdadm_conf::Code;
use crate::settings::hint;

/// Every page, as the reader finds it in the documentation too.
const PAGES: &str = include_str!("../../docs/mdadm-conf.md");

/// Explain a finding of `check`: what is wrong, what it does at boot, what to
/// do
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Its code, as `check` prints it; without one, all codes are listed
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

impl Args {
    pub(super) fn run(self) -> anyhow::Result<Outcome> {
        let Some(word) = self.code else {
            let list: String = Code::ALL.iter().map(|code| format!("{:<28} {}\n", code.word(), code.title())).collect();
            out::print(list.as_bytes())?;
            return Ok(Outcome::Fine);
        };
        let Some(code) = Code::named(&word) else {
            let known: Vec<&str> = Code::ALL.iter().map(|code| code.word()).collect();
            let shown: String = word.chars().take(60).filter(|c| !c.is_control()).collect();
            let hint = hint(&word.to_ascii_uppercase(), &known);
            return Err(Usage(format!("\"{shown}\" is no code of a finding{hint}")).into());
        };
        let page = page(code).unwrap_or_default();
        out::print(format!("{}: {}\n\n{page}\n", code.word(), code.title()).as_bytes())?;
        Ok(Outcome::Fine)
    }
}

/// The text below a code's heading.
fn page(code: Code) -> Option<&'static str> {
    let heading = format!("\n### {}\n", code.word());
    let (_, rest) = PAGES.split_once(&heading)?;
    Some(rest.split("\n#").next().unwrap_or_default().trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page_and_every_page_a_code() {
        for code in Code::ALL {
            assert!(page(*code).is_some_and(|page| page.len() > 100), "{}", code.word());
        }
        for heading in PAGES.lines().filter_map(|line| line.strip_prefix("### ")) {
            assert!(Code::named(heading).is_some_and(|code| code.word() == heading), "{heading}");
        }
    }
}
