//! What a tree depends on: its manifests with what they ask for, and its lock files with what they settle.
//!
//! Owns which files are read, which lock file belongs to which manifest (the nearest one above), and the limits. Every format has a file of its own, which only
//! parses. Nothing is run, resolved or fetched. Tests: `tests.rs`, and in each format.

mod cargo;
mod composer;
mod entry;
mod go;
mod lines;
mod maven;
mod npm;
mod pipfile;
mod pnpm;
mod python;
mod yarn;

pub(super) use python::plain as plain_python;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use domain::{Commit, Dependency, DependencyScan};

use self::lines::lines_of;
use super::foreign::is_foreign;
use crate::git::{GitError, ReadLimits, Repos, WhichFiles};
use crate::text::cut;

/// What is read at most.
const LIMITS: ReadLimits =
    ReadLimits { files: 20_000, file_bytes: 8 << 20, all_bytes: 64 << 20, time: Duration::from_secs(60) };
/// Manifests and lock files that are read.
const MOST_FILES: usize = 200;
/// Direct dependencies that are kept, and files that are named as not read.
const KEPT: usize = 300;
const UNREAD: usize = 40;
/// Of all files together: dependencies that are asked for, and versions that are locked; and versions of one package in one folder.
/// What is beyond is counted and not looked at, for a stranger's file can name a million.
const ASKED: usize = 5_000;
const LOCKED: usize = 50_000;
const VERSIONS: usize = 50;
/// How long what was read may be parsed. A single file is small enough to end soon.
const PARSING: Duration = Duration::from_secs(60);
/// Characters of a name or a version.
const WORD: usize = 100;
/// Files that say what is depended on, and are not understood.
const NOT_READ: [&str; 8] = [
    "bun.lock",
    "build.gradle",
    "build.gradle.kts",
    "setup.py",
    "setup.cfg",
    "Gemfile.lock",
    "environment.yml",
    "conanfile.txt",
];

/// What one manifest asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    name: String,
    /// As written; empty where it names no version.
    version: String,
    /// The versions that the manifest itself settles.
    locked: Vec<String>,
    /// Its line, from 1 on, where the reader of the format knows it; otherwise it is looked for.
    line: Option<u64>,
}

/// A package at one version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    /// The ecosystem by its name in OSV.
    pub ecosystem: String,
    /// Its name.
    pub name: String,
    /// The version that is locked.
    pub version: String,
    /// Whether a manifest asks for it by name.
    pub direct: bool,
}

/// One format.
struct Format {
    ecosystem: &'static str,
    /// Whether a file of this path is a manifest.
    is_manifest: fn(&str) -> bool,
    manifest: fn(&str) -> Result<Vec<Requirement>, String>,
    /// Names of lock files, with how each is read: names and versions.
    locks: &'static [(&'static str, LockReader)],
    /// The form in which two names are the same.
    plain: fn(&str) -> String,
    /// When locked versions were published, where a lock file tells it: names, versions, and days or times that begin with one.
    released: fn(&str) -> Vec<(String, String, String)>,
}

type LockReader = fn(&str) -> Result<Vec<(String, String)>, String>;

const FORMATS: [&Format; 6] =
    [&cargo::FORMAT, &npm::FORMAT, &python::FORMAT, &go::FORMAT, &maven::FORMAT, &composer::FORMAT];

/// The manifests and lock files of a commit, and the packages that are locked. No advisories are looked at here.
///
/// # Errors
/// When the commit is missing or the repository cannot be read.
pub async fn look_for_dependencies(
    repos: &Repos,
    key: &str,
    commit: &Commit,
) -> Result<(DependencyScan, Vec<Package>), GitError> {
    let which = WhichFiles { pick: Some(is_meant), ..WhichFiles::default() };
    let collect = |all: &mut BTreeMap<String, String>, path: &str, bytes: &[u8]| {
        let room = all.len() < MOST_FILES;
        if room {
            all.insert(path.to_owned(), String::from_utf8_lossy(bytes).into_owned());
        }
        room
    };
    let read = repos.each_file(key, commit, which, LIMITS, collect).await?;
    let (files, end) = (read.found, Instant::now() + PARSING);
    // A file of several megabytes takes its time, and the thread of an asynchronous task serves others.
    let parse = move || read_files(&files, end);
    let parsed = tokio::task::spawn_blocking(parse).await;
    let (mut scan, packages) = parsed.map_err(|e| GitError::Io(format!("reading manifests ended early: {e}")))?;
    if read.cut || read.passed_over > 0 {
        let what = format!("{} more", read.passed_over.max(1));
        scan.unread.push((what, "a limit of files, bytes or time was reached".to_owned()));
    }
    Ok((scan, packages))
}

/// Whether a file says what is depended on.
fn is_meant(path: &str) -> bool {
    let name = name_of(path);
    let known = |format: &&Format| (format.is_manifest)(path) || format.locks.iter().any(|(lock, _)| *lock == name);
    !is_foreign(path) && (NOT_READ.contains(&name) || FORMATS.iter().any(known))
}

/// The versions of packages by their plain names.
type Locked = HashMap<String, BTreeSet<String>>;

/// What is made of the files, within the limits.
struct Reading {
    scan: DependencyScan,
    packages: Vec<Package>,
    end: Instant,
    /// Dependencies and locked versions that were taken up.
    asked: usize,
    locked: usize,
    /// Days on which versions of this format's packages were published, by plain name and version.
    days: HashMap<(String, String), String>,
    /// Locked versions, and files, that were not.
    locked_more: u64,
    late: u64,
}

/// Puts manifests and lock files together, until `end`.
fn read_files(files: &BTreeMap<String, String>, end: Instant) -> (DependencyScan, Vec<Package>) {
    let (scan, packages) = (DependencyScan::default(), Vec::new());
    let mut reading =
        Reading { scan, packages, end, asked: 0, locked: 0, days: HashMap::new(), locked_more: 0, late: 0 };
    for format in FORMATS {
        reading.days.clear();
        let locks = reading.lock_files(format, files);
        for (path, text) in files.iter().filter(|(path, _)| (format.is_manifest)(path)) {
            reading.manifest(format, (path, text), nearest(&locks, folder_of(path)));
        }
        let locked = locks.into_values().flatten();
        let each = locked.flat_map(|(name, versions)| versions.into_iter().map(move |version| (name.clone(), version)));
        reading.packages.extend(each.map(|(name, version)| Package {
            ecosystem: format.ecosystem.to_owned(),
            name,
            version,
            direct: false,
        }));
    }
    reading.ended(files)
}

impl Reading {
    /// Whether there is no time for one more file; that is counted.
    fn is_late(&mut self) -> bool {
        let late = Instant::now() >= self.end;
        self.late += u64::from(late);
        late
    }

    /// The lock files of a format by their folders.
    fn lock_files(&mut self, format: &Format, files: &BTreeMap<String, String>) -> BTreeMap<String, Locked> {
        let mut found: BTreeMap<String, Locked> = BTreeMap::new();
        for (path, text) in files {
            let Some((_, read)) = format.locks.iter().find(|(lock, _)| *lock == name_of(path)) else { continue };
            if self.is_late() {
                continue;
            }
            match read_with(text, *read) {
                Ok((text, locked)) => {
                    self.scan.read.push(path.clone());
                    let days = (format.released)(text).into_iter().take(LOCKED.saturating_sub(self.days.len()));
                    let known = days.filter_map(|(name, version, day)| Some(((name, version), self::day(&day)?)));
                    self.days.extend(
                        known.map(|((name, version), day)| (((format.plain)(&short(&name)), short(&version)), day)),
                    );
                    self.lock(format, locked, found.entry(folder_of(path).to_owned()).or_default());
                }
                Err(why) => self.scan.unread.push((path.clone(), short(&why))),
            }
        }
        found
    }

    /// Takes up what a lock file names.
    fn lock(&mut self, format: &Format, locked: Vec<(String, String)>, into: &mut Locked) {
        for (at, (name, version)) in locked.iter().enumerate() {
            if self.locked >= LOCKED {
                self.locked_more += (locked.len() - at) as u64;
                return;
            }
            let versions = into.entry((format.plain)(&short(name))).or_default();
            let version = short(version);
            if versions.len() >= VERSIONS && !versions.contains(&version) {
                self.locked_more += 1;
            } else if versions.insert(version) {
                self.locked += 1;
            }
        }
    }

    /// Takes up what a manifest asks for.
    fn manifest(&mut self, format: &Format, (path, text): (&str, &str), lock: Option<&Locked>) {
        if self.is_late() {
            return;
        }
        let (text, mut asked) = match read_with(text, format.manifest) {
            Ok(read) => read,
            Err(why) => return self.scan.unread.push((path.to_owned(), short(&why))),
        };
        self.scan.read.push(path.to_owned());
        let room = ASKED - self.asked;
        self.scan.more += asked.len().saturating_sub(room) as u64;
        asked.truncate(room);
        self.asked += asked.len();
        let lines = lines_of(text, &asked);
        let line = |it: &Requirement| it.line.or_else(|| lines.get(it.name.as_str()).copied()).unwrap_or_default();
        let published = |name: &str, version: &String| {
            Some((version.clone(), self.days.get(&(name.to_owned(), version.clone()))?.clone()))
        };
        let with_days = |it: Dependency| {
            let released = it.locked.iter().filter_map(|version| published(&it.name, version)).collect();
            Dependency { released, ..it }
        };
        let of = |it: &Requirement| with_days(Dependency { line: line(it), ..dependency(format, path, it, lock) });
        let mut all: Vec<Dependency> = asked.iter().map(of).collect();
        all.sort_by_key(|it| it.line);
        for dependency in all {
            self.packages.extend(dependency.locked.iter().map(|version| Package {
                ecosystem: dependency.ecosystem.clone(),
                name: dependency.name.clone(),
                version: version.clone(),
                direct: true,
            }));
            match self.scan.direct.len() < KEPT {
                true => self.scan.direct.push(dependency),
                false => self.scan.more += 1,
            }
        }
    }

    /// What there is in the end, with what was left out.
    fn ended(self, files: &BTreeMap<String, String>) -> (DependencyScan, Vec<Package>) {
        let Self { mut scan, mut packages, .. } = self;
        for path in files.keys().filter(|path| NOT_READ.contains(&name_of(path))) {
            scan.unread.push((path.clone(), "this format is not understood".to_owned()));
        }
        let unnamed = scan.unread.len().saturating_sub(UNREAD);
        scan.unread.truncate(UNREAD);
        if unnamed > 0 {
            scan.unread.push((format!("{unnamed} more"), "only the first are named".to_owned()));
        }
        if self.locked_more > 0 {
            let why = "more locked versions than are looked at".to_owned();
            scan.unread.push((format!("{} more", self.locked_more), why));
        }
        if self.late > 0 {
            scan.unread.push((format!("{} more", self.late), "there was no time for these files".to_owned()));
        }
        // One may be both.
        scan.read.sort_unstable();
        scan.read.dedup();
        // Of one that is asked for by name and stands in a lock file too, the direct one stays.
        packages.sort_by(|a, b| {
            (&a.ecosystem, &a.name, &a.version, !a.direct).cmp(&(&b.ecosystem, &b.name, &b.version, !b.direct))
        });
        packages.dedup_by(|a, b| (&a.ecosystem, &a.name, &a.version) == (&b.ecosystem, &b.name, &b.version));
        scan.locked = packages.len() as u64;
        (scan, packages)
    }
}

/// What the reader of a format makes of a file, and its text without the mark that may stand before UTF-8.
fn read_with<T>(text: &str, read: fn(&str) -> Result<T, String>) -> Result<(&str, T), String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // UTF-16 has one in every ASCII character, and no format allows it.
    if text.contains('\0') {
        return Err("it is no UTF-8".to_owned());
    }
    Ok((text, read(text)?))
}

/// A dependency whose line is not known yet.
fn dependency(format: &Format, path: &str, asked: &Requirement, lock: Option<&Locked>) -> Dependency {
    let name = (format.plain)(&short(&asked.name));
    let mut locked: Vec<String> = lock.and_then(|lock| lock.get(&name)).into_iter().flatten().cloned().collect();
    // The nearest lock file may be another tool's, which does not know it.
    if locked.is_empty() {
        locked.extend(asked.locked.iter().map(|version| short(version)));
    }
    locked.sort_unstable();
    locked.dedup();
    let (ecosystem, manifest) = (format.ecosystem.to_owned(), path.to_owned());
    let (released, newest) = (BTreeMap::new(), None);
    Dependency { ecosystem, name, asked: short(&asked.version), locked, released, manifest, line: 0, newest }
}

/// The day with which this begins, as `2026-11-20`; none where it is none.
pub fn day(text: &str) -> Option<String> {
    let day: jiff::civil::Date = text.get(..10)?.parse().ok()?;
    (1990..=2100).contains(&day.year()).then(|| day.to_string())
}

/// The lock file of this folder, or of the nearest one above it.
fn nearest<'a, T>(locks: &'a BTreeMap<String, T>, folder: &str) -> Option<&'a T> {
    let mut folder = folder;
    loop {
        if let Some(found) = locks.get(folder) {
            return Some(found);
        }
        if folder.is_empty() {
            return None;
        }
        folder = folder_of(folder);
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A word of a file as it is kept: one line, not long.
fn short(text: &str) -> String {
    cut(&crate::text::one_line(text.trim()), WORD).0.to_owned()
}

#[cfg(test)]
mod tests;
