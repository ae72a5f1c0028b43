//! Whether a repository's hook signs with the present secret. The forge never shows it, so a test delivery to the running bot finds it out.
//! Tests: `tests/setup/secret.rs`.

use super::Accounts;
use crate::cli::test_delivery::{Arrival, WAIT, at_the_bot};
use crate::config::Process;
use crate::config::process::Repository as Entry;
use crate::forge::{Access, ForgeError, ForgeReads, RepoRef};
use anyhow::Result;

/// How a hook signs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Signing {
    /// With a secret of its repository.
    Right,
    /// With another one, or not at all.
    Wrong,
    /// Not found out, with the reason.
    Unexamined(String),
}

/// None where the hook has another fault, or is not shown to the bot: `check::faults` names that. An error only if the forge is unavailable.
pub(super) async fn examine(
    config: &Process,
    accounts: &Accounts,
    entry: &Entry,
    running: bool,
) -> Result<Option<Signing>> {
    // By its id alone, because another repository may have the name now.
    let repo = match accounts.forge.locate(entry.id).await {
        Ok(found) => RepoRef::new(found.owner, found.name),
        Err(ForgeError::NotFound(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if accounts.own_right(&repo).await? < Access::Admin {
        return Ok(None);
    }
    let url = config.hook_url(&entry.key);
    let hooks = accounts.forge.hooks(&repo).await?;
    let ours: Vec<_> = hooks.iter().filter(|hook| hook.url == url).collect();
    let &[hook] = ours.as_slice() else { return Ok(None) };
    if !hook.faults().is_empty() {
        return Ok(None);
    }
    if !running {
        let why = format!("no `caisson serve` answers on {}", config.listen.ops);
        return Ok(Some(Signing::Unexamined(why)));
    }
    let fire = async || accounts.forge.test_hook(&repo, hook.id).await.map_err(|error| error.to_string());
    let arrival = at_the_bot(config, &entry.key, fire).await;
    Ok(Some(match arrival {
        Ok(Arrival::Taken) => Signing::Right,
        Ok(Arrival::Unsigned) => Signing::Wrong,
        Ok(Arrival::TurnedAway) => {
            Signing::Unexamined("the bot turns the forge away for a minute, after too many wrong signatures".to_owned())
        }
        Ok(Arrival::Never) => {
            Signing::Unexamined(format!("its test did not arrive at {url} within {} s", WAIT.as_secs()))
        }
        Err(error) => Signing::Unexamined(format!("its test could not be fired: {error}")),
    }))
}
