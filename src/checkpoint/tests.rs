use super::view::*;
use super::*;
use domain::{Risk, VerdictCase};
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

fn line(n: u32, kind: &str, what: &str, result: ActionResult) -> ActionLine {
    let wrote = if ["write_file", "edit_file"].contains(&kind) { vec![what.to_owned()] } else { Vec::new() };
    ActionLine { n, kind: kind.to_owned(), what: what.to_owned(), wrote, result, mistake: None, touched: None }
}

pub(super) fn part(path: &str, text: &str) -> DiffPart {
    let about = crate::text::bytes(text.len() as u64);
    DiffPart { path: path.to_owned(), about, text: text.to_owned(), ..DiffPart::default() }
}

pub(super) fn file(path: &str) -> FileLine {
    FileLine { path: path.to_owned(), ..FileLine::default() }
}

/// Tests, assertions and skipped ones on both sides.
pub(super) fn counted(before: (u32, u32, u32), after: (u32, u32, u32)) -> domain::TestCounts {
    let count = |(cases, assertions, skipped)| domain::TestCount { cases, assertions, skipped };
    domain::TestCounts::Counted { before: count(before), after: count(after) }
}

/// A commit on the forge's page, at this file.
pub(super) fn page(path: &str) -> String {
    let commits = "http://forge.example/lab/semver/commit/";
    crate::forge::gitea::pages::file_of_commit(commits, "f26af04e7f0123456789012345678901234567ab", path)
}

/// The reference example of a checkpoint's review.
pub(super) fn example() -> CheckpointView {
    let note = Some("2 passed in 0.01s".to_owned());
    let test = "python3 -m pytest -q".to_owned();
    CheckpointView {
        task: 1,
        n: 2,
        since: Some(1),
        actions: vec![
            line(6, "read_file", "semver.py", ActionResult::Lines(6)),
            line(7, "edit_file", "semver.py", ActionResult::Changed { added: 1, removed: 1 }),
            line(8, "edit_file", "tests/test_semver.py", ActionResult::Changed { added: 3, removed: 0 }),
            line(9, "bash", &test, ActionResult::Exited { code: 0, note: note.clone(), failed: false, ms: 412 }),
            line(10, "web_fetch", "https://semver.org/spec", ActionResult::Blocked),
        ],
        summary: "`newer()` compared version strings as text, so `1.10.0` sorted before `1.9.0`. It now compares the parsed numbers; one test was added.".into(),
        next: "handle pre-release suffixes (`1.0.0-rc1`), which `parse` refuses today".into(),
        files: vec![
            FileLine {
                added: 3,
                tests: Some(counted((1, 1, 0), (2, 2, 0))),
                url: Some(page("tests/test_semver.py")),
                ..file("tests/test_semver.py")
            },
            FileLine { added: 1, removed: 1, url: Some(page("semver.py")), ..file("semver.py") },
        ],
        steering: vec!["tests/test_semver.py".into()],
        diff: vec![part("semver.py", "diff --git a/semver.py b/semver.py\n--- a/semver.py\n+++ b/semver.py\n@@ -4,3 +4,3 @@\n def newer(a, b):\n-    return a > b\n+    return parse(a) > parse(b)\n \n")],
        evidence: vec![EvidenceLine { command: test, result: ActionResult::Exited { code: 0, note, failed: false, ms: 412 } }],
        blocked: vec![BlockedLine { host: "semver.org".into(), port: 443, count: 1, ..Default::default() }],
        spent: Spent { tokens: 12_400, reasoning: 0, cost_micros: 31_000, unpriced: 0, granted_micros: Some(2_000_000), duration_ms: 112_000 },
        commit: Some("f26af04e7f0123456789012345678901234567ab".into()),
        branch: "agent/1-compare-versions".into(),
        base_branch: "main".into(),
        compare_url: Some("http://forge.example/lab/semver/compare/main...agent/1-compare-versions".into()),
        asked: Some("alice".into()),
        ..CheckpointView::default()
    }
}

fn verified(kind: VerdictCase, code: i32) -> CheckpointView {
    let verdict = VerdictView {
        kind,
        exit_code: Some(code),
        command: Some("python3 -m pytest -q".into()),
        chosen_by: ".caisson.toml".into(),
        tail: "..\n2 passed in 0.01s\n".into(),
        base_tests: domain::BaseTests::Ran { exit_code: Some(code) },
        base_exit: Some(1),
        ..VerdictView::default()
    };
    CheckpointView { verdict: Some(verdict), blocked: Vec::new(), ..example() }
}

#[test]
fn an_ordinary_checkpoint() {
    insta::assert_snapshot!("checkpoint", render_checkpoint(&example()));
}

#[test]
fn a_checkpoint_without_a_commit() {
    let reasons = vec!["`link` points outside of the repository".to_owned(), "submodule at `vendor/x`".to_owned()];
    let (files, steering, diff) = Default::default();
    let view = CheckpointView { commit: None, refused: reasons, files, steering, diff, ..example() };
    let text = render_checkpoint(&view);
    assert!(!text.contains("<details>"));
    insta::assert_snapshot!("checkpoint_refused", text);
}

#[test]
fn a_checkpoint_that_changed_nothing() {
    let view = CheckpointView {
        n: 1,
        since: None,
        files: Vec::new(),
        steering: Vec::new(),
        diff: Vec::new(),
        evidence: Vec::new(),
        summary: String::new(),
        next: String::new(),
        scripted: true,
        ..example()
    };
    insta::assert_snapshot!("checkpoint_unchanged", render_checkpoint(&view));
}

#[test]
fn what_ran_in_the_background_is_said_to_have_ended() {
    let told = "What action 9 started in the background was ended at this checkpoint where it still ran; \
                the agent is told with its next result.";
    assert!(!render_checkpoint(&example()).contains("in the background"));
    let server = line(9, "bash", "python3 -m http.server", ActionResult::Started);
    let one = render_checkpoint(&CheckpointView { actions: vec![server.clone()], ..example() });
    assert!(one.contains(&format!("\n{told}\n")), "{one}");
    let two = vec![server.clone(), ActionLine { n: 10, ..server }];
    let two = render_checkpoint(&CheckpointView { actions: two, ..example() });
    assert!(two.contains(&told.replace("action 9", "actions 9, 10")), "{two}");
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
    let other = CheckpointView { n: 1, since: None, blocked: vec![blocked("10.0.0.1", 80)], ..view.clone() };
    insta::assert_snapshot!("hosts", [about(&render_checkpoint(&view)), about(&render_final(&other))].join("\n"));
    let many = CheckpointView { hosts: vec![line("a.example", HostChange::Task); 11], ..example() };
    assert!(about(&render_checkpoint(&many)).contains("before these 3 more"));
}

#[test]
fn an_approval_in_advance_is_said() {
    let given = |left, risk| CheckpointView { advance: Some(("alice".into(), left)), risk, ..example() };
    let mut told = vec![render_checkpoint(&given(3, None)), render_checkpoint(&given(1, None))];
    for risk in
        [Risk::NoCommit, Risk::Steering, Risk::Conflicts, Risk::Blocked, Risk::Egress, Risk::Upload, Risk::Unseen]
    {
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
    view.diff = vec![part("x", &format!("--- a/x\n+++ b/x\n@@ -0,0 +1,140 @@\n{body}"))];
    assert!(diff::is_whole(&view.diff) && !render_checkpoint(&view).contains("Not shown here"));
    let whole = |text: &str| diff::is_whole(&[part("x", text)]);
    assert!(!whole(&line.repeat(300)), "too much");
    assert!(!whole(&format!("+{}\n", "x".repeat(401))), "its end is cut");
    for (text, shown) in [
        (format!("+x = 1{}; evil()\n", "\t".repeat(300)), false),
        (format!("-x = 1{}; good()\n", " ".repeat(41)), false),
        (format!("+x = 1{}; evil()\n", "\t \u{a0}\u{3000}".repeat(4)), false),
        (format!("+{}evil()\n", " ".repeat(121)), false),
        (format!("+x = 1{}# one\n", "\t".repeat(5)), true),
        (format!("+{}f(\n", "\t".repeat(15)), true),
        (format!("+x = 1{}\n", " ".repeat(60)), true),
        (format!(" x = 1{}; there()\n", " ".repeat(60)), true),
    ] {
        assert_eq!(whole(&text), shown, "{text}");
    }
    assert!(!diff::is_whole(&[DiffPart { binary: true, ..part("x", "") }]));
}

#[test]
fn a_final_review() {
    insta::assert_snapshot!("final_passed", render_final(&verified(VerdictCase::Passed, 0)));
    insta::assert_snapshot!("final_failed", render_final(&verified(VerdictCase::Failed, 1)));
}

#[test]
fn a_final_review_says_that_tests_of_the_base_were_not_looked_for() {
    let mut view = verified(VerdictCase::Passed, 0);
    assert!(!render_final(&view).contains("of the base were not"));
    view.verdict = view.verdict.map(|v| VerdictView { not_compared: true, ..v });
    let text = render_final(&view);
    assert!(text.contains("**tests of the base were not looked for**"), "{text}");
    assert!(text.contains("⚠️ whether each test of the base ran again is not known"), "{text}");
}

#[test]
fn a_final_review_of_something_that_cannot_be_checked() {
    let mut view = verified(VerdictCase::None, 0);
    view.verdict = view.verdict.map(|v| VerdictView { command: None, exit_code: None, tail: String::new(), ..v });
    insta::assert_snapshot!("final_none", render_final(&view));
}

fn tree(files: &[(&str, &str, u64)], diff: String, diff_cut: u64) -> Vec<DiffPart> {
    let file = |(path, kind, bytes): &(&str, &str, u64)| domain::FileChange {
        path: (*path).to_owned(),
        added: 1,
        removed: 1,
        kind: (*kind).to_owned(),
        bytes: (*kind != "deleted").then_some(*bytes),
    };
    let commit = domain::Commit::parse(&"a".repeat(40)).unwrap();
    let files = files.iter().map(file).collect();
    diff::parts(&domain::CapturedTree {
        commit,
        files,
        diff,
        diff_cut,
        steering: vec![],
        left_out: vec![],
        outside: vec![],
        marked: vec![],
        facts: vec![],
    })
}

fn not_whole(diff: Vec<DiffPart>) -> String {
    let text = render_final(&CheckpointView { diff, ..example() });
    assert!(text.len() <= render::MAX_BODY);
    let line = text.lines().find_map(|line| line.strip_prefix("**Not shown here, or not whole**: "));
    line.unwrap_or_default().to_owned()
}

fn file_diff(path: &str, lines: &[String]) -> String {
    let body: String = lines.iter().map(|line| format!("+{line}\n")).collect();
    let head = format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n");
    format!("{head}@@ -0,0 +1,{} @@\n{body}", lines.len())
}

/// Added lines that look like the beginning of a file in a diff.
fn forged(count: usize) -> Vec<String> {
    (0..count).map(|n| ["++ b/x", "++ /dev/null", "diff --git a/x b/x", "-- a/x"][n % 4].to_owned()).collect()
}

#[test]
fn what_is_cut_is_named_with_its_size_whatever_its_lines_say() {
    let files = [("a.py", "modified", 48_200), ("b.py", "added", 1_200), ("c.py", "deleted", 0)];
    let gone = "diff --git a/c.py b/c.py\n--- a/c.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n";
    let rest = "Read them under *Files changed* before you approve.";
    for first in [forged(4000), (0..4000).map(|n| format!("line {n}")).collect()] {
        let diff = file_diff("a.py", &first) + &file_diff("b.py", &forged(4)) + gone;
        let said = not_whole(tree(&files, diff, 0));
        assert_eq!(said, format!("`a.py` (48.2 kB), `b.py` (1.2 kB), `c.py` (deleted, 1 line). {rest}"));
    }
    let small = || file_diff("a.py", &forged(4)) + &file_diff("b.py", &forged(4)) + gone;
    assert_eq!(not_whole(tree(&files, small(), 0)), "", "all of it is there");
    // Cut in the last part present, with everything after it missing.
    let cut = small();
    let cut = cut[..cut.find("diff --git a/c.py").unwrap() - 20].to_owned();
    assert_eq!(not_whole(tree(&files, cut, 300)), format!("`b.py` (1.2 kB), `c.py` (deleted, 1 line). {rest}"));
    let long = file_diff("a.py", &["x".repeat(500)]) + &file_diff("b.py", &forged(4)) + gone;
    assert_eq!(not_whole(tree(&files, long, 0)), format!("`a.py` (48.2 kB). {rest}"), "a line whose end is cut");
    let odd = file_diff("a.py", &forged(4));
    assert_eq!(not_whole(tree(&files, odd, 0)).matches(" (").count(), 3, "a diff of other files than are listed");
}

#[test]
fn a_file_of_which_a_credential_is_left_out_is_not_shown_whole() {
    let files = [("a.py", "modified", 900), ("b.py", "added", 70)];
    let key = |word: &str| format!("{word} = '-----{word} {} KEY-----'", "PRIVATE");
    let token = format!("x = 'gh{}_{}'", "p", "a1B2".repeat(10));
    for lines in [vec![key("BEGIN"), "import os; os.system('x')".to_owned(), key("END")], vec![token]] {
        let diff = file_diff("a.py", &lines) + &file_diff("b.py", &forged(4));
        let parts = tree(&files, crate::text::redacted_diff(&diff).into_owned(), 0);
        assert!(!diff::is_whole(&parts) && diff::is_whole(&parts[1..]), "{parts:?}");
        let view = CheckpointView { diff: parts.clone(), ..example() };
        assert_eq!(render_checkpoint(&view).contains("+import os; os.system('x')"), lines.len() == 3);
        assert!(not_whole(parts).starts_with("`a.py` (900 B). Read them"));
    }
}

#[test]
fn binary_files_are_named_and_never_shown() {
    let files = [("a.pyc", "binary", 1_234), ("b.py", "modified", 10), ("l", "modified", 3)];
    let binary = "diff --git a/a.pyc b/a.pyc\nnew file mode 100644\nBinary files /dev/null and b/a.pyc differ\n";
    // A file replaced by a link: git shows a deletion and an addition.
    let link = file_diff("l", &forged(1)) + &file_diff("l", &forged(1));
    let parts = tree(&files, format!("{binary}{}{link}", file_diff("b.py", &forged(4))), 0);
    assert!(parts[2].text.matches("@@ -0,0").count() == 2 && !parts[2].cut, "{parts:?}");
    let view = CheckpointView { diff: parts.clone(), ..example() };
    let text = render_checkpoint(&view);
    assert!(!text.contains("Binary files") && text.contains("+++ b/b.py"), "{text}");
    assert!(not_whole(parts).starts_with("`a.pyc` (binary, 1.2 kB). Read"));
    assert!(render_notes(&view).iter().all(|(path, ..)| path != "a.pyc"));
}

#[test]
fn thousands_of_files_are_named_as_far_as_a_review_holds() {
    let names: Vec<String> = (0..5000).map(|n| format!("src/module_{n}/file.rs")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), "binary", 10_u64)).collect();
    let diff = names.iter().map(|name| format!("diff --git a/{name} b/{name}\nBinary files differ\n")).collect();
    let said = not_whole(tree(&files, diff, 0));
    let named = said.matches("(binary, 10 B)").count();
    assert!(
        named > 300 && said.contains(&format!(" and {} files more.", crate::text::grouped(5000 - named as u64))),
        "{named}"
    );
}

#[test]
fn what_stayed_out_is_named_and_how_to_ask_for_it() {
    let left_out: Vec<String> = ["__pycache__/", "src/`x`.pyc"].map(str::to_owned).to_vec();
    let text = render_checkpoint(&CheckpointView { left_out: left_out.clone(), ..example() });
    let line = text.lines().find(|line| line.starts_with("**Left out**")).unwrap();
    insta::assert_snapshot!(line, @"**Left out** — `__pycache__/`, ``src/`x`.pyc``: by-products of known tools, new here. A line such as `!__pycache__/` in `.gitignore` takes them in.");
    let nothing = CheckpointView { left_out, files: Vec::new(), diff: Vec::new(), ..example() };
    assert!(render_checkpoint(&nothing).contains("**Left out** — `__pycache__/`"));
    let many = CheckpointView { left_out: (0..20).map(|n| format!("d{n}/")).collect(), ..example() };
    assert!(render_final(&many).contains("`d7/` and 12 more"));
}

#[test]
fn a_good_end_beside_a_summary_of_a_failure_is_doubted() {
    let note = Some("FAILED (failures=1)".to_owned());
    let command = "python3 -m unittest 2>&1 | cat".to_owned();
    let mut view = verified(VerdictCase::Passed, 0);
    view.actions =
        vec![line(9, "bash", &command, ActionResult::Exited { code: 0, note: note.clone(), failed: true, ms: 4 })];
    view.evidence = vec![EvidenceLine { command, result: view.actions[0].result.clone() }];
    view.verdict = view.verdict.map(|v| VerdictView { failure: note, ..v });
    let texts = [render_checkpoint(&view), render_final(&view)];
    let lines: Vec<&str> =
        texts.iter().flat_map(|text| text.lines()).filter(|line| line.contains("FAILED (")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    | 9 | `bash python3 -m unittest 2>&1 \| cat` | ⚠️ exit 0 · `FAILED (failures=1)` · 0.0 s |
    **Evidence** — from the log: ⚠️ `python3 -m unittest 2>&1 | cat` exit 0, `FAILED (failures=1)` (reported by code under review)
    | `newer()` compared version strings as text, so `1.10.0` sorted before `1.9.0`. It now compares the parsed numbers; one test was added. | ✅ the bot's own run of the checks passed<br>⚠️ its checks ended with exit 0, but its output says `FAILED (failures=1)`<br>⚠️ `python3 -m unittest 2>&1 \| cat` exit 0, but its output says `FAILED (failures=1)`<br>2 files changed since the last checkpoint, +4 −1 |
    | 9 | `bash python3 -m unittest 2>&1 \| cat` | ⚠️ exit 0 · `FAILED (failures=1)` · 0.0 s |
    ");
}

#[test]
fn notes_are_few_and_tell_something() {
    let mut view = example();
    view.diff.push(part("tests/test_semver.py", "diff --git a/tests/test_semver.py b/tests/test_semver.py\n--- a/tests/test_semver.py\n+++ b/tests/test_semver.py\n@@ -9,0 +10,3 @@\n+def test_ten():\n+    assert newer('1.10.0', '1.9.0') # \u{202e}no\n+\n"));
    let notes = render_notes(&view);
    let told: Vec<_> = notes.iter().map(|(path, line, text)| format!("{path}:{line} {text}")).collect();
    insta::assert_snapshot!("notes", told.join("\n"));
    view.commit = None;
    assert!(render_notes(&view).is_empty());
}

#[test]
fn what_a_line_hides_by_white_space_or_look_alikes_is_noted() {
    let notes = |added: &str| {
        let diff = vec![part("x.py", &format!("--- a/x.py\n+++ b/x.py\n@@ -0,0 +1,1 @@\n+{added}\n"))];
        let all = render_notes(&CheckpointView { diff, ..example() });
        all.into_iter().filter(|note| note.0 == "x.py").map(|note| note.2).collect::<Vec<_>>().join("\n")
    };
    assert!(notes(&format!("x = 1{}; evil()", "\t".repeat(50))).contains("A very long line"));
    assert!(notes(&format!("x = 1{}; evil()", "\t".repeat(6))).contains("behind much white space"));
    assert!(notes("p\u{430}ypal = 1").contains("which may look alike: `p\\u{430}ypal`"));
    for fine in ["paypal = 1", "x = 'паспорт', 'αβγ'", "\tx = 1\t\t# one"] {
        assert_eq!(notes(fine), "", "{fine}");
    }
}

/// A view whose untrusted texts must not become structure.
pub(super) fn hostile(text: &str) -> CheckpointView {
    let text = text.to_owned();
    let n = 1;
    let results = [
        ActionResult::Failed(text.clone()),
        ActionResult::Denied(text.clone()),
        ActionResult::Exited { code: 0, note: Some(text.clone()), failed: true, ms: 1 },
    ];
    let evidence = vec![EvidenceLine { command: text.clone(), result: results[2].clone() }];
    let (wrote, mistake) = (vec![text.clone()], Some(text.clone()));
    let act = |r| ActionLine { wrote: wrote.clone(), mistake: mistake.clone(), ..line(n, &text, &text, r) };
    CheckpointView {
        n,
        actions: results.into_iter().map(act).collect(),
        breach: Some(("changes more than tests", vec![text.clone()])),
        summary: text.clone(),
        looked: vec![(text.clone(), text.clone())],
        waiting: vec![(text.clone(), text.clone())],
        next: text.clone(),
        // More than are listed at once, where looking at so many is no work.
        files: vec![FileLine { added: 1, ..file(&text) }; if text.len() < 10_000 { 20 } else { 1 }],
        steering: vec![text.clone()],
        diff: vec![DiffPart { path: text.clone(), cut: true, ..part("x", &text) }],
        left_out: vec![text.clone()],
        evidence,
        blocked: vec![BlockedLine { host: text.clone(), port: 443, count: 1, why: text.clone(), ..Default::default() }],
        uploads: vec![UploadLine { host: text.clone(), bytes: 1, because: text.clone() }],
        hosts: vec![HostLine { host: text.clone(), by: text.clone(), change: HostChange::Task }],
        commit: Some("f26af04e7f0123456789012345678901234567ab".into()),
        remarks: super::remarks_tests::hostile(&text),
        branch: text.clone(),
        base_branch: text.clone(),
        asked: Some(text.clone()),
        advance: Some((text.clone(), 2)),
        verdict: Some(VerdictView {
            kind: VerdictCase::Failed,
            exit_code: None,
            command: Some(text.clone()),
            chosen_by: text.clone(),
            missing: vec![text.clone()],
            looked_for: 1,
            against_base: against::hostile(&text),
            tail: text.clone(),
            failure: Some(text),
            ..VerdictView::default()
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
        for (_, _, note) in super::remarks::notes(&hostile(&text), |_, _| true) {
            check(&note)?;
        }
    }
}

#[path = "gathered_tests.rs"]
mod gathered;
