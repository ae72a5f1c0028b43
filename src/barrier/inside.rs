//! A sandbox of the self-test: made, used, removed. Its output is untrusted and limited by its connection.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};

use domain::Commit;
use protocol::broker::{ContainerSpec, PROBE_USERS, Purpose, RUNNER};
use protocol::host::HEARD;
use protocol::probe::{Finding, OPEN, Plan, Reach};
use protocol::runner::{Limits, Op, Outcome, Status};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use super::{BarrierSetup, Untested};
use crate::sandbox::broker::Broker;
use crate::sandbox::link::Link;
use crate::sandbox::{RepositoryLoader, SandboxError};

/// Longer than any of the tries takes.
const WALL_MS: u64 = 120_000;

pub(super) struct Inside {
    pub name: String,
    /// Its address in its subnet.
    pub address: Option<Ipv4Addr>,
    link: Link,
    next: AtomicU64,
}

/// Always the same names, so that leftovers of an earlier run are removed by the next.
pub const NAMES: [&str; 2] = ["barrier-1", "barrier-2"];

impl Inside {
    /// Makes the first or the second sandbox, each with a user of its own like those of two repositories.
    pub(super) async fn make(
        setup: &BarrierSetup,
        which: usize,
        subnet: Option<u32>,
        mirror: Option<&str>,
    ) -> Result<Inside, Untested> {
        let (name, user) = (NAMES[which], PROBE_USERS[which]);
        let spec = ContainerSpec {
            name: name.to_owned(),
            task: None,
            purpose: Purpose::Probe,
            user,
            image: setup.image.clone(),
            subnet,
            limits: setup.limits,
            env: Vec::new(),
            profile: setup.profile.clone(),
            mirror: mirror.map(str::to_owned),
            layered: false,
        };
        let broker: &dyn Broker = setup.broker.as_ref();
        broker.remove(name).await?;
        broker.create(&spec).await?;
        broker.start(name).await?;
        let found = broker.inspect(name).await?;
        let address = found.and_then(|container| container.address).and_then(|text| text.parse().ok());
        let stream = broker.attach(name).await?;
        let (link, welcome) = Link::attach(Box::new(stream), setup.epoch).await?;
        let given = broker.hello().await?.runner;
        if welcome.runner != given {
            return Err(Untested(format!("the runner in {name} is {}, not {given}", welcome.runner)));
        }
        Ok(Inside { name: name.to_owned(), address, link, next: AtomicU64::new(1) })
    }

    fn id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    fn op(words: &[&str], output: bool) -> Op {
        let argv = [RUNNER, "probe"].iter().chain(words).map(|&word| word.to_owned()).collect();
        Op::Exec { argv, env: Vec::new(), cwd: ".".to_owned(), input: false, output }
    }

    /// Brings a commit into its workspace, as into a task's; `false` where there is no git.
    pub(super) async fn furnished(
        self,
        loader: &RepositoryLoader,
        key: &str,
        commit: &Commit,
    ) -> (Inside, Result<bool, SandboxError>) {
        let (link, done) = loader.furnish_probe(self.link, key, commit).await;
        (Inside { link, ..self }, done)
    }

    /// The output of a command run like an agent's.
    pub(super) async fn bash(&self, command: &str) -> Result<String, Untested> {
        Ok(self.run(Op::Bash { command: command.to_owned(), whole: false }).await?.text)
    }

    /// Runs the probing program.
    pub(super) async fn probe(&self, words: &[&str]) -> Result<Outcome, Untested> {
        self.run(Self::op(words, false)).await
    }

    async fn run(&self, op: Op) -> Result<Outcome, Untested> {
        let id = self.id();
        let outcome = self.link.run(id, op, Limits { wall_ms: WALL_MS, output_bytes: 0 }).await?;
        self.link.ack(id).await?;
        Ok(outcome)
    }

    /// The findings of all tries in the plan.
    pub(super) async fn carry_out(&self, plan: &Plan) -> Result<Vec<Finding>, Untested> {
        let text = serde_json::to_string(plan).map_err(|error| Untested(error.to_string()))?;
        findings(&self.name, &self.probe(&["try", &text]).await?)
    }

    /// Kills every process but the runner.
    pub(super) async fn quiesce(&self) -> Result<Status, Untested> {
        Ok(self.run(Op::Quiesce).await?.status)
    }

    /// Listens until `until` resolves, and gives the peers that sent the token; `None` when it could not hear itself, before or after that.
    pub(super) async fn listening<T>(
        &self,
        (port, token): (u16, &str),
        until: impl AsyncFnOnce() -> Result<T, Untested>,
    ) -> Result<(T, Option<Vec<String>>), Untested> {
        let id = self.id();
        let limits = Limits { wall_ms: WALL_MS, output_bytes: 0 };
        let run = self.link.run(id, Self::op(&["listen", &port.to_string(), token], false), limits);
        let work = async {
            let done = async {
                let stands = self.hears_itself(port, token).await?;
                let done = until().await?;
                Ok::<_, Untested>((stands && self.hears_itself(port, token).await?, done))
            };
            let done = done.await;
            // In any case, because only this ends the listener.
            self.link.cancel(id).await;
            done
        };
        let (outcome, work) = tokio::join!(run, work);
        let ((stands, done), outcome) = (work?, outcome?);
        self.link.ack(id).await?;
        let heard = outcome.text.lines().filter_map(|line| line.strip_prefix(HEARD));
        let heard: Vec<String> = heard.map(str::to_owned).collect();
        let by_itself = heard.iter().any(|from| from == "127.0.0.1");
        Ok((done, (stands && by_itself).then_some(heard)))
    }

    /// Waits until the listener is reachable from the sandbox itself.
    async fn hears_itself(&self, port: u16, token: &str) -> Result<bool, Untested> {
        let own = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let reach = vec![Reach { check: 0, udp: false, to: own }];
        let control = Plan { token: token.to_owned(), reach, ..Plan::default() };
        for _ in 0..50 {
            if self.carry_out(&control).await?.iter().all(|finding| finding.seen == OPEN) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Holds a connection during `meanwhile`; returns how it ended.
    pub(super) async fn holding(
        &self,
        host: &str,
        port: u16,
        meanwhile: impl AsyncFnOnce() -> Result<(), Untested>,
    ) -> Result<String, Untested> {
        let (mut sink, source) = tokio::io::duplex(4096);
        let limits = Limits { wall_ms: 20_000, output_bytes: 0 };
        let op = Self::op(&["hold", host, &port.to_string()], true);
        let id = self.id();
        let run = async move {
            let outcome = self.link.stream(id, op, limits, None, Some(&mut sink), 4096).await;
            drop(sink);
            outcome
        };
        let work = async {
            let mut lines = BufReader::new(source.take(4096)).lines();
            let first = lines.next_line().await.unwrap_or_default();
            meanwhile().await?;
            if first.as_deref() != Some("connected") {
                return Ok("was never there".to_owned());
            }
            let second = lines.next_line().await.unwrap_or_default();
            Ok::<_, Untested>(second.unwrap_or_else(|| "still open".to_owned()))
        };
        let (outcome, work) = tokio::join!(run, work);
        outcome?;
        self.link.ack(id).await?;
        work
    }

    /// Takes every inotify instance that its user may have, and holds them during `meanwhile`.
    pub(super) async fn crowding<T>(
        &self,
        meanwhile: impl AsyncFnOnce() -> Result<T, Untested>,
    ) -> Result<(String, T), Untested> {
        let (mut sink, source) = tokio::io::duplex(4096);
        let limits = Limits { wall_ms: WALL_MS, output_bytes: 0 };
        let id = self.id();
        let run = async move {
            let outcome = self.link.stream(id, Self::op(&["take-watchers"], true), limits, None, Some(&mut sink), 4096);
            let outcome = outcome.await;
            drop(sink);
            outcome
        };
        let work = async {
            let mut lines = BufReader::new(source.take(4096)).lines();
            let taken = lines.next_line().await.unwrap_or_default().unwrap_or_else(|| "nothing was told".to_owned());
            let done = meanwhile().await;
            // In any case, because only this releases them.
            self.link.cancel(id).await;
            Ok::<_, Untested>((taken, done?))
        };
        let (outcome, work) = tokio::join!(run, work);
        outcome?;
        self.link.ack(id).await?;
        work
    }

    /// Makes a child write a frame in the runner's name, for the next request.
    pub(super) async fn forged(&self) -> Result<String, Untested> {
        let id = self.id();
        let awaited = self.next.load(Ordering::Relaxed);
        let limits = Limits { wall_ms: WALL_MS, output_bytes: 4096 };
        let forging = self.link.run(id, Self::op(&["forge", &id.to_string()], false), limits).await;
        let next = self.link.run(awaited, Self::op(&["forge", &(awaited + 1).to_string()], false), limits).await;
        self.next.fetch_add(1, Ordering::Relaxed);
        for (id, outcome) in [(id, &forging), (awaited, &next)] {
            match outcome {
                Ok(outcome) if outcome.text == "forged" => return Ok("was believed".to_owned()),
                Ok(_) => self.link.ack(id).await?,
                Err(error) => return Ok(error.to_string()),
            }
        }
        Ok("no effect".to_owned())
    }
}

/// The findings in the output of a probe.
pub(super) fn findings(name: &str, outcome: &Outcome) -> Result<Vec<Finding>, Untested> {
    if outcome.status != Status::Ok || outcome.dropped_bytes > 0 {
        let text = last(&outcome.text);
        return Err(Untested(format!("the probe in {name} ended with {:?}: {text}", outcome.status)));
    }
    read(name, &outcome.text)
}

/// Parses one finding per line.
pub(super) fn read(name: &str, text: &str) -> Result<Vec<Finding>, Untested> {
    let told = |_| Untested(format!("the probe in {name} said what is no finding: {}", last(text)));
    text.lines().map(|line| serde_json::from_str(line).map_err(told)).collect()
}

fn last(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    crate::text::one_line(crate::text::cut(lines.last().copied().unwrap_or_default(), 300).0)
}
