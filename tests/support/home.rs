//! An installation of a test's own: the program itself beside the built-in forge, with a container engine and the router's image.

use super::skipped::skipped;
use caisson::secret::Secret;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

pub const PATIENCE: Duration = Duration::from_secs(300);
pub const ROUTER: &str = "caisson-router:local";

/// An installation for one test, removed when the test ends, also when it fails.
pub struct Home {
    pub dir: tempfile::TempDir,
    pub installation: String,
    pub ports: [u16; 2],
    /// Part of the address pool, different for each test of this program.
    pool: u8,
    /// Settings added to those of every test here.
    more: Vec<(&'static str, String)>,
    /// The path of its configuration; for a second host, the first one's.
    config: PathBuf,
    pub forge: Arc<devforge::Devforge>,
}

pub fn docker(words: &[&str]) -> Option<String> {
    let out = Command::new("docker").args(words).stderr(Stdio::null()).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < end, "not within {} s: {what}", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A running `caisson serve`, which ends with the test, also when it fails.
pub struct Serve(pub Child);

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl std::ops::Deref for Serve {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl std::ops::DerefMut for Serve {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

pub fn term(child: &mut Child) {
    let _ = Command::new("kill").arg(child.id().to_string()).status();
    let _ = child.wait();
}

fn free() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn pool() -> u8 {
    static POOL: AtomicU8 = AtomicU8::new(0);
    POOL.fetch_add(1, Ordering::Relaxed).wrapping_add(std::process::id() as u8)
}

impl Home {
    /// With a configuration that `caisson setup` wrote; none where there is no engine or no router.
    pub async fn new(name: &str) -> Option<Home> {
        let runner = std::env::var_os("CAISSON_RUNNER").is_some_and(|path| Path::new(&path).is_file());
        if !runner || docker(&["image", "inspect", "-f", "{{.Id}}", ROUTER]).is_none() {
            let why = format!("no container engine with {ROUTER}, or no CAISSON_RUNNER (`make test` has both)");
            skipped("docker", &why);
            return None;
        }
        let forge = devforge::Devforge::start(devforge::Options::default()).await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        let token = dir.path().join("admin-token");
        Secret::new(forge.admin_token()).write(&token).unwrap();
        let url = forge.url().to_owned();
        let (installation, pool) = (format!("t{}-{name}", std::process::id()), pool());
        let home = Home {
            config: dir.path().join("caisson.toml"),
            dir,
            installation,
            ports: [free(), free()],
            pool,
            more: Vec::new(),
            forge: Arc::new(forge),
        };
        let setup = home.run(&["setup", "--forge-url", &url, "--admin-token-file", &token.display().to_string()]);
        assert!(setup.status.success(), "{setup:?}");
        Some(home)
    }

    /// Another host of the same configuration, with a state directory, an installation and listeners of its own. The forge calls the first.
    pub fn beside(&self, name: &str) -> Home {
        let mut home = Home {
            dir: tempfile::tempdir().unwrap(),
            installation: format!("t{}-{name}", std::process::id()),
            ports: [free(), free()],
            pool: pool(),
            more: self.more.clone(),
            config: self.config.clone(),
            forge: self.forge.clone(),
        };
        let state = home.dir.path().join("state");
        std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o700).create(&state).unwrap();
        std::fs::copy(self.dir.path().join("state/mark.key"), state.join("mark.key")).unwrap();
        home.set("CAISSON_STATE_DIR", state.display().to_string());
        home.set("CAISSON_FORGE_BOT_URL", format!("http://127.0.0.1:{}", self.ports[0]));
        home
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("state/broker.sock")
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_caisson"));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/demo/recording.toml");
        command.arg("--config").arg(&self.config).args(args);
        command.env("HOME", self.dir.path()).env("NO_COLOR", "1").env("CAISSON_INSTALLATION", &self.installation);
        command.env("CAISSON_MODEL_KIND", "scripted").env("CAISSON_MODEL_SCRIPT", script);
        command.env("CAISSON_ROUTER_IMAGE", ROUTER).env("CAISSON_ROUTER_BERTHS", "1");
        command.env("CAISSON_SANDBOX_IMAGE", "caisson-sandbox:local");
        // Other installations on this engine use other pools.
        command.env("CAISSON_ROUTER_POOL", format!("10.218.{}.0/24", self.pool));
        command.env("CAISSON_LISTEN_WEBHOOKS", format!("127.0.0.1:{}", self.ports[0]));
        command.env("CAISSON_LISTEN_OPS", format!("127.0.0.1:{}", self.ports[1]));
        command.envs(self.more.iter().cloned());
        command
    }

    pub fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.more.push((name, value.into()));
    }

    /// Runs on a thread that may block: the forge is in this process.
    pub fn run(&self, args: &[&str]) -> Output {
        tokio::task::block_in_place(|| self.command(args).output().expect("caisson starts"))
    }

    /// Starts `caisson serve`, and waits until it listens.
    pub fn serving(&self) -> Serve {
        let child =
            self.command(&["serve"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut serve = Serve(child);
        tokio::task::block_in_place(|| {
            until("serve listens", || {
                assert!(serve.try_wait().unwrap().is_none(), "serve ended early");
                std::net::TcpStream::connect(("127.0.0.1", self.ports[1])).is_ok()
            });
        });
        serve
    }

    /// A repository's entry in the store, and its hook's secrets.
    pub async fn entry(&self, key: &str) -> (caisson::config::process::Repository, Vec<Secret>) {
        let mut config = caisson::config::Process::load(&self.config).unwrap();
        config.state_dir = self.dir.path().join("state");
        if let Some((_, url)) = self.more.iter().find(|(name, _)| *name == "CAISSON_STORE_URL") {
            config.store.url = Some(url.parse().unwrap());
        }
        let store = caisson::store::Store::look(caisson::cli::store::location(&config).unwrap()).await;
        let (entries, refused) = caisson::bot::known(&config, &store.unwrap().expect("a store")).await.unwrap();
        assert!(refused.is_empty(), "{refused:?}");
        let entry = entries.iter().find(|entry| entry.key == key).expect("an entry");
        let (entry, secrets) = entry.whole().expect("whole");
        (entry.clone(), secrets.to_vec())
    }

    pub fn standing(&self) -> String {
        let filter = format!("name=caisson-{}-", self.installation);
        let list = |words: &[&str]| docker(&[words, &["-q", "--filter", &filter]].concat()).expect("listed");
        [list(&["ps", "-a"]), list(&["network", "ls"])].concat()
    }

    pub fn broker_lives(&self) -> bool {
        ::broker::is_served(&self.socket())
    }

    pub fn broker(&self, more: &[&str]) -> Command {
        let mut command = self.command(&["broker", "--socket"]);
        command.arg(self.socket()).args(["--image", "caisson-sandbox:local", "--router-image", ROUTER]).args(more);
        command
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = self.broker(&["--teardown"]).output();
    }
}
