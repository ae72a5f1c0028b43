use xml::name::{Name, OwnedName};

#[test]
fn strict() {
    assert_eq!(Name::parse("p:a"), Some(Name::prefixed("a", "p")));
    assert_eq!(Name::parse("a"), Some(Name::local("a")));
    for text in ["", ":", ":a", "a:", "a:b:c", "a::b"] {
        assert_eq!(Name::parse(text), None, "{text}");
        assert_eq!(text.parse::<OwnedName>(), Err(()), "{text}");
    }
}

#[test]
fn owned() {
    assert_eq!("p:a".parse::<OwnedName>(), Ok(Name::prefixed("a", "p").to_owned()));
    assert_eq!("a".parse::<OwnedName>(), Ok(OwnedName::local("a")));
}

#[test]
fn borrowed_from_the_text() {
    let text = String::from("p:a");
    let name: Name<'_> = Name::parse(&text).unwrap();
    assert_eq!(name.local_name.as_ptr(), text[2..].as_ptr());
}

#[test]
fn forgiving() {
    assert_eq!(Name::from("a:b:c"), Name::prefixed("b:c", "a"));
    assert_eq!(Name::from(":a"), Name::prefixed("a", ""));
    assert_eq!(Name::from(""), Name::local(""));
}

#[test]
fn one_place() {
    let text = include_str!("../src/name.rs");
    let body = text.split("fn from_str").nth(1).unwrap().split("\n    }\n").next().unwrap();
    assert!(body.contains("parse(") && !body.contains("':'"), "{body}");
}
