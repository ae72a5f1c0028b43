//! Commands of a text besides the strongest one, which alone is carried out as its decision. Hosts are carried out too (`hosts.rs`),
//! questions are answered, and the author is told which of the others were not followed.

use super::answer::Answers;
use super::groups::Groups;
use super::own::OwnCommandReader;
use super::words::{self, parsed_with};
use crate::command::{Command, OwnNames};
use crate::config::Process;
use crate::config::process::Repository;
use crate::line::Line;
use crate::message::{self, About};
use crate::redact;
use crate::store::Store;
use crate::trouble::Trouble;
use domain::{Access, Account, Event, Task, TaskId, Verb};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A further command of a text.
#[derive(Debug, PartialEq, Eq)]
enum FurtherCommand {
    Status,
    Cost,
    Help,
    Unknown {
        word: String,
        why: Option<String>,
    },
    /// What a text has no room for: so many further commands, and hosts.
    More {
        commands: usize,
        hosts: usize,
    },
    /// A host that the text allows and denies; each is carried out, in their order.
    Both {
        host: String,
        allowed: bool,
    },
    /// `against`: whether it contradicts the command that is carried out.
    Left {
        name: String,
        against: bool,
    },
}

/// The most answers to one text; further commands are counted.
const MOST: usize = 12;

/// Whether the two contradict each other.
fn opposed(one: &Verb, other: &Verb) -> bool {
    let halts = |verb: &Verb| matches!(verb, Verb::Stop | Verb::Pause);
    let goes_on = |verb: &Verb| {
        matches!(
            verb,
            Verb::Approve { .. }
                | Verb::Changes { .. }
                | Verb::Resume
                | Verb::Retry { .. }
                | Verb::Rebase { .. }
                | Verb::Merge { .. }
                | Verb::Fix { .. }
                | Verb::Plan { .. }
                | Verb::Work { .. }
        )
    };
    let decides = |verb: &Verb| matches!(verb, Verb::Approve { .. } | Verb::Merge { .. });
    let changes = |verb: &Verb| matches!(verb, Verb::Changes { .. } | Verb::Rebase { .. });
    let either = |a: fn(&Verb) -> bool, b: fn(&Verb) -> bool| (a(one) && b(other)) || (a(other) && b(one));
    either(halts, goes_on) || either(decides, changes)
}

/// Whether a command of the text is the one that is carried out, ignoring the operator's limits, which were filled in after parsing.
fn is_done(command: &Command, done: &Verb) -> bool {
    match (&command.verb, done) {
        (Verb::Budget { more, .. }, Verb::Budget { more: granted, .. }) => more == granted,
        (Verb::Model { id, .. }, Verb::Model { id: chosen, .. }) => id == chosen,
        (Verb::Rebase { .. }, Verb::Rebase { .. }) | (Verb::Merge { .. }, Verb::Merge { .. }) => true,
        // Why it is not followed was filled in after parsing, too.
        (Verb::Unknown { word, why: None }, Verb::Unknown { word: other, .. }) => word == other,
        (verb, done) => verb == done,
    }
}

/// The carried-out command as the person wrote it; of a review whose state decided, "the review itself".
fn carried_out((login, text, done): (&str, &str, &Verb), own: &OwnNames) -> String {
    let commands = parsed_with(text, login, own).commands;
    let found = commands.into_iter().find(|command| is_done(command, done));
    found.map_or_else(|| "the review itself".to_owned(), |command| format!("`/{}`", command.name))
}

fn is_host(verb: &Verb) -> bool {
    matches!(verb, Verb::Allow { .. } | Verb::Deny { .. })
}

/// The further commands of `text`, written by `login`, without `done`: in order, each once. `own` are the repository's own.
fn beside((login, text, done): (&str, &str, &Verb), own: &OwnNames) -> Vec<FurtherCommand> {
    let mut commands = parsed_with(text, login, own).commands;
    let named = commands.iter().filter(|command| is_host(&command.verb)).count();
    let hosts = named.saturating_sub(words::hosts(text, done).len() + usize::from(is_host(done)));
    if let Some(at) = commands.iter().position(|command| is_done(command, done)) {
        commands.remove(at);
    }
    // A review that asks for changes hands its whole text to the agent.
    let text = redact::in_words(text);
    let whole = matches!(done, Verb::Changes { items } if items.iter().any(|item| item.text == text));
    let (mut found, mut more) = (Vec::new(), 0);
    for command in commands.iter().filter(|command| !is_done(command, done)) {
        let one = match &command.verb {
            Verb::Allow { .. } | Verb::Deny { .. } => continue,
            Verb::Changes { .. } if whole => continue,
            Verb::Status => FurtherCommand::Status,
            Verb::Cost => FurtherCommand::Cost,
            Verb::Help => FurtherCommand::Help,
            Verb::Unknown { word, why } => FurtherCommand::Unknown { word: word.clone(), why: why.clone() },
            Verb::Approve { .. }
            | Verb::Changes { .. }
            | Verb::Stop
            | Verb::Resume
            | Verb::Fix { .. }
            | Verb::Plan { .. }
            | Verb::Work { .. }
            | Verb::Say { .. }
            | Verb::Budget { .. }
            | Verb::Pause
            | Verb::Retry { .. }
            | Verb::Rebase { .. }
            | Verb::Merge { .. }
            | Verb::Ask { .. }
            | Verb::Test { .. }
            | Verb::TestOff
            | Verb::Sync
            | Verb::Model { .. } => {
                FurtherCommand::Left { name: command.name.clone(), against: opposed(&command.verb, done) }
            }
        };
        if !found.contains(&one) {
            match found.len() < MOST {
                true => found.push(one),
                false => more += 1,
            }
        }
    }
    for one in both(&text, done) {
        match found.len() < MOST {
            true => found.push(one),
            false => more += 1,
        }
    }
    if more > 0 || hosts > 0 {
        found.push(FurtherCommand::More { commands: more, hosts });
    }
    found
}

/// Each host that a text allows and denies, with what its last word on it is, of those words that are carried out.
fn both(text: &str, done: &Verb) -> Vec<FurtherCommand> {
    let mut last: BTreeMap<String, (bool, bool)> = BTreeMap::new();
    for verb in Some(done.clone()).into_iter().filter(is_host).chain(words::hosts(text, done)) {
        let (host, allowed) = match verb {
            Verb::Allow { host, .. } => (host, true),
            Verb::Deny { host, .. } => (host, false),
            _ => continue,
        };
        let known = last.entry(host).or_insert((allowed, false));
        *known = (allowed, known.1 || known.0 != allowed);
    }
    let opposed = last.into_iter().filter(|(_, (_, opposed))| *opposed);
    opposed.map(|(host, (allowed, _))| FurtherCommand::Both { host, allowed }).collect()
}

/// Key of the answer to the further commands of the text with this key.
pub fn beside_key(key: &str) -> String {
    format!("{key}?")
}

/// Answers them.
pub struct FurtherCommands {
    pub(super) config: Arc<Process>,
    pub(super) store: Store,
    pub(super) groups: Arc<Groups>,
    pub(super) own: Arc<OwnCommandReader>,
    pub(super) answers: Arc<Answers>,
}

impl FurtherCommands {
    /// Answers the further commands of a text where no task is at work, in one comment. `key` is the text's; then its author, the text, and
    /// the command that is carried out; `own` are the repository's own commands as they were when the text was read.
    pub async fn answer_beside(
        &self,
        entry: &Repository,
        number: u64,
        key: &str,
        (said, own): ((&Account, &str, &Verb), &OwnNames),
        right: Access,
    ) -> Result<(), Trouble> {
        // Of a task that has ended, its log still answers.
        let ended = match self.store.newest_task_of(&entry.key, number).await? {
            Some(row) => Some(self.store.task(TaskId(row.id)).await?).filter(|task| task.state.ended()),
            None => None,
        };
        let Some(answer) = self.beside(entry, (said, own), right, ended.as_ref()).await? else { return Ok(()) };
        self.answers.answer_once(entry, number, &beside_key(key), &answer).await
    }

    /// What is answered to the further commands of a text; none where there is nothing to say. `task` is none where no task is at work; where
    /// one is, none of the repository's own is followed, and `own` is empty.
    pub(super) async fn beside(
        &self,
        entry: &Repository,
        ((account, text, done), own): ((&Account, &str, &Verb), &OwnNames),
        right: Access,
        task: Option<&Task>,
    ) -> Result<Option<String>, Trouble> {
        let login = account.login.as_str();
        let mut parts = Vec::new();
        let (mut against, mut others) = (Vec::new(), Vec::new());
        for one in beside((login, text, done), own) {
            let asks = match &one {
                FurtherCommand::Status => Some(Verb::Status),
                FurtherCommand::Cost => Some(Verb::Cost),
                _ => None,
            };
            if let Some(verb) = asks
                && self.groups.barred(entry, (&verb, account, right), task).await?.is_some()
            {
                continue;
            }
            match (one, task) {
                (FurtherCommand::Status, Some(task)) => {
                    let line = Line::standing_of(&self.store, &self.config, &entry.key, task.id).await?;
                    parts.push(message::status(&About { task, pull_url: None, scripted: false, line: line.as_ref() }));
                }
                (FurtherCommand::Status | FurtherCommand::Cost, None) => parts.push(message::no_task(login)),
                (FurtherCommand::Cost, Some(task)) => {
                    let log: Vec<Event> = self.store.log(task.id).await?.into_iter().map(|(_, event)| event).collect();
                    let about = About { task, pull_url: None, scripted: false, line: None };
                    parts.push(message::cost(&about, &message::sums(&log)));
                }
                (FurtherCommand::Help, Some(task)) if !task.state.ended() => {
                    parts.push(self.own.help_at_work(entry, right).await)
                }
                (FurtherCommand::Help, _) => parts.push(self.own.help(entry, right).await),
                (FurtherCommand::Unknown { word, why: None }, Some(task)) if !task.state.ended() => {
                    let why = self.own.own_while_at_work(entry, &word, right).await;
                    parts.push(message::unknown_beside(&word, why.as_deref(), &[]));
                }
                (FurtherCommand::Unknown { word, why }, _) => {
                    let names: Vec<&str> = own.keys().map(String::as_str).collect();
                    parts.push(message::unknown_beside(&word, why.as_deref(), &names));
                }
                (FurtherCommand::More { commands, hosts }, _) => parts.push(message::no_room(login, commands, hosts)),
                (FurtherCommand::Both { host, allowed }, Some(task)) if !task.state.ended() => {
                    parts.push(message::both_ways(login, &host, allowed));
                }
                // Where no task is at work, a denial takes the host from later tasks, and nothing is allowed.
                (FurtherCommand::Both { .. }, _) => {}
                (FurtherCommand::Left { name, against: true }, _) => against.push(name),
                (FurtherCommand::Left { name, against: false }, _) => others.push(name),
            }
        }
        if !against.is_empty() || !others.is_empty() {
            let carried_out = carried_out((login, text, done), own);
            parts.insert(0, message::left_undone(login, &carried_out, &against, &others));
        }
        Ok((!parts.is_empty()).then(|| parts.join("\n\n")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let one = |beside: FurtherCommand| match beside {
            FurtherCommand::Status => "status".to_owned(),
            FurtherCommand::Help => "help".to_owned(),
            FurtherCommand::Unknown { word, .. } => format!("{word}?"),
            FurtherCommand::Cost => "cost".to_owned(),
            FurtherCommand::More { commands, hosts } => format!("+{commands}+{hosts}"),
            FurtherCommand::Both { host, allowed } => format!("{host}={allowed}"),
            FurtherCommand::Left { name, against: false } => format!("-{name}"),
            FurtherCommand::Left { name, against: true } => format!("!{name}"),
        };
        beside(("u7", text, &words::text(text, "u7")), &OwnNames::new()).into_iter().map(one).collect()
    }

    #[test]
    fn no_command_of_a_text_is_dropped_in_silence() {
        assert_eq!(names("/approve"), [""; 0]);
        assert_eq!(names("/approve\n/stop"), ["!approve"]);
        assert_eq!(names("/approve\n/revise a set"), ["!approve"]);
        assert_eq!(names("/stop\n/fix it\n/budget 1 usd"), ["!fix", "-budget"]);
        assert_eq!(names("/resume\n/pause\n/cost"), ["!resume", "cost"]);
        assert_eq!(names("/approve\n/status\n/help"), ["status", "help"]);
        assert_eq!(names("/approve c1\n/approve c2"), ["-approve"]);
        assert_eq!(names("/fix this\n/fix that\n/frob"), ["-fix", "frob?"]);
        assert_eq!(names("/status\n/fix it"), ["status"], "a question does not stand in the way of work");
        assert_eq!(names("/allow a.test\n/allow b.test\n/approve"), [""; 0], "hosts are carried out, each");
        assert_eq!(names("/stop\n/stop"), [""; 0], "the same twice is once");
        assert_eq!(names("/allow a.test\n/deny a.test\n/allow b.test"), ["a.test=false"]);
        assert_eq!(names("/merge\n/revise use a set"), ["!merge"]);
        assert_eq!(names("/revise use a set\n/revise and a map"), ["-revise"]);
        let many = |name: &str, count: usize| (0..count).map(|n| format!("/{name}{}\n", n + 1)).collect::<String>();
        let words: String = ('a'..='p').map(|c| format!("/frob{c}\n")).collect();
        assert_eq!(names(&format!("/approve\n{words}")).last().map(String::as_str), Some("+4+0"));
        assert_eq!(names(&many("deny a.test:", 21)), [""; 0], "each is carried out");
        assert_eq!(names(&many("deny a.test:", 25)), ["+0+4"]);
        assert_eq!(names(&format!("/approve\n{}", many("deny a.test:", 22))), ["+0+2"]);
    }

    #[test]
    fn what_a_review_says_whole_is_not_left() {
        let item = |text: &str| domain::Item::on_the_whole(text, "u7");
        let text = "/revise use a set\n/status";
        let done = Verb::Changes { items: vec![item(text)] };
        let none = OwnNames::new();
        assert_eq!(beside(("u7", text, &done), &none), [FurtherCommand::Status]);
        let left = [FurtherCommand::Left { name: "resume".into(), against: false }];
        assert_eq!(beside(("u7", "/resume", &Verb::approve()), &none), left);
    }

    #[test]
    fn what_stands_beside_an_own_command_is_told_and_it_itself_is_not() {
        let own = OwnNames::from([("deploy".to_owned(), Ok(domain::TaskKind::Fix))]);
        let text = "/deploy it\n/budget 1 usd\n/frob";
        let done = words::strongest_with(text, "u7", &own).expect("a command").verb;
        let left = FurtherCommand::Left { name: "budget".into(), against: false };
        let unknown = FurtherCommand::Unknown { word: "frob".into(), why: None };
        assert_eq!(beside(("u7", text, &done), &own), [left, unknown]);
        assert_eq!(carried_out(("u7", text, &done), &own), "`/deploy`");
        let stopped = FurtherCommand::Left { name: "deploy".into(), against: true };
        assert_eq!(beside(("u7", "/deploy\n/stop", &Verb::Stop), &own), [stopped]);
        let why = Some("one is at work".to_owned());
        let answered = Verb::Unknown { word: "deploy".into(), why };
        assert!(beside(("u7", "/deploy it", &answered), &OwnNames::new()).is_empty(), "answered once");
    }
}
