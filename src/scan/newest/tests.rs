use super::*;
use domain::VersionGap::{self, Major, Minor, Newer, NotComparable, Patch, PreRelease, UpToDate};
use std::time::Duration;

fn dependency(ecosystem: &str, name: &str, asked: &str, locked: &[&str]) -> Dependency {
    Dependency {
        ecosystem: ecosystem.into(),
        name: name.into(),
        asked: asked.into(),
        locked: locked.iter().map(|it| (*it).to_owned()).collect(),
        released: std::collections::BTreeMap::new(),
        manifest: "m".into(),
        line: 1,
        newest: None,
    }
}

fn line(ecosystem: &str, name: &str, version: &str, asked: &str) -> String {
    let of = |text: &str| text.to_owned();
    let (ecosystem, name, version, asked) = (of(ecosystem), of(name), of(version), of(asked));
    let published = Some(of("2026-10-01T08:00:00Z"));
    serde_json::to_string(&NewestLine { ecosystem, name, version, published, asked }).expect("JSON")
}

async fn filled(dir: &Path, direct: Vec<Dependency>) -> DependencyScan {
    let mut scan = DependencyScan { direct, ..DependencyScan::default() };
    NewestVersions::new(Some(dir.to_owned())).fill(&mut scan).await;
    scan
}

fn names(all: &[(&str, &str)]) -> HashSet<PackageName> {
    all.iter().map(|(ecosystem, name)| ((*ecosystem).to_owned(), (*name).to_owned())).collect()
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

#[tokio::test]
async fn each_dependency_gets_its_newest_version_and_the_data_its_days() {
    let dir = tempfile::tempdir().expect("a folder");
    let older = [line("crates.io", "serde", "1.0.9", "2026-11-01"), line("PyPI", "Foo.Bar", "2.0", "2026-11-02")];
    std::fs::write(dir.path().join("b.jsonl"), older.join("\n")).expect("written");
    let newer = line("crates.io", "serde", "2.0.0", "2026-11-20");
    std::fs::write(dir.path().join("a.jsonl"), format!("{newer}\n\nno line\n")).expect("written");
    std::fs::write(dir.path().join("c.txt"), "no data").expect("written");
    let direct = vec![
        dependency("crates.io", "serde", "1", &["1.0.1"]),
        dependency("PyPI", "foo-bar", ">=1", &[]),
        dependency("npm", "serde", "^1", &["1.0.0"]),
        dependency("npm", "serde", "^2", &[]),
        dependency("crates.io", "serde", "git ssh:h", &["1.0.0"]),
        dependency("crates.io", "serde", "path ../serde 1", &[]),
        dependency("PyPI", "foo-bar", "registry corp >=1", &["1.0"]),
        dependency("npm", "fork", "you/fork", &["1.0.0"]),
    ];
    let scan = filled(dir.path(), direct).await;
    let found: Vec<Option<(&str, Option<VersionGap>)>> =
        scan.direct.iter().map(|it| it.newest.as_ref().map(|it| (it.version.as_str(), it.gap))).collect();
    assert_eq!(found[..2], [Some(("2.0.0", Some(Major))), Some(("2.0", None))]);
    assert_eq!(found[2..], [None; 6], "of another ecosystem, or from elsewhere");
    assert_eq!(scan.direct[0].newest.as_ref().and_then(|it| it.published.as_deref()), Some("2026-10-01"));
    let newest = scan.newest.expect("data");
    assert_eq!((newest.since.as_str(), newest.until.as_str(), newest.missing), ("2026-11-02", "2026-11-20", 1));
    assert_eq!(newest.unread, 1);
}

#[tokio::test]
async fn without_a_folder_nothing_is_looked_at_and_one_that_is_gone_is_said() {
    let mut scan = DependencyScan::default();
    NewestVersions::new(None).fill(&mut scan).await;
    assert_eq!(scan, DependencyScan::default());
    let dir = tempfile::tempdir().expect("a folder");
    let scan = filled(&dir.path().join("gone"), vec![dependency("npm", "a", "1", &[])]).await;
    let sentence = scan.newest.and_then(|it| it.trouble).expect("a sentence");
    assert!(sentence.contains("cannot be read") && !sentence.contains("gone"), "{sentence}");
}

#[test]
fn lines_that_are_none_are_counted() {
    let good = line("npm", "a", "1.0.0", "2026-11-20");
    let long = "x".repeat(WORD + 1);
    for bad in [
        line("Debian", "a", "1.0.0", "2026-11-20"),
        line("npm:x", "a", "1.0.0", "2026-11-20"),
        line("npm", "", "1.0.0", "2026-11-20"),
        line("npm", "a", &long, "2026-11-20"),
        line("npm", "a", "1 | 2", "2026-11-20"),
        line("npm", "a", "1.0.0", "soon"),
        line("npm", "a\u{202e}", "1.0.0", "2026-11-20"),
        format!("{good}{}", " ".repeat(MOST_LINE)),
        "[]".to_owned(),
        "\u{0}".to_owned(),
    ] {
        assert_eq!(NewestLine::read(bad.as_bytes()), None, "{bad}");
    }
    assert!(NewestLine::read(good.as_bytes()).is_some());
    let mut data = NewestData::default();
    data.file("f", &b"{\n".repeat(9), &names(&[("npm", "a")]), soon());
    assert_eq!(data.unread, 9);
}

#[test]
fn files_bytes_and_time_have_limits_and_only_what_is_asked_for_is_kept() {
    let dir = tempfile::tempdir().expect("a folder");
    let all = [line("npm", "a", "1.0.0", "2026-11-20"), line("npm", "b", "1.0.0", "2026-11-20")].join("\n");
    for number in 0..MOST_FILES + 2 {
        std::fs::write(dir.path().join(format!("{number}.jsonl")), &all).expect("written");
    }
    let packages = names(&[("npm", "a")]);
    let data = read_folder(dir.path(), &packages, soon()).expect("read");
    assert_eq!((data.lines.len(), data.unread), (1, 2));
    let late = read_folder(dir.path(), &packages, Instant::now()).expect("read");
    assert_eq!((late.lines.len(), late.unread), (0, MOST_FILES as u64 + 2));
    let file = dir.path().join("1.jsonl");
    assert!(read_file(&file, all.len() as u64).is_some() && read_file(&file, all.len() as u64 - 1).is_none());
}

#[test]
fn of_two_lines_about_a_package_the_one_asked_later_counts() {
    let lines = [
        line("npm", "a", "1.0.0", "2026-11-20"),
        line("npm", "a", "3.0.0", "2026-11-19"),
        line("npm", "a", "2.0.0", "2026-11-21"),
    ];
    let mut data = NewestData::default();
    data.file("f", lines.join("\n").as_bytes(), &names(&[("npm", "a")]), soon());
    let versions: Vec<&str> = data.lines.values().map(|it| it.version.as_str()).collect();
    assert_eq!(versions, ["2.0.0"]);
}

#[test]
fn what_is_locked_is_compared_by_the_rules_of_its_ecosystem() {
    for (ecosystem, used, newest, wanted) in [
        ("crates.io", "1.2.3", "2.0.0", Major),
        ("crates.io", "0.2.3", "0.3.0", Minor),
        ("crates.io", "1.2.3", "1.2.10", Patch),
        ("crates.io", "1.2.3", "1.2.3+build", UpToDate),
        ("crates.io", "1.2.3", "1.2.2", Newer),
        ("crates.io", "1.2.3", "2.0.0-rc.1", PreRelease),
        ("crates.io", "2.0.0-rc.1", "2.0.0", Patch),
        ("crates.io", "2.0.0-rc.1", "1.9.0", Newer),
        ("crates.io", "1.2", "2.0.0", NotComparable),
        ("npm", "1.2.3", "1.10.0", Minor),
        ("npm", "latest", "1.0.0", NotComparable),
        ("PyPI", "1.0", "1.0.0", UpToDate),
        ("PyPI", "1.0", "1.0.post1", Patch),
        ("PyPI", "9.0", "1!1.0", Major),
        ("PyPI", "1.0", "2.0rc1", PreRelease),
        ("PyPI", "2024-x", "1.0", NotComparable),
        ("Go", "1.2.3", "2.0.0+incompatible", Major),
        ("Go", "0.0.0-20210101000000-0123456789ab", "0.0.0-20220101000000-0123456789ab", Patch),
        ("Go", "1.2.4-0.20210101000000-0123456789ab", "1.3.0", Minor),
        ("Packagist", "v5.4.0", "6.0.0", Major),
        ("Packagist", "5.4.0-BETA1", "5.4.0", Patch),
        ("Packagist", "dev-main", "6.0.0", NotComparable),
        ("Maven", "2.9.10", "2.9.10.8", Patch),
        ("Maven", "5.3.0.RELEASE", "5.3", UpToDate),
        ("Maven", "31.1-android", "31.1-jre", NotComparable),
        ("Maven", "31.1-android", "32.0.0-jre", Major),
        ("Maven", "6.0.0", "7.0.0-M1", PreRelease),
    ] {
        assert_eq!(gap(ecosystem, newest, &[used]), Some(wanted), "{ecosystem} {used} {newest}");
    }
    assert_eq!(gap("npm", "2.0.0", &["0.9.0", "odd", "1.9.0", "1.0.0"]), Some(Major), "the newest of them");
    assert_eq!(gap("npm", "2.0.0", &["1.0.0", "2.0.0"]), Some(UpToDate));
    assert_eq!(gap("npm", "2.0.0", &[]), None);
}

#[test]
fn of_several_locked_versions_those_count_that_the_manifest_can_mean() {
    let locked = ["0.7.3", "0.8.5", "0.9.1"].map(str::to_owned);
    for (ecosystem, asked, versions) in [
        ("crates.io", "0.8", "0.8.5"),
        ("crates.io", ">=0.7, <0.9", "0.7.3 0.8.5"),
        ("npm", "^0.7.1", "0.7.3"),
        ("npm", "0.8.5", "0.8.5"),
        ("npm", "0.8", "0.8.5"),
        ("npm", "0.8.1", "0.7.3 0.8.5 0.9.1"),
        ("npm", "0.x", "0.7.3 0.8.5 0.9.1"),
        ("crates.io", "4", "0.7.3 0.8.5 0.9.1"),
        ("npm", "latest", "0.7.3 0.8.5 0.9.1"),
        ("PyPI", "0.8", "0.7.3 0.8.5 0.9.1"),
    ] {
        assert_eq!(meant(ecosystem, asked, &locked).join(" "), versions, "{ecosystem} {asked}");
    }
    let locked = ["1.2.3", "1.4.0"].map(str::to_owned);
    assert_eq!((meant("npm", "1.2.3", &locked), meant("crates.io", "1.2.3", &locked).len()), (vec!["1.2.3"], 2));
}

#[test]
fn a_version_that_the_manifest_alone_settles_counts_as_locked() {
    for (ecosystem, asked, settled) in [
        ("crates.io", "=1.2.3", Some("1.2.3")),
        ("crates.io", "1.2.3", None),
        ("npm", "1.2.3", Some("1.2.3")),
        ("npm", "^1.2.3", None),
        ("Packagist", "1.2", Some("1.2")),
        ("Packagist", "~1.2", None),
        ("Packagist", "1.2.*", None),
        ("Go", "1.2.3", None),
    ] {
        assert_eq!(pinned(ecosystem, asked), settled, "{ecosystem} {asked}");
    }
}

#[test]
fn the_newest_release_is_never_a_pre_release() {
    let versions = ["1.0.0", "2.0.0-rc.1", "odd", "1.10.0", "1.9.0"];
    assert_eq!(newest_release("npm", versions), Some("1.10.0"));
    assert_eq!(newest_release("PyPI", ["1.0", "1.1.dev1", "1.0.post1", "2.0a1"]), Some("1.0.post1"));
    assert_eq!(newest_release("Maven", ["6.0.0", "6.0.1", "7.0.0-M1", "7.0.0-SNAPSHOT"]), Some("6.0.1"));
    assert_eq!(newest_release("Maven", ["12.8.1.jre11", "13.1.0.jre11-preview"]), Some("12.8.1.jre11"));
    assert_eq!(newest_release("crates.io", ["1.0.0-alpha"]), None);
    let long = format!("9.0.0+{}", "x".repeat(WORD));
    assert_eq!(newest_release("npm", ["1.0.0", long.as_str(), " 8.0.0"]), Some("1.0.0"), "one that a line can have");
}
