use globs::{List, Pattern, PatternError};

fn fits(pattern: &str, path: &str) -> bool {
    Pattern::new(pattern).unwrap().fits(path)
}

#[test]
fn stars_and_question_marks() {
    assert!(fits("*.rs", "lib.rs"));
    assert!(fits("*", ""));
    assert!(!fits("*.rs", "src/lib.rs"));
    assert!(fits("a?c", "abc"));
    assert!(!fits("a?c", "a/c"));
    assert!(fits("*a*b*", "xxaxxbxx"));
}

#[test]
fn folders() {
    for path in ["src/mod.rs", "src/a/mod.rs", "src/a/b/mod.rs"] {
        assert!(fits("src/**/mod.rs", path), "{path}");
    }
    assert!(!fits("src/**/mod.rs", "lib/mod.rs"));
    assert!(!fits("src/**/mod.rs", "src/xmod.rs"));
    assert!(fits("**/x", "x"));
}

#[test]
fn sets() {
    assert!(fits("[a-c]x", "bx"));
    assert!(!fits("[!a-c]x", "bx"));
    assert!(fits("[]-]", "]") && fits("[]-]", "-"));
    assert!(!fits("[!a]", "/"));
    assert_eq!(Pattern::new("[a"), Err(PatternError::OpenSet));
    assert_eq!(Pattern::new("[z-a]"), Err(PatternError::Backwards('z', 'a')));
}

#[test]
fn lists() {
    let list = List::parse("# build output\n*.o\n\n!keep.o\n").unwrap();
    assert!(list.fits("a.o"));
    assert!(!list.fits("keep.o"));
    assert!(!list.fits("a.c"));
}
