//! What a play came to, without what differs between two plays of one script by nature: numbers, commit ids, times.

use super::town::Town;
use caisson::forge::{ForgeReads, Gitea, RepoRef};
use domain::{Event, Source, TaskId};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// In each answer of a test run that is made at each push. How many there are is not compared: of two pushes that follow each other at once,
/// only the second may be found. The newest commit's status is.
const AT_EACH_PUSH: &str = "It runs again at each push";

/// The end of one issue.
#[derive(Debug, PartialEq, Eq)]
pub struct IssueEnd {
    open: bool,
    /// Its tasks, oldest first.
    tasks: Vec<TaskEnd>,
    /// How often the bot said what; what it says at each push, whether.
    said: BTreeMap<String, usize>,
    /// The bot's labels on it.
    labels: BTreeSet<String>,
}

#[derive(Debug, PartialEq, Eq)]
struct TaskEnd {
    kind: String,
    state: String,
    checkpoints: usize,
    /// Decisions that were used, in order, by what people did.
    used: Vec<String>,
    /// How often which was refused.
    refused: BTreeMap<String, usize>,
    /// How often the remarks of which were kept for the agent.
    kept: BTreeMap<String, usize>,
    /// The tree of its branch on the forge.
    tree: Option<String>,
    pull_open: Option<bool>,
    /// How often files of which name hang on its pull request.
    files: BTreeMap<String, usize>,
    /// The bot's newest status of each context on the commit that was pushed last.
    statuses: BTreeMap<String, String>,
}

/// The outcome of a play, by the order in which issues were opened. Errors: something was said twice.
pub async fn of(town: &Town) -> Result<Vec<IssueEnd>, String> {
    let forge = town.world.look();
    let mut ends = Vec::new();
    let mut marks = BTreeSet::new();
    for (repo, number, _) in &town.issues {
        let (owner, name) = repo.split_once('/').expect("owner and name");
        let at = RepoRef::new(owner, name);
        let mut rows = town.world.store().tasks(500).await.expect("read");
        rows.retain(|row| row.repository == name && row.issue as u64 == *number);
        rows.sort_by_key(|row| row.id);
        let (mut tasks, mut said) = (Vec::new(), BTreeMap::new());
        let mut threads = vec![*number];
        for row in rows {
            let end = task(town, &forge, repo, &at, TaskId(row.id)).await;
            threads.extend(end.1);
            tasks.push(end.0);
        }
        for (place, thread) in threads.into_iter().enumerate() {
            for text in said_on(&forge, &at, thread).await {
                if let Some(mark) = text.lines().next_back().filter(|line| line.starts_with("<!-- caisson:"))
                    && !marks.insert(format!("{repo} {mark}"))
                {
                    return Err(format!("{repo}#{thread}: said twice: {text}"));
                }
                let what = if place == 0 { "issue" } else { "pull request" };
                let words = words(&text);
                if text.contains(AT_EACH_PUSH) {
                    said.insert(format!("{what}, at each push: {words}"), 1);
                } else {
                    *said.entry(format!("{what}: {words}")).or_insert(0) += 1;
                }
            }
        }
        let open = forge.issue(&at, *number).await.expect("the issue").open;
        let labels = forge.labels(&at, *number).await.expect("labels");
        let labels = labels.into_iter().filter(|label| label.starts_with("caisson/")).collect();
        ends.push(IssueEnd { open, tasks, said, labels });
    }
    Ok(ends)
}

async fn task(town: &Town, forge: &Gitea, repo: &str, at: &RepoRef, id: TaskId) -> (TaskEnd, Option<u64>) {
    let task = town.world.store().task(id).await.expect("read");
    let log = town.world.store().log(id).await.expect("read");
    let named = |source: &Source| match source {
        Source::Comment(id) | Source::Reply { comment: id, .. } => {
            town.posted.get(&("comment", *id)).map(|at| format!("move {at}"))
        }
        Source::Review(id) => town.posted.get(&("review", *id)).map(|at| format!("move {at}")),
        Source::Issue(_) => Some("its issue".to_owned()),
        Source::Change(_) => Some("a sign".to_owned()),
    };
    let name = |source: &Source| named(source).unwrap_or_else(|| format!("{source} of nobody"));
    let (mut used, mut refused, mut kept) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    for (_, event) in &log {
        match event {
            Event::DecisionUsed { decision, n } => used.push(format!("{} for {n}", name(&decision.source))),
            Event::DecisionRefused { source, .. } => *refused.entry(name(source)).or_insert(0) += 1,
            Event::FeedbackGiven { from, .. } => *kept.entry(name(from)).or_insert(0) += 1,
            _ => {}
        }
    }
    let branch = task.request.as_ref().map(|request| request.branch.clone()).unwrap_or_default();
    let dir = town.world.forge.repository_dir(repo);
    let mut git = Command::new("git");
    git.arg("--git-dir").arg(&dir).args(["rev-parse", "-q", "--verify", &format!("refs/heads/{branch}^{{tree}}")]);
    let found = git.output().expect("git");
    let tree = found.status.success().then(|| String::from_utf8_lossy(&found.stdout).trim().to_owned());
    let pull_open = match task.pull {
        Some(pull) => Some(forge.pull(at, pull).await.expect("the pull request").open),
        None => None,
    };
    let mut files = BTreeMap::new();
    if let Some(pull) = task.pull {
        for file in forge.attachments(at, pull).await.expect("files") {
            *files.entry(words(&file.name)).or_insert(0) += 1;
        }
    }
    let mut statuses = BTreeMap::new();
    if let Some(commit) = &task.pushed {
        let all = forge.statuses(at, commit.as_str()).await.expect("statuses");
        statuses.extend(all.into_iter().map(|it| (it.context, format!("{:?}", it.state))));
    }
    let end = TaskEnd {
        kind: format!("{:?}", task.kind),
        state: task.state.name().to_owned(),
        checkpoints: task.checkpoints.len(),
        used,
        refused,
        kept,
        tree,
        pull_open,
        files,
        statuses,
    };
    (end, task.pull)
}

/// Everything that the bot said on an issue or pull request, reviews included.
async fn said_on(forge: &Gitea, at: &RepoRef, number: u64) -> Vec<String> {
    let comments = forge.comments(at, number).await.expect("comments");
    let mut said: Vec<String> =
        comments.into_iter().filter(|it| it.author.login == "caisson").map(|it| it.body).collect();
    if let Ok(reviews) = forge.reviews(at, number).await {
        said.extend(reviews.into_iter().filter(|it| it.author.login == "caisson").map(|it| it.body));
    }
    said
}

/// The first line of a text, with numbers and commit ids left out.
fn words(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut words = String::new();
    for part in line.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let (word, rest) = part.split_at(part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).len());
        let numeric = word.bytes().all(|b| b.is_ascii_digit());
        let commit = word.len() >= 7 && word.bytes().all(|b| b.is_ascii_hexdigit());
        words.push_str(if !word.is_empty() && (numeric || commit) { "#" } else { word });
        words.push_str(rest);
    }
    words
}
