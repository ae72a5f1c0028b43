use csvrow::Table;

fn table(rows: &[&str]) -> Table {
    Table::parse(&format!("name,size\n{}\n", rows.join("\n"))).unwrap()
}

#[test]
fn numbers() {
    let mut sorted = table(&["a,10", "b,9", "c,-1.5", "d, 9 ", "e,1e2"]);
    assert!(sorted.sort_by("size"));
    assert_eq!(sorted.values("name").unwrap(), ["c", "b", "d", "a", "e"]);
}

#[test]
fn text() {
    let mut sorted = table(&["a,10", "b,9", "c,x", "d,"]);
    assert!(sorted.sort_by("size"));
    assert_eq!(sorted.values("name").unwrap(), ["d", "a", "b", "c"]);
    let mut nan = table(&["a,9", "b,NaN", "c,10"]);
    assert!(nan.sort_by("size"));
    assert_eq!(nan.values("name").unwrap(), ["c", "a", "b"]);
}

#[test]
fn no_such_column() {
    let mut same = table(&["b,2", "a,1"]);
    assert!(!same.sort_by("colour"));
    assert_eq!(same, table(&["b,2", "a,1"]));
    assert!(same.filter("colour", |_| true).is_none());
}

#[test]
fn filtered() {
    let all = table(&["b,2", "a,1", "b,3"]);
    let some = all.filter("name", |name| name == "b").unwrap();
    assert_eq!(some, table(&["b,2", "b,3"]));
    let none = all.filter("size", |_| false).unwrap();
    assert!(none.is_empty());
    assert_eq!(none.head(), ["name", "size"]);
    assert_eq!(all.len(), 3);
}
