use inifile::{parse, Ini, Section};

#[test]
fn makes_a_section_or_finds_it() {
    let mut ini = Ini::new();
    let made: &mut Section = ini.section_or_new("a");
    made.set("x", "1");
    ini.section_or_new("b");
    ini.section_or_new("a").set("y", "2");
    assert_eq!(ini.sections.len(), 2);
    assert_eq!(ini.get("a", "x"), Some("1"));
    assert_eq!(ini.get("a", "y"), Some("2"));
    assert_eq!(ini.section("b"), Some(&Section::new("b")));
}

#[test]
fn the_old_name_is_gone() {
    assert!(!include_str!("../src/model.rs").contains("section_mut"));
    assert!(!include_str!("../src/parse.rs").contains("section_mut"));
}

#[test]
fn the_new_one_is_used() {
    assert!(include_str!("../src/parse.rs").contains(".section_or_new("));
    assert!(include_str!("../src/model.rs").contains(".section_or_new("));
}

#[test]
fn same_results() {
    let ini = parse("top = 1\n[a]\nx = 1\n[empty]\n[a]\ny = 2\n").unwrap();
    assert_eq!(ini.to_string(), "top = 1\n\n[a]\nx = 1\ny = 2\n\n[empty]\n");
}
