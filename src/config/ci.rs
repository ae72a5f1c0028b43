//! `[repositories.ci]`, and `[ci]` of a `.caisson.toml`: whether the forge's CI is waited for before finished work is shown.

use domain::CiWait;
use serde::Deserialize;

/// Minutes where nothing is said.
const MINUTES: u32 = 60;
/// The longest wait, in minutes.
const MOST_MINUTES: u32 = 24 * 60;
/// Most patterns, and the most bytes of one.
const MOST_CONTEXTS: usize = 20;
const LONGEST_CONTEXT: usize = 200;

/// What the operator, or a repository, says of the forge's CI.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ci {
    /// Whether it is waited for. Where the operator says nothing, the repository's word counts; where neither does, it is not. Where the
    /// operator says it, the repository's other words do not count either.
    pub wait: Option<bool>,
    /// Minutes after which the review is posted without a result, 1 to 1440; 60 where nothing is said.
    pub timeout_min: Option<u32>,
    /// Glob patterns of the statuses that count, by their contexts, each met by one at least; `["*"]` where nothing is said.
    pub contexts: Option<Vec<String>>,
}

impl Ci {
    /// What is waited for, if anything. Where the operator (`self`) says whether to wait, the repository says nothing of it: by patterns that
    /// no status meets it could make that wait an empty one. Otherwise it can ask, within what else the operator set.
    pub fn with(&self, asked: &Ci) -> Option<CiWait> {
        let nothing = Ci::default();
        let asked = if self.wait.is_some() { &nothing } else { asked };
        let wait = self.wait.or(asked.wait).unwrap_or(false);
        let contexts = self.contexts.as_ref().or(asked.contexts.as_ref());
        wait.then(|| CiWait {
            timeout_min: self.timeout_min.or(asked.timeout_min).unwrap_or(MINUTES),
            contexts: contexts.cloned().unwrap_or_else(|| vec!["*".to_owned()]),
        })
    }

    /// What is wrong with it: the key, and why.
    pub(super) fn problem(&self) -> Option<(&'static str, String)> {
        if self.timeout_min.is_some_and(|minutes| minutes == 0 || minutes > MOST_MINUTES) {
            return Some(("timeout_min", format!("a wait takes 1 to {MOST_MINUTES} minutes")));
        }
        let contexts = self.contexts.as_ref()?;
        if contexts.is_empty() || contexts.len() > MOST_CONTEXTS {
            return Some((
                "contexts",
                format!("there are 1 to {MOST_CONTEXTS} patterns; [\"*\"] is every status of the commit"),
            ));
        }
        for pattern in contexts {
            if pattern.is_empty() || pattern.len() > LONGEST_CONTEXT {
                return Some(("contexts", format!("a pattern has 1 to {LONGEST_CONTEXT} bytes")));
            }
            if let Err(error) = globset::Glob::new(pattern) {
                return Some(("contexts", format!("{pattern:?} is no pattern: {}", error.kind())));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ci(text: &str) -> Ci {
        toml::from_str(text).expect("a table")
    }

    #[test]
    fn a_repository_can_ask_and_the_operators_word_counts() {
        let nothing = Ci::default();
        assert_eq!(nothing.with(&nothing), None);
        let asked = ci("wait = true\ntimeout_min = 5\ncontexts = [\"build\"]");
        let wait = nothing.with(&asked).expect("a wait");
        assert_eq!((wait.timeout_min, wait.contexts), (5, vec!["build".to_owned()]));
        assert_eq!(ci("wait = false").with(&asked), None);
        let own = ci("wait = true\ntimeout_min = 90").with(&asked).expect("a wait");
        assert_eq!((own.timeout_min, own.contexts), (90, vec!["*".to_owned()]));
        let within = ci("timeout_min = 90").with(&asked).expect("a wait");
        assert_eq!((within.timeout_min, within.contexts), (90, vec!["build".to_owned()]));
    }

    #[test]
    fn a_repository_does_not_hollow_out_the_wait_that_the_operator_wants() {
        let hollow = ci("wait = true\ntimeout_min = 1\ncontexts = [\"none-such\"]");
        let wait = ci("wait = true").with(&hollow).expect("a wait");
        assert_eq!((wait.timeout_min, wait.contexts), (MINUTES, vec!["*".to_owned()]));
        assert_eq!(ci("wait = true").with(&Ci::default()).expect("a wait").contexts, ["*"]);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let problem = |text: &str| ci(text).problem().map(|(key, _)| key);
        assert_eq!(problem("timeout_min = 0"), Some("timeout_min"));
        assert_eq!(problem("timeout_min = 2000"), Some("timeout_min"));
        assert_eq!(problem("contexts = []"), Some("contexts"));
        assert_eq!(problem("contexts = [\"[\"]"), Some("contexts"));
        assert_eq!(problem("wait = true\ncontexts = [\"build / *\"]"), None);
    }
}
