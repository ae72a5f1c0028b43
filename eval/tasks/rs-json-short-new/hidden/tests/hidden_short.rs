use json::short::{Short, MAX_LEN};
use json::JsonValue;

#[test]
fn up_to_the_limit() {
    for length in [0, 1, MAX_LEN - 1, MAX_LEN] {
        let text = "x".repeat(length);
        assert_eq!(Short::new(&text).unwrap().as_str(), text);
    }
    assert!(Short::new(&"x".repeat(MAX_LEN + 1)).is_none());
    assert!(Short::new(&"x".repeat(300)).is_none());
    assert!(Short::new(&"\u{e9}".repeat(MAX_LEN / 2 + 1)).is_none());
}

#[test]
fn values_choose_as_before() {
    assert!(matches!(JsonValue::from("x".repeat(MAX_LEN).as_str()), JsonValue::Short(_)));
    assert!(matches!(JsonValue::from("x".repeat(MAX_LEN + 1).as_str()), JsonValue::String(_)));
    assert_eq!(JsonValue::from("abc"), "abc");
    assert_eq!(json::parse("\"abc\"").unwrap(), "abc");
}

#[test]
fn callers_are_safe() {
    for text in [include_str!("../src/value/implements.rs"), include_str!("../src/value/mod.rs"), include_str!("../src/parser.rs")] {
        assert!(!text.contains("Short::from_slice") && !text.contains("MAX_LEN"));
    }
    assert!(include_str!("../src/short.rs").contains("#[deprecated"));
}
