use folded::{wrap, Align, Options};

fn options(width: usize, first: &str, others: &str) -> Options {
    Options { width, first: first.into(), others: others.into(), align: Align::Left }
}

#[test]
fn width_less_indentation() {
    assert_eq!(Options::default().room(), 72);
    assert_eq!(options(8, "* ", "    ").room(), 4);
    assert_eq!(options(8, "* ", "").room(), 6);
    assert_eq!(options(8, "\u{2022} ", "  ").room(), 6);
}

#[test]
fn at_least_one() {
    assert_eq!(options(2, "long ", "").room(), 1);
    assert_eq!(options(0, "", "").room(), 1);
    assert_eq!(options(5, "", "12345").room(), 1);
}

#[test]
fn wrap_calls_it() {
    let text = include_str!("../src/wrap.rs");
    let body = text.split("pub fn wrap(").nth(1).unwrap().split("\n}\n").next().unwrap();
    assert!(body.contains(".room()") && !body.contains("saturating_sub"), "{body}");
}

#[test]
fn same_lines() {
    assert_eq!(wrap("one two three", &options(8, "* ", "  ")), ["* one", "  two", "  three"]);
    assert_eq!(wrap("a abcdefgh", &options(3, "", "")), ["a", "abc", "def", "gh"]);
    assert_eq!(wrap("ab", &options(1, "> ", "")), ["> a", "b"]);
}
