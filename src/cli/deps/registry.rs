//! The registries of the ecosystems: where each is asked for a package, and what its answer says of the newest release.
//!
//! Owns which names can exist there, so that a manifest's words only ever become segments of a path, and what counts as a release: no pre-release and
//! nothing that was yanked. Must not fetch. Tests: `registry_tests.rs`.

use crate::scan::{day, is_word, newest_release};
use regex::Regex;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use url::Url;

/// One ecosystem's registry.
pub struct Registry {
    /// The ecosystem by its name in OSV.
    pub ecosystem: &'static str,
    /// The public registry's address.
    pub address: &'static str,
    /// The form of the answer that is asked for.
    pub accept: &'static str,
    /// The segments of a package's path below the address; none where no package can have this name.
    segments: fn(&str) -> Option<Vec<String>>,
    /// What an answer says.
    pub newest: fn(&str) -> Result<Option<Release>, String>,
}

/// The newest release of a package, with the day on which it was published where the registry says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    pub version: String,
    pub published: Option<String>,
}

const JSON: &str = "application/json";

/// All that are asked.
pub static REGISTRIES: [Registry; 6] = [
    Registry {
        // doc.rust-lang.org/cargo/reference/registry-index.html
        ecosystem: "crates.io",
        address: "https://index.crates.io",
        accept: "text/plain",
        segments: of_crate,
        newest: crates_io,
    },
    Registry {
        // docs.pypi.org/api/json
        ecosystem: "PyPI",
        address: "https://pypi.org",
        accept: JSON,
        segments: |name| fits(name, "._-").then(|| words(&["pypi", name, "json"])),
        newest: pypi,
    },
    Registry {
        // github.com/npm/registry: package-metadata
        ecosystem: "npm",
        address: "https://registry.npmjs.org",
        accept: "application/vnd.npm.install-v1+json",
        segments: of_npm,
        newest: npm,
    },
    Registry {
        // go.dev/ref/mod#goproxy-protocol
        ecosystem: "Go",
        address: "https://proxy.golang.org",
        accept: JSON,
        segments: of_go,
        newest: go,
    },
    Registry {
        // packagist.org/apidoc#get-package-data
        ecosystem: "Packagist",
        address: "https://repo.packagist.org",
        accept: JSON,
        segments: of_packagist,
        newest: packagist,
    },
    Registry {
        // maven.apache.org/ref/current/maven-repository-metadata
        ecosystem: "Maven",
        address: "https://repo1.maven.org/maven2",
        accept: "application/xml",
        segments: of_maven,
        newest: maven,
    },
];

impl Registry {
    /// That of an ecosystem.
    pub fn of(ecosystem: &str) -> Option<&'static Registry> {
        REGISTRIES.iter().find(|it| it.ecosystem == ecosystem)
    }

    /// The address of a package below that of the registry; none where no package can have this name.
    pub fn url(&self, base: &Url, name: &str) -> Option<Url> {
        let mut url = base.clone();
        url.path_segments_mut().ok()?.pop_if_empty().extend((self.segments)(name)?);
        Some(url)
    }
}

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|it| (*it).to_owned()).collect()
}

/// Whether a name has at most 214 letters, digits and these signs of ASCII, and begins with a letter or a digit.
fn fits(name: &str, signs: &str) -> bool {
    let first = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    first && name.len() <= 214 && name.chars().all(|c| c.is_ascii_alphanumeric() || signs.contains(c))
}

fn of_crate(name: &str) -> Option<Vec<String>> {
    if !fits(name, "-_") || name.len() > 64 {
        return None;
    }
    let name = name.to_ascii_lowercase();
    Some(match name.len() {
        length @ (1 | 2) => words(&[&length.to_string(), &name]),
        3 => words(&["3", &name[..1], &name]),
        _ => words(&[&name[..2], &name[2..4], &name]),
    })
}

/// A scoped name is one segment, whose slash is encoded.
fn of_npm(name: &str) -> Option<Vec<String>> {
    let (scope, bare) = match name.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/').map(|(scope, bare)| (Some(scope), bare))?,
        None => (None, name),
    };
    let good = scope.is_none_or(|scope| fits(scope, "._~-")) && fits(bare, "._~-") && name.len() <= 214;
    good.then(|| words(&[name]))
}

/// A capital letter is written as `!` and the small one, for file systems that know no case.
fn of_go(name: &str) -> Option<Vec<String>> {
    let escaped = |c: char| match c.is_ascii_uppercase() {
        true => format!("!{}", c.to_ascii_lowercase()),
        false => c.to_string(),
    };
    let parts: Vec<&str> = name.split('/').collect();
    let good = parts[0].contains('.') && name.len() <= 214 && parts.iter().all(|part| fits(part, "._~-"));
    let segments = parts.iter().map(|part| part.chars().map(escaped).collect::<String>());
    good.then(|| segments.chain(["@latest".to_owned()]).collect())
}

fn of_packagist(name: &str) -> Option<Vec<String>> {
    let (vendor, bare) = name.split_once('/')?;
    let good = fits(vendor, "._-") && fits(bare, "._-");
    good.then(|| words(&["p2", vendor, &format!("{bare}.json")]))
}

fn of_maven(name: &str) -> Option<Vec<String>> {
    let (group, artifact) = name.split_once(':')?;
    let parts: Vec<&str> = group.split('.').collect();
    let good = parts.iter().all(|part| fits(part, "_-")) && fits(artifact, "._-");
    good.then(|| words(&[parts.as_slice(), &[artifact, "maven-metadata.xml"]].concat()))
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|_| "its answer is not understood".to_owned())
}

/// The newest release of these versions, each with its time.
fn newest(ecosystem: &str, all: &[(&str, Option<&str>)]) -> Option<Release> {
    let version = newest_release(ecosystem, all.iter().map(|(version, _)| *version))?;
    let (_, time) = all.iter().find(|(one, _)| *one == version)?;
    Some(Release { version: version.to_owned(), published: time.and_then(day) })
}

/// A line of the index.
#[derive(Deserialize)]
struct IndexLine {
    vers: String,
    #[serde(default)]
    yanked: bool,
    #[serde(default)]
    pubtime: Option<String>,
}

fn crates_io(text: &str) -> Result<Option<Release>, String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty()).map(read::<IndexLine>);
    let lines: Vec<IndexLine> = lines.collect::<Result<_, _>>()?;
    let kept = lines.iter().filter(|line| !line.yanked);
    Ok(newest("crates.io", &kept.map(|line| (line.vers.as_str(), line.pubtime.as_deref())).collect::<Vec<_>>()))
}

#[derive(Deserialize)]
struct PythonProject {
    info: PythonInfo,
    /// May go away one day; the version above stays.
    #[serde(default)]
    releases: Option<BTreeMap<String, Vec<PythonFile>>>,
}

#[derive(Deserialize)]
struct PythonInfo {
    version: String,
    #[serde(default)]
    yanked: Option<bool>,
}

#[derive(Deserialize)]
struct PythonFile {
    #[serde(default)]
    yanked: Option<bool>,
    #[serde(default)]
    upload_time_iso_8601: Option<String>,
}

fn pypi(text: &str) -> Result<Option<Release>, String> {
    let project: PythonProject = read(text)?;
    let releases = project.releases.unwrap_or_default();
    // A release is yanked where all its files are.
    let kept = |(version, files): (&String, &Vec<PythonFile>)| {
        let file = files.iter().find(|file| file.yanked != Some(true))?;
        Some((version.clone(), file.upload_time_iso_8601.clone()))
    };
    let mut all: Vec<(String, Option<String>)> = releases.iter().filter_map(kept).collect();
    if releases.is_empty() && project.info.yanked != Some(true) {
        all.push((project.info.version, None));
    }
    Ok(newest("PyPI", &all.iter().map(|(version, time)| (version.as_str(), time.as_deref())).collect::<Vec<_>>()))
}

#[derive(Deserialize)]
struct NpmPackage {
    #[serde(rename = "dist-tags", default)]
    tags: BTreeMap<String, String>,
    #[serde(default)]
    versions: BTreeMap<String, NpmVersion>,
}

#[derive(Deserialize)]
struct NpmVersion {
    #[serde(default)]
    deprecated: Option<Value>,
}

impl NpmVersion {
    /// npm takes no version back; its owner says not to use it.
    fn is_deprecated(&self) -> bool {
        let says = |why: &Value| why.as_bool().unwrap_or(false) || why.as_str().is_some_and(|it| !it.is_empty());
        self.deprecated.as_ref().is_some_and(says)
    }
}

/// The one that is tagged `latest`, which npm installs; otherwise the newest one. Where all are deprecated, they count.
fn npm(text: &str) -> Result<Option<Release>, String> {
    let package: NpmPackage = read(text)?;
    let all = |deprecated: bool| -> Vec<(&str, Option<&str>)> {
        let kept = package.versions.iter().filter(|(_, of)| of.is_deprecated() == deprecated);
        kept.map(|(version, _)| (version.as_str(), None)).collect()
    };
    let good = all(false);
    let latest = good.iter().copied().find(|(version, _)| package.tags.get("latest").is_some_and(|it| it == version));
    let tagged = latest.and_then(|it| newest("npm", &[it]));
    Ok(tagged.or_else(|| newest("npm", &good)).or_else(|| newest("npm", &all(true))))
}

#[derive(Deserialize)]
struct GoInfo {
    #[serde(rename = "Version")]
    version: String,
    #[serde(rename = "Time", default)]
    time: Option<String>,
}

/// What the proxy says is latest: of a module without releases the newest commit, which go itself would take.
fn go(text: &str) -> Result<Option<Release>, String> {
    let info: GoInfo = read(text)?;
    let version = info.version.trim_start_matches('v').to_owned();
    if !is_word(&version) {
        return Err("its answer names no version".to_owned());
    }
    Ok(Some(Release { version, published: info.time.as_deref().and_then(day) }))
}

#[derive(Deserialize)]
struct ComposerPackages {
    packages: BTreeMap<String, Vec<ComposerVersion>>,
}

/// What a version has in common with the one before it is left out.
#[derive(Deserialize)]
struct ComposerVersion {
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    time: Option<String>,
}

fn packagist(text: &str) -> Result<Option<Release>, String> {
    let found: ComposerPackages = read(text)?;
    let (mut all, mut time) = (Vec::new(), None);
    for it in found.packages.values().flatten() {
        time = it.time.as_deref().or(time);
        all.extend(it.version.as_deref().map(|version| (version, time)));
    }
    Ok(newest("Packagist", &all))
}

/// Versions have no character that XML would write in another form.
static VERSION: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"<version>\s*([0-9A-Za-z._+-]{1,100})\s*</version>";
    Regex::new(pattern).expect("the pattern is compiled in, and a test tries it")
});

fn maven(text: &str) -> Result<Option<Release>, String> {
    if !text.contains("<metadata") {
        return Err("its answer is not understood".to_owned());
    }
    let all: Vec<(&str, Option<&str>)> =
        VERSION.captures_iter(text).filter_map(|found| Some((found.get(1)?.as_str(), None))).collect();
    let numbered: Vec<_> = all.iter().copied().filter(|(version, _)| is_numbered(version)).collect();
    Ok(newest("Maven", &numbered).or_else(|| newest("Maven", &all)))
}

/// Whether it begins with a number that is no day: `20040616` is older than `3.2.2` of the same package, and orders behind it.
fn is_numbered(version: &str) -> bool {
    let digits = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
    (1..8).contains(&digits)
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
