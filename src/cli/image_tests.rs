//! Tests of `caisson image` without an engine.

use super::*;

#[test]
fn an_unknown_profile_is_refused_by_name_with_those_there_are() {
    let error = requested(&["rust".to_owned(), "cobol".to_owned()]).err().unwrap();
    let complaint = Complaint::from(&error);
    assert!(complaint.what.contains("cobol") && complaint.hint.contains("base, python, rust"), "{complaint:?}");
}

#[test]
fn a_name_may_have_a_version_that_can_be_one() {
    let names = ["rust@1.95".to_owned(), "go".to_owned()];
    let both: Vec<_> = requested(&names).unwrap().iter().map(|it| (it.profile.name, it.version)).collect();
    assert_eq!(both, [("rust", Some("1.95")), ("go", None)]);
    for odd in ["rust@", "rust@1;x", "rust@../x"] {
        assert!(requested(&[odd.to_owned()]).is_err(), "{odd}");
    }
}

#[test]
fn what_was_brought_is_offered_once_and_everything_else_stays_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let (file, printer) = (dir.path().join("caisson.toml"), Printer::terminal());
    std::fs::write(&file, "# mine\n[sandbox.toolchains]\nnode = \"\" # not here\n").unwrap();
    for _ in 0..2 {
        offer(&file, "rust@1.95", "caisson-sandbox:rust-1.95", &printer).unwrap();
        offer(&file, "rust", "caisson-sandbox:rust", &printer).unwrap();
    }
    let text = std::fs::read_to_string(&file).unwrap();
    let wanted =
        "# mine\n[sandbox.toolchains]\nnode = \"\" # not here\n\"rust@1.95\" = \"caisson-sandbox:rust-1.95\"\n";
    assert_eq!(text, wanted);
    let sandbox = Process::load(&file).unwrap().sandbox;
    assert!(sandbox.all_images().contains(&"caisson-sandbox:rust-1.95".to_owned()));
}

#[test]
fn what_is_not_built_is_a_line_too() {
    let all = lines(&StoredImages::default());
    assert_eq!(all.len(), profiles().count());
    assert!(all.iter().all(|line| line.state == "not built" && line.id.is_none()));
    assert_eq!(all[2].cells()[..2], ["rust", "caisson-sandbox:rust"]);
}

#[test]
fn what_is_not_built_is_named_with_its_command() {
    let said = unbuilt(&[("rust", "caisson-sandbox:rust"), ("go", "team/go:1")]).unwrap();
    assert!(said.contains("`caisson image build rust`") && said.contains("no team/go:1"), "{said}");
    assert_eq!(unbuilt(&[]), None);
}
