//! A PostgreSQL server for the tests: Debian's package, a data directory made for it, reachable only by a socket in that directory.
//! It ends with the process that started it, even when that is killed.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

/// Creates the cluster, starts the server, reports when it answers, and removes everything when its input ends. PostgreSQL refuses to
/// run as root, so root switches to the package's account.
const SCRIPT: &str = r#"
set -eu
bin=$1
fsync=$2
down() { "$@"; }
dir=$(mktemp -d /tmp/caisson-pg.XXXXXX)
if [ "$(id -u)" = 0 ]; then
    chown postgres "$dir"
    down() { setpriv --reuid=postgres --regid=postgres --init-groups -- "$@"; }
fi
trap 'down "$bin/pg_ctl" -D "$dir/data" -m immediate -s stop >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
trap '' INT TERM HUP
cd "$dir"
down "$bin/initdb" -D "$dir/data" -A trust -U caisson --no-sync -E UTF8 --locale=C >/dev/null
start() { down "$bin/pg_ctl" -D "$dir/data" -w -s -l "$dir/data/log" -o "-k $dir -c listen_addresses= -c fsync=$fsync -c max_connections=300" start; }
start
echo "$dir"
while read -r word; do
    [ "$word" != restart ] || { down "$bin/pg_ctl" -D "$dir/data" -m immediate -s stop; start; echo "$dir"; }
done
"#;

/// The package's programs: on the PATH, or where Debian puts them.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).find(|dir| dir.join("initdb").exists());
    let mut debian: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map(|all| all.filter_map(|entry| Some(entry.ok()?.path().join("bin"))).collect())
        .unwrap_or_default();
    debian.retain(|bin| bin.join("initdb").exists());
    debian.sort();
    on_path.or_else(|| debian.pop())
}

pub struct Server {
    socket: PathBuf,
    shell: Child,
    pipes: Mutex<(Option<ChildStdin>, BufReader<ChildStdout>)>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // Closes its input; it has removed everything when it exits.
        self.pipes.lock().expect("no panic before").0 = None;
        let _ = self.shell.wait();
    }
}

impl Server {
    /// This process's server; None, with a printed message, where PostgreSQL is not installed.
    pub fn of_this_process() -> Option<&'static Server> {
        static SERVER: OnceLock<Option<Server>> = OnceLock::new();
        SERVER.get_or_init(|| Self::start("off")).as_ref()
    }

    /// A server that is not shared, for tests that restart it.
    #[allow(dead_code, reason = "not every program that includes this file restarts one")]
    pub fn alone() -> Option<Server> {
        Self::start("off")
    }

    /// A server with `fsync` on.
    #[allow(dead_code, reason = "the bench's")]
    pub fn durable() -> Option<Server> {
        Self::start("on")
    }

    fn start(fsync: &str) -> Option<Server> {
        let Some(bin) = programs() else {
            super::skipped::skipped("postgres", "PostgreSQL's initdb is not installed (Debian: postgresql)");
            return None;
        };
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(SCRIPT).arg("postgres").arg(bin).arg(fsync).stdin(Stdio::piped()).stdout(Stdio::piped());
        // A separate process group: a Ctrl-C for the tests reaches it only as the end of its input.
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        let mut shell = shell.spawn().expect("a shell");
        let (stdin, stdout) = (shell.stdin.take().expect("piped"), shell.stdout.take().expect("piped"));
        let mut stdout = BufReader::new(stdout);
        let socket = line(&mut stdout);
        Some(Server { socket: socket.into(), shell, pipes: Mutex::new((Some(stdin), stdout)) })
    }

    /// The address of a new, empty database.
    pub fn database(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let name = format!("t{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let socket = self.socket.display();
        let made = Command::new("psql")
            .args(["-q", "-h", &socket.to_string(), "-U", "caisson", "-d", "postgres", "-c"])
            .arg(format!("CREATE DATABASE {name}"))
            .output()
            .expect("psql");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        format!("postgres:///{name}?host={socket}&user=caisson")
    }

    /// Kills the server and starts it again: every connection is lost.
    #[allow(dead_code, reason = "not every program that includes this file restarts one")]
    pub fn restart(&self) {
        let mut pipes = self.pipes.lock().expect("no panic before");
        pipes.0.as_mut().expect("not dropped").write_all(b"restart\n").expect("told");
        line(&mut pipes.1);
    }
}

fn line(from: &mut BufReader<ChildStdout>) -> String {
    let mut text = String::new();
    from.read_line(&mut text).expect("read");
    assert!(!text.is_empty(), "PostgreSQL could not be started: its words stand above");
    text.trim().to_owned()
}
