//! How two versions of one ecosystem compare: semantic versions, those of Python (PEP 440), which Composer's are like, and those of Maven (`maven.rs`).
//!
//! Owns what cannot be compared: a version that does not follow its ecosystem's rules gives none, and nothing is guessed. Tests: below.

use std::cmp::Ordering;

use super::maven::Maven;

/// A version that can be compared with others of its ecosystem.
#[derive(Debug, Clone)]
pub(in crate::scan) enum Comparable {
    Semantic(semver::Version),
    Python(Python),
    Maven(Maven),
}

impl Comparable {
    /// Reads a version; none where it does not follow the rules.
    pub(in crate::scan) fn read(ecosystem: &str, text: &str) -> Option<Self> {
        let text = text.trim();
        match ecosystem {
            // Composer has the same stages in the same order. What it calls a patch is none of Python's words, and compares with nothing.
            "PyPI" | "Packagist" => Python::read(text).map(Comparable::Python),
            "Maven" => Maven::read(text).map(Comparable::Maven),
            _ => semver::Version::parse(text.trim_start_matches('v')).ok().map(Comparable::Semantic),
        }
    }

    /// The order of two versions; what stands behind a `+` decides nothing.
    pub(in crate::scan) fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Comparable::Semantic(one), Comparable::Semantic(other)) => Some(one.cmp_precedence(other)),
            (Comparable::Python(one), Comparable::Python(other)) => Some(one.cmp(other)),
            (Comparable::Maven(one), Comparable::Maven(other)) => Some(one.order(other)),
            (Comparable::Semantic(_) | Comparable::Python(_) | Comparable::Maven(_), _) => None,
        }
    }

    /// Whether it comes before a release; a version that Go made of a commit does, too.
    pub(in crate::scan) fn is_prerelease(&self) -> bool {
        match self {
            Comparable::Semantic(version) => !version.pre.is_empty(),
            Comparable::Python(version) => version.before.0 < 4 || version.development < u64::MAX,
            Comparable::Maven(version) => version.is_prerelease(),
        }
    }

    /// Its numbers, behind the epoch that only Python has; one that is missing at the end counts as 0.
    pub(in crate::scan) fn numbers(&self) -> Vec<u64> {
        match self {
            Comparable::Semantic(version) => vec![0, version.major, version.minor, version.patch],
            Comparable::Python(version) => [vec![version.epoch], version.release.clone()].concat(),
            Comparable::Maven(version) => [vec![0], version.numbers()].concat(),
        }
    }
}

/// A public version of PEP 440, as a key: epoch, release without zeros at its end, and what of a release it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::scan) struct Python {
    epoch: u64,
    release: Vec<u64>,
    /// Before a release: of a development alone, then alpha, beta, candidate; then the release itself.
    before: (u8, u64),
    /// Behind it: 0 = none.
    after: u64,
    /// Of a development: the number; none comes last.
    development: u64,
}

impl Python {
    fn read(text: &str) -> Option<Self> {
        let lower = text.trim_start_matches(['v', 'V']).to_ascii_lowercase();
        let public = lower.split('+').next()?;
        let (epoch, rest) = match public.split_once('!') {
            Some((epoch, rest)) => (epoch.parse().ok()?, rest),
            None => (0, public),
        };
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let (release, mut rest) = rest.split_at(end);
        let mut release =
            release.trim_end_matches('.').split('.').map(|it| it.parse().ok()).collect::<Option<Vec<u64>>>()?;
        while release.len() > 1 && release.last() == Some(&0) {
            release.pop();
        }
        let (mut before, mut after, mut development) = (None, None, None);
        while !rest.is_empty() {
            let part = rest.trim_start_matches(['.', '-', '_']);
            let letters = part.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(part.len());
            let (word, behind) = part.split_at(letters);
            let behind = behind.trim_start_matches(['.', '-', '_']);
            let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
            let (number, more) = behind.split_at(digits);
            let number: u64 = if number.is_empty() { 0 } else { number.parse().ok()? };
            let place = match word {
                "a" | "alpha" => before.replace((1, number)).is_some(),
                "b" | "beta" => before.replace((2, number)).is_some(),
                "c" | "rc" | "pre" | "preview" => before.replace((3, number)).is_some(),
                // `1.0-1` is a post release too.
                "post" | "rev" | "r" | "" => after.replace(number.checked_add(1)?).is_some(),
                "dev" => development.replace(number).is_some(),
                _ => return None,
            };
            if place || (word.is_empty() && digits == 0) {
                return None;
            }
            rest = more;
        }
        let stage = match (before, after, development) {
            (Some(before), _, _) => before,
            (None, None, Some(_)) => (0, 0),
            (None, _, _) => (4, 0),
        };
        let (after, development) = (after.unwrap_or(0), development.unwrap_or(u64::MAX));
        Some(Self { epoch, release, before: stage, after, development })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(ecosystem: &str, one: &str, other: &str) -> Option<Ordering> {
        Comparable::read(ecosystem, one)?.order(&Comparable::read(ecosystem, other)?)
    }

    #[test]
    fn pythons_versions_have_the_order_of_pep_440() {
        let sorted = [
            "1.0.dev456",
            "1.0a1",
            "1.0a2.dev456",
            "1.0a12.dev456",
            "1.0a12",
            "1.0b1.dev456",
            "1.0b2",
            "1.0b2.post345.dev456",
            "1.0b2.post345",
            "1.0rc1.dev456",
            "1.0rc1",
            "1.0",
            "1.0.post456.dev34",
            "1.0.post456",
            "1.1.dev1",
            "1.1",
            "1.10",
            "1!0.1",
        ];
        for (at, one) in sorted.iter().enumerate() {
            for (other_at, other) in sorted.iter().enumerate() {
                assert_eq!(order("PyPI", one, other), Some(at.cmp(&other_at)), "{one} {other}");
            }
        }
        for (one, other) in [
            ("1.0", "1.0.0"),
            ("v1.0", "1"),
            ("1.0-1", "1.0.post1"),
            ("1.0+local", "1.0"),
            ("1.0RC1", "1.0c1"),
            ("1.0-alpha.1", "1.0a1"),
        ] {
            assert_eq!(order("PyPI", one, other), Some(Ordering::Equal), "{one} {other}");
        }
        for odd in ["", "x", "1.0x", "1..0", "1.0a1b2", "2024-01-01-x", "1.0-"] {
            assert!(Comparable::read("PyPI", odd).is_none(), "{odd}");
        }
    }

    #[test]
    fn versions_of_maven_and_composer_follow_their_own_rules() {
        assert_eq!(order("Maven", "2.0.0.RELEASE", "2.0"), Some(Ordering::Equal));
        assert_eq!(order("Maven", "1.0-rc-1", "1.0"), Some(Ordering::Less));
        assert_eq!(order("Packagist", "v5.4.0-BETA10", "5.4.0-RC1"), Some(Ordering::Less));
        assert_eq!(order("Packagist", "4.2", "4.2.0.0"), Some(Ordering::Equal));
        assert_eq!((order("Packagist", "dev-main", "1.0"), order("Packagist", "1.0-patch1", "1.0")), (None, None));
    }

    #[test]
    fn semantic_versions_are_compared_and_nothing_else_is() {
        assert_eq!(order("npm", "1.2.0", "1.10.0"), Some(Ordering::Less));
        assert_eq!(order("Go", "v2.0.0+incompatible", "2.0.0"), Some(Ordering::Equal));
        assert_eq!(order("Go", "0.0.0-20210101000000-abcdef", "0.0.0-20220101000000-abcdef"), Some(Ordering::Less));
        assert_eq!(order("crates.io", "1.0", "1.0.0"), None);
    }
}
