//! The broker's client: the only way this process reaches containers.
//!
//! Owns the trait that the sandboxes use and its client over the broker's unix socket. Must not know the engine, because containers are
//! configured on the broker's side. Each call is a connection of its own, so a restarted broker causes no trouble. Tests: below; the
//! broker's in `broker/tests/docker/`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use protocol::broker::{
    BrokerAnswer, ContainerInfo, ContainerSpec, EngineInfo, ImageInfo, MAX_LINE, Problem, ProblemKind, Request,
    RouterInfo, RouterSpec, VERSION,
};
use protocol::host::Network;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

/// A byte stream to a container.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// The broker's answer or error.
pub type Result<T> = std::result::Result<T, Problem>;

/// Operations on containers; every call may be repeated, as [`ProblemKind::Unavailable`] requires.
#[async_trait]
pub trait Broker: Send + Sync {
    /// Information about the engine; refused when the broker's protocol has another version.
    async fn hello(&self) -> Result<EngineInfo>;
    /// Creates a container; succeeds if it exists with the same spec, conflict with another.
    async fn create(&self, spec: &ContainerSpec) -> Result<()>;
    /// Starts a container; succeeds if it runs already, conflict if it is paused.
    async fn start(&self, name: &str) -> Result<()>;
    /// The runner's stdin and stdout; an older stream of the same container ends.
    async fn attach(&self, name: &str) -> Result<Box<dyn Stream>>;
    /// Freezes every process of a container; succeeds if it is paused already, conflict if it does not run.
    async fn pause(&self, name: &str) -> Result<()>;
    /// Thaws a paused container; succeeds if it is not paused.
    async fn unpause(&self, name: &str) -> Result<()>;
    /// Kills every process of a container; a workspace in memory is lost.
    async fn stop(&self, name: &str) -> Result<()>;
    /// Removes a container; succeeds if it is gone.
    async fn remove(&self, name: &str) -> Result<()>;
    /// State of a container; `None` = there is none of this name.
    async fn inspect(&self, name: &str) -> Result<Option<ContainerInfo>>;
    /// All containers of this installation, running or not.
    async fn list(&self) -> Result<Vec<ContainerInfo>>;
    /// The engine's image; `None` = it does not have it. Refused for an image that the operator did not list.
    async fn image(&self, reference: &str) -> Result<Option<ImageInfo>>;
    /// Makes sure that holder, subnets, firewall and router exist and run.
    async fn router_ensure(&self, spec: &RouterSpec) -> Result<RouterInfo>;
    /// The router's stdin and stdout.
    async fn router_attach(&self) -> Result<Box<dyn Stream>>;
    /// Restarts the router; networks and containers stay.
    async fn router_restart(&self) -> Result<()>;
    /// Kills the router: no sandbox reaches anything until it is ensured again.
    async fn router_stop(&self) -> Result<()>;
    /// Findings of the runner's probe as the router's user in the router's namespace, bypassing the router.
    async fn router_probe(&self, image: &str, plan: &str) -> Result<String>;
    /// The network of the engine's machine, as its own namespace shows it; `image` is the router's.
    async fn host(&self, image: &str) -> Result<Network>;
    /// A listener on every address of that machine, as `protocol::host` describes; it ends with the stream.
    async fn host_listen(&self, image: &str) -> Result<Box<dyn Stream>>;
    /// Removes a mirror; false while a container uses it.
    async fn remove_mirror(&self, name: &str) -> Result<bool>;
    /// Removes containers that `keep` does not name with their leftovers, and unused mirrors that `mirrors` does not name; gives the
    /// removed names.
    async fn reap(&self, keep: &[String], mirrors: &[String]) -> Result<Vec<String>>;
}

/// The client of a running broker.
pub struct SocketBroker {
    socket: PathBuf,
    patience: Duration,
}

impl SocketBroker {
    /// `socket` is the path given to `caisson broker --socket`.
    pub fn new(socket: impl AsRef<Path>) -> Self {
        Self { socket: socket.as_ref().to_owned(), patience: Duration::from_secs(180) }
    }

    /// Whether holder, firewall and router run, without making what is not there.
    ///
    /// # Errors
    /// When broker or engine do not answer, or the broker is of a version without this question.
    pub async fn router_runs(&self) -> Result<bool> {
        self.call(&Request::RouterRuns).await
    }

    async fn call<T: DeserializeOwned>(&self, request: &Request) -> Result<T> {
        self.exchange(request).await.map(|(answer, _)| answer)
    }

    async fn open(&self, request: &Request) -> Result<Box<dyn Stream>> {
        let ((), stream) = self.exchange::<()>(request).await?;
        Ok(Box::new(stream))
    }

    async fn exchange<T: DeserializeOwned>(&self, request: &Request) -> Result<(T, BufReader<UnixStream>)> {
        match tokio::time::timeout(self.patience, self.talk(request)).await {
            Ok(done) => done,
            Err(_) => Err(Problem::unavailable(format!(
                "the broker did not answer within {} s; look at its log and at the engine",
                self.patience.as_secs()
            ))),
        }
    }

    async fn talk<T: DeserializeOwned>(&self, request: &Request) -> Result<(T, BufReader<UnixStream>)> {
        let stream = UnixStream::connect(&self.socket).await.map_err(|error| self.unreachable(&error))?;
        let mut stream = BufReader::new(stream);
        let mut line = serde_json::to_vec(request).map_err(|error| Problem::refused(error.to_string()))?;
        line.push(b'\n');
        if line.len() > MAX_LINE {
            return Err(Problem::refused(format!("a request to the broker is longer than {MAX_LINE} bytes")));
        }
        stream.write_all(&line).await.map_err(|error| self.unreachable(&error))?;
        let answer = read_line(&mut stream).await.map_err(|error| self.unreachable(&error))?;
        match serde_json::from_slice::<BrokerAnswer<T>>(&answer) {
            Ok(BrokerAnswer::Ok(value)) => Ok((value, stream)),
            Ok(BrokerAnswer::Error(problem)) => Err(problem),
            Err(error) => Err(Problem::new(ProblemKind::Engine, format!("the broker's answer is unreadable: {error}"))),
        }
    }

    fn unreachable(&self, error: &std::io::Error) -> Problem {
        Problem::unavailable(format!(
            "no broker at {} ({error}); start it with `caisson broker --socket {}`",
            self.socket.display(),
            self.socket.display()
        ))
    }
}

/// Bytes after the line stay in the reader's buffer, because they belong to the stream.
async fn read_line(stream: &mut BufReader<UnixStream>) -> std::io::Result<Vec<u8>> {
    let mut line = Vec::new();
    stream.take(MAX_LINE as u64).read_until(b'\n', &mut line).await?;
    match line.pop() {
        Some(b'\n') => Ok(line),
        _ => Err(std::io::Error::other("it hung up in the middle of an answer")),
    }
}

fn named(name: &str) -> String {
    name.to_owned()
}

#[async_trait]
impl Broker for SocketBroker {
    async fn hello(&self) -> Result<EngineInfo> {
        self.call(&Request::Hello { version: VERSION }).await
    }

    async fn create(&self, spec: &ContainerSpec) -> Result<()> {
        self.call(&Request::Create(spec.clone())).await
    }

    async fn start(&self, name: &str) -> Result<()> {
        self.call(&Request::Start { name: named(name) }).await
    }

    async fn attach(&self, name: &str) -> Result<Box<dyn Stream>> {
        self.open(&Request::Attach { name: named(name) }).await
    }

    async fn pause(&self, name: &str) -> Result<()> {
        self.call(&Request::Pause { name: named(name) }).await
    }

    async fn unpause(&self, name: &str) -> Result<()> {
        self.call(&Request::Unpause { name: named(name) }).await
    }

    async fn stop(&self, name: &str) -> Result<()> {
        self.call(&Request::Stop { name: named(name) }).await
    }

    async fn remove(&self, name: &str) -> Result<()> {
        self.call(&Request::Remove { name: named(name) }).await
    }

    async fn inspect(&self, name: &str) -> Result<Option<ContainerInfo>> {
        self.call(&Request::Inspect { name: named(name) }).await
    }

    async fn list(&self) -> Result<Vec<ContainerInfo>> {
        self.call(&Request::List).await
    }

    async fn image(&self, reference: &str) -> Result<Option<ImageInfo>> {
        self.call(&Request::Image { reference: named(reference) }).await
    }

    async fn router_ensure(&self, spec: &RouterSpec) -> Result<RouterInfo> {
        self.call(&Request::RouterEnsure(spec.clone())).await
    }

    async fn router_attach(&self) -> Result<Box<dyn Stream>> {
        self.open(&Request::RouterAttach).await
    }

    async fn router_restart(&self) -> Result<()> {
        self.call(&Request::RouterRestart).await
    }

    async fn router_probe(&self, image: &str, plan: &str) -> Result<String> {
        self.call(&Request::RouterProbe { image: image.to_owned(), plan: plan.to_owned() }).await
    }

    async fn router_stop(&self) -> Result<()> {
        self.call(&Request::RouterStop).await
    }

    async fn host(&self, image: &str) -> Result<Network> {
        self.call(&Request::Host { image: named(image) }).await
    }

    async fn host_listen(&self, image: &str) -> Result<Box<dyn Stream>> {
        self.open(&Request::HostListen { image: named(image) }).await
    }

    async fn remove_mirror(&self, name: &str) -> Result<bool> {
        self.call(&Request::RemoveMirror { name: named(name) }).await
    }

    async fn reap(&self, keep: &[String], mirrors: &[String]) -> Result<Vec<String>> {
        self.call(&Request::Reap { keep: keep.to_vec(), mirrors: mirrors.to_vec() }).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::UnixListener;

    async fn answering(dir: &Path, answer: &'static str) -> SocketBroker {
        let path = dir.join("broker.sock");
        let listener = UnixListener::bind(&path).unwrap();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            stream.read_line(&mut String::new()).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            let mut echo = [0; 4];
            if stream.read_exact(&mut echo).await.is_ok() {
                stream.write_all(&echo).await.unwrap();
            }
        });
        SocketBroker::new(path)
    }

    #[tokio::test]
    async fn nobody_there_says_what_to_start() {
        let dir = tempfile::tempdir().unwrap();
        let problem = SocketBroker::new(dir.path().join("none.sock")).list().await.unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Unavailable);
        assert!(problem.text.contains("caisson broker --socket"), "{problem}");
    }

    #[tokio::test]
    async fn an_error_keeps_its_kind_and_words() {
        let dir = tempfile::tempdir().unwrap();
        let broker = answering(dir.path(), "{\"error\":{\"kind\":\"conflict\",\"text\":\"taken\"}}\n").await;
        assert_eq!(broker.start("a").await.unwrap_err(), Problem::new(ProblemKind::Conflict, "taken"));
    }

    #[tokio::test]
    async fn bytes_right_behind_the_answer_belong_to_the_stream() {
        let dir = tempfile::tempdir().unwrap();
        let broker = answering(dir.path(), "{\"ok\":null}\nearly").await;
        let mut stream = broker.attach("a").await.unwrap();
        let mut early = [0; 5];
        stream.read_exact(&mut early).await.unwrap();
        assert_eq!(&early, b"early");
        stream.write_all(b"ping").await.unwrap();
        let mut echo = [0; 4];
        stream.read_exact(&mut echo).await.unwrap();
        assert_eq!(&echo, b"ping");
    }
}
