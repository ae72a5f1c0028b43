//! What the host reads in a tree for a task before its model is asked: what static rules find, what is depended on, which hosts there are.
//!
//! Owns the shapes that the log keeps. Everything in them that comes from the tree (paths, lines, names, versions) is untrusted.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the host read. A kind of task has it filled as far as it asks for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scan {
    /// What static rules find.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<RuleScan>,
    /// What the manifests ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<DependencyScan>,
    /// The hosts that the task could reach when it was prepared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Vec<String>>,
}

/// How bad it is if a rule is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleSeverity {
    /// A stranger may take over, or read what is secret.
    High,
    /// A weakness that needs more to be used.
    Medium,
    /// Worth a look.
    Low,
}

impl RuleSeverity {
    /// The word that an answer shows.
    pub const fn word(self) -> &'static str {
        match self {
            RuleSeverity::High => "high",
            RuleSeverity::Medium => "medium",
            RuleSeverity::Low => "low",
        }
    }

    /// The sign before the word.
    pub const fn sign(self) -> &'static str {
        match self {
            RuleSeverity::High => "🛑",
            RuleSeverity::Medium => "⚠️",
            RuleSeverity::Low => "💬",
        }
    }
}

/// One line on which a static rule matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleFinding {
    /// Id of the rule.
    pub rule: String,
    /// According to the rule.
    pub severity: RuleSeverity,
    /// The file, relative to the root of the tree. Untrusted.
    pub path: String,
    /// The line, from 1 on.
    pub line: u64,
    /// What the rule says about it, as a sentence.
    pub sentence: String,
    /// What to do instead, as a sentence.
    pub instead: String,
    /// The line without credentials, cut. Untrusted.
    pub text: String,
}

/// What static rules find in a tree, or in the lines that a pull request adds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleScan {
    /// The first findings, the most serious first, then by path and line.
    pub findings: Vec<RuleFinding>,
    /// How many more there are.
    #[serde(default)]
    pub more: u64,
    /// Files whose lines were looked at.
    pub files: u64,
    /// Files that were passed over because they are larger than is read, or no text; and what lies too deep or has too long a path, whole folders as one.
    #[serde(default)]
    pub passed_over: u64,
    /// Lines that were passed over because they are longer than is read.
    #[serde(default)]
    pub long_lines: u64,
    /// Whether a limit of files, bytes or time ended it early.
    #[serde(default)]
    pub cut: bool,
    /// The file or folder that it was restricted to; none for all. Untrusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
    /// Whether only lines count that a pull request adds.
    #[serde(default)]
    pub added_only: bool,
}

/// What the manifests of a tree ask for, what is locked, and what of that has a known advisory. All names and versions are untrusted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependencyScan {
    /// Manifests and lock files that were read.
    pub read: Vec<String>,
    /// Those that were not, each with the reason as half a sentence.
    #[serde(default)]
    pub unread: Vec<(String, String)>,
    /// The first direct dependencies, in the order of the manifests.
    pub direct: Vec<Dependency>,
    /// How many more there are.
    #[serde(default)]
    pub more: u64,
    /// Versions that lock files name, direct or not.
    #[serde(default)]
    pub locked: u64,
    /// What the operator's data says; none where there is none, so that nothing was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advisories: Option<AdvisoryScan>,
    /// What the operator's data of newest versions was; none where there is none. None in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest: Option<NewestScan>,
}

/// One direct dependency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    /// The ecosystem by its name in OSV: `crates.io`, `npm`, `PyPI`, `Go`, `Maven`, `Packagist`.
    pub ecosystem: String,
    /// The package.
    pub name: String,
    /// What the manifest asks for, as written; empty where it names no version.
    pub asked: String,
    /// The versions that the lock file beside it names; empty where there is none.
    pub locked: Vec<String>,
    /// The days (`2026-11-20`) of some of these, by version, as the lock file says: when it was published, or the day of the commit that it is. Untrusted. Empty in older logs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub released: BTreeMap<String, String>,
    /// The manifest.
    pub manifest: String,
    /// Its line there, from 1 on; 0 where it was not found.
    pub line: u64,
    /// The newest version that the operator's data names; none where the data has no such package. None in older logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest: Option<NewestVersion>,
}

/// The newest version of a package in the operator's data, beside what is locked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewestVersion {
    /// The version.
    pub version: String,
    /// The day on which it was published, as `2026-11-20`, where the data says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// Where the newest of the locked versions that the manifest can mean is beside it; none where no version is locked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<VersionGap>,
}

/// Where a version that is used is beside the newest one: by the first number that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VersionGap {
    /// Behind in the first number.
    Major,
    /// Behind in the second number.
    Minor,
    /// Behind in a later part.
    Patch,
    /// It is the newest.
    UpToDate,
    /// It is newer than what the data names.
    Newer,
    /// What the data names is newer, but a pre-release, and this one is none.
    PreRelease,
    /// One of the two does not follow the rules of its ecosystem.
    NotComparable,
}

impl VersionGap {
    /// The words that an answer shows.
    pub const fn words(self) -> &'static str {
        match self {
            VersionGap::Major => "major behind",
            VersionGap::Minor => "minor behind",
            VersionGap::Patch => "patch behind",
            VersionGap::UpToDate => "up to date",
            VersionGap::Newer => "locked is newer",
            VersionGap::PreRelease => "only a pre-release",
            VersionGap::NotComparable => "not comparable",
        }
    }
}

/// The operator's data of newest versions, as far as it was used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewestScan {
    /// The first day on which a registry was asked for what is used here, as `2026-11-20`; empty where nothing is.
    #[serde(default)]
    pub since: String,
    /// The last of these days.
    #[serde(default)]
    pub until: String,
    /// Packages that manifests ask for and the data does not hold.
    #[serde(default)]
    pub missing: u64,
    /// Lines and files of the data that were not understood, or left out by a limit.
    #[serde(default)]
    pub unread: u64,
    /// Why nothing was looked at although there should be data, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// What the operator's advisories say of what is locked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdvisoryScan {
    /// Day of the newest change in the data, as `2026-11-20`; empty where the data names none.
    pub date: String,
    /// Advisories that the data holds, without those that were withdrawn.
    pub known: u64,
    /// Files that were not understood, and files and folders that were left out by a limit.
    #[serde(default)]
    pub unread: u64,
    /// The first matches, direct dependencies first.
    pub matches: Vec<AdvisoryMatch>,
    /// How many more there are.
    #[serde(default)]
    pub more: u64,
    /// Packages with an advisory whose version could not be compared, as `name version`.
    #[serde(default)]
    pub not_compared: Vec<String>,
    /// Locked versions that were not looked up to the end, because of a limit of number or time.
    #[serde(default)]
    pub not_looked_up: u64,
    /// Why nothing was looked at although there should be data, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// One advisory about one locked version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdvisoryMatch {
    /// Id of the advisory, as `RUSTSEC-2026-0001`.
    pub id: String,
    /// The ecosystem by its name in OSV.
    pub ecosystem: String,
    /// The package.
    pub name: String,
    /// The locked version.
    pub version: String,
    /// Whether a manifest asks for it by name.
    pub direct: bool,
    /// What the advisory says in short.
    pub summary: String,
    /// Versions without it, as the data says.
    pub fixed: Vec<String>,
}
