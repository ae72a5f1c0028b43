//! Values that are read in a way of their own: addresses, and paths that may be left empty. Tests: `tests.rs`.

use super::address::database_address;
use serde::{Deserialize, Deserializer, de};
use std::path::PathBuf;
use url::Url;

pub(super) fn address<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Url>, D::Error> {
    let text = String::deserialize(input)?;
    if text.is_empty() {
        return Ok(None);
    }
    let url = Url::parse(&text).map_err(|why| de::Error::custom(format!("this is no address: {why}")))?;
    let plain = matches!(url.scheme(), "http" | "https") && url.has_host();
    if !plain || !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err(de::Error::custom("an address is http:// or https://, a host, and no password or query"));
    }
    Ok(Some(url))
}

pub(super) fn database<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Url>, D::Error> {
    let text = String::deserialize(input)?;
    if text.is_empty() { Ok(None) } else { database_address(&text).map(Some).map_err(de::Error::custom) }
}

pub(super) fn path<'de, D: Deserializer<'de>>(input: D) -> Result<Option<PathBuf>, D::Error> {
    let text = String::deserialize(input)?;
    Ok((!text.is_empty()).then(|| PathBuf::from(text)))
}
