//! Who asks for what by a text where no task is at work, as it is kept of a decision about it.

use super::start::Text;
use crate::thread::Asking;
use domain::Verb;

impl Text {
    /// That its author asks for the command of this name.
    pub(super) fn asks<'a>(&'a self, command: &'a str) -> Asking<'a> {
        Asking { id: self.author.id, login: &self.author.login, source: &self.source, command }
    }

    /// As [`Text::asks`], for the command of this verb.
    pub(super) fn asks_for(&self, verb: &Verb) -> Asking<'_> {
        self.asks(verb.command().unwrap_or_default())
    }
}
