use super::*;

fn change(path: &[u8], mode: &str) -> Change {
    Change { old_mode: "000000".into(), new_mode: mode.into(), id: "0".repeat(40), status: 'A', path: path.to_vec() }
}

fn facts(paths: &[&str]) -> Facts {
    let changes: Vec<Change> = paths.iter().map(|p| change(p.as_bytes(), "100644")).collect();
    let entry = |c: &Change| Entry { mode: c.new_mode.clone(), id: c.id.clone(), path: c.path.clone() };
    Facts { entries: changes.iter().map(entry).collect(), changes, ..Facts::default() }
}

fn reasons(paths: &[&str]) -> Vec<String> {
    judge(&facts(paths), &[], &Limits::default())
}

#[test]
fn ordinary_names_pass() {
    let fine = [
        "src/main.rs",
        "README.md",
        "docs/héllo wörld.md",
        "a/b/c/.gitignore",
        "Makefile",
        "x-y_z+1.txt",
        "日本.md",
        "Foo::Bar.3",
    ];
    assert_eq!(reasons(&fine), Vec::<String>::new());
}

#[test]
fn names_that_deceive_are_refused() {
    let long = format!("{}x", "d/".repeat(49));
    let part = "p".repeat(256);
    for bad in [
        ".git/config",
        ".GIT/config",
        "a/.git",
        ".git./x",
        ".git /x",
        "git~1/x",
        ".g\u{200c}it/x",
        ".git::$INDEX_ALLOCATION/x",
        "GITMOD~1",
        "a\\b",
        "..\\x",
        "aux.txt",
        "src/NUL",
        "COM1.log",
        "trailing.",
        "trailing ",
        " leading",
        "-rf",
        "--x",
        "a\nb",
        "a\u{202e}b",
        "a\u{200b}b",
        "a\u{1b}[2J",
        "\u{e0041}",
        "f:$DATA",
        &long,
        &part,
        ".\u{ff27}it/config",
    ] {
        assert!(!reasons(&[bad]).is_empty(), "{bad:?}");
    }
    assert!(
        judge(&Facts { changes: vec![change(b"a\xff", "100644")], ..Facts::default() }, &[], &Limits::default())[0]
            .contains("UTF-8")
    );
}

#[test]
fn protected_whatever_the_case() {
    for bad in [
        ".caisson.toml",
        ".caisson/x/y",
        ".Caisson.TOML",
        ".github/workflows/ci.yml",
        ".GITHUB/Workflows/x.yml",
        "deep/er/.gitattributes",
        ".gitmodules",
        ".gitea/workflows/a.yml",
        "Jenkinsfile",
        ".lfsconfig",
    ] {
        assert!(reasons(&[bad])[0].contains("protected"), "{bad}");
    }
    let own = judge(&facts(&["deploy/a/b", "src/x"]), &["deploy/**".to_owned()], &Limits::default());
    assert_eq!(own, vec!["`deploy/a/b` is protected by this project; a person must change it"]);
    assert!(judge(&facts(&["x"]), &["[".to_owned()], &Limits::default())[0].contains("no pattern"), "fails closed");
}

#[test]
fn twins_by_case_and_by_unicode_form() {
    assert_eq!(reasons(&["README.md", "readme.md"]).len(), 1);
    assert_eq!(reasons(&["caf\u{e9}", "cafe\u{301}"]).len(), 1);
    assert_eq!(reasons(&["stra\u{df}e", "STRASSE"]).len(), 1);
    let mut old = facts(&["Old", "old"]);
    old.changes.clear();
    assert!(judge(&old, &[], &Limits::default()).is_empty(), "the base's own twins are the project's business");
    let mut dirs = facts(&["Lib/a", "lib/b"]);
    dirs.entries.extend(["Lib", "lib"].map(|d| Entry { mode: "040000".into(), id: String::new(), path: d.into() }));
    assert_eq!(judge(&dirs, &[], &Limits::default()).len(), 1);
}

#[test]
fn letters_beyond_ascii_and_a_slash_in_disguise_are_twins_too() {
    assert_eq!(fold("LIB/Straße.RS".as_bytes()), "lib/strasse.rs");
    assert_eq!(fold(b"LIB/Plain.RS"), "lib/plain.rs");
    let mut disguised = facts(&["lib/a"]);
    disguised.entries.push(Entry { mode: "100644".into(), id: String::new(), path: "Lib\u{ff0f}A".into() });
    assert_eq!(judge(&disguised, &[], &Limits::default()).len(), 1, "one name for the whole path");
}

#[test]
fn the_whole_tree_is_wanted_where_names_or_links_are_new() {
    let changed = |status, old: &str, new: &str| {
        let change = change(b"x", new);
        wants_whole_tree(&[Change { status, old_mode: old.into(), ..change }])
    };
    assert!(changed('A', "000000", "100644") && changed('T', "100644", LINK) && changed('M', LINK, LINK));
    assert!(!changed('M', "100644", "100755") && !changed('D', "100644", "000000") && !changed('T', LINK, "100644"));
}

fn hidden_in(changed: &[&str], stands: &[&str]) -> Vec<String> {
    let mut facts = facts(changed);
    let entry = |path: &&str| Entry { mode: "100644".into(), id: String::new(), path: path.as_bytes().to_vec() };
    facts.entries.extend(stands.iter().map(entry));
    hidden(&facts.changes, &facts.entries).iter().map(|c| String::from_utf8_lossy(&c.path).into_owned()).collect()
}

#[test]
fn a_repository_hidden_in_a_directory_is_refused() {
    for (changed, stands) in [
        (&["x/HEAD", "x/config", "x/objects/k", "x/refs/k"][..], &[][..]),
        (&["HEAD", "objects/k", "refs/k"], &[]),
        (&["a/b/c/Head", "a/b/c/OBJECTS/k", "a/b/c/rEfs"], &[]),
        (&["x/refs"], &["x/HEAD", "x/objects"]),
        (&["x/\u{ff32}efs/k"], &["X/HEAD", "x/objects/k"]),
        (&["x/config"], &["x/HEAD", "x/objects", "x/objects/k", "x/refs/k"]),
        (&["x/hooks/post-checkout"], &["x/HEAD", "x/objects/k", "x/refs/k"]),
        (&["x/HEAD", "x/commondir"], &[]),
        (&["x/commondir"], &["x/HEAD"]),
        (&[".hg/hgrc"], &[]),
        (&["sub/.jj/repo/config.toml"], &[]),
    ] {
        assert_eq!(hidden_in(changed, stands), changed, "{stands:?}");
        let whole = Facts { entries: Vec::new(), ..facts(changed) };
        assert!(stands.is_empty() || wants_whole_tree(&whole.changes));
        if stands.is_empty() {
            assert_eq!(reasons(changed).iter().filter(|r| r.contains("a repository hidden in")).count(), changed.len());
        }
    }
    for (changed, stands) in [
        (&["HEAD", "objects/k"][..], &[][..]),
        (&["src/refs/k", "src/objects/k", "HEAD"], &[]),
        (&["x/readme", "x/objects.rs"], &["x/HEAD", "x/objects/k", "x/refs/k"]),
        (&["config/app.toml"], &["x/HEAD", "x/objects/k", "x/refs/k"]),
    ] {
        assert!(hidden_in(changed, stands).is_empty(), "{changed:?}");
    }
    let change = Change { status: 'M', old_mode: "100644".into(), ..change(b"x/config", "100644") };
    assert!(wants_whole_tree(&[change]), "a change alone can steer one");
}

fn link(links: &[(&str, &str)], changed: &[&str]) -> Vec<String> {
    let links: HashMap<Vec<u8>, Vec<u8>> =
        links.iter().map(|(p, t)| (p.as_bytes().to_vec(), t.as_bytes().to_vec())).collect();
    let changed: HashSet<&[u8]> = changed.iter().map(|p| p.as_bytes()).collect();
    links.iter().filter_map(|(p, t)| escapes(p, t, &links, &changed)).collect()
}

#[test]
fn links_stay_inside() {
    for (path, target) in [("a", "b"), ("d/a", "../b"), ("d/e/a", "../../x/y"), ("a", "./b"), ("loop", "loop2")] {
        assert!(link(&[(path, target)], &[path]).is_empty(), "{path} -> {target}");
    }
    for (path, target) in [
        ("a", "/etc/passwd"),
        ("a", ".."),
        ("d/a", "../../x"),
        ("a", "d/../../x"),
        ("a", ".git/config"),
        ("a", ".GIT/hooks"),
        ("a", "C:/x"),
        ("a", "..\\x"),
        ("a", "~/x"),
        ("a", ""),
        ("a", "x\ny"),
        ("a", "a"),
    ] {
        assert_eq!(link(&[(path, target)], &[path]).len(), 1, "{path} -> {target}");
    }
}

#[test]
fn links_through_links_are_followed() {
    // `d/e/s` is the root itself, so one step up from there is outside, although `d/e/s/../x` looks harmless.
    let pair = [("d/e/s", "../.."), ("out", "d/e/s/../x")];
    assert_eq!(link(&pair, &["out"]).len(), 1);
    assert_eq!(link(&pair, &["d/e/s"]).len(), 1, "also when only the other link is new");
    assert!(link(&pair, &[]).is_empty());
    assert_eq!(link(&[("a", "b"), ("b", "a")], &["a", "b"]).len(), 2);
}

#[test]
fn kinds_counts_and_sizes() {
    let submodule = Facts { changes: vec![change(b"sub", "160000")], ..Facts::default() };
    assert!(judge(&submodule, &[], &Limits::default())[0].contains("submodule"));
    let setuid = Facts { changes: vec![change(b"x", "104755")], ..Facts::default() };
    assert!(judge(&setuid, &[], &Limits::default())[0].contains("mode 104755"));
    let limits = Limits { objects: 1, object_bytes: 10, sum_bytes: 15, ..Limits::default() };
    let blob = |bytes| Object { id: String::new(), kind: "blob".into(), bytes };
    assert_eq!(judge_objects(&[blob(10)], &limits), Vec::<String>::new());
    assert_eq!(judge_objects(&[blob(11), blob(5)], &limits).len(), 3);
    assert!(judge_objects(&[Object { kind: "commit".into(), ..blob(1) }], &limits)[0].contains("commit"));
}

#[test]
fn many_reasons_are_counted() {
    let many: Vec<String> = (0..50).map(|n| format!("-{n:02}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let said = reasons(&many);
    assert_eq!(said.len(), 21);
    assert!(said[20].contains("30 more"));
}
