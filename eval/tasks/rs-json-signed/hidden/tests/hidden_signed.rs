use json::JsonValue;

#[test]
fn too_small() {
    assert_eq!(JsonValue::from(-200).as_i8(), None);
    assert_eq!(JsonValue::from(-129).as_i8(), None);
    assert_eq!(JsonValue::from(-40_000).as_i16(), None);
    assert_eq!(JsonValue::from(-32_769).as_i16(), None);
    assert_eq!(JsonValue::from(-3_000_000_000i64).as_i32(), None);
    assert_eq!(JsonValue::from(i64::from(i32::MIN) - 1).as_i32(), None);
}

#[test]
fn the_smallest_that_fit() {
    assert_eq!(JsonValue::from(-128).as_i8(), Some(-128));
    assert_eq!(JsonValue::from(-32_768).as_i16(), Some(-32_768));
    assert_eq!(JsonValue::from(i64::from(i32::MIN)).as_i32(), Some(i32::MIN));
    assert_eq!(JsonValue::from(-3_000_000_000i64).as_i64(), Some(-3_000_000_000));
}

#[test]
fn large_ones_as_before() {
    assert_eq!(JsonValue::from(127).as_i8(), Some(127));
    assert_eq!(JsonValue::from(128).as_i8(), None);
    assert_eq!(JsonValue::from(32_768).as_i16(), None);
    assert_eq!(JsonValue::from(3_000_000_000i64).as_i32(), None);
}
