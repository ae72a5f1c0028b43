//! The operator's data of newest versions: a folder of files with lines of JSON, read on the host and never fetched here (`caisson deps newest` writes it).
//!
//! Owns the form of a line, what is read of the folder and its limits. Where a version is beside the newest one: `gap.rs`. Tests: `tests.rs`.

mod gap;

pub use gap::newest_release;

use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use domain::{Dependency, DependencyScan, NewestScan, NewestVersion};
use serde::{Deserialize, Serialize};

use self::gap::{gap, meant, pinned};
use super::advisories::{LOOKING, known, plain};
use super::dependencies::day;

/// Files that are read, bytes of one and of all, and of a line.
const MOST_FILES: usize = 1_000;
const MOST_BYTES: u64 = 16 << 20;
const ALL_BYTES: u64 = 256 << 20;
const MOST_LINE: usize = 4 << 10;
/// Bytes of a name or a version, and lines that the log names as not read.
const WORD: usize = 100;
const NAMED: u64 = 5;

/// A package by its ecosystem's name in OSV, and its name as lock files' names are compared.
pub type PackageName = (String, String);

/// What is known of one package: a line of the data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewestLine {
    /// The ecosystem by its name in OSV.
    pub ecosystem: String,
    /// The package.
    pub name: String,
    /// Its newest version.
    pub version: String,
    /// The day on which that was published, as `2026-11-20`, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// The day on which its registry was asked.
    pub asked: String,
}

impl NewestLine {
    /// Reads a line; none where it is too long, or no such line.
    fn read(line: &[u8]) -> Option<Self> {
        if line.len() > MOST_LINE {
            return None;
        }
        let line: Self = serde_json::from_slice(line).ok()?;
        let ecosystem = known(&line.ecosystem).filter(|it| *it == line.ecosystem)?;
        if !is_word(&line.name) || !is_word(&line.version) {
            return None;
        }
        let published = match &line.published {
            Some(text) => Some(day(text)?),
            None => None,
        };
        Some(Self { name: plain(ecosystem, &line.name), published, asked: day(&line.asked)?, ..line })
    }
}

/// Whether the data can have it as a name or a version.
pub fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= WORD && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// The operator's folder of newest versions.
#[derive(Debug, Clone)]
pub struct NewestVersions {
    dir: Option<PathBuf>,
}

impl NewestVersions {
    /// Of this folder; without one nothing is known.
    pub fn new(dir: Option<PathBuf>) -> Self {
        Self { dir }
    }

    /// Fills in what the data says of the direct dependencies; nothing without a folder. It is read on a thread that may block.
    pub async fn fill(&self, scan: &mut DependencyScan) {
        let Some(dir) = self.dir.clone() else { return };
        let packages: HashSet<PackageName> = of_registries(&scan.direct).collect();
        let read = tokio::task::spawn_blocking(move || read_folder(&dir, &packages, Instant::now() + LOOKING)).await;
        // Where the folder lies on the operator's machine is nobody else's business.
        let trouble = |sentence: &str| NewestScan { trouble: Some(sentence.to_owned()), ..NewestScan::default() };
        scan.newest = Some(match read {
            Ok(Ok(data)) => data.put_into(&mut scan.direct),
            Ok(Err(error)) => {
                tracing::error!(%error, "the newest versions cannot be read");
                trouble("the operator's folder of newest versions cannot be read")
            }
            Err(error) => {
                tracing::error!(%error, "the newest versions were not looked at");
                trouble("looking at the newest versions ended early")
            }
        });
    }

    /// What the data says of these packages now. Blocks while files are read.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn lines(&self, packages: &HashSet<PackageName>) -> std::io::Result<HashMap<PackageName, NewestLine>> {
        let Some(dir) = &self.dir else { return Ok(HashMap::new()) };
        Ok(read_folder(dir, packages, Instant::now() + LOOKING)?.lines)
    }
}

fn name_of(dependency: &Dependency) -> PackageName {
    (dependency.ecosystem.clone(), dependency.name.clone())
}

/// The packages for which manifests ask the public registries.
pub fn of_registries(direct: &[Dependency]) -> impl Iterator<Item = PackageName> {
    direct.iter().filter(|it| is_of_registry(it)).map(name_of)
}

/// Whether a manifest asks the public registry for it, by its name: not an address, a repository, a folder or another registry.
fn is_of_registry(dependency: &Dependency) -> bool {
    let asked = dependency.asked.as_str();
    let elsewhere = asked.contains("://") || ["git ", "path ", "registry ", "@"].iter().any(|it| asked.starts_with(it));
    let of_npm_elsewhere = dependency.ecosystem == "npm" && asked.contains(['/', ':']);
    !(elsewhere || of_npm_elsewhere)
}

/// What was read of the folder.
#[derive(Debug, Default)]
struct NewestData {
    lines: HashMap<PackageName, NewestLine>,
    unread: u64,
}

/// Reads what the files of a folder say of these packages, until `end`. What is not understood is counted.
fn read_folder(dir: &Path, packages: &HashSet<PackageName>, end: Instant) -> std::io::Result<NewestData> {
    let (mut data, mut files, mut room) = (NewestData::default(), Vec::new(), ALL_BYTES);
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let path = entry.path();
        if path.extension().is_none_or(|kind| kind != "jsonl") || !entry.file_type()?.is_file() {
            continue;
        }
        match files.len() < MOST_FILES {
            true => files.push(path),
            false => data.not_read(&shown(&path)),
        }
    }
    files.sort_unstable();
    for path in files {
        match read_file(&path, MOST_BYTES.min(room)) {
            Some(bytes) => {
                room -= bytes.len() as u64;
                data.file(&shown(&path), &bytes, packages, end);
            }
            None => data.not_read(&shown(&path)),
        }
    }
    Ok(data)
}

fn shown(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A file of at most so many bytes.
fn read_file(path: &Path, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(most + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}

impl NewestData {
    /// Only the log names it: a file has the name of a repository, which may not be the one that an answer is about.
    fn not_read(&mut self, what: &str) {
        self.unread += 1;
        if self.unread <= NAMED {
            tracing::warn!(what, "not read of the newest versions");
        }
    }

    fn file(&mut self, name: &str, bytes: &[u8], packages: &HashSet<PackageName>, end: Instant) {
        for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            if Instant::now() >= end {
                return self.not_read(&format!("{name}:{} and what follows", at + 1));
            }
            match NewestLine::read(line) {
                Some(line) => self.take(line, packages),
                None => self.not_read(&format!("{name}:{}", at + 1)),
            }
        }
    }

    /// Keeps a line about one of the packages, unless another one was asked later.
    fn take(&mut self, line: NewestLine, packages: &HashSet<PackageName>) {
        let name = (line.ecosystem.clone(), line.name.clone());
        let older = self.lines.get(&name).is_none_or(|present| present.asked < line.asked);
        if older && packages.contains(&name) {
            self.lines.insert(name, line);
        }
    }

    /// Fills in the newest version of each dependency, and says what the data was.
    fn put_into(self, direct: &mut [Dependency]) -> NewestScan {
        let mut missing = HashSet::new();
        for it in direct.iter_mut().filter(|it| is_of_registry(it)) {
            let Some(line) = self.lines.get(&name_of(it)) else {
                missing.insert(name_of(it));
                continue;
            };
            let mut used = meant(&it.ecosystem, &it.asked, &it.locked);
            if used.is_empty() {
                used.extend(pinned(&it.ecosystem, &it.asked));
            }
            let gap = gap(&it.ecosystem, &line.version, &used);
            it.newest = Some(NewestVersion { version: line.version.clone(), published: line.published.clone(), gap });
        }
        let days = || self.lines.values().map(|line| line.asked.clone());
        NewestScan {
            since: days().min().unwrap_or_default(),
            until: days().max().unwrap_or_default(),
            missing: missing.len() as u64,
            unread: self.unread,
            trouble: None,
        }
    }
}

#[cfg(test)]
mod tests;
