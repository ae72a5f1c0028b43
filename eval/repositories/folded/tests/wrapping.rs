use folded::{fill, wrap, Align, Options};

fn width(width: usize) -> Options {
    Options { width, ..Options::default() }
}

#[test]
fn words_into_lines() {
    assert_eq!(wrap("the quick brown fox", &width(10)), ["the quick", "brown fox"]);
    assert_eq!(wrap("the quick brown fox", &width(9)), ["the quick", "brown fox"]);
    assert_eq!(wrap("  a \n b  ", &width(9)), ["a b"]);
    assert!(wrap("", &width(9)).is_empty());
}

#[test]
fn long_words_are_cut() {
    assert_eq!(wrap("a abcdefgh", &width(3)), ["a", "abc", "def", "gh"]);
}

#[test]
fn indented() {
    let options = Options { width: 8, first: "* ".into(), others: "  ".into(), align: Align::Left };
    assert_eq!(wrap("one two three", &options), ["* one", "  two", "  three"]);
}

#[test]
fn aligned() {
    let options = |align| Options { width: 9, align, ..Options::default() };
    assert_eq!(wrap("a bb ccc dddd", &options(Align::Right)), [" a bb ccc", "     dddd"]);
    assert_eq!(wrap("a bb c dddddd", &options(Align::Justify)), ["a   bb  c", "dddddd"]);
    assert_eq!(wrap("abc", &options(Align::Centre)), ["   abc"]);
}

#[test]
fn paragraphs() {
    assert_eq!(fill("a b\nc\n\n\n\nd", &width(9)), "a b c\n\nd");
}
