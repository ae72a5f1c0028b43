//! Parsing of special values: addresses, paths that may be empty, prices that may be unknown, choices that may be open. Tests: `tests.rs`.

use super::address::database_address;
use serde::{Deserialize, Deserializer, de};
use std::path::PathBuf;
use url::{Host, Url};

pub(super) fn address<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Url>, D::Error> {
    let text = String::deserialize(input)?;
    if text.is_empty() { Ok(None) } else { web_address(&text).map(Some).map_err(de::Error::custom) }
}

/// Reads the address of a server, which has no credential.
///
/// # Errors
/// Why it is none, for a person.
pub fn web_address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|why| format!("this is no address: {why}"))?;
    let plain = matches!(url.scheme(), "http" | "https") && url.has_host();
    if !plain || !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
        return Err("an address is http:// or https://, a host, and no password or query".to_owned());
    }
    Ok(url)
}

/// Whether the server at this address is on this machine: no proxy is asked for it.
pub fn is_on_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

pub(super) fn database<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Url>, D::Error> {
    let text = String::deserialize(input)?;
    if text.is_empty() { Ok(None) } else { database_address(&text).map(Some).map_err(de::Error::custom) }
}

pub(super) fn path<'de, D: Deserializer<'de>>(input: D) -> Result<Option<PathBuf>, D::Error> {
    let text = String::deserialize(input)?;
    Ok((!text.is_empty()).then(|| PathBuf::from(text)))
}

/// A number, or `""` for an unknown price; numbers in the environment are text.
pub(super) fn price<'de, D: Deserializer<'de>>(input: D) -> Result<Option<f64>, D::Error> {
    let wrong = || de::Error::custom("a price is dollars for a million tokens, or \"\" where it is unknown");
    match toml::Value::deserialize(input)? {
        toml::Value::Float(price) => Ok(Some(price)),
        toml::Value::Integer(price) => Ok(Some(price as f64)),
        toml::Value::String(text) if text.is_empty() => Ok(None),
        toml::Value::String(text) => text.parse().map(Some).map_err(|_| wrong()),
        toml::Value::Boolean(_) | toml::Value::Datetime(_) | toml::Value::Array(_) | toml::Value::Table(_) => {
            Err(wrong())
        }
    }
}

/// `true` or `false`, or `"auto"` for a choice made elsewhere; words in the environment are text.
pub(super) fn choice<'de, D: Deserializer<'de>>(input: D) -> Result<Option<bool>, D::Error> {
    match toml::Value::deserialize(input)? {
        toml::Value::Boolean(choice) => Ok(Some(choice)),
        toml::Value::String(text) if text == "auto" => Ok(None),
        toml::Value::String(text) => {
            text.parse().map(Some).map_err(|_| de::Error::custom("write true, false or \"auto\""))
        }
        toml::Value::Integer(_)
        | toml::Value::Float(_)
        | toml::Value::Datetime(_)
        | toml::Value::Array(_)
        | toml::Value::Table(_) => Err(de::Error::custom("write true, false or \"auto\"")),
    }
}
