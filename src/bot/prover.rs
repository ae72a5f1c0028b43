//! Proves the barrier before the first task of a life, unless a proof for this machine is stored; and with a toolchain's image before the
//! first sandbox from it.
//!
//! Owns when it is tested and the consequences; `crate::barrier` tests it. A test that fails to run is repeated; with a mismatch no task
//! starts until a test succeeds, which is repeated when anything changes that the proof depends on, and regularly. An unfit runner is
//! reported once, and tasks are refused. A proof says nothing of another engine, which may take the place of the one that was tried while
//! the bot runs. Tests: below, `tests/barrier/proof.rs`.

use crate::barrier::{self, BarrierSetup, BarrierState, Key, Outdated, Proof, RouterUnderTest, Untested};
use crate::bot::router_spec;
use crate::clock::now;
use crate::config::Process;
use crate::config::process::{Hardening, Network, Sandbox};
use crate::egress::Egress;
use crate::sandbox::broker::Broker;
use crate::sandbox::{ProvenImages, Sandboxes};
use protocol::broker::{ContainerLimits, EngineInfo};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Time after a temporary problem: a busy engine, an image being built.
const AGAIN: Duration = Duration::from_secs(15);
/// Time after a mismatch, because its cause may be outside of the proof's key.
const MENDED: Duration = Duration::from_secs(300);

/// Time between two looks whether the engine is the one that was tried.
const ENGINE: Duration = Duration::from_secs(60);

/// Proves the barrier, and publishes its state.
pub struct Prover {
    config: Arc<Process>,
    broker: Arc<dyn Broker>,
    egress: Option<Arc<Egress>>,
    images: Arc<ProvenImages>,
    standing: watch::Sender<BarrierState>,
    mended: Duration,
}

/// The present key of a proof for this configuration. A toolchain's image is tested when a task first needs it.
pub async fn barrier_key(config: &Process, broker: &dyn Broker) -> Result<Key, Untested> {
    key(config, broker, &[]).await
}

/// Every hardening profile in which untrusted code may run; verification and quarantine are always `sealed`.
fn profiles(config: &Process) -> Vec<&'static str> {
    match config.sandbox.hardening {
        Hardening::Sealed => vec![Hardening::Sealed.word()],
        other => vec![Hardening::Sealed.word(), other.word()],
    }
}

/// The largest limits of any repository's sandbox, because what holds with them holds with smaller ones.
pub fn proven_limits(config: &Process) -> ContainerLimits {
    config.sandboxes().map(Sandbox::limits).fold(config.sandbox.limits(), |most, own| ContainerLimits {
        memory_bytes: most.memory_bytes.max(own.memory_bytes),
        pids: most.pids.max(own.pids),
        cpus: most.cpus.max(own.cpus),
        // In memory for every repository, or 0 for every one.
        workspace_bytes: most.workspace_bytes.max(own.workspace_bytes),
        // 0 = without limit.
        disk_bytes: if most.disk_bytes == 0 || own.disk_bytes == 0 { 0 } else { most.disk_bytes.max(own.disk_bytes) },
        tmp_bytes: most.tmp_bytes.max(own.tmp_bytes),
        nofile: most.nofile.max(own.nofile),
        ..most
    })
}

async fn key(config: &Process, broker: &dyn Broker, more: &[String]) -> Result<Key, Untested> {
    let spec = (config.sandbox.network == Network::Router).then(|| router_spec(config));
    let images = [&config.listed_images(), more].concat();
    Key::of(broker, &images, &profiles(config), spec.as_ref(), proven_limits(config)).await
}

impl Prover {
    /// Also returns the state for the bot's parts, unproven at first. `sandboxes` spares the test's own, and refuses untested images.
    pub fn new(
        config: Arc<Process>,
        broker: Arc<dyn Broker>,
        egress: Option<Arc<Egress>>,
        sandboxes: &Sandboxes,
    ) -> (Prover, watch::Receiver<BarrierState>) {
        sandboxes.spare(&barrier::SANDBOXES);
        sandboxes.images.prove_first();
        let (standing, watched) = watch::channel(BarrierState::Waiting("it is about to be tried".to_owned()));
        let images = sandboxes.images.clone();
        (Prover { config, broker, egress, images, standing, mended: MENDED }, watched)
    }

    /// Sets the time until a failed barrier is tested again without any change.
    #[must_use]
    pub fn mended_within(self, mended: Duration) -> Prover {
        Prover { mended, ..self }
    }

    /// Runs as long as the bot.
    pub async fn stay(&self) {
        // Asked before anything is tried, so that a change meanwhile is noticed. It stays the same while further images are tried, because
        // those that were proven before are not tried again with them.
        let (mut wanted, mut tried) = (Vec::new(), self.broker.hello().await.ok());
        loop {
            self.until_known(&wanted).await;
            if *self.standing.borrow() == BarrierState::Proven {
                tokio::select! {
                    images = self.images.asked_to_prove() => wanted = images,
                    engine = self.until_another(tried.as_ref()) => (wanted, tried) = (Vec::new(), Some(engine)),
                }
            } else {
                self.until_changed(&wanted).await;
            }
        }
    }

    /// Runs until it is known whether the barrier holds.
    pub async fn run(&self) {
        self.until_known(&[]).await;
    }

    /// Returns when there is a verdict, or an earlier one stands, because a further image could not be tried.
    async fn until_known(&self, wanted: &[String]) {
        loop {
            match self.prove(wanted).await {
                Ok(standing) => {
                    self.now_known(standing);
                    return;
                }
                Err(trouble) => {
                    tracing::warn!(%trouble, "the barrier could not be tried; no task starts before");
                    // The proof stays valid; the task that needs this image asks again.
                    let proven = *self.standing.borrow() == BarrierState::Proven;
                    if !proven {
                        self.standing.send_replace(BarrierState::Waiting(trouble.0));
                    }
                    tokio::time::sleep(AGAIN).await;
                    if proven {
                        return;
                    }
                }
            }
        }
    }

    /// Returns what the engine is when it, its configuration or the broker is another one than was `tried`; then nothing is proven any more.
    async fn until_another(&self, tried: Option<&EngineInfo>) -> EngineInfo {
        loop {
            tokio::time::sleep(ENGINE.min(self.mended)).await;
            // While it is away no container is made.
            let Ok(present) = self.broker.hello().await else { continue };
            if tried == Some(&present) {
                continue;
            }
            tracing::warn!(engine = present.engine, "the engine is not as it was tried: the barrier is proven anew");
            self.images.forget_proofs();
            let why = "the engine, or its configuration, is another one than was tried".to_owned();
            self.standing.send_replace(BarrierState::Waiting(why));
            return present;
        }
    }

    /// Publishes a state, once even if it is found repeatedly.
    fn now_known(&self, standing: BarrierState) {
        self.standing.send_if_modified(|before| {
            let other = *before != standing;
            if let (true, BarrierState::Refused(why)) = (other, &standing) {
                tracing::error!(why, "THE BARRIER CAN'T BE PROVEN; tasks are refused");
            }
            *before = standing;
            other
        });
    }

    /// Returns when anything changed since the failed test, or after a while.
    async fn until_changed(&self, wanted: &[String]) {
        let tried = Proof::last(&self.config.state_dir).map(|proof| proof.key);
        let until = tokio::time::Instant::now() + self.mended;
        while tokio::time::Instant::now() < until {
            tokio::time::sleep(AGAIN.min(self.mended)).await;
            // Tested again at once, which costs one request.
            if matches!(*self.standing.borrow(), BarrierState::Refused(_)) {
                return;
            }
            let now = key(&self.config, self.broker.as_ref(), wanted).await;
            if now.is_ok_and(|key| tried.as_ref() != Some(&key)) {
                return;
            }
        }
    }

    async fn prove(&self, wanted: &[String]) -> Result<BarrierState, Untested> {
        if let Some(outdated) = Outdated::of(&self.broker.hello().await?) {
            return Ok(BarrierState::Refused(outdated.to_string()));
        }
        if self.egress.is_some() {
            // The key includes every bridge, also those of the test.
            barrier::subnets(self.broker.as_ref(), &router_spec(&self.config)).await?;
        }
        let key = key(&self.config, self.broker.as_ref(), wanted).await?;
        let all = || key.images.keys().cloned().collect();
        let last = Proof::last(&self.config.state_dir);
        let untried: Vec<String> = last.as_ref().map_or_else(all, |proof| proof.lacks(&key));
        let ids: Vec<String> = key.images.values().cloned().collect();
        if untried.is_empty() {
            tracing::info!("the barrier was proven before, for this machine as it is");
            self.images.proven(ids);
            return Ok(BarrierState::Proven);
        }
        let (mut mismatches, mut tried) = (Vec::new(), Vec::new());
        for image in untried {
            for profile in profiles(&self.config) {
                tracing::info!(image, profile, "proving the barrier");
                let setup = self.setup(&image, profile).await?;
                let report =
                    Box::pin(barrier::run(&setup, &|step| tracing::info!(step, "proving the barrier"))).await?;
                tried.extend(report.machine.iter().copied());
                mismatches.extend(report.mismatches().into_iter().map(|what| format!("{image}, {profile}: {what}")));
            }
        }
        tried.sort();
        tried.dedup();
        let proof = Proof { key, at: now(), mismatches, tried }.with(last);
        if let Err(error) = proof.keep(&self.config.state_dir) {
            tracing::warn!(%error, "the barrier's proof was not kept; it is tried again at the next start");
        }
        if proof.mismatches.is_empty() {
            tracing::info!(machine = ?proof.tried, "the barrier holds");
            self.images.proven(ids);
            return Ok(BarrierState::Proven);
        }
        for what in &proof.mismatches {
            tracing::error!(what, "THE BARRIER DOES NOT HOLD; no task starts");
        }
        Ok(BarrierState::Broken(proof.mismatches))
    }

    async fn setup(&self, image: &str, profile: &str) -> Result<BarrierSetup, Untested> {
        let way = match &self.egress {
            None => None,
            Some(egress) => {
                let subnets = barrier::subnets(self.broker.as_ref(), &router_spec(&self.config)).await?;
                let router_image = self.config.router.image.clone();
                Some(RouterUnderTest { egress: egress.clone(), subnets, upstream: None, router_image })
            }
        };
        Ok(BarrierSetup {
            broker: self.broker.clone(),
            router: way,
            image: image.to_owned(),
            own_image: self.config.sandbox.image.clone(),
            profile: profile.to_owned(),
            limits: proven_limits(&self.config),
            state_dir: self.config.state_dir.clone(),
            epoch: 1,
            strangers: barrier::strangers(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::Repos;
    use crate::sandbox::Settings;
    use crate::sandbox::broker::SocketBroker;
    use protocol::broker::BrokerAnswer;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tokio::net::UnixListener;

    fn engine(name: &str) -> EngineInfo {
        EngineInfo {
            version: 1,
            installation: "box".into(),
            engine: name.into(),
            kernel: "6".into(),
            cgroup: "2".into(),
            daemon: "d".into(),
            runner: "r".into(),
            runner_file: String::new(),
            runner_mark: None,
            seccomp: "s".into(),
            images: Vec::new(),
            runtime: None,
            gpus: "none".into(),
            plain_workspaces: true,
            warnings: Vec::new(),
        }
    }

    /// Answers greetings with one of these engines after the other, and then with the last one.
    async fn greet(listener: &UnixListener, engines: &[EngineInfo]) {
        for at in 0.. {
            let mut stream = BufReader::new(listener.accept().await.unwrap().0);
            let mut line = String::new();
            stream.read_line(&mut line).await.unwrap();
            let answer = serde_json::to_string(&BrokerAnswer::Ok(&engines[at.min(engines.len() - 1)])).unwrap();
            stream.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        }
    }

    #[tokio::test]
    async fn another_engine_than_was_tried_has_to_be_proven() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("broker.sock");
        let (listener, broker) = (UnixListener::bind(&socket).unwrap(), Arc::new(SocketBroker::new(&socket)));
        let config = Arc::new(Process::from_layers(&dir.path().join("caisson.toml"), "", &|_| None).unwrap());
        let (repos, settings) = (Repos::new(dir.path()), Settings::new(dir.path(), "image"));
        let sandboxes = Sandboxes::new(broker.clone(), None, repos, settings, 1).unwrap();
        let (prover, standing) = Prover::new(config, broker, None, &sandboxes);
        let prover = prover.mended_within(Duration::from_millis(1));
        prover.now_known(BarrierState::Proven);
        let (old, new) = (engine("Docker 1"), engine("Docker 2"));
        let greetings = [old.clone(), old.clone(), new.clone()];
        tokio::select! {
            present = prover.until_another(Some(&old)) => assert_eq!(present, new, "it is compared with from then on"),
            () = greet(&listener, &greetings) => {}
        }
        let standing = standing.borrow().clone();
        assert!(matches!(&standing, BarrierState::Waiting(why) if why.contains("than was tried")), "{standing:?}");
    }

    #[test]
    fn it_is_proven_with_the_most_that_any_repository_may_use() {
        let entry = |name: &str, id: u8, own: &str| {
            let head = "[[repositories]]\nowner = \"lab\"\nsecret_files = [\"s\"]\n";
            format!("{head}key = \"{name}\"\nname = \"{name}\"\nid = {id}\n[repositories.sandbox]\n{own}")
        };
        let text = entry("a", 1, "pids = 900\nmemory_mib = 64\n")
            + &entry("b", 2, "nofile = 9000\ndisk_mib = 0\ncpus = 0.5\n");
        let config = Process::from_layers(std::path::Path::new("/x/caisson.toml"), &text, &|_| None).unwrap();
        let own = config.sandbox.limits();
        let most = ContainerLimits { pids: 900, nofile: 9000, disk_bytes: 0, ..own };
        assert_eq!(proven_limits(&config), most);
    }
}
