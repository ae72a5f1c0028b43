//! The repository's own rules in a conversation: those of its root at the beginning, those of a folder once the work is there.
//!
//! Owns: how much of them is shown, and that they stay, as people's words do. Must not: choose whose they are (`policy::folders`). Tests:
//! `rules_tests.rs`, `compact_properties.rs`.

use domain::{CallRequest, KindPrompt, Outcome, Rules, RulesFile};
use minijinja::context;

use super::Replay;
use crate::engine::fence::{Trust, spelled};
use crate::engine::prompt;
use crate::text;

/// If less room than this is left, no further file of rules is shown, in characters.
const LEAST: usize = 300;
/// Told after a move onto a base that removed the instructions for the task's kind.
const NO_PROMPT: &str = "The newer base has no instructions of this repository's own for this kind of task any more: those that you were given before no longer hold.";

impl Replay<'_> {
    /// Shows the rules of the root, as far as there is room.
    pub(super) fn given(&mut self, rules: &Rules, newer: bool) {
        self.rules_left = self.rules_chars;
        let (mut blocks, mut rest) = (Vec::new(), Vec::new());
        for file in &rules.files {
            match self.block_of(file) {
                Some(block) => blocks.push(block),
                None => rest.push(file.path.as_str()),
            }
        }
        let (told, named): (Vec<&str>, Vec<&str>) =
            rules.nested.iter().map(String::as_str).partition(|path| rules.folders.iter().any(|it| it.path == *path));
        let (told, nested) = (self.paths(&told.join("\n")), self.paths(&named.join("\n")));
        let base_branch = self.base_branch();
        let values = context! { base_branch, blocks, rest => rest.join(", "), told, nested, newer };
        self.ask(prompt::render("rules", values));
    }

    /// Shows the repository's own instructions for the task's kind, or says that those of the base before no longer hold.
    pub(super) fn instructed(&mut self, own: Option<&KindPrompt>, newer: bool) {
        let pull = self.request.is_some_and(|request| request.pull.is_some());
        // The bot's own hold again where nothing stands in their place any more.
        if self.unbriefed && !own.is_some_and(|own| own.replaces) {
            self.unbriefed = false;
            self.ask(prompt::brief(self.kind, pull));
        }
        let Some(KindPrompt { text, replaces, .. }) = own else { return self.ask(NO_PROMPT.to_owned()) };
        self.unbriefed |= *replaces;
        let name = crate::config::own_prompts::path(self.kind);
        let shown = spelled(text);
        let (text, missing) = text::cut(&shown, self.rules_chars);
        let text = self.fenced(&name, text, missing == 0);
        let values = context! { kind => self.kind.name(), newer, text, replaces };
        self.ask(prompt::render("own_prompt", values));
    }

    /// After an action: the rules of the folders that it is the first to work in.
    pub(super) fn enters(&mut self, call: Option<&CallRequest>, ended: &Outcome) {
        let Some(action) = call.and_then(|request| request.call.action()) else { return };
        for file in self.folders.entered(action, ended) {
            let block = self.block_of(file).unwrap_or_default();
            let path = if block.is_empty() { self.paths(&file.path) } else { String::new() };
            let base_branch = self.base_branch();
            self.ask(prompt::render("folder_rules", context! { base_branch, block, path }));
        }
    }

    /// A file of rules in its fence; none if there is no room left.
    fn block_of(&mut self, file: &RulesFile) -> Option<String> {
        if self.rules_left < LEAST {
            return None;
        }
        let shown = spelled(&file.text);
        let (text, missing) = text::cut(&shown, self.rules_left);
        self.rules_left -= text.chars().count();
        Some(self.fenced(&file.path, text, missing == 0 && file.cut == 0))
    }

    fn fenced(&self, path: &str, text: &str, whole: bool) -> String {
        let more = if whole { "" } else { "\n[… the file goes on; read it where it bears on the work …]" };
        self.fence.wrap(path, Trust::Base, &format!("{text}{more}"))
    }

    fn base_branch(&self) -> String {
        self.request.map(|request| self.fence.inline(&request.base_branch)).unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
