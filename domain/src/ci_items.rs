//! Failures of the CI that was waited for, each as an item with a number and a state: a pure fold over the task's log. The upstream's, on what an
//! earlier attempt had brought there, are items of the next attempt.
//!
//! Owns: which failure gets a number, and what changes its state. Must not: judge a status, or show anything. Tests:
//! `tests/machine/ci.rs`.

use crate::{CiCheck, CiEnded, CiState, Commit, Event};

/// Where a failure stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CiItemState {
    /// It failed on the newest commit whose CI ended, or has not ended on it.
    Open,
    /// It passed on this commit.
    Gone(Commit),
    /// Another wait ended without any word of it: it proves nothing, so it counts as open.
    Silent(Commit),
}

/// A check that failed on finished work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CiItem {
    /// Its number in the task, from 1, in the order of the log.
    pub number: u32,
    /// Whether it is a check of the upstream's CI; one of the forge's may have the same name.
    pub upstream: bool,
    /// What it said when it failed last. Untrusted.
    pub check: CiCheck,
    /// The commit on which it failed last.
    pub failed_on: Commit,
    /// Where it stands.
    pub state: CiItemState,
}

impl CiItem {
    /// Its name for people.
    pub fn name(&self) -> String {
        format!("ci{}", self.number)
    }

    /// Whether nothing says that it passes.
    pub fn is_open(&self) -> bool {
        !matches!(self.state, CiItemState::Gone(_))
    }

    fn heard(&mut self, ended: &CiEnded) {
        match ended.checks.iter().find(|check| check.context == self.check.context) {
            Some(check) if check.state == CiState::Failed => {
                (self.check, self.failed_on, self.state) = (check.clone(), ended.commit.clone(), CiItemState::Open);
            }
            Some(check) if check.state == CiState::Passed => self.state = CiItemState::Gone(ended.commit.clone()),
            // Nor does a list that was cut say anything of it: it may have been taken away.
            Some(CiCheck { state: CiState::Missing, .. }) | None => {
                self.state = CiItemState::Silent(ended.commit.clone());
            }
            Some(_) => self.state = CiItemState::Open,
        }
    }
}

/// The failures of a log, in the order of their numbers: one for each check, by its context.
pub fn ci_items<'a>(log: impl IntoIterator<Item = &'a Event>) -> Vec<CiItem> {
    let mut items: Vec<CiItem> = Vec::new();
    for event in log {
        let ended = if let Event::CiEnded(ended) | Event::UpstreamCiEnded(ended) = event {
            ended
        } else if let Event::Requested { request } = event
            && let Some(ended) = request.earlier.as_ref().and_then(|it| it.upstream_ci.as_ref())
        {
            ended
        } else {
            continue;
        };
        items.iter_mut().filter(|item| item.upstream == ended.upstream).for_each(|item| item.heard(ended));
        for check in ended.failures() {
            let known = |item: &CiItem| item.upstream == ended.upstream && item.check.context == check.context;
            if items.iter().any(known) {
                continue;
            }
            let number = u32::try_from(items.len()).unwrap_or(u32::MAX).saturating_add(1);
            let (failed_on, state, upstream) = (ended.commit.clone(), CiItemState::Open, ended.upstream);
            items.push(CiItem { number, upstream, check: check.clone(), failed_on, state });
        }
    }
    items
}
