use xml::namespace::NamespaceStack;
use xml::reader::{EventReader, XmlEvent};

fn names(text: &str) -> Vec<(String, Option<String>)> {
    EventReader::from_str(text)
        .into_iter()
        .filter_map(|event| match event.unwrap() {
            XmlEvent::StartElement { name, .. } => Some((name.local_name, name.namespace)),
            _ => None,
        })
        .collect()
}

fn some(name: &str, uri: &str) -> (String, Option<String>) {
    (name.to_string(), Some(uri.to_string()))
}

#[test]
fn the_nearest_counts() {
    let found = names(r#"<a xmlns="u:1"><b xmlns="u:2"><c/></b><d/></a>"#);
    assert_eq!(found, [some("a", "u:1"), some("b", "u:2"), some("c", "u:2"), some("d", "u:1")]);
}

#[test]
fn prefixes_too() {
    let found = names(r#"<p:a xmlns:p="u:1"><p:b xmlns:p="u:2" xmlns:q="u:3"><q:c/></p:b><p:d/></p:a>"#);
    assert_eq!(found, [some("a", "u:1"), some("b", "u:2"), some("c", "u:3"), some("d", "u:1")]);
}

#[test]
fn the_stack() {
    let mut stack = NamespaceStack::empty();
    stack.push_empty().put("p", "u:1");
    stack.push_empty().put("p", "u:2");
    stack.push_empty();
    assert_eq!(stack.get("p"), Some("u:2"));
    stack.pop();
    stack.pop();
    assert_eq!(stack.get("p"), Some("u:1"));
    assert_eq!(stack.get("q"), None);
}
