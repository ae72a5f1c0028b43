//! `caisson task stop`, `resume`, `delete`: orders of the operator. A running bot carries them out at once; otherwise they are stored for
//! its next start, except for a deletion, which is done at once.

use super::order_machine::OrderMachine;
use super::printer::{Complaint, Printer};
use super::{lock, running};
use crate::config::Process;
use crate::git::Repos;
use crate::store::Deleted;
use crate::task::OrderResult;
use anyhow::Result;
use domain::{Order, TaskId};
use std::time::Duration;

/// Gives the order and prints the result.
pub async fn give(config: &Process, id: TaskId, order: Order) -> Result<()> {
    let printer = Printer::terminal();
    let Some(_lock) = lock::unless_in_use(&config.state_dir)? else {
        let state = order_running_bot(config, id, order).await?;
        printer.good(&format!("task {id} is {state}"));
        return Ok(());
    };
    let orders = OrderMachine::of(config, id).await?;
    let obeyed = orders.machine.order(id, order).await;
    orders.over(config).await?;
    match obeyed? {
        OrderResult::Now(state) => {
            printer.good(&format!("task {id} is {state}"));
            printer.hint("no `caisson serve` runs here: the next one carries out what follows");
            Ok(())
        }
        OrderResult::Unknown => Err(unknown(id).into()),
        OrderResult::Unfit(state) => Err(unfit(id, order, state).into()),
    }
}

/// Deletes an ended task, and prints what is kept and for how long.
pub async fn delete(config: &Process, id: TaskId) -> Result<()> {
    let printer = Printer::terminal();
    let Some(_lock) = lock::unless_in_use(&config.state_dir)? else {
        told_to_delete(config, id).await?;
        printer.good(&format!("task {id} is deleted"));
        printer.hint("what git brought in within the last hour leaves the disk when the bot tidies next, within a day");
        return Ok(());
    };
    let orders = OrderMachine::of(config, id).await?;
    let repos = Repos::new(config.state_dir.join("repos"));
    let deleted = orders.machine.delete(id, &repos).await;
    orders.over(config).await?;
    let repository = match deleted? {
        Deleted::Gone { repository } => repository,
        Deleted::Live => return Err(live(id).into()),
        Deleted::Unknown => return Err(unknown(id).into()),
    };
    printer.good(&format!("task {id} is deleted"));
    // Nothing else writes there while the lock is held.
    if let Err(error) = repos.tidy(&repository, Duration::ZERO).await {
        printer.warn(&format!("its files stay in the local repository until the bot tidies it: {error}"));
    }
    Ok(())
}

async fn told_to_delete(config: &Process, id: TaskId) -> Result<()> {
    let (status, said) = running::tell(config, &format!("/tasks/{id}/delete"), &()).await?;
    match status {
        204 => Ok(()),
        404 if !said.is_empty() => Err(unknown(id).into()),
        409 => Err(live(id).into()),
        423 => Err(Complaint::new(format!("task {id} was not deleted"))
            .because(said)
            .hint("say it again when that is done, or with the bot stopped")
            .into()),
        // Answer of an older bot without this order.
        400 | 404 => Err(outdated().into()),
        _ => Err(Complaint::new(format!("the running bot answered {status}")).because(said).into()),
    }
}

async fn order_running_bot(config: &Process, id: TaskId, order: Order) -> Result<String> {
    let word = match order {
        Order::Stop => "stop",
        Order::Resume => "resume",
    };
    let (status, said) = running::tell(config, &format!("/tasks/{id}/{word}"), &()).await?;
    match status {
        200 => Ok(said),
        // Answer of an older bot without this path, which has no text.
        404 if !said.is_empty() => Err(unknown(id).into()),
        409 => Err(unfit(id, order, &said).into()),
        404 => Err(outdated().into()),
        _ => Err(Complaint::new(format!("the running bot answered {status}")).because(said).into()),
    }
}

fn outdated() -> Complaint {
    Complaint::new("the running bot is of an older version and does not take this order")
        .hint("restart `caisson serve`, then say it again")
}

fn live(id: TaskId) -> Complaint {
    Complaint::new(format!("task {id} was not deleted"))
        .because("it has not ended")
        .hint(format!("caisson task stop {id}"))
}

/// The complaint about an unknown task.
pub fn unknown(id: TaskId) -> Complaint {
    Complaint::new(format!("there is no task {id}")).hint("caisson task list")
}

fn unfit(id: TaskId, order: Order, state: &str) -> Complaint {
    let what = match order {
        Order::Stop => "it has ended",
        Order::Resume => "only what is paused can go on",
    };
    Complaint::new(format!("task {id} is {state}")).because(what)
}
