use super::*;

fn files(all: &[(&str, &str)]) -> BTreeMap<String, String> {
    all.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

fn read_files(files: &BTreeMap<String, String>) -> (DependencyScan, Vec<Package>) {
    super::read_files(files, Instant::now() + PARSING)
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
        ("web/bun.lock", "{}\n"),
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
    assert_eq!(unread, ["broken/Cargo.toml", "web/bun.lock"]);
}

#[test]
fn the_day_on_which_a_locked_version_was_published_is_kept_where_the_lock_file_says_it() {
    let lock = "[[package]]\nname = \"Foo.Bar\"\nversion = \"1.0\"\nsdist = { upload-time = \"2021-03-02T10:00:00Z\" }\n[[package]]\nname = \"b\"\nversion = \"2\"\nsdist = { upload-time = \"soon\" }\n";
    let project = "[project]\ndependencies = [\"foo-bar\", \"b\"]\n";
    let module = "require h/a v0.0.0-20210203140506-0123456789ab\nrequire h/b v0.0.0-20219903140506-0123456789ab\n";
    let (scan, _) = read_files(&files(&[("pyproject.toml", project), ("uv.lock", lock), ("x/go.mod", module)]));
    let days: Vec<String> = scan.direct.iter().map(|it| format!("{} {:?}", it.name, it.released)).collect();
    let wanted = [
        "foo-bar {\"1.0\": \"2021-03-02\"}",
        "b {}",
        "h/a {\"0.0.0-20210203140506-0123456789ab\": \"2021-02-03\"}",
        "h/b {}",
    ];
    assert_eq!(days, wanted);
}

#[test]
fn lock_files_of_one_folder_are_put_together_and_a_manifest_may_settle_its_own_versions() {
    let pom = "<project><dependencies><dependency>\n<groupId>g</groupId>\n<artifactId>a</artifactId><version>1</version></dependency></dependencies></project>";
    let (scan, packages) = read_files(&files(&[
        ("package.json", r#"{ "dependencies": { "a": "1" } }"#),
        ("yarn.lock", "a@1:\n  version \"1.0.0\"\n"),
        ("pnpm-lock.yaml", "lockfileVersion: '9.0'\npackages:\n  a@1.1.0:\n  b@2.0.0:\n"),
        ("pom.xml", pom),
    ]));
    let direct: Vec<_> = scan.direct.iter().map(|it| (it.name.as_str(), it.locked.join(" "), it.line)).collect();
    assert_eq!((direct, packages.len()), (vec![("a", "1.0.0 1.1.0".into(), 1), ("g:a", "1".into(), 3)], 4));
}

#[test]
fn a_version_that_a_manifest_settles_counts_where_the_nearest_lock_file_does_not_know_the_package() {
    let (scan, _) = read_files(&files(&[
        ("Pipfile.lock", r#"{ "_meta": {}, "default": { "a": { "version": "==1.0" } }, "develop": {} }"#),
        ("docs/requirements.txt", "jinja2==2.10\na==0.9\n"),
    ]));
    let locked: Vec<String> = scan.direct.iter().map(|it| format!("{} {}", it.name, it.locked.join(" "))).collect();
    assert_eq!(locked, ["jinja2 2.10", "a 1.0"]);
}

#[test]
fn files_of_others_packages_are_none_of_the_projects() {
    assert!(is_meant("a/Cargo.toml") && is_meant("requirements-dev.txt") && is_meant("pom.xml"));
    assert!(is_meant("requirements/base.txt") && is_meant("a/requirements/dev.txt"));
    for path in [
        "node_modules/a/package.json",
        "a/vendor/b/go.mod",
        "Cargo.toml.orig",
        "a.txt",
        "requirements/old/a.txt",
        "requirements/a.md",
    ] {
        assert!(!is_meant(path), "{path}");
    }
}

#[test]
fn a_mark_before_the_text_is_passed_over_and_a_file_in_utf_16_is_named_as_not_read() {
    let wide: Vec<u8> = "a==1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let wide = String::from_utf8_lossy(&wide);
    let (scan, _) = read_files(&files(&[
        ("requirements/base.txt", "\u{feff}a==1\nb==2\n"),
        ("requirements.txt", &wide),
        ("package.json", "\u{feff}{ \"dependencies\": { \"c\": \"3\" } }"),
        ("package-lock.json", "\u{feff}{ \"packages\": { \"node_modules/c\": { \"version\": \"3.0.0\" } } }"),
    ]));
    let direct: Vec<_> = scan.direct.iter().map(|it| (it.name.as_str(), it.locked.join(" "), it.line)).collect();
    assert_eq!(direct, [("c", "3.0.0".to_owned(), 1), ("a", "1".to_owned(), 1), ("b", "2".to_owned(), 2)]);
    assert_eq!(scan.unread, [("requirements.txt".to_owned(), "it is no UTF-8".to_owned())]);
}

#[test]
fn words_of_a_file_are_cut_and_direct_dependencies_have_a_limit() {
    let many: String = (0..400).map(|n| format!("a{n} = \"{}\"\n", "9".repeat(500))).collect();
    let (scan, _) = read_files(&files(&[("Cargo.toml", &format!("[dependencies]\n{many}"))]));
    assert_eq!((scan.direct.len(), scan.more), (KEPT, 100));
    assert!(scan.direct.iter().all(|it| it.asked.chars().count() <= WORD));
}

#[test]
fn a_manifest_and_a_lock_file_without_an_end_are_cut_soon_and_the_rest_is_counted() {
    let asked: Vec<String> = (0..200_000).map(|n| format!("\"a{n}\": \"1\"")).collect();
    let entries: Vec<String> =
        (0..100_000).map(|n| format!("\"node_modules/a{n}\": {{\"version\": \"1.0.0\"}}")).collect();
    let began = Instant::now();
    let (scan, packages) = read_files(&files(&[
        ("package.json", &format!("{{\"dependencies\": {{\n{}\n}}}}", asked.join(",\n"))),
        ("package-lock.json", &format!("{{\"packages\": {{\n{}\n}}}}", entries.join(",\n"))),
    ]));
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!((scan.direct.len() as u64 + scan.more, packages.len()), (200_000, LOCKED));
    let why = "more locked versions than are looked at".to_owned();
    assert!(scan.unread.contains(&("50000 more".to_owned(), why)), "{:?}", scan.unread);
}

#[test]
fn a_package_has_a_limit_of_versions() {
    let entries: Vec<String> =
        (0..60).map(|n| format!("\"{n}/node_modules/a\": {{\"version\": \"1.0.{n}\"}}")).collect();
    let (scan, packages) = read_files(&files(&[
        ("package.json", "{\"dependencies\": {\"a\": \"1\"}}"),
        ("package-lock.json", &format!("{{\"packages\": {{{}}}}}", entries.join(","))),
    ]));
    assert_eq!((scan.direct[0].locked.len(), packages.len()), (VERSIONS, VERSIONS));
    assert_eq!(scan.unread[0].0, "10 more");
}

#[test]
fn files_that_are_not_read_are_counted_where_they_are_not_named() {
    let paths: Vec<String> = (0..UNREAD + 3).map(|n| format!("{n}/bun.lock")).collect();
    let all: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "{}")).collect();
    let (scan, _) = read_files(&files(&all));
    assert_eq!(scan.unread.len(), UNREAD + 1);
    assert_eq!(scan.unread.last().map(|(what, _)| what.as_str()), Some("3 more"));
}

#[test]
fn without_time_no_file_is_parsed_and_that_is_said() {
    let all = files(&[("Cargo.toml", "[dependencies]\na = \"1\"\n"), ("Cargo.lock", "")]);
    let (scan, _) = super::read_files(&all, Instant::now());
    assert_eq!(scan.unread, [("2 more".to_owned(), "there was no time for these files".to_owned())]);
    assert!(scan.read.is_empty() && scan.direct.is_empty(), "{scan:?}");
}
