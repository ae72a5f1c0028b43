//! JSON that may hold parts exactly as somebody else wrote them.
//!
//! Owns: a tree whose leaves are values or raw text, for requests that give a vendor its own words back. Keys of objects are written in
//! the order of the alphabet, as `serde_json::Value` does. Must not: know any wire. Tests: below.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A value, or raw text, or either in a list or an object.
#[derive(Debug, Clone)]
pub(super) enum Json {
    Value(Value),
    Raw(Box<RawValue>),
    List(Vec<Json>),
    Object(BTreeMap<&'static str, Json>),
}

impl Json {
    pub(super) fn object<const N: usize>(fields: [(&'static str, Json); N]) -> Json {
        Json::Object(fields.into_iter().collect())
    }

    /// The text of a leaf that somebody else wrote.
    pub(super) fn written(&self) -> Option<&str> {
        match self {
            Json::Raw(raw) => Some(raw.get()),
            Json::Value(_) | Json::List(_) | Json::Object(_) => None,
        }
    }

    /// What a leaf holds.
    pub(super) fn as_value(&self) -> Option<Value> {
        match self {
            Json::Value(value) => Some(value.clone()),
            Json::Raw(raw) => serde_json::from_str(raw.get()).ok(),
            Json::List(_) | Json::Object(_) => None,
        }
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Json {
        Json::Value(value)
    }
}

impl From<Vec<Json>> for Json {
    fn from(list: Vec<Json>) -> Json {
        Json::List(list)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Value(value) => value.serialize(to),
            Json::Raw(raw) => raw.serialize(to),
            Json::List(list) => list.serialize(to),
            Json::Object(fields) => fields.serialize(to),
        }
    }
}

/// The field of an object, as it was written.
pub(super) fn field(text: &str, name: &str) -> Option<Box<RawValue>> {
    let mut fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text).ok()?;
    fields.remove(name)
}

/// The elements of the list at these keys, each as it was written; none where there is no such list. A number is a place in a list.
pub(super) fn elements(text: &str, path: &[&str]) -> Option<Vec<Box<RawValue>>> {
    serde_json::from_str(at(text, path)?.get()).ok()
}

/// What stands at these keys, as it was written. A number is a place in a list.
pub(super) fn at(text: &str, path: &[&str]) -> Option<Box<RawValue>> {
    let Some((first, rest)) = path.split_first() else {
        return serde_json::from_str(text).ok();
    };
    let inner: Box<RawValue> = match first.parse::<usize>() {
        Ok(place) => {
            let list: Vec<Box<RawValue>> = serde_json::from_str(text).ok()?;
            list.into_iter().nth(place)?
        }
        Err(_) => field(text, first)?,
    };
    at(inner.get(), rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn raw_parts_keep_every_byte() {
        let text = r#"{"candidates":[{"content":{"parts":[{"b":1.0, "a" : "\u00fc"},[ ]]}}]}"#;
        let parts = elements(text, &["candidates", "0", "content", "parts"]).unwrap();
        let written: Vec<_> = parts.iter().map(|part| part.get()).collect();
        assert_eq!(written, [r#"{"b":1.0, "a" : "\u00fc"}"#, "[ ]"]);
        let list = Json::List(parts.into_iter().map(Json::Raw).collect());
        let body = Json::object([("model", json!("m").into()), ("contents", list)]);
        let sent = serde_json::to_string(&body).unwrap();
        assert_eq!(sent, r#"{"contents":[{"b":1.0, "a" : "\u00fc"},[ ]],"model":"m"}"#);
        for path in [&["candidates", "1"][..], &["x"], &["candidates", "0", "content"]] {
            assert!(elements(text, path).is_none(), "{path:?}");
        }
    }
}
