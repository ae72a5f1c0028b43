//! Addresses of PostgreSQL databases: which are accepted, and how their connection is protected. Tests: `tests.rs`.

use url::Url;

/// Parameters accepted in an address's query. The driver accepts more and ignores and logs unknown ones with their values: possibly a
/// secret under another program's name, or a check that is then not made.
const KNOWN: [&str; 10] =
    ["host", "hostaddr", "port", "user", "dbname", "sslmode", "sslrootcert", "sslcert", "sslkey", "application_name"];

/// Parses the address of a database. One over a network must say how it is protected, because the driver's default is unprotected.
///
/// # Errors
/// What is wrong, and what to write instead; never a value of its query.
pub fn database_address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|why| format!("this is no address: {why}"))?;
    if !matches!(url.scheme(), "postgres" | "postgresql") || url.path().len() < 2 || url.fragment().is_some() {
        return Err("a database's address is postgres://, a host (or ?host=/a/socket) and /its-name".to_owned());
    }
    let mut keys = url.query_pairs().map(|(key, _)| key);
    if url.password().is_some() || keys.clone().any(|key| key.eq_ignore_ascii_case("password")) {
        let file = "put it into a file of mode 0600 and name that (store.password_file)";
        return Err(format!("no password in an address: {file}"));
    }
    if let Some(key) = keys.find(|key| !KNOWN.contains(&&**key)) {
        return Err(format!("`{key}` means nothing here; an address may say {}", KNOWN.join(", ")));
    }
    if hosts(&url).is_empty() {
        return Err("name the server: a host, or ?host=/run/postgresql for a socket".to_owned());
    }
    match unprotected(&url, false) {
        Some(why) => Err(why.to_owned()),
        None => Ok(url),
    }
}

/// Why a connection to this address could be read or answered by others, with or without a password.
pub fn unprotected(url: &Url, with_password: bool) -> Option<&'static str> {
    let here = |host: &String| host.starts_with('/') || matches!(&**host, "localhost" | "127.0.0.1" | "[::1]" | "::1");
    if !named(url, &["sslmode"]).is_empty() || is_socket(url) {
        return None;
    }
    if !hosts(url).iter().all(here) {
        return Some("this server is on another machine: add ?sslmode=verify-full (or another one, if you know why)");
    }
    // While the server is down, anybody on this machine can use its port.
    with_password.then_some(
        "whoever has this port while the server is away is told the password: take a socket (?host=/run/postgresql), or add \
         ?sslmode=verify-full (or another one, if you know why)",
    )
}

/// Whether the server is reached only by a Unix socket.
pub fn is_socket(url: &Url) -> bool {
    hosts(url).iter().all(|host| host.starts_with('/'))
}

/// All hosts in an address; the driver uses the last.
fn hosts(url: &Url) -> Vec<String> {
    let mut hosts = named(url, &["host", "hostaddr"]);
    let first = url.host_str().filter(|host| !host.is_empty());
    hosts.extend(first.map(|host| host.replace("%2F", "/").replace("%2f", "/")));
    hosts
}

fn named(url: &Url, names: &[&str]) -> Vec<String> {
    let of = url.query_pairs().filter(|(key, _)| names.contains(&&**key));
    of.map(|(_, value)| value.into_owned()).collect()
}
