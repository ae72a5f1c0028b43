//! Compares a run with an earlier one: over the tasks that both ran, the difference of the share solved, with a confidence bound.
//!
//! Owns the paired bootstrap over tasks: 10,000 draws from a fixed seed, so that the same two files give the same bound. A recording is
//! never compared with a model. Tests: below.

use super::results::{Header, Outcome, Results, Row};
use crate::cli::printer::Complaint;
use anyhow::Result;
use std::collections::BTreeMap;

const DRAWS: usize = 10_000;
const SEED: u64 = 0x5EED_CA15_5019;

/// The comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Number of tasks that both ran.
    pub tasks: usize,
    /// Mean share solved, in the earlier run and now.
    pub then: f64,
    pub now: f64,
    /// Lower bound of the true difference, at 95 % confidence.
    pub at_least: f64,
    pub gained: Vec<String>,
    pub lost: Vec<String>,
}

/// # Errors
/// A [`Complaint`] when only one of them is a recording, because their numbers are not comparable.
pub fn comparable(then: &Header, recording: bool) -> Result<()> {
    if then.recording == recording {
        return Ok(());
    }
    let complaint = Complaint::new("one of the two is a recording and the other a model's: they are not compared");
    Err(complaint.hint("name a baseline that was made the same way").into())
}

/// # Errors
/// As [`comparable`], and when no task was run by both.
pub fn compare(then: &Results, now: &Results) -> Result<Compared> {
    comparable(&then.header, now.header.recording)?;
    let (before, after) = (shares(&then.rows), shares(&now.rows));
    let pairs: Vec<(&str, f64, f64)> =
        after.iter().filter_map(|(task, now)| before.get(task).map(|then| (*task, *then, *now))).collect();
    if pairs.is_empty() {
        return Err(Complaint::new("no task was run by both: there is nothing to compare").into());
    }
    let mean = |of: &dyn Fn(&(&str, f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len() as f64;
    let names = |which: &dyn Fn(f64, f64) -> bool| {
        pairs.iter().filter(|(_, a, b)| which(*a, *b)).map(|(task, ..)| (*task).to_owned()).collect()
    };
    let differences: Vec<f64> = pairs.iter().map(|(_, a, b)| b - a).collect();
    Ok(Compared {
        tasks: pairs.len(),
        then: mean(&|pair| pair.1),
        now: mean(&|pair| pair.2),
        at_least: lower_bound(&differences),
        gained: names(&|a, b| b > a),
        lost: names(&|a, b| b < a),
    })
}

/// What else differs from the earlier run, so that the shares may differ because of it.
pub fn warnings(then: &Results, now: &Header) -> Vec<String> {
    let (mut list, before) = (Vec::new(), &then.header);
    if !then.whole {
        list.push("the baseline's run was stopped before its end".to_owned());
    }
    if before.config != now.config {
        list.push("the baseline was made with another configuration of model, sandbox or budget".to_owned());
    }
    if (before.limit_s, before.reviews) != (now.limit_s, now.reviews) {
        let (limit, reviews) = (before.limit_s, before.reviews);
        list.push(format!("the baseline had {limit} s a task and at most {reviews} reviews: the limits differ"));
    }
    list
}

/// For each task the share of tries that solved it; tries that were not run are left out.
fn shares(rows: &[Row]) -> BTreeMap<&str, f64> {
    let mut counts: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.outcome != Outcome::NotRun) {
        let count = counts.entry(&row.task).or_default();
        count.0 += f64::from(u8::from(row.outcome == Outcome::Solved));
        count.1 += 1.0;
    }
    counts.into_iter().map(|(task, (solved, tries))| (task, solved / tries)).collect()
}

/// The fifth percentile of the mean over draws with replacement.
fn lower_bound(differences: &[f64]) -> f64 {
    let mut state = SEED;
    let mut means: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let drawn = differences.iter().map(|_| differences[(next(&mut state) % differences.len() as u64) as usize]);
            drawn.sum::<f64>() / differences.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    means[DRAWS / 20]
}

/// SplitMix64 (Steele, Lea, Flood 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{header, row};
    use super::*;

    fn results(recording: bool, rows: Vec<Row>) -> Results {
        Results { header: header(recording), rows, whole: true }
    }

    fn of(solved: &[bool]) -> Vec<Row> {
        let outcome = |solved: bool| if solved { Outcome::Solved } else { Outcome::Unsolved };
        solved.iter().enumerate().map(|(at, solved)| row(&format!("t{at}"), 1, outcome(*solved))).collect()
    }

    #[test]
    fn a_clear_gain_has_a_bound_above_nothing_and_noise_has_not() {
        let then = results(false, of(&[false; 20]));
        let found =
            compare(&then, &results(false, of(&[[true; 12].as_slice(), &[false; 8]].concat()))).expect("compared");
        assert_eq!((found.tasks, found.then, found.now, found.gained.len()), (20, 0.0, 0.6, 12));
        // For a binomial distribution with n = 20 and p = 0.6 the fifth percentile is 8 (distribution function: 0.021 at 7, 0.057 at 8).
        assert!((found.at_least - 0.4).abs() < 0.051, "{found:?}");
        let mixed: Vec<bool> = (0..20).map(|at| at % 2 == 0).collect();
        let flipped: Vec<bool> = mixed.iter().map(|solved| !solved).collect();
        let noise = compare(&results(false, of(&mixed)), &results(false, of(&flipped))).expect("compared");
        assert!(noise.at_least < 0.0 && noise.gained.len() == 10 && noise.lost.len() == 10, "{noise:?}");
    }

    #[test]
    fn what_else_differs_from_the_baseline_is_told() {
        let then = results(false, Vec::new());
        assert!(warnings(&then, &header(false)).is_empty());
        let told = warnings(&then, &Header { limit_s: 600, ..header(false) });
        assert!(told.len() == 1 && told[0].contains("180 s a task and at most 8 reviews"), "{told:?}");
        let stopped = Results { whole: false, ..then };
        assert_eq!(warnings(&stopped, &Header { config: "other".into(), ..header(false) }).len(), 2);
    }

    #[test]
    fn only_what_both_ran_counts_and_a_recording_is_no_model() {
        let mut rows = of(&[true, false]);
        rows.push(row("t1", 2, Outcome::Solved));
        rows.push(row("t2", 1, Outcome::NotRun));
        let found = compare(&results(false, of(&[true, true, true])), &results(false, rows)).expect("compared");
        assert_eq!((found.tasks, found.then, found.now), (2, 1.0, 0.75));
        assert!(compare(&results(true, of(&[true])), &results(false, of(&[true]))).is_err());
        assert!(compare(&results(false, of(&[true])), &results(false, vec![])).is_err());
    }
}
