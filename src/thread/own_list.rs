//! A list of steps that somebody posted after a plan, as the words of the `/fix` that comes behind it. Read when the `/fix` is, so that one that
//! was deleted meanwhile counts no more, and one that was changed lets nothing begin. Tests: below and `tests/stories/models.rs`.

use super::decisions::Decisions;
use super::words::too_long;
use crate::config::process::Repository;
use crate::forge::Comment;
use crate::redact;
use crate::trouble::Trouble;
use domain::{Decision, Task, Verb, plan};

impl Decisions {
    /// Adds to a `/fix` without a list of its own the newest one that its author posted since the plan. Where that was edited, the `/fix` counts
    /// as edited too: the planner's own list is not what its author means.
    pub(super) async fn add_own_list(
        &self,
        entry: &Repository,
        task: &Task,
        comments: &[Comment],
        decision: &mut Decision,
    ) -> Result<(), Trouble> {
        let Some(plan) = task.checkpoint().filter(|_| task.kind.reads_only()) else { return Ok(()) };
        let (span, who) = ((plan.number, decision.number), decision.poster.id);
        let Verb::Fix { words, .. } = &mut decision.verb else { return Ok(()) };
        let Some(comment) = posted(comments, span, who).filter(|_| plan::read(words).is_empty()) else { return Ok(()) };
        match self.edits.comment_edited(entry, comment).await? {
            true => decision.edited = true,
            false => *words = format!("{words}\n\n{}", redact::in_words(&comment.body)).trim().to_owned(),
        }
        Ok(())
    }
}

/// The newest comment of this account with a list of steps, of those between these numbers.
fn posted(comments: &[Comment], (after, before): (i64, i64), who: i64) -> Option<&Comment> {
    let is_list = |c: &&Comment| c.author.id == who && (after + 1..before).contains(&c.id) && holds_list(&c.body);
    comments.iter().filter(is_list).max_by_key(|c| c.id)
}

/// Whether it is a list of steps, and no command, of no more characters than are taken.
fn holds_list(text: &str) -> bool {
    too_long(text).is_none() && super::words::commands(text).is_empty() && !plan::read(text).is_empty()
}

#[cfg(test)]
mod tests {
    use super::posted;
    use crate::forge::{Account, Comment};

    fn comment(id: i64, who: i64, body: &str) -> Comment {
        let author = Account { id: who, login: format!("u{who}") };
        Comment { id, issue: 3, author, body: body.into(), created_at: 0, updated_at: 0, html_url: String::new() }
    }

    #[test]
    fn the_newest_list_of_ones_own_since_the_plan_counts() {
        let list = "Rather so:\n1. this\n2. that";
        let all = [
            comment(9, 7, "1. before\n2. the plan"),
            comment(11, 7, "1. older\n2. one"),
            comment(12, 7, list),
            comment(13, 7, &format!("1. too\n2. long {}", "x".repeat(crate::command::MAX_WORDS))),
            comment(13, 8, "1. somebody\n2. else"),
            comment(14, 7, "Thank you."),
            comment(15, 7, "/revise\n1. a\n2. b"),
            comment(21, 7, "1. after\n2. the command"),
        ];
        assert_eq!(posted(&all, (10, 20), 7).map(|c| c.body.as_str()), Some(list));
        assert_eq!(posted(&all, (10, 20), 9).map(|c| c.id), None);
        assert_eq!(posted(&all, (12, 20), 7).map(|c| c.id), None);
    }
}
