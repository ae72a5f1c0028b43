use globs::{List, Pattern, PatternError};

fn fits(pattern: &str, path: &str) -> bool {
    Pattern::new(pattern).unwrap().fits(path)
}

#[test]
fn alternatives() {
    assert!(fits("*.{rs,toml}", "lib.rs") && fits("*.{rs,toml}", "Cargo.toml"));
    assert!(!fits("*.{rs,toml}", "a.r") && !fits("*.{rs,toml}", "a.rstoml") && !fits("*.{rs,toml}", "a.{rs,toml}"));
    assert!(fits("a{,b}", "a") && fits("a{,b}", "ab") && !fits("a{,b}", "abb"));
    assert!(fits("{a}", "a") && !fits("{a}", "{a}"));
    assert!(fits("{a,ab}c", "abc") && fits("{ab,a}bc", "abc"));
}

#[test]
fn with_other_pieces() {
    let pattern = "{*.rs,src/**/x?}";
    assert!(fits(pattern, "a.rs") && fits(pattern, "src/a/b/x1") && fits(pattern, "src/x1") && !fits(pattern, "src/a.rs"));
    assert!(fits("[{,}]", ",") && fits("[{,}]", "{") && fits("{[,],b}", ",") && fits("{[}],b}", "}"));
}

#[test]
fn nested() {
    for path in ["a", "bc", "bd"] {
        assert!(fits("{a,b{c,d}}", path), "{path}");
    }
    assert!(!fits("{a,b{c,d}}", "b") && !fits("{a,b{c,d}}", "ac"));
    assert!(fits("{a,{b,c}{d,e}}", "ce"));
}

#[test]
fn outside_and_open() {
    assert!(fits("a}b", "a}b") && fits("a,b", "a,b"));
    for text in ["{a", "{a,{b}", "x{"] {
        assert_eq!(Pattern::new(text), Err(PatternError::OpenBrace), "{text}");
    }
    assert_eq!(Pattern::new("{[a}"), Err(PatternError::OpenSet));
    assert!(List::parse("*.{o,a}\n!keep.{o,a}").unwrap().fits("x.a"));
}
