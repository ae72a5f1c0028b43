//! Whether the barrier was proven for this machine in its present state. Does not try it, as `caisson barrier` does.

use super::report::Report;
use crate::barrier::Proof;
use crate::bot::barrier_key;
use crate::cli::barrier::listed;
use crate::config::Process;
use crate::sandbox::broker::Broker;

const PART: &str = "barrier";

pub(super) async fn look(report: &mut Report, config: &Process, broker: &dyn Broker) {
    let key = match barrier_key(config, broker).await {
        Ok(key) => key,
        Err(trouble) => return report.note(PART, format!("it can't be told whether it was proven: {trouble}")),
    };
    match Proof::last(&config.state_dir) {
        Some(proof) if proof.shows(&key) => {
            let when = jiff::Timestamp::from_millisecond(proof.at).map(|at| at.strftime("%F %R UTC").to_string());
            let tried = match proof.tried.is_empty() {
                true => String::new(),
                false => format!(", this machine at {}", listed(&proof.tried)),
            };
            report.good(PART, format!("held when it was tried, {}{tried}", when.unwrap_or_default()));
        }
        Some(proof) if !proof.mismatches.is_empty() && proof.is_of(&key) => {
            for what in proof.mismatches {
                report.fault(PART, what, "mend it and see that `caisson barrier` holds; a running `caisson serve` tries again within minutes");
            }
        }
        _ => report.note(PART, "not proven for this machine as it is; `caisson serve` does so before its first task"),
    }
}
