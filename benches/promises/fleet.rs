//! Sandboxes with a way out on a real engine, and the router that they share.

use crate::container::spec;
use async_trait::async_trait;
use caisson::egress::{Dial, Duplex, Egress};
use caisson::sandbox::broker::{Broker, SocketBroker};
use caisson::sandbox::link::Link;
use protocol::broker::RouterSpec;
use protocol::router::Rule;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// As many as a broker allows.
pub const SUBNETS: u32 = 64;
/// The name that each sandbox may look up; the upstream is never asked for it.
pub const NAME: &str = "subnet.test";

/// The bot's connection to the router, which it may open again.
pub struct RouterLink {
    pub broker: SocketBroker,
    pub spec: Mutex<RouterSpec>,
    /// Number of connections opened.
    pub dials: AtomicU64,
}

impl RouterLink {
    pub async fn ensure(&self) -> std::io::Result<()> {
        let spec = self.spec.lock().expect("whole").clone();
        let failed = |problem: protocol::broker::Problem| std::io::Error::other(problem.to_string());
        self.broker.router_ensure(&spec).await.map(drop).map_err(failed)
    }
}

#[async_trait]
impl Dial for RouterLink {
    async fn dial(&self) -> std::io::Result<Box<dyn Duplex>> {
        self.ensure().await?;
        let stream = self.broker.router_attach().await.map_err(|problem| std::io::Error::other(problem.to_string()))?;
        self.dials.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(stream))
    }
}

/// A sandbox whose runner has answered.
pub struct BenchSandbox {
    pub name: String,
    pub link: Link,
}

pub struct Fleet {
    pub link: Arc<RouterLink>,
    pub egress: Arc<Egress>,
    pub installation: String,
}

impl Fleet {
    /// Creates a sandbox; returns once its runner has answered and its subnet may reach [`NAME`].
    pub async fn ready(&self, subnet: u32) -> BenchSandbox {
        let name = format!("subnet-{subnet}");
        let broker = &self.link.broker;
        broker.create(&spec(name.clone(), Some(subnet))).await.expect("created");
        broker.start(&name).await.expect("started");
        let stream = Box::new(broker.attach(&name).await.expect("attached"));
        let (link, _) = Link::attach(stream, 1).await.expect("a runner");
        self.egress.open(subnet, &[Rule::parse(NAME).expect("a rule")]).await.expect("opened");
        BenchSandbox { name, link }
    }

    pub async fn leave(&self, subnet: u32, member: BenchSandbox) {
        self.egress.close(subnet).await.expect("closed");
        self.link.broker.remove(&member.name).await.expect("removed");
    }

    /// Name of the engine's container.
    pub fn container(&self, member: &BenchSandbox) -> String {
        format!("caisson-{}-box-{}", self.installation, member.name)
    }
}

/// Standard output of a command, which must succeed.
pub fn output_of(program: &str, words: &[&str]) -> String {
    let out = Command::new(program).args(words).output().expect(program);
    assert!(out.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).trim().to_owned()
}
