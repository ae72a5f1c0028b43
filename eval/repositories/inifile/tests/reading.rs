use inifile::{parse, ParseError};

#[test]
fn sections_and_keys() {
    let ini = parse("top = 1\n[a]\nx = one two\n; note\n# note\n[ b ]\nx=\n").unwrap();
    assert_eq!(ini.get("", "top"), Some("1"));
    assert_eq!(ini.get("a", "x"), Some("one two"));
    assert_eq!(ini.get("b", "x"), Some(""));
    assert_eq!(ini.get("b", "y"), None);
    assert_eq!(ini.get("c", "x"), None);
}

#[test]
fn values_keep_their_equals_signs() {
    assert_eq!(parse("url = http://x/?a=b").unwrap().get("", "url"), Some("http://x/?a=b"));
}

#[test]
fn quotes_keep_blanks() {
    assert_eq!(parse("name = \"  x \"").unwrap().get("", "name"), Some("  x "));
}

#[test]
fn the_last_value_counts() {
    assert_eq!(parse("a = 1\na = 2").unwrap().get("", "a"), Some("2"));
}

#[test]
fn says_which_line_is_wrong() {
    assert_eq!(parse("[a\n"), Err(ParseError::OpenSection(1)));
    assert_eq!(parse("a = 1\n\nb\n"), Err(ParseError::NoValue(3)));
    assert_eq!(parse("= 1\n"), Err(ParseError::NoKey(1)));
}
