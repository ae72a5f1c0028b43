//! The forge, the two accounts, and each repository as set by `caisson repo add`. Reads only.

use super::local::{TOKEN, cure};
use super::report::Report;
use crate::cli::printer::Complaint;
use crate::cli::repo::{self, Accounts};
use crate::config::process::Repository as Entry;
use crate::config::{Process, SecretError};
use crate::forge::{ForgeError, ForgeReads, RepoRef, named};

/// The oldest version of Gitea with which the contract suite was run.
const OLDEST: (u32, u32) = (1, 22);

/// Whether the forge answers and accepts both tokens.
pub(super) async fn accounts(report: &mut Report, config: &Process) -> Option<Accounts> {
    let setup = "caisson setup --forge-url http://localhost:3000 --admin-token-file admin.token";
    let Some(url) = config.forge.url.as_ref() else {
        report.fault("forge", "none is configured", setup);
        return None;
    };
    let accounts = match Accounts::open(config).await {
        Ok(accounts) => accounts,
        Err(error) => {
            let transient = error.downcast_ref::<ForgeError>().is_some_and(ForgeError::is_transient);
            let hint = match (error.downcast_ref::<Complaint>(), error.downcast_ref::<SecretError>()) {
                (Some(complaint), _) => complaint.hint.clone(),
                // No token is at fault that cannot be read.
                (None, Some(error)) => cure(error, TOKEN),
                (None, None) if transient => "start the forge, or mend forge.url".to_owned(),
                (None, None) => {
                    "`caisson setup --adopt` with another --config makes new tokens for the same accounts".to_owned()
                }
            };
            report.fault("forge", format!("{url}: {error:#}"), hint);
            return None;
        }
    };
    match accounts.forge.version().await {
        Ok(version) => judge_version(report, url.as_str(), &version),
        Err(error) => report.fault("forge", format!("{url}: {error}"), "check forge.url, and that the forge runs"),
    }
    report.good("forge", format!("{} works, {} keeps the default branches", accounts.bot.login, accounts.sync.login));
    Some(accounts)
}

fn judge_version(report: &mut Report, url: &str, version: &str) {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    let text = format!("{url} is version {version}");
    if found < OLDEST {
        report.note("forge", format!("{text}: older than {}.{}, where nothing was tried", OLDEST.0, OLDEST.1));
    } else {
        report.good("forge", text);
    }
}

/// One repository as set by `caisson repo add`: rights, protection, hook, Actions, other listeners. Returns its present address and our hook.
pub(super) async fn repository(
    report: &mut Report,
    config: &Process,
    accounts: &Accounts,
    entry: &Entry,
) -> Option<(RepoRef, i64)> {
    let part = format!("repository {}", entry.key);
    let add = format!("`caisson repo check {} --fix` sets it again", entry.key);
    let mut hook = None;
    match repo::compare(config, accounts, entry).await {
        Ok(found) => {
            if found.wrong.is_empty() {
                let text = format!(
                    "{}/{} as it was added: branches kept, one hook, nobody else listens",
                    entry.owner, entry.name
                );
                report.good(&part, text);
            }
            found.wrong.into_iter().for_each(|fault| report.fault(&part, fault, &add));
            hook = found.hook;
        }
        Err(error) => report.fault(&part, format!("{error:#}"), "try again when the forge answers"),
    }
    for name in &entry.accepted_foreign {
        report.note(&part, format!("{} was accepted when it was added", named(name)));
    }
    // By its id: it may be called something else by now, and another one as it was.
    let teams = async { repo::teams(accounts, &accounts.place_of(entry).await?).await };
    match teams.await {
        Ok(teams) => teams.troubles.into_iter().for_each(|(found, hint)| report.fault(&part, found, hint)),
        Err(error) => report.fault(&part, format!("{error:#}"), "try again when the forge answers"),
    }
    hook.filter(|(_, hook)| hook.active).map(|(repo, hook)| (repo, hook.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[tokio::test]
    async fn a_token_that_others_may_read_is_closed_and_not_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, "x").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let text = "[forge]\nurl = \"http://127.0.0.1:9\"\ntoken_file = \"token\"\nsync_token_file = \"other\"\n";
        let config = Process::from_layers(&dir.path().join("caisson.toml"), text, &|_| None).unwrap();
        let mut report = Report::default();
        assert!(accounts(&mut report, &config).await.is_none());
        assert!(report.findings[0].hint.starts_with("chmod 600 "), "{:?}", report.findings);
    }
}
