use super::*;

fn change(path: &[u8], mode: &str) -> Change {
    Change {
        old_mode: "000000".into(),
        new_mode: mode.into(),
        old_id: "0".repeat(40),
        id: "0".repeat(40),
        status: 'A',
        path: path.to_vec(),
    }
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
fn names_that_the_base_has_already_are_its_own_business() {
    for name in [&b"src/aux.c"[..], b"con.py", b"a\xff", b"-rf"] {
        let edited = Change { status: 'M', old_mode: "100644".into(), ..change(name, "100755") };
        for (change, refused) in [(edited, false), (change(name, "100644"), true)] {
            let facts = Facts { changes: vec![change], ..Facts::default() };
            assert_eq!(!judge(&facts, &[], &Limits::default()).is_empty(), refused, "{name:?}");
        }
    }
}

#[test]
fn a_new_file_is_judged_without_the_directories_that_were_there_before() {
    for (before, new, refused) in [
        ("src/aux/a.c", "src/aux/b.c", false),
        ("src/aux/a.c", "src/aux/deep/b.c", false),
        ("-x/a", "-x/b", false),
        ("a\u{200b}/ odd. /a", "a\u{200b}/ odd. /b", false),
        ("src/aux/a.c", "src/aux/nul", true),
        ("src/aux/a.c", "src/aux/con/b.c", true),
        ("src/aux/a.c", "aux/b.c", true),
        ("src/auxiliary/a.c", "src/aux/b.c", true),
    ] {
        let mut facts = facts(&[new, "other"]);
        let entry = |mode: &str, path: &str| Entry { mode: mode.into(), id: String::new(), path: path.into() };
        let above = new.rsplit_once('/').map_or("", |(above, _)| above);
        facts.entries.extend([entry("100644", before), entry("040000", above)]);
        assert_eq!(!judge(&facts, &[], &Limits::default()).is_empty(), refused, "{new}");
    }
    let gone = Change { status: 'D', old_mode: "100644".into(), ..change(b"src/aux", "000000") };
    let facts = Facts { changes: vec![gone, change(b"src/aux/b.c", "100644")], ..Facts::default() };
    assert_eq!(judge(&facts, &[], &Limits::default()).len(), 1, "it was no directory");
}

#[test]
fn names_that_only_look_alike_pass() {
    let part = "p".repeat(255);
    let fine = ["git~", "git~x", "foo~1", "com12", "comx", "company.txt", "console", "a:b", part.as_str()];
    assert_eq!(reasons(&fine), Vec::<String>::new());
    for bad in ["a//b", "./a", "a/../b"] {
        assert_eq!(
            wrong_name(bad.as_bytes(), &Limits::default()),
            [format!("the name `{bad}` has a part that means another directory")]
        );
    }
    assert_eq!(fold(".g\u{200c}i\u{feff}t".as_bytes()), ".git");
}

#[test]
fn a_name_in_a_sentence_is_escaped_and_cut() {
    assert_eq!(shown("a`b\\c d\u{2003}e\u{200b}é".as_bytes()), "`a\\u{60}b\\u{5c}c d\\u{2003}e\\u{200b}é`");
    assert_eq!(shown(b"a\xffb"), "`a\\xffb`");
    let whole = "x".repeat(199);
    assert_eq!(shown(whole.as_bytes()), format!("`{whole}`"));
    assert_eq!(shown(format!("{whole}y").as_bytes()), format!("`{whole}…`"));
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
        ".build.yml",
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
    assert!(changed('T', LINK, "100644") && changed('D', LINK, "000000"), "another link may lead through it");
    assert!(!changed('M', "100644", "100755") && !changed('D', "100644", "000000"));
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
    let gone = Change { status: 'D', ..change(b"x/HEAD", "000000") };
    let stands = facts(&["x/objects/k", "x/refs/k"]).entries;
    assert!(hidden(&[gone], &stands).is_empty(), "without a head it is none");
    let change = Change { status: 'M', old_mode: "100644".into(), ..change(b"x/config", "100644") };
    assert!(wants_whole_tree(&[change]), "a change alone can steer one");
}

fn link(links: &[(&str, &str)], changed: &[&str]) -> Vec<String> {
    let links: HashMap<Vec<u8>, Vec<u8>> =
        links.iter().map(|(p, t)| (p.as_bytes().to_vec(), t.as_bytes().to_vec())).collect();
    let changed: HashSet<&[u8]> = changed.iter().map(|p| p.as_bytes()).collect();
    escapes(&links, &changed)
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
    let other_spelling = [("a", "./d//x"), ("d/x", "/etc")];
    assert_eq!(link(&other_spelling, &["a"]).len(), 1);
}

#[test]
fn a_link_that_led_through_another_one_is_judged_where_that_is_gone() {
    // With `d` a link deep into the tree, `out` ends inside; without it, it leads out.
    let out = ("out", "d/../../../x");
    assert!(link(&[out, ("d", "a/b/c/e")], &["out", "d"]).is_empty());
    assert_eq!(link(&[out], &["d"]).len(), 1);
    assert!(link(&[out], &["other"]).is_empty(), "the base's own");
    let gone = Change { status: 'D', old_mode: LINK.into(), ..change(b"d", "000000") };
    let links = HashMap::from([(b"out".to_vec(), b"d/../../../x".to_vec())]);
    for changes in [vec![gone.clone()], vec![gone, change(b"d/file", "100644")]] {
        assert!(wants_whole_tree(&changes));
        let judged = judge(&Facts { changes, links: links.clone(), ..Facts::default() }, &[], &Limits::default());
        assert_eq!(judged, ["the link `out` → `d/../../../x` leads out of the repository"]);
    }
}

#[test]
fn links_are_followed_so_far_and_their_targets_are_so_long() {
    let why = |target: &[u8]| escapes(&HashMap::from([(b"a".to_vec(), target.to_vec())]), &HashSet::from([&b"a"[..]]));
    assert_eq!(why(&[b'x'; 1024]), Vec::<String>::new());
    for bad in [&[b'x'; 1025][..], b"x\0y", b""] {
        assert!(why(bad)[0].ends_with("has no usable target"));
    }
    let chain = |length: usize| {
        let links: Vec<(String, String)> = (0..length).map(|at| (format!("l{at}"), format!("l{}", at + 1))).collect();
        let pairs: Vec<(&str, &str)> = links.iter().map(|(path, target)| (path.as_str(), target.as_str())).collect();
        link(&pairs, &["l0"])
    };
    assert_eq!(chain(41), Vec::<String>::new());
    assert_eq!(chain(42).len(), 1);
}

#[test]
fn the_links_of_a_tree_take_so_many_steps_in_all() {
    let judged = |links: &[(String, String)], changed: &[&str]| {
        let pairs: Vec<(&str, &str)> = links.iter().map(|(path, target)| (path.as_str(), target.as_str())).collect();
        link(&pairs, changed)
    };
    let plain =
        |n: usize| (format!("packages/p{n}/node_modules/@scope/shared"), format!("../../../shared/lib/dist-{n}"));
    let plain: Vec<(String, String)> = (0..2000).map(plain).collect();
    assert_eq!(judged(&plain, &[plain[0].0.as_str()]), Vec::<String>::new());
    let (deep, detours) = ("d/".repeat(40), "a/../".repeat(190));
    let hop = |n: usize| (format!("{deep}l{n}"), format!("{detours}l{}", n + 1));
    let chain = |length: usize| (0..length).map(hop).collect::<Vec<_>>();
    let first = format!("{deep}l0");
    assert_eq!(judged(&chain(2), &[first.as_str()]), Vec::<String>::new(), "each of them leads to something inside");
    let refused = judged(&chain(39), &[first.as_str()]);
    assert!(refused.len() == 1 && refused[0].contains("(39) take too many steps"), "{refused:?}");
    assert!(judged(&chain(39), &[]).is_empty(), "the base's own links are not followed where no link is changed");
    let huge = ("huge".to_owned(), "a/".repeat(1 << 20));
    let to_it = |n: usize| (format!("l{n}"), "huge".to_owned());
    let many: Vec<(String, String)> = (0..20).map(to_it).chain([huge]).collect();
    assert!(judged(&many, &["l0"])[0].contains("steps"), "what a target names is counted as a whole");
}

#[test]
fn kinds_counts_and_sizes() {
    let submodule = Facts { changes: vec![change(b"sub", "160000")], ..Facts::default() };
    assert!(judge(&submodule, &[], &Limits::default())[0].contains("submodule"));
    let setuid = Facts { changes: vec![change(b"x", "104755")], ..Facts::default() };
    assert!(judge(&setuid, &[], &Limits::default())[0].contains("mode 104755"));
    let linked =
        |path: &[u8]| judge(&Facts { changes: vec![change(path, LINK)], ..Facts::default() }, &[], &Limits::default());
    assert_eq!(linked(b"x"), Vec::<String>::new());
    assert_eq!(
        linked(b"a/.gitignore"),
        ["`a/.gitignore` is a link; git follows none of that name, so it only deceives"]
    );
    let large = Limits { object_bytes: 1 << 20, sum_bytes: 1 << 20, ..Limits::default() };
    let told = |kind: &str| judge_objects(&[Object { id: String::new(), kind: kind.into(), bytes: 3 << 19 }], &large);
    assert_eq!(told("blob")[0], "a file of 1.5 MB is added; one may have at most 1.0 MB");
    assert_eq!(told("tree")[0], "a directory listing of 1.5 MB is added; one may have at most 1.0 MB");
    let limits = Limits { objects: 1, object_bytes: 10, sum_bytes: 15, ..Limits::default() };
    let blob = |bytes| Object { id: String::new(), kind: "blob".into(), bytes };
    assert_eq!(judge_objects(&[blob(10)], &limits), Vec::<String>::new());
    assert_eq!(judge_objects(&[blob(11), blob(5)], &limits).len(), 3);
    assert!(judge_objects(&[Object { kind: "commit".into(), ..blob(1) }], &limits)[0].contains("commit"));
}

#[test]
fn what_a_limit_names_is_taken_and_one_more_is_not() {
    let limits = Limits { objects: 2, object_bytes: 10, sum_bytes: 15, changes: 2, ..Limits::default() };
    let blob = |bytes| Object { id: String::new(), kind: "blob".into(), bytes };
    assert_eq!(judge_objects(&[blob(10), blob(5)], &limits), Vec::<String>::new());
    assert_eq!(judge_objects(&[blob(10), blob(6)], &limits).len(), 1);
    assert_eq!(judge_objects(&[blob(1), blob(1), blob(1)], &limits).len(), 1);
    let judged = |paths: &[&str]| judge(&facts(paths), &[], &limits);
    assert_eq!(judged(&["a", "b"]), Vec::<String>::new());
    assert_eq!(judged(&["a", "b", "c"]), ["3 files are changed; at most 2 are taken"]);
    let limits = Limits { path_bytes: 5, depth: 2, ..limits };
    let judged = |path: &[u8]| wrong_name(path, &limits);
    assert_eq!((judged(b"a/bcd"), judged(b"a/b/c").len(), judged(b"abcdef").len()), (Vec::new(), 1, 1));
    assert_eq!(shortened((0..REASONS).map(|n| n.to_string()).collect()).len(), REASONS);
}

#[test]
fn many_reasons_are_counted() {
    let many: Vec<String> = (0..50).map(|n| format!("-{n:02}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let said = reasons(&many);
    assert_eq!(said.len(), 21);
    assert!(said[20].contains("30 more"));
}
