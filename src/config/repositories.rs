//! The repositories and their settings: entries of the file and the store, and the operator's tables for both.
//!
//! Owns how they are joined: an entry of the file wins over the store's of the same key. `models`, `merge` and the tables `[repositories.sandbox]`,
//! `.budget`, `.checkpoint`, `.slots`, `.start`, `.ci`, `.artifacts`, `.who`, `.tests`, `.egress` and `.upstream_issues` are the file's alone, whoever has the entry. Must not know how the store keeps an entry (`entry.rs`). Tests: `tests.rs`.

use super::Process;
use super::process::{Artifacts, Budget, Ci, Models, OwnTests, Repository, Sandbox, Start, each_once};
use domain::{ACTIONS_PER_CHECKPOINT, MergeBar, Merging};
use protocol::router::Rule;
use std::borrow::Cow;
use std::sync::Arc;

impl Process {
    /// The present repositories; entries of the store are added and removed while the process runs.
    pub fn repositories(&self) -> Arc<[Arc<Repository>]> {
        self.shared.get()
    }

    /// The repository with this key, if it exists now.
    pub fn repository(&self, key: &str) -> Option<Arc<Repository>> {
        self.repositories().iter().find(|entry| entry.key == key).cloned()
    }

    /// Keys of the present repositories.
    pub fn keys(&self) -> Vec<String> {
        self.repositories().iter().map(|entry| entry.key.clone()).collect()
    }

    /// The whole entries of the file, which have priority over the store's.
    pub fn in_file(&self) -> impl Iterator<Item = &Repository> {
        self.repositories.iter().filter(|entry| entry.is_whole())
    }

    /// Replaces the entries of the store. An entry of the file with the same key has priority. Returns the entries left out, by key, with
    /// the reason.
    pub fn learn(&self, stored: Vec<Repository>) -> Vec<(String, String)> {
        let mut all: Vec<Arc<Repository>> = self.in_file().cloned().map(Arc::new).collect();
        let mut refused = Vec::new();
        for entry in stored {
            if self.in_file().any(|own| own.key == entry.key) {
                continue;
            }
            let twin = all.iter().find(|other| other.id == entry.id);
            if let Some(twin) = twin {
                let why =
                    format!("the forge's repository {} is that of {} already; remove one of them", entry.id, twin.key);
                refused.push((entry.key, why));
                continue;
            }
            all.push(Arc::new(self.with_tables(entry)));
        }
        self.shared.set(all);
        refused
    }

    /// The file's entry or tables for a repository.
    fn tables_of(&self, key: &str) -> Option<&Repository> {
        self.repositories.iter().find(|entry| entry.key == key)
    }

    fn with_tables(&self, entry: Repository) -> Repository {
        let Some(own) = self.tables_of(&entry.key) else { return entry };
        entry.with_settings_of(own.clone())
    }

    /// All images of the configuration, including the router's.
    pub fn images(&self) -> Vec<String> {
        let mut all = self.sandbox_images();
        all.push(self.router.image.clone());
        all
    }

    /// All images that a sandbox of any repository may be made from, without duplicates.
    pub fn sandbox_images(&self) -> Vec<String> {
        each_once(self.sandboxes().flat_map(Sandbox::all_images))
    }

    /// As [`Process::sandbox_images`], without those that are offered as toolchains.
    pub fn listed_images(&self) -> Vec<String> {
        each_once(self.sandboxes().flat_map(|sandbox| std::iter::once(&sandbox.image).chain(&sandbox.images)).cloned())
    }

    /// The operator's table and those of repositories.
    pub fn sandboxes(&self) -> impl Iterator<Item = &Sandbox> {
        std::iter::once(&self.sandbox).chain(self.repositories.iter().filter_map(|it| it.sandbox.as_ref()))
    }

    /// Settings of this repository's sandboxes.
    pub fn sandbox_of(&self, key: &str) -> &Sandbox {
        self.tables_of(key).and_then(|own| own.sandbox.as_ref()).unwrap_or(&self.sandbox)
    }

    /// Budget of this repository's tasks.
    pub fn budget_of(&self, key: &str) -> &Budget {
        self.own_budget_of(key).unwrap_or(&self.budget)
    }

    /// This repository's `[repositories.budget]`; none where there is no such table.
    pub fn own_budget_of(&self, key: &str) -> Option<&Budget> {
        self.tables_of(key).and_then(|own| own.budget.as_ref())
    }

    /// The repositories with a `[repositories.budget]`, by their keys.
    pub fn own_budgets(&self) -> impl Iterator<Item = (&str, &Budget)> {
        self.repositories.iter().filter_map(|own| Some((own.key.as_str(), own.budget.as_ref()?)))
    }

    /// How many tasks of this repository may work at the same time; 0 = no limit of its own.
    pub fn slots_of(&self, key: &str) -> usize {
        self.tables_of(key).and_then(|own| own.slots.per_repository).unwrap_or(self.slots.per_repository)
    }

    /// What the operator says of the CI of this repository.
    pub fn ci_of(&self, key: &str) -> Ci {
        self.tables_of(key).map(|own| own.ci.clone()).unwrap_or_default()
    }

    /// How much is taken beside this repository's finished work.
    pub fn artifacts_of(&self, key: &str) -> Artifacts {
        self.tables_of(key).map(|own| own.artifacts).unwrap_or_default()
    }

    /// The lists of people of whom somebody has to be on each to give this command in this repository.
    pub fn who_of(&self, key: &str, command: &str) -> Vec<&[String]> {
        let own = self.tables_of(key).map_or(&self.who, |own| &own.who);
        own.lists(&self.who, command).collect()
    }

    /// What the operator grants to this repository's test runs.
    pub fn tests_of(&self, key: &str) -> Cow<'_, OwnTests> {
        self.tables_of(key).map_or_else(Cow::default, |own| Cow::Borrowed(&own.tests))
    }

    /// Rules of the operator's that allow hosts to this repository's sandboxes: those of all repositories, presets included, then its own.
    pub fn allowed_of(&self, key: &str) -> Vec<Rule> {
        let mut rules = self.egress.allowed();
        rules.extend(self.tables_of(key).into_iter().flat_map(|own| own.egress.allowed()));
        rules
    }

    /// Rules of the operator's that deny hosts to this repository's sandboxes, whoever allows them.
    pub fn denied_of(&self, key: &str) -> Vec<Rule> {
        let mut rules = self.egress.denied();
        rules.extend(self.tables_of(key).into_iter().flat_map(|own| own.egress.denied()));
        rules
    }

    /// What the router refuses to this repository's sandboxes alone, because its policy has only what is denied to all.
    pub fn refusals_of(&self, key: &str) -> Vec<Rule> {
        self.tables_of(key).into_iter().flat_map(|own| own.egress.denied()).map(Rule::refusing).collect()
    }

    /// The label of those issues of this repository's upstream that are opened on the forge; none where the operator names none.
    pub fn upstream_label_of(&self, key: &str) -> Option<String> {
        self.tables_of(key).and_then(|own| own.upstream_issues.label.clone())
    }

    /// The models that this repository's tasks are asked of, its summaries and second looks too.
    pub fn models_of(&self, key: &str) -> Cow<'_, Models> {
        match self.tables_of(key) {
            Some(own) if !own.models.is_empty() => Cow::Owned(self.models.within(&own.models)),
            _ => Cow::Borrowed(&self.models),
        }
    }

    /// The repositories that have models of their own, by their keys.
    pub fn own_models(&self) -> impl Iterator<Item = (&str, Models)> {
        let own = self.repositories.iter().filter(|entry| !entry.models.is_empty());
        own.map(|entry| (entry.key.as_str(), self.models.within(&entry.models)))
    }

    /// How many people approve each checkpoint of this repository's tasks, at least 1.
    pub fn approvals_of(&self, key: &str) -> u8 {
        self.tables_of(key).and_then(|own| own.checkpoint.approvals).unwrap_or(1)
    }

    /// What begins work in this repository without a command.
    pub fn start_of(&self, key: &str) -> Start {
        self.tables_of(key).map(|own| own.start.clone()).unwrap_or_default()
    }

    /// Why the bot merges no pull request of this repository; none where the operator lets it. A copy of another repository, whether that
    /// is an address or a path, would differ from it.
    pub fn merge_bar(&self, entry: &Repository) -> Option<MergeBar> {
        if !entry.origin().is_empty() {
            return Some(MergeBar::Copied);
        }
        match self.merge_of(&entry.key) {
            Merging::Never => Some(MergeBar::Off { repository: entry.key.clone() }),
            Merging::Command | Merging::FinalApproval => None,
        }
    }

    /// Whether finally approved work of this repository is merged without being asked for.
    pub fn merges_when_approved(&self, entry: &Repository) -> bool {
        self.merge_bar(entry).is_none() && self.merge_of(&entry.key) == Merging::FinalApproval
    }

    fn merge_of(&self, key: &str) -> Merging {
        self.tables_of(key).map(|own| own.merge).unwrap_or_default()
    }

    /// Actions between two approvals in this repository, 1 to [`ACTIONS_PER_CHECKPOINT`].
    pub fn every_of(&self, key: &str) -> u8 {
        self.tables_of(key).and_then(|own| own.checkpoint.every).unwrap_or(ACTIONS_PER_CHECKPOINT)
    }
}

impl Repository {
    /// Whether it identifies a repository on the forge, and is not only tables for an entry of the store.
    pub fn is_whole(&self) -> bool {
        !(self.owner.is_empty() && self.name.is_empty() && self.id == 0 && self.secret_files.is_empty())
    }

    /// Whether nothing but tables stands in it.
    pub(super) fn is_tables_only(&self) -> bool {
        let more = [&self.upstream, &self.accepted].iter().any(|it| !it.is_empty())
            || !self.branches.is_empty()
            || self.upstream_id != 0
            || !self.accepted_foreign.is_empty();
        self.has_settings && !more && !self.is_whole()
    }

    /// This entry with everything of the other one that is a setting of the operator's, and not part of the entry.
    fn with_settings_of(self, other: Repository) -> Repository {
        Repository {
            key: self.key,
            owner: self.owner,
            name: self.name,
            id: self.id,
            secret_files: self.secret_files,
            default_branch: self.default_branch,
            upstream: self.upstream,
            upstream_id: self.upstream_id,
            branches: self.branches,
            copied_from: self.copied_from,
            from_store: self.from_store,
            accepted: self.accepted,
            accepted_foreign: self.accepted_foreign,
            ..other
        }
    }
}
