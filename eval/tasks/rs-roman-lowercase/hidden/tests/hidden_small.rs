use roman::{from_roman, to_roman, ReadError};

#[test]
fn small_letters() {
    assert_eq!(from_roman("xiv"), Ok(14));
    for number in [1, 4, 99, 1994, 3999] {
        assert_eq!(from_roman(&to_roman(number).unwrap().to_lowercase()), Ok(number));
    }
}

#[test]
fn mixed_letters_are_refused() {
    assert_eq!(from_roman("xIV"), Err(ReadError::MixedCase));
    assert_eq!(from_roman("Xi"), Err(ReadError::MixedCase));
}

#[test]
fn the_other_errors_stay() {
    assert_eq!(from_roman("xiq"), Err(ReadError::Unknown('q')));
    assert_eq!(from_roman("XiQ"), Err(ReadError::Unknown('Q')));
    assert_eq!(from_roman("iix"), Err(ReadError::Order));
    assert_eq!(from_roman(""), Err(ReadError::Empty));
}
