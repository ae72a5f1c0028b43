//! `protected` of a `.caisson.toml`: which files the agent may not change. Applied by `sandbox/policy`. Tests: below.

use globset::{Glob, GlobSet};

/// Longest pattern, in bytes: each level of nested alternatives takes stack of the bot while a pattern is read.
const LONGEST: usize = 1000;

/// What is wrong with the patterns, but for [`unmatched`].
pub(super) fn problem_of(patterns: &[String]) -> Option<String> {
    patterns.iter().find_map(|pattern| problem_of_one(pattern))
}

/// What is wrong with any pattern of files.
pub(super) fn problem_of_one(pattern: &str) -> Option<String> {
    if pattern.starts_with('/') {
        return Some(format!("{pattern:?} starts with `/`; patterns are relative to the root"));
    }
    if pattern.len() > LONGEST {
        return Some(format!("a pattern has at most {LONGEST} bytes, and one has {}", pattern.len()));
    }
    let wrong = Glob::new(pattern).and_then(|glob| GlobSet::new([glob])).err()?;
    Some(format!("{pattern:?} is no pattern: {}", wrong.kind()))
}

/// What is wrong with a pattern that can match no path of a tree: it would protect nothing in silence.
pub(super) fn unmatched(patterns: &[String]) -> Option<String> {
    let is_idle = |pattern: &&String| pattern.split('/').any(|part| matches!(part, "" | "." | ".."));
    let pattern = patterns.iter().find(is_idle)?;
    Some(format!(
        "{pattern:?} has a part that no path in a tree has: empty, `.` or `..`; a folder with all that is in it is `deploy/**`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_would_protect_nothing_is_refused() {
        let of = |pattern: &str| {
            let patterns = [pattern.to_owned()];
            problem_of(&patterns).or_else(|| unmatched(&patterns))
        };
        for fine in ["deploy/**", "Makefile", "**/*.pem", ".env", "{a,b}/**", "a..b"] {
            assert_eq!(of(fine), None, "{fine}");
        }
        for (wrong, why) in [
            ("deploy/", "a folder with all that is in it is `deploy/**`"),
            ("./deploy/**", "no path in a tree has"),
            ("deploy/../keys/**", "no path in a tree has"),
            ("deploy//**", "no path in a tree has"),
            ("", "no path in a tree has"),
            ("/deploy/**", "relative to the root"),
            ("[", "is no pattern"),
        ] {
            assert!(of(wrong).is_some_and(|said| said.contains(why)), "{wrong}: {:?}", of(wrong));
        }
    }

    #[test]
    fn a_pattern_without_end_takes_no_stack_and_one_that_nests_too_deeply_is_named() {
        let nested = |levels: usize| problem_of(&[format!("{}a{}", "{".repeat(levels), "}".repeat(levels))]);
        assert_eq!(nested(100), None);
        assert!(nested(400).is_some_and(|said| said.contains("is no pattern")), "it would protect everything");
        assert!(nested(32_000).is_some_and(|said| said.contains("at most 1000 bytes, and one has 64001")));
    }
}
