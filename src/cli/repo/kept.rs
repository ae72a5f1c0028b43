//! What is held of the branches that are kept in step: only one account pushes to them, and the upstream has each.

use super::Accounts;
use super::set_aside::put_back;
use crate::cli::printer::{Complaint, Printer};
use crate::config::Process;
use crate::config::process::Repository as Entry;
use crate::forge::RepoRef;
use crate::git::Listing;
use crate::message::plain_lines;
use crate::upstream::{Synced, followed};
use anyhow::Result;

/// Has only the account that keeps in step push to each branch that is kept; where the bot merges, a merge takes a person's approval. A rule
/// that an earlier run took away comes first, since a plain one would stand in its place.
pub(super) async fn protect(config: &Process, accounts: &Accounts, repo: &RepoRef, entry: &Entry) -> Result<()> {
    put_back(&config.state_dir, &accounts.forge, repo, entry).await?;
    for branch in followed(entry)? {
        accounts.forge.ensure_protection(repo, branch.as_str(), &[&accounts.sync.login]).await?;
    }
    if config.merge_bar(entry).is_none() {
        accounts.forge.ensure_approval(repo, &entry.default_branch).await?;
    }
    Ok(())
}

/// Fails where the upstream lacks one of the branches; asked before anything is pushed.
pub(super) fn has_each(upstream: &Listing, entry: &Entry) -> Result<()> {
    for branch in followed(entry)? {
        if !upstream.branches.contains_key(&branch) {
            let complaint = Complaint::new(format!("the upstream has no branch {branch}"));
            return Err(complaint.hint("name one that it has").into());
        }
    }
    Ok(())
}

/// Says what was brought.
pub(super) fn tell_brought(synced: &Synced, printer: &Printer) {
    for line in plain_lines(synced) {
        printer.say(&line);
    }
}
