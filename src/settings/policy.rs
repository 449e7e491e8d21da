//! What to do for each verdict.

use crate::decide::Verdict;

/// What is done about a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Make the origin usable without the cache device: persistent, fenced, read-write.
    Detach,
    /// Boot over a layer in RAM, to look: nothing is written to any disk.
    Preview,
    /// Stop in the initramfs shell with the explanation and the commands.
    Hold,
}

/// The `[policy]` table of `originboot.toml`: an [`Action`] for each [`Verdict`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// For [`Verdict::Safe`].
    pub safe: Action,
    /// For [`Verdict::Bounded`].
    pub bounded: Action,
    /// For [`Verdict::Unknown`].
    pub unknown: Action,
    /// For [`Verdict::Unsafe`].
    pub unsafe_: Action,
}

impl Default for Policy {
    fn default() -> Self {
        Self { safe: Action::Detach, bounded: Action::Detach, unknown: Action::Preview, unsafe_: Action::Preview }
    }
}

/// A policy word that cannot stand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// Not an action.
    #[error("\"{0}\" is no action; known are \"detach\", \"preview\" and \"hold\"")]
    Action(String),
    /// Detaching an origin that is known to lack data is never a standing order: it takes the token of the one case.
    #[error(
        "unsafe = \"detach\" is not a policy: it would throw acknowledged data away unasked; use \"preview\" or \"hold\" and boot \
         once with rd.originboot=detach:TOKEN"
    )]
    UnsafeDetach,
}

impl Action {
    /// The word in `originboot.toml` and in the boot plan.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Detach => "detach",
            Self::Preview => "preview",
            Self::Hold => "hold",
        }
    }
}

impl std::str::FromStr for Action {
    type Err = PolicyError;

    fn from_str(word: &str) -> Result<Self, PolicyError> {
        match word {
            "detach" => Ok(Self::Detach),
            "preview" => Ok(Self::Preview),
            "hold" => Ok(Self::Hold),
            other => Err(PolicyError::Action(other.to_owned())),
        }
    }
}

impl Policy {
    /// The action for this verdict.
    #[must_use]
    pub fn action(&self, verdict: Verdict) -> Action {
        match verdict {
            Verdict::Safe => self.safe,
            Verdict::Bounded => self.bounded,
            Verdict::Unknown => self.unknown,
            Verdict::Unsafe => self.unsafe_,
        }
    }

    /// Sets one key (`safe`, `bounded`, `unknown`, `unsafe`). `Ok(false)`: no such key.
    ///
    /// # Errors
    /// [`PolicyError`] when the word is no action, or is one that this verdict may not have.
    pub fn set(&mut self, key: &str, word: &str) -> Result<bool, PolicyError> {
        let action: Action = word.parse()?;
        match key {
            "safe" => self.safe = action,
            "bounded" => self.bounded = action,
            "unknown" => self.unknown = action,
            "unsafe" if action == Action::Detach => return Err(PolicyError::UnsafeDetach),
            "unsafe" => self.unsafe_ = action,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sure_is_detached_and_what_is_not_is_shown() {
        let policy = Policy::default();
        let actions = [Verdict::Safe, Verdict::Bounded, Verdict::Unknown, Verdict::Unsafe].map(|v| policy.action(v));
        assert_eq!(actions, [Action::Detach, Action::Detach, Action::Preview, Action::Preview]);
    }

    #[test]
    fn words_read_back_and_unsafe_is_never_detached() {
        for action in [Action::Detach, Action::Preview, Action::Hold] {
            assert_eq!(action.as_str().parse(), Ok(action));
        }
        assert_eq!(Policy::default().set("unsafe", "detach"), Err(PolicyError::UnsafeDetach));
        assert_eq!(Policy::default().set("unsafe", "preview"), Ok(true));
    }
}
