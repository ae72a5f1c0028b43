use json::{array, object, JsonValue};

fn data() -> JsonValue {
    object! {
        "a" => object! { "b" => array![1, 2, object!{ "c" => "deep" }] },
        "" => "empty",
        "x/y" => 1,
        "m~n" => 2,
        "~1" => 3,
        "0" => "zero"
    }
}

#[test]
fn follows() {
    let data = data();
    assert_eq!(data.pointer(""), Some(&data));
    assert_eq!(data.pointer("/a/b/2/c").unwrap(), "deep");
    assert_eq!(data.pointer("/a/b/0").unwrap(), &JsonValue::from(1));
    assert_eq!(data.pointer("/").unwrap(), "empty");
    assert_eq!(data.pointer("/0").unwrap(), "zero");
}

#[test]
fn escapes() {
    let data = data();
    assert_eq!(data.pointer("/x~1y").unwrap(), &JsonValue::from(1));
    assert_eq!(data.pointer("/m~0n").unwrap(), &JsonValue::from(2));
    assert_eq!(data.pointer("/~01").unwrap(), &JsonValue::from(3));
}

#[test]
fn what_is_not_there() {
    let data = data();
    for path in ["a", "/z", "/a/b/3", "/a/b/-", "/a/b/01", "/a/b/+1", "/a/b/", "/a/b/0/x", "/a/b/99999999999999999999999", "/x~1y/", "//"] {
        assert_eq!(data.pointer(path), None, "{path}");
    }
}

#[test]
fn changes() {
    let mut data = data();
    *data.pointer_mut("/a/b/2/c").unwrap() = 7.into();
    assert_eq!(data["a"]["b"][2]["c"], 7);
    *data.pointer_mut("/a/b/1").unwrap() = JsonValue::Null;
    assert!(data["a"]["b"][1].is_null());
    let before = data.clone();
    assert!(data.pointer_mut("/a/new").is_none());
    assert!(data.pointer_mut("/a/b/9").is_none());
    assert!(data.pointer_mut("nothing").is_none());
    assert_eq!(data, before);
    *data.pointer_mut("").unwrap() = 1.into();
    assert_eq!(data, 1);
}
