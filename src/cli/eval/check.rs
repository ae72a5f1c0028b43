//! `--check-tasks`: whether tasks distinguish right from wrong, without a model. Hidden tests must fail on the base and pass with the
//! reference solution; with it the suite must pass too, and the base's tests except for those that it changes.

use super::judge::Judge;
use super::tasks::TaskDir;
use crate::cli::printer::{Complaint, Printer};
use anyhow::Result;

pub async fn check(judge: &Judge, tasks: &[&TaskDir], broken: &[(String, String)], printer: &Printer) -> Result<()> {
    let mut faults: Vec<(String, String)> = broken.to_vec();
    for (at, task) in tasks.iter().enumerate() {
        let name = &task.spec.name;
        printer.step(&format!("{}/{} {name}", at + 1, tasks.len()));
        match one(judge, &format!("t{at}"), task).await {
            Ok(()) => printer.good(name),
            Err(why) => faults.push((name.clone(), format!("{why:#}"))),
        }
    }
    for (name, why) in &faults {
        printer.bad(&format!("{name}: {why}"));
    }
    printer.say(&format!("{} tasks can be judged, {} cannot", tasks.len() + broken.len() - faults.len(), faults.len()));
    match faults.len() {
        0 => Ok(()),
        count => Err(Complaint::new(format!("{count} tasks cannot tell right from wrong")).into()),
    }
}

async fn one(judge: &Judge, key: &str, task: &TaskDir) -> Result<()> {
    let planted = judge.plant(key, task).await?;
    let judged = judge.judge_reference(&planted, task).await?;
    anyhow::ensure!(judged.solved(), "with its reference: {}", judged.why);
    Ok(())
}
