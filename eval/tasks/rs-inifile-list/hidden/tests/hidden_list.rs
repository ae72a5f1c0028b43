use inifile::{parse, ConvertError, Ini};

fn list(value: &str) -> Vec<String> {
    parse(&format!("[net]\nhosts = {value}\n")).unwrap().get_list("net", "hosts").unwrap()
}

#[test]
fn pieces() {
    assert_eq!(list("a, b,c"), ["a", "b", "c"]);
    assert_eq!(list("one two"), ["one two"]);
    assert_eq!(list("one two , three"), ["one two", "three"]);
    assert_eq!(list("b,a,b"), ["b", "a", "b"]);
}

#[test]
fn without_empty_ones() {
    assert_eq!(list("a,,b,"), ["a", "b"]);
    assert_eq!(list(""), Vec::<String>::new());
    assert_eq!(list(" , "), Vec::<String>::new());
}

#[test]
fn missing() {
    let ini = parse("[net]\nhosts = a\n").unwrap();
    assert_eq!(ini.get_list("net", "ports"), Err(ConvertError::Missing));
    assert_eq!(ini.get_list("web", "hosts"), Err(ConvertError::Missing));
}

#[test]
fn of_a_value_that_was_set() {
    let mut ini = Ini::new();
    ini.set("", "colors", " red , blue ");
    assert_eq!(ini.get_list("", "colors"), Ok(vec!["red".to_string(), "blue".to_string()]));
}
