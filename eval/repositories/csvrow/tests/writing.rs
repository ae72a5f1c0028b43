use csvrow::{read, write};

#[test]
fn quoted_where_it_must_be() {
    assert_eq!(write(&[["a", "b c"], ["d,e", "say \"x\""]]), "a,b c\n\"d,e\",\"say \"\"x\"\"\"\n");
}

#[test]
fn is_read_back() {
    let rows = vec![vec!["a\r\nb".to_string(), String::new()], vec!["\"".to_string(), ",".to_string()]];
    assert_eq!(read(&write(&rows)).collect::<Result<Vec<_>, _>>().unwrap(), rows);
}
