use roman::{from_roman, to_roman, ReadError};

#[test]
fn writes() {
    for (number, text) in [(1, "I"), (14, "XIV"), (49, "XLIX"), (1994, "MCMXCIV"), (3999, "MMMCMXCIX")] {
        assert_eq!(to_roman(number).as_deref(), Some(text));
    }
}

#[test]
fn nothing_outside_of_the_range() {
    assert_eq!(to_roman(0), None);
    assert_eq!(to_roman(4000), None);
}

#[test]
fn reads_back_what_it_wrote() {
    for number in 1..=3999 {
        assert_eq!(from_roman(&to_roman(number).unwrap()), Ok(number));
    }
}

#[test]
fn refuses() {
    assert_eq!(from_roman(""), Err(ReadError::Empty));
    assert_eq!(from_roman("XIQ"), Err(ReadError::Unknown('Q')));
    assert_eq!(from_roman("IIX"), Err(ReadError::Order));
    assert_eq!(from_roman("VV"), Err(ReadError::Order));
}
