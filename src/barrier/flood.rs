//! Check 33: one sandbox floods the router with questions and connections, and its neighbour still gets answers.
//!
//! For one and a half seconds; the effect of a minute on the router's log, memory and connections is tested by
//! `router/tests/lab/life.rs::floods_stay_bounded_and_leave_the_neighbour_alone`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use protocol::probe::{Finding, NO_ANSWER, Plan};

use super::inside::Inside;
use super::plan::{self, Names, look_up};
use super::{RouterUnderTest, Untested};

pub const SENT: &str = "questions and connections sent";
pub const ENOUGH: &str = "more than anybody needs";
pub const MEANWHILE: &str = "the neighbour's question meanwhile";
pub const ANSWERED: &str = "answered";

const MS: &str = "1500";
/// The least questions and connections that count as a flood.
const LEAST: (u64, u64) = (2000, 20);
/// An answer that takes longer was lost at least once, because clients repeat a question after a second or more.
const PROMPT: Duration = Duration::from_millis(900);
/// A busy machine may delay an answer once; a sandbox that can starve another does so repeatedly.
const FLOODS: usize = 2;

/// Questions of the neighbour during the flood.
fn during(names: &Names) -> Plan {
    Plan { look_ups: vec![look_up(33, MEANWHILE, &names.denied)], ..Plan::default() }
}

/// Runs the check with both subnets open, the first with the test's rules.
pub(super) async fn tried(
    router: &RouterUnderTest,
    names: &Names,
    first: &Inside,
    second: &Inside,
) -> Result<Vec<Finding>, Untested> {
    let told = first.carry_out(&plan::asked_again(names)).await?;
    let address = told.first().map(|finding| finding.seen.clone()).unwrap_or_default();
    let words = ["flood", &router.subnets[0].gateway, &format!("{address}:80"), MS];
    let mut found = Vec::new();
    for _ in 0..FLOODS {
        let over = AtomicBool::new(false);
        let flooding = async {
            let told = first.probe(&words).await;
            over.store(true, Ordering::Relaxed);
            told
        };
        let (flood, heard) = tokio::join!(flooding, asked_until(&over, names, second));
        let meanwhile = promptly(&heard?);
        let held = meanwhile == ANSWERED;
        found = vec![Finding::new(33, SENT, sent(&flood?.text)), Finding::new(33, MEANWHILE, meanwhile)];
        if held {
            break;
        }
    }
    Ok(found)
}

/// Whether each question was answered at once; other checks verify the answers.
async fn asked_until(over: &AtomicBool, names: &Names, second: &Inside) -> Result<Vec<bool>, Untested> {
    let mut heard = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let began = Instant::now();
        let told = second.carry_out(&during(names)).await?;
        heard.push(began.elapsed() < PROMPT && told.iter().all(|finding| finding.seen != NO_ANSWER));
    }
    Ok(heard)
}

/// A lost question delays many others, so none may be late.
fn promptly(heard: &[bool]) -> String {
    let late = heard.iter().filter(|prompt| !**prompt).count();
    if late == 0 && !heard.is_empty() { ANSWERED.to_owned() } else { format!("{late} of {} lost or late", heard.len()) }
}

fn sent(text: &str) -> String {
    let count = |what: &str| text.lines().find_map(|line| line.strip_prefix(what)?.trim().parse::<u64>().ok());
    match (count("names "), count("connections ")) {
        (Some(names), Some(connections)) if names >= LEAST.0 && connections >= LEAST.1 => ENOUGH.to_owned(),
        (Some(names), Some(connections)) => format!("{names} and {connections}"),
        _ => format!("none: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_is_no_flood() {
        assert_eq!(sent("names 90000\nconnections 400\n"), ENOUGH);
        assert_eq!(sent("names 3\nconnections 400\n"), "3 and 400");
        assert_eq!(sent("names 90000\nconnections 0\n"), "90000 and 0");
        assert_eq!(sent("no route\n"), "none: no route\n");
    }

    #[test]
    fn no_question_is_lost() {
        assert_eq!(promptly(&[true, true]), ANSWERED);
        assert_eq!(promptly(&[true, false]), "1 of 2 lost or late");
        assert_eq!(promptly(&[]), "0 of 0 lost or late");
    }
}
