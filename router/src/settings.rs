//! The router's settings at its start: `--name value` or `CAISSON_NAME`; the argument wins.
//!
//! Only settings that must hold before any order arrives; everything else comes through `control`. Tests: at the end of this file.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::{Context, Result, bail};
use protocol::router::{Net, Pool};

/// User id that may open connections to the outside by default.
pub const PROXY_UID: u32 = 10002;
/// Where the proxy listens; the firewall redirects synthetic addresses here.
pub const PROXY_PORT: u16 = 15001;
/// Where the resolver listens; the firewall redirects port 53 of the gateways here, so no privileged port is needed.
pub const DNS_PORT: u16 = 15053;

/// Settings from arguments and environment, the same for `walls` and `serve`.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Network that the subnets are cut from.
    pub pool: Pool,
    /// Number of subnets: the pool's first so many networks.
    pub subnets: u32,
    /// Name server for allowed names, always IPv4; port 53 unless given otherwise.
    pub upstream: SocketAddr,
    /// Networks that are refused besides the special ones.
    pub private: Vec<Net>,
    /// Parts of the special networks that may be reached (documentation addresses in a lab).
    pub public: Vec<Net>,
    /// User id that may open connections to the outside; [`PROXY_UID`] by default.
    pub proxy_uid: u32,
}

impl Settings {
    /// # Errors
    /// Names the setting that is missing or malformed, and how to write it.
    pub fn read(args: &[String], env: impl Fn(&str) -> Option<String>) -> Result<Settings> {
        let known = ["pool", "berths", "upstream", "private", "public", "proxy-uid"];
        let mut given = std::collections::HashMap::new();
        let mut words = args.iter();
        while let Some(word) = words.next() {
            let name = word.strip_prefix("--").filter(|name| known.contains(name));
            let Some(name) = name else { bail!("unknown argument `{word}`; known: --{}", known.join(", --")) };
            given.insert(name, words.next().with_context(|| format!("--{name} needs a value"))?.clone());
        }
        let get = |name: &str| {
            let variable = format!("CAISSON_{}", name.to_uppercase().replace('-', "_"));
            given.get(name).cloned().or_else(|| env(&variable)).filter(|text| !text.trim().is_empty())
        };
        let need = |name: &str| get(name).with_context(|| format!("--{name} is missing"));
        let pool: Pool = need("pool")?.parse().context("--pool")?;
        let subnets = match get("berths") {
            Some(text) => text.parse().ok().filter(|n| (1..=pool.subnets()).contains(n)),
            None => Some(pool.subnets()),
        };
        let Some(subnets) = subnets else {
            bail!("--berths must be a number from 1 to {}, what the pool holds", pool.subnets())
        };
        Ok(Settings {
            pool,
            subnets,
            upstream: upstream(&need("upstream")?)?,
            private: nets(get("private")).context("--private")?,
            public: nets(get("public")).context("--public")?,
            proxy_uid: get("proxy-uid").map_or(Ok(PROXY_UID), |text| text.parse()).context("--proxy-uid")?,
        })
    }

    /// The upstream resolver's IPv4 address.
    ///
    /// # Errors
    /// Never after [`Settings::read`].
    pub fn upstream_v4(&self) -> Result<Ipv4Addr> {
        match self.upstream.ip() {
            IpAddr::V4(address) => Ok(address),
            IpAddr::V6(_) => bail!("--upstream must be an IPv4 address"),
        }
    }
}

fn upstream(text: &str) -> Result<SocketAddr> {
    let parsed = text.parse::<SocketAddr>().or_else(|_| text.parse::<Ipv4Addr>().map(|ip| SocketAddr::from((ip, 53))));
    let address =
        parsed.with_context(|| format!("--upstream `{text}`: write the resolver's IPv4 address, or address:port"))?;
    match address.ip() {
        IpAddr::V4(ip) if !ip.is_loopback() && !ip.is_unspecified() => Ok(address),
        _ => bail!(
            "--upstream {text}: a resolver's own IPv4 address is needed; the engine's 127.0.0.11 asks on from inside this network"
        ),
    }
}

fn nets(text: Option<String>) -> Result<Vec<Net>> {
    let text = text.unwrap_or_default();
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| part.parse::<Net>().map_err(Into::into)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &[&str]) -> Result<Settings> {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        Settings::read(&args, |name| (name == "CAISSON_UPSTREAM").then(|| "9.9.9.9".to_owned()))
    }

    #[test]
    fn arguments_and_environment_are_read() {
        let settings = read(&["--pool", "10.90.0.0/24", "--private", "8.8.8.0/24, 1.1.1.1"]).unwrap();
        assert_eq!((settings.subnets, settings.upstream.port(), settings.private.len()), (16, 53, 2));
        assert_eq!(settings.proxy_uid, PROXY_UID);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (args, expected) in [
            (vec![], "--pool is missing"),
            (vec!["--pool", "10.90.0.0/24", "--berths", "17"], "from 1 to 16"),
            (vec!["--pool", "10.90.0.0/24", "--upstream", "127.0.0.11"], "asks on from inside"),
            (vec!["--pool", "10.90.0.0/24", "--private", "10/8"], "--private"),
            (vec!["--pol", "x"], "unknown argument"),
            (vec!["--pool"], "needs a value"),
        ] {
            let error = format!("{:#}", read(&args).unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }
}
