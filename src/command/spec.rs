//! What a command is: how it is written, who may give it, what it asks for.

use super::options::{Opt, split};
use domain::{Terms, Verb};

/// Longest accepted text behind a command, in characters; more would not reach the agent uncut.
pub const MAX_WORDS: usize = 16_000;

/// Who may give a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Write access to the repository's code, asked when the command is used.
    Writer,
    /// Read access to the issue.
    Reader,
}

impl Who {
    /// Wording for the table of the help.
    pub fn words(self) -> &'static str {
        match self {
            Who::Writer => "those who may write to the repository",
            Who::Reader => "anyone who can read the issue",
        }
    }
}

/// Which command of a text is carried out if it contains several: the strongest; of equals the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// Asks for an answer and changes nothing.
    Question,
    /// Begins or continues work, or changes what a task may use or reach.
    Work,
    /// Approves a checkpoint.
    Approval,
    /// Pauses the task.
    Pause,
    /// Asks for changes.
    Changes,
    /// Ends the task.
    Stop,
}

/// One command.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The word after the slash, in lower case.
    pub name: &'static str,
    /// How it is written, slash and arguments included, as the help shows it.
    pub syntax: &'static str,
    /// Who may give it.
    pub who: Who,
    /// What it does, as the help says it.
    pub effect: &'static str,
    /// Its priority among the commands of one text.
    pub strength: Strength,
    /// The options that may follow its name.
    pub options: &'static [Opt],
    /// Reads what it asks for; the error is half a sentence that says why it cannot be followed.
    pub read: fn(&Argument<'_>) -> Result<Verb, String>,
}

/// The text after a command's name.
#[derive(Clone, Copy, Debug)]
pub struct Argument<'a> {
    /// Up to the next command or the end of the text.
    pub(super) text: &'a str,
    /// Login of whoever wrote it.
    pub(super) author: &'a str,
}

impl Argument<'_> {
    /// What stands in the command's own line.
    pub fn line(&self) -> &str {
        self.text.lines().next().unwrap_or_default().trim()
    }

    /// The whole text.
    ///
    /// # Errors
    /// Half a sentence where it is more than 16,000 characters.
    pub fn words(&self) -> Result<String, String> {
        within(self.text.trim())
    }

    /// The terms of its options, and the words after them.
    ///
    /// # Errors
    /// Half a sentence: what is wrong with an option, or that the words are more than 16,000 characters.
    pub(super) fn terms(&self, options: &[Opt]) -> Result<(Terms, String), String> {
        let (terms, words) = split(self.text, options)?;
        Ok((terms, within(&words)?))
    }

    /// For a command without arguments: further words are ignored, an option is refused.
    pub(super) fn alone(&self, verb: Verb) -> Result<Verb, String> {
        if self.line().starts_with("--") {
            return Err("it has no options".to_owned());
        }
        Ok(verb)
    }
}

fn within(words: &str) -> Result<String, String> {
    if words.chars().nth(MAX_WORDS).is_some() {
        return Err(
            "behind it stand more than 16,000 characters; write what matters, and put the rest into a file of the repository"
                .to_owned(),
        );
    }
    Ok(words.to_owned())
}
