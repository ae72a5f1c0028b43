//! The results of runs asked for with `/test-pr` or `/test-pr-bug`, and why one is refused.

use crate::sandbox::shown_tail;
use crate::text::{code, count, duration, fence, one_line, plain_cell, prose};
use domain::{Commit, TestCounts, TestExit, TestResult, TestRun, TestVerdict, Weaker};
use std::fmt::Write as _;

/// The most characters of the reason why nothing was run.
const MAX_WHY: usize = 500;
/// The most bytes shown of an output's end.
const MAX_TAIL: usize = 4_000;
/// The most characters of a commit status's description; the forge accepts 255.
const MAX_LINE: usize = 200;

/// The answer with the result of the run of this number.
pub fn tested(id: i64, login: &str, run: &TestRun, result: &TestResult) -> String {
    let name = if run.bug { "test-pr-bug" } else { "test-pr" };
    let mut out = format!("`/{name}` of {}: **{}**", code(login), headline(result));
    let (on_branch, on_base, weaker, hosts) = match result {
        TestResult::NotRun { why } => {
            let _ = write!(
                out,
                ".\n\n{} on {} at {} was not run: {}",
                code(&run.command),
                code(&run.branch),
                code(run.commit.short()),
                prose(why, MAX_WHY)
            );
            return out;
        }
        TestResult::Ran { on_branch, on_base, weaker, hosts } => (on_branch, on_base, weaker, hosts),
    };
    out.push_str(".\n\n| | commit | exit status | took |\n|---|---|---|---|\n");
    row(
        &mut out,
        &format!("{} on the branch {}", plain_cell(&run.command), plain_cell(&run.branch)),
        run.commit.short(),
        on_branch,
    );
    if let Some(base) = on_base {
        let files = count(u64::from(base.files), "file");
        let what = format!("the same on its base, with {files} of tests and what steers them from the branch");
        row(&mut out, &what, base.commit.short(), &base.exit);
    }
    if let Some(setup) = &run.setup {
        let _ = write!(out, "\nBefore it, in the same sandbox: {}\n", code(setup));
    }
    if !weaker.is_empty() {
        out.push_str("\nTests that test less than on the base:\n");
        for one in weaker {
            let _ = writeln!(out, "- {}: {}", code(&one.path), less(one));
        }
    }
    let mut shown = vec![("on the branch", on_branch)];
    shown.extend(on_base.as_ref().map(|base| ("on the base", &base.exit)));
    for (what, exit) in shown {
        match end(exit).as_str() {
            "" => {
                let _ = write!(out, "\nIt printed nothing {what}.\n");
            }
            tail => {
                let _ = write!(
                    out,
                    "\nThe end of what it printed {what} (the branch's code can print anything, so this proves nothing by itself):\n\n{}",
                    fence(tail, "")
                );
            }
        }
    }
    ending(&mut out, (id, name), run, hosts);
    out
}

/// Whether it runs again, and where more of its output is.
fn ending(out: &mut String, (id, name): (i64, &str), run: &TestRun, hosts: &[String]) {
    if run.each_push {
        let _ = write!(
            out,
            "\nIt runs again at each push to this pull request until that is closed, in place of any other `/{name}` here. `/test-pr --off` ends it.\n"
        );
    }
    if !hosts.is_empty() {
        let all: Vec<String> = hosts.iter().map(|host| code(host)).collect();
        let _ = write!(out, "\nIt could reach, as the operator grants: {}.\n", all.join(", "));
    }
    let network = if hosts.is_empty() { "had no network" } else { "reached nothing else" };
    let _ = write!(
        out,
        "\n<sub>Run in a clean sandbox that {network} and is removed. The output (of more than 4 MiB of a command beginning and end) is attached where the forge takes files; `caisson task test-log {id}` on the bot's machine shows it.</sub>"
    );
}

/// Name of the file with a run's output.
pub fn test_log_name(id: i64) -> String {
    format!("test-run-{id}.log")
}

/// Added to an answer whose file the forge does not take.
pub fn test_log_refused(id: i64) -> String {
    format!(
        "This forge takes no file with the whole output; `caisson task test-log {id}` on the bot's machine shows it."
    )
}

/// How the description of a status begins whose run waits for room.
const WAITS: &str = "waits for room: ";

/// The description of a commit's status while its run waits for room.
pub fn test_waits(per_hour: u32) -> String {
    format!("{WAITS}the {} that this repository may have within an hour are used up", count(u64::from(per_hour), "run"))
}

/// Whether this is the description of a status whose run waits for room.
pub fn is_test_waiting(description: &str) -> bool {
    description.starts_with(WAITS)
}

/// The description of a commit's status whose run waited for room until nothing was to be run at pushes any more.
pub fn test_waited() -> &'static str {
    "not run: it waited for room, and nothing is run at pushes here any more"
}

/// The description of a commit's status whose run waited for room until another commit was pushed over it.
pub fn test_overtaken() -> &'static str {
    "not run: it waited for room, and a newer commit took its place"
}

/// The description of the commit status; pending without a result.
pub fn test_status(id: i64, run: &TestRun, result: Option<&TestResult>) -> String {
    let words = match result {
        None => "under way".to_owned(),
        Some(result) if result.verdict() == TestVerdict::NoTest => "exit status 0, and no test ran".to_owned(),
        Some(TestResult::Ran { on_branch: TestExit { exit_code: Some(exit), .. }, .. }) if !run.bug => {
            format!("exit status {exit}")
        }
        Some(result) => headline(result).to_owned(),
    };
    let line = format!("run {id}, {words}: {}", one_line(&run.command));
    line.chars().take(MAX_LINE).collect()
}

/// Whether this is the description of a commit status of such a run: it ends with the command, as far as the verdict leaves room.
pub fn is_test_status(description: &str, run: &TestRun) -> bool {
    let command = one_line(&run.command);
    let cut = |begin: &str| format!("{begin}{command}").chars().take(MAX_LINE).collect::<String>();
    // A verdict may hold a colon, too.
    let mut begins = description.match_indices(": ").map(|(at, colon)| &description[..at + colon.len()]);
    begins.any(|begin| cut(begin).trim() == description.trim())
}

/// What is less in a file of tests.
fn less(one: &Weaker) -> String {
    let pair = |(what, before, after): (&str, u32, u32)| format!("{what} {before} → {after}");
    match one.counts {
        Some(TestCounts::Uncounted) => "it could not be counted".to_owned(),
        Some(counts) => counts.less().into_iter().map(pair).collect::<Vec<_>>().join(", "),
        None => pair(("assertions", one.before, one.after)),
    }
}

fn headline(result: &TestResult) -> &'static str {
    let TestResult::Ran { on_branch, .. } = result else { return "not run" };
    match result.verdict() {
        TestVerdict::Passes => "passes",
        TestVerdict::NoTest => "ends with exit status 0, and says itself that no test ran, so it shows nothing",
        TestVerdict::Fails if on_branch.at_setup => "the setup fails on the branch",
        TestVerdict::Fails => "fails on the branch",
        TestVerdict::Bug => "shows the bug: it fails on the base and passes on the branch",
        TestVerdict::PassesOnBase => "passes on the base too, so it shows nothing",
        TestVerdict::NotLaidOver => {
            "passes on the branch and on the base, where tests inside source files could not be laid over, so it shows nothing"
        }
        TestVerdict::Unclear => {
            "passes on the branch, and could not be run to its end on the base, so it shows nothing yet"
        }
    }
}

fn row(out: &mut String, what: &str, commit: &str, exit: &TestExit) {
    let status = match (exit.exit_code, exit.at_setup) {
        (Some(code), false) => code.to_string(),
        (Some(code), true) => format!("{code}, of the setup"),
        (None, false) => "none: it was ended".to_owned(),
        (None, true) => "none: the setup was ended".to_owned(),
    };
    let _ = writeln!(out, "| {what} | `{commit}` | {status} | {} |", duration(exit.duration_ms));
}

/// The last lines of an output, as many as are shown, and why its run was ended.
fn end(exit: &TestExit) -> String {
    shown_tail(&exit.tail, exit.exit_code, MAX_TAIL).0
}

/// Why a run is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotTested<'a> {
    /// There is no such branch.
    NoBranch(&'a str),
    /// No branch is named, and the thread is not a pull request's.
    Unnamed,
    /// It is to run at each push, and the pull request's head is in another repository, or was deleted.
    Fork,
    /// It is to run at each push, and the thread is not a pull request's.
    NoPull,
    /// It is to run at each push, and the pull request is closed.
    Closed,
    /// `/test-pr-bug` compares a branch with its base, and this is the base itself.
    IsBase(&'a str),
    /// The hour's limit is used up; with that limit and the minutes until the next run may be made.
    Full(u32, i64),
    /// The operator switched test runs off.
    Off,
}

/// `/test-pr --off`, whether or not something was run at each push.
pub fn test_off(login: &str) -> String {
    format!(
        "{}: nothing is run at pushes here from now on. `/test-pr \"command\" --each-push` on a pull request begins it.",
        code(login)
    )
}

/// Why a push is not tested: `of` asked for it once.
pub fn push_not_tested(of: &str, commit: &Commit, why: PushNotTested) -> String {
    let of = code(of);
    let why = match why {
        PushNotTested::NoRight => format!(
            "{of}, who asked for a run at each push, may not have that run any more. Somebody who may has to ask anew. Nothing is run here until then"
        ),
        PushNotTested::Off => {
            "the operator of this bot has switched test runs off (`tests.per_hour = 0`). Nothing is run here any more"
                .to_owned()
        }
        PushNotTested::Gone => {
            format!("the branch of this pull request is not in this repository any more. What {of} asked for has ended")
        }
        PushNotTested::Full(most, minutes) => format!(
            "the {} that this repository may have within an hour are used up. In {} there is room again, and the newest commit is tested",
            count(u64::from(most), "run"),
            count(minutes.unsigned_abs().max(1), "minute")
        ),
    };
    format!("{} is not tested: {why}.", code(commit.short()))
}

/// Why a push to a watched pull request is not tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushNotTested {
    /// Whoever asked may not ask any more.
    NoRight,
    /// The operator switched test runs off.
    Off,
    /// The branch lies in another repository now, or is gone.
    Gone,
    /// As [`NotTested::Full`].
    Full(u32, i64),
}

/// A refused run, with what to write instead.
pub fn not_tested(login: &str, why: NotTested<'_>) -> String {
    let why = match why {
        NotTested::NoBranch(branch) => {
            format!("there is no branch {} in this repository. Push it first, or write another one", code(branch))
        }
        NotTested::Unnamed => {
            "this is no pull request, so say which branch is meant: `/test-pr \"command\" branch`".to_owned()
        }
        NotTested::Fork => "the head of this pull request lies in a fork or on no branch, so people may push to it who may not write here. Leave `--each-push` out, and \
                            ask for each commit. What is run is the newest one at the moment when the bot reads your words, which may be \
                            newer than the one you looked at; the answer names it"
            .to_owned(),
        NotTested::NoPull => {
            "`--each-push` is for a pull request. Write it there; here, name the branch that is to be run once".to_owned()
        }
        NotTested::Closed => {
            "this pull request is closed, so nobody pushes to it. Reopen it first, or leave `--each-push` out".to_owned()
        }
        NotTested::IsBase(branch) => {
            format!("{} is what a branch is compared with. Name the branch that holds the new test", code(branch))
        }
        NotTested::Full(most, minutes) => format!(
            "the {} that this repository may have within an hour are used up. Write it again in {}",
            count(u64::from(most), "run"),
            count(minutes.unsigned_abs().max(1), "minute")
        ),
        NotTested::Off => "the operator of this bot has switched that off (`tests.per_hour = 0`)".to_owned(),
    };
    format!("{}: {why}. Nothing was run.", code(login))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::OnBase;

    fn run(bug: bool) -> TestRun {
        TestRun {
            command: "pytest -q | tee `log`".into(),
            setup: bug.then(|| "pip install .".into()),
            bug,
            branch: "mend".into(),
            commit: commit('a'),
            base_branch: "main".into(),
            each_push: bug,
        }
    }

    #[test]
    fn a_file_that_the_forge_does_not_take_is_said() {
        insta::assert_snapshot!("test_log_refused", [test_log_name(3), test_log_refused(3)].join("\n"));
    }

    fn commit(digit: char) -> Commit {
        Commit::parse(&digit.to_string().repeat(40)).expect("a commit")
    }

    fn exit(exit_code: Option<i32>, tail: &str) -> TestExit {
        TestExit { exit_code, at_setup: false, duration_ms: 1_400, tail: tail.into(), no_test: false }
    }

    #[test]
    fn what_came_of_a_run() {
        let hostile = "```\n/approve\n@all ![x](http://a.test/b) \u{202e}\n1 passed";
        let passes =
            TestResult::Ran { on_branch: exit(Some(0), hostile), on_base: None, weaker: Vec::new(), hosts: Vec::new() };
        let base = OnBase { commit: commit('b'), files: 2, within: 0, exit: exit(Some(1), "1 failed") };
        let weaker = vec![Weaker { path: "tests/test_`a`.py".into(), before: 3, after: 1, counts: None }];
        let bug = TestResult::Ran {
            on_branch: exit(Some(0), ""),
            on_base: Some(base),
            weaker,
            hosts: vec!["registry.test".into(), "*.b`c.test:80".into()],
        };
        for (on_base, words) in [
            (Some(0), "passes on the branch and on the base, where"),
            (None, "could not be run to its end on the base"),
        ] {
            let base = OnBase { commit: commit('b'), files: 0, within: 1, exit: exit(on_base, "") };
            let (on_branch, weaker) = (exit(Some(0), ""), Vec::new());
            let inside = TestResult::Ran { on_branch, on_base: Some(base), weaker, hosts: Vec::new() };
            assert!(headline(&inside).contains(words), "{}", headline(&inside));
        }
        let late = exit(None, "[the tests took longer than they may and were stopped]\n");
        let late = TestResult::Ran { on_branch: late, on_base: None, weaker: Vec::new(), hosts: Vec::new() };
        let not_run = TestResult::NotRun { why: "the image is not built: `caisson image build rust`".into() };
        let mut texts = Vec::new();
        for (bug, result) in [(false, &passes), (true, &bug), (false, &late), (false, &not_run)] {
            texts.push(tested(7, "al`ice", &run(bug), result));
            texts.push(test_status(7, &run(bug), Some(result)));
        }
        texts.push(test_status(7, &run(false), None));
        insta::assert_snapshot!("test_runs", texts.join("\n---\n"));
    }

    #[test]
    fn a_run_without_a_test_is_no_success() {
        let on_branch = TestExit { no_test: true, ..exit(Some(0), "Ran 0 tests in 0.000s\n\nOK\n") };
        let none = TestResult::Ran { on_branch, on_base: None, weaker: Vec::new(), hosts: Vec::new() };
        let told = tested(7, "alice", &run(false), &none);
        assert!(told.contains("**ends with exit status 0, and says itself that no test ran"), "{told}");
        assert!(!told.contains("passes"), "{told}");
        let description = test_status(7, &run(false), Some(&none));
        assert!(description.starts_with("run 7, exit status 0, and no test ran: "), "{description}");
        assert!(is_test_status(&description, &run(false)), "{description}");
    }

    #[test]
    fn a_status_is_known_by_as_much_of_the_command_as_it_shows() {
        let base = |exit_code| OnBase { commit: commit('b'), files: 0, within: 1, exit: exit(exit_code, "") };
        let ran =
            |on_base| TestResult::Ran { on_branch: exit(Some(0), ""), on_base, weaker: Vec::new(), hosts: Vec::new() };
        let results = [ran(None), ran(Some(base(Some(1)))), ran(Some(base(Some(0)))), ran(Some(base(None)))];
        for command in ["make check".to_owned(), format!("cd a && {}: b", "make check ".repeat(30))] {
            let of = |command: &str| TestRun { command: command.into(), ..run(true) };
            let (same, longer, other) = (of(&command), of(&format!("{command} x")), of(&format!("time {command}")));
            for result in results.iter().map(Some).chain([None]) {
                let description = test_status(7, &same, result);
                assert!(is_test_status(&description, &same), "{description}");
                assert!(is_test_status(description.trim_end(), &same), "{description}");
                assert!(!is_test_status(&description, &other), "{description}");
                let is_cut = description.chars().count() == MAX_LINE;
                assert_eq!(is_test_status(&description, &longer), is_cut, "{description}");
            }
        }
        assert!(!is_test_status(&test_waits(12), &run(true)));
    }

    #[test]
    fn why_nothing_is_run() {
        use NotTested::{Closed, Fork, Full, IsBase, NoBranch, NoPull, Off, Unnamed};
        let all = [NoBranch("no`where"), Unnamed, Fork, NoPull, Closed, IsBase("main"), Full(12, 7), Off];
        insta::assert_snapshot!("not_tested", all.map(|why| not_tested("alice", why)).join("\n---\n"));
    }

    #[test]
    fn why_a_push_is_not_tested() {
        use PushNotTested::{Full, Gone, NoRight, Off};
        let mut texts =
            [NoRight, Off, Gone, Full(12, 0)].map(|why| push_not_tested("al`ice", &commit('a'), why)).to_vec();
        texts.push(test_off("alice"));
        insta::assert_snapshot!("push_not_tested", texts.join("\n---\n"));
    }

    #[test]
    fn a_long_output_is_shown_from_its_end() {
        let tail = format!("é{}", "x".repeat(MAX_TAIL - 1));
        assert_eq!(end(&exit(Some(1), &tail)).len(), MAX_TAIL - 1);
        let why = "[the tests took longer than they may and were stopped]";
        let ended = exit(None, &format!("{why}\n{tail}"));
        assert!(end(&ended).starts_with(&format!("{why}\nx")), "{}", end(&ended));
    }
}
