//! Tests of rules about single actions.

use super::*;

fn written(text: &str) -> Vec<Written> {
    #[derive(Deserialize)]
    struct File {
        policy: Vec<Written>,
    }
    toml::from_str::<File>(text).unwrap().policy
}

const WEB: ActionContext = ActionContext { web: true, stranger: false, repeated: 0 };

fn rules(text: &str) -> Rules {
    Rules::read(&written(text)).unwrap()
}

const THREE: &str = r#"
[[policy]]
name = "migrations"
then = "ask"
because = "a migration runs on people's data"
path = "migrations/**"
hits = ["migrations/3.sql"]
misses = ["src/migrations.rs"]
[[policy]]
name = "publishing"
then = "deny"
because = "nothing is published from here"
command = '\b(cargo|npm) publish\b'
hits = ["cd a && cargo publish"]
misses = ["cargo publisher"]
[[policy]]
name = "npm"
then = "ask"
because = "npm runs scripts of strangers"
command = '\bnpm\b'
hits = ["npm i"]
"#;

fn bash(command: &str) -> Action {
    Action::Bash { command: command.into() }
}

#[test]
fn a_denial_goes_before_a_question_and_a_question_before_nothing() {
    let rules = rules(THREE);
    assert_eq!(rules.judge(&bash("ls"), WEB), Ruling::Allow);
    assert_eq!(
        rules.judge(&bash("npm i"), ActionContext::default()),
        Ruling::Ask("npm runs scripts of strangers (npm)".into())
    );
    let denied = Ruling::Deny("nothing is published from here (publishing)".into());
    assert_eq!(rules.judge(&bash("npm publish"), ActionContext::default()), denied);
    assert_eq!(rules.judge(&Action::Background { command: "cargo publish".into() }, ActionContext::default()), denied);
}

#[test]
fn a_path_is_known_however_it_is_spelled() {
    let rules = rules(THREE);
    let delete = |path: &str| Action::DeleteFile { path: path.into(), recursive: true };
    for path in
        ["migrations/3.sql", "./src/../migrations//3.sql", "/workspace/migrations/a/b", "migrations", "../x", ""]
    {
        assert!(matches!(rules.judge(&delete(path), ActionContext::default()), Ruling::Ask(_)), "{path}");
    }
    assert_eq!(rules.judge(&delete("src/migrations.rs"), ActionContext::default()), Ruling::Allow);
    let moved = Action::MoveFile { from: "a.sql".into(), to: "migrations/a.sql".into() };
    assert!(matches!(rules.judge(&moved, ActionContext::default()), Ruling::Ask(_)));
    let read = Action::ReadFile { path: "migrations/3.sql".into(), from: 1, lines: 0 };
    assert_eq!(rules.judge(&read, ActionContext::default()), Ruling::Allow, "reading changes nothing");
}

#[test]
fn a_rule_about_reads_is_about_what_names_a_file_or_its_folder_and_about_changes_too() {
    let text = "[[policy]]\nname = \"keys\"\nthen = \"deny\"\nbecause = \"no agent needs them\"\npath = \"keys/**\"\n\
                reads = true\nhits = [\"keys/a.pem\"]\nmisses = [\"keys.md\"]\n";
    let keys = rules(text);
    let read = |path: &str| Action::ReadFile { path: path.into(), from: 1, lines: 0 };
    let list = |path: &str| Action::ListFiles { path: path.into(), glob: None, depth: 0 };
    let search = |path: &str| Action::Search { pattern: "BEGIN".into(), path: path.into(), glob: None };
    for path in ["keys/a.pem", "keys", "/workspace/keys/", "/tmp/../workspace/keys/a"] {
        let ranges = Action::ReadRanges { path: path.into(), ranges: Vec::new() };
        let summary = Action::Summarize { path: path.into(), from: 1 };
        for action in [read(path), list(path), search(path), ranges, summary] {
            assert!(matches!(keys.judge(&action, ActionContext::default()), Ruling::Deny(_)), "{action:?}");
        }
    }
    let write = Action::WriteFile { path: "keys/b".into(), content: String::new() };
    assert!(matches!(keys.judge(&write, ActionContext::default()), Ruling::Deny(_)));
    for path in [".", "", "/workspace", "src", "keys.md", "/tmp/keys/a", "../outputs/3"] {
        for action in [read(path), list(path), search(path)] {
            assert_eq!(keys.judge(&action, ActionContext::default()), Ruling::Allow, "{action:?}");
        }
    }
    let all = rules(&text.replace("keys/**", "**").replace("\"keys.md\"", ""));
    assert!(
        matches!(all.judge(&search("."), ActionContext::default()), Ruling::Deny(_)),
        "the root is among everything"
    );
    let silent = rules(&text.replace("reads = true\n", ""));
    assert_eq!(silent.judge(&read("keys/a.pem"), ActionContext::default()), Ruling::Allow);
}

#[test]
fn a_rule_about_a_host_is_about_the_pages_that_are_fetched_there() {
    let text = "[[policy]]\nname = \"wiki\"\nthen = \"ask\"\nbecause = \"anybody may write there\"\nhost = \"*.Example.org\"\n\
                hits = [\"wiki.example.org\", \"https://a.b.example.org:8443/x?y\"]\nmisses = [\"example.org\", \"https://example.org.test/\"]\n";
    let fetch = |url: &str| Action::WebFetch { url: url.into() };
    let wiki = rules(text);
    for url in
        ["https://wiki.example.org/a", "http://WIKI.example.org./", "https://x.wiki.example.org:444/", "no address"]
    {
        assert!(matches!(wiki.judge(&fetch(url), ActionContext::default()), Ruling::Ask(_)), "{url}");
    }
    for url in
        ["https://example.org/", "https://notexample.org/", "https://a.test/?u=wiki.example.org", "https://10.0.0.1/"]
    {
        assert_eq!(wiki.judge(&fetch(url), ActionContext::default()), Ruling::Allow, "{url}");
    }
    assert_eq!(wiki.judge(&bash("curl https://wiki.example.org"), ActionContext::default()), Ruling::Allow, "no page");
    let port = rules(
        "[[policy]]\nname = \"a\"\nthen = \"deny\"\nbecause = \"b\"\nhost = \"a.test:8443\"\nhits = [\"a.test:8443\"]\nmisses = [\"a.test\"]\n",
    );
    assert!(matches!(port.judge(&fetch("https://a.test:8443/"), ActionContext::default()), Ruling::Deny(_)));
    assert_eq!(port.judge(&fetch("https://a.test/"), ActionContext::default()), Ruling::Allow);
}

#[test]
fn after_a_page_was_read_whatever_writes_is_asked_about() {
    let text = "[[policy]]\nname = \"web\"\nthen = \"ask\"\nbecause = \"a page may be behind it\"\nafter_web = true\n";
    let rules = rules(text);
    assert_eq!(rules.judge(&bash("ls"), ActionContext::default()), Ruling::Allow);
    assert!(matches!(rules.judge(&bash("ls"), WEB), Ruling::Ask(_)));
    let read = Action::ReadFile { path: "a".into(), from: 1, lines: 0 };
    assert_eq!(rules.judge(&read, WEB), Ruling::Allow);
}

#[test]
fn a_rule_may_hold_only_once_a_strangers_words_or_a_page_are_there() {
    let text = "[[policy]]\nname = \"npm\"\nthen = \"deny\"\nbecause = \"a stranger may be behind it\"\n\
                command = 'npm'\nafter = [\"stranger\", \"web\"]\nhits = [\"npm i\"]\n";
    let rules = rules(text);
    assert_eq!(rules.judge(&bash("npm i"), ActionContext::default()), Ruling::Allow);
    assert!(matches!(rules.judge(&bash("npm i"), WEB), Ruling::Deny(_)));
    let stranger = ActionContext { stranger: true, ..ActionContext::default() };
    assert!(matches!(rules.judge(&bash("npm i"), stranger), Ruling::Deny(_)));
    assert_eq!(rules.judge(&bash("ls"), ActionContext::ALL), Ruling::Allow, "it is about its command alone");
    let unknown = text.replace("\"web\"", "\"friends\"");
    assert!(toml::from_str::<toml::Table>(&unknown).is_ok());
    assert!(toml::from_str::<Written>(unknown.trim_start_matches("[[policy]]\n")).is_err(), "an unknown origin");
}

#[test]
fn of_two_decisions_the_stricter_one_counts() {
    let (ask, deny) = (|word: &str| Ruling::Ask(word.into()), |word: &str| Ruling::Deny(word.into()));
    for (one, other, both) in [
        (Ruling::Allow, Ruling::Allow, Ruling::Allow),
        (Ruling::Allow, ask("a"), ask("a")),
        (ask("a"), Ruling::Allow, ask("a")),
        (ask("a"), ask("b"), ask("a; b")),
        (ask("a"), deny("b"), deny("b")),
        (deny("a"), ask("b"), deny("a")),
        (Ruling::Allow, deny("b"), deny("b")),
    ] {
        assert_eq!(one.and(other), both);
    }
}

/// What is known of an action that was done so often before.
fn again(repeated: u32) -> ActionContext {
    ActionContext { repeated, ..ActionContext::default() }
}

#[test]
fn a_rule_may_hold_only_once_the_same_was_done_often() {
    let text = "[[policy]]\nname = \"again\"\nthen = \"ask\"\nbecause = \"it gave the same\"\nrepeated = 4\n";
    let every = rules(text);
    let read = Action::ReadFile { path: "a".into(), from: 1, lines: 0 };
    for action in [bash("make"), read.clone()] {
        assert_eq!(every.judge(&action, again(3)), Ruling::Allow);
        assert_eq!(every.judge(&action, again(4)), Ruling::Ask("it gave the same (again)".into()));
    }
    let make = rules(&format!("{text}command = '^make'\nhits = [\"make all\"]\nmisses = [\"ls\"]\n"));
    assert!(matches!(make.judge(&bash("make"), again(5)), Ruling::Ask(_)));
    assert_eq!(make.judge(&bash("make"), again(3)), Ruling::Allow);
    assert_eq!(make.judge(&bash("ls"), again(9)), Ruling::Allow, "it is about its command alone");
    let reads = rules(&format!("{text}path = \"a\"\nreads = true\nhits = [\"a\"]\n"));
    assert!(matches!(reads.judge(&read, again(4)), Ruling::Ask(_)));
    assert_eq!(reads.judge(&read, again(0)), Ruling::Allow);
    let after = rules(&format!("{text}after = [\"web\"]\n"));
    assert_eq!(after.judge(&read, again(4)), Ruling::Allow, "no page was read");
    assert!(matches!(after.judge(&read, ActionContext { web: true, ..again(4) }), Ruling::Ask(_)));
    let negative = text.replace("= 4", "= -1");
    assert!(toml::from_str::<Written>(negative.trim_start_matches("[[policy]]\n")).is_err());
}

#[test]
fn a_denial_of_the_operators_stands_beside_a_question_about_repetition() {
    let deny = "[[policy]]\nname = \"enough\"\nthen = \"deny\"\nbecause = \"it gave the same\"\nrepeated = 8\n";
    let ask = "[[policy]]\nname = \"make\"\nthen = \"ask\"\nbecause = \"b\"\ncommand = \"make\"\nhits = [\"make\"]\n";
    let both = rules(deny).and(rules(ask));
    assert!(matches!(both.judge(&bash("make"), again(7)), Ruling::Ask(_)));
    assert!(matches!(both.judge(&bash("make"), again(8)), Ruling::Deny(_)));
}

#[test]
fn a_question_of_a_repository_softens_no_refusal_of_the_operators() {
    let operators = "[[policy]]\nname = \"web\"\nthen = \"deny\"\nbecause = \"a page\"\nafter_web = true\n";
    let own = "[[policy]]\nname = \"all\"\nthen = \"ask\"\nbecause = \"b\"\ncommand = \".\"\nhits = [\"x\"]\n";
    let both = rules(operators).and(rules(own));
    assert!(matches!(both.judge(&bash("ls"), ActionContext::default()), Ruling::Ask(_)));
    assert!(matches!(both.judge(&bash("ls"), WEB), Ruling::Deny(_)));
}

#[test]
fn what_is_wrong_with_a_rule_is_named_with_its_key() {
    let base = "[[policy]]\nname = \"a\"\nthen = \"ask\"\nbecause = \"b\"\n";
    for (more, key, words) in [
        ("", "command", "say what the rule is about"),
        ("command = \"a\"\npath = \"b\"\nhits = [\"a\"]\n", "command", "one of `command`, `path` and `host`"),
        ("host = \"a.test\"\npath = \"b\"\nhits = [\"b\"]\n", "command", "one of `command`, `path` and `host`"),
        ("host = \"https://a.test/\"\nhits = [\"a.test\"]\n", "host", "write the host alone"),
        ("host = \"*.com\"\nhits = [\"a.com\"]\n", "host", "is no host name"),
        ("host = \"a.test\"\nhits = [\"b.test\"]\n", "hits", "not about its own example"),
        ("command = \"a\"\nreads = true\nhits = [\"a\"]\n", "reads", "only a rule with a `path`"),
        ("command = \"(\"\nhits = [\"a\"]\n", "command", "no pattern of commands"),
        ("command = \"a\"\n", "hits", "at least one example"),
        ("command = \"a\"\nhits = [\"b\"]\n", "hits", "not about its own example"),
        ("command = \"a\"\nhits = [\"a\"]\nmisses = [\"ba\"]\n", "misses", "which it should not be"),
        ("path = \"/a\"\nhits = [\"a\"]\n", "path", "relative to the root"),
        ("path = \"a{\"\nhits = [\"a\"]\n", "path", "no pattern of paths"),
        ("after_web = true\nhits = [\"a\"]\n", "hits", "has no examples"),
        ("after = []\n", "command", "say what the rule is about"),
        ("repeated = 0\n", "repeated", "1 to 100"),
        ("command = \"a\"\nrepeated = 101\nhits = [\"a\"]\n", "repeated", "1 to 100"),
        ("command = \"a\"\nrepeated = 4\n", "hits", "at least one example"),
        ("command = \"a\"\nrepeated = 4\nhits = [\"b\"]\n", "hits", "not about its own example"),
        ("repeated = 4\nhits = [\"a\"]\n", "hits", "has no examples"),
        ("repeated = 4\nreads = true\n", "reads", "only a rule with a `path`"),
    ] {
        let (at, found, why) = Rules::read(&written(&format!("{base}{more}"))).unwrap_err();
        assert!(at == 0 && found == key && why.contains(words), "{more}: {found}: {why}");
    }
    let nested = format!("{base}path = \"{}a{}\"\nhits = [\"a\"]\n", "{".repeat(400), "}".repeat(400));
    let (_, key, why) = Rules::read(&written(&nested)).unwrap_err();
    assert!(key == "path" && why.contains("no pattern of paths"), "{why}");
    assert!(toml::from_str::<toml::Table>(base).is_ok());
    let allow = base.replace("\"ask\"", "\"allow\"");
    assert!(toml::from_str::<Written>(allow.trim_start_matches("[[policy]]\n")).is_err(), "a rule allows nothing");
}
