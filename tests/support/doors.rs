//! A gate without a router: which berths were opened with which rules, and closed, in order.

use async_trait::async_trait;
use caisson::sandbox::Gate;
use protocol::router::Rule;
use std::sync::Mutex;

/// Writes down what it was told.
#[derive(Default)]
pub struct Doors {
    pub told: Mutex<Vec<String>>,
}

#[async_trait]
impl Gate for Doors {
    async fn open(&self, berth: u32, rules: &[Rule]) -> Result<(), String> {
        let hosts: Vec<String> = rules.iter().map(Rule::to_string).collect();
        self.told.lock().unwrap().push(format!("open {berth} {}", hosts.join(",")));
        Ok(())
    }

    async fn close(&self, berth: u32) -> Result<(), String> {
        self.told.lock().unwrap().push(format!("close {berth}"));
        Ok(())
    }
}
