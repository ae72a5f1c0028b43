//! The texts of an issue or pull request where no task is at work, in the forge's order: its own, its comments, and its reviews with the
//! commands of their inline comments. Tests: `tests/stories/unstarted.rs`.

use super::reader::Reader;
use super::start::Text;
use crate::clock::now;
use crate::config::process::Repository;
use crate::forge::{Comment, Issue, RepoRef, Review, ReviewComment, ReviewState, own_remarks};
use crate::thread::words;
use crate::thread::{bare_key, decision_key, reply_source};
use crate::trouble::Trouble;
use domain::{Source, Trigger, Verb};

/// What of a thread could not be read.
pub(super) struct Unread {
    /// The number of the first text that is missing: later ones that may begin a task wait for it.
    pub from: i64,
    pub why: Trouble,
}

impl Reader {
    /// The texts of this thread, and what of it could not be read. A comment that asks the bot by name is a question there, if it is young
    /// enough to be answered.
    pub(super) async fn texts(
        &self,
        entry: &Repository,
        at: &RepoRef,
        issue: &Issue,
        comments: Vec<Comment>,
    ) -> Result<(Vec<Text>, Option<Unread>), Trouble> {
        let since = self.answers_since(&entry.key).await?;
        let mut verb = words::text(&issue.body, &issue.author.login);
        // Where each issue of a writer begins a task, its text is no command that failed.
        if issue.created_at >= since && !self.config.start_of(&entry.key).triggers().contains(&Trigger::Writer) {
            verb = self.threads.accounts.or_behind_name(verb, &issue.body);
        }
        let mut texts = vec![Text {
            // The time changes with everything about the issue, so it is only a first guess: `issue_edited` decides.
            edited: issue.updated_at > issue.created_at,
            created_at: issue.created_at,
            ..Text::new(Source::Issue(issue.id), 0, (issue.author.clone(), issue.body.clone()), verb)
        }];
        for comment in comments {
            let mut verb = words::comment(&comment);
            if matches!(verb, Verb::Say { .. }) && comment.created_at >= since {
                verb = self.addressed(verb, &comment.body);
            }
            texts.push(Text {
                edited: comment.updated_at != comment.created_at,
                created_at: comment.created_at,
                ..Text::new(Source::Comment(comment.id), comment.id, (comment.author, comment.body), verb)
            });
        }
        let mut unread = None;
        if issue.is_pull {
            let reviews = self.forge.reviews(at, issue.number).await?;
            let (replies, why) = self.replies((at, issue), &reviews, since).await?;
            texts.extend(replies);
            // Which reply is missing is not known, so no other text waits for one.
            unread = why.map(|why| Unread { from: i64::MAX, why });
            for review in reviews {
                let inline = match self.inline_commands(entry, (at, issue.number), &review, since).await {
                    Ok(inline) => inline,
                    Err(moved @ Trouble::Moved { .. }) => return Err(moved),
                    // The other texts are read all the same, and these with the thread's next reading.
                    Err(why) => {
                        let from = unread.as_ref().map_or(i64::MAX, |it| it.from).min(review.number);
                        unread = Some(Unread { from, why });
                        continue;
                    }
                };
                texts.extend(self.of_review(review, inline, since));
            }
            texts.sort_by_key(|text| text.number);
        }
        Ok((texts, unread))
    }

    /// What a text asks that only says something: a question to the bot by its name, or a command behind that, which is none.
    fn addressed(&self, plain: Verb, text: &str) -> Verb {
        let accounts = &self.threads.accounts;
        accounts.question_by_name(text).unwrap_or_else(|| accounts.or_behind_name(plain, text))
    }

    /// The commands in replies to the bot's own inline comments.
    async fn replies(
        &self,
        (at, issue): (&RepoRef, &Issue),
        reviews: &[Review],
        since: i64,
    ) -> Result<(Vec<Text>, Option<Trouble>), Trouble> {
        let mine: Vec<Review> = reviews.iter().filter(|review| review.author.id == self.me).cloned().collect();
        let asks = |reply: &ReviewComment| reply.created_at >= since && !self.of_reply(reply.clone()).is_plain();
        let place = (at, issue.number, issue.updated_at);
        let replies = self.threads.reader.lines.replies(place, &mine, asks, &[]).await?;
        let unread = replies.failed.map(Trouble::from);
        match unread {
            Some(moved @ Trouble::Moved { .. }) => Err(moved),
            unread => Ok((replies.found.into_iter().map(|reply| self.of_reply(reply)).collect(), unread)),
        }
    }

    /// The text of a reply on a line. As in a review's inline comments, the strongest command that counts on a line is its command, and the others
    /// are named; a first word that no command has may be a path.
    fn of_reply(&self, reply: ReviewComment) -> Text {
        let plain = || words::plain(&reply.body, &reply.author.login);
        let (verb, left, note) = match words::inline_commands(&[&reply]) {
            none if none.is_empty() => (self.addressed(plain(), &reply.body), Vec::new(), Some(reply.clone())),
            commands => counted(plain(), commands),
        };
        Text {
            edited: reply.updated_at != reply.created_at,
            created_at: reply.created_at,
            left,
            note,
            ..Text::new(reply_source(&reply), reply.id, (reply.author.clone(), reply.body.clone()), verb)
        }
    }

    /// The commands in the reviewer's own inline comments. They are asked for until the review was answered, or held none.
    async fn inline_commands(
        &self,
        entry: &Repository,
        (at, pull): (&RepoRef, u64),
        review: &Review,
        since: i64,
    ) -> Result<Vec<words::OnLine>, Trouble> {
        let key = decision_key(&Source::Review(review.id));
        let bare = bare_key(review.id);
        if review.comments == 0
            || !given(review)
            || review.submitted_at < since
            || !self.threads.accounts.counts(&review.author)
            || self.store.knows_input(&key).await?
            || self.store.knows_input(&bare).await?
        {
            return Ok(Vec::new());
        }
        let inline = self.forge.review_comments(at, pull, review.id).await?;
        let own = own_remarks(review, &inline);
        let mut found = words::inline_commands(&own);
        found.extend(own.iter().filter_map(|note| self.threads.accounts.asked_by_name(note)));
        if found.is_empty() {
            self.store.note_input_of(&entry.key, &bare, now()).await?;
        }
        Ok(found)
    }

    /// The text of a submitted review. Where it gives no command itself, the strongest of its inline comments that counts on a line is its command.
    fn of_review(&self, review: Review, inline: Vec<words::OnLine>, since: i64) -> Option<Text> {
        if !given(&review) {
            return None;
        }
        let (mut verb, left, note) = counted(words::text(&review.body, &review.author.login), inline);
        if matches!(verb, Verb::Say { .. }) && review.submitted_at >= since {
            verb = self.addressed(verb, &review.body);
        }
        Some(Text {
            edited: review.is_changed(),
            created_at: review.submitted_at,
            left,
            note,
            ..Text::new(Source::Review(review.id), review.number, (review.author, review.body), verb)
        })
    }
}

fn given(review: &Review) -> bool {
    matches!(review.state, ReviewState::Approved | ReviewState::RequestChanges | ReviewState::Comment)
}

/// The command that counts, `own` or, where that is none, the strongest of these inline ones that may count; the names of the other inline ones;
/// and the inline comment that the one stands in which counts.
fn counted(own: Verb, inline: Vec<words::OnLine>) -> (Verb, Vec<String>, Option<ReviewComment>) {
    let is_plain = matches!(own, Verb::Say { .. });
    let counts = |at: &usize| is_plain && counts_on_a_line(&inline[*at].command.verb);
    let counted = (0..inline.len()).rev().filter(counts).max_by_key(|at| inline[*at].command.strength);
    let (mut chosen, mut left) = ((own, None), Vec::new());
    for (at, it) in inline.into_iter().enumerate() {
        if Some(at) == counted {
            chosen = (it.command.verb, Some(it.note));
        } else if !it.by_name && !left.contains(&it.command.name) {
            left.push(it.command.name);
        }
    }
    (chosen.0, left, chosen.1)
}

/// Whether it counts on a line where no task is at work: what only asks for an answer, and what begins on a pull request.
fn counts_on_a_line(verb: &Verb) -> bool {
    match verb.begins() {
        Some((kind, ..)) => kind.begins_on(true),
        None => !verb.is_apart() && !matches!(verb, Verb::Retry { .. } | Verb::Allow { .. } | Verb::Deny { .. }),
    }
}
