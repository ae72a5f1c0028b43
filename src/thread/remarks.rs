//! Remarks on lines in a review that is an approval or gives another command: they are remarks of the task all the same.
//! Tests: below, `tests/stories/remarks.rs`.

use super::words::by_name_alone;
use super::{Feed, inline};
use crate::forge::{Review, ReviewComment};
use crate::message;
use crate::redact;
use crate::trouble::Trouble;
use domain::{Access, Decision, Input, Item, Notice, State, TaskId, Verb};

/// The remarks on lines of a review beside its command.
#[derive(Debug, Default)]
pub(super) struct RemarksBeside {
    /// Those about a line, in order.
    pub items: Vec<Item>,
    /// Whether the review was edited, where its command counts all the same.
    pub edited: bool,
}

/// The remarks in a review's `own` inline comments that this verb of it hands to nobody. `bot` is the name by which it is asked.
pub(super) fn beside(verb: &Verb, (review, own): (&Review, &[&ReviewComment]), bot: Option<&str>) -> Vec<Item> {
    let has_them = matches!(verb, Verb::Changes { .. } | Verb::Say { .. } | Verb::Stop);
    if has_them || bot.and_then(|bot| by_name_alone(review, own, bot)).as_ref() == Some(verb) {
        return Vec::new();
    }
    // One that begins with any other command is carried out, or its author is told that it is not.
    let gives = |note: &ReviewComment| {
        let first = inline::commands(&[note]).into_iter().next();
        note.body.trim_start().starts_with('/') && first.is_some_and(|it| !inline::leaves_words(&it.command.verb))
    };
    let item = |note: &ReviewComment| inline::remark(note, redact::in_words(&note.body), &review.author.login);
    own.iter().filter(|note| !gives(note)).filter_map(|note| item(note)).collect()
}

/// As [`beside`], of a reply on a line: its words beside a `/pause` or an `/ask`.
pub(super) fn beside_in_reply(verb: &Verb, reply: &ReviewComment) -> RemarksBeside {
    let commands = matches!(verb, Verb::Pause | Verb::Ask { .. }) && inline::strongest(&[reply]).is_some();
    RemarksBeside { items: inline::remark_of_reply(reply).filter(|_| commands).into_iter().collect(), edited: false }
}

/// Feeds the remarks beside a decision, whose next use tells the agent of them. `key` is that of its text, `number` its pull request's. Gives
/// what their author is told where the decision approves finished work.
pub(super) async fn feed_remarks(
    id: TaskId,
    (key, number): (&str, u64),
    (decision, remarks): (&Decision, RemarksBeside),
    feed: &dyn Feed,
) -> Result<Option<Notice>, Trouble> {
    if remarks.items.is_empty() || decision.edited || decision.right < Access::Write {
        return Ok(None);
    }
    let (task, login) = (feed.look(id).await?, &decision.poster.login);
    // There a remark would be the answer, and refuse an action that waits for permission.
    let asks = matches!(task.underneath(), State::Asking { .. });
    // The first remark's own number, since the review's own is answered once.
    let first = remarks.items.iter().find_map(|item| item.comment).unwrap_or(decision.number);
    let notice = |text| Notice::Beside { number: first, thread: number, text };
    if asks || remarks.edited {
        let why = if asks { message::remarks_too_early } else { message::remarks_edited };
        let notice = notice(why(login));
        feed.feed(id, &unheard_key(key), Input::Noticed { notice }).await?;
        return Ok(None);
    }
    let said = Verb::Say { items: remarks.items };
    let said = Decision { number: first, verb: said, ..decision.clone() };
    feed.feed(id, &format!("{key}~remarks"), Input::Decided { decision: Box::new(said) }).await?;
    let approves = matches!(decision.verb, Verb::Approve { .. });
    Ok(approves.then(|| notice(message::remarks_to_nobody(login))))
}

/// Feeds what the author of remarks beside an approval is told, once that was judged and the finished work stands approved.
pub(super) async fn tell_unheard(
    id: TaskId,
    key: &str,
    notice: Option<Notice>,
    feed: &dyn Feed,
) -> Result<(), Trouble> {
    let Some(notice) = notice else { return Ok(()) };
    if matches!(feed.look(id).await?.underneath(), State::Approved { .. }) {
        feed.feed(id, &unheard_key(key), Input::Noticed { notice }).await?;
    }
    Ok(())
}

fn unheard_key(key: &str) -> String {
    format!("{key}~unheard")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forge::ReviewState;
    use crate::thread::fixtures;
    use domain::OldLine;

    /// The texts of what is beside the verb of a review with this text and these inline comments.
    fn texts(state: ReviewState, body: &str, notes: &[&str]) -> Vec<String> {
        let review = fixtures::review(state, body);
        let notes: Vec<ReviewComment> = notes.iter().map(|text| fixtures::note(text)).collect();
        let verb = super::super::words::review(&review, &notes, Some("caisson")).expect("submitted");
        let own: Vec<&ReviewComment> = notes.iter().collect();
        beside(&verb, (&review, &own), Some("caisson")).into_iter().map(|item| item.text).collect()
    }

    #[test]
    fn a_remark_on_the_old_side_keeps_its_line_and_is_without_credentials() {
        let key = format!("gh{}_{}", "p", "a1B2".repeat(10));
        let old = |removed: &str| Some(OldLine { line: 7, removed: Some(removed.to_owned()) });
        let note = |text: &str, removed: &str| ReviewComment { line: None, old: old(removed), ..fixtures::note(text) };
        let item = |removed: &str| inline::remark(&note("why?", removed), "why?".into(), "alice").expect("a remark");
        assert_eq!((item("total = 1").line, item("total = 1").old), (None, old("total = 1")));
        let shown = item(&format!("token = \"{key}\"")).old.and_then(|old| old.removed).unwrap_or_default();
        assert!(shown.starts_with("token = ") && !shown.contains(&key), "{shown}");
        assert_eq!(inline::asked(&note("", "x"), "why?"), "a.py, line 7 before the change: why?");
    }

    #[test]
    fn a_remark_on_a_line_counts_beside_whatever_its_review_asks_for() {
        let (approved, comment) = (ReviewState::Approved, ReviewState::Comment);
        assert_eq!(texts(approved, "Fine.", &["rename this", "use a set"]), ["rename this", "use a set"]);
        for command in ["/ask why?", "/pause", "/allow a.test", "/budget 5 actions", "/approve", "/status"] {
            assert_eq!(texts(comment, command, &["rename this"]), ["rename this"], "{command}");
        }
        assert_eq!(texts(approved, "", &["/ask why?", "/approve", "Why, @caisson?"]), ["Why, @caisson?"]);
        assert_eq!(texts(comment, "", &["Why, @caisson?"]), [""; 0], "it is the question");
        for (state, body) in [(comment, "Hm."), (comment, "/revise it"), (ReviewState::RequestChanges, "No.")] {
            assert_eq!(texts(state, body, &["rename this"]), [""; 0], "its verb has them: {body}");
        }
        assert_eq!(texts(approved, "/stop", &["rename this"]), [""; 0]);
    }

    #[test]
    fn the_words_beside_what_is_carried_out_on_a_line_are_a_remark() {
        let (approved, comment) = (ReviewState::Approved, ReviewState::Comment);
        assert_eq!(texts(comment, "", &["/pause\nThis leaks."]), ["This leaks."]);
        assert_eq!(texts(comment, "", &["/pause this leaks", "/pause"]), ["this leaks"]);
        assert_eq!(texts(comment, "", &["It leaks.\n\n/pause\n\n/usr/lib"]), ["It leaks.\n\n\n\n/usr/lib"]);
        let denies = "/deny a.test\r\n/deny b.test\r\nUse a set.";
        assert_eq!(texts(approved, "", &[denies, "/deny a.test\n/deny b.test"]), ["Use a set."]);
        assert_eq!(texts(approved, "", &["/status must be 503 here", "/status"]), ["/status must be 503 here"]);
    }

    #[test]
    fn the_words_of_a_reply_beside_its_command_are_a_remark() {
        let beside = |text: &str| {
            let reply = fixtures::note(text);
            let remarks = beside_in_reply(&super::super::words::reply(&reply, "caisson"), &reply);
            remarks.items.into_iter().map(|item| item.text).collect::<Vec<_>>()
        };
        assert_eq!(beside("/pause\nThis leaks."), ["This leaks."]);
        assert_eq!(beside("This leaks.\n/ask why?"), ["This leaks.\n/ask why?"]);
        let said = ["This leaks.", "Why, @caisson?", "/deny a.test\nUse a set."];
        for text in ["/pause", "/ask why?", "/revise a set"].into_iter().chain(said) {
            assert_eq!(beside(text), [""; 0], "{text}");
        }
    }
}
