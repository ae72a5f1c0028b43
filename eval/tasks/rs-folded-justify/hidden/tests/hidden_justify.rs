use folded::{align, wrap, Align, Options};

#[test]
fn as_wide_as_wanted() {
    assert_eq!(align("a bb c", 9, Align::Justify), "a   bb  c");
    assert_eq!(align("a b c d", 12, Align::Justify), "a   b   c  d");
    for width in 7..40 {
        let line = align("a b c d", width, Align::Justify);
        assert_eq!(line.len(), width);
        let gaps: Vec<usize> = line.split(|c: char| c != ' ').map(str::len).filter(|gap| *gap > 0).collect();
        assert!(gaps.windows(2).all(|pair| pair[0] >= pair[1] && pair[0] - pair[1] <= 1), "{line}");
    }
}

#[test]
fn one_word_or_too_wide() {
    assert_eq!(align("abc", 5, Align::Justify), "abc  ");
    assert_eq!(align("a bcd", 3, Align::Justify), "a bcd");
    assert_eq!(align("", 2, Align::Justify), "  ");
}

#[test]
fn the_last_line_is_not_stretched() {
    let options = Options { width: 9, align: Align::Justify, ..Options::default() };
    assert_eq!(wrap("a bb c dddddd e", &options), ["a   bb  c", "dddddd e"]);
}
