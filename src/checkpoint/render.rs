//! Renders a view to the review's Markdown. Pure.
//!
//! Untrusted text passes through `text`, and everything cut is named. The effect that posts adds the mark.
//! Tests: `src/checkpoint/tests.rs` (snapshots, and a hostile view through a Markdown parser).

use super::changed::plus_minus;
use super::evidence::but;
use super::touched;
use super::view::{ActionResult, CheckpointView, VerdictView};
use crate::command::answer_line;
use crate::sandbox::shown_tail;
use crate::text::{code, cost, count, dollars, duration, grouped, plain_cell, prose, prose_cell};
use domain::{BaseTests, Risk, VerdictCase};
use std::fmt::Write as _;

pub use super::evidence::{result, result_in_text};
pub use super::notes::{InlineNote, render_notes};

/// The most bytes of a body, without its mark; forges accept more, but people do not read it.
pub const MAX_BODY: usize = 60 * 1024 - 512;
/// The most bytes of the diff in one review.
const MAX_DIFF: usize = 40 * 1024;
/// The most items of one kind that are named; further ones are counted.
const MAX_NAMED: usize = 8;
const MAX_SUMMARY: usize = 1200;
const MAX_NEXT: usize = 500;
/// The most bytes of the end of an output.
const MAX_TAIL: usize = 4_000;
/// The most characters of a second model's text.
const MAX_SECOND: usize = 3000;

/// The review of an ordinary checkpoint; one without a commit explains why.
pub fn render_checkpoint(view: &CheckpointView) -> String {
    let waits = if covered(view).is_some() { "approved in advance" } else { "waiting for you" };
    let mut out = format!("### Checkpoint {}{} · {waits}\n\n", view.n, range(view));
    breach(&mut out, view, "⚠️");
    says(&mut out, view);
    looked(&mut out, view);
    actions(&mut out, view);
    super::changed::section(&mut out, view);
    super::overlap::changed_elsewhere(&mut out, view);
    super::base_moved::moved_on(&mut out, view);
    super::conflict_items::section(&mut out, view);
    super::remarks::section(&mut out, view);
    super::evidence::section(&mut out, view);
    second_look(&mut out, view);
    super::hosts::changed(&mut out, view);
    if let Some(verdict) = &view.verdict {
        let _ = writeln!(out, "**Checks** — {}", verdict_line(verdict, view));
        out.push_str(&super::against::part(&verdict.against_base));
    }
    super::ci::ended(&mut out, view);
    super::ci_items::section(&mut out, view);
    super::ci::so_far(&mut out, view);
    if !view.next.trim().is_empty() {
        let _ = writeln!(out, "**Next**, says the agent — {}", prose(&view.next, MAX_NEXT));
    }
    waiting(&mut out, view);
    out.push('\n');
    super::refused::warning(&mut out, view);
    let foot = foot(view, None);
    finish(out, view, foot, false)
}

/// The review of finished work: the agent's statements beside the log, and the bot's own verdict.
pub fn render_final(view: &CheckpointView) -> String {
    let (sign, words) = match (&view.breach, view.verdict.as_ref().map(|v| v.kind)) {
        (Some((words, _)), _) => ("❌", *words),
        (None, Some(VerdictCase::Passed)) => ("✅", "the checks pass"),
        (None, Some(VerdictCase::Failed)) => ("❌", "the checks fail"),
        (None, Some(VerdictCase::NoTest)) => ("⚠️", "the checks ran no test"),
        (None, Some(VerdictCase::None) | None) => ("⚠️", "nothing was found to check it with"),
    };
    let mut out = format!(
        "### Final review · checkpoint {}{} · {sign} {words}{}\n\n",
        view.n,
        range(view),
        super::ci::heading(view.ci.as_ref())
    );
    breach(&mut out, view, "❌");
    super::remarks::warning(&mut out, view);
    super::ci_items::warning(&mut out, view);
    super::conflict_items::warning(&mut out, view);
    columns(&mut out, view);
    looked(&mut out, view);
    actions(&mut out, view);
    super::changed::section(&mut out, view);
    super::overlap::changed_elsewhere(&mut out, view);
    super::base_moved::moved_on(&mut out, view);
    super::conflict_items::section(&mut out, view);
    super::remarks::section(&mut out, view);
    super::hosts::changed(&mut out, view);
    if let Some(verdict) = &view.verdict {
        let _ = writeln!(out, "**Verdict** — {}", verdict_line(verdict, view));
        out.push_str(&super::against::part(&verdict.against_base));
    }
    super::ci::ended(&mut out, view);
    super::ci_items::section(&mut out, view);
    super::artifacts::section(&mut out, view);
    second_look(&mut out, view);
    out.push('\n');
    if let Some(verdict) = view.verdict.as_ref().filter(|v| !v.tail.trim().is_empty()) {
        tail(&mut out, verdict);
    }
    let bind = view.commit.as_deref().map(|commit| short(commit).to_owned());
    let foot = foot(view, bind.as_deref());
    finish(out, view, foot, true)
}

/// The first ten digits of a commit.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

fn range(view: &CheckpointView) -> String {
    match (view.actions.first(), view.actions.last()) {
        (Some(first), Some(last)) if first.n == last.n => format!(" · action {}", first.n),
        (Some(first), Some(last)) => format!(" · actions {}–{}", first.n, last.n),
        _ => String::new(),
    }
}

/// Said before anything else: with it the final review can't be approved.
fn breach(out: &mut String, view: &CheckpointView, sign: &str) {
    let Some((words, files)) = &view.breach else { return };
    let mut named: Vec<String> = files.iter().take(MAX_NAMED).map(|path| code(path)).collect();
    if files.len() > MAX_NAMED {
        named.push(count((files.len() - MAX_NAMED) as u64, "further file"));
    }
    let _ = writeln!(
        out,
        "{sign} **The branch {words}**: {}. As long as it does, the finished work can't be approved.\n",
        named.join(", ")
    );
}

fn says(out: &mut String, view: &CheckpointView) {
    if view.summary.trim().is_empty() {
        out.push_str("The agent said nothing about these actions.\n\n");
    } else {
        let _ = writeln!(out, "**The agent says** — {}\n", prose(&view.summary, MAX_SUMMARY));
    }
}

/// Files that the host showed to the model.
fn looked(out: &mut String, view: &CheckpointView) {
    let named = |(path, because): &(String, String)| format!("{}, because {}", code(path), prose(because, 200));
    let mut list: Vec<String> = view.looked.iter().take(MAX_NAMED).map(named).collect();
    if view.looked.len() > MAX_NAMED {
        list.push(count((view.looked.len() - MAX_NAMED) as u64, "further file"));
    }
    if !list.is_empty() {
        let _ = writeln!(out, "**Looked at** — {}\n", list.join("; "));
    }
}

/// Actions that run at once after an approval.
fn waiting(out: &mut String, view: &CheckpointView) {
    let named = |(kind, what): &(String, String)| code(format!("{kind} {what}").trim());
    let mut list: Vec<String> = view.waiting.iter().take(MAX_NAMED).map(named).collect();
    if view.waiting.len() > MAX_NAMED {
        list.push(count((view.waiting.len() - MAX_NAMED) as u64, "further action"));
    }
    if !list.is_empty() {
        let _ = writeln!(out, "**First after an approval** — {}", list.join("; "));
    }
}

fn actions(out: &mut String, view: &CheckpointView) {
    if view.actions.is_empty() {
        return;
    }
    out.push_str("| # | action | result |\n|--:|---|---|\n");
    for action in &view.actions {
        let what = plain_cell(format!("{} {}", action.kind, action.what).trim());
        let mistake =
            action.mistake.as_deref().map(|mistake| format!(" · ⚠️ {}", plain_cell(mistake))).unwrap_or_default();
        let _ = writeln!(out, "| {} | {what} | {}{}{mistake} |", action.n, result(action), touched::cell(action));
    }
    out.push('\n');
    if view.actions.iter().any(|action| action.touched.is_some()) {
        out.push_str(touched::WHOSE_WORD);
    }
    background(out, view);
}

/// Every checkpoint ends what was started in the background. How much of it still ran, the sandbox says only with the agent's next result.
fn background(out: &mut String, view: &CheckpointView) {
    let started = view.actions.iter().filter(|action| action.result == ActionResult::Started);
    let numbers: Vec<String> = started.map(|action| action.n.to_string()).collect();
    let which = match numbers.as_slice() {
        [] => return,
        [one] => format!("action {one}"),
        many => format!("actions {}", many.join(", ")),
    };
    let _ = writeln!(
        out,
        "What {which} started in the background was ended at this checkpoint where it still ran; the agent is told with its next result.\n"
    );
}

/// The text of a model that did not take part in the work.
fn second_look(out: &mut String, view: &CheckpointView) {
    if let Some((text, model)) = &view.second_look {
        let _ = writeln!(
            out,
            "\n**A second look** — by {}, which saw only these changes; no verdict, and nothing waits for it:\n\n{}",
            code(model),
            crate::text::document(text, MAX_SECOND)
        );
    }
    if let Some((why, model)) = &view.no_second_look {
        let by = if model.is_empty() { "the reviewer".to_owned() } else { code(model) };
        let _ = writeln!(out, "\n**No second look** — by {by}: {}.", prose(why.trim_end_matches('.'), MAX_SUMMARY));
    }
}

fn verdict_line(verdict: &VerdictView, view: &CheckpointView) -> String {
    let Some(command) = &verdict.command else {
        return "⚠️ none: no test command was found; name one in `.caisson.toml`".to_owned();
    };
    let sign = match verdict.kind {
        VerdictCase::Passed => "✅",
        VerdictCase::Failed => "❌",
        VerdictCase::NoTest | VerdictCase::None => "⚠️",
    };
    let empty = if verdict.kind == VerdictCase::NoTest { ", **and no test ran**" } else { "" };
    let exit = |code: Option<i32>| code.map_or("did not end".to_owned(), |code| format!("exit {code}"));
    let on = view.commit.as_deref().map(|commit| format!(" on `{}`", short(commit))).unwrap_or_default();
    let base = verdict.base_exit.map(|code| format!(" · on the base: exit {code}")).unwrap_or_default();
    let tests = match verdict.base_tests {
        BaseTests::Same => String::new(),
        BaseTests::Ran { exit_code } => format!(" · with the base's tests: {}", exit(exit_code)),
    };
    let names = match (verdict.looked_for, verdict.missing.len()) {
        (0, _) if verdict.not_compared => " · **tests of the base were not looked for**".to_owned(),
        (0, _) => String::new(),
        (all, 0) => format!(" · {} of the base seen again by name", count(u64::from(all), "test")),
        (_, gone) => format!(" · **{} of the base did not run**", count(gone as u64, "test")),
    };
    format!(
        "{sign} {} {}{empty}{on}, run by the bot in a fresh container{base}{tests}{names} · command from {}",
        code(command),
        exit(verdict.exit_code),
        code(&verdict.chosen_by)
    )
}

/// Tests of the base that did not run with this change, as many as fit into a table cell.
fn missing(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| plain_cell(name)).collect();
    let more = if names.len() > SHOWN { format!(" and {} more", names.len() - SHOWN) } else { String::new() };
    format!("❌ tests of the base did not run: {}{more}", shown.join(", "))
}

/// Why a verdict is a failure although the checks passed and no test of the base is missing.
fn in_spite(view: &CheckpointView, verdict: &VerdictView) -> String {
    match (&view.breach, verdict.base_tests) {
        (Some((words, _)), _) => format!("the branch {words}"),
        (None, BaseTests::Ran { exit_code }) if exit_code != Some(0) => "with the base's tests they fail".to_owned(),
        (None, BaseTests::Ran { .. } | BaseTests::Same) => "the verdict is a failure".to_owned(),
    }
}

fn tail(out: &mut String, verdict: &VerdictView) {
    let (shown, is_cut) = shown_tail(&verdict.tail, verdict.exit_code, MAX_TAIL);
    out.push_str("<details><summary>The end of its output (reported by code under review)</summary>\n\n");
    if is_cut {
        out.push_str("What it printed before is not shown.\n\n");
    }
    out.push_str(&crate::text::fence(&shown, "text"));
    out.push_str("\n</details>\n\n");
}

fn columns(out: &mut String, view: &CheckpointView) {
    let agent =
        if view.summary.trim().is_empty() { "nothing".to_owned() } else { prose_cell(&view.summary, MAX_SUMMARY) };
    let mut log = Vec::new();
    if let Some(verdict) = &view.verdict {
        log.push(match (verdict.kind, verdict.exit_code) {
            (VerdictCase::Passed, _) => "✅ the bot's own run of the checks passed".to_owned(),
            (VerdictCase::Failed, _) if !verdict.missing.is_empty() => missing(&verdict.missing),
            (VerdictCase::Failed, Some(0)) => {
                format!("❌ the bot's own run of the checks ended with exit 0, but {}", in_spite(view, verdict))
            }
            (VerdictCase::Failed, Some(code)) => format!("❌ the bot's own run of the checks failed with exit {code}"),
            (VerdictCase::Failed, None) => "❌ the bot's own run of the checks did not end".to_owned(),
            (VerdictCase::NoTest, _) => {
                "⚠️ the bot's own run of the checks ended with exit 0, and says itself that no test ran".to_owned()
            }
            (VerdictCase::None, _) => "⚠️ the bot found no checks to run".to_owned(),
        });
        if verdict.not_compared {
            let why = "an output is too long, or a run did not end by itself";
            log.push(format!("⚠️ whether each test of the base ran again is not known: {why}"));
        }
        if verdict.base_exit == Some(0) && verdict.kind == VerdictCase::Passed {
            log.push("the same checks passed on the base already: they don't show this change".to_owned());
        }
        if verdict.kind == VerdictCase::Passed
            && matches!(verdict.base_tests, BaseTests::Ran { exit_code } if exit_code != Some(0))
        {
            log.push("⚠️ with the base's tests the same checks fail: read the changes to the tests first".to_owned());
        }
    }
    if let Some(verdict) = view.verdict.as_ref().filter(|verdict| verdict.kind == VerdictCase::Passed)
        && let Some(failure) = &verdict.failure
    {
        log.push(format!("⚠️ its checks ended with exit 0{}", but(failure)));
    }
    log.extend(super::evidence::cells(view));
    let (added, removed) = view.files.iter().fold((0, 0), |(a, r), file| (a + file.added, r + file.removed));
    log.push(format!(
        "{} changed since the last checkpoint, {}",
        count(view.files.len() as u64, "file"),
        plus_minus(added, removed)
    ));
    let (log, claims) = (log.join("<br>"), super::claims::rows(view, result));
    let _ = writeln!(out, "| the agent says | the log shows |\n|---|---|\n| {agent} | {log} |\n{claims}");
}

fn warnings(view: &CheckpointView, last: bool) -> String {
    let mut out = String::new();
    if let Some(note) = &view.note {
        let _ = writeln!(out, "> [!NOTE]\n> {}\n", prose(note, MAX_SUMMARY));
    }
    if !view.happened.is_empty() {
        let lines = view.happened.iter().map(|(sentence, times)| match times {
            1 => format!("> - {}\n", prose(sentence, MAX_SUMMARY)),
            _ => format!("> - {} ({times} times)\n", prose(sentence, MAX_SUMMARY)),
        });
        let _ = writeln!(out, "> [!NOTE]\n> While this was done:\n{}", lines.collect::<String>());
    }
    out.push_str(&super::changed::warning(view, last));
    out.push_str(&super::hosts::blocked(view));
    out.push_str(&super::hosts::uploads(view));
    out.push_str(&super::hosts::lost(view));
    out
}

/// The account that approved this checkpoint in advance, and for how many more.
fn covered(view: &CheckpointView) -> Option<(&str, u8)> {
    let (login, left) = view.advance.as_ref()?;
    view.risk.is_none().then(|| (login.as_str(), left.saturating_sub(1)))
}

fn advance(view: &CheckpointView) -> String {
    if let Some((login, left)) = covered(view) {
        let left = if left == 0 { "the last one that is".to_owned() } else { format!("{left} more after this one") };
        return format!(
            "**Approved in advance** by {}, {left}: work goes on once their right and the branch were looked at again. Any word of somebody who may write ends it.\n",
            code(login)
        );
    }
    let (Some((login, left)), Some(risk)) = (&view.advance, view.risk) else { return String::new() };
    let what = match risk {
        Risk::Final => "a final review",
        Risk::NoCommit => "a checkpoint without a commit on a pull request",
        Risk::Steering => "a change of files that steer tests",
        Risk::Conflicts => "a change in which a conflict may be left",
        Risk::Blocked => "a checkpoint in which hosts were blocked",
        Risk::Egress => "a checkpoint before which the hosts that may be reached were changed",
        Risk::Upload => "a checkpoint in which much was sent to a host, or may have been",
        Risk::Unseen => "a change that can't be shown whole",
    };
    let given = count(u64::from(*left), "checkpoint");
    format!(
        "**Not approved in advance**: {} approved the next {given}, but never {what}. This one waits.\n",
        code(login)
    )
}

fn foot(view: &CheckpointView, bind: Option<&str>) -> String {
    let asked = view.asked.as_deref().map(|login| format!(" ({} is asked)", code(login))).unwrap_or_default();
    let people =
        if view.approvals > 1 { format!(" ({} people have to approve)", view.approvals) } else { String::new() };
    let mut out = format!("{}**Answer**{asked}{people}: {}\n", advance(view), answer_line(bind));
    if bind.is_some() {
        let _ = writeln!(out, "Once approved, `caisson fetch` brings {} into your own clone.", code(&view.branch));
    }
    let spent = &view.spent;
    let thought = match spent.reasoning {
        0 => String::new(),
        tokens => format!(" ({} of them thought)", grouped(tokens)),
    };
    let granted = spent.granted_micros.map(|micros| format!(" of {}", dollars(micros))).unwrap_or_default();
    let money = format!("{}{granted}", cost(spent.cost_micros, spent.unpriced));
    let commit = match (&view.commit, &view.pushed) {
        (Some(commit), _) => format!("commit `{}`", short(commit)),
        (None, Some(pushed)) => format!("commit `{pushed}`, without the newest work"),
        (None, None) => "no commit".to_owned(),
    };
    let mut facts = vec![
        format!("task {}", view.task),
        format!("{} tokens{thought}", grouped(spent.tokens)),
        money,
        duration(spent.duration_ms),
        commit,
    ];
    if view.scripted {
        facts.push("the model was a recording".to_owned());
    }
    let _ = writeln!(out, "\n<sub>{}</sub>", facts.join(" · "));
    out
}

/// Adds the further files and the diff in the remaining room, then the warnings and the footer. Of a large diff a final review (`last`) shows
/// the beginning.
fn finish(mut out: String, view: &CheckpointView, foot: String, last: bool) -> String {
    let warnings = warnings(view, last);
    let room = MAX_BODY.saturating_sub(out.len() + warnings.len() + foot.len());
    let for_diff = room.saturating_sub(super::changed::least_rest(view)).min(MAX_DIFF);
    let diff = match super::diff::too_large(view) {
        Some(sentence) if !last => sentence,
        Some(_) | None => super::diff::section(view, for_diff),
    };
    // The diff has priority over the list, and both over candidates.
    out.push_str(&super::changed::rest(view, room.saturating_sub(diff.len())));
    out.push_str(&diff);
    let left = MAX_BODY.saturating_sub(out.len() + warnings.len() + foot.len());
    out.push_str(&super::candidates::section(view, left, result_in_text));
    out.push_str(&warnings);
    out.push_str(&foot);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_the_checks_were_ended_stands_before_the_end_of_a_long_output() {
        let why = "[the tests took longer than they may and were stopped]";
        let tail = format!("{why}\n{}", "line\n".repeat(1000));
        let verdict = Some(VerdictView { tail, ..VerdictView::default() });
        let text = render_final(&CheckpointView { verdict, ..CheckpointView::default() });
        assert!(text.contains(&format!("What it printed before is not shown.\n\n```text\n{why}\n")), "{text}");
    }

    #[test]
    fn checks_that_ran_no_test_are_no_green_evidence_and_the_command_is_named() {
        let (kind, command) = (VerdictCase::NoTest, Some("go test ./...".to_owned()));
        let verdict = VerdictView { kind, command, exit_code: Some(0), base_exit: Some(0), ..VerdictView::default() };
        let text = render_final(&CheckpointView { verdict: Some(verdict), ..CheckpointView::default() });
        for words in [
            "⚠️ the checks ran no test",
            "| ⚠️ the bot's own run of the checks ended with exit 0, and says itself that no test ran<br>",
            "**Verdict** — ⚠️ `go test ./...` exit 0, **and no test ran**, run by the bot",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains('✅') && !text.contains("passed"), "{text}");
    }

    #[test]
    fn checks_that_passed_are_not_said_to_have_failed() {
        let (kind, base_tests) = (VerdictCase::Failed, BaseTests::Ran { exit_code: Some(1) });
        let verdict = VerdictView { kind, exit_code: Some(0), base_tests, ..VerdictView::default() };
        let mut view = CheckpointView { verdict: Some(verdict), ..CheckpointView::default() };
        let told = |view: &CheckpointView, why: &str| {
            let text = render_final(view);
            assert!(text.contains(&format!("the checks ended with exit 0, but {why}<br>")), "{text}");
            assert!(!text.contains("failed with exit"), "{text}");
        };
        told(&view, "with the base's tests they fail");
        view.breach = Some(("changes more than tests", vec!["a.py".to_owned()]));
        told(&view, "the branch changes more than tests");
    }

    #[test]
    fn what_was_thought_stands_beside_the_tokens_where_it_is_known() {
        let mut view = CheckpointView::default();
        view.spent.tokens = 12_400;
        assert!(!render_checkpoint(&view).contains("thought"));
        view.spent.reasoning = 4_100;
        let told = format!("{} tokens ({} of them thought)", grouped(12_400), grouped(4_100));
        assert!(render_checkpoint(&view).contains(&told), "{}", render_checkpoint(&view));
    }
}
