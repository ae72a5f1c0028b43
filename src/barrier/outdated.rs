//! Whether the runner for sandboxes fits this program, because one of another build misunderstands requests and no retry helps.
//!
//! Owns the comparison and its messages. Tests: `tests/barrier/proof.rs`, `tests/serve.rs`.

use protocol::broker::EngineInfo;
use protocol::runner::Mark;

/// A runner that does not fit this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outdated {
    /// Which file does not fit and why: a sentence without a full stop.
    pub what: String,
    /// What the operator has to do: words that follow "has to", without a full stop.
    pub hint: String,
}

impl Outdated {
    /// `None` when it fits.
    pub fn of(info: &EngineInfo) -> Option<Outdated> {
        let (own, file) = (Mark::own(), &info.runner_file);
        let seen = match &info.runner_mark {
            Some(mark) if *mark == own => return None,
            Some(mark) if mark.version != own.version => {
                format!(
                    "speaks version {} of the runner's protocol, this caisson version {}",
                    mark.version, own.version
                )
            }
            Some(mark) => format!("is of another build ({}) than this caisson ({})", mark.build, own.build),
            None => "is of another build than this caisson: it does not say which".to_owned(),
        };
        Some(Outdated {
            what: format!("the static runner {file} {seen}"),
            hint: format!(
                "make both anew from one checkout (`make build`; `tests/support/programs.sh` makes the runner alone), put \
                 caisson-runner in place of {file} or name it in CAISSON_RUNNER, then start the broker and `caisson serve` anew"
            ),
        })
    }
}

impl std::fmt::Display for Outdated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, so no task can run; the operator has to {}", self.what, self.hint)
    }
}
