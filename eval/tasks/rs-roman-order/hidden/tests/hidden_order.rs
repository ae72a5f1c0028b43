use roman::{from_roman, to_roman, ReadError};

#[test]
fn refuses_a_wrong_order() {
    for text in ["IIX", "VV", "IIII", "MMMM", "VX", "XXXX", "IM", "LL", "VIV"] {
        assert_eq!(from_roman(text), Err(ReadError::Order), "{text}");
    }
}

#[test]
fn reads_what_is_right() {
    assert_eq!(from_roman("XIV"), Ok(14));
    assert_eq!(from_roman("MCMXCIV"), Ok(1994));
    for number in 1..=3999 {
        assert_eq!(from_roman(&to_roman(number).unwrap()), Ok(number));
    }
}

#[test]
fn the_other_errors() {
    assert_eq!(from_roman(""), Err(ReadError::Empty));
    assert_eq!(from_roman("XIQ"), Err(ReadError::Unknown('Q')));
}
