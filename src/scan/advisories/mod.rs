//! The operator's advisories: a folder of files in the OSV format, read on the host and never fetched.
//!
//! Owns the index by package, which is made once and kept while the folder stays as it is: it changes when the folder, or one in it, gets or loses a file, so
//! newer data is put in the place of the older as a whole. Which version is affected: `osv.rs`. Tests: below.

mod maven;
mod osv;
mod versions;

pub(super) use versions::Comparable;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use domain::{AdvisoryMatch, AdvisoryScan};

use self::osv::{Advisory, Affects};
use super::dependencies::Package;
use crate::text::{cut, one_line};

/// The ecosystems whose packages are looked up, by their names in OSV.
const ECOSYSTEMS: [&str; 6] = ["crates.io", "npm", "PyPI", "Go", "Maven", "Packagist"];
/// Files that are read at most, bytes of one, folders within the folder, and time of making the index.
const MOST_FILES: usize = 500_000;
const MOST_BYTES: u64 = 4 << 20;
const MOST_FOLDERS: usize = 1_000;
const TIME: Duration = Duration::from_secs(300);
/// Versions of one package that are looked up, and how long all of them may take. How many packages there are, the reader of lock files limits.
const VERSIONS: usize = 50;
pub(super) const LOOKING: Duration = Duration::from_secs(60);
/// Matches that are kept, packages that are named as not compared, versions without an advisory, and characters of what it says.
const KEPT: usize = 100;
const NOT_COMPARED: usize = 40;
const FIXED: usize = 5;
const SUMMARY: usize = 200;

/// The operator's folder, with its index once it was needed.
#[derive(Debug)]
pub struct Advisories {
    dir: Option<PathBuf>,
    index: Mutex<Option<Arc<Index>>>,
}

/// Which files speak of which package.
#[derive(Debug, Default)]
struct Index {
    /// The folders that it was made of, each with the time of its last change.
    made_of: Vec<(PathBuf, SystemTime)>,
    files: Vec<PathBuf>,
    by_package: HashMap<(&'static str, String), Vec<u32>>,
    /// The newest change that a file names.
    modified: String,
    known: u64,
    unread: u64,
}

impl Advisories {
    /// Of this folder; without one nothing is known of any package.
    pub fn new(dir: Option<PathBuf>) -> Self {
        Self { dir, index: Mutex::default() }
    }

    /// What the data says of these packages; none without a folder. Runs on a thread that may block, for the index may have to be made.
    pub async fn look(self: &Arc<Self>, packages: Vec<Package>) -> Option<AdvisoryScan> {
        self.dir.as_ref()?;
        let this = self.clone();
        let trouble = |sentence: String| AdvisoryScan { trouble: Some(sentence), ..AdvisoryScan::default() };
        let looked = tokio::task::spawn_blocking(move || this.look_now(&packages, LOOKING)).await;
        Some(match looked {
            Ok(Ok(scan)) => scan,
            Ok(Err(error)) => {
                tracing::error!(%error, "the advisories cannot be read");
                // Where the folder lies on the operator's machine is nobody else's business.
                trouble("the operator's folder of advisories cannot be read".to_owned())
            }
            Err(error) => {
                tracing::error!(%error, "the advisories were not looked at");
                trouble("looking at the advisories ended early".to_owned())
            }
        })
    }

    fn look_now(&self, packages: &[Package], time: Duration) -> std::io::Result<AdvisoryScan> {
        let Some(dir) = &self.dir else { return Ok(AdvisoryScan::default()) };
        let index = self.index(dir)?;
        let scan = AdvisoryScan {
            date: index.modified.get(..10).unwrap_or_default().to_owned(),
            known: index.known,
            unread: index.unread,
            ..AdvisoryScan::default()
        };
        let mut looking = Looking { scan, end: Instant::now() + time };
        for ((_, ecosystem, name), versions) in grouped(packages) {
            if let Some(of) = index.by_package.get(&(ecosystem, name.to_owned())) {
                looking.package(ecosystem, &versions, of.iter().filter_map(|at| index.files.get(*at as usize)));
            }
        }
        looking.keep_first();
        Ok(looking.scan)
    }

    /// The index of the folder as it is now. One at a time makes it.
    fn index(&self, dir: &Path) -> std::io::Result<Arc<Index>> {
        let mut kept = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let (folders, left_out) = folders(dir, MOST_FOLDERS)?;
        if let Some(index) = kept.as_ref().filter(|index| index.made_of == folders) {
            return Ok(index.clone());
        }
        let began = Instant::now();
        let index = Arc::new(Index::make(folders, left_out)?);
        tracing::info!(
            files = index.files.len(),
            known = index.known,
            unread = index.unread,
            ms = began.elapsed().as_millis(),
            "the advisories are indexed"
        );
        *kept = Some(index.clone());
        Ok(index)
    }
}

/// Packages of known ecosystems by whether a manifest asks for one, ecosystem and name: those that are asked for come first, for time may run out.
fn grouped(packages: &[Package]) -> BTreeMap<(bool, &'static str, &str), Vec<&Package>> {
    let mut found: BTreeMap<(bool, &'static str, &str), Vec<&Package>> = BTreeMap::new();
    for package in packages {
        if let Some(ecosystem) = ECOSYSTEMS.into_iter().find(|it| *it == package.ecosystem) {
            found.entry((!package.direct, ecosystem, &package.name)).or_default().push(package);
        }
    }
    found
}

/// A look under way.
struct Looking {
    scan: AdvisoryScan,
    end: Instant,
}

impl Looking {
    /// Looks up the versions of one package. Every advisory about it is read once, and dropped before the next.
    fn package<'a>(
        &mut self,
        ecosystem: &'static str,
        versions: &[&Package],
        files: impl Iterator<Item = &'a PathBuf>,
    ) {
        let taken = &versions[..versions.len().min(VERSIONS)];
        self.scan.not_looked_up += (versions.len() - taken.len()) as u64;
        let mut unclear = vec![false; taken.len()];
        for file in files {
            // It may have been taken away since the index was made.
            let advisory = read(file).ok().flatten();
            for (package, unclear) in taken.iter().zip(&mut unclear) {
                if Instant::now() >= self.end {
                    self.scan.not_looked_up += taken.len() as u64;
                    return;
                }
                match advisory.as_ref().map_or(Judged::Unclear, |it| judge(it, ecosystem, package)) {
                    Judged::Match(found) => self.keep(found),
                    Judged::Unclear => *unclear = true,
                    Judged::Nothing => {}
                }
            }
        }
        for (package, _) in taken.iter().zip(unclear).filter(|(_, unclear)| *unclear) {
            if self.scan.not_compared.len() < NOT_COMPARED {
                self.scan.not_compared.push(format!("{} {}", package.name, package.version));
            }
        }
    }

    fn keep(&mut self, found: AdvisoryMatch) {
        self.scan.matches.push(found);
        // A multiple of what stays, so that sorting is rare.
        if self.scan.matches.len() >= 10 * KEPT {
            self.keep_first();
        }
    }

    /// Leaves the first matches and counts the rest.
    fn keep_first(&mut self) {
        let matches = &mut self.scan.matches;
        matches.sort_by(|a, b| (!a.direct, &a.name, &a.version, &a.id).cmp(&(!b.direct, &b.name, &b.version, &b.id)));
        self.scan.more += matches.len().saturating_sub(KEPT) as u64;
        matches.truncate(KEPT);
    }
}

/// A folder with the time of its last change.
type Folder = (PathBuf, SystemTime);

/// The folder and those in it, and how many more there are than `most`. Links are not followed.
fn folders(dir: &Path, most: usize) -> std::io::Result<(Vec<Folder>, u64)> {
    let (mut found, mut waiting, mut left_out) = (Vec::new(), vec![dir.to_owned()], 0);
    while let Some(folder) = waiting.pop() {
        found.push((folder.clone(), std::fs::metadata(&folder)?.modified()?));
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                continue;
            }
            match found.len() + waiting.len() < most {
                true => waiting.push(entry.path()),
                false => left_out += 1,
            }
        }
    }
    found.sort_unstable();
    Ok((found, left_out))
}

impl Index {
    /// Of these folders; what was left out of them is counted as unread.
    fn make(folders: Vec<Folder>, left_out: u64) -> std::io::Result<Self> {
        let (end, mut index) = (Instant::now() + TIME, Index { unread: left_out, ..Index::default() });
        for (folder, _) in &folders {
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                let path = entry.path();
                if !entry.file_type()?.is_file() || path.extension().is_none_or(|end| end != "json") {
                    continue;
                }
                let full = index.files.len() >= MOST_FILES || Instant::now() >= end;
                match if full { None } else { read(&path).ok().flatten() } {
                    Some(advisory) => index.add(path, &advisory),
                    None => index.unread += 1,
                }
            }
        }
        index.made_of = folders;
        Ok(index)
    }

    fn add(&mut self, path: PathBuf, advisory: &Advisory) {
        if advisory.modified > self.modified {
            self.modified.clone_from(&advisory.modified);
        }
        if advisory.withdrawn.is_some() {
            return;
        }
        let named = advisory.affected.iter().filter_map(|it| it.package.as_ref());
        let packages: HashSet<(&'static str, String)> =
            named.filter_map(|it| Some((known(&it.ecosystem)?, plain(&it.ecosystem, &it.name)))).collect();
        if packages.is_empty() {
            return;
        }
        let Ok(at) = u32::try_from(self.files.len()) else { return };
        self.files.push(path);
        self.known += 1;
        for package in packages {
            self.by_package.entry(package).or_default().push(at);
        }
    }
}

/// The ecosystem, which may have a suffix behind a colon.
pub(super) fn known(ecosystem: &str) -> Option<&'static str> {
    let name = ecosystem.split(':').next().unwrap_or_default();
    ECOSYSTEMS.into_iter().find(|known| *known == name)
}

/// As the names of lock files are compared.
pub(super) fn plain(ecosystem: &str, name: &str) -> String {
    match ecosystem {
        "PyPI" => super::dependencies::plain_python(name),
        "Packagist" => name.to_lowercase(),
        _ => name.to_owned(),
    }
}

/// One file; none where it is too large or no advisory.
fn read(path: &Path) -> std::io::Result<Option<Advisory>> {
    let large = std::fs::metadata(path)?.len() > MOST_BYTES;
    let bytes = if large { Vec::new() } else { std::fs::read(path)? };
    Ok(serde_json::from_slice(&bytes).ok())
}

/// What one advisory says of a package.
enum Judged {
    Match(AdvisoryMatch),
    Unclear,
    Nothing,
}

fn judge(advisory: &Advisory, ecosystem: &'static str, package: &Package) -> Judged {
    let is_it = |it: &&osv::Affected| {
        it.package.as_ref().is_some_and(|named| {
            known(&named.ecosystem) == Some(ecosystem) && plain(ecosystem, &named.name) == package.name
        })
    };
    let mut judged = Judged::Nothing;
    for affected in advisory.affected.iter().filter(is_it) {
        match affected.judge(ecosystem, &package.version) {
            Affects::It { fixed } => {
                let summary = if advisory.summary.is_empty() { &advisory.details } else { &advisory.summary };
                let short = |text: &str, most| cut(&one_line(text.trim()), most).0.to_owned();
                return Judged::Match(AdvisoryMatch {
                    id: short(&advisory.id, 60),
                    ecosystem: ecosystem.to_owned(),
                    name: package.name.clone(),
                    version: package.version.clone(),
                    direct: package.direct,
                    summary: short(summary, SUMMARY),
                    fixed: fixed.iter().take(FIXED).map(|version| short(version, 60)).collect(),
                });
            }
            Affects::CannotCompare => judged = Judged::Unclear,
            Affects::Not => {}
        }
    }
    judged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(ecosystem: &str, name: &str, version: &str, direct: bool) -> Package {
        Package { ecosystem: ecosystem.into(), name: name.into(), version: version.into(), direct }
    }

    fn write(dir: &Path, name: &str, ecosystem: &str, package: &str, more: &str) {
        let text = format!(
            r#"{{ "schema_version": "1.7.0", "id": "{}", "modified": "2026-11-20T10:00:00Z", "summary": "It breaks.", {more} "affected": [{{ "package": {{ "ecosystem": "{ecosystem}", "name": "{package}" }}, "ranges": [{{ "type": "SEMVER", "events": [{{ "introduced": "0" }}, {{ "fixed": "1.2.0" }}] }}] }}] }}"#,
            Path::new(name).file_stem().expect("a name").display()
        );
        std::fs::create_dir_all(dir.join(name).parent().expect("a folder")).expect("made");
        std::fs::write(dir.join(name), text).expect("written");
    }

    #[tokio::test]
    async fn packages_are_looked_up_and_withdrawn_advisories_are_left_out() {
        let dir = tempfile::tempdir().expect("a folder");
        write(dir.path(), "A-1.json", "crates.io", "serde", "");
        write(dir.path(), "A-2.json", "crates.io", "serde", r#""withdrawn": "2026-01-01T00:00:00Z","#);
        write(dir.path(), "npm/B-1.json", "npm", "serde", "");
        write(dir.path(), "C-1.json", "Debian:12", "serde", "");
        std::fs::write(dir.path().join("broken.json"), "{").expect("written");
        std::fs::write(dir.path().join("README.md"), "x").expect("written");
        let advisories = Arc::new(Advisories::new(Some(dir.path().to_owned())));
        let wanted = vec![
            package("crates.io", "serde", "1.0.0", false),
            package("crates.io", "serde", "1.2.0", true),
            package("npm", "serde", "1.1.0", true),
            package("crates.io", "odd", "1.0.0", true),
            package("npm", "serde", "latest", true),
        ];
        let scan = advisories.look(wanted).await.expect("data");
        let found: Vec<_> = scan.matches.iter().map(|it| (it.id.as_str(), it.version.as_str(), it.direct)).collect();
        assert_eq!(found, [("B-1", "1.1.0", true), ("A-1", "1.0.0", false)], "direct ones first");
        assert_eq!((scan.date.as_str(), scan.known, scan.unread), ("2026-11-20", 2, 1));
        assert_eq!(scan.matches[0].fixed, ["1.2.0"]);
        assert_eq!(scan.not_compared, ["serde latest"]);
    }

    #[tokio::test]
    async fn the_index_is_made_once_and_again_when_a_file_is_added() {
        let dir = tempfile::tempdir().expect("a folder");
        write(dir.path(), "A-1.json", "crates.io", "serde", "");
        let advisories = Arc::new(Advisories::new(Some(dir.path().to_owned())));
        let known = async || advisories.look(Vec::new()).await.expect("data").known;
        assert_eq!(known().await, 1);
        let first = advisories.index.lock().expect("whole").clone().expect("made");
        assert_eq!(known().await, 1);
        let second = advisories.index.lock().expect("whole").clone().expect("made");
        assert!(Arc::ptr_eq(&first, &second));
        write(dir.path(), "A-3.json", "crates.io", "serde", "");
        // Within one tick of the clock of files nothing would show.
        let file = std::fs::File::open(dir.path()).expect("opened");
        file.set_modified(SystemTime::now() + Duration::from_secs(5)).expect("set");
        assert_eq!(known().await, 2);
    }

    #[tokio::test]
    async fn without_a_folder_nothing_is_looked_at_and_one_that_is_gone_is_said() {
        assert_eq!(Arc::new(Advisories::new(None)).look(Vec::new()).await, None);
        let dir = tempfile::tempdir().expect("a folder");
        let gone = Arc::new(Advisories::new(Some(dir.path().join("gone"))));
        let scan = gone.look(vec![package("npm", "a", "1.0.0", true)]).await.expect("said");
        let sentence = scan.trouble.expect("a sentence");
        assert!(sentence.contains("cannot be read") && !sentence.contains("gone"), "{sentence}");
    }

    #[test]
    fn versions_of_a_package_have_a_limit_and_matches_are_bounded() {
        let dir = tempfile::tempdir().expect("a folder");
        for number in 0..30 {
            write(dir.path(), &format!("A-{number}.json"), "npm", "tensor", "");
        }
        let advisories = Advisories::new(Some(dir.path().to_owned()));
        let wanted: Vec<Package> = (0..80).map(|n| package("npm", "tensor", &format!("1.0.{n}"), false)).collect();
        let scan = advisories.look_now(&wanted, LOOKING).expect("data");
        assert_eq!((scan.matches.len(), scan.more, scan.not_looked_up), (KEPT, 1_400, 30));
        let first = &scan.matches[0];
        assert_eq!((first.id.as_str(), first.version.as_str()), ("A-0", "1.0.0"));
    }

    #[test]
    fn without_time_nothing_is_looked_up_and_that_is_counted() {
        let dir = tempfile::tempdir().expect("a folder");
        write(dir.path(), "A-1.json", "npm", "a", "");
        let advisories = Advisories::new(Some(dir.path().to_owned()));
        let wanted = [package("npm", "a", "1.0.0", true), package("npm", "unknown", "1.0.0", true)];
        let scan = advisories.look_now(&wanted, Duration::ZERO).expect("data");
        assert_eq!((scan.matches.len(), scan.not_looked_up), (0, 1), "of the other there is no advisory to read");
    }

    #[test]
    fn folders_beyond_the_limit_are_counted() {
        let dir = tempfile::tempdir().expect("a folder");
        for name in ["a", "b/c", "d"] {
            std::fs::create_dir_all(dir.path().join(name)).expect("made");
        }
        assert_eq!(folders(dir.path(), 5).map(|(all, more)| (all.len(), more)).expect("read"), (5, 0));
        let (some, more) = folders(dir.path(), 2).expect("read");
        assert_eq!((some.len(), more >= 2), (2, true), "{more}");
        assert_eq!(Index::make(some, more).expect("made").unread, more);
    }
}
