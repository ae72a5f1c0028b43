use calc::{eval, parse, CalcError, Names, Tree};

fn value(line: &str) -> Result<f64, CalcError> {
    let values = [("x1", 4.0), ("rate_2", 0.5), ("a1b2", 7.0), ("x", 1.0), ("_9", 2.0)];
    eval(line, &Names::from(values.map(|(name, value)| (name.to_string(), value))))
}

#[test]
fn digits_in_names() {
    assert_eq!(value("x1 + 2"), Ok(6.0));
    assert_eq!(value("2 * rate_2"), Ok(1.0));
    assert_eq!(value("a1b2-x1"), Ok(3.0));
    assert_eq!(value("_9 ^ 2"), Ok(4.0));
    assert_eq!(parse("a1b2"), Ok(Tree::Name("a1b2".into())));
}

#[test]
fn unknown_names_are_told_whole() {
    assert_eq!(value("y12 + 1"), Err(CalcError::Name("y12".into())));
}

#[test]
fn not_at_the_beginning() {
    assert_eq!(value("2x"), Err(CalcError::Unexpected("x".into())));
    assert_eq!(value("x 1"), Err(CalcError::Unexpected("1".into())));
}

#[test]
fn as_before() {
    assert_eq!(value("x + 1"), Ok(2.0));
    assert_eq!(value("1.5 * 2"), Ok(3.0));
}
