//! Nothing that people say is lost, and nothing counts twice: a script of people is played once with every delivery as it should be, and again
//! with deliveries lost, doubled, late and in another order, requests that fail or whose answer is lost, a bot that is away or killed, and clocks
//! that differ. Each time it must come to the same. Scripts hold every command (`moves.rs`). Real are the bot's handlers, store, task machine and
//! effects, git and the runner; the forge is the built-in one, the model a recording.
//!
//! `CAISSON_RUNS` says how many troubled plays, of new seeds; `CAISSON_SEED` which one (it is printed with each failure). Without either a few
//! of fixed seeds are played.

mod failing;
mod moves;
mod outcome;
mod real;
mod town;
mod trouble;

use crate::dice::{Dice, number};
use moves::{Move, script};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use town::Town;
use trouble::Trouble;

/// Troubled plays of one script.
const PLAYS: u64 = 3;
/// Scripts at the same time: a play mostly waits.
const AT_ONCE: usize = 8;
/// After so many scripts a long run says how far it is.
const EACH: usize = 20;
/// Seeds of a run that names none. The last one's script tests a pull request at each push, and begins again from an approved checkpoint.
const FIXED: [u64; 3] = [1, 2, 108_867];

/// The troubles of a play: the first one says how far the clocks are apart.
fn troubles(seed: u64, play: u64, moves: usize) -> (i64, Vec<Trouble>) {
    let mut dice = Dice::of(seed ^ (play + 1).wrapping_mul(0x5851_f42d_4c95_7f2d));
    (Town::apart(&mut dice), (0..moves).map(|_| Trouble::draw(&mut dice)).collect())
}

async fn played(steps: &[Move], ahead: Option<i64>, troubles: Vec<Trouble>) -> Result<Vec<outcome::IssueEnd>, String> {
    let mut town = Town::found(ahead).await;
    for (at, (step, trouble)) in steps.iter().zip(troubles).enumerate() {
        town.play(at, step, trouble).await.map_err(|left| format!("move {at}: {left}"))?;
    }
    town.end().await.map_err(|left| format!("at the end: {left}"))?;
    outcome::of(&town).await
}

fn told(seed: u64, play: u64, steps: &[Move], ahead: i64, troubles: &[Trouble]) -> String {
    let lines: Vec<String> =
        steps.iter().zip(troubles).map(|(step, trouble)| format!("  {step:?}\n      {trouble:?}")).collect();
    format!("CAISSON_SEED={seed}, play {play}, the forge's clock {ahead} s ahead:\n{}", lines.join("\n"))
}

/// Plays the script of a seed, and its troubled plays.
async fn tried(seed: u64, plays: u64) -> Result<(), String> {
    let steps = script(seed);
    let perfect = played(&steps, None, vec![Trouble::default(); steps.len()]).await;
    let perfect = perfect.map_err(|why| {
        format!("without trouble: {why}\n{}", told(seed, 0, &steps, 0, &vec![Trouble::default(); steps.len()]))
    })?;
    for play in 0..plays {
        let (ahead, troubles) = troubles(seed, play, steps.len());
        let story = told(seed, play, &steps, ahead, &troubles);
        let ends = played(&steps, Some(ahead), troubles).await.map_err(|why| format!("{why}\n{story}"))?;
        for (issue, (wanted, found)) in perfect.iter().zip(&ends).enumerate() {
            if wanted != found {
                return Err(format!("issue {issue} came to\n{found:#?}\nand without trouble to\n{wanted:#?}\n{story}"));
            }
        }
    }
    Ok(())
}

/// Plays these seeds, several at a time; the failures.
async fn all(seeds: Vec<u64>, plays: u64) -> Vec<String> {
    let (seeds, next, mut workers) = (Arc::new(seeds), Arc::new(AtomicUsize::new(0)), Vec::new());
    for _ in 0..AT_ONCE.min(seeds.len()) {
        let (seeds, next) = (seeds.clone(), next.clone());
        workers.push(tokio::spawn(async move {
            let mut failures = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::SeqCst);
                let Some(seed) = seeds.get(at).copied() else { break };
                if at > 0 && at.is_multiple_of(EACH) {
                    println!("{} troubled plays so far", at as u64 * plays);
                }
                let why = match tokio::spawn(tried(seed, plays)).await {
                    Ok(Ok(())) => continue,
                    Ok(Err(why)) => why,
                    Err(panic) => format!("CAISSON_SEED={seed}: {panic}"),
                };
                // At once, because a long run may be ended before it is over.
                println!("{why}\n");
                failures.push(why);
            }
            failures
        }));
    }
    let mut failures = Vec::new();
    for worker in workers {
        failures.extend(worker.await.expect("joined"));
    }
    failures
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn whatever_becomes_of_deliveries_and_requests_it_comes_to_the_same() {
    let (mut dice, seed) = Dice::cast();
    let seeds: Vec<u64> = match (number("CAISSON_RUNS"), number("CAISSON_SEED")) {
        (None, Some(_)) => vec![seed],
        (None, None) => FIXED.to_vec(),
        (Some(runs), _) => (0..runs.div_ceil(PLAYS)).map(|_| dice.roll(1 << 31)).collect(),
    };
    let (count, began) = (seeds.len() as u64 * PLAYS, Instant::now());
    let failures = all(seeds, PLAYS).await;
    println!("{count} troubled plays in {:.1} s", began.elapsed().as_secs_f64());
    assert!(failures.is_empty(), "{} scripts came to something else", failures.len());
}

/// After a change of the moves another seed may have such a script.
#[test]
fn the_last_fixed_script_tests_each_push_and_begins_again_from_a_checkpoint() {
    let texts = moves::texts(&script(FIXED[2]));
    let at = |wanted: &str| texts.iter().position(|text| *text == wanted);
    let (tests, again) = (at("/test-pr \"true\" --each-push"), at("/retry --from 1"));
    assert!(tests.is_some() && tests < again, "{texts:?}");
}
