use super::view::*;
use super::*;
use domain::Risk;
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

fn line(n: u32, kind: &str, what: &str, result: ActionResult) -> ActionLine {
    ActionLine { n, kind: kind.to_owned(), what: what.to_owned(), result }
}

/// The measure: the example of a checkpoint as a person should meet it.
fn example() -> CheckpointView {
    let note = Some("2 passed in 0.01s".to_owned());
    let test = "python3 -m pytest -q".to_owned();
    CheckpointView {
        task: 1,
        n: 2,
        actions: vec![
            line(6, "read_file", "semver.py", ActionResult::Lines(6)),
            line(7, "edit_file", "semver.py", ActionResult::Changed { added: 1, removed: 1 }),
            line(8, "edit_file", "tests/test_semver.py", ActionResult::Changed { added: 3, removed: 0 }),
            line(9, "bash", &test, ActionResult::Exited { code: 0, note: note.clone(), ms: 412 }),
            line(10, "web_fetch", "https://semver.org/spec", ActionResult::Blocked),
        ],
        summary: "`newer()` compared version strings as text, so `1.10.0` sorted before `1.9.0`. It now compares the parsed numbers; one test was added.".into(),
        next: "handle pre-release suffixes (`1.0.0-rc1`), which `parse` refuses today".into(),
        files: vec![
            FileLine { path: "semver.py".into(), added: 1, removed: 1 },
            FileLine { path: "tests/test_semver.py".into(), added: 3, removed: 0 },
        ],
        diff: "diff --git a/semver.py b/semver.py\n--- a/semver.py\n+++ b/semver.py\n@@ -4,3 +4,3 @@\n def newer(a, b):\n-    return a > b\n+    return parse(a) > parse(b)\n \n".into(),
        evidence: vec![EvidenceLine { command: test, exit_code: 0, note }],
        blocked: vec![BlockedLine { host: "semver.org".into(), port: 443, count: 1, ..Default::default() }],
        spent: Spent { tokens: 12_400, cost_micros: 31_000, priced: true, granted_micros: Some(2_000_000), duration_ms: 112_000 },
        commit: Some("f26af04e7f0123456789012345678901234567ab".into()),
        branch: "agent/1-compare-versions".into(),
        base_branch: "main".into(),
        compare_url: Some("http://forge.example/lab/semver/compare/main...agent/1-compare-versions".into()),
        asked: Some("alice".into()),
        ..CheckpointView::default()
    }
}

fn verified(kind: VerdictKind, code: i32) -> CheckpointView {
    let verdict = VerdictView {
        kind,
        exit_code: Some(code),
        command: Some("python3 -m pytest -q".into()),
        chosen_by: ".caisson.toml".into(),
        tail: "..\n2 passed in 0.01s\n".into(),
        base_tests: domain::BaseTests::Ran { exit_code: Some(code) },
        missing: Vec::new(),
        looked_for: 0,
        base_exit: Some(1),
        tries: 1,
    };
    CheckpointView {
        verdict: Some(verdict),
        blocked: Vec::new(),
        steering: vec!["tests/test_semver.py".into()],
        ..example()
    }
}

#[test]
fn an_ordinary_checkpoint() {
    insta::assert_snapshot!("checkpoint", render_checkpoint(&example()));
}

#[test]
fn a_checkpoint_without_a_commit() {
    let reasons = vec!["`link` points outside of the repository".to_owned(), "submodule at `vendor/x`".to_owned()];
    let view = CheckpointView { commit: None, refused: reasons, files: Vec::new(), ..example() };
    let text = render_checkpoint(&view);
    assert!(!text.contains("<details>"));
    insta::assert_snapshot!("checkpoint_refused", text);
}

#[test]
fn a_checkpoint_that_changed_nothing() {
    let view = CheckpointView {
        n: 1,
        files: Vec::new(),
        diff: String::new(),
        evidence: Vec::new(),
        summary: String::new(),
        next: String::new(),
        scripted: true,
        ..example()
    };
    insta::assert_snapshot!("checkpoint_unchanged", render_checkpoint(&view));
}

#[test]
fn hosts_that_people_allowed_are_named_and_blocked_ones_are_offered() {
    let line = |host: &str, change| HostLine { host: host.into(), by: "alice".into(), change };
    let blocked = |host: &str, port| BlockedLine { host: host.into(), port, count: 2, ..Default::default() };
    let view = CheckpointView {
        hosts: vec![
            line("cdn.xn--bcher-kva.example:8443", HostChange::Task),
            line("*.example.org", HostChange::Repository),
            line("semver.org", HostChange::Before),
            line("semver.org", HostChange::TakenBack),
        ],
        blocked: vec![blocked("localhost", 0), blocked("Bücher.example", 8443), blocked("b.example", 0)],
        ..example()
    };
    let about = |text: &str| {
        let told = text.lines().filter(|line| line.contains("Hosts since") || line.contains("blocked:"));
        told.map(str::to_owned).collect::<Vec<_>>().join("\n")
    };
    let other = CheckpointView { n: 1, blocked: vec![blocked("10.0.0.1", 80)], ..view.clone() };
    insta::assert_snapshot!("hosts", [about(&render_checkpoint(&view)), about(&render_final(&other))].join("\n"));
    let many = CheckpointView { hosts: vec![line("a.example", HostChange::Task); 11], ..example() };
    assert!(about(&render_checkpoint(&many)).contains("before these 3 more"));
}

#[test]
fn an_approval_in_advance_is_said() {
    let given = |left, risk| CheckpointView { advance: Some(("alice".into(), left)), risk, ..example() };
    let mut told = vec![render_checkpoint(&given(3, None)), render_checkpoint(&given(1, None))];
    for risk in [Risk::NoCommit, Risk::Steering, Risk::Blocked, Risk::Egress, Risk::Upload, Risk::Unseen] {
        told.push(render_checkpoint(&given(2, Some(risk))));
    }
    told.push(render_final(&CheckpointView { risk: Some(Risk::Final), ..given(1, None) }));
    let about = |line: &&str| line.starts_with("###") || line.contains("n advance");
    let told: Vec<_> = told.iter().flat_map(|text| text.lines().filter(about)).collect();
    insta::assert_snapshot!("in_advance", told.join("\n"));
    assert!(!render_checkpoint(&example()).contains("in advance"));
}

#[test]
fn what_is_whole_is_shown_whole() {
    let line = format!("+{}\n", "x".repeat(100));
    let body = line.repeat(140);
    let mut view = hostile(&"evil `@ | ".repeat(3000));
    view.diff = format!("--- a/x\n+++ b/x\n@@ -0,0 +1,140 @@\n{body}");
    assert!(diff::is_whole(&view.diff) && !render_checkpoint(&view).contains("Not shown here"));
    assert!(!diff::is_whole(&line.repeat(300)), "too much");
    assert!(!diff::is_whole(&format!("+{}\n", "x".repeat(401))), "its end is cut");
}

#[test]
fn a_final_review() {
    insta::assert_snapshot!("final_passed", render_final(&verified(VerdictKind::Passed, 0)));
    insta::assert_snapshot!("final_failed", render_final(&verified(VerdictKind::Failed, 1)));
}

#[test]
fn a_final_review_of_something_that_cannot_be_checked() {
    let mut view = verified(VerdictKind::None, 0);
    view.verdict = view.verdict.map(|v| VerdictView { command: None, exit_code: None, tail: String::new(), ..v });
    insta::assert_snapshot!("final_none", render_final(&view));
}

#[test]
fn what_is_cut_is_named() {
    let mut view = example();
    let body: String = (0..4000).map(|n| format!("+line {n}\n")).collect();
    view.diff =
        format!("diff --git a/semver.py b/semver.py\n--- a/semver.py\n+++ b/semver.py\n@@ -0,0 +1,4000 @@\n{body}");
    let text = render_checkpoint(&view);
    assert!(text.len() <= render::MAX_BODY);
    let said = text.lines().find(|line| line.starts_with("**Not shown here**")).unwrap();
    assert!(said.contains("lines of the diff, in `semver.py`, `tests/test_semver.py`."), "{said}");
}

#[test]
fn notes_are_few_and_tell_something() {
    let mut view = example();
    view.steering = vec!["tests/test_semver.py".into()];
    view.diff.push_str("diff --git a/tests/test_semver.py b/tests/test_semver.py\n--- a/tests/test_semver.py\n+++ b/tests/test_semver.py\n@@ -9,0 +10,3 @@\n+def test_ten():\n+    assert newer('1.10.0', '1.9.0') # \u{202e}no\n+\n");
    let notes = render_notes(&view);
    let told: Vec<_> = notes.iter().map(|(path, line, text)| format!("{path}:{line} {text}")).collect();
    insta::assert_snapshot!("notes", told.join("\n"));
    view.commit = None;
    assert!(render_notes(&view).is_empty());
}

#[test]
fn a_hunk_cannot_pretend_to_be_a_file() {
    let diff = "--- a/x\n+++ b/x\n@@ -1,1 +1,2 @@\n-++ b/y\n+++ b/evil\n+two\n";
    let lines: Vec<_> = diff::added_lines(diff).into_iter().map(|h| (h.path, h.line, h.added)).collect();
    assert_eq!(lines, [("x", 1, "++ b/evil"), ("x", 2, "two")]);
}

/// Nothing of the view may become structure, whatever it holds.
fn hostile(text: &str) -> CheckpointView {
    let text = text.to_owned();
    let n = 1;
    let results = [
        ActionResult::Failed(text.clone()),
        ActionResult::Denied(text.clone()),
        ActionResult::Exited { code: 1, note: Some(text.clone()), ms: 1 },
    ];
    CheckpointView {
        n,
        actions: results
            .into_iter()
            .map(|r| ActionLine { n, kind: text.clone(), what: text.clone(), result: r })
            .collect(),
        summary: text.clone(),
        next: text.clone(),
        files: vec![FileLine { path: text.clone(), added: 1, removed: 0 }],
        steering: vec![text.clone()],
        diff: text.clone(),
        evidence: vec![EvidenceLine { command: text.clone(), exit_code: 0, note: Some(text.clone()) }],
        blocked: vec![BlockedLine { host: text.clone(), port: 443, count: 1, why: text.clone(), ..Default::default() }],
        uploads: vec![UploadLine { host: text.clone(), bytes: 1, because: text.clone() }],
        hosts: vec![HostLine { host: text.clone(), by: text.clone(), change: HostChange::Task }],
        commit: Some("f26af04e7f0123456789012345678901234567ab".into()),
        branch: text.clone(),
        base_branch: text.clone(),
        asked: Some(text.clone()),
        advance: Some((text.clone(), 2)),
        verdict: Some(VerdictView {
            kind: VerdictKind::Failed,
            exit_code: None,
            command: Some(text.clone()),
            chosen_by: text.clone(),
            missing: vec![text.clone()],
            looked_for: 1,
            tail: text,
            base_tests: domain::BaseTests::Same,
            base_exit: None,
            tries: 2,
        }),
        ..CheckpointView::default()
    }
}

fn check(rendered: &str) -> Result<(), TestCaseError> {
    prop_assert!(rendered.len() <= render::MAX_BODY);
    let ours = ["<details>", "<summary>", "</summary>", "</details>", "<sub>", "</sub>", "<br>"];
    let options = Options::ENABLE_TABLES | Options::ENABLE_GFM | Options::ENABLE_STRIKETHROUGH;
    let mut block = false;
    for event in Parser::new_ext(rendered, options) {
        match &event {
            Event::Start(Tag::CodeBlock(_)) => block = true,
            Event::End(TagEnd::CodeBlock) => block = false,
            Event::Text(_) if block => {}
            Event::Start(tag) => prop_assert!(!matches!(tag, Tag::Link { .. } | Tag::Image { .. }), "{event:?}"),
            Event::Html(html) | Event::InlineHtml(html) => {
                let left = ours.iter().fold(html.to_string(), |text, tag| text.replace(tag, ""));
                prop_assert!(!left.contains('<'), "{html:?}");
            }
            Event::Text(words) => prop_assert!(!words.contains('@') && !words.contains("evil."), "{words:?}"),
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn a_hostile_review_stays_text() {
    for text in [
        "![x](http://evil.example/?q=1)",
        "``` \n</details>\n<script>evil()</script> @admin o/r#1\n```",
        "| evil | @all |\n|---|---|\n",
        "<!-- caisson:x evil -->",
        "\n\n# @evil\n\n- [x](evil)\n",
        "evil.example\u{202e}`@`",
    ] {
        check(&render_checkpoint(&hostile(text))).unwrap();
        check(&render_final(&hostile(text))).unwrap();
        check(&render_checkpoint(&CheckpointView { refused: vec![text.into()], commit: None, ..hostile(text) }))
            .unwrap();
    }
    let long = "evil `@ | \u{202e}".repeat(30_000);
    check(&render_checkpoint(&hostile(&long))).unwrap();
    check(&render_final(&hostile(&long))).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn any_review_stays_text(text in "[`|@#!<>\\[\\]()/a-c.:\\\\ \\n\u{202e}-]{0,60}") {
        check(&render_checkpoint(&hostile(&text)))?;
        check(&render_final(&hostile(&text)))?;
    }
}

mod gathered {
    use super::super::gather::{Around, gather};
    use super::*;
    use domain::{Account, Action, Budget, Call, CallRequest, Commit, Event, Kind, Outcome, OutcomeStatus, Request};
    use domain::{FileChange, SealedTree, Source, Task, TaskId, Usage, Why};

    fn request() -> Event {
        let alice = Account { id: 2, login: "alice".into() };
        let request = Request {
            kind: Kind::Fix,
            repository: "semver".into(),
            issue: 1,
            title: "t".into(),
            body: String::new(),
            words: String::new(),
            asker: alice.clone(),
            issue_author: alice,
            source: Source::Issue(1),
            number: 1,
            branch: "agent/1-t".into(),
            base_branch: "main".into(),
            budget: Budget { micro_usd: 2_000_000, ..Budget::default() },
            every: 5,
            has_upstream: false,
            hosts: Vec::new(),
        };
        Event::Requested { request: Box::new(request) }
    }

    fn turn(turn: u32, actions: Vec<Action>) -> Event {
        let call = |action| CallRequest {
            id: "c".into(),
            name: "x".into(),
            arguments: serde_json::Value::Null,
            call: Call::Action { action },
        };
        Event::TurnCompleted {
            turn,
            text: format!("turn {turn}"),
            calls: actions.into_iter().map(call).collect(),
            usage: Usage { input: 10, ..Usage::default() },
            micro_usd: 500,
            duration_ms: 100,
            model: "m".into(),
        }
    }

    fn acted(number: u32, turn: u32, index: u32, status: OutcomeStatus, text: &str) -> [Event; 2] {
        let outcome = Outcome { status, text: text.into(), dropped_bytes: 0, duration_ms: 50, note: None };
        [Event::ActionStarted { number, turn, index }, Event::ActionFinished { number, outcome }]
    }

    #[test]
    fn a_view_holds_what_happened_since_the_last_checkpoint() {
        let commit = Commit::parse(&"a".repeat(40)).unwrap();
        let bash = |command: &str| Action::Bash { command: command.into() };
        let edit =
            Action::EditFile { path: "a.py".into(), old: "x\ny\nz".into(), new: "x\nw\nv\nz".into(), all: false };
        let mut log = vec![request(), turn(1, vec![bash("ls")])];
        log.extend(acted(1, 1, 0, OutcomeStatus::Ok, "a.py"));
        let posted =
            Event::CheckpointPosted { n: 1, review: 5, number: 9, at: 0, commit: None, last: false, verdict: None };
        log.push(posted);
        let fetch = Action::WebFetch { url: "https://semver.org/spec".into() };
        log.push(turn(2, vec![edit, bash("pytest -q"), fetch]));
        log.extend(acted(2, 2, 0, OutcomeStatus::Ok, "done"));
        log.extend(acted(3, 2, 1, OutcomeStatus::Exited { code: 1 }, "F.\n=== 1 failed, 1 passed in 0.01s ===\n"));
        log.extend(acted(4, 2, 2, OutcomeStatus::Failed { reason: "no such name".into() }, ""));
        log.push(Event::PlanUpdated { plan: "- [x] find it\n- [ ] mend `parse`\n".into() });
        log.push(Event::PublishStarted { n: 2, why: Why::Checkpoint });
        let file = FileChange { path: "a.py".into(), added: 2, removed: 1, kind: "modified".into() };
        let tree = SealedTree { commit, files: vec![file], diff: "d\n".into(), steering: Vec::new() };
        log.push(Event::TreeSealed { n: 2, tree });
        let task = Task::fold(TaskId(7), &log);
        let blocked = vec![BlockedLine { host: "semver.org".into(), port: 443, count: 1, ..Default::default() }];
        let view = gather(&task, &log, 2, Around { blocked, ..Around::default() });
        let results: Vec<_> = view.actions.iter().map(|a| (a.n, a.result.clone())).collect();
        let note = Some("1 failed, 1 passed in 0.01s".to_owned());
        assert_eq!(
            results,
            [
                (2, ActionResult::Changed { added: 2, removed: 1 }),
                (3, ActionResult::Exited { code: 1, note: note.clone(), ms: 50 }),
                (4, ActionResult::Blocked),
            ]
        );
        assert_eq!(view.evidence, [EvidenceLine { command: "pytest -q".into(), exit_code: 1, note }]);
        assert_eq!((view.summary.as_str(), view.next.as_str()), ("turn 2", "mend `parse`"));
        assert_eq!(view.spent.tokens, 20);
        assert_eq!(view.commit.as_deref(), Some("a".repeat(40).as_str()));
        assert_eq!(view.asked.as_deref(), Some("alice"));
    }
}
