//! The terms on which a task may begin: the options of its command, checked against what the operator offers and this person may grant. All
//! of it is checked before anything begins, and before a task is ended for a new attempt. Pure. Tests: below and `tests/stories/terms.rs`.

use super::attempt::Retries;
use crate::config::Process;
use crate::config::process::Repository;
use crate::config::project::Granted;
use crate::message;
use crate::text::{code, shell_word};
use crate::trouble::Trouble;
use domain::{Access, Account, Budget, BudgetBar, Granters, Task, Terms, Verb};

/// What a task begins with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// Its budget at the beginning.
    pub budget: Budget,
    /// What it is granted in addition, as with `/budget`.
    pub more: Option<Verb>,
}

/// Checks the options of somebody with this right; an error is the answer to post: why the task does not begin, and what to write instead.
pub(crate) fn agree(
    config: &Process,
    entry: &Repository,
    terms: &Terms,
    (login, right): (&str, Access),
) -> Result<Agreed, String> {
    let offered = Granted::of(config, &entry.key);
    let refused = |option: &str, value: &str, why: &str| Err(message::term_refused(login, option, value, why));
    if let Some(name) = terms.toolchain.as_ref().filter(|name| offered.toolchain(name).is_none()) {
        return refused("toolchain", name, &format!("what is offered here: {}", offered.offered()));
    }
    let named: Vec<String> = config.models_of(&entry.key).nameable().map(|entry| entry.id.clone()).collect();
    if let Some(id) = terms.model.as_ref().filter(|id| !named.contains(id)) {
        return refused("model", id, &message::nameable(&named));
    }
    let branch = &entry.default_branch;
    if let Some(other) = terms.branch.as_ref().filter(|other| *other != branch) {
        let why = format!(
            "tasks of this repository begin from `{branch}` alone; an operator changes that with {}. Write the command without it, or `--branch {branch}`",
            code(&set_branch(entry, other))
        );
        return refused("branch", other, &why);
    }
    let own = config.budget_of(&entry.key);
    let (usual, who) = (own.granted(), own.granters());
    let Some(asked) = terms.budget else { return Ok(Agreed { budget: usual, more: None }) };
    let more = over(&asked, &usual);
    let bar = match (more == Budget::default(), who.include(right)) {
        (true, _) => None,
        (false, false) => Some(BudgetBar::Who { admins: who == Granters::Admins }),
        (false, true) => usual.bar(&more, &own.ceiling()),
    };
    if let Some(bar) = bar {
        return Err(message::budget_of_a_start(login, &bar));
    }
    let grants = (more != Budget::default()).then(|| Verb::Budget { more, ceiling: own.ceiling(), who });
    Ok(Agreed { budget: usual.narrowed(&asked), more: grants })
}

/// What an operator writes so that tasks begin from this branch, and every branch that is kept in step now still is.
fn set_branch(entry: &Repository, branch: &str) -> String {
    let kept = std::iter::once(&entry.default_branch).chain(&entry.branches).filter(|name| name.as_str() != branch);
    let also: String = kept.map(|name| format!(" --also {}", shell_word(name))).collect();
    format!("caisson repo set-branch {} {}{also}", shell_word(&entry.key), shell_word(branch))
}

/// What is answered to options that change nothing on a pull request, which is read at its head by tools that run nothing.
pub(crate) fn unused_on_a_pull(terms: &Terms, login: &str) -> Option<String> {
    let unused = |option, value: &Option<String>| value.clone().map(|value| (option, value));
    let (option, value) = unused("toolchain", &terms.toolchain).or_else(|| unused("branch", &terms.branch))?;
    let why = "on a pull request its head is read, and nothing is run. Write the command without it";
    Some(message::term_refused(login, option, &value, why))
}

impl Retries {
    /// The terms of a new attempt at this task, if this person may begin one: checked as its command with the same options would be. An
    /// error within is the answer to post.
    pub(crate) async fn attempt(
        &self,
        entry: &Repository,
        task: &Task,
        (account, right): (&Account, Access),
    ) -> Result<Result<Agreed, String>, Trouble> {
        let login = account.login.as_str();
        let terms = task.request.as_ref().map(|request| request.terms.clone()).unwrap_or_default();
        let mut agreed = match agree(&self.config, entry, &terms, (login, right)) {
            Ok(agreed) => agreed,
            Err(answer) => return Ok(Err(answer)),
        };
        let mut given = terms;
        if let Some(own) = task.request.as_ref().and_then(|request| request.own.as_ref()) {
            if let Err(whom) = self.groups.admits_by_file(entry, &own.who, (account, right)).await? {
                return Ok(Err(message::own_not_among(login, &own.name, &whom)));
            }
            agreed.budget = own.narrowed(&agreed.budget);
            // Nobody wrote an option for the model that its file names.
            given.model = given.model.filter(|_| own.model.is_none());
        }
        let begins = Verb::begin(task.kind, String::new(), Terms::default());
        for verb in [&begins].into_iter().chain(&asked_beside(&given, &agreed)) {
            if let Some(whom) = self.groups.barred(entry, (verb, account, right), None).await? {
                return Ok(Err(message::not_among(login, verb.command().unwrap_or_default(), &whom)));
            }
        }
        Ok(Ok(agreed))
    }
}

/// The commands that the options stand for, because the same people may use both.
pub(crate) fn asked_beside(terms: &Terms, agreed: &Agreed) -> Vec<Verb> {
    let model = terms.model.clone().map(|id| Verb::Model { id, among: Vec::new() });
    agreed.more.iter().cloned().chain(model).collect()
}

/// The part of a budget above the usual one, kind by kind. A kind without a limit can only be narrowed.
fn over(asked: &Budget, usual: &Budget) -> Budget {
    let beyond = |asked: u64, usual: u64| if usual == 0 { 0 } else { asked.saturating_sub(usual) };
    Budget {
        micro_usd: beyond(asked.micro_usd, usual.micro_usd),
        tokens: beyond(asked.tokens, usual.tokens),
        actions: beyond(asked.actions, usual.actions),
        work_ms: beyond(asked.work_ms, usual.work_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn config(more: &str) -> Process {
        let text = format!(
            "{more}\n[[model]]\nid = \"small\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1\"\nname = \"m\"\nroles = [\"worker\"]\n\
             [[model]]\nid = \"local\"\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:2\"\nname = \"n\"\nby_name = true\n"
        );
        Process::from_layers(Path::new("/x/c.toml"), &text, &|_| None).unwrap()
    }

    fn judged(config: &Process, terms: &Terms, right: Access) -> Result<Agreed, String> {
        let entry = Repository { key: "shop".into(), default_branch: "main".into(), ..Repository::default() };
        agree(config, &entry, terms, ("alice", right))
    }

    #[test]
    fn a_smaller_budget_is_everybodys_and_a_larger_one_is_a_grant() {
        let asks = |dollars: u64, actions: u64| Terms {
            budget: Some(Budget { micro_usd: dollars * 1_000_000, actions, ..Budget::default() }),
            ..Terms::default()
        };
        let writers = config("");
        let usual = writers.budget_of("shop").granted();
        let small = judged(&writers, &asks(2, 0), Access::Write).unwrap();
        assert_eq!((small.budget.micro_usd, small.budget.actions, small.more), (2_000_000, usual.actions, None));
        let large = judged(&writers, &asks(7, 10), Access::Write).unwrap();
        assert_eq!((large.budget.micro_usd, large.budget.actions), (usual.micro_usd, 10));
        let Some(Verb::Budget { more, .. }) = large.more else { panic!("a grant") };
        assert_eq!((more.micro_usd, more.actions), (2_000_000, 0));
        assert!(judged(&writers, &asks(21, 0), Access::Write).unwrap_err().contains("allows one task"));
        let admins = config("budget.granted_by = \"admins\"");
        assert!(judged(&admins, &asks(7, 0), Access::Write).unwrap_err().contains("administrators"));
        assert!(
            judged(&admins, &asks(7, 0), Access::Admin).is_ok() && judged(&admins, &asks(2, 0), Access::Write).is_ok()
        );
        let nobody = config("budget.granted_by = \"nobody\"");
        assert!(judged(&nobody, &asks(6, 0), Access::Owner).is_err());
        // Without a limit in money there is nothing to grant.
        let free = config("budget.dollars = 0.0");
        let narrowed = judged(&free, &asks(7, 0), Access::Write).unwrap();
        assert_eq!((narrowed.budget.micro_usd, narrowed.more), (7_000_000, None));
    }

    #[test]
    fn what_is_not_to_be_had_is_answered_with_what_is() {
        let config = config("");
        let terms = |of: fn(&mut Terms)| {
            let mut terms = Terms::default();
            of(&mut terms);
            judged(&config, &terms, Access::Write)
        };
        assert!(terms(|it| it.toolchain = Some("rust".into())).is_ok());
        let said = terms(|it| it.toolchain = Some("cobol".into())).unwrap_err();
        assert!(said.contains("--toolchain cobol") && said.contains("python"), "{said}");
        assert!(terms(|it| it.model = Some("local".into())).is_ok());
        let said = terms(|it| it.model = Some("small".into())).unwrap_err();
        assert!(said.contains("`local`") && said.contains("Nothing was started"), "{said}");
        assert!(terms(|it| it.branch = Some("main".into())).is_ok());
        let said = terms(|it| it.branch = Some("dev".into())).unwrap_err();
        assert!(said.contains("--branch dev") && said.contains("--branch main"), "{said}");
        assert!(said.contains("`caisson repo set-branch shop dev --also main`"), "{said}");
    }

    #[test]
    fn the_command_that_changes_the_branch_keeps_the_others_and_can_be_typed() {
        let branches = vec!["dev".to_owned(), "it's; old".to_owned()];
        let entry = Repository { key: "shop".into(), default_branch: "main".into(), branches, ..Repository::default() };
        let command = set_branch(&entry, "dev");
        assert_eq!(command, r"caisson repo set-branch shop dev --also main --also 'it'\''s; old'");
    }
}
