use globs::Pattern;

fn literal(text: &str) -> bool {
    Pattern::new(text).unwrap().is_literal()
}

#[test]
fn plain_paths() {
    for text in ["src/lib.rs", "", "/", "a", "a b!-]", "\u{e9}t\u{e9}/x"] {
        assert!(literal(text), "{text}");
    }
}

#[test]
fn others() {
    for text in ["*.rs", "*", "a?c", "?", "[a]", "src/[!a-c]", "**/x", "src/**/mod.rs", "src/lib.*"] {
        assert!(!literal(text), "{text}");
    }
}

#[test]
fn a_plain_path_fits_itself() {
    let pattern = Pattern::new("src/lib.rs").unwrap();
    assert!(pattern.is_literal() && pattern.fits(pattern.as_str()) && !pattern.fits("src/lib_rs"));
}
