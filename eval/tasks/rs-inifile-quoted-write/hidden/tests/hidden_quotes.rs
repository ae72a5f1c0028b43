use inifile::{parse, Ini};

#[test]
fn every_value_comes_back() {
    for value in ["plain", "\"hello\"", " blanks ", "\"", "\"\"", "a \"b\" c", "\"open", "close\"", "", "; x", "a = b", "\" \""] {
        let mut ini = Ini::new();
        ini.set("s", "key", value);
        let text = ini.to_string();
        assert_eq!(parse(&text).unwrap().get("s", "key"), Some(value), "{text}");
    }
}

#[test]
fn plain_values_stay_plain() {
    let mut ini = Ini::new();
    ini.set("", "a", "x y");
    assert_eq!(ini.to_string(), "a = x y\n");
}
