//! What a test does to the connections of a local broker's container.

use std::sync::Arc;

use tokio::io::AsyncWriteExt;

use super::{Listeners, LocalBroker};

impl LocalBroker {
    /// Has a container send these bytes now, and lie to every host that attaches later, as one would whose runner was replaced.
    #[allow(dead_code, reason = "for tests/trees.rs alone")]
    pub async fn say(&self, name: &str, noise: &[u8]) {
        self.containers.lock().unwrap().get_mut(name).expect("it is there").lies = true;
        let Some(listeners) = self.listeners(name) else { return };
        for listener in listeners.lock().await.iter_mut() {
            drop(listener.write_all(noise).await);
        }
    }

    /// Ends every connection to a container, as a restarted broker does.
    #[allow(dead_code, reason = "for tests/trees.rs alone")]
    pub async fn cut(&self, name: &str) {
        let Some(listeners) = self.listeners(name) else { return };
        for mut listener in listeners.lock().await.drain(..) {
            drop(listener.shutdown().await);
        }
    }

    /// Stops a container's runner, or lets it go on, as a machine does that is short of memory: the engine sees no difference.
    #[allow(dead_code, reason = "for tests/trees.rs alone")]
    pub fn stall(&self, name: &str, stalled: bool) {
        let containers = self.containers.lock().unwrap();
        containers.get(name).expect("it is there").signal(if stalled { "-STOP" } else { "-CONT" });
    }

    #[allow(dead_code, reason = "for tests/trees.rs alone")]
    fn listeners(&self, name: &str) -> Option<Listeners> {
        let containers = self.containers.lock().unwrap();
        let run = containers.get(name).expect("it is there").run.as_ref();
        run.map(|run| Arc::clone(&run.listeners))
    }
}
