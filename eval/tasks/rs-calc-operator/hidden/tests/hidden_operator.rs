use calc::{eval, parse, CalcError, Names, Operator, Tree};

#[test]
fn the_tree_holds_operators() {
    let two = || Tree::Number(2.0);
    for (line, operator, value) in [
        ("2 + 2", Operator::Add, 4.0),
        ("2 - 2", Operator::Subtract, 0.0),
        ("2 * 2", Operator::Multiply, 4.0),
        ("2 / 2", Operator::Divide, 1.0),
        ("2 ^ 2", Operator::Power, 4.0),
    ] {
        let tree = parse(line).unwrap();
        assert_eq!(tree, Tree::binary(operator, two(), two()));
        assert_eq!(tree, Tree::Binary(operator, Box::new(two()), Box::new(two())));
        assert_eq!(tree.value(&Names::new()), Ok(value));
    }
}

#[test]
fn errors_stay() {
    assert_eq!(eval("1 / 0", &Names::new()), Err(CalcError::DivisionByZero));
    assert_eq!(eval("-2^2 + 10 - 4 - 3", &Names::new()), Ok(-1.0));
}

#[test]
fn no_wildcard_in_value() {
    let text = include_str!("../src/tree.rs");
    assert!(!text.lines().any(|line| line.trim_start().starts_with("_ ")), "a wildcard arm");
}
