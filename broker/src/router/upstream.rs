//! Chooses the name server that the router asks for allowed names. Tests: below.

use std::net::SocketAddrV4;

use protocol::broker::Problem;

/// Files with this machine's resolvers; the second has those behind a local stub resolver.
const FILES: [&str; 2] = ["/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"];

/// Parses `address` or `address:port` of IPv4; no loopback address, which would be the router's own.
pub fn parse(text: &str) -> Result<String, Problem> {
    let address = text.parse::<SocketAddrV4>().ok();
    let address = address.or_else(|| Some(SocketAddrV4::new(text.parse().ok()?, 53)));
    address.filter(|it| !it.ip().is_loopback() && !it.ip().is_unspecified()).map(|it| it.to_string()).ok_or_else(|| {
        Problem::refused(format!(
            "upstream {text:?} must be the IPv4 address of a name server outside this machine's loopback, such as 9.9.9.9 \
             or 9.9.9.9:53"
        ))
    })
}

/// The first usable name server of this machine.
pub fn of_this_machine() -> Result<String, Problem> {
    let texts = FILES.iter().filter_map(|file| std::fs::read_to_string(file).ok());
    texts.into_iter().find_map(|text| first(&text)).ok_or_else(|| {
        Problem::refused(format!(
            "neither {} names a name server that the router could ask; set its upstream in the configuration",
            FILES.join(" nor ")
        ))
    })
}

fn first(resolv_conf: &str) -> Option<String> {
    let servers = resolv_conf.lines().filter_map(|line| line.strip_prefix("nameserver"));
    servers.filter_map(|server| parse(server.trim()).ok()).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_servers_are_addresses_outside_the_machine() {
        assert_eq!(parse("9.9.9.9").unwrap(), "9.9.9.9:53");
        assert_eq!(parse("9.9.9.9:5353").unwrap(), "9.9.9.9:5353");
        for bad in ["dns.example", "9.9.9.9 --private 0", "::1", "", "127.0.0.53", "0.0.0.0"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_stub_is_passed_over() {
        assert_eq!(
            first("search a\nnameserver 127.0.0.53\nnameserver fe80::1\nnameserver\t10.0.0.2\n").as_deref(),
            Some("10.0.0.2:53")
        );
        assert_eq!(first("nameserver 127.0.0.11\noptions ndots:0\n"), None);
    }
}
