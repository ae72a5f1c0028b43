//! Where `repo add` puts a repository on the forge, and what an earlier run has set up there. Tests: `tests/setup/again.rs`.

use super::Accounts;
use crate::bot::Content;
use crate::cli::entries::Entries;
use crate::cli::printer::{Complaint, Printer};
use crate::config::process::Repository as Entry;
use crate::forge::{Access, ForgeError, ForgeReads, RepoRef, Repository};
use crate::git::Branch;
use crate::secret::Secret;
use anyhow::Result;
use std::time::{Duration, Instant};

/// Time limit for the forge to notice the first push.
const NOTICE: Duration = Duration::from_secs(20);

/// What an earlier run has set up.
#[derive(Default)]
pub(super) struct Before {
    pub(super) entry: Option<Entry>,
    /// The forge's id; without an entry that can be authenticated, what the operator says.
    pub(super) id: Option<i64>,
    /// The id that an entry which cannot be authenticated itself claims. It is not trusted, because whoever can write to the database could
    /// name another repository.
    claimed: Option<i64>,
    /// Secrets of its hook, the newest first.
    pub(super) secrets: Vec<Secret>,
}

impl Before {
    pub(super) fn of(entries: &Entries, key: &str, vouched: Option<i64>, printer: &Printer) -> Self {
        match entries.of(key).map(|entry| &entry.content) {
            Some(Content::Whole { entry, secrets }) => {
                Self { id: Some(entry.id), entry: Some((**entry).clone()), secrets: secrets.clone(), ..Self::default() }
            }
            Some(Content::Refused { why, claims }) => {
                printer.warn(&format!("the store's entry of {key} is refused: {why}"));
                printer
                    .hint("it is written anew, with a new secret for the hook; what was accepted is asked for again");
                Self { id: vouched, claimed: *claims, ..Self::default() }
            }
            Some(Content::Gone) | None => Self { id: vouched, ..Self::default() },
        }
    }

    /// What to do where this repository is not the one that was set up, and is not empty.
    fn hint(&self, found: &Repository) -> String {
        let (at, id) = (&found.html_url, found.id);
        match (&self.entry, self.claimed) {
            (None, Some(claimed)) if claimed == id => format!(
                "look at {at}: if it is what was added here, repeat this with --on-forge {id}; otherwise choose another --name"
            ),
            (None, None) => format!(
                "look at {at}: if a `repo add` that was cut off or a `repo remove` left it, repeat this with --on-forge {id}; otherwise \
                 choose another --name"
            ),
            _ => "choose another --name".to_owned(),
        }
    }
}

/// The repository at this place, made where there is none. An error where another one is there than was set up before or named by its number,
/// or, without that, one that is not empty; and where nothing is there that was named by its number.
pub(super) async fn place(
    accounts: &Accounts,
    (repo, branch): (&RepoRef, &Branch),
    before: &Before,
    printer: &Printer,
) -> Result<Repository> {
    let found = match accounts.forge.repository(repo).await {
        Ok(found) => {
            let is_another = before.id.is_some_and(|id| id != found.id);
            if is_another || (!found.empty && before.id.is_none()) {
                let what = if found.empty { "under another number" } else { "already and is not empty" };
                let complaint = Complaint::new(format!("{repo} is on the forge {what}"));
                return Err(complaint.hint(before.hint(&found)).into());
            }
            found
        }
        Err(ForgeError::NotFound(_)) if before.id.is_none() => {
            make(accounts, repo, branch).await?;
            printer.good(&format!("repository {repo} made"));
            accounts.forge.repository(repo).await?
        }
        // Gitea says the same of one that the account may not see: a second one in its place would leave the first one's tasks behind.
        Err(ForgeError::NotFound(_)) if before.entry.is_some() => {
            let complaint = Complaint::new(format!(
                "{repo}, which is set up, is not on the forge, or {} may not see it any more",
                accounts.bot.login
            ));
            return Err(complaint
                .hint("give the account its right back; to make it anew: `caisson repo remove`, then this once more")
                .into());
        }
        Err(ForgeError::NotFound(_)) => {
            let complaint = Complaint::new(format!("{repo} is not on the forge, and --on-forge names one that is"));
            return Err(complaint
                .hint("leave --on-forge out, or name it with --owner and --name as it is called now")
                .into());
        }
        Err(e) => return Err(e.into()),
    };
    accounts.forge.ensure_collaborator(repo, &accounts.sync.login, Access::Write).await?;
    Ok(found)
}

async fn make(accounts: &Accounts, repo: &RepoRef, branch: &Branch) -> Result<()> {
    match accounts.forge.create_repository(repo, branch.as_str()).await {
        Ok(_) => Ok(()),
        Err(error @ (ForgeError::NotFound(_) | ForgeError::Forbidden(_))) => {
            let what = format!("{} cannot make a repository in {}", accounts.bot.login, repo.owner);
            let hint = "name an organisation with --owner in which that account may make repositories";
            Err(Complaint::new(what).because(error.to_string()).hint(hint).into())
        }
        Err(ForgeError::Conflict(why)) => {
            let hint = format!(
                "if it is there and {} is not shown it, give that account its right, or the second factor that Gitea wants with `[security] \
                 TWO_FACTOR_AUTH = enforced`, and repeat this; otherwise choose another --name",
                accounts.bot.login
            );
            Err(Complaint::new(format!("{repo} cannot be made")).because(why).hint(hint).into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Waits until the forge has noticed the first push; until then it refuses test deliveries and pull requests.
pub(super) async fn noticed(accounts: &Accounts, repo: &RepoRef, id: i64) -> Result<()> {
    let end = Instant::now() + NOTICE;
    while accounts.forge.repository(repo).await?.empty {
        if Instant::now() > end {
            let complaint = Complaint::new("the forge does not notice the push");
            return Err(complaint.hint(format!("repeat this command with --on-forge {id}")).into());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}
