use xml::writer::{EmitterConfig, XmlEvent};

fn written(autopad: bool, text: &str) -> String {
    let mut out = Vec::new();
    let mut writer = EmitterConfig::new()
        .write_document_declaration(false)
        .autopad_comments(autopad)
        .create_writer(&mut out);
    writer.write(XmlEvent::comment(text)).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_dash_at_the_end() {
    assert_eq!(written(false, "a-"), "<!--a- -->");
    assert_eq!(written(false, "-"), "<!--- -->");
    assert_eq!(written(false, "one - two-"), "<!--one - two- -->");
    assert_eq!(written(false, " \u{e9}-"), "<!-- \u{e9}- -->");
}

#[test]
fn others_stay() {
    assert_eq!(written(false, "a"), "<!--a-->");
    assert_eq!(written(false, ""), "<!---->");
    assert_eq!(written(false, "a-b"), "<!--a-b-->");
    assert_eq!(written(false, "a- "), "<!--a- -->");
    assert_eq!(written(false, "-a"), "<!---a-->");
}

#[test]
fn padded_as_before() {
    assert_eq!(written(true, "a-"), "<!-- a- -->");
    assert_eq!(written(true, "a"), "<!-- a -->");
    assert_eq!(written(true, " a- "), "<!-- a- -->");
}
