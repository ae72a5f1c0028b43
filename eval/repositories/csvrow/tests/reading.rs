use csvrow::{read, ReadError};

fn rows(text: &str) -> Vec<Vec<String>> {
    read(text).collect::<Result<_, _>>().unwrap()
}

#[test]
fn plain_and_quoted() {
    assert_eq!(rows("a,b\nc,\"d, e\"\n"), [["a", "b"], ["c", "d, e"]]);
    assert_eq!(rows("\"say \"\"x\"\"\",\"two\nlines\""), [["say \"x\"", "two\nlines"]]);
}

#[test]
fn empty_fields() {
    assert_eq!(rows(",a,\n,,\n"), [["", "a", ""], ["", "", ""]]);
    assert_eq!(rows("\"\",x"), [["", "x"]]);
}

#[test]
fn ends_of_lines() {
    assert_eq!(rows("a,b\r\nc,d\r\n"), [["a", "b"], ["c", "d"]]);
    assert_eq!(rows("a\rb"), [["a\rb"]]);
    assert!(rows("").is_empty());
}

#[test]
fn errors_end_the_rows() {
    let all: Vec<_> = read("a\n\"b\nc").collect();
    assert_eq!(all, [Ok(vec!["a".to_string()]), Err(ReadError::OpenQuote { line: 2 })]);
    let all: Vec<_> = read("\"a\"b\nc\n").collect();
    assert_eq!(all, [Err(ReadError::AfterQuote { line: 1 })]);
}
