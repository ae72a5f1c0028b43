//! What is stored of a task or a test run changes its shape only together with a migration, because a newer migration is what keeps hosts
//! of an older version from the store (docs/hosts.md). `shapes.txt` has a digest of each stored type, and the number of the newest migration.

use super::{files, read, root, shown};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// What the store writes as JSON and another version reads; types that these contain are stored with them.
const STORED: [&str; 4] = ["Event", "Effect", "TestRun", "TestResult"];
const LIST: &str = "tests/house/shapes.txt";
/// What writes the list anew.
const COMMAND: &str = "CAISSON_SHAPES=write cargo test --test house shapes";

/// The types in a source that serde reads or writes: the name of each, and its declaration without comments and other attributes than
/// serde's. Relies on rustfmt: a declaration ends at the first line without indentation that ends in a brace or a semicolon.
fn declarations(text: &str) -> Vec<(String, String)> {
    let (mut all, mut open) = (Vec::new(), None);
    for line in text.lines() {
        if line.starts_with("#[derive(") && line.contains("erialize") {
            open = Some(String::new());
            continue;
        }
        let Some(declared) = &mut open else { continue };
        let code = line.trim_start();
        if !code.starts_with("//") && (!code.starts_with("#[") || code.starts_with("#[serde(")) {
            declared.push_str(code);
            declared.push(' ');
        }
        if !line.starts_with([' ', '#', '/']) && line.ends_with(['}', ';']) {
            let behind = ["enum ", "struct "].iter().find_map(|word| Some(declared.split_once(*word)?.1));
            let name: String = behind.unwrap_or_default().chars().take_while(|c| c.is_alphanumeric()).collect();
            all.push((name, declared.clone()));
            open = None;
        }
    }
    all
}

/// A digest of a declaration that does not depend on its line breaks.
fn digest(declaration: &str) -> String {
    let bare: String = declaration.split_whitespace().collect();
    let bare = bare.replace(",}", "}").replace(",)", ")");
    hex::encode(Sha256::digest(bare.as_bytes()))[..12].to_owned()
}

/// The digest of each stored type.
fn digests() -> BTreeMap<String, String> {
    let mut declared = BTreeMap::new();
    for path in files(&root().join("domain/src"), &[".rs"]) {
        for (name, declaration) in declarations(&read(&path)) {
            let before = declared.insert(name.clone(), declaration);
            assert!(before.is_none(), "{}: another type has the name `{name}` too", shown(&path));
        }
    }
    let (mut stored, mut open) = (BTreeMap::new(), STORED.map(str::to_owned).to_vec());
    while let Some(name) = open.pop() {
        let Some(declaration) = declared.remove(&name) else { continue };
        open.extend(declaration.split(|c: char| !c.is_alphanumeric()).map(str::to_owned));
        stored.insert(name, digest(&declaration));
    }
    assert!(STORED.iter().all(|name| stored.contains_key(*name)), "a type of {STORED:?} was not found");
    stored
}

fn newest_migration() -> u32 {
    let migrations = files(&root().join("migrations/sqlite"), &[".sql"]);
    let number = |path: &std::path::PathBuf| path.file_name()?.to_str()?.split('_').next()?.parse::<u32>().ok();
    migrations.iter().filter_map(number).max().expect("a migration")
}

/// Names in lines of one list that the other lacks.
fn changed<'a>(one: &'a str, other: &'a str) -> BTreeSet<&'a str> {
    let (one, other): (BTreeSet<&str>, BTreeSet<&str>) = (one.lines().collect(), other.lines().collect());
    one.symmetric_difference(&other).filter_map(|line| line.split(' ').next()).collect()
}

#[test]
fn what_is_stored_changes_its_shape_only_with_a_migration() {
    let lines: String = digests().iter().map(|(name, digest)| format!("{name} {digest}\n")).collect();
    let now = format!("migration {}\n{lines}", newest_migration());
    let listed = read(&root().join(LIST));
    let changed = changed(&listed, &now);
    let migrated = changed.contains("migration");
    assert!(
        migrated || changed.is_empty(),
        "the stored shape of {changed:?} is another one, which hosts of an older version beside this one would misread or drop. Add a \
         migration of the same name to both folders in migrations/, a comment in it is enough; then write {LIST} anew: `{COMMAND}`"
    );
    if migrated && std::env::var("CAISSON_SHAPES").is_ok_and(|word| word == "write") {
        return fs::write(root().join(LIST), &now).expect("written");
    }
    assert_eq!(listed, now, "there is a newer migration: write {LIST} anew: `{COMMAND}`");
}

#[test]
fn fields_variants_and_names_are_a_types_shape_and_comments_are_not() {
    let of = |text: &str| match &declarations(text)[..] {
        [(name, declaration)] => (name.clone(), digest(declaration)),
        other => panic!("{other:?}"),
    };
    let text = r#"
#[derive(Debug, Serialize)]
#[serde(tag = "a")]
pub enum Step {
    /// One.
    One { n: u32 },
}
"#;
    let before = of(text);
    assert_eq!(before.0, "Step");
    assert_eq!(of(&text.replace("One.", "Another.").replace("Debug", "Clone")), before);
    assert_eq!(of(&text.replace("{ n: u32 }", "{\n        n: u32,\n    }")), before);
    for (part, other) in [("u32", "u64"), ("n:", "m:"), ("One {", "Two {"), ("\"a\"", "\"b\"")] {
        assert_ne!(of(&text.replace(part, other)), before, "{other}");
    }
    assert!(declarations("#[derive(Debug)]\npub struct Step(u32);\n").is_empty());
}
