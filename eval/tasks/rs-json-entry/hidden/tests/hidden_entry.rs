use json::codegen::{DumpGenerator, Generator, PrettyGenerator};
use json::{object, JsonValue};
use std::io;

/// Writes entries in a way of its own.
struct Arrows {
    code: Vec<u8>,
}

impl Generator for Arrows {
    type T = Vec<u8>;

    fn get_writer(&mut self) -> &mut Vec<u8> {
        &mut self.code
    }

    fn write_min(&mut self, _: &[u8], min: u8) -> io::Result<()> {
        self.write_char(min)
    }

    fn write_entry(&mut self, key: &str, value: &JsonValue) -> io::Result<()> {
        self.write(key.as_bytes())?;
        self.write(b"->")?;
        self.write_json(value)
    }
}

#[test]
fn all_entries_are_written_by_it() {
    let mut arrows = Arrows { code: Vec::new() };
    arrows.write_json(&object! { a: 1, b: { c: "x" }, d: [] }).unwrap();
    assert_eq!(String::from_utf8(arrows.code).unwrap(), r#"{a->1,b->{c->"x"},d->[]}"#);
}

#[test]
fn one_entry() {
    let mut dump = DumpGenerator::new();
    dump.write_entry("k", &JsonValue::from("v")).unwrap();
    assert_eq!(dump.consume(), r#""k":"v""#);
    let mut pretty = PrettyGenerator::new(2);
    pretty.write_entry("k", &JsonValue::from(7)).unwrap();
    assert_eq!(pretty.consume(), r#""k": 7"#);
}

#[test]
fn same_output() {
    assert_eq!(object! { a: 1, b: 2 }.dump(), r#"{"a":1,"b":2}"#);
    assert_eq!(object! {}.dump(), "{}");
    assert_eq!(object! { a: 1, b: { c: null } }.pretty(2), "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": null\n  }\n}");
    let mut out = Vec::new();
    object! { "a\"" => true, "b" => false }.write(&mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), r#"{"a\"":true,"b":false}"#);
}
