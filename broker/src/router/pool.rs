//! Chooses the network that subnets are cut from: the present one, the operator's, or the first free one.
//! Tests: below and `tests/docker/`.

use protocol::broker::{Problem, ProblemKind};
use protocol::router::Net;

use super::network::Networks;
use crate::engine::{Engine, Filters};
use crate::name;
use crate::subnet::{CANDIDATES, Layout, overlap};

/// Prefix of the largest private network, 10.0.0.0/8 (RFC 1918).
const LARGEST_PRIVATE: u8 = 8;

pub async fn layout(
    engine: &dyn Engine,
    networks: &Networks,
    configured: Option<&str>,
    routes: &[(Net, String)],
) -> Result<Layout, Problem> {
    if let Some(standing) = standing_pool(networks).await? {
        let layout = Layout::parse(&standing)?;
        return match configured {
            Some(other) if Layout::parse(other)? != layout => Err(Problem::new(
                ProblemKind::Conflict,
                format!(
                    "the subnets stand on {standing}, not on {other}: remove them first (`caisson broker --teardown`)"
                ),
            )),
            _ => Ok(layout),
        };
    }
    let taken = taken(engine, routes).await?;
    match configured {
        Some(text) => free(&Layout::parse(text)?, &taken),
        None => {
            CANDIDATES.iter().filter_map(|text| free(&Layout::parse(text).ok()?, &taken).ok()).next().ok_or_else(|| {
                Problem::new(
                    ProblemKind::Conflict,
                    format!(
                        "none of {} is free for the subnets; name a private network that is (router.pool)",
                        CANDIDATES.join(", ")
                    ),
                )
            })
        }
    }
}

/// The pool in the labels of this installation's networks.
async fn standing_pool(networks: &Networks) -> Result<Option<String>, Problem> {
    let networks = networks.own().await?;
    Ok(networks.values().find_map(|network| network.labels.as_ref()?.get(name::POOL).cloned()))
}

/// Networks in use, each with its owner: the engine's, and those that this machine has a route to.
async fn taken(engine: &dyn Engine, routes: &[(Net, String)]) -> Result<Vec<(Net, String)>, Problem> {
    let mut taken = Vec::new();
    for network in engine.networks(&Filters::new()).await? {
        let whose = format!("the engine's network {}", network.name.unwrap_or_default());
        for config in network.ipam.and_then(|ipam| ipam.config).unwrap_or_default() {
            let subnet = config.subnet.and_then(|text| text.parse::<Net>().ok());
            taken.extend(subnet.map(|net| (net, whose.clone())));
        }
    }
    taken.extend(to_networks(routes));
    Ok(taken)
}

/// The routes that lead to a network in particular. One of more addresses than any private network has is a part of a default route: a VPN
/// that takes all traffic adds 0.0.0.0/1 and 128.0.0.0/1, which would leave no network free.
fn to_networks(routes: &[(Net, String)]) -> impl Iterator<Item = (Net, String)> {
    let particular = routes.iter().filter(|(net, _)| net.prefix >= LARGEST_PRIVATE);
    particular.map(|(net, device)| (*net, format!("a route of this machine by {device}")))
}

fn free(layout: &Layout, taken: &[(Net, String)]) -> Result<Layout, Problem> {
    match taken.iter().find(|(net, _)| overlap(*net, layout.whole())) {
        None => Ok(*layout),
        Some((net, whose)) => Err(Problem::new(
            ProblemKind::Conflict,
            format!(
                "pool {} overlaps {net}, {whose}; name another private network for the subnets (router.pool)",
                layout.whole()
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlap_is_refused_by_name() {
        let layout = Layout::parse("10.90.0.0/24").unwrap();
        let taken = [("10.90.0.0/20".parse().unwrap(), "a route of this machine by vpn0".to_owned())];
        let problem = free(&layout, &taken).unwrap_err();
        assert!(problem.text.contains("10.90.0.0/20") && problem.text.contains("vpn0"), "{problem}");
        assert!(free(&Layout::parse("10.91.0.0/24").unwrap(), &taken).is_ok());
    }

    #[test]
    fn a_vpn_that_takes_all_traffic_leaves_every_network_free() {
        let route = |net: &str| (net.parse::<Net>().unwrap(), "tun0".to_owned());
        let all = [route("0.0.0.0/1"), route("128.0.0.0/1")];
        let free_with = |routes: &[(Net, String)], pool: &str| {
            free(&Layout::parse(pool).unwrap(), &to_networks(routes).collect::<Vec<_>>()).is_ok()
        };
        assert!(CANDIDATES.iter().all(|pool| free_with(&all, pool)));
        // A VPN to a private network leads there in particular.
        let private = [route("10.0.0.0/8")];
        assert!(!free_with(&private, "10.213.0.0/20") && free_with(&private, "172.29.240.0/20"));
    }
}
