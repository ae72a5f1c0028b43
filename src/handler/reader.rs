//! Reads one issue and its pull request again and feeds what is unseen, in the forge's own order.

use super::hidden::{Hidden, Part, Unread, apart, counts_in_part, part};
use super::words;
use crate::config::Process;
use crate::config::process::Repository;
use crate::effect::{EffectRunner, Lanes, Refusals, Trouble};
use crate::forge::{Account, Comment, Forge, ForgeError, PullRequest, RepoRef, Review};
use crate::forge::{own_remarks, review_hash, text_hash};
use crate::store::Store;
use crate::task::{Machine, Recheck};
use domain::{Access, Commit, Decision, Input, Source, Task, TaskId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Reads issues and pull requests, and feeds what is new in them to their tasks.
pub struct Reader {
    pub(super) config: Arc<Process>,
    pub(super) store: Store,
    pub(super) forge: Arc<dyn Forge>,
    pub(super) machine: Arc<Machine>,
    pub(super) effects: Arc<EffectRunner>,
    /// Accounts whose words never count: the bot's own and the operator's machines.
    silent: HashSet<String>,
    pub(super) me: i64,
    lanes: Lanes,
    pub(super) unread: Unread,
    /// What could not be read because the forge says no.
    pub(super) refusals: Refusals<(String, u64)>,
    /// As `refusals`, of what is not there while others of its kind are.
    pub(super) gone: Refusals<(String, u64)>,
}

/// The thread of one task as it stands on the forge now.
struct Thread {
    comments: Vec<Comment>,
    reviews: Vec<Review>,
    pull: Option<PullRequest>,
    /// False once the issue is known to be closed.
    open: bool,
    reviewed: bool,
    hidden: Vec<Hidden>,
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
    /// `me` is the bot's own account and `sync` the one that keeps default branches in step: words of neither count,
    /// nor those of the configuration's automation accounts.
    pub fn new(
        config: Arc<Process>,
        forge: Arc<dyn Forge>,
        machine: Arc<Machine>,
        effects: Arc<EffectRunner>,
        me: &Account,
        sync: Option<&Account>,
    ) -> Self {
        let mut silent: HashSet<String> = config.automation_accounts.iter().map(|l| l.to_lowercase()).collect();
        silent.insert(me.login.to_lowercase());
        silent.extend(sync.map(|account| account.login.to_lowercase()));
        let store = machine.store().clone();
        let apart = apart(config.forge.poll_s);
        Self {
            config,
            store,
            forge,
            machine,
            effects,
            silent,
            me: me.id,
            lanes: Lanes::default(),
            unread: Unread::default(),
            refusals: Refusals::apart(apart),
            gone: Refusals::apart(apart),
        }
    }

    /// Whether words of this account count at all. Ids below 1 are the forge's own.
    pub(super) fn counts(&self, account: &Account) -> bool {
        account.id >= 1 && account.id != self.me && !self.silent.contains(&account.login.to_lowercase())
    }

    /// Reads an issue or pull request; one reading of a number at a time. `begins` is called when its turn has come: what was said before
    /// is seen.
    pub async fn read(&self, key: &str, number: u64, begins: impl FnOnce()) -> Result<(), Trouble> {
        let _held = self.lanes.enter(key, number).await;
        begins();
        let Some(entry) = self.config.repository(key) else { return Ok(()) };
        let mut done = self.read_once(entry, number).await;
        if matches!(done, Err(Trouble::Moved { .. })) {
            self.find(entry).await?;
            done = self.read_once(entry, number).await;
        }
        self.note(key, number, &done).await?;
        done
    }

    async fn read_once(&self, entry: &Repository, number: u64) -> Result<(), Trouble> {
        if let Some(row) = self.store.live_task_of(&entry.key, number).await? {
            let id = TaskId(row.id);
            match self.follow(entry, id).await {
                Ok(thread) if thread.hidden.is_empty() => {}
                Ok(thread) => return Err(self.hidden(entry, number, id, &thread.hidden).await),
                Err(trouble) => return self.refused(entry, number, Some(id), trouble).await,
            }
            // What was said after the words that ended it is read as where no task is.
            if !self.machine.look(id).await?.state.ended() {
                return Ok(());
            }
        }
        match self.look_without_task(entry, number).await {
            Err(trouble) => self.refused(entry, number, None, trouble).await,
            Ok(()) => Ok(()),
        }
    }

    /// Takes up everything that was said to a task, and what became of its issue, pull request and reviews.
    async fn follow(&self, entry: &Repository, id: TaskId) -> Result<Thread, Trouble> {
        let task = self.machine.look(id).await?;
        let at = self.place(entry)?;
        let thread = self.thread(&at, &task).await?;
        match self.was_at(entry, &at).await {
            Ok(()) => {}
            // Why nothing of it is to be seen, is judged by what is hidden.
            Err(trouble) if thread.hidden.is_empty() || matches!(trouble, Trouble::Moved { .. }) => {
                return Err(trouble);
            }
            Err(_) => return Ok(thread),
        }
        for decision in self.decisions(entry, &task, &thread, None).await? {
            if self.machine.look(id).await?.state.ended() {
                break;
            }
            if !thread.hidden.is_empty() && !counts_in_part(&decision.verb) {
                continue;
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

    async fn thread(&self, at: &RepoRef, task: &Task) -> Result<Thread, Trouble> {
        let number = task.request.as_ref().map_or(0, |r| r.issue);
        let (issue, talk) = tokio::join!(self.forge.issue(at, number), self.forge.comments(at, number));
        let (what, mut hidden) = (Part::Issue(number), Vec::new());
        let open = part(what, issue, &mut hidden)?.is_none_or(|issue| issue.open);
        let mut comments = part(what, talk, &mut hidden)?.unwrap_or_default();
        let (mut reviews, mut pull) = (None, None);
        if let Some(number) = task.pull {
            let (found, given, more) = tokio::join!(
                self.forge.pull(at, number),
                self.forge.reviews(at, number),
                self.forge.comments(at, number)
            );
            let what = Part::Pull(number);
            pull = part(what, found, &mut hidden)?;
            reviews = part(what, given, &mut hidden)?;
            comments.extend(part(what, more, &mut hidden)?.unwrap_or_default());
        }
        let reviewed = reviews.is_some();
        Ok(Thread { comments, reviews: reviews.unwrap_or_default(), pull, open, reviewed, hidden })
    }

    /// Where the repository was seen last.
    pub(super) fn place(&self, entry: &Repository) -> Result<RepoRef, ForgeError> {
        self.effects.whereabouts.at(entry)
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
            // The forge's time, by our clock.
            decision.at += self.machine.clock().ahead();
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
                Ok(self.forge.review_comments(&self.place(entry)?, pull, review.id).await?)
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
        let right = match self.forge.permission(&self.place(entry)?, account).await {
            Ok(right) => words::access(right),
            Err(ForgeError::NotFound(_)) => Access::None,
            Err(other) => return Err(other.into()),
        };
        // A forge that starts knows nobody either.
        if right == Access::None && !self.effects.forge_answers().await {
            return Err(Trouble::later("the forge does not say who may do what"));
        }
        seen.insert(account.id, right);
        Ok(right)
    }

    async fn notice_ends(&self, id: TaskId, thread: &Thread) -> Result<(), Trouble> {
        if let Some(pull) = thread.pull.as_ref().filter(|p| p.merged || !p.open) {
            let input = Input::PullClosed { merged: pull.merged };
            self.machine.feed(id, &format!("pull-closed:{id}"), input, None).await?;
        } else if !thread.open {
            self.machine.feed(id, &format!("issue-closed:{id}"), Input::IssueClosed, None).await?;
        }
        Ok(())
    }

    /// A checkpoint's review that somebody edited or deleted approves nothing any more.
    async fn notice_voided(&self, id: TaskId, thread: &Thread) -> Result<(), Trouble> {
        let task = self.machine.look(id).await?;
        let standing = task.checkpoint().filter(|c| c.review > 0 && !c.used && thread.reviewed);
        let Some(checkpoint) = standing else { return Ok(()) };
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

/// For what relies on everything that was said.
fn whole(thread: Thread) -> Result<Thread, Trouble> {
    match thread.hidden.first() {
        None => Ok(thread),
        Some(hidden) => Err(Trouble::later(format!("{} cannot be read: {}", hidden.what, hidden.error))),
    }
}

/// Posted so lately that a list may not show it yet.
fn recent(at: i64) -> bool {
    (0..10_000).contains(&(crate::task::now() - at))
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
        let at = self.place(entry)?;
        let thread = whole(self.thread(&at, task).await?)?;
        self.was_at(entry, &at).await?;
        for decision in self.decisions(entry, task, &thread, Some(sources)).await? {
            let key = format!("recheck:{}:{n}:{}", task.id, decision.source);
            self.machine.feed(task.id, &key, Input::Decided { decision: Box::new(decision) }, None).await?;
        }
        Ok(())
    }

    async fn advance(&self, task: &Task, source: &Source) -> Result<Option<Decision>, Trouble> {
        let key = task.request.as_ref().map(|r| r.repository.as_str()).unwrap_or_default();
        let Some(entry) = self.config.repository(key) else { return Ok(None) };
        let thread = whole(self.follow(entry, task.id).await?)?;
        let only = std::slice::from_ref(source);
        Ok(self.decisions(entry, task, &thread, Some(only)).await?.pop())
    }
}
