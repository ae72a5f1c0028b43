//! A problem of a configuration.

/// One problem, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// 1-based line in the file; none when the value isn't from the file.
    pub line: Option<usize>,
    /// The key, such as `forge.url`; empty when no key is wrong.
    pub key: String,
    /// What is wrong and what to do about it, for the operator.
    pub what: String,
}

impl Problem {
    pub(super) fn plain(what: &str) -> Problem {
        Problem { line: None, key: String::new(), what: what.to_owned() }
    }
}
