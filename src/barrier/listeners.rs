//! Listeners on this machine during the test: one of the bot's process, and one in the network namespace of the machine that sandboxes run
//! on, which differs if the bot is in a container.
//!
//! Owns both listeners for the duration of a test, and their addresses. Tests: `tests/barrier/`.

use std::net::IpAddr;
use std::time::Duration;

use protocol::host::{HEARD, Network, TOLD};
use protocol::probe::Finding;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::Untested;
use super::canary::{Listener, addresses, random};
use super::plan::{self, Watched};
use crate::sandbox::broker::{Broker, Stream};

/// The engine starts a container for the listener.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Listeners {
    /// Has the token, which is random, and sent by the probe alone: what arrives without it is a stranger's.
    own: Listener,
    machine: Option<Machine>,
}

/// The listener on the machine's side, which may hear only its own control.
struct Machine {
    network: Network,
    port: u16,
    stream: BufReader<Box<dyn Stream>>,
}

impl Listeners {
    /// Opens the listeners: the machine's needs a router's image; without one sandboxes have no network that could lead there.
    pub async fn open(broker: &dyn Broker, router_image: Option<&str>) -> Result<Listeners, Untested> {
        let token = random()?;
        let machine = match router_image {
            Some(image) => Some(Machine::open(broker, image, &token).await?),
            None => None,
        };
        Ok(Listeners { own: Listener::start(&token).await?, machine })
    }

    /// Each address with the port of a listener there, without duplicates; and what the listeners count.
    pub fn watched(&self) -> Watched {
        let machine = self.machine.iter().flat_map(|it| it.network.addresses.iter().map(|ip| (*ip, it.port)));
        let mut endpoints: Vec<_> = addresses().into_iter().map(|ip| (ip, self.own.port)).chain(machine).collect();
        endpoints.sort();
        endpoints.dedup();
        Watched { endpoints, token: self.own.token.to_string() }
    }

    /// The machine's own addresses, from its network namespace.
    pub fn machine(&self) -> Vec<IpAddr> {
        self.machine.iter().flat_map(|it| it.network.addresses.clone()).collect()
    }

    /// The peers heard since the last call, as findings of this check.
    pub async fn heard_since(&mut self, check: u8) -> Result<Vec<Finding>, Untested> {
        let mut found = vec![Finding::new(check, plan::HEARD, self.own.heard_since().await)];
        if let Some(machine) = &mut self.machine {
            found.push(Finding::new(check, plan::MACHINE_HEARD, machine.heard_since(&self.own.token).await?));
        }
        Ok(found)
    }
}

impl Machine {
    async fn open(broker: &dyn Broker, image: &str, token: &str) -> Result<Machine, Untested> {
        let mut stream = BufReader::new(broker.host_listen(image).await?);
        let first = line(&mut stream).await?;
        let network: Network =
            serde_json::from_str(&first).map_err(|_| Untested(format!("the machine's listener said {first:?}")))?;
        let port = network.port.ok_or_else(|| Untested("the machine's listener has no port".to_owned()))?;
        let mut machine = Machine { network, port, stream };
        // Until it was given the token it reports whatever arrives.
        machine.heard_since(token).await?;
        Ok(machine)
    }

    /// Everything heard before its own control, which this triggers. The listener of an older image does not know the token and reports
    /// strangers too.
    async fn heard_since(&mut self, token: &str) -> Result<String, Untested> {
        self.stream.write_all(format!("{token}\n").as_bytes()).await?;
        self.stream.flush().await?;
        let mut strangers = Vec::new();
        loop {
            let said = line(&mut self.stream).await?;
            match said.strip_prefix(HEARD) {
                Some("127.0.0.1") => {}
                Some(from) => strangers.push(from.to_owned()),
                None if said == TOLD => break,
                None => return Err(Untested(format!("the machine's listener said {said:?}"))),
            }
        }
        Ok(match strangers.first() {
            Some(first) => format!("{first}, and {} in all", strangers.len()),
            None => plan::ITSELF.to_owned(),
        })
    }
}

async fn line(stream: &mut BufReader<Box<dyn Stream>>) -> Result<String, Untested> {
    let mut text = String::new();
    let silent = || Untested(format!("the machine's listener said nothing for {} s", PATIENCE.as_secs()));
    match tokio::time::timeout(PATIENCE, stream.read_line(&mut text)).await.map_err(|_| silent())?? {
        0 => Err(Untested("the machine's listener ended; is the router's image one of this release?".to_owned())),
        _ => Ok(text.trim_end().to_owned()),
    }
}
