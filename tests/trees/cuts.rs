//! Interrupts a task's steps at every call to the broker and the router, before and after the call was carried out, and repeats each step
//! as the outbox does: the commits are the same, no action ran twice, and nothing is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use caisson::sandbox::broker::{Broker, Result, Stream};
use caisson::sandbox::{Captured, EgressControl, SandboxError, Sandboxes, Settings};
use domain::{Action, Commit, VerdictKind};
use protocol::broker::{ContainerInfo, ContainerSpec, EngineInfo, ImageInfo, Problem, RouterInfo, RouterSpec};
use protocol::host::Network;
use protocol::router::Rule;
use protocol::runner::Limits;

use crate::doors::Doors;
use crate::local_broker::LocalBroker;
use crate::world::World;

/// The most tries of one step, of which one is interrupted.
const TRIES: usize = 6;

/// The call to interrupt, counted over broker and router.
struct Cut {
    at: usize,
    /// Whether the call is carried out and its answer is lost.
    after: bool,
    calls: AtomicUsize,
}

impl Cut {
    async fn call<T, E>(
        &self,
        work: impl Future<Output = std::result::Result<T, E>>,
        lost: E,
    ) -> std::result::Result<T, E> {
        let now = self.calls.fetch_add(1, Ordering::SeqCst) == self.at;
        if now && !self.after {
            return Err(lost);
        }
        let done = work.await;
        if now { Err(lost) } else { done }
    }

    async fn broker<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.call(work, Problem::unavailable("cut")).await
    }
}

struct CutBroker(Arc<LocalBroker>, Arc<Cut>);

#[async_trait]
impl Broker for CutBroker {
    async fn hello(&self) -> Result<EngineInfo> {
        self.1.broker(self.0.hello()).await
    }
    async fn create(&self, spec: &ContainerSpec) -> Result<()> {
        self.1.broker(self.0.create(spec)).await
    }
    async fn start(&self, name: &str) -> Result<()> {
        self.1.broker(self.0.start(name)).await
    }
    async fn attach(&self, name: &str) -> Result<Box<dyn Stream>> {
        self.1.broker(self.0.attach(name)).await
    }
    async fn pause(&self, name: &str) -> Result<()> {
        self.1.broker(self.0.pause(name)).await
    }
    async fn unpause(&self, name: &str) -> Result<()> {
        self.1.broker(self.0.unpause(name)).await
    }
    async fn stop(&self, name: &str) -> Result<()> {
        self.1.broker(self.0.stop(name)).await
    }
    async fn remove(&self, name: &str) -> Result<()> {
        self.1.broker(self.0.remove(name)).await
    }
    async fn inspect(&self, name: &str) -> Result<Option<ContainerInfo>> {
        self.1.broker(self.0.inspect(name)).await
    }
    async fn list(&self) -> Result<Vec<ContainerInfo>> {
        self.1.broker(self.0.list()).await
    }
    async fn image(&self, reference: &str) -> Result<Option<ImageInfo>> {
        self.1.broker(self.0.image(reference)).await
    }
    async fn router_ensure(&self, spec: &RouterSpec) -> Result<RouterInfo> {
        self.0.router_ensure(spec).await
    }
    async fn router_attach(&self) -> Result<Box<dyn Stream>> {
        self.0.router_attach().await
    }
    async fn router_restart(&self) -> Result<()> {
        self.0.router_restart().await
    }
    async fn router_stop(&self) -> Result<()> {
        self.0.router_stop().await
    }
    async fn router_probe(&self, image: &str, plan: &str) -> Result<String> {
        self.0.router_probe(image, plan).await
    }
    async fn host(&self, image: &str) -> Result<Network> {
        self.0.host(image).await
    }
    async fn host_listen(&self, image: &str) -> Result<Box<dyn Stream>> {
        self.0.host_listen(image).await
    }
    async fn remove_mirror(&self, name: &str) -> Result<bool> {
        self.1.broker(self.0.remove_mirror(name)).await
    }
    async fn reap(&self, keep: &[String], mirrors: &[String]) -> Result<Vec<String>> {
        self.1.broker(self.0.reap(keep, mirrors)).await
    }
}

struct CutDoors(Arc<Doors>, Arc<Cut>);

#[async_trait]
impl EgressControl for CutDoors {
    async fn open(&self, subnet: u32, rules: &[Rule]) -> std::result::Result<(), String> {
        self.1.call(self.0.open(subnet, rules), "cut".to_owned()).await
    }
    async fn close(&self, subnet: u32) -> std::result::Result<(), String> {
        self.1.call(self.0.close(subnet), "cut".to_owned()).await
    }
    async fn replaced(&self) -> (String, Vec<u32>) {
        self.0.replaced().await
    }
}

/// A bot that may be restarted after each failure.
struct Bot<'a> {
    world: &'a World,
    cut: Arc<Cut>,
    /// Whether a failure restarts it.
    dies: bool,
    epoch: u64,
    sandboxes: Arc<Sandboxes>,
}

impl<'a> Bot<'a> {
    fn new(world: &'a World, cut: Arc<Cut>, dies: bool) -> Self {
        let sandboxes = life(world, &cut, 2);
        Self { world, cut, dies, epoch: 2, sandboxes }
    }

    async fn until_done<T>(
        &mut self,
        step: &str,
        work: impl AsyncFn(Arc<Sandboxes>, u32) -> caisson::sandbox::Result<T>,
    ) -> T {
        for tried in 1..=TRIES {
            match work(self.sandboxes.clone(), tried as u32).await {
                Ok(done) => return done,
                Err(SandboxError::Unavailable(_)) if self.dies => {
                    self.epoch += 1;
                    self.sandboxes = life(self.world, &self.cut, self.epoch);
                }
                Err(SandboxError::Unavailable(_)) => {}
                Err(other) => panic!("{step}: {other:?}"),
            }
        }
        panic!("{step} is stuck");
    }

    async fn act(&mut self, id: u64, command: &str) {
        let action = Action::Bash { command: command.to_owned() };
        let limits = Limits { wall_ms: 20_000, output_bytes: 10_000 };
        let step = format!("action {id}");
        let acted = self.until_done(&step, async |it, _| it.actions.act(1, id, &action, limits).await).await;
        assert!(acted.lost.is_none(), "{step}: {acted:?}");
    }

    async fn capture(&mut self, n: u32, parent: &Commit) -> Commit {
        let spec = self.world.capture_spec(1, n, parent);
        match self.until_done(&format!("capture {n}"), async |it, _| it.captures.capture(&spec).await).await {
            Captured::Commit { commit, .. } => commit,
            other => panic!("capture {n}: {other:?}"),
        }
    }

    async fn open(&mut self) {
        let woken = self.until_done("open", async |it, _| it.of_tasks.open(1).await).await;
        if woken {
            self.until_done("awake", async |it, _| it.of_tasks.confirm_awake(1)).await;
        }
    }

    /// From no sandbox to both verified checkpoints.
    async fn goes_its_way(&mut self) -> [Commit; 2] {
        let (spec, base) = (self.world.spec(1), self.world.base.clone());
        self.until_done("prepare", async |it, _| it.of_tasks.prepare(&spec).await.map(drop)).await;
        self.open().await;
        self.act(1, "sed -i 's/a - b/a + b/' sum.py; echo 1 >> acts.txt").await;
        let first = self.capture(1, &base).await;
        self.open().await;
        self.act(2, "echo 2 >> acts.txt").await;
        self.until_done("rest", async |it, _| it.of_tasks.rest(1).await).await;
        self.open().await;
        self.act(3, "echo 3 >> acts.txt").await;
        self.until_done("stop", async |it, _| it.of_tasks.stop(1).await).await;
        self.open().await;
        self.act(4, "echo 4 >> acts.txt").await;
        let second = self.capture(2, &first).await;
        let verdict = self.until_done("verify", async |it, tries| {
            it.verification.verify(&caisson::sandbox::VerifySpec { tries, ..checks(self.world, &second) }).await
        });
        assert_eq!(verdict.await.kind, VerdictKind::Passed);
        self.until_done("remove", async |it, _| it.of_tasks.remove(1).await).await;
        self.sandboxes.leave().await;
        [first, second]
    }
}

fn checks(world: &World, commit: &Commit) -> caisson::sandbox::VerifySpec {
    world.checks(commit, Some("python3 -m unittest"))
}

fn life(world: &World, cut: &Arc<Cut>, epoch: u64) -> Arc<Sandboxes> {
    let broker = Arc::new(CutBroker(world.broker.clone(), cut.clone()));
    let control: Arc<dyn EgressControl> = Arc::new(CutDoors(world.doors.clone(), cut.clone()));
    let settings = Settings::new(world.dir.path().join("state"), "local");
    Arc::new(Sandboxes::new(broker, Some(control), world.repos.clone(), settings, epoch).expect("sandboxes"))
}

async fn cut_at(at: usize, after: bool, dies: bool) -> ([String; 2], usize) {
    let world = World::new().await;
    let cut = Arc::new(Cut { at, after, calls: AtomicUsize::new(0) });
    let mut bot = Bot::new(&world, cut.clone(), dies);
    let commits = bot.goes_its_way().await;
    let acts = world.repos.show(crate::world::KEY, &commits[1], "acts.txt", 1000).await.expect("read");
    assert_eq!(acts.as_deref(), Some(&b"1\n2\n3\n4\n"[..]), "each once, in their order");
    let told = world.doors.told.lock().unwrap().last().cloned();
    assert_eq!(told.as_deref(), Some("close 0"));
    let left: Vec<String> = world.broker.list().await.expect("listed").into_iter().map(|it| it.name).collect();
    // Removals in the background are interrupted like other calls; the next start removes what they leave.
    let left: Vec<&String> = left.iter().filter(|name| name.starts_with("task-")).collect();
    assert!(left.is_empty(), "{left:?}");
    (commits.map(|it| it.to_string()), cut.calls.load(Ordering::SeqCst))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_ends_with_the_same_commits_wherever_one_call_is_cut() {
    let (commits, calls) = cut_at(usize::MAX, false, false).await;
    assert!(calls > 30, "{calls}");
    for at in 0..calls {
        for after in [false, true] {
            // Alternates, so that each variant is tested at every second call.
            let dies = (at % 2 == 0) == after;
            println!("call {at}, carried out: {after}, a new life after it: {dies}");
            let (again, reached) = cut_at(at, after, dies).await;
            assert!(again == commits && reached > at, "{reached} calls");
        }
    }
}
