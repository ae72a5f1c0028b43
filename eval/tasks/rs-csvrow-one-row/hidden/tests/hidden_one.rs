use csvrow::{write, write_row};

#[test]
fn one_line() {
    assert_eq!(write_row(&["a", "b"]), "a,b\n");
    assert_eq!(write_row(&["a", "b,c"]), "a,\"b,c\"\n");
    assert_eq!(write_row(&["say \"x\"", ""]), "\"say \"\"x\"\"\",\n");
    assert_eq!(write_row(&["two\nlines", "x"]), "\"two\nlines\",x\n");
}

#[test]
fn strings_and_vectors() {
    assert_eq!(write_row(&vec!["a".to_string(), "b".to_string()]), "a,b\n");
    assert_eq!(write_row(&[String::from("alone")]), "alone\n");
}

#[test]
fn as_write_does() {
    for row in [vec!["", ""], vec!["a\r", ","], vec!["x"]] {
        assert_eq!(write_row(&row), write(&[&row]));
    }
    assert_eq!(write(&[["a", "b,c"], ["1", "2"]]), "a,\"b,c\"\n1,2\n");
}
