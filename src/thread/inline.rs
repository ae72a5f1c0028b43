//! Commands in the inline comments of a review: there they are about their file and line. `/revise` asks for a change at that line, `/ask`
//! asks about it, `/pause` and `/stop` are what they are everywhere; any other is left, and its author is told where to write it.

use super::words::parsed;
use crate::command::Command;
use crate::forge::ReviewComment;
use domain::{Item, Verb};

/// Longest question about all lines of one review, in characters.
const MOST_QUESTION: usize = 2_000;

/// Whether it is followed in an inline comment.
fn is_followed(verb: &Verb) -> bool {
    matches!(verb, Verb::Changes { .. } | Verb::Ask { .. } | Verb::Pause | Verb::Stop)
}

/// The strongest command that an inline comment gives, of those that the bot knows.
fn of(note: &ReviewComment) -> Option<Command> {
    let mut all = parsed(&note.body, &note.author.login);
    all.commands.retain(|command| !matches!(command.verb, Verb::Unknown { .. }));
    all.strongest().cloned()
}

/// A question with the place that it is about.
fn asked(note: &ReviewComment, question: &str) -> String {
    let place = note.line.map_or_else(|| note.path.clone(), |line| format!("{}, line {line}", note.path));
    format!("{place}: {question}")
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
            Verb::Ask { question: all.collect::<Vec<_>>().join("\n").chars().take(MOST_QUESTION).collect() }
        }
        other => other.clone(),
    };
    Some(Command { verb, ..first.clone() })
}

/// The remark that an inline comment is; none where it gives a command that asks for no change.
pub(super) fn remark(note: &ReviewComment, text: String, login: &str) -> Option<Item> {
    let text = match of(note).map(|command| command.verb) {
        Some(Verb::Changes { items }) => items.into_iter().next().map_or(text, |item| item.text),
        Some(_) => return None,
        None => text,
    };
    let author = login.to_owned();
    Some(Item { path: Some(note.path.clone()), line: note.line, text, author, comment: Some(note.id) })
}

/// Those that give a command which the bot knows.
pub(super) fn with_command<'a>(own: &[&'a ReviewComment]) -> Vec<&'a ReviewComment> {
    own.iter().copied().filter(|note| of(note).is_some()).collect()
}

/// The names of the commands in these inline comments that were not carried out, each once, where `done` is what was. One that cannot be
/// followed as it is written is among them.
pub(super) fn left(own: &[&ReviewComment], done: &Verb) -> Vec<String> {
    let mut names = Vec::new();
    for note in own {
        for command in parsed(&note.body, &note.author.login).commands {
            let carried_out = match (&command.verb, done) {
                (Verb::Changes { .. }, Verb::Changes { .. }) => true,
                (Verb::Ask { question }, Verb::Ask { question: all }) => all.contains(&asked(note, question)),
                // A line may begin with a path.
                (Verb::Unknown { why: None, .. }, _) => true,
                (verb, done) => is_followed(verb) && verb == done,
            };
            if !carried_out && !names.contains(&command.name) {
                names.push(command.name);
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
