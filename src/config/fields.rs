//! Values that are read in a way of their own: addresses, and paths that may be left empty. Tests: `tests.rs`.

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

/// Where a PostgreSQL database is. What crosses a network says how it is protected; the driver's own default would go without.
///
/// # Errors
/// What is wrong with it, and what to write instead.
pub fn database_address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|why| format!("this is no address: {why}"))?;
    if !matches!(url.scheme(), "postgres" | "postgresql") || url.path().len() < 2 {
        return Err("a database's address is postgres://, a host (or ?host=/a/socket) and /its-name".to_owned());
    }
    let named = |names: &[&str]| -> Vec<String> {
        url.query_pairs().filter(|(key, _)| names.contains(&&**key)).map(|(_, value)| value.into_owned()).collect()
    };
    if url.password().is_some() || !named(&["password"]).is_empty() {
        return Err(
            "no password in an address: put it into a file of mode 0600 and name that (store.password_file)".to_owned()
        );
    }
    let mut hosts = named(&["host", "hostaddr"]);
    hosts.extend(
        url.host_str().filter(|host| !host.is_empty()).map(|host| host.replace("%2F", "/").replace("%2f", "/")),
    );
    if hosts.is_empty() {
        return Err("name the server: a host, or ?host=/run/postgresql for a socket".to_owned());
    }
    let here = |host: &String| host.starts_with('/') || matches!(&**host, "localhost" | "127.0.0.1" | "[::1]" | "::1");
    if !hosts.iter().all(here) && named(&["sslmode", "ssl-mode"]).is_empty() {
        return Err(
            "this server is on another machine: add ?sslmode=verify-full (or another one, if you know why)".to_owned()
        );
    }
    Ok(url)
}

pub(super) fn path<'de, D: Deserializer<'de>>(input: D) -> Result<Option<PathBuf>, D::Error> {
    let text = String::deserialize(input)?;
    Ok((!text.is_empty()).then(|| PathBuf::from(text)))
}
