//! Entries of the store: accepted content, and combination with entries of the file.

use super::Process;
use super::process::Repository;
use super::write::take_out_repository;
use std::path::{Path, PathBuf};

fn shop() -> Repository {
    Repository {
        key: "shop".into(),
        owner: "lab".into(),
        name: "My_Shop".into(),
        id: 7,
        default_branch: "main".into(),
        upstream: "https://example.org/lab/shop.git".into(),
        accepted: "ab".repeat(32),
        accepted_foreign: vec!["hook 3 to ci.example (3fa9c1d2)".into()],
        from_store: true,
        ..Repository::default()
    }
}

fn configured(text: &str) -> Process {
    Process::from_layers(Path::new("/etc/caisson/caisson.toml"), text, &|_| None).unwrap()
}

#[test]
fn an_entry_of_the_store_is_read_as_it_was_written() {
    let text = shop().document().unwrap();
    assert_eq!(Repository::from_document("shop", &text).unwrap(), shop());
    let least = r#"{"version":1,"owner":"lab","name":"shop","id":7,"default_branch":"main"}"#;
    assert_eq!(Repository::from_document("shop", least).unwrap().upstream, "");
    // Only an entry that says more is one of a newer version.
    assert!(text.contains("\"version\":1") && !text.contains("branches"), "{text}");
    let more = Repository { branches: vec!["stable".into()], ..shop() };
    let written = more.document().unwrap();
    assert!(written.contains("\"version\":2"), "{written}");
    assert_eq!(Repository::from_document("shop", &written).unwrap(), more);
    let numbered = Repository { upstream_id: 1_296_269, ..more.clone() };
    let written = numbered.document().unwrap();
    assert!(written.contains("\"version\":3") && written.contains("1296269"), "{written}");
    assert_eq!(Repository::from_document("shop", &written).unwrap(), numbered);
    assert_eq!(numbered.differs_from(&more), [""; 0], "a number that is not known is no other one");
    assert_eq!(numbered.differs_from(&Repository { upstream_id: 5, ..more }), ["upstream_id"]);
    // Local files and tables of the host where it was added stay there.
    let local = Repository { upstream: "/srv/git/shop".into(), secret_files: vec![PathBuf::from("/etc/x")], ..shop() };
    let read = Repository::from_document("shop", &local.document().unwrap()).unwrap();
    assert_eq!((read.upstream.as_str(), read.copied_from.as_str(), read.secret_files.len()), ("", "/srv/git/shop", 0));
    assert!(read.differs_from(&local).is_empty(), "it is the same entry: {:?}", read.differs_from(&local));
    assert_eq!(read.differs_from(&shop()), ["upstream"]);
}

#[test]
fn an_entry_that_says_more_than_an_entry_may_is_refused_with_its_reason() {
    let good: serde_json::Value = serde_json::from_str(&shop().document().unwrap()).unwrap();
    for (field, value, words) in [
        ("secret_files", serde_json::json!(["/etc/shadow"]), "unknown field"),
        ("sandbox", serde_json::json!({ "image": "evil" }), "unknown field"),
        ("hook_url", serde_json::json!("http://evil.example"), "unknown field"),
        ("token_file", serde_json::json!("/etc/shadow"), "unknown field"),
        ("version", serde_json::json!(4), "newer version"),
        ("id", serde_json::json!(0), "entry.id"),
        ("owner", serde_json::json!("../../api"), "entry.owner"),
        ("owner", serde_json::json!(".."), "entry.owner"),
        ("name", serde_json::json!("x?y"), "entry.name"),
        ("name", serde_json::json!(""), "entry.name"),
        ("default_branch", serde_json::json!("--upload-pack=x"), "entry.default_branch"),
        ("default_branch", serde_json::json!("a..b"), "entry.default_branch"),
        ("accepted", serde_json::json!("everything"), "entry.accepted"),
        ("upstream", serde_json::json!("/srv/somebody/private"), "entry.upstream"),
        ("upstream", serde_json::json!("file:///etc"), "entry.upstream"),
        ("upstream", serde_json::json!("ext::sh -c x"), "entry.upstream"),
        ("upstream", serde_json::json!("https://u:p@example.org/x"), "entry.upstream"),
        ("copied_from", serde_json::json!("\u{1b}[2J"), "entry"),
    ] {
        let mut changed = good.clone();
        changed[field] = value;
        let why = Repository::from_document("shop", &changed.to_string()).unwrap_err();
        assert!(why.contains(words), "{field}: {why}");
    }
    assert!(Repository::from_document("../shop", &good.to_string()).unwrap_err().contains("entry.key"));
    assert!(Repository { accepted: "x".into(), ..shop() }.document().is_err(), "nor is such a one written");
}

#[test]
fn entries_come_and_go_with_the_operators_tables_and_the_files_entry_wins() {
    let own = "[[repositories]]\nkey = \"shop\"\n[repositories.sandbox]\nmemory_mib = 9000\n[repositories.budget]\ndollars = 9.0\n\
               [repositories.checkpoint]\nevery = 2\n[repositories.start]\nby = [\"writer\"]\n\
               [[repositories]]\nkey = \"till\"\nowner = \"lab\"\nname = \"till\"\nid = 8\nsecret_files = [\"s\"]\n";
    let config = configured(own);
    assert_eq!(config.keys(), ["till"], "tables alone are no repository");
    let copy = config.clone();
    let till = Repository { key: "till".into(), id: 9, ..shop() };
    let twin = Repository { key: "other".into(), id: 8, ..shop() };
    let refused = config.learn(vec![shop(), till, twin]);
    assert_eq!(refused.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["other"], "{refused:?}");
    assert_eq!(copy.keys(), ["till", "shop"], "every copy of the configuration sees it");
    assert_eq!(copy.repository("till").unwrap().id, 8, "the file's");
    let (entry, sandbox) = (copy.repository("shop").unwrap(), copy.sandbox_of("shop"));
    assert_eq!((entry.id, sandbox.memory_mib, sandbox.pids), (7, 9000, copy.sandbox.pids));
    assert_eq!((entry.budget.unwrap().dollars, copy.budget_of("shop").dollars, copy.every_of("shop")), (9.0, 9.0, 2));
    assert_eq!((entry.start.by.len(), copy.start_of("shop").by.as_slice()), (1, &["writer".to_owned()][..]));
    assert!(config.learn(Vec::new()).is_empty());
    assert!(copy.repository("shop").is_none() && copy.repository("till").is_some());
    assert_eq!(entry.id, 7, "whoever works with it still has it");
}

#[test]
fn half_an_entry_is_refused() {
    for half in [
        "key = \"a\"\n",
        "key = \"a\"\nowner = \"lab\"\n",
        "key = \"a\"\naccepted = \"x\"\n[repositories.budget]\ndollars = 1.0\n",
    ] {
        let text = format!("[[repositories]]\n{half}");
        let error = Process::from_layers(Path::new("/x/caisson.toml"), &text, &|_| None).unwrap_err().to_string();
        assert!(error.contains("repositories.0."), "{half}: {error}");
    }
}

#[test]
fn an_entry_that_is_moved_into_the_store_leaves_a_file_that_can_be_used() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("caisson.toml");
    let entry = "[[repositories]]\nkey = \"shop\"\nowner = \"lab\"\nname = \"shop\"\nid = 7\nsecret_files = [\"s\"]\n";
    // Each is as it would be without a word.
    for own in ["merge = \"never\"\n", "models = []\n", "[repositories.egress]\n", "[repositories.start]\nby = []\n"] {
        std::fs::write(&path, format!("{entry}{own}")).unwrap();
        assert!(take_out_repository(&path, "shop").unwrap());
        let config = Process::load(&path).unwrap_or_else(|why| panic!("{own}: {why}"));
        assert!(config.in_file().next().is_none(), "{own}");
    }
    let nothing = Process::from_layers(&path, "[[repositories]]\nkey = \"shop\"\n", &|_| None).err();
    assert!(nothing.is_some_and(|why| why.to_string().contains("give the whole entry")));
}
