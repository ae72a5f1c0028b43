//! Which effect a failure is about, as far as the task machine tells them apart.

/// Read from an effect's key, which is what rows of earlier versions have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedEffect {
    /// Of [`crate::Effect::Act`].
    Act {
        /// Number of the action.
        number: u32,
    },
    /// Of [`crate::Effect::Capture`].
    Capture,
    /// Of [`crate::Effect::Keep`].
    Keep,
    /// Of [`crate::Effect::Ask`].
    Ask,
    /// Of any other.
    Another,
}

impl FailedEffect {
    /// Of this key, as [`crate::Effect::key`] makes it.
    pub fn of(key: &str) -> Self {
        let mut parts = key.split(':');
        match (parts.next(), parts.next().map(str::parse)) {
            (Some("act"), Some(Ok(number))) => Self::Act { number },
            (Some("seal"), _) => Self::Capture,
            (Some("keep"), _) => Self::Keep,
            (Some("ask"), _) => Self::Ask,
            (_, _) => Self::Another,
        }
    }
}
