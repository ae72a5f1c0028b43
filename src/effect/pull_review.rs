//! `/review`, `/security` and `/explain`: what the head of a person's pull request changes, brought and compared; and the review, posted on that pull request.
//!
//! Owns which findings stand on lines: those whose line the difference shows, while the branch stands where it was read. What the head says
//! about itself (`.caisson.toml`, rules) counts nowhere: those come from the default branch. Tests: `tests/stories/reviews.rs`.

use super::repository::{Repositories, Repository, request};
use super::review::Talk;
use super::scan::scan_of;
use crate::checkpoint::{
    Elsewhere, Finding, Findings, PullReview, findings, places, render_dependency_scan, render_finding,
    render_pull_review, render_rule_finding, render_rule_scan,
};
use crate::forge::{NewReview, Note};
use crate::git::listing::Change;
use crate::git::{Branch, GitError, capped_text, shown_lines};
use crate::policy::plain;
use crate::redact::redacted_diff;
use crate::store::EffectRow;
use crate::text::is_hidden;
use crate::trouble::{Denial, Trouble};
use domain::{Commit, DependencyScan, Difference, FileChange, Input, PullHead, RuleFinding, RuleScan, Task, TaskKind};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use url::Url;

/// The longest difference that is read, and how much of it is kept, in bytes.
const READ: u64 = 16 << 20;
const KEPT: usize = 200_000;
/// The longest difference of one file whose lines are looked at.
const ONE_FILE: u64 = 4 << 20;
/// Files that are named to the agent, and bytes of one name.
const FILES: usize = 300;
const NAME: usize = 500;
/// Longest address of a place, in bytes.
const LINK: usize = 500;
/// Findings on lines; further ones stand in the text.
const ON_LINES: usize = 20;

impl Repositories {
    /// Brings the head of the pull request that this task reviews. It is fetched from the repository that the pull request goes to, which has
    /// a fork's commits too.
    pub(super) async fn bring_head(
        &self,
        task: &Task,
        repository: &Repository,
        pull: &PullHead,
    ) -> Result<(), Trouble> {
        let (key, head, id) = (&repository.key, &pull.head, task.id.0);
        // Kept by a ref until the task is deleted, even if the pull request's branch is.
        if self.repos.has(key, head).await? {
            return Ok(self.repos.keep_brought(key, id, head).await?);
        }
        match self.repos.fetch_for(key, &repository.url, Some(&self.auth), id, head).await {
            // The forge may show a fork's push before it has taken its commits over.
            Err(GitError::Failed { stderr, .. }) if stderr.contains("not our ref") => {
                let sentence = format!("the pull request's commit {head} is not in the repository");
                Err(Trouble::Doubtful { denial: Denial::Missing, sentence })
            }
            done => Ok(done?),
        }
    }

    /// What that head changes since it left its target branch.
    pub(super) async fn difference(&self, key: &str, pull: &PullHead) -> Result<Difference, Trouble> {
        let target = self.repos.resolve(key, &Branch::parse(&pull.target)?).await?;
        let Some(from) = self.repos.merge_base(key, &target, &pull.head).await? else {
            return Err(Trouble::blocked(format!(
                "the pull request has no commit in common with {}, so there is nothing to compare it with",
                pull.target
            )));
        };
        // Before git's own program compares them, which has no limit of memory.
        let changes = match self.repos.changes(key, &from, &pull.head).await {
            Err(GitError::TooLarge { .. }) => {
                return Err(Trouble::blocked("the pull request changes more files than can be compared"));
            }
            listed => listed?,
        };
        let counts = self.repos.counts(key, &from, &pull.head).await?.unwrap_or_default();
        let more_files = changes.len().saturating_sub(FILES) as u64;
        let file = |change: Change| {
            let counted = counts.get(&change.path).copied();
            let kind = match (change.status, counted) {
                ('A', Some(Some(_)) | None) => "added",
                ('D', _) => "deleted",
                (_, Some(None)) => "binary",
                _ if change.old_mode != change.new_mode => "mode",
                _ => "modified",
            };
            let (added, removed) = counted.flatten().unwrap_or_default();
            let path = String::from_utf8_lossy(&change.path);
            let path = path[..path.floor_char_boundary(NAME)].to_owned();
            FileChange { path, added, removed, kind: kind.to_owned(), bytes: None }
        };
        let files = changes.into_iter().take(FILES).map(file).collect();
        let whole = self.repos.difference(key, &from, &pull.head, None, READ).await?;
        let (text, cut) = whole.as_deref().map(|all| capped_text(all, KEPT)).unwrap_or_default();
        Ok(Difference { from, files, more_files, text: redacted_diff(&text), cut, partial: whole.is_none() || cut > 0 })
    }
}

impl Talk {
    /// Posts the review of the pull request that this task read.
    pub(super) async fn pull_review(&self, task: &Task, row: &EffectRow, n: u32) -> Result<Input, Trouble> {
        let (repository, request) = (self.repositories.of(task)?, request(task)?);
        let Some(pull) = &request.pull else {
            return Err(Trouble::blocked("the task has no pull request in its log"));
        };
        let now = Commit::parse(&self.forge.pull(&repository.at, request.issue).await?.head_sha).ok();
        let moved = now.filter(|now| *now != pull.head);
        let answer = task.summary.as_deref().unwrap_or_default();
        // What an explanation lists is no finding.
        let explains = task.kind == TaskKind::Explain;
        let read = if explains { Findings::none(answer) } else { findings(answer) };
        let mut sorted: Vec<&Finding> = read.all.iter().collect();
        sorted.sort_by_key(|finding| finding.severity);
        let lines = match &moved {
            None => self.lines(task, &repository.key, pull, &sorted).await?,
            Some(_) => HashMap::new(),
        };
        let (mut notes, mut elsewhere) = (Vec::new(), Vec::new());
        for finding in sorted {
            let path = path_of(finding);
            let line = path.as_ref().and_then(|path| line_shown(finding, lines.get(path)?));
            match path.zip(line).filter(|_| notes.len() < ON_LINES) {
                Some((path, line)) => notes.push(Note { path, line, body: render_finding(finding) }),
                None => elsewhere.push(finding),
            }
        }
        let mut not_there = self.repositories.not_there(task).await?;
        let elsewhere = self.places_of(task, (&repository, pull), elsewhere, &mut not_there).await?;
        let scanned = scan_of(&self.store, task).await?.and_then(|scan| scan.rules);
        let by_host = scanned.as_ref().map(|rules| self.rule_table(&repository, &pull.head, rules)).unwrap_or_default();
        if let (Some(rules), None) = (&scanned, &moved) {
            add_rule_notes(&mut notes, rules);
        }
        let body = render_pull_review(&PullReview {
            command: task.kind.name(),
            by_host: &by_host,
            head: &pull.head,
            target: &pull.target,
            from: task.compared_with.as_ref(),
            moved: moved.as_ref(),
            all: &read.all,
            elsewhere: &elsewhere,
            not_there: &not_there,
            summary: &read.summary,
            note: task.note.as_deref(),
            scripted: self.models.of(task).model.scripted(),
        });
        let post = self.post(task, row, &repository, request.issue);
        let new = NewReview { commit: pull.head.to_string(), body, notes };
        let review = self.posts.review(&post, &new).await?;
        Ok(Input::AnswerPosted { n, number: review.number })
    }

    /// The findings that stand on no line, with the address of each place that is there; the others join those that are not.
    async fn places_of<'a>(
        &self,
        task: &Task,
        (repository, pull): (&Repository, &PullHead),
        findings: Vec<&'a Finding>,
        not_there: &mut Vec<String>,
    ) -> Result<Vec<Elsewhere<'a>>, Trouble> {
        let mut shown = Vec::new();
        for finding in findings {
            let missing = self.repositories.is_missing(task, (&finding.path, finding.first, finding.last)).await?;
            if missing && there(finding, not_there) {
                not_there.push(format!("{}:{}", finding.path, finding.first));
            }
            let link = path_of(finding).and_then(|path| self.place_url(repository, &pull.head, &path, finding.first));
            shown.push(Elsewhere { finding, link: link.filter(|_| !missing) });
        }
        Ok(shown)
    }

    /// The lines that the difference shows of each file that a finding names.
    async fn lines(
        &self,
        task: &Task,
        key: &str,
        pull: &PullHead,
        all: &[&Finding],
    ) -> Result<HashMap<String, Vec<Range<u64>>>, Trouble> {
        let mut lines = HashMap::new();
        let Some(from) = &task.compared_with else { return Ok(lines) };
        for path in all.iter().filter_map(|finding| path_of(finding)) {
            if let Entry::Vacant(free) = lines.entry(path) {
                let (repos, file) = (&self.repositories.repos, free.key().as_str());
                // The patch of a folder is that of all its files.
                if matches!(repos.show(key, &pull.head, file, ONE_FILE).await, Ok(None)) {
                    free.insert(Vec::new());
                    continue;
                }
                let patch = repos.difference(key, from, &pull.head, Some(file), ONE_FILE).await?;
                free.insert(patch.as_deref().map(shown_lines).unwrap_or_default());
            }
        }
        Ok(lines)
    }

    /// A line of a file, as the forge shows this commit; none where the address is too long to be posted.
    pub(super) fn place_url(&self, repository: &Repository, commit: &Commit, path: &str, line: u64) -> Option<Url> {
        let mut url = self.config.people_url()?.clone();
        let at = [&repository.at.owner, &repository.at.name, "src", "commit", commit.as_str()];
        url.path_segments_mut().ok()?.pop_if_empty().extend(at).extend(path.split('/'));
        url.set_fragment(Some(&format!("L{line}")));
        Some(url).filter(|url| url.as_str().len() <= LINK)
    }

    /// What static rules found at this commit, as a table.
    pub(super) fn rule_table(&self, repository: &Repository, commit: &Commit, rules: &RuleScan) -> String {
        render_rule_scan(rules, commit, &|path, line| self.link(repository, commit, path, line))
    }

    /// What the manifests of this commit ask for, as tables.
    pub(super) fn dependency_table(&self, repository: &Repository, commit: &Commit, found: &DependencyScan) -> String {
        render_dependency_scan(found, commit, &|path, line| self.link(repository, commit, path, line))
    }

    /// As [`Talk::place_url`]; none for a path that cannot be shown as it is.
    fn link(&self, repository: &Repository, commit: &Commit, path: &str, line: u64) -> Option<Url> {
        let path = plain(path).filter(|path| !path.chars().any(is_hidden))?;
        self.place_url(repository, commit, &path, line)
    }
}

/// Adds findings of static rules on lines where the agent found nothing, as far as there is room.
fn add_rule_notes(notes: &mut Vec<Note>, rules: &RuleScan) {
    // A path that cannot be shown as it is stands in the table alone.
    let shown = |it: &&RuleFinding| plain(&it.path).as_ref() == Some(&it.path) && !it.path.chars().any(is_hidden);
    for finding in rules.findings.iter().filter(shown) {
        let taken = notes.iter().any(|note| note.path == finding.path && note.line == finding.line);
        if notes.len() < ON_LINES && !taken {
            notes.push(Note { path: finding.path.clone(), line: finding.line, body: render_rule_finding(finding) });
        }
    }
}

/// Its path within the repository; none for one that leads out of it, or that cannot be shown as it is.
fn path_of(finding: &Finding) -> Option<String> {
    plain(&finding.path).filter(|path| !path.chars().any(is_hidden))
}

/// The first of its lines that is shown.
fn line_shown(finding: &Finding, shown: &[Range<u64>]) -> Option<u64> {
    shown
        .iter()
        .map(|range| (range.start.max(finding.first), range.end))
        .find_map(|(line, end)| (line < end && line <= finding.last.max(finding.first)).then_some(line))
}

/// Whether its place is none of those that are known not to be there.
fn there(finding: &Finding, not_there: &[String]) -> bool {
    let is_it = |place: &String| places(place).iter().any(|it| it.path == finding.path && it.first == finding.first);
    !not_there.iter().any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Severity;

    #[test]
    fn a_finding_stands_on_the_first_of_its_lines_that_is_shown() {
        let finding =
            |first, last| Finding { severity: Severity::Note, path: "a.rs".into(), first, last, words: String::new() };
        let shown = [3..6, 10..12];
        for (first, last, line) in
            [(3, 3, Some(3)), (1, 4, Some(3)), (6, 9, None), (6, 10, Some(10)), (11, 2, Some(11)), (0, 0, None)]
        {
            assert_eq!(line_shown(&finding(first, last), &shown), line, "{first}-{last}");
        }
        assert!(!there(&finding(9, 9), &["a.rs:9".into()]) && there(&finding(9, 9), &["b.rs:9".into()]));
        let named = |path: &str| path_of(&Finding { path: path.into(), ..finding(1, 1) });
        assert_eq!(named("/workspace/src/./a.rs").as_deref(), Some("src/a.rs"));
        assert_eq!((named("../a"), named("/etc/passwd"), named("a\u{202e}b")), (None, None, None));
    }
}
