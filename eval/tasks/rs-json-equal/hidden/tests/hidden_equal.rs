use json::{array, object, JsonValue};

#[test]
fn more_keys() {
    let small = object! { "a" => 1 };
    let big = object! { "a" => 1, "b" => 2 };
    assert!(small != big);
    assert!(big != small);
    assert!(JsonValue::new_object() != small);
    assert!(small != JsonValue::new_object());
}

#[test]
fn a_null_is_a_key_too() {
    assert!(object! { "a" => 1 } != object! { "a" => 1, "b" => JsonValue::Null });
}

#[test]
fn deep_inside() {
    assert!(array![object! { "x" => object!{} }] != array![object! { "x" => object!{ "y" => 1 } }]);
}

#[test]
fn equal_ones() {
    assert_eq!(object! { "a" => 1, "b" => array![2] }, object! { "b" => array![2], "a" => 1 });
    assert_eq!(JsonValue::new_object(), object! {});
    let mut changed = object! { "a" => 1, "b" => 2 };
    changed.remove("b");
    assert_eq!(changed, object! { "a" => 1 });
}
