//! Which tests of the base's run another run lacks.
//!
//! Owns the comparison of names, which test counts as moved, and when nothing can be compared. Pure. Tests: below.

use std::collections::HashMap;

use protocol::runner::Outcome;

use super::report;

/// The most names of missing tests that are kept.
const MISSING: usize = 50;

/// What became of the tests of the base's run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Compared {
    /// How many were looked for in the other report.
    pub looked_for: u32,
    /// Names of at most 50 that are missing.
    pub missing: Vec<String>,
    /// Whether the base's report names tests that could not be looked for, because one of the two reports is not whole.
    pub not_compared: bool,
}

/// Looks for the tests of the base's run in another report. Where tests may move, one that is missing may be there in another module, and one
/// new name stands for one test.
pub(super) fn compared(base: &Outcome, other: &Outcome, tests_may_move: bool) -> Compared {
    let (Some(of_base), Some(there)) = (report::ran(base), report::ran(other)) else {
        let not_compared = report::names(&base.text).next().is_some();
        return Compared { not_compared, ..Compared::default() };
    };
    let mut new: HashMap<(bool, &str), usize> = HashMap::new();
    for test in there.difference(&of_base).filter(|_| tests_may_move).filter_map(|name| without_module(name)) {
        *new.entry(test).or_default() += 1;
    }
    let mut missing = Vec::new();
    for name in of_base.difference(&there) {
        if let Some(test) = without_module(name)
            && let Some(left) = new.get_mut(&test)
            && *left > 0
        {
            *left -= 1;
        } else if missing.len() < MISSING {
            missing.push(name.clone());
        }
    }
    Compared { looked_for: u32::try_from(of_base.len()).unwrap_or(u32::MAX), missing, not_compared: false }
}

/// A test of `cargo test` without the modules around it (`doubles` of `double::tests::doubles`), and whether it is an example of the
/// documentation (`FILE - double::twice`); none for other programs' names.
fn without_module(name: &str) -> Option<(bool, &str)> {
    let (is_example, path) = name.split_once(".rs - ").map_or((false, name), |(_, path)| (true, path));
    let item = path.split_once(" - ").map_or(path, |(item, _)| item);
    let is_path = item.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ':'));
    (is_example || is_path).then(|| (is_example, path.rsplit_once("::").map_or(path, |(_, test)| test)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::runner::Status;

    fn ran(names: &[&str]) -> Outcome {
        let lines: String = names.iter().map(|name| format!("test {name} ... ok\n")).collect();
        Outcome::new(Status::Ok, lines)
    }

    fn missing(base: &[&str], now: &[&str], tests_may_move: bool) -> Vec<String> {
        compared(&ran(base), &ran(now), tests_may_move).missing
    }

    #[test]
    fn a_test_that_moved_with_its_module_is_there_where_it_may_move() {
        let example = "src/lib.rs - twice (line 3)";
        let base = ["tests::doubles", "tests::zero - should panic", "tests::kept", "whole", example];
        let now = [
            "double::tests::doubles",
            "double::tests::zero - should panic",
            "tests::kept",
            "double::whole",
            "src/double.rs - double::twice (line 9)",
        ];
        assert_eq!(missing(&base, &now, true), [""; 0]);
        let gone = ["src/lib.rs - twice", "tests::doubles", "tests::zero - should panic", "whole"];
        assert_eq!(missing(&base, &now, false), gone);
    }

    #[test]
    fn that_nothing_could_be_compared_is_known_where_the_base_names_tests() {
        let (whole, cut) = (ran(&["a"]), Outcome { dropped_bytes: 1, ..ran(&["a"]) });
        let ended = Outcome { status: Status::TimedOut, ..ran(&["a"]) };
        let not = Compared { not_compared: true, ..Compared::default() };
        for (base, other) in [(&whole, &cut), (&cut, &whole), (&whole, &ended)] {
            assert_eq!(compared(base, other, false), not);
        }
        assert_eq!(compared(&Outcome::new(Status::Ok, "...\n"), &cut, false), Compared::default());
        assert_eq!(compared(&whole, &whole, false), Compared { looked_for: 1, ..Compared::default() });
    }

    #[test]
    fn one_new_name_stands_for_one_test_and_for_none_of_another_name() {
        let base = ["a::tests::one", "b::tests::one", "a::tests::two"];
        assert_eq!(missing(&base, &["c::tests::one", "c::tests::three"], true), ["a::tests::two", "b::tests::one"]);
        assert_eq!(missing(&["a::one"], &["src/a.rs - b::one (line 1)"], true), ["a::one"], "an example is no test");
        let pytest = |name: &str| Outcome::new(Status::Ok, format!("PASSED {name}\n"));
        let moved = compared(&pytest("tests/a.py::one"), &pytest("tests/b.py::one"), true);
        assert_eq!(moved.missing, ["tests/a.py::one"]);
    }
}
