//! `protected` of a `.caisson.toml`: which files the agent may not change. Applied by `sandbox/policy`. Tests: below.

/// What is wrong with the patterns. One that can match no path of a tree would protect nothing in silence.
pub(super) fn problem_of(patterns: &[String]) -> Option<String> {
    patterns.iter().find_map(|pattern| {
        if pattern.starts_with('/') {
            return Some(format!("{pattern:?} starts with `/`; patterns are relative to the root"));
        }
        if pattern.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Some(format!(
                "{pattern:?} has a part that no path in a tree has: empty, `.` or `..`; a folder with all that is in it is `deploy/**`"
            ));
        }
        let wrong = globset::Glob::new(pattern).err()?;
        Some(format!("{pattern:?} is no pattern: {}", wrong.kind()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_that_would_protect_nothing_is_refused() {
        let of = |pattern: &str| problem_of(&[pattern.to_owned()]);
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
}
