//! `caisson repo check --fix`: sets again what somebody changed, and prints each change. The git data is not touched.
//!
//! What a person added to a repository (hooks, deploy keys, people) is left for the operator to judge; only Actions of a copy are switched
//! off, as by `repo add`. Another repository that took over the name is never written to. Tests: `tests/setup/mend.rs`,
//! `tests/setup/secret.rs`.

use super::set_aside::put_back;
use super::{Accounts, store_entry};
use crate::bot::sealed;
use crate::checkpoint::label::LABELS;
use crate::cli::entries::{self, Entries};
use crate::cli::printer::{Complaint, Printer};
use crate::config::Process;
use crate::config::process::Repository as Entry;
use crate::forge::gitea::keep::HookInfo;
use crate::forge::{Access, ForgeError, ForgeReads, RepoRef, is_accepted};
use anyhow::Result;

/// Sets hook, labels, protection, default branch and the accounts' rights as `repo add` does, where they differ. Returns the entry; one
/// of the store has the repository's new name.
pub(super) async fn mend(
    config: &Process,
    entries: &Entries,
    accounts: &Accounts,
    entry: &Entry,
    printer: &Printer,
) -> Result<Entry> {
    own_right(accounts, entry, printer).await?;
    let (forge, repo) = (&accounts.forge, accounts.place_of(entry).await?);
    let found = match forge.repository(&repo).await {
        Ok(found) => found,
        Err(ForgeError::NotFound(_) | ForgeError::Moved(_) | ForgeError::Conflict(_)) => return Ok(entry.clone()),
        Err(error) => return Err(error.into()),
    };
    // The name may now belong to another repository, and nothing below is the bot's to set without its own right.
    if found.id != entry.id || accounts.own_right(&repo).await? < Access::Admin {
        return Ok(entry.clone());
    }
    let said = |what: String| printer.good(&format!("{}: changed: {what}", entry.key));
    if found.default_branch != entry.default_branch {
        forge.set_default_branch(&repo, &entry.default_branch).await?;
        said(format!("its default branch is {} again instead of {}", entry.default_branch, found.default_branch));
    }
    if forge.permission(&repo, &accounts.sync).await? < Access::Write {
        forge.ensure_collaborator(&repo, &accounts.sync.login, Access::Write).await?;
        said(format!("{} may write again", accounts.sync.login));
    }
    // After the right to write: the forge drops from a rule whoever may not.
    if let Some(branch) = put_back(&config.state_dir, forge, &repo, entry).await? {
        said(format!("the rule of {branch} stands again as it was before `caisson repo sync --rewritten` was cut off"));
    }
    for (rule, account) in accounts.rules(entry)? {
        if !accounts.is_kept_for(&repo, &rule, account).await? {
            accounts.keep_for(&repo, &rule, account).await?;
            said(format!("{rule} is kept for {} again", account.login));
        }
    }
    if config.merge_bar(entry).is_none() && !forge.requires_approval(&repo, &entry.default_branch).await? {
        forge.ensure_approval(&repo, &entry.default_branch).await?;
        said(format!("a merge into {} takes a person's approval", entry.default_branch));
    }
    let amiss = forge.labels_amiss(&repo, &LABELS.map(|label| label.name)).await?;
    for label in LABELS.iter().filter(|label| amiss.contains(&label.name)) {
        forge.ensure_label(&repo, label.name, &format!("#{}", label.colour), label.description).await?;
        said(format!("the label {} is as it was made", label.name));
    }
    hook(config, entries, accounts, (entry, &repo), &said).await?;
    name(config, entries, entry, &repo, &said).await
}

/// Writes the hook's secret anew where it signs with another one. A Gitea ignores the secret when a hook is edited, so another hook takes
/// its place.
pub(super) async fn renew_secret(
    config: &Process,
    entries: &Entries,
    accounts: &Accounts,
    entry: &Entry,
    printer: &Printer,
) -> Result<()> {
    let repo = accounts.found(entry).await?;
    let made = replace(config, entries, accounts, (entry, &repo)).await?;
    printer.good(&format!(
        "{}: changed: the secret of the hook to {} was written anew (it is hook {} now)",
        entry.key, made.url, made.id
    ));
    Ok(())
}

/// Sets one hook with the newest secret of the entry in place of those with its address.
async fn replace(
    config: &Process,
    entries: &Entries,
    accounts: &Accounts,
    (entry, repo): (&Entry, &RepoRef),
) -> Result<HookInfo> {
    let secrets = entries.secrets(entry)?;
    let none = || Complaint::new(format!("no secret for the hook of {} is known", entry.key));
    let secret = secrets.first().ok_or_else(|| none().hint("caisson repo add"))?;
    Ok(accounts.forge.replace_hook(repo, &config.hook_url(&entry.key), secret).await?)
}

/// Writes the repository's new name into its entry of the store.
async fn name(
    config: &Process,
    entries: &Entries,
    entry: &Entry,
    repo: &RepoRef,
    said: &impl Fn(String),
) -> Result<Entry> {
    if !entry.from_store || (&entry.owner, &entry.name) == (&repo.owner, &repo.name) {
        return Ok(entry.clone());
    }
    let (_, secrets) = store_entry(config, entries, &entry.key)?;
    let renamed = Entry { owner: repo.owner.clone(), name: repo.name.clone(), ..entry.clone() };
    entries::put(config, |key, by| sealed(key, &renamed, secrets, (entries.next(&renamed.key), by))).await?;
    said(format!("its entry names {repo} now"));
    Ok(renamed)
}

/// Has the other account give the bot's own account its right again, where that one administers the repository. Otherwise the check names
/// who can.
async fn own_right(accounts: &Accounts, entry: &Entry, printer: &Printer) -> Result<()> {
    let Some(repo) = accounts.seen_by_sync(entry).await? else { return Ok(()) };
    if accounts.own_right(&repo).await? >= Access::Admin {
        return Ok(());
    }
    let bot = &accounts.bot.login;
    match accounts.as_sync()?.ensure_collaborator(&repo, bot, Access::Admin).await {
        Ok(_) => {
            printer.good(&format!("{}: changed: {bot} administers {repo} again", entry.key));
            Ok(())
        }
        Err(ForgeError::Forbidden(_) | ForgeError::NotFound(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Sets the hook, and switches Actions of a copy off.
async fn hook(
    config: &Process,
    entries: &Entries,
    accounts: &Accounts,
    (entry, repo): (&Entry, &RepoRef),
    said: &impl Fn(String),
) -> Result<()> {
    let (forge, url) = (&accounts.forge, config.hook_url(&entry.key));
    let hooks = forge.hooks(repo).await?;
    let ours: Vec<_> = hooks.iter().filter(|hook| hook.url == url).collect();
    let stands = ours.len() == 1 && ours.iter().all(|hook| hook.faults().is_empty());
    if !stands {
        let made = replace(config, entries, accounts, (entry, repo)).await?;
        said(format!(
            "hook {} to {url} takes the place of {}",
            made.id,
            crate::text::count(ours.len() as u64, "other")
        ));
    }
    let actions = "actions";
    let foreign = forge.foreign(repo, &url).await?;
    let is_copy = !entry.origin().is_empty();
    if is_copy && foreign.iter().any(|name| name == actions) && !is_accepted(actions, &entry.accepted_foreign) {
        forge.disable_actions(repo).await?;
        said("Actions are off again".to_owned());
    }
    Ok(())
}
