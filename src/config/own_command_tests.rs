use super::*;
use proptest::prelude::*;

/// With this head and text.
fn file(head: &str, body: &str) -> String {
    format!("+++\ndescription = \"Says what it does\"\n{head}+++\n{body}")
}

fn parse(text: &str) -> Result<OwnCommand, String> {
    OwnCommand::parse("deploy.md", "abc", text.as_bytes()).map_err(|error| error.to_string())
}

fn read(head: &str) -> OwnCommand {
    parse(&file(head, "Do it.")).unwrap()
}

#[test]
fn a_file_says_all_of_it_and_little_is_enough() {
    let head = "kind = \"test\"\nwho = [\"admins\", \"@alice\"]\nmodel = \"local\"\ncheckpoint = 2\nbudget = \"1usd,30actions\"\nnetwork = [\"docs.example.org\", \" *.example.net:8443\"]\n";
    let all = parse(&file(head, "\nWrite tests of {words}.\n\n+++\nno fence\n")).unwrap();
    assert_eq!(
        all,
        OwnCommand {
            name: "deploy".into(),
            blob: "abc".into(),
            description: "Says what it does".into(),
            kind: TaskKind::Test,
            who: vec!["admins".into(), "@alice".into()],
            model: Some("local".into()),
            role: None,
            every: Some(2),
            network: vec!["docs.example.org".into(), "*.example.net:8443".into()],
            budget: Budget { micro_usd: 1_000_000, actions: 30, ..Budget::default() },
            body: "Write tests of {words}.\n\n+++\nno fence".into(),
        }
    );
    assert_eq!(all.path(), ".caisson/commands/deploy.md");
    let least = parse("\u{feff}+++\r\ndescription = \"d\"\r\n+++\r\nDo it.").unwrap();
    assert_eq!((least.kind, least.every, least.budget, least.who.len()), (TaskKind::Fix, None, Budget::default(), 0));
    assert_eq!(read("who = \"writers\"\n").who, ["writers"]);
    assert_eq!(read("role = \"planner\"\n").role, Some(super::Role::Planner));
}

#[test]
fn a_command_that_reads_stays_one() {
    assert_eq!(read("read_only = true\n").kind, TaskKind::Explain);
    assert_eq!(read("read_only = true\nkind = \"plan\"\n").kind, TaskKind::Plan);
    assert_eq!(read("read_only = false\n").kind, TaskKind::Fix);
    for (head, line) in [
        ("kind = \"refactor\"\nread_only = true\n", ":4: `read_only`: a task of the kind \"refactor\" writes"),
        ("read_only = false\nkind = \"plan\"\n", ":3: `read_only`: a task of the kind \"plan\" only reads"),
        ("kind = \"plan\"\ncheckpoint = 2\n", ":4: `checkpoint`: a task that only reads has no checkpoints"),
    ] {
        let why = parse(&file(head, "Do it.")).unwrap_err();
        assert!(why.contains(line), "{why}");
    }
}

#[test]
fn each_mistake_is_told_with_its_line_and_what_to_write() {
    for (text, told) in [
        ("", ":1: begin with a line `+++`"),
        ("Do it.\n", ":1: begin with a line `+++`"),
        ("---\ndescription: d\n---\nDo it.", ":1: the settings are TOML between two lines `+++`, not YAML"),
        ("+++\ndescription = \"d\"\nDo it.", ":1: no second line `+++`"),
        ("+++\n+++\nDo it.", ":2: `description`: say in one line"),
        ("+++\nkind = \"fix\"\ndescription = \"\"\"\na\nb\"\"\"\n+++\nDo it.", ":3: `description`: say in one line"),
        ("+++\n\ndescription = \n+++\nDo it.", ":3: `description`: "),
        ("+++\ndescription = \"d\"\n+++\n\n  \n", ":4: there is no text"),
        ("+++\ndescription = \"d\"\n+++\n\nDo\0it.", ":5: there is a zero byte"),
    ] {
        let why = parse(text).unwrap_err();
        assert!(why.starts_with(&format!(".caisson/commands/deploy.md{told}")), "{text:?}: {why}");
    }
    for (line, told) in [
        ("kidn = \"fix\"", "`kidn`: unknown field `kidn`"),
        ("kind = 1", "`kind`: invalid type"),
        (
            "kind = \"dance\"",
            "`kind`: \"dance\" is no kind that a command here may have; write one of fix, plan, explain, test, refactor, search, security, deps",
        ),
        ("kind = \"review\"", "`kind`: /review begins on pull requests"),
        (
            "role = \"summarizer\"",
            "`role`: \"summarizer\" is no role that works on tasks; write one of worker, planner",
        ),
        ("role = \"worker\"\nmodel = \"local\"", "`role`: `model` names one already"),
        ("who = []", "`who`: name 1 to 20"),
        ("who = 3", "`who`: write \"writers\""),
        (
            "who = \"alice\"",
            "`who`: \"alice\" is none of writers, admins, nobody, code_owners, team:ORG/NAME, @login; an account is written \"@alice\"",
        ),
        ("who = [\"admins\", \"readers\"]", "`who`: to begin a task takes write access"),
        ("model = \"a b\"", "`model`: that is no name of a model"),
        ("model = \"\"", "`model`: that is no name of a model"),
        ("checkpoint = 0", "`checkpoint`: a checkpoint comes after 1 to 5 actions"),
        ("checkpoint = 6", "`checkpoint`: a checkpoint comes after 1 to 5 actions"),
        ("checkpoint = -1", "`checkpoint`: a checkpoint comes after 1 to 5 actions"),
        ("checkpoint = \"2\"", "`checkpoint`: invalid type"),
        ("budget = \"much\"", "`budget`: write amounts as behind --budget"),
        ("network = [\"https://a.test/x\"]", "`network`: `https://a.test/x` is a URL"),
        ("network = [\"a.test\", \"10.0.0.1\"]", "`network`: `10.0.0.1` "),
        ("read_only = \"yes\"", "`read_only`: invalid type"),
        ("[who]", "`who`: write \"writers\""),
    ] {
        let why = parse(&file(&format!("# a comment\n{line}\n"), "Do it.")).unwrap_err();
        assert!(why.starts_with(&format!(".caisson/commands/deploy.md:4: {told}")), "{line:?}: {why}");
    }
    let hosts = vec!["\"a.test\""; 21].join(", ");
    assert!(parse(&file(&format!("network = [{hosts}]\n"), "x")).unwrap_err().contains("21 hosts; at most 20"));
    let long = file("", &"x".repeat(16 << 10));
    assert_eq!(
        parse(&long).unwrap_err(),
        ".caisson/commands/deploy.md:1: the file is longer than 16384 bytes; shorten it"
    );
    let latin = OwnCommand::parse("deploy.md", "", b"+++\ndescription = \"d\"\n+++\nf\xfcr").unwrap_err();
    assert_eq!((latin.line, latin.text.as_str()), (4, "this is no UTF-8; save the file as UTF-8"));
}

#[test]
fn a_file_is_named_like_its_command_and_like_none_of_the_bots() {
    let named = |name: &str| OwnCommand::parse(name, "", file("", "x").as_bytes()).map_err(|error| error.to_string());
    for name in ["fix.md", "approve.md", "help.md", "test-pr.md"] {
        let why = named(name).unwrap_err();
        assert!(why.contains("is a command of the bot") && why.contains(&format!("{name}:1: ")), "{why}");
    }
    for name in ["Deploy.md", "a.md", "1a.md", "a_b.md", "a b.md", "-a.md", "ä.md", ".md"] {
        assert!(named(name).unwrap_err().contains("2 to 31 of a-z"), "{name}");
    }
    assert_eq!(named("release-notes2.md").unwrap().name, "release-notes2");
}

#[test]
fn words_stand_where_the_file_says_and_are_not_read_again() {
    let command = |body: &str| parse(&file("", body)).unwrap();
    assert_eq!(
        command("Of {words}, and {words}.").filled(" a {words} b ").unwrap(),
        "Of a {words} b, and a {words} b."
    );
    assert_eq!(command("Of {words}.").filled("").unwrap(), "Of .");
    assert_eq!(command("Do {it}.").filled("now").unwrap(), "Do {it}.\n\nnow");
    assert_eq!(command("Do it.").filled("\n").unwrap(), "Do it.");
    let most = "ü".repeat(15_994);
    assert_eq!(command("Do it.").filled(&most).unwrap().chars().count(), 16_002, "and an empty line");
    assert!(command("Do it.").filled(&format!("{most}ü")).unwrap_err().contains("16,000 characters"));
    // Many places would make much of few words.
    assert!(command(&"{words}".repeat(2_000)).filled(&"x".repeat(1_000)).is_err());
}

#[test]
fn whom_a_file_names_is_asked_beside_the_operator() {
    let who = ["admins".to_owned(), "@Alice".to_owned()];
    assert_eq!(bar(&who, "alice", Access::Write), None);
    assert_eq!(bar(&who, "root", Access::Admin), None);
    assert_eq!(bar(&who, "bob", Access::Write).as_deref(), Some("administrators of the repository, Alice"));
    assert_eq!(bar(&[], "bob", Access::Write), None);
    assert!(bar(&["nobody".to_owned()], "root", Access::Owner).is_some());
}

proptest! {
    #[test]
    fn any_file_is_read_or_refused_with_a_line_that_it_has(
        name in "[a-z.-]{0,8}(\\.md)?",
        text in "(\\+\\+\\+\n)?([a-z_]{1,11} = [\\[\\]\"a-z0-9,@\\.-]{0,12}\n|\\PC{0,20}\n){0,6}(\\+\\+\\+\r?\n)?\\PC{0,30}",
    ) {
        match OwnCommand::parse(&name, "", text.as_bytes()) {
            Ok(command) => {
                prop_assert!(!command.body.is_empty() && !command.description.is_empty());
                prop_assert!(command.filled("some words").is_ok());
            }
            Err(error) => prop_assert!((1..=text.lines().count() + 2).contains(&error.line), "{}", error),
        }
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let whole = [b"+++\ndescription = \"d\"\n".as_slice(), &bytes].concat();
        for one in [&bytes, &whole] {
            let _ = OwnCommand::parse("deploy.md", "", one);
        }
    }
}
