//! A second host beside that of a world: another state directory, engine and listeners, on the same store and forge.

use crate::cuts::Cuts;
use crate::ground::free_port;
use crate::local_broker::LocalBroker;
use crate::world::{World, end};
use caisson::bot::{Bot, Patience};
use caisson::config::Process;
use std::sync::Arc;
use std::time::Duration;

pub struct SecondHost {
    pub broker: Arc<LocalBroker>,
    pub cuts: Cuts,
    pub config: Arc<Process>,
    _dir: tempfile::TempDir,
    bot: Option<(tokio::runtime::Runtime, Bot)>,
}

impl SecondHost {
    /// Not started yet. `change` makes its configuration from the text of the world's.
    pub fn new(world: &World, change: impl FnOnce(String) -> String) -> Self {
        let (dir, from) = (tempfile::tempdir().expect("a directory"), world.dir.path());
        for name in ["bot.token", "shop.secret", "script.toml"] {
            std::fs::copy(from.join(name), dir.path().join(name)).expect("copied");
        }
        let state = dir.path().join("state");
        std::fs::create_dir(&state).expect("made");
        std::fs::copy(world.config.mark_key_file(), state.join("mark.key")).expect("copied");
        let text = std::fs::read_to_string(from.join("caisson.toml")).expect("read");
        let port = |port: u16| format!("webhooks = \"127.0.0.1:{port}\"");
        let called = world.config.listen.webhooks;
        let text = text.replace(&port(called.port()), &port(free_port()));
        // The forge calls one address, here that of the first host.
        let text = text.replace("[forge]\n", &format!("[forge]\nbot_url = \"http://{called}\"\n"));
        let file = dir.path().join("caisson.toml");
        std::fs::write(&file, change(format!("installation = \"beside\"\n{text}"))).expect("written");
        let config = Arc::new(Process::load(&file).expect("a configuration"));
        Self { broker: LocalBroker::new(), cuts: Cuts::default(), config, _dir: dir, bot: None }
    }

    pub async fn start(&mut self, world: &World) {
        self.bot = Some(world.begin(self.config.clone(), self.broker.clone(), &self.cuts).await);
    }

    /// As `kill -9` would.
    pub fn kill(&mut self) {
        if let Some((runtime, bot)) = self.bot.take() {
            drop(bot);
            end(runtime);
        }
    }

    pub fn is_running(&self) -> bool {
        self.bot.is_some()
    }

    /// As SIGTERM does.
    pub async fn stop(&mut self) {
        if let Some((runtime, bot)) = self.bot.take() {
            let patience = Patience { all: Duration::from_secs(20), paid: Duration::from_secs(20) };
            runtime.spawn(bot.stop(patience)).await.expect("stopped");
            end(runtime);
        }
    }
}

impl Drop for SecondHost {
    fn drop(&mut self) {
        self.kill();
    }
}
