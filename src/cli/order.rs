//! `caisson task stop`, `caisson task resume`: an operator's orders, obeyed by a running bot at once, and written down for its next
//! start where none runs.

use super::printer::{Complaint, Printer};
use super::{lock, running};
use crate::config::Process;
use crate::store::Store;
use crate::task::{Machine, Obeyed, now};
use anyhow::Result;
use domain::{Order, TaskId};

/// Gives the order and says what became of it.
pub async fn give(config: &Process, id: TaskId, order: Order) -> Result<()> {
    let printer = Printer::terminal();
    let Ok(_lock) = lock::take(&config.state_dir) else {
        let state = told(config, id, order).await?;
        printer.good(&format!("task {id} is {state}"));
        return Ok(());
    };
    let store = Store::open(&config.state_dir).await?;
    let epoch = store.begin_epoch(now()).await?;
    // What it brings about stays in the outbox for the next `serve`.
    let (machine, _moved) = Machine::new(store, epoch);
    match machine.order(id, order).await? {
        Obeyed::Now(state) => {
            printer.good(&format!("task {id} is {state}"));
            printer.hint("no `caisson serve` runs here: the next one carries out what follows");
            Ok(())
        }
        Obeyed::Unknown => Err(unknown(id).into()),
        Obeyed::Unfit(state) => Err(unfit(id, order, state).into()),
    }
}

async fn told(config: &Process, id: TaskId, order: Order) -> Result<String> {
    let word = match order {
        Order::Stop => "stop",
        Order::Resume => "resume",
    };
    let (status, said) = running::tell(config, &format!("/tasks/{id}/{word}"), &()).await?;
    match status {
        200 => Ok(said),
        // Without a sentence it is an older bot, which has no such place.
        404 if !said.is_empty() => Err(unknown(id).into()),
        409 => Err(unfit(id, order, &said).into()),
        404 => Err(Complaint::new("the running bot is of an older version and takes no orders")
            .attempt("restart `caisson serve`, then say it again")
            .into()),
        _ => Err(Complaint::new(format!("the running bot answered {status}")).because(said).into()),
    }
}

/// The complaint about a task that is not there.
pub fn unknown(id: TaskId) -> Complaint {
    Complaint::new(format!("there is no task {id}")).attempt("caisson task list")
}

fn unfit(id: TaskId, order: Order, state: &str) -> Complaint {
    let what = match order {
        Order::Stop => "it has ended",
        Order::Resume => "only what is paused can go on",
    };
    Complaint::new(format!("task {id} is {state}")).because(what)
}
