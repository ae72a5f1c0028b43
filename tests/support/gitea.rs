//! Starts a real Gitea for a test, on a loopback port, with SQLite in a directory of its own, and stops it by its process id.
//! The binary is `CAISSON_GITEA_BIN` or `gitea` on the PATH. None there: the test says so and passes, unless `CAISSON_REQUIRE`
//! lists `gitea`.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::skipped::skipped;

const START: Duration = Duration::from_secs(300);

pub struct RealGitea {
    pub url: String,
    pub admin_token: String,
    child: Child,
    dir: tempfile::TempDir,
}

impl Drop for RealGitea {
    fn drop(&mut self) {
        let pid = self.child.id().to_string();
        // TERM lets it end its git processes; those that are left after that are killed.
        let _ = Command::new("kill").args(["-TERM", &pid]).status();
        let end = Instant::now() + Duration::from_secs(5);
        while Instant::now() < end {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn binary() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CAISSON_GITEA_BIN") {
        return Some(PathBuf::from(named));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("gitea")).find(|file| file.is_file())
}

/// A running Gitea; `None`, with a printed message, where there is no binary and none is required.
pub fn start() -> Option<RealGitea> {
    let Some(binary) = binary() else {
        skipped("gitea", "no gitea on the PATH and no CAISSON_GITEA_BIN; the built-in forge alone was tested");
        return None;
    };
    Some(start_binary(&binary))
}

pub fn start_binary(binary: &Path) -> RealGitea {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let port = free_port();
    let url = format!("http://127.0.0.1:{port}");
    let config = dir.path().join("app.ini");
    std::fs::write(&config, settings(dir.path(), port, &url)).expect("the configuration can be written");
    cli(binary, dir.path(), &["migrate"]);
    let root = ["--username", "root"];
    let account = ["--email", "root@lab.test", "--admin", "--random-password", "--must-change-password=false"];
    cli(binary, dir.path(), &[&["admin", "user", "create"][..], &root, &account].concat());
    let token = ["--token-name", "start", "--scopes", "all", "--raw"];
    let said = cli(binary, dir.path(), &[&["admin", "user", "generate-access-token"][..], &root, &token].concat());
    let admin_token = said
        .split_whitespace()
        .find(|w| w.len() == 40 && w.bytes().all(|b| b.is_ascii_hexdigit()))
        .map(str::to_owned)
        .expect("gitea prints the admin's token");
    let log = std::fs::File::create(dir.path().join("web.log")).expect("a log file");
    let child = command(binary, dir.path())
        .arg("web")
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a second handle"))
        .stderr(log)
        .spawn()
        .expect("gitea starts");
    let gitea = RealGitea { url, admin_token, child, dir };
    gitea.wait(port);
    gitea
}

impl RealGitea {
    fn wait(&self, port: u16) {
        let end = Instant::now() + START;
        while Instant::now() < end {
            if answers(port) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = std::fs::read_to_string(self.dir.path().join("web.log")).unwrap_or_default();
        panic!("gitea did not answer within {START:?}:\n{log}");
    }
}

/// A plain GET without a client library: there is no async runtime yet.
fn answers(port: u16) -> bool {
    use std::io::{Read, Write};
    let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else { return false };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
    let asked = stream.write_all(b"GET /api/v1/version HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n");
    let mut answer = [0u8; 12];
    asked.is_ok() && stream.read_exact(&mut answer).is_ok() && answer.ends_with(b"200")
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free loopback port");
    listener.local_addr().expect("an address").port()
}

fn command(binary: &Path, dir: &Path) -> Command {
    let mut command = Command::new(binary);
    command.args(["--config"]).arg(dir.join("app.ini")).arg("--work-path").arg(dir);
    command.env("HOME", dir).env("GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT", "true").current_dir(dir);
    command
}

fn cli(binary: &Path, dir: &Path, args: &[&str]) -> String {
    let output = command(binary, dir).args(args).stdin(Stdio::null()).output().expect("gitea starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "gitea {args:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// The smallest configuration that skips the installation wizard and calls no other server.
fn settings(dir: &Path, port: u16, url: &str) -> String {
    let dir = dir.display();
    format!(
        "I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true\nRUN_MODE = prod\nWORK_PATH = {dir}\n\
         [server]\nROOT_URL = {url}/\nHTTP_ADDR = 127.0.0.1\nHTTP_PORT = {port}\nDISABLE_SSH = true\nOFFLINE_MODE = true\n\
         APP_DATA_PATH = {dir}/data\nLFS_START_SERVER = false\n\
         [database]\nDB_TYPE = sqlite3\nPATH = {dir}/gitea.db\nSQLITE_JOURNAL_MODE = WAL\n\
         [repository]\nROOT = {dir}/repositories\nDEFAULT_BRANCH = main\n\
         [security]\nINSTALL_LOCK = true\nSECRET_KEY = only-for-this-test\nPASSWORD_HASH_ALGO = pbkdf2$1000$50\n\
         [service]\nDISABLE_REGISTRATION = true\n\
         [webhook]\nALLOWED_HOST_LIST = loopback\n\
         [actions]\nENABLED = true\n\
         [cron.update_checker]\nENABLED = false\n\
         [session]\nPROVIDER = memory\n\
         [indexer]\nISSUE_INDEXER_TYPE = db\n\
         [log]\nMODE = console\nLEVEL = Warn\n"
    )
}
