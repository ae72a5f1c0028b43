//! What the router has of the machine's network: public addresses, of which one that the machine gets while the bot runs (PPPoE, DHCP) is
//! refused to sandboxes too; and the name server, which is another one in another network.
//!
//! Owns when that is looked at. Must not run where nothing can be reached: a look costs a container. Tests: at the end of this file.

use crate::bot::way_out::router_spec;
use crate::config::Process;
use crate::egress::{Egress, policy};
use crate::sandbox::broker::Broker;
use anyhow::Result;
use protocol::broker::RouterSpec;
use protocol::router::{Net, Policy};
use std::sync::Arc;
use std::time::Duration;

/// How often they are looked at while a subnet is open.
const EVERY: Duration = Duration::from_secs(60);

/// The machine's network, as firewall and router were made for it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct InForce {
    public: Vec<Net>,
    /// The machine's name server; none where the operator names one.
    upstream: Option<String>,
}

/// Keeps the machine's public addresses refused, and the router asking the machine's present name server.
pub struct OwnAddresses {
    broker: Arc<dyn Broker>,
    egress: Arc<Egress>,
    spec: RouterSpec,
    /// The operator's, without any address of the machine.
    policy: Policy,
}

impl OwnAddresses {
    /// For the router that this configuration asks for.
    ///
    /// # Errors
    /// When the operator's policy is malformed.
    pub fn new(config: &Process, broker: Arc<dyn Broker>, egress: Arc<Egress>) -> Result<OwnAddresses> {
        Ok(OwnAddresses { broker, egress, spec: router_spec(config), policy: policy(&config.egress)? })
    }

    /// Runs as long as the bot.
    pub async fn stay(&self) {
        // Not those of the start: the router was ensured before they were asked for, and they may have changed in between.
        let mut in_force: Option<InForce> = None;
        loop {
            tokio::time::sleep(EVERY).await;
            if !self.egress.has_open().await {
                continue;
            }
            match self.follow(in_force.as_ref()).await {
                Ok(present) => in_force = Some(present),
                Err(error) => {
                    tracing::warn!(%error, "the router may not fit the machine's present network; tried again");
                }
            }
        }
    }

    /// Makes firewall and proxy refuse the present addresses and ask the present name server, unless name server and public addresses are
    /// those `in_force`. Gives these.
    async fn follow(&self, in_force: Option<&InForce>) -> Result<InForce> {
        let host = self.broker.host(&self.spec.image).await.map_err(anyhow::Error::new)?;
        let own = host.upstream.clone().filter(|_| self.spec.upstream.is_none());
        // Between two networks a machine may name none: then the router keeps the one that it has.
        let upstream = own.or_else(|| in_force?.upstream.clone());
        let present = InForce { public: host.public().collect(), upstream };
        if in_force == Some(&present) {
            return Ok(present);
        }
        // With another network firewall and router are replaced, so the connection to the old one is given up first.
        let ensured = self.egress.with_router_away(self.broker.router_ensure(&self.spec)).await;
        ensured.map_err(anyhow::Error::new)?;
        let mut policy = self.policy.clone();
        policy.private.extend(host.own());
        self.egress.set_policy(policy).await?;
        Ok(present)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::egress::{Dial, Duplex, Settings};
    use crate::sandbox::broker::SocketBroker;
    use async_trait::async_trait;
    use protocol::broker::{BrokerAnswer, Request, RouterInfo};
    use protocol::host::Network;
    use router::access::AccessControl;
    use std::net::Ipv4Addr;
    use std::path::Path;
    use std::sync::Mutex;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tokio::net::UnixListener;

    /// What the broker answers and was asked for.
    #[derive(Default)]
    struct Machine {
        host: Mutex<Network>,
        ensured: Mutex<u32>,
    }

    impl Machine {
        async fn serve(&self, listener: UnixListener) {
            loop {
                let mut stream = BufReader::new(listener.accept().await.unwrap().0);
                let mut line = String::new();
                stream.read_line(&mut line).await.unwrap();
                let mut answer = match serde_json::from_str::<Request>(&line).unwrap() {
                    Request::Host { .. } => {
                        let host = self.host.lock().unwrap().clone();
                        serde_json::to_string(&BrokerAnswer::Ok(host)).unwrap()
                    }
                    Request::RouterEnsure(_) => {
                        *self.ensured.lock().unwrap() += 1;
                        let info = RouterInfo { pool: "10.90.0.0/24".into(), subnets: Vec::new(), boot: None };
                        serde_json::to_string(&BrokerAnswer::Ok(info)).unwrap()
                    }
                    other => panic!("{other:?}"),
                };
                answer.push('\n');
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        }

        fn moves_to(&self, addresses: &[&str]) {
            self.host.lock().unwrap().addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
        }
    }

    /// The router's own access control and orders, without its network.
    struct Orders(Arc<AccessControl>);

    #[async_trait]
    impl Dial for Orders {
        async fn dial(&self) -> std::io::Result<Box<dyn Duplex>> {
            let (ours, theirs) = tokio::io::duplex(1 << 16);
            let (reading, writing) = tokio::io::split(theirs);
            tokio::spawn(router::control::run(self.0.clone(), "b1".to_owned(), reading, writing));
            Ok(Box::new(ours))
        }
    }

    /// What follows the network of a machine, and the router's access control; `upstream` is the operator's name server.
    fn following(dir: &Path, upstream: Option<&str>) -> (Arc<Machine>, Arc<AccessControl>, OwnAddresses) {
        let (socket, machine) = (dir.join("broker.sock"), Arc::new(Machine::default()));
        let (listener, answering) = (UnixListener::bind(&socket).unwrap(), machine.clone());
        tokio::spawn(async move { answering.serve(listener).await });
        let access = Arc::new(AccessControl::new("10.90.0.0/24".parse().unwrap(), 4, vec![], vec![]));
        let dial: Option<Arc<dyn Dial>> = Some(Arc::new(Orders(access.clone())));
        let (policy, on_entry, on_life, resume) = (Policy::default(), None, None, None);
        let egress = Egress::new(Settings { policy, dial, on_entry, on_life, resume });
        let (image, subnets, upstream) = ("router:1".to_owned(), 4, upstream.map(str::to_owned));
        let spec = RouterSpec { image, subnets, pool: None, upstream, private: Vec::new() };
        let broker = Arc::new(SocketBroker::new(&socket));
        (machine, access, OwnAddresses { broker, egress, spec, policy: Policy::default() })
    }

    #[tokio::test]
    async fn a_public_address_that_the_machine_gets_later_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (machine, access, own) = following(dir.path(), None);
        let refused = || ["8.8.4.4", "9.9.9.9"].map(|ip| access.refuses(ip.parse::<Ipv4Addr>().unwrap()));

        machine.moves_to(&["10.0.0.5", "8.8.4.4"]);
        let first = own.follow(None).await.unwrap();
        assert_eq!(refused(), [true, false]);
        // Private addresses change with every network of the engine, and are refused anyway.
        machine.moves_to(&["10.0.0.5", "172.30.0.1", "8.8.4.4"]);
        assert_eq!(own.follow(Some(&first)).await.unwrap(), first);
        assert_eq!(*machine.ensured.lock().unwrap(), 1);
        machine.moves_to(&["10.0.0.5", "9.9.9.9"]);
        assert_ne!(own.follow(Some(&first)).await.unwrap(), first);
        assert_eq!((refused(), *machine.ensured.lock().unwrap()), ([false, true], 2));
    }

    #[tokio::test]
    async fn a_machine_in_another_network_has_its_router_ask_the_name_server_there() {
        for (operators, expected) in [(None, [1, 1, 1, 2]), (Some("9.9.9.9"), [1, 1, 1, 1])] {
            let dir = tempfile::tempdir().unwrap();
            let (machine, _, own) = following(dir.path(), operators);
            let mut in_force = None;
            // Between two networks it names none.
            let named = [Some("192.168.1.1:53"), Some("192.168.1.1:53"), None, Some("10.7.0.1:53")];
            for (upstream, ensured) in named.into_iter().zip(expected) {
                machine.host.lock().unwrap().upstream = upstream.map(str::to_owned);
                in_force = Some(own.follow(in_force.as_ref()).await.unwrap());
                assert_eq!(*machine.ensured.lock().unwrap(), ensured, "{operators:?}: {upstream:?}");
            }
        }
    }
}
