//! `caisson repo check`: compares what `repo add` set with the present state; one line for each difference. Changes nothing without
//! `--fix`, which has `mend` set it again and then checks once more; but triggers a test delivery of each hook.

use super::Accounts;
use super::mend::{mend, renew_secret};
use super::secret::{Signing, examine};
use crate::checkpoint::label::LABELS;
use crate::cli::entries::Entries;
use crate::cli::printer::{Complaint, Printer};
use crate::cli::test_delivery::serve_answers;
use crate::config::Process;
use crate::config::process::Repository as Entry;
use crate::forge::gitea::keep::HookInfo;
use crate::forge::{Access, ForgeError, ForgeReads, RepoRef, is_accepted};
use anyhow::Result;
use std::sync::Arc;

/// With `fix`, first sets again what differs.
pub(super) async fn run(
    config: &Process,
    entries: &Entries,
    (key, fix): (Option<&str>, bool),
    printer: &Printer,
) -> Result<()> {
    let accounts = Accounts::open(config).await?;
    let all = config.repositories();
    let chosen: Vec<&Arc<Entry>> = all.iter().filter(|r| key.is_none_or(|k| r.key == k)).collect();
    if let (Some(key), true) = (key, chosen.is_empty()) {
        return Err(Complaint::new(format!("no repository has the key {key}")).hint("caisson repo list").into());
    }
    let running = serve_answers(config).await;
    let (mut broken, mut unexamined) = (0, false);
    for entry in chosen {
        let (mut wrong, mut signing) = look(config, &accounts, entry, running).await?;
        if fix && !wrong.is_empty() {
            let mended = mend(config, entries, &accounts, entry, printer).await?;
            if signing == Some(Signing::Wrong) {
                renew_secret(config, entries, &accounts, &mended, printer).await?;
            }
            (wrong, signing) = look(config, &accounts, &mended, running).await?;
        }
        if wrong.is_empty() {
            printer.good(&format!("{}/{}", entry.owner, entry.name));
        }
        for fault in &wrong {
            printer.bad(&format!("{}: {fault}", entry.key));
        }
        if let Some(Signing::Unexamined(why)) = &signing {
            printer
                .warn(&format!("{}: whether its hook signs with the right secret was not examined: {why}", entry.key));
            unexamined = true;
        }
        broken += usize::from(!wrong.is_empty());
        teams(&accounts, &accounts.place_of(entry).await?).await?.warn(printer);
    }
    if unexamined {
        printer.hint("repeat this while `caisson serve` runs and the forge reaches it; `caisson doctor` says what keeps it from that");
    }
    if broken == 0 {
        return Ok(());
    }
    let complaint = Complaint::new(format!("{broken} of the repositories are not as the bot needs them"));
    let hint = match fix {
        false => "`caisson repo check --fix` sets anew what `repo add` set",
        true => "what is named above is yours to change on the forge, or to accept with `caisson repo add`",
    };
    Err(complaint.hint(hint).into())
}

/// The differences, and how the hook signs where it has no other fault; a wrong secret is one of the differences, too.
async fn look(
    config: &Process,
    accounts: &Accounts,
    entry: &Entry,
    running: bool,
) -> Result<(Vec<String>, Option<Signing>)> {
    let Comparison { mut wrong, hook } = compare(config, accounts, entry).await?;
    let signing = match &hook {
        Some((repo, hook)) if hook.faults().is_empty() => {
            Some(examine(config, accounts, (&entry.key, repo, hook), running).await)
        }
        _ => None,
    };
    if signing == Some(Signing::Wrong) {
        wrong.push(format!("the hook to {} signs with another secret", config.hook_url(&entry.key)));
    }
    Ok((wrong, signing))
}

/// What was compared, but for the hook's secret.
pub(in crate::cli) struct Comparison {
    /// The differences.
    pub wrong: Vec<String>,
    /// The bot's hook, and the present address of its repository; none unless there is exactly one.
    pub hook: Option<(RepoRef, HookInfo)>,
}

impl From<Vec<String>> for Comparison {
    fn from(wrong: Vec<String>) -> Self {
        Self { wrong, hook: None }
    }
}

/// Compares a repository with what was set. An error only if the forge is unavailable.
pub(in crate::cli) async fn compare(config: &Process, accounts: &Accounts, entry: &Entry) -> Result<Comparison> {
    let named = RepoRef::new(&entry.owner, &entry.name);
    // By its id, because another repository may have the name now.
    let repo = accounts.place_of(entry).await?;
    let found = match accounts.forge.repository(&repo).await {
        Ok(found) => found,
        Err(e @ (ForgeError::Conflict(_) | ForgeError::Moved(_))) => return Ok(vec![e.to_string()].into()),
        Err(e @ ForgeError::NotFound(_)) => return Ok(vec![unseen(accounts, (entry, &repo), &e).await?].into()),
        Err(e) => return Err(e.into()),
    };
    let mut wrong = Vec::new();
    if repo != named {
        let writes = match entry.from_store {
            true => "`caisson repo check --fix` writes the new name down".to_owned(),
            false => format!("write {repo} into its entry of caisson.toml"),
        };
        wrong.push(format!("{named} is called {repo} now, and the bot follows it; {writes}"));
    }
    if found.id != entry.id {
        wrong.push(format!("another repository has taken the name (id {} instead of {})", found.id, entry.id));
        return Ok(wrong.into());
    }
    let own = accounts.own_right(&repo).await?;
    if own < Access::Admin {
        // What else differs is not shown to an account without that right.
        wrong.push(own_fault(accounts, &repo, own));
        return Ok(wrong.into());
    }
    wrong.extend(accounts.switched_off(&repo).await?.iter().map(|what| format!("its {what} are switched off")));
    if found.default_branch != entry.default_branch {
        wrong.push(format!("its default branch is {} instead of {}", found.default_branch, entry.default_branch));
    }
    for (rule, account) in accounts.rules(entry)? {
        if !accounts.is_kept_for(&repo, &rule, account).await? {
            wrong.push(format!("{rule} is not kept for {}", account.login));
        }
        for other in accounts.forge.rules_before(&repo, &rule).await? {
            wrong.push(format!("the rule {other} may hold in place of {rule}: remove it on the forge"));
        }
    }
    if config.merge_bar(entry).is_none() && !accounts.forge.requires_approval(&repo, &entry.default_branch).await? {
        wrong.push(format!(
            "{} does not require an approval that binds administrators too, which merges by the bot want",
            entry.default_branch
        ));
    }
    if accounts.forge.permission(&repo, &accounts.sync).await? < Access::Write {
        wrong.push(format!("{} may not write", accounts.sync.login));
    }
    for label in accounts.forge.labels_amiss(&repo, &LABELS.map(|label| label.name)).await? {
        wrong.push(format!("the label {label} is missing, or is not exclusive as it should be"));
    }
    let readers = readers(config, accounts, (entry, &repo)).await?;
    wrong.extend(readers.wrong);
    Ok(Comparison { wrong, ..readers })
}

/// What differs in who is told of pushes: the bot's own hook, and what else reads or runs them.
async fn readers(config: &Process, accounts: &Accounts, (entry, repo): (&Entry, &RepoRef)) -> Result<Comparison> {
    let (mut wrong, url) = (Vec::new(), config.hook_url(&entry.key));
    let mut hooks = accounts.forge.hooks(repo).await?;
    hooks.retain(|hook| hook.url == url);
    match &hooks[..] {
        [hook] => wrong.extend(hook.faults().into_iter().map(|fault| format!("the hook to {url} {fault}"))),
        [] => wrong.push(format!("there is no hook to {url}")),
        _ => wrong.push(format!("there is more than one hook to {url}")),
    }
    let hook = hooks.pop().filter(|_| hooks.is_empty()).map(|hook| (repo.clone(), hook));
    for name in accounts.forge.foreign(repo, &url).await? {
        if !is_accepted(&name, &entry.accepted_foreign) {
            wrong.push(format!("would run or read each push: {name}"));
        }
    }
    Ok(Comparison { wrong, hook })
}

/// Why the bot's own account sees nothing at a repository's name.
async fn unseen(accounts: &Accounts, (entry, repo): (&Entry, &RepoRef), error: &ForgeError) -> Result<String> {
    if let Some(hidden) = accounts.forge.hidden_name(repo, entry.id).await {
        return Ok(hidden);
    }
    let place = accounts.seen_by_sync(entry).await?;
    Ok(place.map_or_else(|| error.to_string(), |place| own_fault(accounts, &place, Access::None)))
}

/// What the bot's own account lacks, and who can give it.
fn own_fault(accounts: &Accounts, repo: &RepoRef, own: Access) -> String {
    let may = match own {
        Access::None => "sees nothing of it",
        Access::Read => "may only read",
        Access::Write | Access::Admin | Access::Owner => "may only read and write",
    };
    let bot = &accounts.bot.login;
    format!(
        "{bot} {may}, and has to administer {repo} for its hook, labels and protection: make it an owner of {} or an administrator of the repository",
        repo.owner
    )
}

/// Rights given by teams, besides those of people added by name.
#[derive(Debug, Default)]
pub(in crate::cli) struct Teams {
    /// Teams whose members may write.
    pub writers: Vec<String>,
    /// Problems with other teams, with what to do about each.
    pub troubles: Vec<(String, String)>,
}

impl Teams {
    pub(super) fn warn(&self, printer: &Printer) {
        for (trouble, hint) in &self.troubles {
            printer.warn(trouble);
            printer.hint(hint);
        }
    }
}

/// Teams that may write code, or that the forge reports as if they might. An error only if the forge is unavailable.
pub(in crate::cli) async fn teams(accounts: &Accounts, repo: &RepoRef) -> Result<Teams> {
    let (mut teams, bot) = (Teams::default(), &accounts.bot.login);
    for team in accounts.forge.teams(repo).await? {
        let name = &team.name;
        if team.overstates() {
            let trouble = format!("the team {name} is told as one that may write, but the code is not its to write");
            let hint = "its members are refused, also those added by name: save the team's rights anew on the forge";
            teams.troubles.push((trouble, hint.to_owned()));
        } else if team.code < Access::Write {
            continue;
        }
        if !accounts.forge.shows(&team).await? {
            let trouble =
                format!("the team {name} reaches {repo}, but {bot} may not see who is in it: it counts for nobody");
            let hint = format!(
                "make {bot} an owner of the organisation {} or a member of that team, or add its people by name",
                repo.owner
            );
            teams.troubles.push((trouble, hint));
        } else if !team.overstates() {
            teams.writers.push(team.name);
        }
    }
    Ok(teams)
}
