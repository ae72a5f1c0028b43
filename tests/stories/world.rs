//! A forge with people, a repository with a failing test, a bot beside it. The bot lives in a runtime of its own, so that it can be
//! ended as `kill -9` ends a process: nothing of it runs on.

use crate::cuts::Cuts;
use crate::doors::Doors;
pub use crate::ground::{REPO, TEST, git, postgres};
use crate::ground::{add_labels, configure, keeps_in_step, push_project};
use crate::local_broker::LocalBroker;
pub use crate::scripts::FIX;
use crate::switch::Switch;
use caisson::barrier::{BarrierState, Inspector};
use caisson::bot::{Bot, Parts};
use caisson::cli::store::{host_id, location};
use caisson::config::{Process, Secret};
use caisson::forge::{Change, ForgeReads, Gitea, RepoRef};
use caisson::git::{Auth, Repos};
use caisson::sandbox::{SandboxError, Sandboxes, Settings};
use caisson::store::Store;
use caisson::supervise::Works;
use devforge::{Access, Devforge, Options, Person};
use domain::{Event, OutcomeStatus, Task, TaskId};
use metrics_exporter_prometheus::PrometheusBuilder;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How often a waiting test looks; each look takes processor time from the bot that it waits for.
const LOOK: Duration = Duration::from_millis(40);
/// How long what should come is waited for. Only what fails takes so long, and machines are slow.
pub const PATIENCE: Duration = Duration::from_secs(300);

pub struct World {
    pub forge: Devforge,
    pub broker: Arc<LocalBroker>,
    /// With a network: the egress control that records what the router would have been told.
    pub doors: Option<Arc<Doors>>,
    pub dir: tempfile::TempDir,
    pub config: Arc<Process>,
    /// Plain processes have no barrier: it counts as proven unless a story says otherwise.
    pub barrier: watch::Sender<BarrierState>,
    /// What the inspection of each task's sandbox finds: nothing, unless a story says otherwise.
    pub inspector: Arc<Inspected>,
    /// Where effects are broken off: nowhere, unless a story says otherwise.
    pub cuts: Cuts,
    /// Whether the model is unreachable.
    pub model: Switch,
    bot: Option<(tokio::runtime::Runtime, Bot)>,
    looking: Option<Store>,
    /// What a test reads the forge with: one client, since making one takes longer than what is read with it.
    reads: OnceLock<Gitea>,
}

/// Drops every future of the bot where it stands, and waits until its sockets are closed.
pub fn end(runtime: tokio::runtime::Runtime) {
    let ended = std::thread::spawn(move || runtime.shutdown_timeout(Duration::from_secs(20)));
    ended.join().expect("ended");
}

/// Waits until the clock's next second: the forge's times are whole seconds, and an edit within the same one does not show.
pub async fn next_second() {
    let second = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs();
    let now = second();
    while second() == now {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The image of the local broker; no disk floor, so that the machine's free space does not matter.
const LOCAL: &str = "image = \"local\"\ndisk_floor_mib = 0";
/// One model, which follows the recording.
pub fn single(style: &str) -> String {
    format!("[model]\nkind = \"scripted\"\nscript = \"script.toml\"\nstyle = \"{style}\"\n")
}

/// The first action runs until the test lets it end.
pub fn held() -> String {
    let wait = r#"{ name = "bash", arguments = { command = "while [ ! -e go ]; do sleep 0.02; done" } },"#;
    FIX.replacen(r#"{ name = "list_files", arguments = { path = "." } },"#, wait, 1)
}

impl World {
    /// A world whose bot follows this recording.
    pub async fn new(script: &str) -> World {
        World::with(script, "").await
    }

    /// With more lines at the top of the configuration.
    pub async fn with(script: &str, more: &str) -> World {
        World::build(script, more, LOCAL, None, 1, &single("tools")).await
    }

    /// With a bot that polls once at its start and not again: only a webhook delivery wakes it.
    pub async fn only_hooked(script: &str) -> World {
        let world = World::build(script, "", LOCAL, None, 3600, &single("tools")).await;
        let end = Instant::now() + PATIENCE;
        while world.store().watermark("shop").await.expect("read").is_none() {
            assert!(Instant::now() < end, "the first reading never ended");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        world
    }

    /// With a network, behind an egress control that writes down what it is told.
    pub async fn networked(script: &str, more: &str) -> World {
        World::build(script, more, LOCAL, Some(Arc::default()), 1, &single("tools")).await
    }

    /// With these lines in place of the sandbox's image.
    pub async fn in_image(script: &str, sandbox: &str) -> World {
        World::build(script, "", sandbox, None, 1, &single("tools")).await
    }

    /// With a model that is shown files and answers with whole files.
    pub async fn in_files(script: &str) -> World {
        World::build(script, "", LOCAL, None, 1, &single("files")).await
    }

    /// With these tables in place of the one model's.
    pub async fn of_models(script: &str, models: &str) -> World {
        World::build(script, "", LOCAL, None, 1, models).await
    }

    async fn build(
        script: &str,
        more: &str,
        sandbox: &str,
        doors: Option<Arc<Doors>>,
        poll_s: u32,
        models: &str,
    ) -> World {
        if std::env::var_os("CAISSON_LOG").is_some() {
            caisson::telemetry::start().expect("logging");
        }
        let dir = tempfile::tempdir().expect("a directory");
        let forge = Devforge::start(Options::quiet()).await.expect("a forge");
        for (login, access) in [
            ("caisson", Some(Access::Admin)),
            ("alice", Some(Access::Write)),
            ("bob", Some(Access::Read)),
            ("eve", None),
        ] {
            forge.add_person(login, "secret").expect("a person");
            if login == "caisson" {
                forge.add_organisation("lab", "caisson").expect("an organisation");
                forge.add_repository(REPO, false).await.expect("a repository");
            }
            if let Some(access) = access {
                forge.add_collaborator(REPO, login, access).expect("a right");
            }
        }
        std::fs::write(dir.path().join("script.toml"), script).expect("written");
        let config = configure(&forge, dir.path(), more, sandbox, doors.is_some(), poll_s, models).await;
        push_project(&forge, dir.path());
        add_labels(&forge).await;
        forge.add_hook(REPO, &config.hook_url("shop"), "sekret").expect("a hook");
        let mut world = World::asleep(forge, dir, config);
        world.doors = doors;
        world.start().await;
        world
    }

    /// A world whose bot has not started.
    pub fn asleep(forge: Devforge, dir: tempfile::TempDir, config: Process) -> World {
        World {
            forge,
            broker: LocalBroker::new(),
            doors: None,
            dir,
            config: Arc::new(config),
            barrier: watch::channel(BarrierState::Proven).0,
            inspector: Arc::default(),
            cuts: Cuts::default(),
            model: Switch::default(),
            bot: None,
            looking: None,
            reads: OnceLock::new(),
        }
    }

    pub async fn start(&mut self) {
        self.bot = Some(self.begin(self.config.clone(), self.broker.clone(), &self.cuts).await);
        self.looking = Store::look(location(&self.config).expect("a place")).await.expect("the store");
    }

    /// A bot of this configuration, in a runtime of its own.
    pub async fn begin(
        &self,
        config: Arc<Process>,
        broker: Arc<LocalBroker>,
        cuts: &Cuts,
    ) -> (tokio::runtime::Runtime, Bot) {
        // The life before this one was cut off; its listeners end when its threads notice.
        let listen = config.listen.clone();
        for at in [listen.webhooks, listen.ops].into_iter().filter(|at| at.port() != 0) {
            let end = Instant::now() + PATIENCE;
            while let Err(error) = std::net::TcpListener::bind(at) {
                assert!(Instant::now() < end, "{at} is not let go: {error}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("runtime");
        let (doors, barrier, inspector) = (self.doors.clone(), self.barrier.subscribe(), self.inspector.clone());
        let (cut, switch) = (Some(cuts.cut()), self.model.clone());
        let started = runtime.spawn(async move {
            let parts = parts(config, broker, doors, barrier, inspector).await;
            Bot::start(Parts { cut, models: parts.models.clone().behind(|_, model| switch.before(model)), ..parts })
                .await
        });
        (runtime, started.await.expect("joined").expect("a bot"))
    }

    /// Ends the bot and starts it with another configuration, made from the text of the one it had.
    pub async fn reconfigure(&mut self, change: impl FnOnce(String) -> String) {
        self.kill();
        let file = self.dir.path().join("caisson.toml");
        let text = std::fs::read_to_string(&file).expect("read");
        std::fs::write(&file, change(text)).expect("written");
        self.config = Arc::new(Process::load(&file).expect("a configuration"));
        self.start().await;
    }

    /// Where health and metrics are.
    pub fn ops(&self) -> String {
        format!("http://{}", self.bot.as_ref().expect("started").1.ops)
    }

    /// Makes this much time pass for the bot's periodic work.
    pub fn clock_moves_on(&self, ms: i64) {
        self.bot.as_ref().expect("started").1.machine.clock().move_on(ms);
    }

    /// Has the bot read once, as in its rounds.
    pub async fn read_now(&self) -> Result<(), String> {
        let (runtime, bot) = self.bot.as_ref().expect("started");
        runtime.spawn(bot.read_now()).await.expect("joined").map_err(|error| error.to_string())
    }

    pub fn is_running(&self) -> bool {
        self.bot.is_some()
    }

    /// Ends the bot as `kill -9` would: at once, wherever it is.
    pub fn kill(&mut self) {
        if let Some((runtime, bot)) = self.bot.take() {
            drop(bot);
            end(runtime);
        }
    }

    /// Ends the bot as SIGTERM does.
    pub async fn stop(&mut self) {
        self.stop_within(Duration::from_secs(20)).await;
    }

    /// As [`World::stop`], but what costs nothing is waited for no longer than this.
    pub async fn stop_within(&mut self, all: Duration) {
        if let Some((runtime, bot)) = self.bot.take() {
            let patience = caisson::bot::Patience { all, paid: PATIENCE };
            runtime.spawn(bot.stop(patience)).await.expect("stopped");
            end(runtime);
        }
    }

    /// Another commit on the default branch, pushed by the admin.
    pub fn push(&self, files: &[(&str, &str)]) {
        let work = self.dir.path().join("project");
        for (name, text) in files {
            let path = work.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        git(&work, &["add", "."]);
        git(&work, &["commit", "-q", "-m", "More of the shop"]);
        let header = format!("http.extraHeader=Authorization: token {}", self.forge.admin_token());
        git(&work, &["-c", &header, "push", "-q", &format!("{}/{REPO}.git", self.forge.url()), "main"]);
    }

    /// How each action ended.
    pub async fn ends(&self) -> Vec<OutcomeStatus> {
        let ended = |event| if let Event::ActionFinished { outcome, .. } = event { Some(outcome.status) } else { None };
        self.log().await.into_iter().filter_map(ended).collect()
    }

    /// Waits until no effect of any task is open.
    pub async fn settled(&self) {
        let done = async {
            while !self.store().tasks_with_effects().await.expect("read").is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, done).await.expect("effects are still open");
    }

    pub fn alice(&self) -> Person {
        self.forge.as_person("alice")
    }

    pub fn bob(&self) -> Person {
        self.forge.as_person("bob")
    }

    pub fn store(&self) -> &Store {
        self.looking.as_ref().expect("started")
    }

    /// A direct connection to the database, for statements that no version of the bot would make.
    pub async fn by_hand(&self) -> sqlx::AnyPool {
        sqlx::any::install_default_drivers();
        let file = || format!("sqlite://{}", self.config.state_dir.join("caisson.db").display());
        let url = self.config.store.url.as_ref().map_or_else(file, ToString::to_string);
        sqlx::AnyPool::connect(&url).await.expect("the database")
    }

    pub async fn task(&self) -> Task {
        self.store().task(TaskId(1)).await.expect("read")
    }

    pub async fn log(&self) -> Vec<Event> {
        self.store().log(TaskId(1)).await.expect("read").into_iter().map(|(_, event)| event).collect()
    }

    /// Waits until something holds of task 1; says what stood there instead.
    pub async fn until(&self, what: &str, holds: impl Fn(&Task) -> bool) -> Task {
        let end = Instant::now() + PATIENCE;
        loop {
            let task = self.task().await;
            if holds(&task) {
                return task;
            }
            if Instant::now() > end {
                let log = self.log().await;
                let tail: Vec<String> = log.iter().rev().take(6).map(|e| format!("{e:?}")).collect();
                panic!("waited for {what}; the task is {:?}\n{}", task.state, tail.join("\n"));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    pub async fn until_state(&self, state: &str) -> Task {
        self.until(state, |task| task.state.name() == state).await
    }

    /// The bot's own client of the forge, for a test's look.
    pub fn look(&self) -> Gitea {
        let made = || {
            let token = Secret::new(self.forge.add_token("alice").expect("a token"));
            Gitea::new(&self.forge.url().parse().expect("an address"), token, "test").expect("a client")
        };
        self.reads.get_or_init(made).clone()
    }

    /// Texts that the bot has posted on an issue or pull request, reviews included, oldest first.
    pub async fn said(&self, number: u64) -> Vec<String> {
        self.said_in(REPO, number).await
    }

    pub async fn said_in(&self, repo: &str, number: u64) -> Vec<String> {
        let forge = self.look();
        let (owner, name) = repo.split_once('/').expect("owner and name");
        let at = caisson::forge::RepoRef::new(owner, name);
        let mut said: Vec<(i64, String)> = Vec::new();
        for comment in forge.comments(&at, number).await.expect("comments") {
            if comment.author.login == "caisson" {
                said.push((comment.id, comment.body));
            }
        }
        if let Ok(reviews) = forge.reviews(&at, number).await {
            let ours = reviews.into_iter().filter(|r| r.author.login == "caisson");
            said.extend(ours.map(|r| (r.number, r.body)));
        }
        said.sort_by_key(|(number, _)| *number);
        said.into_iter().map(|(_, body)| body).collect()
    }

    /// Assignments and labels of an issue.
    pub async fn look_at_changes(&self, number: u64) -> Vec<Change> {
        self.look().changes(&RepoRef::new("lab", "shop"), number).await.expect("changes")
    }

    /// Waits until the bot has said something with these words on this number.
    pub async fn until_said(&self, number: u64, words: &str) -> String {
        self.until_said_in(REPO, number, words).await
    }

    pub async fn until_said_in(&self, repo: &str, number: u64, words: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let said = self.said_in(repo, number).await;
            if let Some(found) = said.iter().find(|text| text.contains(words)) {
                return found.clone();
            }
            assert!(Instant::now() < end, "waited for {words:?}; said so far: {said:#?}");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Asks for the status on this number and waits for the answer: the comments of a number are handled in order, so
    /// everything posted there earlier has been handled by then.
    pub async fn heard(&self, number: u64) {
        let is_answer = |text: &String| {
            text.starts_with("Task ") && text.contains(" is ") || text.contains("no task belongs to this issue")
        };
        let before = self.said(number).await.iter().filter(|text| is_answer(text)).count();
        self.alice().comment(REPO, number, "/status").expect("said");
        let end = Instant::now() + PATIENCE;
        while self.said(number).await.iter().filter(|text| is_answer(text)).count() == before {
            assert!(Instant::now() < end, "nobody answered /status: {:#?}", self.said(number).await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Approves the waiting checkpoint as the web page would: with the commit that is shown.
    pub async fn approve(&self) {
        let task = self.task().await;
        let commit = task.checkpoint().and_then(|c| c.commit.clone()).expect("a commit to approve");
        self.alice().approve(REPO, task.pull.expect("a pull request"), commit.as_str()).expect("approved");
    }

    /// Nothing is left behind: no container of any kind.
    pub async fn nothing_left(&self) {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = caisson::sandbox::broker::Broker::list(self.broker.as_ref()).await.expect("listed");
            // A container is off the list before its files are gone.
            let created = self.broker.created.lock().expect("created").clone();
            let kept: Vec<_> = created.into_iter().filter(|name| self.broker.workspace(name).exists()).collect();
            if left.is_empty() && kept.is_empty() {
                return;
            }
            assert!(Instant::now() < end, "left behind: {left:?}, files of {kept:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Plain processes have no barrier to look at.
#[derive(Default)]
pub struct Inspected(pub Mutex<Vec<String>>);

#[async_trait::async_trait]
impl Inspector for Inspected {
    async fn mismatches(&self, _: i64) -> Result<Vec<String>, SandboxError> {
        Ok(self.0.lock().expect("whole").clone())
    }
}

pub async fn parts(
    config: Arc<Process>,
    broker: Arc<LocalBroker>,
    doors: Option<Arc<Doors>>,
    barrier: watch::Receiver<BarrierState>,
    inspector: Arc<Inspected>,
) -> Parts {
    let store = Store::open(location(&config).expect("a place")).await.expect("the store");
    let epoch = store.begin_epoch(caisson::clock::now()).await.expect("an epoch");
    let token = Secret::read(config.forge.token_file.as_deref().expect("named")).expect("a token");
    let forge = Gitea::new(config.forge.url.as_ref().expect("named"), token.clone(), "caisson-test").expect("a client");
    let me = forge.whoami().await.expect("an account");
    let (sync, sync_auth) = keeps_in_step(&config).await.unzip();
    let repos = Repos::new(config.state_dir.join("repos"));
    let settings = Settings { subnets: config.router.subnets, ..Settings::new(&config.state_dir, "local") };
    let control = doors.map(|doors| doors as Arc<dyn caisson::sandbox::EgressControl>);
    let sandboxes = Sandboxes::new(broker.clone(), control, repos.clone(), settings, epoch as u64).expect("sandboxes");
    let secrets =
        |files: &[std::path::PathBuf]| files.iter().map(|file| Secret::read(file).expect("a secret")).collect();
    let hook_secrets = config.in_file().map(|entry| (entry.key.clone(), secrets(&entry.secret_files))).collect();
    Parts {
        host: host_id(&config.state_dir).expect("an id"),
        models: caisson::llm::Models::open(&config.models).expect("a recording"),
        hook_secrets,
        mark_key: Secret::read_or_make(&config.mark_key_file()).expect("a key"),
        ops_token: Secret::read_or_make(&config.state_dir.join("ops.token")).expect("a token"),
        auth: Auth::basic(&me.login, token.expose()),
        metrics: PrometheusBuilder::new().build_recorder().handle(),
        forge: Arc::new(forge),
        sandboxes: Arc::new(sandboxes),
        inspector,
        sync,
        sync_auth,
        config,
        store,
        epoch,
        me,
        broker,
        repos,
        barrier,
        works: Works::default(),
        cut: None,
    }
}
