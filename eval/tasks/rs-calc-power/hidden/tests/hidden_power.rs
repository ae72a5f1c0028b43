use calc::{eval, Names};

fn value(line: &str) -> f64 {
    eval(line, &Names::from([("x".to_string(), 3.0)])).unwrap()
}

#[test]
fn signs_after_powers() {
    assert_eq!(value("-2^2"), -4.0);
    assert_eq!(value("-x^2"), -9.0);
    assert_eq!(value("(-2)^2"), 4.0);
    assert_eq!(value("1 - 2^2"), -3.0);
    assert_eq!(value("--2"), 2.0);
    assert_eq!(value("3 * -2^2"), -12.0);
}

#[test]
fn powers_from_the_right() {
    assert_eq!(value("2^3^2"), 512.0);
    assert_eq!(value("2^-1"), 0.5);
    assert_eq!(value("2^-1^2"), 0.5);
}
