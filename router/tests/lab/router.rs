//! The real programs in the router's namespace, as run by the broker, and the host's end of the control stream.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use protocol::frame::{Decoder, Message};
use protocol::router::{Caps, FromRouter, LogEntry, MAX_PAYLOAD, Policy, Rule, ToRouter, VERSION};

use super::net::{DNS, Net, POOL};

pub const UID: &str = "10002";

pub struct Router {
    folder: PathBuf,
    space: String,
    firewall: Option<Child>,
    serve: Option<Serve>,
    serial: u64,
}

struct Serve {
    child: Child,
    orders: ChildStdin,
    answers: Receiver<FromRouter>,
    log: Arc<Mutex<Vec<LogEntry>>>,
}

impl Router {
    pub fn new(net: &Net) -> Router {
        let space = net.name("r");
        static ROUTERS: AtomicU32 = AtomicU32::new(0);
        let folder = std::env::temp_dir().join(format!("{space}-{}", ROUTERS.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir_all(&folder).expect("a folder");
        // The proxy's user must not need access to the build directory.
        let program = folder.join("caisson-router");
        std::fs::copy(super::program(), &program).expect("copy the program");
        for path in [&folder, &program] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("permissions");
        }
        Router { folder, space, firewall: None, serve: None, serial: 0 }
    }

    /// Starts both programs with this policy.
    pub fn start(net: &Net, policy: Policy) -> Router {
        let mut router = Router::new(net);
        router.raise_firewall(None).expect("walls");
        router.begin_serving();
        router.greet(policy);
        router
    }

    /// Says to a fresh router what a host says first.
    pub fn greet(&mut self, policy: Policy) {
        self.order(&ToRouter::Hello { version: VERSION, nonce: 1, keep: vec![] });
        self.order(&ToRouter::Log { after: 0 });
        self.order(&ToRouter::Policy { generation: 1, policy });
        assert_eq!(self.answer(), FromRouter::Applied { generation: 1 });
    }

    pub fn program(&self) -> &Path {
        &self.folder
    }

    fn command(&self) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.space]);
        command
    }

    /// A command in the namespace as the proxy's user, without capabilities.
    pub fn as_proxy(&self) -> Command {
        let mut command = self.command();
        command.args([
            "setpriv",
            "--reuid",
            UID,
            "--regid",
            UID,
            "--clear-groups",
            "--bounding-set=-all",
            "--no-new-privs",
        ]);
        command
    }

    fn settings(command: &mut Command) {
        command.args([
            "--pool",
            POOL,
            "--berths",
            "2",
            "--upstream",
            DNS,
            "--public",
            "198.51.100.0/24",
            "--proxy-uid",
            UID,
        ]);
    }

    /// `path`: a search path with another packet filter program, if given.
    pub fn raise_firewall(&mut self, path: Option<&str>) -> Result<(), String> {
        let mut command = self.command();
        if let Some(path) = path {
            command.args(["env", &format!("PATH={path}")]);
        }
        command.arg(self.folder.join("caisson-router")).arg("walls");
        Router::settings(&mut command);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("firewall start");
        let mut said = [0; 12];
        let ready = child.stdout.take().expect("stdout").read_exact(&mut said);
        if ready.is_ok() && said.starts_with(b"walls ready") {
            self.firewall = Some(child);
            return Ok(());
        }
        let output = child.wait_with_output().expect("firewall end");
        assert_eq!(output.status.code(), Some(1));
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    pub fn begin_serving(&mut self) {
        self.serve_through(&[]);
    }

    /// The same with so many descriptors, which decide how many connections there can be.
    pub fn begin_serving_within(&mut self, descriptors: u32) {
        self.serve_through(&["prlimit", &format!("--nofile={descriptors}")]);
    }

    /// `words`: what starts the program, if something has to.
    fn serve_through(&mut self, words: &[&str]) {
        let mut command = self.as_proxy();
        command.args(words).arg(self.folder.join("caisson-router")).arg("serve");
        Router::settings(&mut command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("serve starts");
        let (orders, mut out) = (child.stdin.take().expect("stdin"), child.stdout.take().expect("stdout"));
        let (queue, answers) = channel();
        let log = Arc::new(Mutex::new(Vec::new()));
        let entries = log.clone();
        thread::spawn(move || {
            let mut decoder = Decoder::new(MAX_PAYLOAD);
            let mut buffer = [0; 4096];
            while let Ok(len @ 1..) = out.read(&mut buffer) {
                for payload in decoder.push(&buffer[..len]) {
                    match Message::from_payload(payload.expect("a whole frame")).expect("a message").head {
                        FromRouter::Entry(entry) => entries.lock().unwrap().push(entry),
                        // The greeting only shows that it is listening.
                        FromRouter::Hello { .. } => {}
                        answer => {
                            let _ = queue.send(answer);
                        }
                    }
                }
            }
        });
        self.serve = Some(Serve { child, orders, answers, log });
    }

    fn serve(&mut self) -> &mut Serve {
        self.serve.as_mut().expect("serving")
    }

    pub fn order(&mut self, order: &ToRouter) {
        let frame = Message::bare(order).to_frame(MAX_PAYLOAD).expect("a frame");
        self.serve().orders.write_all(&frame).expect("it reads");
    }

    pub fn answer(&mut self) -> FromRouter {
        self.serve().answers.recv_timeout(Duration::from_secs(60)).expect("an answer")
    }

    pub fn grant(&mut self, subnet: u32, rules: &[&str]) {
        self.serial += 1;
        let serial = self.serial;
        let rules = rules.iter().map(|text| Rule::parse(text).expect("a rule")).collect();
        self.order(&ToRouter::Grant { subnet, serial, rules });
        assert_eq!(self.answer(), FromRouter::Granted { subnet, serial });
    }

    pub fn close(&mut self, subnet: u32) {
        self.order(&ToRouter::Close { subnet });
        assert_eq!(self.answer(), FromRouter::Closed { subnet });
    }

    /// Waits for the first log entry that fits.
    pub fn logged(&mut self, what: &str, fits: impl Fn(&LogEntry) -> bool) -> LogEntry {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let log = self.serve().log.lock().unwrap().clone();
            if let Some(entry) = log.iter().find(|entry| fits(entry)) {
                return entry.clone();
            }
            assert!(Instant::now() < until, "no log entry: {what}; there are {log:#?}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn log(&mut self) -> Vec<LogEntry> {
        self.serve().log.lock().unwrap().clone()
    }

    /// Kills the proxy, as the kernel would.
    pub fn kill_serve(&mut self) {
        if let Some(mut serve) = self.serve.take() {
            let _ = serve.child.kill();
            let _ = serve.child.wait();
        }
    }

    pub fn serve_pid(&mut self) -> u32 {
        self.serve().child.id()
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        self.kill_serve();
        if let Some(mut firewall) = self.firewall.take() {
            let _ = firewall.kill();
            let _ = firewall.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

pub fn small_caps() -> Caps {
    Caps { connections: 8, names: 50, wildcard_names_per_minute: 5, up: 4 << 20, down: 8 << 20 }
}
