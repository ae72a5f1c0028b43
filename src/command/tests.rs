use super::*;
use proptest::prelude::*;

const BARE: Command = Command::Approve { checkpoint: None, commit: None, next: 0 };

fn one(text: &str) -> Command {
    let parsed = parse(text);
    assert_eq!(parsed.commands.len(), 1, "{parsed:?}");
    parsed.commands.into_iter().next().unwrap()
}

fn none(text: &str) {
    let parsed = parse(text);
    assert!(parsed.commands.is_empty() && parsed.plain, "{text:?}: {parsed:?}");
}

#[test]
fn a_budget_is_read_by_kind_and_nothing_doubtful_is_granted() {
    let budget = |text: &str| match one(&format!("/budget {text}")) {
        Command::Budget(more) => Some([more.micro_usd, more.tokens, more.actions, more.work_ms]),
        Command::Malformed { name: "budget", .. } => None,
        other => panic!("{other:?}"),
    };
    let read = [
        ("2 usd", [2_000_000, 0, 0, 0]),
        ("$2.50", [2_500_000, 0, 0, 0]),
        ("0.001 USD", [1_000, 0, 0, 0]),
        ("30 actions", [0, 0, 30, 0]),
        ("1 action, 20 min and 100k tokens", [0, 100_000, 1, 1_200_000]),
        ("1.5m tokens", [0, 1_500_000, 0, 0]),
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
        "2usd",
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
    ];
    for text in doubtful {
        assert_eq!(budget(text), None, "{text}");
    }
}

#[test]
fn each_command_is_read() {
    let approve =
        |checkpoint, commit: Option<&str>| Command::Approve { checkpoint, commit: commit.map(str::to_owned), next: 0 };
    assert_eq!(one("/fix"), Command::Fix(String::new()));
    assert_eq!(
        one("/Fix the parser\nand its tests\r\n\r\n```\ncode\n```"),
        Command::Fix("the parser\nand its tests\r\n\r\n```\ncode\n```".into())
    );
    assert_eq!(one("/plan where is it"), Command::Plan("where is it".into()));
    assert_eq!(one("  /approve  "), approve(None, None));
    assert_eq!(one("/approve c3"), approve(Some(3), None));
    assert_eq!(one("/approve 12"), approve(Some(12), None));
    assert_eq!(one("/approve F26AF04E7F"), approve(None, Some("f26af04e7f")));
    assert!(matches!(one("/approve looks good"), Command::Malformed { name: "approve", .. }));
    assert!(matches!(one("/approve 0"), Command::Malformed { .. }));
    assert!(matches!(one("/revise"), Command::Malformed { name: "revise", .. }));
    assert_eq!(one("/revise use `parse`"), Command::Revise("use `parse`".into()));
    assert_eq!(one("/stop please"), Command::Stop);
    assert_eq!(one("/resume"), Command::Resume);
    assert_eq!(one("/status"), Command::Status);
    assert_eq!(one("/help"), Command::Help);
    assert_eq!(one("/frobnicate now"), Command::Unknown("frobnicate".into()));
}

#[test]
fn an_approval_in_advance_says_how_many() {
    for next in [1, 3, 20] {
        let read = one(&format!("/approve  next  {next} "));
        assert_eq!(read, Command::Approve { checkpoint: None, commit: None, next });
    }
    for bad in
        ["next", "next 0", "next 21", "next 257", "next +3", "next -1", "next three", "next 3 4", "3 next", "next3"]
    {
        let read = one(&format!("/approve {bad}"));
        assert!(matches!(read, Command::Malformed { name: "approve", .. }), "{bad}: {read:?}");
    }
}

#[test]
fn hosts_are_normalised_or_refused() {
    let rule = |host: &str| Rule::parse(host).unwrap();
    let allow = |host: &str, scope| Command::Allow { host: rule(host), scope };
    assert_eq!(one("/allow Semver.org"), allow("semver.org", Scope::Task));
    assert_eq!(one("/allow `bücher.example:8443` repo"), allow("xn--bcher-kva.example:8443", Scope::Repository));
    assert_eq!(one("/allow *.example.org task"), allow("*.example.org", Scope::Task));
    assert_eq!(one("/deny semver.org:443"), Command::Deny { host: rule("semver.org:443") });
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
        assert!(matches!(one(&format!("/allow {bad}")), Command::Malformed { name: "allow", .. }), "{bad}");
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
    assert_eq!(one("Looks right.\n/approve\n"), BARE);
    assert_eq!(one("> /stop\n\n/approve"), BARE);
    assert_eq!(one("```\n/stop\n```\n/status"), Command::Status);
}

#[test]
fn stop_beats_changes_beats_approval() {
    let parsed = parse("/approve\n/revise not yet\n/status");
    assert_eq!(parsed.commands.len(), 3);
    assert_eq!(parsed.strongest(), Some(&Command::Revise("not yet".into())));
    assert_eq!(parse("/approve\n/stop\n/revise x").strongest(), Some(&Command::Stop));
    assert_eq!(parse("/status\n/help").strongest(), Some(&Command::Status));
    assert_eq!(parse("/status\n/approve").strongest().map(Command::name), Some("approve"));
    assert_eq!(parse("words").strongest(), None);
    assert_eq!(
        parse("/approve c1\n/approve c2").strongest(),
        Some(&Command::Approve { checkpoint: Some(1), commit: None, next: 0 })
    );
}

#[test]
fn the_table_and_the_parser_agree() {
    for spec in COMMANDS {
        let parsed = one(&format!("/{}", spec.name));
        assert_eq!(parsed.name(), spec.name);
        assert!(!matches!(parsed, Command::Unknown(_)));
        assert!(spec.syntax.starts_with(&format!("/{}", spec.name)));
    }
    assert_eq!(
        answer_line(None),
        "approve this review (or `/approve`) · request changes with comments on lines · `/revise …` · `/stop`"
    );
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(text in "\\PC{0,80}|[/a-z> `<!\\-\\n\\r\\t|*#]{0,80}") {
        let parsed = parse(&text);
        prop_assert_eq!(parsed.plain, parsed.commands.is_empty());
    }

    #[test]
    fn a_quoted_text_never_commands(text in "[/a-z `\\n]{0,60}") {
        let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
        prop_assert!(parse(&quoted).plain);
    }
}
