//! One advisory in the OSV format (<https://ossf.github.io/osv-schema/>, version 1.7), as far as it is needed: whether it is about a version of a package.
//!
//! Owns the rule of the schema: a version is affected if it stands in `versions`, or lies in one of the `ranges`. Ranges of commits are not looked at.
//! Tests: below.

use serde::Deserialize;
use std::cmp::Ordering;

use super::versions::Comparable;

/// One file. What it says else is passed over.
#[derive(Debug, Deserialize)]
pub(super) struct Advisory {
    pub id: String,
    #[serde(default)]
    pub modified: String,
    #[serde(default)]
    pub withdrawn: Option<String>,
    #[serde(default)]
    pub summary: String,
    #[serde(default)]
    pub details: String,
    #[serde(default)]
    pub affected: Vec<Affected>,
}

/// What it says of one package.
#[derive(Debug, Deserialize)]
pub(super) struct Affected {
    #[serde(default)]
    pub package: Option<NamedPackage>,
    #[serde(default)]
    ranges: Vec<Range>,
    #[serde(default)]
    versions: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NamedPackage {
    #[serde(default)]
    pub ecosystem: String,
    #[serde(default)]
    pub name: String,
}

#[derive(Debug, Deserialize)]
struct Range {
    #[serde(rename = "type")]
    of: String,
    #[serde(default)]
    events: Vec<Turn>,
}

/// An event of a range: one of the three, or one that is not looked at.
#[derive(Debug, Deserialize)]
struct Turn {
    introduced: Option<String>,
    fixed: Option<String>,
    last_affected: Option<String>,
}

/// Whether an advisory is about a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Affects {
    /// It is; these versions come without it, as the data says.
    It { fixed: Vec<String> },
    /// It is not.
    Not,
    /// Versions could not be compared.
    CannotCompare,
}

impl Affected {
    /// Whether this is about a version of the package, whose name was compared before.
    pub(super) fn judge(&self, ecosystem: &str, version: &str) -> Affects {
        let fixed = || {
            let all = self.ranges.iter().filter(|range| range.counts()).flat_map(|range| &range.events);
            all.filter_map(|event| event.fixed.clone()).collect()
        };
        let read = Comparable::read(ecosystem, version);
        let same = |listed: &String| {
            let order = || Comparable::read(ecosystem, listed)?.order(read.as_ref()?);
            listed == version || order() == Some(Ordering::Equal)
        };
        if self.versions.iter().any(same) {
            return Affects::It { fixed: fixed() };
        }
        let ranges: Vec<&Range> = self.ranges.iter().filter(|range| range.counts()).collect();
        let verdicts: Vec<Option<bool>> = ranges.iter().map(|range| range.holds(ecosystem, read.as_ref()?)).collect();
        // Ranges of commits alone say nothing about a version.
        let silent = ranges.is_empty() && self.versions.is_empty();
        if verdicts.contains(&Some(true)) {
            Affects::It { fixed: fixed() }
        } else if silent || verdicts.contains(&None) {
            Affects::CannotCompare
        } else {
            Affects::Not
        }
    }
}

impl Range {
    fn counts(&self) -> bool {
        matches!(self.of.as_str(), "SEMVER" | "ECOSYSTEM")
    }

    /// Whether the version lies in it; none where a version of it cannot be compared.
    fn holds(&self, ecosystem: &str, version: &Comparable) -> Option<bool> {
        let mut turns: Vec<(Option<Comparable>, Side)> = Vec::new();
        for event in &self.events {
            let (text, side) = match (&event.introduced, &event.fixed, &event.last_affected) {
                (Some(text), _, _) => (text, Side::In),
                (None, Some(text), _) => (text, Side::Out),
                (None, None, Some(text)) => (text, Side::Last),
                // `limit` speaks of branches.
                (None, None, None) => continue,
            };
            // "0" stands before every version.
            let at = if text == "0" { None } else { Some(Comparable::read(ecosystem, text)?) };
            turns.push((at, side));
        }
        turns.sort_by(|(one, _), (other, _)| match (one, other) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(one), Some(other)) => one.order(other).unwrap_or(Ordering::Equal),
        });
        let mut within = false;
        for (at, side) in turns {
            let order = match &at {
                Some(at) => version.order(at)?,
                None => Ordering::Greater,
            };
            match side {
                Side::In if order.is_ge() => within = true,
                Side::Out if order.is_ge() => within = false,
                Side::Last if order.is_gt() => within = false,
                Side::In | Side::Out | Side::Last => {}
            }
        }
        Some(within)
    }
}

/// What an event of a range begins or ends.
#[derive(Clone, Copy)]
enum Side {
    In,
    Out,
    Last,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(affected: &str, ecosystem: &str, version: &str) -> Affects {
        let read: Affected = serde_json::from_str(affected).unwrap();
        read.judge(ecosystem, version)
    }

    #[test]
    fn ranges_are_followed_as_the_schema_says() {
        let semver = r#"{ "ranges": [{ "type": "SEMVER", "events": [{ "introduced": "0" }, { "fixed": "1.2.0" }, { "introduced": "2.0.0-0" }, { "fixed": "2.0.3" }] }] }"#;
        let fixed = || Affects::It { fixed: vec!["1.2.0".into(), "2.0.3".into()] };
        for (version, verdict) in [
            ("0.1.0", fixed()),
            ("1.1.9", fixed()),
            ("1.2.0", Affects::Not),
            ("1.9.0", Affects::Not),
            ("2.0.0-rc.1", fixed()),
            ("2.0.3", Affects::Not),
            ("1.1", Affects::CannotCompare),
        ] {
            assert_eq!(judged(semver, "crates.io", version), verdict, "{version}");
        }
        let last = r#"{ "ranges": [{ "type": "ECOSYSTEM", "events": [{ "introduced": "4.2" }, { "last_affected": "4.2.1" }] }] }"#;
        for (version, affected) in
            [("4.1.9", false), ("4.2", true), ("4.2.1.post1", false), ("4.2.1", true), ("4.2.2", false)]
        {
            assert_eq!(matches!(judged(last, "PyPI", version), Affects::It { .. }), affected, "{version}");
        }
    }

    #[test]
    fn listed_versions_count_and_what_cannot_be_compared_is_said() {
        let listed =
            r#"{ "versions": ["1.0", "odd-one"], "ranges": [{ "type": "GIT", "events": [{ "introduced": "0" }] }] }"#;
        assert_eq!(judged(listed, "PyPI", "1.0.0"), Affects::It { fixed: Vec::new() });
        assert_eq!(judged(listed, "PyPI", "odd-one"), Affects::It { fixed: Vec::new() });
        assert_eq!(judged(listed, "PyPI", "1.1"), Affects::Not);
        let commits = r#"{ "ranges": [{ "type": "GIT", "repo": "r", "events": [{ "introduced": "0" }] }] }"#;
        assert_eq!(judged(commits, "Go", "1.0.0"), Affects::CannotCompare);
        let odd = r#"{ "ranges": [{ "type": "ECOSYSTEM", "events": [{ "introduced": "0" }, { "fixed": "first" }] }] }"#;
        assert_eq!(judged(odd, "PyPI", "1.1"), Affects::CannotCompare);
    }
}
