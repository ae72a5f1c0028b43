use std::error::Error;

#[test]
fn one_type_under_two_names() {
    let error: roman::error::ReadError = roman::ReadError::Empty;
    assert_eq!(Err(error), roman::from_roman(""));
}

#[test]
fn displays() {
    assert_eq!(roman::ReadError::Empty.to_string(), "an empty numeral");
    assert_eq!(roman::ReadError::Unknown('Q').to_string(), "no Roman digit: 'Q'");
    assert_eq!(roman::ReadError::Order.to_string(), "digits in a wrong order");
}

fn boxed(text: &str) -> Result<u32, Box<dyn Error>> {
    Ok(roman::from_roman(text)?)
}

#[test]
fn works_with_the_question_mark() {
    assert_eq!(boxed("X").unwrap(), 10);
    assert!(boxed("").is_err());
}

#[test]
fn moved_and_not_copied() {
    assert!(!include_str!("../src/read.rs").contains("enum ReadError"));
}
