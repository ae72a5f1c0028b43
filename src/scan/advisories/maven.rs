//! How versions of Maven compare, as its *Version Order Specification* says (<https://maven.apache.org/pom.html>).
//!
//! Owns the parts of such a version and their order. Nearly every text is a version there; one with a character that none has, or with a number that is too
//! long, gives none. Tests: below.

use std::cmp::Ordering;

/// A version as its parts, without those that say nothing where a part ends.
#[derive(Debug, Clone)]
pub(in crate::scan) struct Maven(Vec<Part>);

/// A part, in its order: a word stands before a number behind a hyphen, and that one before a number behind a dot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// A word by its rank, then by its letters if it is none of those that are known.
    Word(u8, String),
    Hyphen(u64),
    Dot(u64),
}

/// The rank of a release, which a part that is missing has too, and of a word that is not known.
const RELEASE: u8 = 5;
const OTHER: u8 = 7;
/// Words that Maven orders behind a release, and that are given to what comes before one.
const EARLY: [&str; 6] = ["dev", "ea", "eap", "nightly", "pre", "preview"];

impl Part {
    /// Of a piece of the text. A single letter is a word of its own only where a number follows.
    fn read(text: &str, hyphen: bool, number_follows: bool) -> Option<Self> {
        let rank = match text {
            "alpha" => 0,
            "beta" => 1,
            "milestone" => 2,
            "a" if number_follows => 0,
            "b" if number_follows => 1,
            "m" if number_follows => 2,
            "rc" | "cr" => 3,
            "snapshot" => 4,
            "ga" | "final" | "release" => RELEASE,
            "sp" => 6,
            _ if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) => {
                let number = if text.is_empty() { 0 } else { text.parse().ok()? };
                return Some(if hyphen { Part::Hyphen(number) } else { Part::Dot(number) });
            }
            _ => return Some(Part::Word(OTHER, text.to_owned())),
        };
        Some(Part::Word(rank, String::new()))
    }

    fn says_nothing(&self) -> bool {
        matches!(self, Part::Word(RELEASE, _) | Part::Hyphen(0) | Part::Dot(0))
    }

    /// What stands in the place of this one in a version that has no such part.
    fn missing(&self) -> Self {
        match self {
            Part::Word(..) | Part::Hyphen(_) => Part::Word(RELEASE, String::new()),
            Part::Dot(_) => Part::Dot(0),
        }
    }
}

impl Maven {
    /// Reads a version: parts stand between dots and hyphens, and between letters and digits, which is as a hyphen.
    pub(super) fn read(text: &str) -> Option<Self> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte);
        let lower = text.to_ascii_lowercase();
        if lower.is_empty() || !lower.bytes().all(fits) {
            return None;
        }
        let (mut parts, mut rest, mut hyphen) = (Vec::new(), lower.as_str(), false);
        loop {
            let digits = rest.starts_with(|c: char| c.is_ascii_digit());
            let end = rest.find(|c: char| ".-".contains(c) || c.is_ascii_digit() != digits).unwrap_or(rest.len());
            let (piece, behind) = rest.split_at(end);
            let part = Part::read(piece, hyphen, behind.starts_with(|c: char| c.is_ascii_digit()))?;
            if !matches!(part, Part::Dot(_)) {
                trim(&mut parts);
            }
            parts.push(part);
            (hyphen, rest) = match behind.split_at_checked(1) {
                None => break,
                Some((".", rest)) => (false, rest),
                Some(("-", rest)) => (true, rest),
                Some(_) => (true, behind),
            };
        }
        trim(&mut parts);
        Some(Self(parts))
    }

    /// Whether it comes before a release, by its order or by a word that has none.
    pub(super) fn is_prerelease(&self) -> bool {
        let before = |part: &Part| match part {
            Part::Word(rank, word) => *rank < RELEASE || EARLY.contains(&word.as_str()),
            Part::Dot(_) | Part::Hyphen(_) => false,
        };
        self.0.iter().any(before)
    }

    /// The numbers at its beginning.
    pub(super) fn numbers(&self) -> Vec<u64> {
        let number = |part: &Part| match part {
            Part::Dot(number) => Some(*number),
            Part::Word(..) | Part::Hyphen(_) => None,
        };
        self.0.iter().map_while(number).collect()
    }

    pub(super) fn order(&self, other: &Self) -> Ordering {
        let orders = (0..self.0.len().max(other.0.len())).map(|at| match (self.0.get(at), other.0.get(at)) {
            (Some(one), Some(other)) => one.cmp(other),
            (Some(one), None) => one.cmp(&one.missing()),
            (None, Some(other)) => other.missing().cmp(other),
            (None, None) => Ordering::Equal,
        });
        orders.fold(Ordering::Equal, Ordering::then)
    }
}

/// Takes away what says nothing at the end, but for the first part.
fn trim(parts: &mut Vec<Part>) {
    while parts.len() > 1 && parts.last().is_some_and(Part::says_nothing) {
        parts.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(one: &str, other: &str) -> Option<Ordering> {
        Some(Maven::read(one)?.order(&Maven::read(other)?))
    }

    fn sorted(all: &[&str]) {
        for (at, one) in all.iter().enumerate() {
            for (other_at, other) in all.iter().enumerate() {
                assert_eq!(order(one, other), Some(at.cmp(&other_at)), "{one} {other}");
            }
        }
    }

    #[test]
    fn versions_have_the_order_of_the_specification() {
        sorted(&[
            "1-alpha2snapshot",
            "1-alpha2",
            "1-alpha-123",
            "1-beta-2",
            "1-beta123",
            "1-m2",
            "1-m11",
            "1-rc",
            "1-cr2",
            "1-rc123",
            "1-SNAPSHOT",
            "1",
            "1-sp",
            "1-sp2",
            "1-sp123",
            "1-abc",
            "1-foo2",
            "1-foo10",
            "1-pom-1",
            "1-1-snapshot",
            "1-1",
            "1-2",
            "1.1",
        ]);
        sorted(&["2.0", "2.0.a", "2-1", "2.0.2", "2.0.123", "2.1.0", "2.1-a", "2.1b", "2.1-1", "2.1.0.1", "2.2", "11"]);
        sorted(&["31.1-jre", "32.0.0-android", "32.0.0-jre", "32.0.1-android"]);
        sorted(&["5.3.0.M1", "5.3.0.RC2", "5.3.0.RELEASE", "5.3.1"]);
        sorted(&["1-sp-1", "1-ga-1"]);
        sorted(&["1-ga.1", "1-sp.1"]);
    }

    #[test]
    fn what_says_nothing_decides_nothing() {
        for (one, other) in [
            ("1", "1.0.0"),
            ("1.ga", "1-0"),
            ("1.0.0-foo.0.0", "1-foo"),
            ("1.foo", "1-foo"),
            ("1x", "1.0.0-X"),
            ("1-a1", "1-alpha-1"),
            ("1cr", "1rc"),
            ("4.1.0.Final", "4.1"),
            ("1.", "1-"),
            ("0", "0.0"),
        ] {
            assert_eq!(order(one, other), Some(Ordering::Equal), "{one} {other}");
        }
        for odd in ["", "[1,2)", "${v}", "1 2", "99999999999999999999999"] {
            assert!(Maven::read(odd).is_none(), "{odd}");
        }
    }
}
