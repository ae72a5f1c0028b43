use folded::columns;

#[test]
fn beside_each_other() {
    assert_eq!(columns(&[("one two", 4), ("a b c", 9)], " | "), "one  | a b c\ntwo  |");
    assert_eq!(columns(&[], " "), "");
}
