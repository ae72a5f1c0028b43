//! Proposes the file as a pull request: one commit of the bot's account on a branch below `agent/`, never on the default branch.
//!
//! Owns that a repetition finds the existing one: branch name and commit follow from base and text. Pushed with a lease; an unknown
//! listener refuses the push as for a task.

use super::{Accounts, Brought};
use crate::cli::printer::{Complaint, Printer};
use crate::config::Process;
use crate::config::process::Repository as Entry;
use crate::config::project;
use crate::forge::{ForgeError, ForgeReads, ForgeWrites, NewPull, PullRequest, RepoRef, is_accepted};
use crate::git::{Branch, PlainFile, PushSpec, Pushed, Repos};
use crate::message;
use crate::text::shell_word;
use anyhow::Result;
use sha2::{Digest, Sha256};
use std::time::Duration;

/// The forge's API may see a new branch only after a delay.
const TRIES: u32 = 50;
const WAIT: Duration = Duration::from_millis(200);

#[allow(clippy::too_many_arguments)] // each is one thing that the command has in its hand
pub(super) async fn open(
    config: &Process,
    entry: &Entry,
    accounts: &Accounts,
    repos: &Repos,
    brought: &Brought,
    text: &str,
    summary: &[String],
    printer: &Printer,
) -> Result<()> {
    let mut foreign = accounts.forge.foreign(&brought.at, &config.hook_url(&entry.key)).await?;
    foreign.retain(|name| !is_accepted(name, &entry.accepted_foreign));
    if !foreign.is_empty() {
        let complaint = Complaint::new(format!("a push to {} would also reach: {}", brought.at, foreign.join(", ")));
        return Err(complaint
            .hint("remove it on the forge, or accept it with caisson repo add --accept-foreign")
            .into());
    }
    let branch = Branch::parse(&branch_name(&brought.head, text))?;
    let file = PlainFile { path: project::FILE.to_owned(), bytes: text.as_bytes().to_vec(), executable: false };
    let commit =
        repos.commit_files(&entry.key, Some(&brought.head), &[file], &branch, &message::proposal_commit()).await?;
    let spec =
        PushSpec { url: &brought.url, auth: Some(&brought.auth), branch: &branch, new: &commit, expected_old: None };
    if let Pushed::Moved { .. } = repos.push(&entry.key, spec).await? {
        let complaint = Complaint::new(format!("the branch {} stands at another commit", branch.as_str()));
        return Err(complaint
            .hint("somebody changed the proposal: go on there, or delete the branch and try again")
            .into());
    }
    let new = NewPull {
        title: message::proposal_title(),
        body: message::proposal_body(summary, &showing(entry, &brought.at)),
        head: branch.as_str().to_owned(),
        base: entry.default_branch.clone(),
    };
    let pull = pull(accounts, brought, &new).await?;
    printer.good(&format!("pull request {}: {}", pull.number, pull.html_url));
    Ok(())
}

async fn pull(accounts: &Accounts, brought: &Brought, new: &NewPull) -> Result<PullRequest> {
    for _ in 0..TRIES {
        match accounts.forge.open_pull(&brought.at, new).await {
            Ok(pull) => return Ok(pull),
            Err(ForgeError::NotFound(_)) => tokio::time::sleep(WAIT).await,
            Err(ForgeError::Conflict(why)) => {
                let all = accounts.forge.pulls_of_branch(&brought.at, &new.head).await?;
                let own = all.into_iter().find(|pull| pull.author.id == accounts.bot.id);
                return own.ok_or_else(|| Complaint::new("the pull request cannot be opened").because(why).into());
            }
            Err(other) => return Err(other.into()),
        }
    }
    Err(Complaint::new("the forge does not see the pushed branch yet").hint("repeat this command").into())
}

/// The command that shows what the file of this repository asks for. Everybody who sees the pull request reads it, so a path of this machine
/// and the names of other listeners are left out.
fn showing(entry: &Entry, at: &RepoRef) -> String {
    let source = match (entry.address(), entry.origin()) {
        (Some(address), _) => shell_word(address),
        (None, "") => format!("{} --here", shell_word(&at.to_string())),
        (None, _) => "…".to_owned(),
    };
    format!("caisson repo add {source} --name {}", shell_word(&entry.key))
}

/// The same for the same proposal on the same base.
fn branch_name(base: &domain::Commit, text: &str) -> String {
    let hash = hex::encode(Sha256::digest(format!("{base}\n{text}").as_bytes()));
    format!("agent/caisson-toml-{}", &hash[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_is_named_works_and_tells_no_path_of_this_machine() {
        let at = RepoRef::new("team", "shop");
        let here = Entry { key: "shop".to_owned(), ..Entry::default() };
        assert_eq!(showing(&here, &at), "caisson repo add team/shop --here --name shop");
        let copied = Entry { copied_from: "/srv/private/shop".to_owned(), ..here.clone() };
        let of_a_path = Entry { upstream: "/srv/private/shop".to_owned(), ..here.clone() };
        for entry in [copied, of_a_path] {
            assert_eq!(showing(&entry, &at), "caisson repo add … --name shop");
        }
        let followed = Entry { upstream: "https://example.org/team/shop.git".to_owned(), ..here };
        assert_eq!(showing(&followed, &at), "caisson repo add https://example.org/team/shop.git --name shop");
    }
}
