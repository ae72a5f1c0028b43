//! What a tree depends on: its manifests with what they ask for, and its lock files with what they settle.
//!
//! Owns which files are read, which lock file belongs to which manifest (the nearest one above), and the limits. Every format has a file of its own, which only
//! parses. Nothing is run, resolved or fetched. Tests: below and beside each format.

mod cargo;
mod go;
mod npm;
mod python;

pub(super) use python::plain as plain_python;

use std::collections::BTreeMap;
use std::time::Duration;

use domain::{Commit, Dependency, DependencyScan};

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
/// Characters of a name or a version.
const WORD: usize = 100;
/// Folders that hold other people's packages.
const FOREIGN: [&str; 5] = ["node_modules", "vendor", "target", ".venv", "site-packages"];
/// Files that say what is depended on, and are not understood.
const NOT_READ: [&str; 14] = [
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "Pipfile",
    "Pipfile.lock",
    "setup.py",
    "setup.cfg",
    "Gemfile.lock",
    "composer.lock",
    "environment.yml",
    "conanfile.txt",
];

/// What one manifest asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Asked {
    name: String,
    /// As written; empty where it names no version.
    version: String,
    /// The versions that the manifest itself settles.
    locked: Vec<String>,
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
    /// Whether a file of this name is a manifest.
    is_manifest: fn(&str) -> bool,
    manifest: fn(&str) -> Result<Vec<Asked>, String>,
    /// Names of lock files, with how each is read: names and versions.
    locks: &'static [(&'static str, LockReader)],
    /// The form in which two names are the same.
    plain: fn(&str) -> String,
}

type LockReader = fn(&str) -> Result<Vec<(String, String)>, String>;

const FORMATS: [&Format; 4] = [&cargo::FORMAT, &npm::FORMAT, &python::FORMAT, &go::FORMAT];

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
    let (mut scan, packages) = read_files(&read.found);
    if read.cut || read.passed_over > 0 {
        let what = format!("{} more", read.passed_over.max(1));
        scan.unread.push((what, "a limit of files, bytes or time was reached".to_owned()));
    }
    Ok((scan, packages))
}

/// Whether a file says what is depended on.
fn is_meant(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let known = |format: &&Format| (format.is_manifest)(name) || format.locks.iter().any(|(lock, _)| *lock == name);
    !folder.split('/').any(|part| FOREIGN.contains(&part)) && (NOT_READ.contains(&name) || FORMATS.iter().any(known))
}

/// Puts manifests and lock files together.
fn read_files(files: &BTreeMap<String, String>) -> (DependencyScan, Vec<Package>) {
    let mut scan = DependencyScan::default();
    let mut packages: Vec<Package> = Vec::new();
    for format in FORMATS {
        let locks = lock_files(format, files, &mut scan);
        for (path, text) in files.iter().filter(|(path, _)| (format.is_manifest)(name_of(path))) {
            let asked = match (format.manifest)(text) {
                Ok(asked) => asked,
                Err(why) => {
                    scan.unread.push((path.clone(), short(&why)));
                    continue;
                }
            };
            scan.read.push(path.clone());
            let mut all: Vec<Dependency> =
                asked.into_iter().map(|asked| dependency(format, (path, text), asked, &locks)).collect();
            all.sort_by_key(|it| it.line);
            for dependency in all {
                packages.extend(dependency.locked.iter().map(|version| Package {
                    ecosystem: dependency.ecosystem.clone(),
                    name: dependency.name.clone(),
                    version: version.clone(),
                    direct: true,
                }));
                match scan.direct.len() < KEPT {
                    true => scan.direct.push(dependency),
                    false => scan.more += 1,
                }
            }
        }
        packages.extend(locks.values().flatten().map(|(name, version)| Package {
            ecosystem: format.ecosystem.to_owned(),
            name: name.clone(),
            version: version.clone(),
            direct: false,
        }));
    }
    for path in files.keys().filter(|path| NOT_READ.contains(&name_of(path))) {
        scan.unread.push((path.clone(), "this format is not understood".to_owned()));
    }
    scan.unread.truncate(UNREAD);
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

/// The lock files of a format by their folders, each with plain names and versions.
fn lock_files(
    format: &Format,
    files: &BTreeMap<String, String>,
    scan: &mut DependencyScan,
) -> BTreeMap<String, Vec<(String, String)>> {
    let mut found: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (path, text) in files {
        let Some((_, read)) = format.locks.iter().find(|(lock, _)| *lock == name_of(path)) else { continue };
        match read(text) {
            Ok(locked) => {
                scan.read.push(path.clone());
                let plain = locked.into_iter().map(|(name, version)| ((format.plain)(&short(&name)), short(&version)));
                found.entry(folder_of(path).to_owned()).or_default().extend(plain);
            }
            Err(why) => scan.unread.push((path.clone(), short(&why))),
        }
    }
    found
}

fn dependency(
    format: &Format,
    (path, text): (&str, &str),
    asked: Asked,
    locks: &BTreeMap<String, Vec<(String, String)>>,
) -> Dependency {
    let line = line_of(text, &asked.name);
    let name = (format.plain)(&short(&asked.name));
    let mut locked = match nearest(locks, folder_of(path)) {
        Some(lock) => lock.iter().filter(|(other, _)| *other == name).map(|(_, version)| version.clone()).collect(),
        None => asked.locked,
    };
    locked.sort_unstable();
    locked.dedup();
    let (ecosystem, manifest) = (format.ecosystem.to_owned(), path.to_owned());
    Dependency { ecosystem, name, asked: short(&asked.version), locked, manifest, line }
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

/// The first line that begins with this name, or has it in quotes, from 1 on; 0 where there is none.
fn line_of(text: &str, name: &str) -> u64 {
    let is_it = |line: &str| {
        let bare = line.trim_start().trim_start_matches(['"', '\'']);
        let begins = bare
            .strip_prefix(name)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || "-_./".contains(c)));
        begins || ["\"", "'"].iter().any(|quote| line.contains(&format!("{quote}{name}{quote}")))
    };
    text.lines().position(is_it).map_or(0, |at| at as u64 + 1)
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
mod tests {
    use super::*;

    fn files(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        all.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn a_manifest_is_read_with_the_nearest_lock_file_above_it() {
        let (scan, packages) = read_files(&files(&[
            (
                "Cargo.lock",
                "[[package]]\nname = \"serde\"\nversion = \"1.0.1\"\nsource = \"registry\"\n[[package]]\nname = \"itoa\"\nversion = \"1.0.0\"\nsource = \"registry\"\n[[package]]\nname = \"own\"\nversion = \"0.1.0\"\n",
            ),
            ("own/Cargo.toml", "[dependencies]\nserde = \"1\"\nabsent = \"2\"\n"),
            ("web/package.json", "{\n  \"dependencies\": { \"left-pad\": \"^1.0.0\" }\n}\n"),
            ("web/yarn.lock", "left-pad@^1.0.0:\n"),
            ("broken/Cargo.toml", "[dependencies\n"),
        ]));
        let direct: Vec<_> =
            scan.direct.iter().map(|it| (it.name.as_str(), it.asked.as_str(), it.locked.join(" "), it.line)).collect();
        assert_eq!(
            direct,
            [
                ("serde", "1", "1.0.1".to_owned(), 2),
                ("absent", "2", String::new(), 3),
                ("left-pad", "^1.0.0", String::new(), 2)
            ]
        );
        let known: Vec<_> = packages.iter().map(|it| (it.name.as_str(), it.version.as_str(), it.direct)).collect();
        assert_eq!(known, [("itoa", "1.0.0", false), ("serde", "1.0.1", true)]);
        assert_eq!((scan.read.len(), scan.locked), (3, 2), "{:?}", scan.read);
        let unread: Vec<_> = scan.unread.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(unread, ["broken/Cargo.toml", "web/yarn.lock"]);
    }

    #[test]
    fn files_of_others_packages_are_none_of_the_projects() {
        assert!(is_meant("a/Cargo.toml") && is_meant("requirements-dev.txt") && is_meant("pom.xml"));
        for path in ["node_modules/a/package.json", "a/vendor/b/go.mod", "Cargo.toml.orig", "a.txt"] {
            assert!(!is_meant(path), "{path}");
        }
    }

    #[test]
    fn words_of_a_file_are_cut_and_direct_dependencies_have_a_limit() {
        let many: String = (0..400).map(|n| format!("a{n} = \"{}\"\n", "9".repeat(500))).collect();
        let (scan, _) = read_files(&files(&[("Cargo.toml", &format!("[dependencies]\n{many}"))]));
        assert_eq!((scan.direct.len(), scan.more), (KEPT, 100));
        assert!(scan.direct.iter().all(|it| it.asked.chars().count() <= WORD));
    }
}
