use csvrow::{read, Table};

fn rows(text: &str) -> Vec<Vec<String>> {
    read(text).collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_comma_at_the_end() {
    assert_eq!(rows("a,b,"), [["a", "b", ""]]);
    assert_eq!(rows("x\n,"), [vec!["x"], vec!["", ""]]);
    assert_eq!(rows(","), [["", ""]]);
    assert_eq!(rows("\"a\","), [["a", ""]]);
    assert_eq!(rows("a,b,\r\n"), [["a", "b", ""]]);
}

#[test]
fn no_rows_out_of_nothing() {
    assert!(rows("").is_empty());
    assert_eq!(rows("a\n"), [["a"]]);
    assert_eq!(rows("\n"), [[""]]);
    assert_eq!(rows("a\n\nb"), [["a"], [""], ["b"]]);
}

#[test]
fn in_a_table() {
    assert_eq!(Table::parse("a,b\n1,").unwrap().get(0, "b"), Some(""));
}
