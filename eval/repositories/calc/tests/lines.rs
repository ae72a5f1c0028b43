use calc::{eval, CalcError, Names};

fn value(line: &str) -> Result<f64, CalcError> {
    eval(line, &Names::from([("x".to_string(), 4.0)]))
}

#[test]
fn what_binds_first() {
    assert_eq!(value("2 + 3 * x"), Ok(14.0));
    assert_eq!(value("(2 + 3) * x"), Ok(20.0));
    assert_eq!(value("-2 * -3"), Ok(6.0));
    assert_eq!(value("2 ^ -1"), Ok(0.5));
}

#[test]
fn from_the_left() {
    assert_eq!(value("10 - 4 - 3"), Ok(3.0));
    assert_eq!(value("16 / 4 / 2"), Ok(2.0));
}

#[test]
fn what_is_wrong() {
    assert_eq!(value("2 +"), Err(CalcError::End));
    assert_eq!(value("(2"), Err(CalcError::End));
    assert_eq!(value("2 )"), Err(CalcError::Unexpected(")".into())));
    assert_eq!(value("1.2.3"), Err(CalcError::Unexpected("1.2.3".into())));
    assert_eq!(value("y"), Err(CalcError::Name("y".into())));
    assert_eq!(value("1 / 0"), Err(CalcError::DivisionByZero));
    assert_eq!(value("2 $ 3"), Err(CalcError::Character('$')));
}
