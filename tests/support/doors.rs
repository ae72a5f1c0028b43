//! Egress control without a router: which subnets were opened with which rules, and closed, in order.

use async_trait::async_trait;
use caisson::sandbox::EgressControl;
use protocol::router::Rule;
use std::sync::Mutex;
use tokio::sync::Notify;

/// Records the calls.
#[derive(Default)]
pub struct Doors {
    pub told: Mutex<Vec<String>>,
    /// The router's boot and the position in its log up to which the bot has read.
    pub read: Mutex<Option<(String, u64)>>,
    router: Notify,
}

impl Doors {
    /// Behaves from now on as if the router had died and another had started.
    pub fn replace_router(&self) {
        self.router.notify_one();
    }

    fn open_ones(&self) -> Vec<u32> {
        let mut open = std::collections::BTreeSet::new();
        for told in self.told.lock().unwrap().iter() {
            let mut words = told.split(' ');
            let (word, subnet) = (words.next(), words.next().and_then(|subnet| subnet.parse().ok()));
            match (word, subnet) {
                (Some("open"), Some(subnet)) => drop(open.insert(subnet)),
                (_, Some(subnet)) => drop(open.remove(&subnet)),
                _ => {}
            }
        }
        open.into_iter().collect()
    }
}

#[async_trait]
impl EgressControl for Doors {
    async fn open(&self, subnet: u32, rules: &[Rule]) -> Result<(), String> {
        let hosts: Vec<String> = rules.iter().map(Rule::to_string).collect();
        self.told.lock().unwrap().push(format!("open {subnet} {}", hosts.join(",")));
        Ok(())
    }

    async fn close(&self, subnet: u32) -> Result<(), String> {
        self.told.lock().unwrap().push(format!("close {subnet}"));
        Ok(())
    }

    fn log_read(&self) -> Option<(String, u64)> {
        self.read.lock().unwrap().clone()
    }

    async fn replaced(&self) -> (String, Vec<u32>) {
        self.router.notified().await;
        ("another".to_owned(), self.open_ones())
    }
}
