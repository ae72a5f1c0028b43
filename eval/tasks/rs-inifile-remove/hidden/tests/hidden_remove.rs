use inifile::parse;

const TEXT: &str = "[a]\nx = 1\ny = 2\nz = 3\n\n[b]\nx = 4\n";

#[test]
fn a_key() {
    let mut ini = parse(TEXT).unwrap();
    assert_eq!(ini.remove("a", "x"), Some("1".to_string()));
    assert_eq!(ini.remove("a", "x"), None);
    assert_eq!(ini.to_string(), "[a]\ny = 2\nz = 3\n\n[b]\nx = 4\n");
    assert_eq!(ini.section_mut("a").remove("z"), Some("3".to_string()));
    assert_eq!(ini.section_mut("a").remove("q"), None);
}

#[test]
fn nothing_is_created_and_the_empty_section_stays() {
    let mut ini = parse(TEXT).unwrap();
    assert_eq!(ini.remove("c", "x"), None);
    assert!(ini.section("c").is_none());
    ini.remove("b", "x");
    assert!(ini.section("b").is_some());
}

#[test]
fn a_section() {
    let mut ini = parse(TEXT).unwrap();
    let taken = ini.remove_section("a").unwrap();
    assert_eq!(taken.entries.len(), 3);
    assert!(ini.remove_section("a").is_none());
    assert_eq!(ini.to_string(), "[b]\nx = 4\n");
}
