use super::*;
use domain::transition::transition;
use domain::{
    Access, Account, Budget, Decision, Effect, Envelope, Event, Input, Item, Notice, Request, Source, Task, TaskId,
    TaskKind, Terms, Verb,
};
use proptest::prelude::*;

fn one(text: &str) -> Verb {
    let parsed = parse(text, "u7");
    assert_eq!(parsed.commands.len(), 1, "{parsed:?}");
    parsed.commands.into_iter().next().unwrap().verb
}

fn strongest(text: &str) -> Option<Verb> {
    parse(text, "u7").strongest().map(|command| command.verb.clone())
}

/// Whether the text is refused as this command, with a reason.
fn is_malformed(text: &str, name: &str) -> bool {
    matches!(one(text), Verb::Unknown { word, why: Some(_) } if word == name)
}

fn changes(text: &str) -> Verb {
    Verb::Changes { items: vec![Item::on_the_whole(text, "u7")] }
}

fn fix(words: &str) -> Verb {
    Verb::Fix { words: words.to_owned(), terms: Terms::default() }
}

fn plan(words: &str) -> Verb {
    Verb::Plan { words: words.to_owned(), terms: Terms::default() }
}

/// Why the command cannot be followed.
fn why(text: &str) -> String {
    match one(text) {
        Verb::Unknown { why: Some(why), .. } => why,
        other => panic!("{text:?}: {other:?}"),
    }
}

fn none(text: &str) {
    let parsed = parse(text, "u7");
    assert!(parsed.commands.is_empty() && parsed.plain, "{text:?}: {parsed:?}");
}

#[test]
fn a_budget_is_read_by_kind_and_nothing_doubtful_is_granted() {
    let budget = |text: &str| match one(&format!("/budget {text}")) {
        Verb::Budget { more, .. } => Some([more.micro_usd, more.tokens, more.actions, more.work_ms]),
        Verb::Unknown { word, why: Some(_) } if word == "budget" => None,
        other => panic!("{other:?}"),
    };
    let read = [
        ("2 usd", [2_000_000, 0, 0, 0]),
        ("$2.50", [2_500_000, 0, 0, 0]),
        ("0.001 USD", [1_000, 0, 0, 0]),
        ("30 actions", [0, 0, 30, 0]),
        ("1 action, 20 min and 100k tokens", [0, 100_000, 1, 1_200_000]),
        ("1.5m tokens", [0, 1_500_000, 0, 0]),
        ("2usd,30actions", [2_000_000, 0, 30, 0]),
        ("20min 100ktokens", [0, 100_000, 0, 1_200_000]),
    ];
    for (text, amounts) in read {
        assert_eq!(budget(text), Some(amounts), "{text}");
    }
    let doubtful = [
        "",
        "2",
        "usd",
        "two usd",
        "-2 usd",
        "1e3 usd",
        "1 usd 2 usd",
        "0 usd",
        "0.0001 usd",
        "1,5 usd",
        "2 eur",
        "2 usd please",
        "999999999m tokens",
        "inf usd",
        "nan usd",
        "٣ actions",
        "1 usd usd",
        "1e3usd",
        "2usd usd",
    ];
    for text in doubtful {
        assert_eq!(budget(text), None, "{text}");
    }
}

#[test]
fn each_command_is_read() {
    let approve =
        |checkpoint, commit: Option<&str>| Verb::Approve { checkpoint, commit: commit.map(str::to_owned), next: 0 };
    assert_eq!(one("/fix"), fix(""));
    assert_eq!(
        one("/Fix the parser\nand its tests\r\n\r\n```\ncode\n```"),
        fix("the parser\nand its tests\r\n\r\n```\ncode\n```")
    );
    assert_eq!(one("/plan where is it"), plan("where is it"));
    assert_eq!(one("  /approve  "), approve(None, None));
    assert_eq!(one("/approve c3"), approve(Some(3), None));
    assert_eq!(one("/approve 12"), approve(Some(12), None));
    assert_eq!(one("/approve F26AF04E7F"), approve(None, Some("f26af04e7f")));
    assert!(is_malformed("/approve looks good", "approve"));
    assert!(is_malformed("/approve 0", "approve"));
    assert!(is_malformed("/revise", "revise"));
    assert_eq!(one("/revise use `parse`"), changes("use `parse`"));
    assert_eq!(one("/stop please"), Verb::Stop);
    assert_eq!(one("/resume"), Verb::Resume);
    assert_eq!((one("/pause for lunch"), one("/cost")), (Verb::Pause, Verb::Cost));
    assert_eq!(one("/status"), Verb::Status);
    assert_eq!(one("/help"), Verb::Help);
    assert_eq!(one("/frobnicate now"), Verb::Unknown { word: "frobnicate".into(), why: None });
}

#[test]
fn an_approval_in_advance_says_how_many() {
    for next in [1, 3, 20] {
        let read = one(&format!("/approve  next  {next} "));
        assert_eq!(read, Verb::Approve { checkpoint: None, commit: None, next });
    }
    for bad in
        ["next", "next 0", "next 21", "next 257", "next +3", "next -1", "next three", "next 3 4", "3 next", "next3"]
    {
        assert!(is_malformed(&format!("/approve {bad}"), "approve"), "{bad}");
    }
}

#[test]
fn every_kind_of_task_has_a_command_of_its_name_with_options_and_words() {
    let of_writing = [TaskKind::Fix, TaskKind::Test, TaskKind::Refactor];
    let of_reading = [TaskKind::Plan, TaskKind::Explain, TaskKind::Review];
    for kind in of_writing.into_iter().chain(of_reading).chain([TaskKind::Security, TaskKind::Deps, TaskKind::Search]) {
        let read = one(&format!("/{} --model local `a.rs`, please", kind.name()));
        let terms = Terms { model: Some("local".into()), ..Terms::default() };
        assert_eq!(read, Verb::begin(kind, "`a.rs`, please".into(), terms), "{kind:?}");
        assert_eq!((read.command(), read.begins().map(|(of, _, _)| of)), (Some(kind.name()), Some(kind)));
    }
}

#[test]
fn options_stand_directly_behind_the_command_and_nothing_of_a_doubtful_one_is_followed() {
    let Verb::Fix { words, terms } = one(
        "/fix --budget 2usd,30actions --toolchain=rust@1.95 --model `local` --branch release/1.x  the parser\nand tests",
    ) else {
        panic!("a command")
    };
    assert_eq!(words, "the parser\nand tests");
    let budget = Some(Budget { micro_usd: 2_000_000, actions: 30, ..Budget::default() });
    let (toolchain, model, branch) = (Some("rust@1.95".into()), Some("local".into()), Some("release/1.x".into()));
    assert_eq!(terms, Terms { budget, toolchain, model, branch });
    // Phones replace two dashes by one long one.
    assert!(
        matches!(one("/plan —model local"), Verb::Plan { words, terms } if words.is_empty() && terms.model.is_some())
    );
    assert_eq!(one("/fix — the parser's -v flag"), fix("— the parser's -v flag"));
    assert_eq!(one("/fix the `--budget` flag"), fix("the `--budget` flag"));
    assert_eq!(one("/fix it\n\n--budget is documented wrong"), fix("it\n\n--budget is documented wrong"));
    let refused = [
        ("/fix --frob 1 it", "no option --frob; it has --budget, --toolchain, --model, --branch"),
        ("/fix --budget 2 usd it", "without spaces"),
        ("/fix --budget", "wants a value"),
        ("/fix --budget --model x", "wants a value"),
        ("/fix --model a --model b", "twice"),
        ("/fix the parser --budget 2usd", "stands behind the words"),
        ("/fix --branch ../../x;y", "no name"),
        ("/fix --toolchain <img>", "digits and `@._+-`"),
        ("/resume --now", "no options"),
        ("/cost --all", "no options"),
    ];
    for (text, words) in refused {
        assert!(why(text).contains(words), "{text}: {}", why(text));
    }
    assert_eq!(one("/stop --now"), Verb::Stop, "whatever stands behind it");
    assert_eq!(one("/model `big-2`"), Verb::Model { id: "big-2".into(), among: Vec::new() });
    assert!(is_malformed("/model", "model") && is_malformed("/model a b", "model"));
}

#[test]
fn what_only_an_own_command_can_be_was_plain_text_before() {
    assert!(["api-v2", "v2", &"a".repeat(21)].iter().all(|word| only_own(word)));
    assert!(["frob", "fix", "test-pr", "-x", "a"].iter().all(|word| !only_own(word)));
}

fn own_names() -> OwnNames {
    OwnNames::from([
        ("release-notes".to_owned(), Ok(TaskKind::Explain)),
        ("deploy".to_owned(), Ok(TaskKind::Fix)),
        ("broken".to_owned(), Err("its file cannot be read".to_owned())),
        // Refused where the folder is read; here, that the table comes first whatever it holds.
        ("fix".to_owned(), Ok(TaskKind::Plan)),
        ("approve".to_owned(), Ok(TaskKind::Fix)),
    ])
}

fn verbs(text: &str) -> Vec<(String, Verb)> {
    let parsed = parse_with(text, "u7", &own_names());
    parsed.commands.into_iter().map(|command| (command.name, command.verb)).collect()
}

#[test]
fn a_repositorys_own_command_counts_as_a_texts_first_word_alone() {
    let begins = |name: &str, verb: Verb| vec![(name.to_owned(), verb)];
    let notes = |words: &str| Verb::begin(TaskKind::Explain, words.into(), Terms::default());
    assert_eq!(
        verbs("  /release-notes since 1.2\nand before"),
        begins("release-notes", notes("since 1.2\nand before"))
    );
    assert_eq!(verbs("/Deploy"), begins("deploy", fix("")));
    let terms = Terms { model: Some("local".into()), ..Terms::default() };
    assert_eq!(verbs("/deploy --model local now"), begins("deploy", Verb::Fix { words: "now".into(), terms }));
    assert!(verbs("Please.\n/release-notes").is_empty());
    assert_eq!(verbs("Please.\n/deploy"), begins("deploy", Verb::Unknown { word: "deploy".into(), why: None }));
    for quoted in
        ["> /deploy", "`/deploy`", "```\n/deploy\n```", "- /deploy", "/deploy/x", "/release_notes", "/1-deploy"]
    {
        assert!(verbs(quoted).is_empty(), "{quoted}");
    }
    let why = Some("its file cannot be read".to_owned());
    assert_eq!(verbs("/broken it"), begins("broken", Verb::Unknown { word: "broken".into(), why }));
    let both = parse_with("/deploy it\n/stop", "u7", &own_names());
    assert_eq!((both.strongest().map(|it| it.verb.clone()), both.commands.len()), (Some(Verb::Stop), 2));
    assert_eq!((parse("/deploy", "u7").own, parse("/fix", "u7").own), (Some("deploy".to_owned()), None));
    assert_eq!(parse("Please.\n/deploy", "u7").own, None);
}

#[test]
fn no_own_command_takes_a_name_of_the_table() {
    assert_eq!(verbs("/fix it"), vec![("fix".to_owned(), fix("it"))]);
    assert_eq!(verbs("/approve"), vec![("approve".to_owned(), Verb::approve())]);
    for name in ["a", "", "1a", "-a", "A-b", "a_b", "ä-b", &"a".repeat(32)] {
        assert!(!is_own_name(name), "{name}");
    }
    assert!(["ab", "a-1", &"a".repeat(31)].iter().all(|name| is_own_name(name)));
}

#[test]
fn a_text_of_a_megabyte_is_read_at_once_and_answered() {
    let started = std::time::Instant::now();
    for text in ["/fix ".to_owned() + &"x".repeat(1 << 20), "*/a*".repeat(1 << 18), "/status\n".repeat(1 << 17)] {
        parse(&text, "u7");
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
    assert!(why(&("/fix ".to_owned() + &"x".repeat(1 << 20))).contains("more than 16,000 characters"));
    assert!(why(&("/revise ".to_owned() + &"ü".repeat(16_001))).contains("more than 16,000 characters"));
    assert_eq!(one(&("/fix ".to_owned() + &"ü".repeat(16_000))), fix(&"ü".repeat(16_000)));
}

#[test]
fn hosts_are_normalised_or_refused() {
    let allow = |host: &str, repo| Verb::Allow { host: host.to_owned(), repo, bar: None };
    assert_eq!(one("/allow Semver.org"), allow("semver.org", false));
    assert_eq!(one("/allow `bücher.example:8443` repo"), allow("xn--bcher-kva.example:8443", true));
    assert_eq!(one("/allow *.example.org task"), allow("*.example.org", false));
    assert_eq!(one("/deny semver.org:443"), Verb::Deny { host: "semver.org:443".into(), kept: false });
    for bad in [
        "",
        "https://a.example/x",
        "10.0.0.1",
        "[::1]",
        "localhost",
        "a.example:0",
        "a.example b.example",
        "0x7f.1",
        "*.co.uk",
        "*",
        "１０.0.0.1",
        "a.example repo now",
    ] {
        assert!(is_malformed(&format!("/allow {bad}"), "allow"), "{bad}");
    }
}

#[test]
fn no_command_hides_in_markdown() {
    for text in [
        "> /approve",
        "> quoted\n/approve",
        "```\n/approve\n```",
        "~~~\n/approve",
        "    /approve",
        "`\n/approve`",
        "<!--\n/approve\n-->",
        "text <!-- \n/approve --> more",
        "<details>\n/approve\n</details>",
        "- /approve",
        "- item\n  /approve",
        "1. x\n\n   /approve",
        "# /approve",
        "/approve\n---",
        "| a |\n|---|\n| /approve |",
        "/approve | b\n---|---\n",
        "please /approve",
        "[text\n/approve](http://x.example)",
        "**bold\n/approve**",
        "$$\n/approve\n$$",
        "---\nx: 1\n/approve\n---\n",
        "/usr/bin/env is a path",
        "/approve\u{200b}",
        "//approve",
        "\\/approve",
        "/\napprove",
    ] {
        none(text);
    }
}

#[test]
fn a_command_may_follow_text() {
    assert_eq!(one("Looks right.\n/approve\n"), Verb::approve());
    assert_eq!(one("> /stop\n\n/approve"), Verb::approve());
    assert_eq!(one("```\n/stop\n```\n/status"), Verb::Status);
}

#[test]
fn the_names_of_commands_can_be_left_out_of_a_text() {
    assert_eq!(without_names("It fails.\n\n/Fix\n").trim(), "It fails.");
    assert_eq!(without_names("/fix the parser\nand tests").trim(), "the parser\nand tests");
    for text in ["```\n  /fix x\n```", "> /fix", "run /fix please", "/usr/bin/env", "/frobnicate it"] {
        assert_eq!(without_names(text), text);
    }
}

#[test]
fn stop_beats_changes_beats_approval() {
    let text = "/approve\n/revise not yet\n/status";
    assert_eq!(parse(text, "u7").commands.len(), 3);
    assert_eq!(strongest(text), Some(changes("not yet")));
    assert_eq!(strongest("/approve\n/stop\n/revise x"), Some(Verb::Stop));
    assert_eq!(strongest("/status\n/help"), Some(Verb::Status));
    assert_eq!(strongest("/status\n/approve"), Some(Verb::approve()));
    assert_eq!(strongest("/revise\n/approve"), Some(Verb::approve()), "one that can't be followed asks for nothing");
    assert_eq!(strongest("/approve\n/pause"), Some(Verb::Pause));
    assert_eq!(strongest("words"), None);
    let first = Verb::Approve { checkpoint: Some(1), commit: None, next: 0 };
    assert_eq!(strongest("/approve c1\n/approve c2"), Some(first));
}

#[test]
fn the_table_and_the_parser_agree() {
    let mut names: Vec<_> = COMMANDS.iter().map(|spec| spec.name).collect();
    for spec in COMMANDS {
        let parsed = parse(&format!("/{} 1", spec.name), "u7");
        assert_eq!(parsed.commands[0].name, spec.name);
        assert!(!matches!(parsed.commands[0].verb, Verb::Unknown { why: None, .. }));
        assert!(spec.syntax.starts_with(&format!("/{}", spec.name)));
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), COMMANDS.len(), "two of one name");
    assert_eq!(
        answer_line(None),
        "approve this review (or `/approve`) · request changes with comments on lines · `/revise …` · `/stop`"
    );
}

/// The command table says who may give a command, and the task machine decides it: both must agree.
#[test]
fn the_machine_lets_those_give_a_command_whom_the_table_names() {
    let person = Account { id: 8, login: "u8".into() };
    let request = Request {
        kind: TaskKind::Fix,
        repository: "shop".into(),
        issue: 1,
        title: "t".into(),
        body: String::new(),
        words: String::new(),
        asker: person.clone(),
        place: None,
        right: None,
        listed: Vec::new(),
        issue_author: person.clone(),
        edited: false,
        source: Source::Issue(1),
        number: 0,
        branch: "agent/1-t".into(),
        base_branch: "main".into(),
        budget: Budget::default(),
        every: 5,
        has_upstream: false,
        hosts: Vec::new(),
        terms: Default::default(),
        earlier: None,
        own: None,
        trigger: None,
        pull: None,
    };
    let task = Task::fold(TaskId(1), &[Event::Requested { request: Box::new(request) }]);
    for spec in COMMANDS {
        let argument = match spec.name {
            "budget" => "1 usd",
            "model" => "local",
            "retry" => "--from 1",
            "test-pr" | "test-pr-bug" => "\"true\"",
            _ => "a.test",
        };
        let text = format!("/{} {argument}", spec.name);
        let verb = if spec.name == "approve" { Verb::approve() } else { one(&text) };
        let decision = Decision { at: 1, ..Decision::new(Source::Comment(2), 2, (person.clone(), Access::Read), verb) };
        let input = Input::Decided { decision: Box::new(decision) };
        let (_, step) = transition(&task, &Envelope { key: "k".into(), now: 1, input });
        let is_refused =
            step.effects.iter().any(|effect| matches!(effect, Effect::Comment { notice: Notice::Refused { .. }, .. }));
        assert_eq!(is_refused, spec.who == Who::Writer, "{}", spec.name);
    }
}

#[test]
fn the_readme_shows_this_table() {
    let readme = include_str!("../../README.md");
    let rows: Vec<&str> = readme.lines().filter(|line| line.starts_with("| `/")).collect();
    let wanted: Vec<String> = COMMANDS.iter().map(|spec| format!("| `{}` | {} |", spec.syntax, spec.effect)).collect();
    assert_eq!(rows, wanted);
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(text in "\\PC{0,80}|[/a-z> `<!\\-\\n\\r\\t|*#]{0,80}") {
        let parsed = parse(&text, "u7");
        prop_assert_eq!(parsed.plain, parsed.commands.is_empty());
        let own = parse_with(&text, "u7", &own_names());
        prop_assert_eq!((parsed.own, parsed.commands.len()), (own.own, own.commands.len()));
    }

    #[test]
    fn a_quoted_text_never_commands(text in "[/a-z `\\n]{0,60}") {
        let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
        prop_assert!(parse(&quoted, "u7").plain);
    }
}

#[test]
fn a_test_run_is_a_command_in_quotes_a_branch_and_a_setup_in_any_order() {
    let test = |command: &str, branch: Option<&str>, setup: Option<&str>, bug| Verb::Test {
        command: command.into(),
        setup: setup.map(Into::into),
        branch: branch.map(Into::into),
        bug,
        each_push: false,
    };
    for (text, expected) in [
        (r#"/test-pr "make test" mend"#, test("make test", Some("mend"), None, false)),
        (r#"/test-pr "make test""#, test("make test", None, None, false)),
        (r#"/TEST-PR "make" `agent/1-x`"#, test("make", Some("agent/1-x"), None, false)),
        (r#"/test-pr-bug "t" mend --setup "make deps""#, test("t", Some("mend"), Some("make deps"), true)),
        (r#"/test-pr "t" --setup="make deps" mend"#, test("t", Some("mend"), Some("make deps"), false)),
        ("/test-pr “make test” mend —setup “x”", test("make test", Some("mend"), Some("x"), false)),
        (r#"/test-pr "grep \"a b\" \\n *.c" mend"#, test(r#"grep "a b" \\n *.c"#, Some("mend"), None, false)),
        ("/test-pr \"a\" mend\nBecause I say so.", test("a", Some("mend"), None, false)),
    ] {
        assert_eq!(one(text), expected, "{text}");
    }
    for (text, setup) in [
        (r#"/test-pr "t" --each-push"#, None),
        (r#"/test-pr "t" —each-push --setup "x""#, Some("x")),
        (r#"/test-pr "t" --setup "x" --each-push"#, Some("x")),
    ] {
        let Verb::Test { each_push: true, branch: None, setup: found, .. } = one(text) else { panic!("{text}") };
        assert_eq!(found.as_deref(), setup, "{text}");
    }
    assert_eq!(one("/test-pr --off"), Verb::TestOff);
}

#[test]
fn a_test_run_that_is_written_otherwise_is_answered_with_how() {
    for (text, reason) in [
        ("/test-pr", "in quotes what to run"),
        ("/test-pr make test", "the command stands in quotes"),
        ("/test-pr \"make test", "is not closed in this line"),
        ("/test-pr \"make\ntest\" mend", "is not closed in this line"),
        ("/test-pr \"\" mend", "is empty"),
        ("/test-pr \"a\"b", "a space has to stand"),
        ("/test-pr \"a\" mend other", "one branch"),
        ("/test-pr \"a\" bob:mend", "not a fork's"),
        ("/test-pr \"a\" --image x", "options are --setup and --each-push"),
        ("/test-pr \"a\" --each-pushes", "options are"),
        ("/test-pr \"a\" mend --each-push", "leave the branch out"),
        ("/test-pr --off now", "the command stands in quotes"),
        ("/test-pr \"a\" m^end", "no branch's name"),
        ("/test-pr \"a\" .", "no branch's name"),
        ("/test-pr \"a\" a/../b", "no branch's name"),
        ("/test-pr \"a\" /a", "no branch's name"),
        ("/test-pr \"a\" --setup x", "stands in quotes"),
        ("/test-pr \"a\" --setup \"x\" --setup \"y\"", "twice"),
    ] {
        let why = why(text);
        assert!(why.contains(reason), "{text}: {why}");
    }
    let long = format!("/test-pr \"{}\" mend", "x".repeat(1_001));
    assert!(why(&long).contains("1,000 characters"));
    assert_eq!(one("/test-nothing here"), Verb::Unknown { word: "test-nothing".into(), why: None });
    none("Please:\n/test-nothing here");
}
