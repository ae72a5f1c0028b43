use super::*;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const INDEX: &str = "{\"name\":\"serde\",\"vers\":\"1.2.0\",\"yanked\":false,\"pubtime\":\"2026-05-06T03:04:05Z\"}\n\
                     {\"name\":\"serde\",\"vers\":\"1.3.0\",\"yanked\":true}\n";
const MANIFEST: &str = "[dependencies]\nserde = \"1\"\nbroken = \"1\"\nendless = \"1\"\nabsent = \"1\"\nmoved = \"1\"\n\
                        \"../up\" = \"1\"\nown = { git = \"https://h.example/own\" }\n";

/// What was asked of the registry, whole.
type Requests = Arc<Mutex<Vec<String>>>;

/// A registry of crates on a port of its own.
async fn registry() -> (Url, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address")).parse().expect("a URL");
    let requests = Requests::default();
    let asked = requests.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, asked.clone()));
        }
    });
    (url, requests)
}

async fn answer(mut stream: TcpStream, asked: Requests) {
    let mut bytes = [0; 4096];
    let read = stream.read(&mut bytes).await.unwrap_or(0);
    let request = String::from_utf8_lossy(&bytes[..read]).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    asked.lock().expect("whole").push(request);
    let (status, body) = match path.as_str() {
        "/se/rd/serde" => ("200 OK", INDEX),
        "/br/ok/broken" => ("500 Internal Server Error", ""),
        "/mo/ve/moved" => ("302 Found\r\nlocation: /se/rd/serde", ""),
        "/si/le/silent" => std::future::pending().await,
        "/en/dl/endless" => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n").await;
            while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
            return;
        }
        _ => ("404 Not Found", ""),
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let _ = stream.write_all((head + body).as_bytes()).await;
}

struct Installation {
    dir: tempfile::TempDir,
    config: Process,
}

impl Installation {
    /// With one repository, whose default branch has this manifest and which the bot has fetched.
    async fn with(manifest: &str) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let data = dir.path().join("newest");
        std::fs::create_dir(&data).expect("made");
        let text = format!(
            "state_dir = \"{}\"\n[advisories]\nnewest_dir = \"{}\"\n[[repositories]]\nkey = \"shop\"\nowner = \"lab\"\n\
             name = \"shop\"\nid = 1\ndefault_branch = \"main\"\nsecret_files = [\"s\"]\n",
            dir.path().display(),
            data.display()
        );
        let config = Process::from_layers(&dir.path().join("caisson.toml"), &text, &|_| None).expect("a configuration");
        let file = format!("M 100644 inline Cargo.toml\ndata {}\n{manifest}\n", manifest.len());
        let stream = format!("commit refs/remotes/origin/main\ncommitter a <a@b> 1 +0000\ndata 1\nx\n{file}");
        Repos::new(dir.path().join("repos")).fast_import("shop", stream).await.expect("imported");
        Self { dir, config }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("newest/shop.jsonl")
    }

    /// What was known before of these crates.
    fn knows(&self, names: &[&str]) -> String {
        let line = |name: &&str| {
            let (ecosystem, name) = ("crates.io".to_owned(), (*name).to_owned());
            let (version, asked) = ("0.9.0".to_owned(), "2026-01-01".to_owned());
            let line = NewestLine { ecosystem, name, version, published: None, asked };
            serde_json::to_string(&line).expect("JSON") + "\n"
        };
        let text: String = names.iter().map(line).collect();
        std::fs::write(self.file(), &text).expect("written");
        text
    }

    /// Names and versions of the file.
    fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.file()).expect("a file");
        let lines = text.lines().map(|line| serde_json::from_str::<NewestLine>(line).expect("a line"));
        lines.map(|line| format!("{} {} {:?}", line.name, line.version, line.published)).collect()
    }

    async fn run(&self, registry: &Url, most: u32) -> Result<()> {
        let keys = vec!["shop".to_owned()];
        let newest = Newest { keys, registry: vec![("crates.io", registry.clone())], most };
        newest.run(&self.config, limits(), &quiet()).await
    }
}

fn limits() -> AnswerLimits {
    AnswerLimits { bytes: 64 << 10, ..AnswerLimits::default() }
}

fn quiet() -> Printer {
    Printer::to(Box::new(std::io::sink()), false, Box::new(std::io::sink()), false)
}

#[tokio::test]
async fn what_registries_answer_is_written_and_of_the_rest_what_was_known_stays() {
    let (at, (url, requests)) = (Installation::with(MANIFEST).await, registry().await);
    at.knows(&["serde", "broken", "endless", "absent", "unused"]);
    at.run(&url, 1000).await.expect("written");
    assert_eq!(at.lines(), ["broken 0.9.0 None", "endless 0.9.0 None", "serde 1.2.0 Some(\"2026-05-06\")"]);
    let requests = requests.lock().expect("whole").clone();
    assert_eq!(requests.len(), 5, "neither `own` nor `../up`: {requests:?}");
    for request in &requests {
        let request = request.to_ascii_lowercase();
        assert!(request.contains("accept: text/plain") && request.contains("user-agent: caisson/"), "{request}");
        assert!(!request.contains("authorization") && !request.contains("cookie"), "{request}");
    }
    let left: Vec<_> = std::fs::read_dir(at.dir.path().join("newest")).expect("read").collect();
    assert_eq!(left.len(), 1, "no file stays beside it");
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(at.file()).expect("a file"));
    assert_eq!(mode & 0o777, 0o644, "the bot may be another user");
}

#[tokio::test]
async fn no_more_packages_are_asked_for_than_is_allowed() {
    let at = Installation::with("[dependencies]\nabsent = \"1\"\nserde = \"1\"\n").await;
    let (url, requests) = registry().await;
    at.knows(&["serde"]);
    at.run(&url, 1).await.expect("written");
    assert_eq!((at.lines(), requests.lock().expect("whole").len()), (vec!["serde 0.9.0 None".to_owned()], 1));
    let at = Installation::with("[dependencies]\nendless = \"1\"\nserde = \"1\"\n").await;
    let later = at.knows(&["endless", "serde"]).replacen("2026-01-01", "2026-02-01", 1);
    std::fs::write(at.file(), later).expect("written");
    at.run(&url, 1).await.expect("written");
    assert_eq!(at.lines(), ["endless 0.9.0 None", "serde 1.2.0 Some(\"2026-05-06\")"], "the older one was asked for");
}

#[tokio::test]
async fn where_no_registry_answers_or_it_is_stopped_the_file_is_as_it_was() {
    let at = Installation::with("[dependencies]\nsilent = \"1\"\n").await;
    let before = at.knows(&["silent"]);
    let gone = TcpListener::bind("127.0.0.1:0").await.expect("a port").local_addr().expect("an address");
    let url = format!("http://{gone}").parse().expect("a URL");
    let error = at.run(&url, 1000).await.expect_err("nobody answers");
    assert!(error.to_string().contains("no registry answered"), "{error}");
    let (url, requests) = registry().await;
    let heard = async {
        while requests.lock().expect("whole").is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        done = at.run(&url, 1000) => panic!("{done:?}"),
        () = heard => {}
    }
    assert_eq!(std::fs::read_to_string(at.file()).expect("a file"), before);
}

#[tokio::test]
async fn each_failure_of_an_answer_is_told_apart() {
    let (url, _) = registry().await;
    let of = async |name: &str, limits: AnswerLimits| {
        let asker = Asker::new(HashMap::from([("crates.io", url.clone())]), limits).expect("a client");
        let package = ("crates.io".to_owned(), name.to_owned());
        asker.all(BTreeSet::from([package.clone()]), &quiet()).await.remove(&package).expect("a reply")
    };
    let failed = |why: &str| RegistryReply::Failed(why.to_owned());
    assert_eq!(of("broken", limits()).await, failed("it answered 500"));
    assert_eq!(of("moved", limits()).await, failed("it answered 302"));
    assert!(matches!(of("endless", limits()).await, RegistryReply::Failed(why) if why.contains("is larger than")));
    let now = AnswerLimits { time: Duration::ZERO, ..limits() };
    assert_eq!(of("silent", now).await, failed("no answer within 0 s"));
    assert_eq!(of("absent", limits()).await, RegistryReply::Nothing("its registry does not know it"));
    assert_eq!(of("../up", limits()).await, RegistryReply::Nothing("no package can have this name"));
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port");
    let address = format!("http://{nobody}").parse().expect("an address");
    let asker = Asker::new(HashMap::from([("crates.io", address)]), limits()).expect("a client");
    let package = ("crates.io".to_owned(), "serde".to_owned());
    let reply = asker.all(BTreeSet::from([package.clone()]), &quiet()).await.remove(&package);
    assert!(matches!(&reply, Some(RegistryReply::Failed(why)) if why.contains("refused")), "{reply:?}");
}

#[tokio::test]
async fn a_repository_that_the_bot_has_not_fetched_and_a_missing_folder_are_said_with_what_to_do() {
    let at = Installation::with("").await;
    std::fs::remove_dir_all(at.dir.path().join("repos")).expect("removed");
    let (url, requests) = registry().await;
    let error = at.run(&url, 1000).await.expect_err("it is not here");
    let complaint = Complaint::from(&error);
    assert!(complaint.what.contains("manifests of shop") && complaint.hint.contains("first task"), "{complaint:?}");
    let all = Newest { keys: Vec::new(), registry: Vec::new(), most: 1 };
    let error = all.run(&at.config, limits(), &quiet()).await.expect_err("none is here");
    assert!(error.to_string().contains("no repository"), "{error}");
    let bare = format!("state_dir = \"{}\"\n", at.dir.path().display());
    let bare = Process::from_layers(&at.dir.path().join("caisson.toml"), &bare, &|_| None).expect("a configuration");
    let all = Newest { keys: Vec::new(), registry: Vec::new(), most: 1 };
    let error = all.run(&bare, limits(), &quiet()).await.expect_err("no folder");
    assert!(Complaint::from(&error).hint.contains("newest_dir"), "{error}");
    assert!(requests.lock().expect("whole").is_empty());
}

#[test]
fn an_address_of_a_registry_has_an_ecosystem_and_no_credential() {
    let (ecosystem, url) = address("npm=https://npm.example.org/all").expect("an address");
    assert_eq!((ecosystem, url.as_str()), ("npm", "https://npm.example.org/all"));
    for bad in ["npm", "Debian=https://h", "npm=h", "npm=file:///x", "npm=https://u:p@h", "npm=https://h?token=x"] {
        assert!(address(bad).is_err(), "{bad}");
    }
    assert!(address("npm=https://h#x").is_err(), "a fragment");
}
