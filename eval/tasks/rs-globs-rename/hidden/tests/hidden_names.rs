use globs::{List, Pattern};

#[test]
fn new_name() {
    let matcher = include_str!("../src/matcher.rs");
    assert!(matcher.contains("fn pieces_fit("));
    assert!(!matcher.contains("fn fits("));
    assert!(matcher.matches("pieces_fit(").count() > 1);
}

#[test]
fn used_by_patterns() {
    let pattern = include_str!("../src/pattern.rs");
    assert!(pattern.contains("pieces_fit("));
    assert!(!pattern.contains("matcher::fits"));
    assert!(pattern.contains("pub fn fits(&self"));
}

#[test]
fn same_answers() {
    let fits = |pattern: &str, path: &str| Pattern::new(pattern).unwrap().fits(path);
    assert!(fits("*.rs", "lib.rs") && !fits("*.rs", "src/lib.rs"));
    assert!(fits("src/**/mod.rs", "src/a/b/mod.rs") && !fits("src/**/mod.rs", "src/xmod.rs"));
    assert!(fits("[!a]?", "bc") && !fits("[!a]?", "ac"));
    let list = List::parse("*.o\n!keep.o\n").unwrap();
    assert!(list.fits("a.o") && !list.fits("keep.o"));
}
