//! The broker's socket: who may connect, one line in, one line out, then perhaps a stream. Tests: below and `tests/docker/`.

use std::fs::{DirBuilder, File, Permissions, TryLockError};
use std::future::Future;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use protocol::broker::{BrokerAnswer, MAX_LINE, Problem, Request};
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::Settings;
use crate::attach::Attached;
use crate::service::Service;

/// The most connections at once; further clients wait.
const CONNECTIONS: usize = 512;
/// How long a client may take for its request line.
const LINE_PATIENCE: Duration = Duration::from_secs(10);
/// How long running requests may continue after a shutdown began.
const DRAIN: Duration = Duration::from_secs(20);

/// A broker that listens.
pub struct Broker {
    service: Arc<Service>,
    listener: UnixListener,
    /// Lock file, held as long as this broker lives.
    _lock: File,
}

enum Reply {
    Line(Value),
    Stream(Box<Attached>),
}

impl Broker {
    /// Listens, but does not need the engine yet. A second broker on one socket is refused.
    pub fn bind(settings: Settings) -> Result<Self, Problem> {
        let socket = settings.socket.clone();
        let client = settings.client_uid;
        let service = Service::new(settings)?;
        let lock = prepare(&socket, client).map_err(|why| refused(&socket, &why))?;
        let listener = UnixListener::bind(&socket).map_err(|error| refused(&socket, &error.to_string()))?;
        std::fs::set_permissions(&socket, Permissions::from_mode(0o600))
            .and_then(|()| std::os::unix::fs::chown(&socket, client, None))
            .map_err(|error| refused(&socket, &error.to_string()))?;
        Ok(Self { service: Arc::new(service), listener, _lock: lock })
    }

    /// Refuses an engine that lacks what the settings need; `Unavailable` for one that does not answer.
    pub async fn check(&self) -> Result<(), Problem> {
        self.service.images.check().await
    }

    /// Serves until `shutdown` resolves, then lets requests finish and cuts the streams. Containers stay, unless
    /// [`Settings::leaves_nothing`] is set.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let stop = CancellationToken::new();
        let seats = Arc::new(Semaphore::new(CONNECTIONS));
        let mut clients = JoinSet::new();
        tokio::pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                Some(_) = clients.join_next() => {}
                accepted = accept(&self.listener, &seats) => {
                    let Some((stream, seat)) = accepted else { continue };
                    let (service, stop) = (self.service.clone(), stop.clone());
                    clients.spawn(async move {
                        serve_one(&service, stream, stop).await;
                        drop(seat);
                    });
                }
            }
        }
        stop.cancel();
        let drained = tokio::time::timeout(DRAIN, async { while clients.join_next().await.is_some() {} }).await;
        if drained.is_err() {
            tracing::warn!("requests to the engine were still going on and are left to it");
        }
        // Only if this life of the broker made anything.
        if self.service.core.settings.leaves_nothing && self.service.made.load(Ordering::Relaxed) {
            match self.service.reaper.leave().await {
                Ok(removed) => tracing::info!(?removed, "removed what no task needs"),
                Err(problem) => tracing::warn!(%problem, "what no task needs was left to the next start"),
            }
        }
        let _ = std::fs::remove_file(&self.service.core.settings.socket);
    }
}

/// Whether a broker serves this socket, even one that is about to end.
pub fn is_served(socket: &Path) -> bool {
    File::open(lock_of(socket)).is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn lock_of(socket: &Path) -> PathBuf {
    let mut beside = socket.to_owned();
    beside.as_mut_os_string().push(".lock");
    beside
}

/// Removes everything of one installation from the engine and gives the removed names.
pub async fn teardown(settings: Settings) -> Result<Vec<String>, Problem> {
    Service::new(settings)?.reaper.teardown().await
}

async fn accept(
    listener: &UnixListener,
    seats: &Arc<Semaphore>,
) -> Option<(UnixStream, tokio::sync::OwnedSemaphorePermit)> {
    let seat = seats.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, seat)),
        Err(error) => {
            // Probably out of descriptors, which ending connections will free.
            tracing::warn!(%error, "cannot take a connection");
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

async fn serve_one(service: &Service, stream: UnixStream, stop: CancellationToken) {
    let mut stream = BufReader::new(stream);
    let reply = match admitted(service, stream.get_ref()) {
        Ok(()) => match read_request(&mut stream).await {
            Some(Ok(request)) => carry_out(service, request).await,
            Some(Err(problem)) => Err(problem),
            None => return,
        },
        Err(problem) => Err(problem),
    };
    let (answer, attached) = match reply {
        Ok(Reply::Line(value)) => (line(&BrokerAnswer::Ok(value)), None),
        Ok(Reply::Stream(attached)) => (line(&BrokerAnswer::Ok(())), Some(attached)),
        Err(problem) => (line(&BrokerAnswer::<()>::Error(problem)), None),
    };
    if stream.write_all(&answer).await.is_err() {
        return;
    }
    if let Some(attached) = attached {
        let (from, to) = tokio::io::split(stream);
        attached.pump(from, to, stop).await;
    }
}

/// Checks the client's user; the socket's mode already does, unless its directory was opened by mistake.
fn admitted(service: &Service, stream: &UnixStream) -> Result<(), Problem> {
    let peer = stream.peer_cred().map_err(|error| Problem::refused(format!("who are you? {error}")))?.uid();
    if peer == own_uid() || Some(peer) == service.core.settings.client_uid {
        return Ok(());
    }
    tracing::warn!(uid = peer, "a foreign user connected to the broker and was refused");
    Err(Problem::refused(format!(
        "user {peer} may not ask the broker; start it with `--client-uid {peer}` if it should"
    )))
}

/// `None` when the client closed without a request.
async fn read_request(stream: &mut BufReader<UnixStream>) -> Option<Result<Request, Problem>> {
    let mut text = Vec::new();
    let mut limited = stream.take(MAX_LINE as u64);
    let read = tokio::time::timeout(LINE_PATIENCE, limited.read_until(b'\n', &mut text)).await;
    match read {
        Err(_) => return Some(Err(Problem::refused("no request line came within 10 s"))),
        Ok(Err(_) | Ok(0)) => return None,
        Ok(Ok(_)) => {}
    }
    if text.pop() != Some(b'\n') {
        return Some(Err(Problem::refused(format!("a request is one line of at most {MAX_LINE} bytes"))));
    }
    Some(serde_json::from_slice(&text).map_err(|error| Problem::refused(format!("this is no request: {error}"))))
}

async fn carry_out(service: &Service, request: Request) -> Result<Reply, Problem> {
    let begun = Instant::now();
    let what = describe(&request);
    // Whoever asks the bot's `/readyz` makes it say hello, every few seconds.
    let routine = matches!(request, Request::Hello { .. });
    let reply = dispatch(service, request).await;
    let ms = begun.elapsed().as_millis() as u64;
    match &reply {
        Ok(_) if routine => tracing::debug!(request = what, ms, "done"),
        Ok(_) => tracing::info!(request = what, ms, "done"),
        Err(problem) => tracing::warn!(request = what, ms, kind = ?problem.kind, problem = %problem.text, "not done"),
    }
    reply
}

async fn dispatch(service: &Service, request: Request) -> Result<Reply, Problem> {
    if matches!(request, Request::Create(_) | Request::RouterEnsure(_)) {
        service.made.store(true, Ordering::Relaxed);
    }
    match request {
        Request::Hello { version } => service.core.hello(version).await.and_then(value_line),
        Request::Create(spec) => service.containers.create(&spec).await.and_then(value_line),
        Request::Start { name } => service.containers.start(&name).await.and_then(value_line),
        Request::Attach { name } => service.containers.attach(&name).await.map(|it| Reply::Stream(Box::new(it))),
        Request::Pause { name } => service.containers.pause(&name).await.and_then(value_line),
        Request::Unpause { name } => service.containers.unpause(&name).await.and_then(value_line),
        Request::Stop { name } => service.containers.stop(&name).await.and_then(value_line),
        Request::Remove { name } => service.containers.remove(&name).await.and_then(value_line),
        Request::Inspect { name } => service.containers.inspect(&name).await.and_then(value_line),
        Request::List => service.containers.list().await.and_then(value_line),
        Request::Image { reference } => service.images.image(&reference).await.and_then(value_line),
        Request::RouterEnsure(spec) => service.router.ensure(&spec).await.and_then(value_line),
        Request::RouterRuns => service.router.runs().await.and_then(value_line),
        Request::RouterAttach => service.router.attach().await.map(|it| Reply::Stream(Box::new(it))),
        Request::RouterRestart => service.router.restart().await.and_then(value_line),
        Request::RouterStop => service.router.stop().await.and_then(value_line),
        Request::RouterProbe { image, plan } => service.router.probe(&image, &plan).await.and_then(value_line),
        Request::Host { image } => service.host.network(&image).await.and_then(value_line),
        Request::HostListen { image } => service.host.listen(&image).await.map(|it| Reply::Stream(Box::new(it))),
        Request::RemoveMirror { name } => service.mirrors.remove(&name).await.and_then(value_line),
        Request::Reap { keep, mirrors } => service.reaper.reap(&keep, &mirrors).await.and_then(value_line),
    }
}

fn value_line(value: impl Serialize) -> Result<Reply, Problem> {
    serde_json::to_value(value).map(Reply::Line).map_err(|error| Problem::refused(error.to_string()))
}

fn line(answer: &BrokerAnswer<impl Serialize>) -> Vec<u8> {
    let mut text = serde_json::to_vec(answer).unwrap_or_default();
    text.push(b'\n');
    text
}

/// Name and subject of a request, for the log.
fn describe(request: &Request) -> String {
    match request {
        Request::Hello { .. } => "hello".into(),
        Request::Create(spec) => format!("create {:?}", spec.name),
        Request::Start { name } => format!("start {name:?}"),
        Request::Attach { name } => format!("attach {name:?}"),
        Request::Pause { name } => format!("pause {name:?}"),
        Request::Unpause { name } => format!("unpause {name:?}"),
        Request::Stop { name } => format!("stop {name:?}"),
        Request::Remove { name } => format!("remove {name:?}"),
        Request::Inspect { name } => format!("inspect {name:?}"),
        Request::List => "list".into(),
        Request::Image { reference } => format!("image {reference:?}"),
        Request::RouterEnsure(_) => "router ensure".into(),
        Request::RouterRuns => "router runs".into(),
        Request::RouterAttach => "router attach".into(),
        Request::RouterRestart => "router restart".into(),
        Request::RouterStop => "router stop".into(),
        Request::RouterProbe { .. } => "router probe".into(),
        Request::Host { .. } => "host".into(),
        Request::HostListen { .. } => "host listen".into(),
        Request::RemoveMirror { name } => format!("remove mirror {name:?}"),
        Request::Reap { .. } => "reap".into(),
    }
}

fn own_uid() -> u32 {
    nix::unistd::geteuid().as_raw()
}

fn refused(socket: &Path, why: &str) -> Problem {
    Problem::refused(format!("cannot listen on {}: {why}", socket.display()))
}

/// Closes the directory to others, checks that no other broker is there, and removes an old socket.
fn prepare(socket: &Path, client: Option<u32>) -> Result<File, String> {
    let directory = socket.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !directory.exists() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.and_then(|()| std::os::unix::fs::chown(directory, client, None)).map_err(|error| error.to_string())?;
    }
    let found = std::fs::metadata(directory).map_err(|error| error.to_string())?;
    let owned = found.uid() == own_uid() || Some(found.uid()) == client;
    if found.mode() & 0o077 != 0 || !owned {
        return Err(format!(
            "{} is open to others; give the socket a directory of its own (mode 0700)",
            directory.display()
        ));
    }
    let beside = lock_of(socket);
    let lock = File::create(&beside).map_err(|error| format!("{}: {error}", beside.display()))?;
    lock.try_lock().map_err(|_| "another broker serves there".to_owned())?;
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.to_string()),
        _ => Ok(lock),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(dir: &Path) -> Settings {
        let mut settings = Settings::new(dir.join("own/broker.sock"), "unit", std::env::current_exe().unwrap());
        settings.engine = dir.join("no-engine.sock");
        settings
    }

    async fn ask(socket: &Path, text: &str) -> Value {
        let mut stream = BufReader::new(UnixStream::connect(socket).await.unwrap());
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_line(&mut answer).await.unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    #[tokio::test]
    async fn the_socket_is_for_its_owner_alone_and_for_one_broker() {
        let dir = tempfile::tempdir().unwrap();
        let broker = Broker::bind(settings(dir.path())).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        let socket = broker.service.core.settings.socket.clone();
        assert_eq!((mode(&socket), mode(socket.parent().unwrap())), (0o600, 0o700));
        let second = Broker::bind(settings(dir.path())).err().unwrap();
        assert!(second.text.contains("another broker") && is_served(&socket), "{second}");
        drop(broker);
        assert!(!is_served(&socket));
    }

    #[tokio::test]
    async fn a_directory_open_to_others_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("own")).unwrap();
        std::fs::set_permissions(dir.path().join("own"), Permissions::from_mode(0o755)).unwrap();
        assert!(Broker::bind(settings(dir.path())).err().unwrap().text.contains("0700"));
    }

    #[tokio::test]
    async fn nonsense_is_refused_and_a_missing_engine_is_unavailable() {
        let dir = tempfile::tempdir().unwrap();
        let broker = Broker::bind(settings(dir.path())).unwrap();
        let socket = broker.service.core.settings.socket.clone();
        let stop = CancellationToken::new();
        let running = tokio::spawn(broker.run(stop.clone().cancelled_owned()));
        for text in
            ["{}\n", "nonsense\n", "{\"start\":{\"name\":\"../x\"}}\n", "{\"start\":{\"name\":\"a\",\"binds\":[]}}\n"]
        {
            assert_eq!(ask(&socket, text).await["error"]["kind"], "refused", "{text}");
        }
        let hello = |version: u32| format!("{{\"hello\":{{\"version\":{version}}}}}\n");
        let answer = ask(&socket, &hello(protocol::broker::VERSION)).await;
        assert_eq!(answer["error"]["kind"], "unavailable", "{answer}");
        assert_eq!(ask(&socket, &hello(protocol::broker::VERSION + 1)).await["error"]["kind"], "refused");
        stop.cancel();
        running.await.unwrap();
        assert!(!socket.exists());
    }
}
