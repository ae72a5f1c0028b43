//! Whether a repository's hook signs with the present secret. The forge never shows it, so a test delivery to the running bot finds it out.
//! Tests: `tests/setup/secret.rs`.

use super::Accounts;
use crate::cli::test_delivery::{Arrival, WAIT, at_the_bot};
use crate::config::Process;
use crate::forge::RepoRef;
use crate::forge::gitea::keep::HookInfo;

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

/// Finds it out for a hook of the repository with this key that has no other fault.
pub(super) async fn examine(
    config: &Process,
    accounts: &Accounts,
    (key, repo, hook): (&str, &RepoRef, &HookInfo),
    running: bool,
) -> Signing {
    if !running {
        let why = format!("no `caisson serve` answers on {}", config.listen.ops);
        return Signing::Unexamined(why);
    }
    let fire = async || accounts.forge.test_hook(repo, hook.id).await.map_err(|error| error.to_string());
    match at_the_bot(config, key, fire).await {
        Ok(Arrival::Taken) => Signing::Right,
        Ok(Arrival::Unsigned) => Signing::Wrong,
        Ok(Arrival::TurnedAway) => {
            Signing::Unexamined("the bot turns the forge away for a minute, after too many wrong signatures".to_owned())
        }
        Ok(Arrival::Never) => {
            Signing::Unexamined(format!("its test did not arrive at {} within {} s", hook.url, WAIT.as_secs()))
        }
        Err(error) => Signing::Unexamined(format!("its test could not be fired: {error}")),
    }
}
