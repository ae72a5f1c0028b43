use roman::{from_roman, to_roman};

#[test]
fn four_is_iv() {
    assert_eq!(to_roman(4).as_deref(), Some("IV"));
    assert_eq!(to_roman(14).as_deref(), Some("XIV"));
    assert_eq!(to_roman(444).as_deref(), Some("CDXLIV"));
    assert_eq!(to_roman(9).as_deref(), Some("IX"));
    assert_eq!(to_roman(3).as_deref(), Some("III"));
}

#[test]
fn reads() {
    assert_eq!(from_roman("MMXXIV"), Ok(2024));
}
