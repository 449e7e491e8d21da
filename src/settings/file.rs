//! `originboot.toml`: the layers, the keys, the errors.

use super::policy::Policy;

/// Everything the admin can set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// `[policy]`.
    pub policy: Policy,
}

/// Why a settings file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct SettingsError {
    /// The file.
    pub path: String,
    /// What is wrong, with line and column where known, and the nearest known key.
    pub reason: String,
}
