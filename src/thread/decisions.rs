//! The decisions in a thread that have not been taken up yet, each with its evidence.

use super::accounts::Accounts;
use super::branch_tips::BranchTips;
use super::evidence::Edits;
use super::groups::{Admission, Groups};
use super::hosts::{HostCommands, began};
use super::inline::{denied, left, with_command};
use super::keys::{SLACK_MS, decision_key, first};
use super::own::OwnCommandReader;
use super::persons::{bare_key, command_alone, is_earlier};
use super::read::{Thread, counts_in_part};
use super::remarks::{RemarksBeside, beside, beside_in_reply};
use super::replies::{InlineComments, source as reply_source};
use super::{long, words};
use crate::clock::{Clock, now};
use crate::config::Process;
use crate::config::process::Repository;
use crate::forge::{
    Comment, Issue, Review, ReviewComment, ReviewState, asks_for_changes_since, own_remarks, review_hash, text_hash,
};
use crate::store::Store;
use crate::trouble::Trouble;
use domain::{Access, Commit, Decision, Others, Source, State, Task, TaskKind, Terms, Verb};
use std::collections::HashMap;
use std::sync::Arc;

/// A decision as it stands in the thread.
pub(super) struct FoundDecision {
    pub decision: Decision,
    /// Whether its own text was edited; its decision counts as edited also where a list of steps was that it stands for.
    pub text_edited: bool,
    /// Names of the commands in the inline comments of its review that are not carried out.
    pub left: Vec<String>,
    /// Names of the commands that stand behind the bot's name, and are none.
    pub behind: Vec<String>,
    /// Its remarks on lines that its verb hands to nobody.
    pub remarks: RemarksBeside,
    /// The characters of its longest text, where they are so many that its words are not taken.
    pub long: Option<usize>,
    /// What stands on its lines and takes a host back.
    pub denied: Vec<Verb>,
}

impl FoundDecision {
    /// Of a text that stands on no line.
    fn alone(decision: Decision) -> Self {
        let (text_edited, left, behind, denied) = (decision.edited, Vec::new(), Vec::new(), Vec::new());
        FoundDecision { decision, text_edited, left, behind, remarks: RemarksBeside::default(), long: None, denied }
    }

    /// Of a comment with this text, whose words are not taken where they are too long.
    fn of_comment(decision: Decision, text: &str) -> Self {
        let long = words::too_long(text).filter(|_| matches!(decision.verb, Verb::Say { .. }));
        FoundDecision { long, ..FoundDecision::alone(decision) }
    }
}

/// The forge's number of a text, and what it decides, if anything; or why that could not be read.
type Read = (i64, Result<Option<FoundDecision>, Trouble>);

/// The decisions that were found in a thread.
#[derive(Default)]
pub(super) struct ThreadDecisions {
    /// Lowest forge number first.
    pub decisions: Vec<FoundDecision>,
    /// Why one could not be judged, which is left for the next reading, as are later ones that neither hold back nor are about the state.
    pub failed: Option<Trouble>,
}

impl ThreadDecisions {
    /// The decisions, where each was judged.
    pub(super) fn all(self) -> Result<Vec<FoundDecision>, Trouble> {
        self.failed.map_or(Ok(self.decisions), Err)
    }
}

/// Judges what the texts of a thread decide.
pub(super) struct Decisions {
    pub config: Arc<Process>,
    pub store: Store,
    pub clock: Arc<Clock>,
    pub accounts: Arc<Accounts>,
    pub edits: Arc<Edits>,
    pub groups: Arc<Groups>,
    pub hosts: Arc<HostCommands>,
    pub own: Arc<OwnCommandReader>,
    pub tips: Arc<BranchTips>,
    pub lines: Arc<InlineComments>,
}

impl Decisions {
    /// The decisions of all texts said to this task that were not taken up yet, lowest forge number first.
    /// With `only`, those of just these sources, taken up before or not.
    pub(super) async fn decisions(
        &self,
        entry: &Repository,
        task: &Task,
        thread: &Thread,
        only: Option<&[Source]>,
    ) -> Result<ThreadDecisions, Trouble> {
        let mut found = self.read_decisions(entry, task, thread, only).await?;
        let needed = self.config.approvals_of(&entry.key).saturating_sub(1);
        if needed > 0 && found.decisions.iter().any(|it| matches!(it.decision.verb, Verb::Approve { .. })) {
            match self.beside_others(entry, (task, thread), needed, &mut found.decisions).await {
                Ok(()) => {}
                Err(moved @ Trouble::Moved { .. }) => return Err(moved),
                Err(trouble) => {
                    found.decisions.retain(|it| counts_in_part(&it.decision.verb));
                    found.failed = Some(trouble);
                }
            }
        }
        Ok(found)
    }

    /// As [`Decisions::decisions`], without the other approvals that each may need.
    async fn read_decisions(
        &self,
        entry: &Repository,
        task: &Task,
        thread: &Thread,
        only: Option<&[Source]>,
    ) -> Result<ThreadDecisions, Trouble> {
        let found = self.open_texts(entry, (task, thread), only).await?;
        let mut judged = ThreadDecisions::default();
        for (_, it) in found {
            let done = match it {
                Ok(Some(mut it)) => self.complete(entry, (task, thread), &mut it.decision).await.map(|()| Some(it)),
                other => other,
            };
            match done {
                Ok(None) => {}
                Ok(Some(it)) if judged.failed.is_none() || counts_in_part(&it.decision.verb) => {
                    judged.decisions.push(it)
                }
                Ok(Some(_)) => {}
                Err(moved @ Trouble::Moved { .. }) => return Err(moved),
                Err(trouble) => judged.failed = judged.failed.or(Some(trouble)),
            }
        }
        Ok(judged)
    }

    /// The texts that are to be judged, lowest forge number first, each as far as it was read.
    async fn open_texts(
        &self,
        entry: &Repository,
        (task, thread): (&Task, &Thread),
        only: Option<&[Source]>,
    ) -> Result<Vec<Read>, Trouble> {
        let mut rights = HashMap::new();
        let mut found: Vec<Read> = Vec::new();
        // If a text is left for the next reading, later ones wait too, because the oldest decides.
        let mut before = i64::MAX;
        let began = began(task);
        let since = self.counts_since(&entry.key, thread, began).await?;
        let counts = |c: &&Comment| c.id > began || c.created_at >= since && words::is_for_any(&c.body);
        let issue = thread.issue.as_ref().filter(|it| it.created_at >= since && self.accounts.counts(&it.author));
        if let Some(issue) = issue
            && words::is_for_any(&issue.body)
            && self.is_open(&Source::Issue(issue.id), only).await?
        {
            let verb = as_older(words::text(&issue.body, &issue.author.login));
            let decision = self.of_issue(entry, issue, verb, &mut rights).await;
            found.push((0, decision.map(|decision| Some(FoundDecision::alone(decision)))));
        }
        for comment in thread.comments.iter().filter(|c| self.accounts.counts(&c.author)).filter(counts) {
            let source = Source::Comment(comment.id);
            if !self.is_open(&source, only).await? {
                continue;
            }
            if only.is_none() && self.edits.on_its_way(entry, &source, comment.created_at).await? {
                before = before.min(comment.id);
                continue;
            }
            let decision =
                self.of_comment(entry, task, comment, &mut rights).await.map(|it| match comment.id > began {
                    true => it,
                    false => Decision { verb: as_older(it.verb.clone()), ..it },
                });
            found.push((comment.id, decision.map(|it| Some(FoundDecision::of_comment(it, &comment.body)))));
        }
        for reply in &thread.replies {
            let source = reply_source(reply);
            if !self.is_open(&source, only).await? {
                continue;
            }
            if only.is_none() && self.edits.on_its_way(entry, &source, reply.created_at).await? {
                before = before.min(reply.id);
                continue;
            }
            found.push((reply.id, self.of_reply(entry, task, reply, &mut rights).await.map(Some)));
        }
        for review in thread.reviews.iter().filter(|r| self.review_counts(r, task, since)) {
            let source = Source::Review(review.id);
            if self.is_open(&source, only).await? {
                found.push((review.number, self.of_review(entry, task, review, &mut rights).await));
            }
        }
        found.retain(|(number, _)| *number < before);
        found.sort_by_key(|(number, _)| *number);
        Ok(found)
    }

    /// Whether this review is read. Of one from before the task began its text alone, since no inline comment outlasts that.
    fn review_counts(&self, review: &Review, task: &Task, since: i64) -> bool {
        let outlasts = || review.comments == 0 && review.submitted_at >= since;
        let earlier = is_earlier(review, task);
        self.accounts.counts(&review.author) && (!earlier || outlasts() && words::is_for_any(&review.body))
    }

    /// Since when texts count here that were written before the task began, in the forge's milliseconds; where there are none that could,
    /// nothing is asked.
    async fn counts_since(&self, key: &str, thread: &Thread, began: i64) -> Result<i64, Trouble> {
        let of_issue = thread.issue.iter().map(|issue| &issue.body);
        let of_reviews = thread.reviews.iter().filter(|r| r.number <= began).map(|r| &r.body);
        let older = thread.comments.iter().filter(|c| c.id <= began).map(|c| &c.body);
        if !older.chain(of_issue).chain(of_reviews).any(|text| words::is_for_any(text)) {
            return Ok(i64::MAX);
        }
        Ok(self.store.watermark(&first(key)).await?.map_or(i64::MAX, |at| at - SLACK_MS))
    }

    /// Adds what is not in the text: the pull request's state, what the command's words stand for, and whether its author may give it.
    async fn complete(
        &self,
        entry: &Repository,
        (task, thread): (&Task, &Thread),
        decision: &mut Decision,
    ) -> Result<(), Trouble> {
        let pull = thread.pull.as_ref();
        (decision.head, decision.base) =
            (pull.and_then(|p| Commit::parse(&p.head_sha).ok()), pull.map(|p| p.base_ref.clone()));
        // Converts the forge's time to our clock.
        decision.at += self.clock.ahead();
        self.hosts.look_up(entry, &decision.source, &mut decision.verb).await?;
        if decision.right >= Access::Write {
            self.add_own_list(entry, task, &thread.comments, decision).await?;
        }
        if decision.right >= Access::Write
            && let Verb::Rebase { tip } = &mut decision.verb
        {
            *tip = self.tips.tip_of_base(entry, task).await?;
        }
        if decision.right >= Access::Read
            && let Verb::Unknown { word, why: why @ None } = &mut decision.verb
        {
            *why = self.own.own_while_at_work(entry, word, decision.right).await;
        }
        let merges = matches!(decision.verb, Verb::Approve { .. }) && self.config.merges_when_approved(entry);
        let merge = Verb::Merge { bar: None };
        let asked = (&merge, &decision.poster, decision.right);
        decision.merges = merges && self.groups.barred(entry, asked, Some(task)).await?.is_none();
        match self.admits_here(entry, task, decision).await? {
            Ok(listed) => decision.listed = listed,
            Err(whom) => decision.barred = Some(whom),
        }
        Ok(())
    }

    /// Where one approval is not enough: adds to each approval those that came before it, as they read now.
    async fn beside_others(
        &self,
        entry: &Repository,
        (task, thread): (&Task, &Thread),
        needed: u8,
        found: &mut [FoundDecision],
    ) -> Result<(), Trouble> {
        let held: Vec<Source> =
            task.unjudged.iter().filter(|it| found.iter().all(|new| new.decision.source != **it)).cloned().collect();
        let mut earlier = match held.is_empty() {
            true => Vec::new(),
            false => self
                .read_decisions(entry, task, thread, Some(&held))
                .await?
                .all()?
                .into_iter()
                .map(|it| it.decision)
                .collect(),
        };
        earlier.extend(found.iter().map(|it| it.decision.clone()));
        // A request for changes that could not be taken takes back what its author approved before all the same.
        let stands = |it: &Decision| !asks_for_changes_since(&thread.reviews, it.poster.id, it.number);
        earlier.retain(|it| matches!(it.verb, Verb::Approve { .. }) && stands(it));
        for decision in found.iter_mut().map(|it| &mut it.decision).filter(|it| matches!(it.verb, Verb::Approve { .. }))
        {
            let before = earlier.iter().filter(|other| other.number < decision.number);
            decision.others = Some(Box::new(Others { needed, approvals: before.cloned().collect() }));
        }
        Ok(())
    }

    /// As [`Groups::admits`], for everything that the command does to this task: `/retry` also ends it, and `/fix` on a plan's answer also
    /// approves it.
    async fn admits_here(&self, entry: &Repository, task: &Task, decision: &Decision) -> Result<Admission, Trouble> {
        let also = match &decision.verb {
            Verb::Retry { .. } => Some(Verb::Stop),
            // The approval of a plan begins the work that it proposes.
            Verb::Approve { .. } if task.kind.reads_only() => {
                Some(Verb::begin(TaskKind::Fix, String::new(), Terms::default()))
            }
            Verb::Fix { .. } if task.kind.reads_only() => Some(Verb::approve()),
            _ => None,
        };
        let mut listed = Vec::new();
        for verb in [&decision.verb].into_iter().chain(&also) {
            match self.groups.admits(entry, (verb, &decision.poster, decision.right), Some(task)).await? {
                Ok(words) => listed.extend(words),
                Err(whom) => return Ok(Err(whom)),
            }
        }
        Ok(Ok(listed))
    }

    /// As [`Decisions::of_comment`], for the issue's own text.
    async fn of_issue(
        &self,
        entry: &Repository,
        issue: &Issue,
        verb: Verb,
        rights: &mut HashMap<i64, Access>,
    ) -> Result<Decision, Trouble> {
        let who = (words::account(&issue.author), self.accounts.right(entry, &issue.author, rights).await?);
        Ok(Decision {
            thread: Some(issue.number),
            at: issue.created_at,
            text_hash: text_hash(&issue.body),
            edited: self.edits.issue_edited(entry, issue).await?,
            ..Decision::new(Source::Issue(issue.id), 0, who, verb)
        })
    }

    /// The decision of a comment: with the forge's time, and without the pull request's head and base.
    async fn of_comment(
        &self,
        entry: &Repository,
        task: &Task,
        comment: &Comment,
        rights: &mut HashMap<i64, Access>,
    ) -> Result<Decision, Trouble> {
        let who = (words::account(&comment.author), self.accounts.right(entry, &comment.author, rights).await?);
        Ok(Decision {
            thread: Some(comment.issue),
            at: comment.created_at,
            text_hash: text_hash(&comment.body),
            edited: self.edits.comment_edited(entry, comment).await?,
            ..Decision::new(Source::Comment(comment.id), comment.id, who, self.asked(task, comment))
        })
    }

    /// The verb of a comment. A plain remark that addresses the bot by name is a question, unless the agent is waiting for an answer; a command
    /// behind that name is none.
    fn asked(&self, task: &Task, comment: &Comment) -> Verb {
        let verb = words::comment(comment);
        let by_name = self.asked_as(task).and_then(|_| self.accounts.question_by_name(&comment.body));
        let by_name = by_name.filter(|_| matches!(verb, Verb::Say { .. }));
        by_name.unwrap_or_else(|| self.accounts.or_behind_name(verb, &comment.body))
    }

    /// The name by which the bot is asked; none while the agent waits for words, which are an answer then.
    fn asked_as(&self, task: &Task) -> Option<&str> {
        (!matches!(task.underneath(), State::Asking { .. })).then_some(self.accounts.me.login.as_str())
    }

    /// As [`Decisions::of_comment`], for a review, with the commands of its inline comments that are left; none if it neither decides nor says
    /// anything.
    async fn of_review(
        &self,
        entry: &Repository,
        task: &Task,
        review: &Review,
        rights: &mut HashMap<i64, Access>,
    ) -> Result<Option<FoundDecision>, Trouble> {
        let persons = task.persons_pull();
        let inline = self.lines.inline_of(entry, task, review).await?;
        let verb = match persons {
            Some(_) => words::review_of_a_persons(review, &inline, &self.accounts.me.login),
            None => words::review(review, &inline, self.asked_as(task)),
        };
        let Some(mut verb) = verb.map(|verb| self.accounts.or_behind_name(verb, &review.body)) else { return Ok(None) };
        let own = own_remarks(review, &inline);
        let long = long::of_review(review, &own).filter(|_| persons.is_none());
        if long.is_some() {
            verb = long::careful(verb);
        }
        let (left, denied) = (left(&own, &verb), denied(&own));
        let texts = std::iter::once(&review.body).chain(own.iter().map(|note| &note.body));
        let behind = self.accounts.behind_name(&verb, texts.map(String::as_str));
        let remarks = match persons.is_some() || long.is_some() {
            true => RemarksBeside::default(),
            false => self.remarks_beside(entry, (review, &own), task, &verb).await?,
        };
        let earlier = is_earlier(review, task);
        let said = !left.is_empty() || !denied.is_empty() || !behind.is_empty();
        if persons.is_some() && !earlier && !said && matches!(verb, Verb::Say { .. }) {
            // Empty where that is known already.
            if !inline.is_empty() {
                self.store.note_input_of(&entry.key, &bare_key(review.id), now()).await?;
            }
            return Ok(None);
        }
        let who = (words::account(&review.author), self.accounts.right(entry, &review.author, rights).await?);
        if persons.is_some() || who.1 < Access::Write {
            verb = command_alone(if earlier { as_older(verb) } else { verb }, &own, who.1);
        }
        let edited = match &verb {
            // As a whole it was judged with its remarks.
            Verb::Pause if !remarks.items.is_empty() && !remarks.edited => false,
            // Holding back does not depend on a remark that gives no command; any other verb may have been another one before an edit.
            Verb::Stop | Verb::Pause => self.edits.review_edited(entry, review, &with_command(&own)).await?,
            _ => self.edits.review_edited(entry, review, &own).await?,
        };
        let decision = Decision {
            thread: task.pull.or(persons),
            at: review.submitted_at,
            commit: Commit::parse(&review.commit).ok(),
            text_hash: review_hash(review, &inline),
            edited,
            only_comments: review.state == ReviewState::Comment,
            ..Decision::new(Source::Review(review.id), review.number, who, verb)
        };
        Ok(Some(FoundDecision { left, behind, remarks, long, denied, ..FoundDecision::alone(decision) }))
    }

    /// The remarks of a review of the task's own pull request beside this verb.
    async fn remarks_beside(
        &self,
        entry: &Repository,
        (review, own): (&Review, &[&ReviewComment]),
        task: &Task,
        verb: &Verb,
    ) -> Result<RemarksBeside, Trouble> {
        let items = beside(verb, (review, own), self.asked_as(task));
        // Of any other verb the review as a whole is judged.
        let edited = *verb == Verb::Pause && !items.is_empty() && self.edits.review_edited(entry, review, own).await?;
        Ok(RemarksBeside { items, edited })
    }

    /// As [`Decisions::of_comment`], for a reply on a line of the pull request, which counts as an inline comment does.
    async fn of_reply(
        &self,
        entry: &Repository,
        task: &Task,
        reply: &ReviewComment,
        rights: &mut HashMap<i64, Access>,
    ) -> Result<FoundDecision, Trouble> {
        let (verb, persons) = (words::reply(reply, &self.accounts.me.login), task.persons_pull());
        let mut verb = self.accounts.or_behind_name(verb, &reply.body);
        let long = words::too_long(&reply.body).filter(|_| persons.is_none());
        if long.is_some() {
            verb = long::careful(verb);
        }
        let (left, denied) = (left(&[reply], &verb), denied(&[reply]));
        let behind = self.accounts.behind_name(&verb, [reply.body.as_str()]);
        let remarks = match persons.is_some() || long.is_some() {
            true => RemarksBeside::default(),
            false => beside_in_reply(&verb, reply),
        };
        let who = (words::account(&reply.author), self.accounts.right(entry, &reply.author, rights).await?);
        if persons.is_some() || who.1 < Access::Write {
            verb = command_alone(verb, &[reply], who.1);
        }
        let differs = reply.updated_at != reply.created_at;
        let decision = Decision {
            thread: task.pull.or(persons),
            at: reply.created_at,
            text_hash: text_hash(&reply.body),
            edited: self.edits.reply_edited(entry, (reply.id, &reply.body), differs).await?,
            ..Decision::new(reply_source(reply), reply.id, who, verb)
        };
        Ok(FoundDecision { left, behind, remarks, long, denied, ..FoundDecision::alone(decision) })
    }

    async fn is_open(&self, source: &Source, only: Option<&[Source]>) -> Result<bool, Trouble> {
        match only {
            Some(sources) => Ok(sources.contains(source)),
            None => Ok(!self.store.knows_input(&decision_key(source)).await?),
        }
    }
}

/// What a text from before the task is read as: its own command is for no task at work, but for what is carried out beside one.
fn as_older(verb: Verb) -> Verb {
    if verb.is_apart() { verb } else { Verb::Say { items: Vec::new() } }
}
