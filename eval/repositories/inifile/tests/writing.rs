use inifile::{parse, Ini};

#[test]
fn writes_in_order() {
    let mut ini = Ini::new();
    ini.set("b", "x", "1");
    ini.set("a", "y", " 2 ");
    ini.set("b", "x", "3");
    ini.set("", "top", "0");
    assert_eq!(ini.to_string(), "top = 0\n\n[b]\nx = 3\n\n[a]\ny = \" 2 \"\n");
}

#[test]
fn is_read_back() {
    let text = "top = 0\n\n[b]\nx = 3\n";
    assert_eq!(parse(text).unwrap().to_string(), text);
}
