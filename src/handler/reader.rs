//! Reads one issue and its pull request again and feeds what is unseen, in the forge's own order.

use super::words;
use crate::config::Process;
use crate::config::process::Repository;
use crate::effect::{Lanes, Performer, Trouble};
use crate::forge::{Account, Comment, Forge, ForgeError, PullRequest, RepoRef, Review};
use crate::forge::{own_remarks, review_hash, text_hash};
use crate::store::Store;
use crate::task::{Machine, Recheck};
use domain::{Access, Commit, Decision, Input, Source, Task, TaskId};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

pub struct Reader {
    pub(super) config: Arc<Process>,
    pub(super) store: Store,
    pub(super) forge: Arc<dyn Forge>,
    pub(super) machine: Arc<Machine>,
    pub(super) performer: Arc<Performer>,
    /// Accounts whose words never count: the bot's own and the operator's machines.
    silent: HashSet<String>,
    pub(super) me: i64,
    lanes: Lanes,
    /// Readings that wait for their lane: they will see what a further hook is about.
    waiting: Mutex<HashSet<(String, u64)>>,
}

/// The thread of one task as it stands on the forge now.
struct Thread {
    comments: Vec<Comment>,
    reviews: Vec<Review>,
    pull: Option<PullRequest>,
    open: bool,
}

impl Thread {
    /// Where one of its texts stands.
    fn number(&self, source: &Source, task: &Task) -> u64 {
        let issue = task.request.as_ref().map_or(0, |request| request.issue);
        match source {
            Source::Comment(id) => self.comments.iter().find(|c| c.id == *id).map_or(issue, |c| c.issue),
            Source::Review(_) => task.pull.unwrap_or(issue),
            Source::Issue(_) => issue,
        }
    }

    /// What stands in one of its comments or reviews.
    fn text(&self, source: &Source) -> &str {
        let found = match source {
            Source::Comment(id) => self.comments.iter().find(|c| c.id == *id).map(|c| &c.body),
            Source::Review(id) => self.reviews.iter().find(|r| r.id == *id).map(|r| &r.body),
            Source::Issue(_) => None,
        };
        found.map_or("", String::as_str)
    }
}

impl Reader {
    pub fn new(
        config: Arc<Process>,
        forge: Arc<dyn Forge>,
        machine: Arc<Machine>,
        performer: Arc<Performer>,
        me: &Account,
        sync: Option<&Account>,
    ) -> Self {
        let mut silent: HashSet<String> = config.automation_accounts.iter().map(|l| l.to_lowercase()).collect();
        silent.insert(me.login.to_lowercase());
        silent.extend(sync.map(|account| account.login.to_lowercase()));
        let store = machine.store().clone();
        Self {
            config,
            store,
            forge,
            machine,
            performer,
            silent,
            me: me.id,
            lanes: Lanes::default(),
            waiting: Mutex::default(),
        }
    }

    /// Whether words of this account count at all. Ids below 1 are the forge's own.
    pub(super) fn counts(&self, account: &Account) -> bool {
        account.id >= 1 && account.id != self.me && !self.silent.contains(&account.login.to_lowercase())
    }

    /// As [`Reader::read`], unless a reading that has not begun yet will do.
    pub(super) async fn read_soon(&self, key: &str, number: u64) -> Result<(), Trouble> {
        let what = (key.to_owned(), number);
        let waiting = || self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if !waiting().insert(what.clone()) {
            return Ok(());
        }
        let _held = self.lanes.enter(key, number).await;
        waiting().remove(&what);
        self.read_now(key, number).await
    }

    /// Reads an issue or pull request; one reading of a number at a time.
    pub async fn read(&self, key: &str, number: u64) -> Result<(), Trouble> {
        let _held = self.lanes.enter(key, number).await;
        self.read_now(key, number).await
    }

    async fn read_now(&self, key: &str, number: u64) -> Result<(), Trouble> {
        let Some(entry) = self.config.repository(key) else { return Ok(()) };
        match self.store.live_task_of(key, number).await? {
            Some(row) => {
                self.follow(entry, TaskId(row.id)).await?;
                // What was said after the words that ended it is read as where no task is.
                match self.machine.look(TaskId(row.id)).await?.state.ended() {
                    true => self.look_without_task(entry, number).await,
                    false => Ok(()),
                }
            }
            None => self.look_without_task(entry, number).await,
        }
    }

    /// Takes up everything that was said to a task, and what became of its issue, pull request and reviews.
    async fn follow(&self, entry: &Repository, id: TaskId) -> Result<Thread, Trouble> {
        let task = self.machine.look(id).await?;
        let thread = self.thread(entry, &task).await?;
        for decision in self.decisions(entry, &task, &thread, None).await? {
            if self.machine.look(id).await?.state.ended() {
                break;
            }
            let key = decision_key(&decision.source);
            let text = thread.text(&decision.source);
            if !decision.edited && decision.right >= Access::Write {
                let number = thread.number(&decision.source, &task);
                let said = (decision.poster.login.as_str(), text, &decision.verb);
                self.answer_beside(entry, number, &key, said, Some(&task)).await?;
            }
            // Hosts first: the text is taken up with its last word.
            self.feed_hosts(entry, id, &key, text, &decision).await?;
            self.machine.feed(id, &key, Input::Decided { decision: Box::new(decision) }, None).await?;
        }
        self.notice_ends(id, &thread).await?;
        self.notice_voided(id, &thread).await?;
        Ok(thread)
    }

    async fn thread(&self, entry: &Repository, task: &Task) -> Result<Thread, Trouble> {
        let at = RepoRef::new(&entry.owner, &entry.name);
        let issue_number = task.request.as_ref().map_or(0, |r| r.issue);
        let issue = async { self.forge.issue(&at, issue_number).await };
        let talk = async { self.forge.comments(&at, issue_number).await };
        let (issue, mut comments) = tokio::try_join!(issue, talk)?;
        let (mut reviews, mut pull) = (Vec::new(), None);
        if let Some(number) = task.pull {
            let (found, given, more) = tokio::try_join!(
                self.forge.pull(&at, number),
                self.forge.reviews(&at, number),
                self.forge.comments(&at, number)
            )?;
            comments.extend(more);
            (pull, reviews) = (Some(found), given);
        }
        Ok(Thread { comments, reviews, pull, open: issue.open })
    }

    /// Everything people said to this task that was not taken up yet, lowest forge number first.
    /// With `only`, just these sources, taken up before or not.
    async fn decisions(
        &self,
        entry: &Repository,
        task: &Task,
        thread: &Thread,
        only: Option<&[Source]>,
    ) -> Result<Vec<Decision>, Trouble> {
        let began = task.request.as_ref().map_or(0, |r| r.number);
        let mut rights = HashMap::new();
        let mut found = Vec::new();
        // What was said after a text that is left for the next reading waits with it: the oldest decides.
        let mut before = i64::MAX;
        for comment in thread.comments.iter().filter(|c| c.id > began && self.counts(&c.author)) {
            let source = Source::Comment(comment.id);
            if !self.wanted(&source, only).await? {
                continue;
            }
            if only.is_none() && self.on_its_way(entry, &source, comment.created_at).await? {
                before = before.min(comment.id);
                continue;
            }
            let right = self.right(entry, &comment.author, &mut rights).await?;
            let edited = self.comment_edited(entry, comment).await?;
            let verb = words::comment(comment);
            let text = (text_hash(&comment.body), comment.created_at);
            found.push(decision(source, comment.id, &comment.author, right, text, edited, verb, None, thread));
        }
        for review in thread.reviews.iter().filter(|r| self.counts(&r.author)) {
            let source = Source::Review(review.id);
            if !self.wanted(&source, only).await? {
                continue;
            }
            let inline = self.inline(entry, task, review).await?;
            let Some(verb) = words::review(review, &inline) else { continue };
            let right = self.right(entry, &review.author, &mut rights).await?;
            let commit = Commit::parse(&review.commit).ok();
            let text = (review_hash(review, &inline), review.submitted_at);
            let edited = match &verb {
                // Words that reach the agent; what an approval says beside itself reaches nobody.
                domain::Verb::Changes { .. } | domain::Verb::Say { .. } => {
                    self.review_edited(entry, review, &own_remarks(review, &inline)).await?
                }
                _ => self.review_edited(entry, review, &[]).await?,
            };
            found.push(decision(source, review.number, &review.author, right, text, edited, verb, commit, thread));
        }
        found.retain(|decision| decision.number < before);
        found.sort_by_key(|decision| decision.number);
        for decision in &mut found {
            self.look_up(entry, &mut decision.verb).await?;
        }
        Ok(found)
    }

    async fn inline(
        &self,
        entry: &Repository,
        task: &Task,
        review: &Review,
    ) -> Result<Vec<crate::forge::ReviewComment>, Trouble> {
        match task.pull {
            Some(pull) if review.comments > 0 => {
                Ok(self.forge.review_comments(&RepoRef::new(&entry.owner, &entry.name), pull, review.id).await?)
            }
            _ => Ok(Vec::new()),
        }
    }

    async fn wanted(&self, source: &Source, only: Option<&[Source]>) -> Result<bool, Trouble> {
        match only {
            Some(sources) => Ok(sources.contains(source)),
            None => Ok(!self.store.knows_input(&decision_key(source)).await?),
        }
    }

    /// The account's right to the code, asked now; a forge that cannot say means no decision yet.
    pub(super) async fn right(
        &self,
        entry: &Repository,
        account: &Account,
        seen: &mut HashMap<i64, Access>,
    ) -> Result<Access, Trouble> {
        if let Some(right) = seen.get(&account.id) {
            return Ok(*right);
        }
        let at = RepoRef::new(&entry.owner, &entry.name);
        let right = match self.forge.permission(&at, account).await {
            Ok(right) => words::access(right),
            Err(ForgeError::NotFound(_)) => Access::None,
            Err(other) => return Err(other.into()),
        };
        seen.insert(account.id, right);
        Ok(right)
    }

    async fn notice_ends(&self, id: TaskId, thread: &Thread) -> Result<(), Trouble> {
        if let Some(pull) = thread.pull.as_ref().filter(|p| p.merged || !p.open) {
            let input = Input::PullClosed { merged: pull.merged, by: String::new() };
            self.machine.feed(id, &format!("pull-closed:{id}"), input, None).await?;
        } else if !thread.open {
            self.machine.feed(id, &format!("issue-closed:{id}"), Input::IssueClosed, None).await?;
        }
        Ok(())
    }

    /// A checkpoint's review that somebody edited or deleted approves nothing any more.
    async fn notice_voided(&self, id: TaskId, thread: &Thread) -> Result<(), Trouble> {
        let task = self.machine.look(id).await?;
        let Some(checkpoint) = task.checkpoint().filter(|c| c.review > 0 && !c.used) else { return Ok(()) };
        let found = thread.reviews.iter().find(|r| r.id == checkpoint.review);
        let listed = found.is_some_and(|r| r.updated_at <= r.submitted_at);
        // A list read before the review was posted says nothing about it.
        let older = thread.reviews.iter().map(|r| r.number).max().unwrap_or(0) < checkpoint.number;
        if listed || (found.is_none() && older && recent(checkpoint.at)) {
            return Ok(());
        }
        let input = Input::CheckpointVoided { n: checkpoint.n };
        self.machine.feed(id, &format!("void:{id}:{}", checkpoint.n), input, None).await?;
        Ok(())
    }
}

/// Posted so lately that a list may not show it yet.
fn recent(at: i64) -> bool {
    crate::task::now() - at < 10_000
}

#[allow(clippy::too_many_arguments, reason = "one record from its parts, at two places of this file")]
fn decision(
    source: Source,
    number: i64,
    poster: &Account,
    right: Access,
    text: (String, i64),
    edited: bool,
    verb: domain::Verb,
    commit: Option<Commit>,
    thread: &Thread,
) -> Decision {
    let pull = thread.pull.as_ref();
    Decision {
        source,
        number,
        at: text.1,
        poster: words::account(poster),
        right,
        commit,
        head: pull.and_then(|p| Commit::parse(&p.head_sha).ok()),
        base: pull.map(|p| p.base_ref.clone()),
        text_hash: text.0,
        edited,
        in_advance: false,
        verb,
    }
}

pub(super) fn decision_key(source: &Source) -> String {
    match source {
        Source::Issue(id) => format!("opened:{id}"),
        Source::Comment(id) => format!("comment:{id}#0"),
        Source::Review(id) => format!("review:{id}"),
    }
}

#[async_trait::async_trait]
impl Recheck for Reader {
    async fn recheck(&self, task: &Task, n: u32, sources: &[Source]) -> Result<(), Trouble> {
        let key = task.request.as_ref().map(|r| r.repository.as_str()).unwrap_or_default();
        let Some(entry) = self.config.repository(key) else { return Ok(()) };
        let thread = self.thread(entry, task).await?;
        for decision in self.decisions(entry, task, &thread, Some(sources)).await? {
            let key = format!("recheck:{}:{n}:{}", task.id, decision.source);
            self.machine.feed(task.id, &key, Input::Decided { decision: Box::new(decision) }, None).await?;
        }
        Ok(())
    }

    async fn advance(&self, task: &Task, source: &Source) -> Result<Option<Decision>, Trouble> {
        let key = task.request.as_ref().map(|r| r.repository.as_str()).unwrap_or_default();
        let Some(entry) = self.config.repository(key) else { return Ok(None) };
        let thread = self.follow(entry, task.id).await?;
        let only = std::slice::from_ref(source);
        Ok(self.decisions(entry, task, &thread, Some(only)).await?.pop())
    }
}
