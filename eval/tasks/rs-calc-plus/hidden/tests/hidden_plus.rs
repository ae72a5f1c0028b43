use calc::{eval, parse, CalcError, Names, Tree};

fn value(line: &str) -> Result<f64, CalcError> {
    eval(line, &Names::from([("x".to_string(), 4.0)]))
}

#[test]
fn in_front() {
    assert_eq!(value("+3"), Ok(3.0));
    assert_eq!(value("+x"), Ok(4.0));
    assert_eq!(value("+(1 + 2)"), Ok(3.0));
    assert_eq!(value("(+3)"), Ok(3.0));
}

#[test]
fn behind_other_signs() {
    assert_eq!(value("2 * +3"), Ok(6.0));
    assert_eq!(value("2 ^ +2"), Ok(4.0));
    assert_eq!(value("1 - +3"), Ok(-2.0));
    assert_eq!(value("-+3"), Ok(-3.0));
    assert_eq!(value("+-3"), Ok(-3.0));
    assert_eq!(value("2 ++ 3"), Ok(5.0));
    assert_eq!(value("++3"), Ok(3.0));
}

#[test]
fn the_tree() {
    assert_eq!(parse("+3"), Ok(Tree::Number(3.0)));
}

#[test]
fn what_is_wrong() {
    assert_eq!(value("+"), Err(CalcError::End));
    assert_eq!(value("2 +"), Err(CalcError::End));
    assert_eq!(value("+ * 2"), Err(CalcError::Unexpected("*".into())));
}

#[test]
fn as_before() {
    assert_eq!(value("2 + 3 * x"), Ok(14.0));
    assert_eq!(value("-2 * -3"), Ok(6.0));
}
