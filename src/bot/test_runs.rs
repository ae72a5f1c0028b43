//! Has the commands run that people asked for with `/test-pr`: so many at the same time, of one repository one after the other, once the
//! barrier is proven.
//!
//! Owns the order of what is done for one run (begun, status, run, result stored, answer, status, closed) and when it is tried again. Each
//! part may be repeated, so that a life that is cut anywhere is gone on with by the next. Tests: `tests/stories/test_runs.rs`.

use crate::barrier::BarrierState;
use crate::config::process::Tests;
use crate::effect::TestRuns;
use crate::store::{StoreError, TestRunRow};
use crate::supervise::caught;
use crate::task::Machine;
use crate::trouble::Trouble;
use domain::TestResult;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// How often is looked though nobody rang: another host may have stored some.
const LOOK: Duration = Duration::from_secs(5);
/// A run that was begun so often, over two hours or more, and has no result is told as broken off.
const MOST_TRIES: i64 = 20;
/// An answer that the forge did not take so often is given up.
const MOST_ANSWERS: i64 = 60;
/// Until the next try, doubling up to the longest.
const FIRST_WAIT: Duration = Duration::from_secs(2);
const LONGEST_WAIT: Duration = Duration::from_secs(600);

pub struct TestLine {
    pub machine: Arc<Machine>,
    pub runs: Arc<TestRuns>,
    pub barrier: watch::Receiver<BarrierState>,
    pub limits: Tests,
    /// Rung when one was put in line.
    pub bell: Arc<Notify>,
    pub stopping: CancellationToken,
}

impl TestLine {
    /// Runs until `stopping`; what is under way then is begun again by the next life.
    pub async fn run(self) {
        let mut under_way = FuturesUnordered::new();
        let mut repositories: HashSet<String> = HashSet::new();
        // When each is tried again, and how often it failed in this life: what earlier lives tried says nothing of what is down now.
        let mut due: HashMap<i64, (Instant, u32)> = HashMap::new();
        loop {
            let rows = self.machine.store().open_test_runs().await.unwrap_or_else(|error| {
                tracing::warn!(%error, "the line of test runs could not be read");
                Vec::new()
            });
            due.retain(|id, _| rows.iter().any(|row| row.id == *id));
            for row in rows {
                let waits = due.get(&row.id).is_some_and(|(at, _)| *at > Instant::now());
                let full = under_way.len() >= self.limits.at_once as usize;
                if !full
                    && !waits
                    && self.machine.leases().holds(&row.repository)
                    && repositories.insert(row.repository.clone())
                {
                    under_way.push(self.one(row));
                }
            }
            tokio::select! {
                Some((row, again)) = under_way.next() => {
                    repositories.remove(&row.repository);
                    if again {
                        let failures = due.get(&row.id).map_or(0, |(_, failures)| *failures);
                        let wait = FIRST_WAIT.saturating_mul(1 << failures.min(10)).min(LONGEST_WAIT);
                        due.insert(row.id, (Instant::now() + wait, failures + 1));
                    }
                }
                () = self.bell.notified() => {}
                () = tokio::time::sleep(LOOK.min(soonest(&due))) => {}
                () = self.stopping.cancelled() => return,
            }
        }
    }

    /// One run as far as it goes; whether it is to be tried again.
    async fn one(&self, row: TestRunRow) -> (TestRunRow, bool) {
        let Some(term) = self.machine.leases().term(&row.repository) else { return (row, true) };
        let done = tokio::select! {
            done = caught("test run", Box::pin(self.go_on(&row))) => {
                done.unwrap_or_else(|panic| Err(Trouble::later(format!("the bot itself failed: {panic}"))))
            }
            // Whoever works for the repository now begins it again.
            () = self.machine.leases().lost(&row.repository, term) => {
                self.runs.leave(&row).await;
                Ok(())
            }
        };
        let Err(trouble) = done else { return (row, false) };
        tracing::warn!(run = row.id, repository = row.repository, %trouble, "a test run is tried again");
        (row, true)
    }

    async fn go_on(&self, row: &TestRunRow) -> Result<(), Trouble> {
        let store = self.machine.store();
        store.test_run_begins(row.id).await.map_err(|error| self.lost(error))?;
        let result = match &row.result {
            Some(result) => result.clone(),
            None => {
                let (result, log) = self.result(row).await?;
                store.test_run_ended(row.id, &result, &log).await.map_err(|error| self.lost(error))?;
                result
            }
        };
        if let Err(trouble) = self.answer(row, &result).await {
            // A branch protection may wait for the status, whatever becomes of the answer.
            if let Err(trouble) = self.runs.show(row, Some(&result), "").await {
                tracing::warn!(run = row.id, %trouble, "the status of a test run could not be set");
            }
            if row.tries < MOST_ANSWERS {
                return Err(trouble);
            }
            tracing::error!(run = row.id, %trouble, "a test run's answer is given up; `caisson task test-log` shows it");
        }
        store.test_run_answered(row.id).await.map_err(|error| self.lost(error))
    }

    /// Runs it, unless it was begun too often; what nothing can mend is a result.
    async fn result(&self, row: &TestRunRow) -> Result<(TestResult, String), Trouble> {
        let not_run = |why: String| Ok((TestResult::NotRun { why }, String::new()));
        if row.tries >= MOST_TRIES {
            return not_run(format!(
                "it was begun {MOST_TRIES} times and broken off each time. Write it again to have it tried anew."
            ));
        }
        let ran = async {
            self.runs.show(row, None, "").await?;
            self.barrier().await?;
            self.runs.run(row).await
        };
        let ran = ran.await;
        if ran.is_err() {
            self.runs.leave(row).await;
        }
        match ran {
            Err(Trouble::Failed(failure)) => not_run(Trouble::Failed(failure).to_string()),
            // Last try: the failure is posted, so that the run does not stay queued.
            Err(trouble) if row.tries + 1 >= MOST_TRIES => not_run(trouble.to_string()),
            Err(trouble @ Trouble::Moved { .. }) => {
                self.runs.find_again(row).await?;
                Err(trouble)
            }
            other => other,
        }
    }

    /// The run as its answer tells of it: it may have been taken back, or be another command's turn at pushes, since it was asked for.
    async fn as_it_is_watched(&self, row: &TestRunRow) -> Result<TestRunRow, StoreError> {
        let mut told = row.clone();
        if told.run.each_push {
            let watched = self.machine.store().watched_pull(&row.repository, row.thread).await?;
            told.run.each_push =
                watched.iter().any(|it| it.run.bug == row.run.bug && it.run.command == row.run.command);
        }
        Ok(told)
    }

    async fn answer(&self, row: &TestRunRow, result: &TestResult) -> Result<(), Trouble> {
        let told = self.as_it_is_watched(row).await?;
        let at = match self.runs.answer(&told, result, row.tries > 0).await {
            Err(trouble @ Trouble::Moved { .. }) => {
                self.runs.find_again(row).await?;
                return Err(trouble);
            }
            answered => answered?,
        };
        self.runs.show(row, Some(result), &at).await
    }

    /// Returns once code of a repository may run here.
    async fn barrier(&self) -> Result<(), Trouble> {
        let mut barrier = self.barrier.clone();
        match barrier
            .wait_for(|it| matches!(it, BarrierState::Proven | BarrierState::Refused(_)))
            .await
            .map(|it| it.clone())
        {
            Ok(BarrierState::Refused(why)) => Err(Trouble::blocked(why)),
            Ok(BarrierState::Proven | BarrierState::Waiting(_) | BarrierState::Broken(_)) => Ok(()),
            // The prover has ended.
            Err(_) => std::future::pending().await,
        }
    }

    fn lost(&self, error: StoreError) -> Trouble {
        if let StoreError::Elsewhere { repository, .. } = &error {
            self.machine.leases().lose(repository);
        }
        error.into()
    }
}

/// How long until the next one is due.
fn soonest(due: &HashMap<i64, (Instant, u32)>) -> Duration {
    let now = Instant::now();
    let next = due.values().map(|(at, _)| at).filter(|at| **at > now).min();
    next.map_or(LOOK, |at| at.saturating_duration_since(now))
}
