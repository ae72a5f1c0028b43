//! The list of failures in a run of checks, which the model reads before the output itself.
//!
//! Owns: the list and its limits, and the comparison with the previous run of the same command and with the checks' run on the base. Pure.
//! Must not: claim that something passes: a test that is no longer reported may not have run; or that something is new where the run on
//! the base did not look for it. Tests: below, in `history_tests.rs` and in `history/base_tests.rs`.

use super::fence::{Fence, Trust};
use crate::sandbox::items::{self, Item, Tool};
use crate::text;
use domain::{BaseReport, Reported, Severity};

/// The most items shown of a group, and those of them with full messages.
const SHOWN: usize = 12;
const WHOLE: usize = 5;
/// The most new warnings that are named.
const WARNED: usize = 3;
/// Characters of a place, of a name, and of a message shown with its first line only.
const NAME: usize = 200;
/// The shortest name, in bytes, by which a text is about a failure.
const SHORTEST: usize = 5;

/// The report of one run, for comparison with the next.
#[derive(Debug, Default)]
pub(super) struct Ran {
    items: Vec<Item>,
    /// Warnings beside the failures; none if the output was not parsed.
    warnings: Option<Vec<Item>>,
    /// Whether the whole report was read, so that what is not in it was not reported.
    whole: bool,
}

impl Ran {
    pub(super) fn of(output: &str, whole: bool) -> Self {
        let all = items::read(output);
        let whole = whole && all.len() < items::MOST;
        let (items, mut warnings) = items::failed_by(all);
        warnings.retain(|item| item.severity == Severity::Warning);
        Self { items, warnings: Some(warnings), whole }
    }

    /// A run without a failure.
    pub(super) fn clean() -> Self {
        Self { items: Vec::new(), warnings: None, whole: true }
    }

    /// The checks' run on the base, as far as the log keeps it.
    pub(super) fn on_base(report: &BaseReport) -> Self {
        let items = report.failing.iter().filter_map(items::from_report).collect();
        Self { items, warnings: None, whole: !report.partial }
    }

    /// Whether a failure of this tool that is not among these did not happen in this run: without another one of it the tool may not have run.
    fn reports_all_of(&self, tool: Tool) -> bool {
        self.whole && self.items.iter().any(|item| item.tool == tool)
    }

    /// Whether both runs report the same failures.
    pub(super) fn is_same(&self, other: &Ran) -> bool {
        let difference = items::difference(&other.items, &self.items);
        difference.new.is_empty() && difference.gone.is_empty()
    }

    /// Whether the other run reports each of these failures too.
    pub(super) fn is_within(&self, other: &Ran) -> bool {
        items::difference(&other.items, &self.items).new.is_empty()
    }

    /// Whether a text names one of the first failures: its test, or the file that it is in.
    pub(super) fn is_named_in(&self, text: &str) -> bool {
        let named = |name: &str| name.len() >= SHORTEST && text.contains(name);
        self.items.iter().take(SHOWN).any(|item| {
            let names = [item.test.as_deref().map(of_test), item.file.as_deref().map(of_file)];
            names.into_iter().flatten().any(named)
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

/// The last part of a test's name, as people write it: `test_cents` of `tests/test_a.py::T::test_cents[1.5]`.
fn of_test(name: &str) -> &str {
    let name = name.split(['[', '(']).next().unwrap_or_default().trim_end();
    name.rsplit([':', '.', '/', '>']).next().unwrap_or_default().trim()
}

/// A file's name without its directories.
fn of_file(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Earlier runs that a run is compared with.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EarlierRuns<'a> {
    /// The previous run of the same command.
    pub(super) before: Option<&'a Ran>,
    /// The checks' run on the task's base.
    pub(super) base: Option<&'a Ran>,
}

/// The list in a fence, of about `most` characters: new failures since the previous run, those that remain, those that are gone, and last
/// those of the base.
pub(super) fn list(fence: &Fence, now: &Ran, earlier: EarlierRuns<'_>, most: usize) -> Option<String> {
    if now.is_empty() {
        return None;
    }
    let mut list = List { text: String::new(), most };
    let on_base = earlier.base.map(|base| items::difference(&base.items, &now.items).still).unwrap_or_default();
    let is_on_base = |item: &&Item| on_base.iter().any(|one| std::ptr::eq(*one, *item));
    let before = earlier.before.filter(|before| before.whole);
    let of_base: Vec<&Item> = match before {
        Some(before) => {
            let difference = items::difference(&before.items, &now.items);
            let (again, new): (Vec<&Item>, Vec<&Item>) = difference.new.into_iter().partition(is_on_base);
            let (of_base, still): (Vec<&Item>, Vec<&Item>) = difference.still.into_iter().partition(is_on_base);
            let whole = if new.is_empty() { WHOLE } else { 0 };
            list.group("new since the last run of this command", &new, WHOLE);
            list.group("new since the last run of this command, and failing on the base too", &again, whole);
            list.group("still failing", &still, if again.is_empty() { whole } else { 0 });
            if now.whole {
                list.group("not reported any more: passes, or did not run", &difference.gone, 0);
            }
            of_base
        }
        None => {
            let (of_base, others): (Vec<&Item>, Vec<&Item>) = now.items.iter().partition(is_on_base);
            let is_new = |item: &&Item| earlier.base.is_some_and(|base| base.reports_all_of(item.tool));
            let (new, unknown): (Vec<&Item>, Vec<&Item>) = others.into_iter().partition(is_new);
            list.group("failing, and not reported by the checks' run on the base", &new, WHOLE);
            list.group("failing", &unknown, WHOLE);
            of_base
        }
    };
    list.warnings(now, before);
    list.of_base(&of_base, now.items.len());
    Some(fence.wrap("what failed, read out of the output", Trust::None, &list.text))
}

/// Errors that the task's base does not have, in a fence; none if there are none.
pub(super) fn new_since_base(fence: &Fence, new: &[Reported], all: u32) -> Option<String> {
    let parts = |one: &Reported| part(one.file.as_deref(), one.line, one.test.as_deref(), &one.message, true);
    let lines: String = new.iter().take(WHOLE).map(parts).collect();
    let text = format!("errors that the base does not have ({all}):\n{lines}");
    (!new.is_empty()).then(|| fence.wrap("what failed, read out of the output", Trust::None, &text))
}

/// The first failures of an output, with full messages; none if none can be parsed. Foreign, without a fence.
pub(super) fn first(output: &str, count: usize) -> Option<String> {
    let items = items::failures(output);
    (!items.is_empty()).then(|| items.iter().take(count).map(|item| shown(item, true)).collect())
}

struct List {
    text: String,
    most: usize,
}

impl List {
    fn group(&mut self, head: &str, items: &[&Item], whole: usize) {
        self.items(&format!("{head} ({}):\n", items.len()), items, whole);
    }

    /// Failures, of `all`, that the base has too.
    fn of_base(&mut self, items: &[&Item], all: usize) {
        let (head, whole) = match items.len() {
            count if count == all => (format!("all of these fail on the base too ({count}):\n"), WHOLE),
            1 => ("1 of these fails on the base too:\n".to_owned(), 0),
            count => (format!("{count} of these fail on the base too:\n"), 0),
        };
        self.items(&head, items, whole);
    }

    /// Shows the first `whole` items in full, the others with one line each.
    fn items(&mut self, head: &str, items: &[&Item], whole: usize) {
        if items.is_empty() {
            return;
        }
        self.text.push_str(head);
        for (at, item) in items.iter().enumerate() {
            let line = shown(item, at < whole);
            let fits = self.text.chars().count() + line.chars().count() <= self.most;
            // The first item is always shown.
            if at >= SHOWN || (at > 0 && !fits) {
                self.text.push_str(&format!("- … and {} more\n", items.len() - at));
                return;
            }
            self.text.push_str(&if fits { line } else { shown(item, false) });
        }
    }
}

impl List {
    /// The number of warnings beside the failures, and which are new since the previous run, if known.
    fn warnings(&mut self, now: &Ran, before: Option<&Ran>) {
        let Some(all) = now.warnings.as_ref().filter(|all| !all.is_empty()) else { return };
        match before.and_then(|before| before.warnings.as_ref()) {
            Some(before) => {
                let new = items::difference(before, all).new;
                self.text.push_str(&format!(
                    "warnings: {}, new since the last run of this command: {}\n",
                    all.len(),
                    new.len()
                ));
                new.iter().take(WARNED).for_each(|item| self.text.push_str(&shown(item, false)));
            }
            None => self.text.push_str(&format!("warnings: {}\n", all.len())),
        }
    }
}

/// `- src/price.py:8 tests.test_price.Parse.test_cents — AssertionError: 105 != 150`, followed by the other lines.
fn shown(item: &Item, whole: bool) -> String {
    part(item.file.as_deref(), item.line, item.test.as_deref(), &item.message, whole)
}

fn part(file: Option<&str>, line: Option<u32>, test: Option<&str>, message: &str, whole: bool) -> String {
    let short = |words: &str| {
        let line = text::one_line(words);
        let (head, missing) = text::cut(&line, NAME);
        if missing > 0 { format!("{head}…") } else { head.to_owned() }
    };
    let mut parts = Vec::new();
    if let Some(file) = file {
        parts.push(line.map_or_else(|| short(file), |line| format!("{}:{line}", short(file))));
    }
    parts.extend(test.map(short));
    let mut lines = message.lines();
    if let Some(first) = lines.next() {
        parts.extend((!parts.is_empty()).then(|| "—".to_owned()));
        parts.push(short(first));
    }
    let rest: String = lines.filter(|_| whole).map(|line| format!("  {line}\n")).collect();
    format!("- {}\n{rest}", parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;
    use domain::TaskId;

    fn fence() -> Fence {
        Fence::new(&Secret::new("k"), TaskId(1))
    }

    fn cargo(tests: &[&str]) -> String {
        let block = |test: &&str| {
            format!(
                "---- {test} stdout ----\nthread '{test}' panicked at src/lib.rs:7:9:\nassertion failed\n  left: 1\n right: 2\n\n"
            )
        };
        tests.iter().map(block).collect()
    }

    fn body(now: &Ran, before: Option<&Ran>, most: usize) -> String {
        compared(now, EarlierRuns { before, base: None }, most)
    }

    fn compared(now: &Ran, earlier: EarlierRuns<'_>, most: usize) -> String {
        let text = list(&fence(), now, earlier, most).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        lines[1..lines.len() - 1].join("\n")
    }

    #[test]
    fn the_difference_comes_first_and_only_what_is_new_is_told_whole() {
        let before = Ran::of(&cargo(&["a", "b"]), true);
        let now = Ran::of(&cargo(&["b", "c"]), true);
        let told = "new since the last run of this command (1):\n- src/lib.rs:7 c — assertion failed\n    left: 1\n   right: 2\nstill failing (1):\n- src/lib.rs:7 b — assertion failed\nnot reported any more: passes, or did not run (1):\n- src/lib.rs:7 a — assertion failed";
        assert_eq!(body(&now, Some(&before), 4_000), told);
        assert!(
            body(&now, None, 4_000).starts_with("failing (2):\n- src/lib.rs:7 b — assertion failed\n    left: 1\n")
        );
        assert!(body(&now, Some(&Ran::clean()), 4_000).starts_with("new since the last run of this command (2):"));
        let earlier = EarlierRuns { before: Some(&before), base: None };
        assert_eq!(list(&fence(), &Ran::clean(), earlier, 4_000), None);
    }

    /// The checks' run on the base, in which these tests failed.
    fn base(tests: &[&str], partial: bool) -> Ran {
        let failed = |test: &&str| Reported { tool: "cargo".into(), test: Some((*test).into()), ..Reported::default() };
        Ran::on_base(&BaseReport { failing: tests.iter().map(failed).collect(), partial })
    }

    #[test]
    fn what_fails_on_the_base_too_comes_last_and_what_does_not_is_named_as_new() {
        let base = base(&["a", "b"], false);
        let earlier = EarlierRuns { before: None, base: Some(&base) };
        let now = Ran::of(&cargo(&["a", "c"]), true);
        let shown = "failing, and not reported by the checks' run on the base (1):\n- src/lib.rs:7 c — assertion failed\n    left: 1\n   right: 2\n1 of these fails on the base too:\n- src/lib.rs:7 a — assertion failed";
        assert_eq!(compared(&now, earlier, 4_000), shown);
        let all = compared(&Ran::of(&cargo(&["a", "b"]), true), earlier, 4_000);
        assert!(all.starts_with("all of these fail on the base too (2):\n- src/lib.rs:7 a — assertion"), "{all}");
        assert!(all.contains("left: 1"), "nothing else is there to read: {all}");
        let new = compared(&Ran::of(&cargo(&["c"]), true), earlier, 4_000);
        assert!(new.starts_with("failing, and not reported by the checks' run on the base (1):"), "{new}");
    }

    #[test]
    fn the_difference_to_the_last_run_comes_before_what_the_base_has() {
        let (base, before) = (base(&["a", "b"], false), Ran::of(&cargo(&["b", "d", "e"]), true));
        let now = Ran::of(&cargo(&["a", "b", "c", "d"]), true);
        let told = compared(&now, EarlierRuns { before: Some(&before), base: Some(&base) }, 4_000);
        let heads: Vec<&str> = told.lines().filter(|line| line.ends_with(':')).collect();
        let expected = [
            "new since the last run of this command (1):",
            "new since the last run of this command, and failing on the base too (1):",
            "still failing (1):",
            "not reported any more: passes, or did not run (1):",
            "1 of these fails on the base too:",
        ];
        assert_eq!(heads, expected);
        assert!(told.ends_with("\n- src/lib.rs:7 b — assertion failed"), "{told}");
    }

    #[test]
    fn a_run_on_the_base_that_may_not_have_reported_it_makes_nothing_new() {
        let partial = base(&["a"], true);
        let now = Ran::of(&cargo(&["a", "c"]), true);
        let told = compared(&now, EarlierRuns { before: None, base: Some(&partial) }, 4_000);
        assert!(told.starts_with("failing (1):\n- src/lib.rs:7 c"), "{told}");
        assert!(told.contains("\n1 of these fails on the base too:\n- src/lib.rs:7 a"), "{told}");
        // Another tool's failure of the same name is another failure, and the checks may not run that tool.
        let whole = base(&["a"], false);
        let other = Ran::of("--- FAIL: a (0.00s)\n    a_test.go:7: got 1, want 2\nFAIL\n", true);
        let told = compared(&other, EarlierRuns { before: None, base: Some(&whole) }, 4_000);
        assert!(told.starts_with("failing (1):") && !told.contains("base"), "{told}");
    }

    #[test]
    fn a_report_that_is_not_whole_says_nothing_of_what_it_lacks() {
        let (cut, whole) = (Ran::of(&cargo(&["a"]), false), Ran::of(&cargo(&["b"]), true));
        assert!(!body(&cut, Some(&whole), 4_000).contains("any more"));
        assert!(body(&whole, Some(&cut), 4_000).starts_with("failing (1):"));
        let many: Vec<String> = (0..items::MOST + 30).map(|n| format!("t{n}")).collect();
        let many = Ran::of(&cargo(&many.iter().map(String::as_str).collect::<Vec<_>>()), true);
        assert!(!body(&many, Some(&whole), 4_000).contains("any more"));
    }

    #[test]
    fn a_text_is_about_a_failure_by_the_last_part_of_its_name_or_its_file() {
        let now = Ran::of(&cargo(&["price::tests::rounds_cents"]), true);
        for text in ["`rounds_cents` fails since Monday", "cargo test -- price::tests::rounds_cents", "vi src/lib.rs"] {
            assert!(now.is_named_in(text), "{text}");
        }
        for text in ["cargo test", "price::tests", ""] {
            assert!(!now.is_named_in(text), "{text}");
        }
        assert!(!Ran::of(&cargo(&["a"]), true).is_named_in("a test"), "too short to be a name");
        assert_eq!(of_test("tests/test_a.py::T::test_cents[1.5-x]"), "test_cents");
        assert_eq!(of_test("test_cents (tests.test_a.T.test_cents)"), "test_cents");
        assert_eq!(of_test("prices > are rounded"), "are rounded");
    }

    #[test]
    fn warnings_are_counted_and_the_new_ones_named() {
        let c = |warnings: &[&str]| {
            let warned: String = warnings.iter().map(|name| format!("a.c:3:1: warning: {name} [-Wx]\n")).collect();
            format!("{warned}a.c:7:1: error: broken\n")
        };
        let before = Ran::of(&c(&["old"]), true);
        let now = Ran::of(&c(&["old", "fresh"]), true);
        let told = "still failing (1):\n- a.c:7 — broken\nwarnings: 2, new since the last run of this command: 1\n- a.c:3 — fresh [-Wx]";
        assert_eq!(body(&now, Some(&before), 4_000), told);
        assert_eq!(body(&now, None, 4_000), "failing (1):\n- a.c:7 — broken\nwarnings: 2");
        // The output of a run that passed was not parsed.
        assert!(body(&now, Some(&Ran::clean()), 4_000).ends_with("\nwarnings: 2"));
        // Warnings alone are no failure, except from a linter.
        assert!(Ran::of("a.c:3:1: warning: old [-Wx]\n", true).is_empty());
        assert!(!Ran::of("/workspace/a.js\n  3:1  warning  old  no-var\n", true).is_empty());
    }

    #[test]
    fn the_list_is_bounded_and_says_what_it_leaves_out() {
        let many: Vec<String> = (0..40).map(|n| format!("test_{n:03}")).collect();
        let many = Ran::of(&cargo(&many.iter().map(String::as_str).collect::<Vec<_>>()), true);
        let long = body(&many, None, 100_000);
        assert!(
            long.contains("test_011 —") && !long.contains("test_012") && long.ends_with("- … and 28 more"),
            "{long}"
        );
        let short = body(&many, None, 120);
        assert!(
            short.contains("test_000") && short.ends_with("- … and 39 more") && short.chars().count() < 160,
            "{short}"
        );
    }
}
