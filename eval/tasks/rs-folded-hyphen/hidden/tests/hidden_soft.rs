use folded::{fill, wrap, Options};

fn lines(text: &str, width: usize) -> Vec<String> {
    wrap(&text.replace('~', "\u{ad}"), &Options { width, ..Options::default() })
}

#[test]
fn invisible_where_not_broken() {
    assert_eq!(lines("a won~der~ful day", 20), ["a wonderful day"]);
    assert_eq!(lines("won~der~ful", 9), ["wonderful"]);
}

#[test]
fn broken_where_it_works() {
    assert_eq!(lines("a won~der~ful day", 9), ["a wonder-", "ful day"]);
    assert_eq!(lines("a won~der~ful day", 8), ["a won-", "derful", "day"]);
    assert_eq!(lines("a won~der~ful day", 6), ["a won-", "derful", "day"]);
    assert_eq!(lines("a won~der~ful day", 5), ["a", "won-", "der-", "ful", "day"]);
    assert_eq!(lines("abc de~fg", 6), ["abc", "defg"]);
    assert_eq!(lines("abc de~fg", 7), ["abc de-", "fg"]);
}

#[test]
fn cut_hard_only_if_it_must() {
    assert_eq!(lines("ab~cdefghi", 4), ["ab-", "cdef", "ghi"]);
    assert_eq!(lines("abcdef", 3), ["abc", "def"]);
}

#[test]
fn other_words_as_before() {
    assert_eq!(lines("the quick brown fox", 10), ["the quick", "brown fox"]);
    assert_eq!(fill("a\u{ad}b\n\nc", &Options::default()), "ab\n\nc");
    assert_eq!(lines("~a~ b", 9), ["a b"]);
}
