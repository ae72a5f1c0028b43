//! `caisson repo add --here`: which repository of the forge is meant, and whether it may be set up. Changes nothing. Tests: `tests/setup.rs`.

use super::Accounts;
use crate::cli::printer::Complaint;
use crate::config::Process;
use crate::config::process::Repository as Entry;
use crate::forge::{Access, ForgeError, ForgeReads, RepoRef, Repository};
use anyhow::Result;

/// The repository of this `owner/name`, if it has a commit and the bot's account administers it.
pub(super) async fn found(accounts: &Accounts, text: &str) -> Result<Repository> {
    let named =
        text.split_once('/').filter(|(owner, name)| !owner.is_empty() && !name.is_empty() && !name.contains('/'));
    let (owner, name) = named.ok_or_else(|| {
        let complaint = Complaint::new(format!("{text:?} is no owner/name"));
        complaint.hint("with --here, name a repository of the forge: team/project")
    })?;
    let (repo, bot) = (RepoRef::new(owner, name), &accounts.bot.login);
    let hint = format!("on the forge, make {bot} an administrator of {repo}, then repeat this");
    let found = match accounts.forge.repository(&repo).await {
        Ok(found) => found,
        Err(ForgeError::NotFound(_)) => {
            let what = format!("{bot} sees no repository {repo} on the forge");
            return Err(Complaint::new(what).hint(hint).into());
        }
        Err(error) => return Err(error.into()),
    };
    if accounts.own_right(&repo).await? < Access::Admin {
        let complaint = Complaint::new(format!("{bot} does not administer {repo}"));
        let why = "it sets the hook and the protection of the default branch, and reads what else would read a push";
        return Err(complaint.because(why).hint(hint).into());
    }
    if found.empty {
        return Err(Complaint::new(format!("{repo} is empty")).hint("push a first commit to it").into());
    }
    let off = accounts.switched_off(&repo).await?.join(" and ");
    if !off.is_empty() {
        let complaint = Complaint::new(format!("{repo} has no {off}, by which people and the bot work there"));
        let hint = "switch them on in its settings on the forge; one that the forge mirrors takes no push either: add its source without --here";
        return Err(complaint.hint(hint).into());
    }
    Ok(found)
}

/// An error where the entry of this key is of another repository, or of a copy.
pub(super) fn is_the_same(known: &Entry, found: &Repository) -> Result<()> {
    let hint = "choose another --name for this one";
    let what = match (known.origin(), known.id == found.id) {
        ("", true) => return Ok(()),
        ("", false) => format!("{} is {}/{} already", known.key, known.owner, known.name),
        (origin, _) => format!("{} was copied from {origin}, and is kept in step with it", known.key),
    };
    Err(Complaint::new(what).hint(hint).into())
}

/// An error where another entry is of this repository.
pub(super) fn no_twin(config: &Process, key: &str, (repo, id): (&RepoRef, i64)) -> Result<()> {
    match config.repositories().iter().find(|other| other.id == id && other.key != key) {
        Some(twin) => Err(Complaint::new(format!("{repo} is on the forge what {} is already", twin.key)).into()),
        None => Ok(()),
    }
}

/// An error where a rule of protection that is there already may hold in place of one of these.
pub(super) async fn no_rule_before(
    accounts: &Accounts,
    repo: &RepoRef,
    rules: impl Iterator<Item = &str>,
) -> Result<()> {
    for rule in rules {
        let before = accounts.forge.rules_before(repo, rule).await?;
        if !before.is_empty() {
            let what = format!("the protection of {} may hold in place of that of {rule}", before.join(", "));
            return Err(Complaint::new(what).hint("remove it on the forge, then repeat this").into());
        }
    }
    Ok(())
}
