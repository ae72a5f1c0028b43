use csvrow::{read, ReadError};

fn last(text: &str) -> Result<Vec<String>, ReadError> {
    read(text).last().unwrap()
}

#[test]
fn lines_within_quotes_count() {
    assert_eq!(last("\"a\nb\"\n\"c"), Err(ReadError::OpenQuote { line: 3 }));
    assert_eq!(last("\"a\nb\"x"), Err(ReadError::AfterQuote { line: 2 }));
    assert_eq!(last("\"a\n\n\nb\",c\n\"d"), Err(ReadError::OpenQuote { line: 5 }));
}

#[test]
fn in_every_field() {
    assert_eq!(last("\"a\nb\",\"c\nd\",\"e"), Err(ReadError::OpenQuote { line: 3 }));
    assert_eq!(last("\"a\r\nb\"\r\n\"c\"d"), Err(ReadError::AfterQuote { line: 3 }));
}

#[test]
fn the_line_where_the_open_field_begins() {
    assert_eq!(last("a\n\"b\nc\nd"), Err(ReadError::OpenQuote { line: 2 }));
    assert_eq!(last("\"a\nb"), Err(ReadError::OpenQuote { line: 1 }));
}

#[test]
fn fields_stay() {
    assert_eq!(last("\"a\nb\",\"c\r\n\"\"d\"\n"), Ok(vec!["a\nb".to_string(), "c\r\n\"d".to_string()]));
}
