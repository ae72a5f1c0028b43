//! The engine's configuration of the router's containers and networks. Pure. Tests: below, and from inside in `tests/docker/`.
//!
//! Three containers share one network namespace. The *holder* owns it and does nothing, so that the others can be replaced without changing
//! a network. The *firewall* loads the rules and takes the subnets' gateway addresses (only NET_ADMIN). The *router* resolves and connects,
//! as a user of its own without any capability.

use std::collections::{BTreeMap, HashMap};

use bollard::models::{
    ContainerCreateBody, EndpointIpamConfig, EndpointSettings, HealthConfig, HostConfig, HostConfigLogConfig, Ipam,
    IpamConfig, NetworkConnectRequest, NetworkCreateRequest, ResourcesUlimits, RestartPolicy, RestartPolicyNameEnum,
};
use protocol::broker::Problem;
use protocol::router::Net;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::hardening::no_ipv6;
use crate::name::{self, Names, ResourceKind};
use crate::seccomp;
use crate::subnet::{ContainerNetwork, Layout};

/// Path of the program in the router's image.
const PROGRAM: &str = "/usr/local/bin/caisson-router";
/// The router's user, the only one that the firewall lets out.
pub const ROUTER_UID: u32 = 10002;
const HOLDER_UID: u32 = 10003;

/// What all three containers are made from.
pub struct Making<'a> {
    pub names: &'a Names,
    pub layout: &'a Layout,
    /// The image's id.
    pub image: &'a str,
    /// `address:port`
    pub upstream: &'a str,
    pub private: &'a [Net],
    pub public: &'a [Net],
    pub ipv6: bool,
}

impl Making<'_> {
    /// The container that owns the namespace, on the outer network.
    pub fn holder(&self) -> Result<ContainerCreateBody, Problem> {
        let user = format!("{HOLDER_UID}:{HOLDER_UID}");
        let mut body = part(self.names, self.image, ResourceKind::Holder, &user, &["hold".to_owned()], 64 << 20, 16)?;
        let host = body.host_config.get_or_insert_default();
        host.network_mode = Some(self.names.outer());
        host.sysctls = Some(sysctls(self.ipv6));
        body.hostname = Some("caisson-router".into());
        self.labelled(body, "")
    }

    /// The container for rules and gateways. `boot` identifies the holder's life; for another one it is recreated.
    pub fn firewall(&self, holder: &str, boot: &str) -> Result<ContainerCreateBody, Problem> {
        let mut body =
            part(self.names, self.image, ResourceKind::Firewall, "0:0", &self.words("walls"), 128 << 20, 32)?;
        let host = body.host_config.get_or_insert_default();
        host.cap_add = Some(vec!["NET_ADMIN".into()]);
        // The engine's own profile, because ours blocks the socket family through which rules are loaded.
        host.security_opt = Some(vec!["no-new-privileges".into()]);
        host.network_mode = Some(format!("container:{holder}"));
        self.labelled(body, boot)
    }

    /// The container of resolver and proxy, controlled over stdin and stdout.
    pub fn router(&self, holder: &str, boot: &str) -> Result<ContainerCreateBody, Problem> {
        let user = format!("{ROUTER_UID}:{ROUTER_UID}");
        let mut body = part(self.names, self.image, ResourceKind::Router, &user, &self.words("serve"), 1 << 30, 256)?;
        body.open_stdin = Some(true);
        body.stdin_once = Some(false);
        let host = body.host_config.get_or_insert_default();
        host.network_mode = Some(format!("container:{holder}"));
        self.labelled(body, boot)
    }

    /// Arguments that firewall and router have in common.
    fn words(&self, command: &str) -> Vec<String> {
        let list = |nets: &[Net]| nets.iter().map(Net::to_string).collect::<Vec<_>>().join(",");
        let settings = [
            ("--pool", self.layout.subnets().to_string()),
            ("--upstream", self.upstream.to_owned()),
            ("--private", list(self.private)),
            ("--public", list(self.public)),
            ("--proxy-uid", ROUTER_UID.to_string()),
        ];
        let given = settings.into_iter().filter(|(_, value)| !value.is_empty());
        let words = given.flat_map(|(name, value)| [name.to_owned(), value]);
        std::iter::once(command.to_owned()).chain(words).collect()
    }

    /// Labels it with the hash of its configuration and of what it depends on.
    fn labelled(&self, mut body: ContainerCreateBody, boot: &str) -> Result<ContainerCreateBody, Problem> {
        let value = serde_json::to_value(&body).map_err(|error| Problem::refused(error.to_string()))?;
        let mut text = sorted(value).to_string();
        text.push_str(boot);
        let hash = hex::encode(Sha256::digest(text));
        body.labels.get_or_insert_default().insert(name::SPEC.into(), hash);
        Ok(body)
    }
}

/// The common hardening of every container of the router's image.
pub fn part(
    names: &Names,
    image: &str,
    kind: ResourceKind,
    user: &str,
    words: &[String],
    memory: i64,
    pids: i64,
) -> Result<ContainerCreateBody, Problem> {
    Ok(ContainerCreateBody {
        user: Some(user.to_owned()),
        image: Some(image.to_owned()),
        entrypoint: Some(std::iter::once(PROGRAM.to_owned()).chain(words.iter().cloned()).collect()),
        tty: Some(false),
        stop_signal: Some("SIGKILL".into()),
        healthcheck: Some(HealthConfig { test: Some(vec!["NONE".into()]), ..Default::default() }),
        labels: Some(names.labels(kind)),
        host_config: Some(HostConfig {
            cap_drop: Some(vec!["ALL".into()]),
            security_opt: Some(vec!["no-new-privileges".into(), format!("seccomp={}", seccomp::profile("sealed")?)]),
            privileged: Some(false),
            readonly_rootfs: Some(true),
            tmpfs: Some(HashMap::from([("/run".to_owned(), "size=4m,mode=0755,nosuid,nodev,noexec".to_owned())])),
            memory: Some(memory),
            memory_swap: Some(memory),
            pids_limit: Some(pids),
            ulimits: Some(vec![ulimit("nofile", 20_000), ulimit("core", 0)]),
            log_config: Some(HostConfigLogConfig { typ: Some("none".into()), config: None }),
            restart_policy: Some(RestartPolicy { name: Some(RestartPolicyNameEnum::NO), maximum_retry_count: None }),
            ..Default::default()
        }),
        ..Default::default()
    })
}

/// Sorts the keys of maps, so that equal bodies have equal text.
pub fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<String, Value> = fields.into_iter().map(|(key, it)| (key, sorted(it))).collect();
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        plain => plain,
    }
}

fn sysctls(ipv6: bool) -> HashMap<String, String> {
    let fixed = [
        // Without forwarding a missing rule cannot leak packets.
        ("net.ipv4.ip_forward", "0"),
        ("net.ipv4.conf.all.rp_filter", "1"),
        ("net.ipv4.conf.default.rp_filter", "1"),
        ("net.ipv4.conf.all.accept_redirects", "0"),
        ("net.ipv4.conf.all.send_redirects", "0"),
        ("net.ipv4.conf.all.accept_source_route", "0"),
        // The default suppresses rejects after a few packets, and clients then wait for their own time-out.
        ("net.ipv4.icmp_ratelimit", "0"),
        // Stalled transfers hold this memory, which no cgroup accounts for.
        ("net.ipv4.tcp_rmem", "4096 131072 1048576"),
        ("net.ipv4.tcp_wmem", "4096 65536 524288"),
        // A connection that ended keeps its local port for a minute. Fewer than there are ports, so that no sandbox that connects again and
        // again leaves its neighbours none to the same server.
        ("net.ipv4.tcp_max_tw_buckets", "16384"),
    ];
    let mut all: HashMap<String, String> = fixed.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    if ipv6 {
        all.extend(no_ipv6());
    }
    all
}

fn ulimit(name: &str, value: i64) -> ResourcesUlimits {
    ResourcesUlimits { name: Some(name.into()), soft: Some(value), hard: Some(value) }
}

/// The holder's own network, an ordinary bridge.
pub fn outer_network(names: &Names, layout: &Layout) -> NetworkCreateRequest {
    let options = [("com.docker.network.bridge.enable_icc", "false")];
    network(names.outer(), labels(names, ResourceKind::Outer, layout), layout.outer().to_string(), None, &options)
}

/// A container's network. Not internal, because the engine would drop what the router must see; without an address of the host; with
/// masquerading, because without it the host redirects frames to published ports.
pub fn subnet_network(names: &Names, layout: &Layout, number: u32, place: &ContainerNetwork) -> NetworkCreateRequest {
    let mut labels = labels(names, ResourceKind::Subnet, layout);
    labels.insert(name::SUBNET.into(), number.to_string());
    let within = Some((place.range.to_string(), place.gateway.to_string()));
    let options = [("com.docker.network.bridge.inhibit_ipv4", "true")];
    network(place.network.clone(), labels, place.cidr.to_string(), within, &options)
}

/// The holder's fixed address in a subnet.
pub fn joining(holder: &str, place: &ContainerNetwork) -> NetworkConnectRequest {
    let ipam = EndpointIpamConfig { ipv4_address: Some(place.holder.to_string()), ..Default::default() };
    NetworkConnectRequest {
        container: holder.to_owned(),
        endpoint_config: Some(EndpointSettings { ipam_config: Some(ipam), ..Default::default() }),
    }
}

fn labels(names: &Names, kind: ResourceKind, layout: &Layout) -> HashMap<String, String> {
    let mut labels = names.labels(kind);
    labels.insert(name::POOL.into(), layout.whole().to_string());
    labels
}

fn network(
    name: String,
    labels: HashMap<String, String>,
    subnet: String,
    within: Option<(String, String)>,
    options: &[(&str, &str)],
) -> NetworkCreateRequest {
    let (ip_range, gateway) = within.unzip();
    NetworkCreateRequest {
        name,
        driver: Some("bridge".into()),
        internal: Some(false),
        enable_ipv6: Some(false),
        ipam: Some(Ipam {
            config: Some(vec![IpamConfig { subnet: Some(subnet), ip_range, gateway, ..Default::default() }]),
            ..Default::default()
        }),
        options: Some(options.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()),
        labels: Some(labels),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn making<'a>(names: &'a Names, layout: &'a Layout) -> Making<'a> {
        Making { names, layout, image: "sha256:aa", upstream: "9.9.9.9:53", private: &[], public: &[], ipv6: true }
    }

    #[test]
    fn only_the_firewall_has_a_capability() {
        let (names, layout) = (Names::new("one").unwrap(), Layout::parse("10.90.0.0/24").unwrap());
        let making = making(&names, &layout);
        let caps = |body: ContainerCreateBody| body.host_config.unwrap().cap_add;
        assert_eq!(caps(making.holder().unwrap()), None);
        assert_eq!(caps(making.router("h", "b").unwrap()), None);
        assert_eq!(caps(making.firewall("h", "b").unwrap()), Some(vec!["NET_ADMIN".to_owned()]));
    }

    #[test]
    fn another_life_of_the_holder_makes_other_parts_but_the_same_holder() {
        let (names, layout) = (Names::new("one").unwrap(), Layout::parse("10.90.0.0/24").unwrap());
        let making = making(&names, &layout);
        let hash = |body: ContainerCreateBody| body.labels.unwrap()[name::SPEC].clone();
        assert_eq!(hash(making.router("h", "b").unwrap()), hash(making.router("h", "b").unwrap()));
        assert_ne!(hash(making.router("h", "b").unwrap()), hash(making.router("h", "c").unwrap()));
        assert_eq!(hash(making.holder().unwrap()), hash(making.holder().unwrap()));
    }

    #[test]
    fn ended_connections_keep_fewer_ports_than_there_are() {
        let (names, layout) = (Names::new("one").unwrap(), Layout::parse("10.90.0.0/24").unwrap());
        let sysctls = making(&names, &layout).holder().unwrap().host_config.unwrap().sysctls.unwrap();
        // Linux's own range for local ports, and as many connections as the router has at once.
        let (ports, open) = (60_999 - 32_768, 4096);
        assert!(sysctls["net.ipv4.tcp_max_tw_buckets"].parse::<u32>().unwrap() + open < ports);
    }

    #[test]
    fn a_subnet_has_no_address_of_the_host() {
        let (names, layout) = (Names::new("one").unwrap(), Layout::parse("10.90.0.0/24").unwrap());
        let made = subnet_network(&names, &layout, 2, &layout.subnet(&names, 2).unwrap());
        assert_eq!(made.options.unwrap()["com.docker.network.bridge.inhibit_ipv4"], "true");
        let ipam = made.ipam.unwrap().config.unwrap().remove(0);
        assert_eq!(ipam.subnet.as_deref(), Some("10.90.0.32/28"));
        assert_eq!(ipam.ip_range.as_deref(), Some("10.90.0.40/29"));
        assert_eq!(ipam.gateway.as_deref(), Some("10.90.0.33"));
    }
}
