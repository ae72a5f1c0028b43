//! Where a version that is used is beside the newest one, and which of several versions is the newest, in the order by which advisories are judged.
//!
//! Owns that a pre-release is never newer than a release, and that nothing is guessed where versions do not compare. Tests: `tests.rs`.

use std::cmp::Ordering;

use domain::VersionGap;
use semver::{Op, Version, VersionReq};

use super::is_word;
use crate::scan::advisories::Comparable;

/// The newest release among these versions; none where all of them are pre-releases, cannot be compared or are no words of the data.
pub fn newest_release<'a>(ecosystem: &str, versions: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let read = |text: &'a str| Some((text, Comparable::read(ecosystem, text).filter(|it| !it.is_prerelease())?));
    let all = versions.into_iter().filter(|text| is_word(text)).filter_map(read);
    newest(all).map(|(text, _)| text)
}

/// The newest of these, each with its text; of two that do not compare the first.
fn newest<'a>(all: impl Iterator<Item = (&'a str, Comparable)>) -> Option<(&'a str, Comparable)> {
    all.reduce(|best, next| match next.1.order(&best.1) {
        Some(Ordering::Greater) => next,
        Some(Ordering::Less | Ordering::Equal) | None => best,
    })
}

/// Of the versions that are locked those that a manifest can mean; all of them where its words do not say it.
pub(super) fn meant<'a>(ecosystem: &str, asked: &str, locked: &'a [String]) -> Vec<&'a str> {
    let all = || locked.iter().map(String::as_str);
    let range = if matches!(ecosystem, "crates.io" | "npm") { VersionReq::parse(asked).ok() } else { None };
    let Some(mut range) = range else { return all().collect() };
    // A version without a sign means that one alone in npm, and later ones too in Cargo.
    if ecosystem == "npm" && asked.trim_start().starts_with(|first: char| first.is_ascii_digit()) {
        range.comparators.iter_mut().filter(|it| it.op == Op::Caret).for_each(|it| it.op = Op::Exact);
    }
    let is_meant = |text: &&str| Version::parse(text).is_ok_and(|version| range.matches(&version));
    let meant: Vec<&str> = all().filter(is_meant).collect();
    if meant.is_empty() { all().collect() } else { meant }
}

/// Where what is used is beside the newest version; none where nothing is used. Of several versions the newest counts.
pub(super) fn gap(ecosystem: &str, latest: &str, used: &[&str]) -> Option<VersionGap> {
    if used.is_empty() {
        return None;
    }
    let used = used.iter().filter_map(|text| Some((*text, Comparable::read(ecosystem, text)?)));
    let pair = newest(used).zip(Comparable::read(ecosystem, latest));
    Some(pair.map_or(VersionGap::NotComparable, |((_, used), latest)| between(&used, &latest)))
}

fn between(used: &Comparable, newest: &Comparable) -> VersionGap {
    match used.order(newest) {
        None => VersionGap::NotComparable,
        Some(Ordering::Equal) => VersionGap::UpToDate,
        Some(Ordering::Greater) => VersionGap::Newer,
        Some(Ordering::Less) if newest.is_prerelease() && !used.is_prerelease() => VersionGap::PreRelease,
        Some(Ordering::Less) => behind(used, newest),
    }
}

/// By what an older version is behind: its first number that differs.
fn behind(used: &Comparable, newest: &Comparable) -> VersionGap {
    let (one, other) = (used.numbers(), newest.numbers());
    let number = |of: &[u64], at: usize| of.get(at).copied().unwrap_or(0);
    let differs = (0..one.len().max(other.len())).find(|at| number(&one, *at) != number(&other, *at));
    // The words behind the numbers of a version of Maven may name a variant for another platform.
    let variant = matches!(newest, Comparable::Maven(_)) && !used.is_prerelease();
    match differs {
        Some(0 | 1) => VersionGap::Major,
        Some(2) => VersionGap::Minor,
        Some(_) => VersionGap::Patch,
        None if variant => VersionGap::NotComparable,
        None => VersionGap::Patch,
    }
}

/// The version that a manifest settles by naming that one alone, as far as its ecosystem has such a form.
pub(super) fn pinned<'a>(ecosystem: &str, asked: &'a str) -> Option<&'a str> {
    let one = match ecosystem {
        "crates.io" => asked.strip_prefix('=')?,
        "npm" | "Packagist" => asked.strip_prefix('=').unwrap_or(asked),
        _ => return None,
    };
    let one = one.trim();
    Comparable::read(ecosystem, one).map(|_| one)
}
