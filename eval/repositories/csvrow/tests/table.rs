use csvrow::{Table, TableError};

#[test]
fn by_name() {
    let table = Table::parse("name,size\nbolt,4\nnut,12\n").unwrap();
    assert_eq!(table.head(), ["name", "size"]);
    assert_eq!(table.get(1, "size"), Some("12"));
    assert_eq!(table.get(2, "size"), None);
    assert_eq!(table.get(0, "colour"), None);
    assert_eq!(table.values("name"), Some(vec!["bolt", "nut"]));
}

#[test]
fn wrong_ones() {
    assert_eq!(Table::parse(""), Err(TableError::Empty));
    assert_eq!(Table::parse("a,b\n1,2\n3\n"), Err(TableError::Ragged { row: 2 }));
}
