//! Commands in the inline comments of a review: there they are about their file and line. `/revise` asks for a change at that line, `/ask`
//! asks about it, `/pause` and `/stop` are what they are everywhere, `/deny` is carried out and `/status`, `/cost` and `/help` are answered beside;
//! any other is left, and its author is told where to write it.

use crate::command::{self, Command, Parsed, without_lines, without_names};
use crate::forge::ReviewComment;
use crate::redact;
use domain::{Item, OldLine, Verb};

/// Several questions of one review are asked together up to so many characters.
const MOST_QUESTION: usize = 4_000;

/// The most hosts that inline comments of one review deny.
const MOST_HOSTS: usize = 20;

/// Whether it is followed in an inline comment.
fn is_followed(verb: &Verb) -> bool {
    matches!(verb, Verb::Changes { .. } | Verb::Ask { .. } | Verb::Pause | Verb::Stop)
}

fn denies(verb: &Verb) -> bool {
    matches!(verb, Verb::Deny { .. })
}

fn holds_back(command: &Command) -> bool {
    denies(&command.verb) || matches!(command.verb, Verb::Pause | Verb::Stop)
}

/// Whether what stands behind it on a line may be words about the line, though it is carried out or answered.
pub(super) fn leaves_words(verb: &Verb) -> bool {
    denies(verb) || matches!(verb, Verb::Pause | Verb::Status | Verb::Cost | Verb::Help)
}

fn parsed(note: &ReviewComment) -> Parsed {
    command::parse(&redact::in_words(&note.body), &note.author.login)
}

/// The strongest command that an inline comment gives, of those that the bot knows.
fn of(note: &ReviewComment) -> Option<Command> {
    let mut all = parsed(note);
    all.commands.retain(|command| !matches!(command.verb, Verb::Unknown { .. }));
    all.strongest().cloned()
}

/// A command of an inline comment.
#[derive(Clone, Debug)]
pub(crate) struct OnLine {
    pub command: Command,
    /// The comment that it stands in.
    pub note: ReviewComment,
    /// Whether it is no command that somebody wrote, but a question to the bot by its name.
    pub by_name: bool,
}

/// The commands of these inline comments, in order. A line may begin with a path, so an unknown word is none.
pub(super) fn commands(own: &[&ReviewComment]) -> Vec<OnLine> {
    let of_note = |note: &&ReviewComment| {
        let mut all = parsed(note).commands;
        all.retain(|command| !matches!(command.verb, Verb::Unknown { why: None, .. }));
        let note = (*note).clone();
        all.into_iter().map(move |command| OnLine { command, note: note.clone(), by_name: false })
    };
    own.iter().flat_map(of_note).collect()
}

/// A stranger's path as the words of a person may hold it: only one that cannot be read as a sentence.
fn plain_path(path: &str) -> &str {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-' | '+' | '@');
    if path.chars().all(plain) { path } else { "a file of an unusual name" }
}

/// A question with the place that it is about.
pub(crate) fn asked(note: &ReviewComment, question: &str) -> String {
    let path = plain_path(&note.path);
    let place = match (note.line, &note.old) {
        (Some(line), _) => format!("{path}, line {line}"),
        (None, Some(old)) => format!("{path}, line {} before the change", old.line),
        (None, None) => path.to_owned(),
    };
    format!("{place}: {question}")
}

/// The questions as one: the first, and as many more as there is room for, each whole.
pub(super) fn together(questions: impl Iterator<Item = String>) -> String {
    let mut all = String::new();
    for question in questions {
        if !all.is_empty() && all.chars().count() + question.chars().count() >= MOST_QUESTION {
            continue;
        }
        all.push_str(if all.is_empty() { "" } else { "\n" });
        all.push_str(&question);
    }
    all
}

/// The strongest command of these inline comments, if any is followed. Questions of equal strength are asked together; a change has no items
/// here, because the comments are the review's.
pub(super) fn strongest(own: &[&ReviewComment]) -> Option<Command> {
    let given: Vec<(&ReviewComment, Command)> =
        own.iter().filter_map(|note| Some((*note, of(note)?))).filter(|(_, it)| is_followed(&it.verb)).collect();
    let (_, first) = given.iter().rev().max_by_key(|(_, command)| command.strength)?;
    let verb = match &first.verb {
        Verb::Changes { .. } => Verb::Changes { items: Vec::new() },
        Verb::Ask { .. } => {
            let all = given.iter().filter_map(|(note, command)| match &command.verb {
                Verb::Ask { question } => Some(asked(note, question)),
                _ => None,
            });
            Verb::Ask { question: together(all) }
        }
        other => other.clone(),
    };
    Some(Command { verb, ..first.clone() })
}

/// Whether it is one line with a command whose arguments are no words about the line, so that no remark can be meant.
fn is_exact(verb: &Verb, text: &str) -> bool {
    let exact = matches!(
        verb,
        Verb::Approve { .. }
            | Verb::Allow { .. }
            | Verb::Budget { .. }
            | Verb::Model { .. }
            | Verb::Retry { .. }
            | Verb::Test { .. }
            | Verb::TestOff
    );
    exact && text.starts_with('/') && text.lines().count() == 1
}

/// The remark that an inline comment is: its whole text, without the name of a `/revise`, and without what only holds back. None where it holds
/// nothing but a question or such a wish, a command without a word, or one whose arguments are no words.
pub(super) fn remark(note: &ReviewComment, text: String, login: &str) -> Option<Item> {
    let given = parsed(note).commands;
    let known = |command: &Command| !matches!(command.verb, Verb::Unknown { why: None, .. });
    let only_holds = !given.is_empty() && given.iter().all(holds_back);
    let text = match given.as_slice() {
        _ if given.iter().any(|command| matches!(command.verb, Verb::Changes { .. })) => without_names(&text),
        _ if only_holds => without_names(&without_lines(&text, denies)),
        [only] if is_followed(&only.verb) && text.trim_start().starts_with('/') => return None,
        [only] if is_exact(&only.verb, text.trim()) => return None,
        _ => text,
    };
    let text = text.trim();
    let bare = !only_holds && given.iter().any(known) && text.starts_with('/') && !text.contains(char::is_whitespace);
    if text.is_empty() || bare {
        return None;
    }
    let old = note.old.as_ref().map(|old| {
        let removed = old.removed.as_deref().map(redact::in_words);
        OldLine { line: old.line, removed }
    });
    let (path, comment) = (Some(note.path.clone()), Some(note.id));
    Some(Item { path, line: note.line, comment, old, ..Item::on_the_whole(text, login) })
}

/// The remark that a reply on a line is. That its conversation was resolved before takes back nothing that is said in it now.
pub(super) fn remark_of_reply(reply: &ReviewComment) -> Option<Item> {
    let item = remark(reply, redact::in_words(&reply.body), &reply.author.login)?;
    Some(Item { comment: item.comment.filter(|_| !reply.resolved), ..item })
}

/// What these inline comments deny, in order. It is carried out whatever else they say, since it only holds back.
pub(super) fn denied(own: &[&ReviewComment]) -> Vec<Verb> {
    let all = own.iter().flat_map(|note| parsed(note).commands).map(|command| command.verb);
    all.filter(denies).take(MOST_HOSTS).collect()
}

/// Those that give a command which the bot knows.
pub(super) fn with_command<'a>(own: &[&'a ReviewComment]) -> Vec<&'a ReviewComment> {
    own.iter().copied().filter(|note| of(note).is_some()).collect()
}

/// Whether an unknown word is meant as a command: the first line holds it alone. A path with a second slash, and a sentence that begins with a
/// path, are remarks.
fn is_alone(note: &ReviewComment, name: &str) -> bool {
    let word = note.body.lines().next().and_then(|line| line.trim_end().strip_prefix('/')).unwrap_or_default();
    word.chars().all(|c| c.is_ascii_alphabetic() || c == '-') && word.eq_ignore_ascii_case(name)
}

/// The names of the commands in these inline comments that were not carried out, each once, where `done` is what was. One that cannot be
/// followed as it is written is among them, a word that is no command but stands as one, and, with its host, what is not denied any more.
pub(super) fn left(own: &[&ReviewComment], done: &Verb) -> Vec<String> {
    let (mut names, taken) = (Vec::new(), denied(own));
    for note in own {
        for command in parsed(note).commands {
            let carried_out = match (&command.verb, done) {
                (Verb::Changes { .. }, Verb::Changes { .. }) => true,
                (Verb::Ask { question }, Verb::Ask { question: all }) => all.contains(&asked(note, question)),
                (Verb::Deny { .. }, _) => taken.contains(&command.verb),
                // A line may begin with a path.
                (Verb::Unknown { why: None, .. }, _) => !is_alone(note, &command.name),
                (verb, done) => is_followed(verb) && verb == done,
            };
            let name = match &command.verb {
                Verb::Deny { host, .. } if names.len() < MOST_HOSTS => format!("{} {host}", command.name),
                _ => command.name,
            };
            if !carried_out && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// The stronger of a review's own command and that of its inline comments; of equals the review's own.
pub(super) fn stronger(own: Option<Command>, inline: Option<Command>) -> Option<Command> {
    let strength = |command: &Option<Command>| command.as_ref().map(|it| it.strength);
    if strength(&inline) > strength(&own) { inline } else { own }
}
