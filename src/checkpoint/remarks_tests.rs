//! People's remarks in reviews, from logs.

use super::remarks::gather;
use super::view::{CheckpointView, DiffPart, RemarksView};
use super::{render_checkpoint, render_final, render_notes};
use domain::{
    Access, Account, CapturedTree, Commit, Decision, Event, FileChange, Item, RemarkAnswer, RemarkWithdrawn, Source,
    Verb, Withdrawal,
};

fn commit(digit: &str) -> Commit {
    Commit::parse(&digit.repeat(40)).expect("a commit")
}

fn item(path: Option<&str>, text: &str, author: &str) -> Item {
    let line = path.map(|_| 2);
    Item { path: path.map(str::to_owned), line, ..Item::on_the_whole(text, author) }
}

fn used(items: Vec<Item>, n: u32) -> Event {
    let decision = Decision::new(
        Source::Review(1),
        1,
        (Account { id: 7, login: "bob".into() }, Access::Write),
        Verb::Changes { items },
    );
    Event::DecisionUsed { decision: Box::new(decision), n }
}

fn captured(n: u32, digit: &str, path: &str) -> Event {
    let file = FileChange { path: path.into(), added: 1, removed: 0, kind: "modified".into(), bytes: None };
    let (steering, left_out, outside, marked) = Default::default();
    let (diff, diff_cut) = (String::new(), 0);
    Event::TreeCaptured {
        n,
        tree: CapturedTree {
            commit: commit(digit),
            files: vec![file],
            diff,
            diff_cut,
            steering,
            left_out,
            outside,
            marked,
            facts: Vec::new(),
        },
    }
}

fn posted(n: u32, digit: &str) -> Event {
    let commit = Some(commit(digit));
    Event::CheckpointPosted { n, review: 1, number: 1, at: 0, commit, last: false, verdict: None }
}

fn says(remark: u32, addressed: bool, text: &str) -> Event {
    Event::RemarkAnswered(RemarkAnswer { remark, text: text.into(), addressed })
}

/// Every kind of state, with these words in all places.
pub(super) fn hostile(text: &str) -> RemarksView {
    let items = vec![item(Some(text), text, text); 5];
    let withdrawn = RemarkWithdrawn { remark: 4, why: Withdrawal::Resolved };
    let log = [
        used(items, 1),
        says(1, true, text),
        says(2, false, text),
        captured(2, "2", text),
        Event::RemarkWithdrawn(withdrawn),
        used(vec![item(None, text, text)], 2),
        says(6, true, text),
    ];
    gather(&log, 0)
}

/// Six remarks at checkpoint 1: two are dealt with, one is answered, one withdrawn, and of the open ones one is said to be dealt with.
fn log() -> Vec<Event> {
    let words = ["rename it", "why?", "cover 1.10", "never mind", "a\n# longer", "x"];
    let paths = ["a.py", "b.py", "tests/t.py", "a.py", "a.py", "b.py"];
    let items = paths.iter().zip(words).map(|(path, text)| item(Some(path), text, "bob")).collect();
    vec![
        posted(1, "1"),
        used(items, 1),
        says(1, true, "it is `parse` now, @bob"),
        says(2, false, "see http://evil.example"),
        says(3, true, "covered"),
        Event::RemarkWithdrawn(RemarkWithdrawn { remark: 4, why: Withdrawal::Dismissed }),
        captured(2, "2", "a.py"),
    ]
}

fn view(log: &[Event], n: u32) -> CheckpointView {
    let diff = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,3 @@\n one\n two\n+three\n";
    let part = DiffPart { path: "a.py".into(), text: diff.into(), ..DiffPart::default() };
    let remarks = gather(log, super::gather::start(log, n));
    CheckpointView { n, remarks, diff: vec![part], commit: Some("2".repeat(40)), ..CheckpointView::default() }
}

fn section(text: &str) -> String {
    let lines = text.lines().skip_while(|line| !line.starts_with("**Remarks**"));
    lines
        .take_while(|line| !line.starts_with("**Evidence**") && !line.starts_with("<details>"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn open_remarks_come_first_then_what_became_of_the_others() {
    let mut log = log();
    let text = render_checkpoint(&view(&log, 2));
    insta::assert_snapshot!("remarks", section(&text).trim_end());
    assert!(!text.contains("are open**"), "only the final review warns");
    // Settled before, they are only counted; what is open stands there again, and in the final review's first lines.
    log.extend([posted(2, "2"), used(vec![item(None, "shorter", "bob")], 2), captured(3, "3", "c.py")]);
    let last = render_final(&view(&log, 3));
    insta::assert_snapshot!(
        "remarks_final",
        last.lines().take(5).chain(section(&last).lines()).collect::<Vec<_>>().join("\n")
    );
    assert_eq!(section(&render_checkpoint(&CheckpointView::default())), "", "nothing was ever remarked");
}

#[test]
fn what_became_of_a_remark_stands_where_it_does() {
    let log = log();
    let notes = render_notes(&view(&log, 2));
    let told: Vec<_> = notes.iter().map(|(path, line, text)| format!("{path}:{line} {text}")).collect();
    insta::assert_snapshot!("remarks_notes", told.join("\n"));
    // A line that the difference does not show has no note.
    let elsewhere = view(&log, 2);
    let diff = vec![DiffPart { text: elsewhere.diff[0].text.replace("+1,3", "+7,3"), ..elsewhere.diff[0].clone() }];
    assert!(render_notes(&CheckpointView { diff, ..elsewhere }).is_empty());
    // They are few, beside the four others.
    let items = vec![item(Some("a.py"), "x", "bob"); 30];
    let mut many = vec![posted(1, "1"), used(items, 1)];
    many.extend((1..=30).map(|number| says(number, true, "done")));
    many.push(captured(2, "2", "a.py"));
    let many = view(&many, 2);
    assert_eq!(render_notes(&many).len(), 10);
    let text = section(&render_checkpoint(&many));
    assert!(text.contains("- **r13** addressed at") && text.contains("**r30** addressed at"), "all are named: {text}");
}

#[test]
fn a_review_that_was_voided_is_not_one_in_which_a_state_was_shown() {
    let mut log = log();
    log.push(posted(2, "2"));
    assert_eq!(view(&log, 3).remarks.settled, 3);
    log.push(Event::CheckpointVoided { n: 2 });
    let remarks = view(&log, 3).remarks;
    assert_eq!((remarks.settled, remarks.changed.len(), remarks.open.len()), (0, 3, 3));
}
