//! The broker's client: the only way this process reaches containers.
//!
//! Owns the trait that the sandboxes are written against and its client over the broker's unix socket. It must not know
//! the engine: what a container looks like is decided on the other side. Each call is a connection of its own, so a
//! broker that was restarted is simply asked again. Tests: below; the other side's in `broker/tests/docker.rs`.

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

/// The broker's answer, or why there is none.
pub type Result<T> = std::result::Result<T, Problem>;

/// Containers, as the sandboxes need them. Every call may be repeated; [`ProblemKind::Unavailable`] asks for it.
#[async_trait]
pub trait Broker: Send + Sync {
    /// What is behind the broker; refused when its protocol is another one.
    async fn hello(&self) -> Result<EngineInfo>;
    /// Exists with the same spec = done; with another spec = conflict.
    async fn create(&self, spec: &ContainerSpec) -> Result<()>;
    /// Running already = done; a paused container is a conflict.
    async fn start(&self, name: &str) -> Result<()>;
    /// The runner's stdin and stdout. Who attaches last has them: an older stream of the same container ends.
    async fn attach(&self, name: &str) -> Result<Box<dyn Stream>>;
    /// Suspends every process in it. Paused already = done; one that does not run is a conflict.
    async fn pause(&self, name: &str) -> Result<()>;
    /// Lets a paused container go on. Not paused = done.
    async fn unpause(&self, name: &str) -> Result<()>;
    /// Kills every process in it. Its workspace in memory is gone with them.
    async fn stop(&self, name: &str) -> Result<()>;
    /// Gone = done.
    async fn remove(&self, name: &str) -> Result<()>;
    /// How a container stands; `None` = there is none of this name.
    async fn inspect(&self, name: &str) -> Result<Option<ContainerInfo>>;
    /// All containers of this installation, running or not.
    async fn list(&self) -> Result<Vec<ContainerInfo>>;
    /// `None` = the engine does not have it. One that the operator did not list is refused.
    async fn image(&self, reference: &str) -> Result<Option<ImageInfo>>;
    /// Holder, subnets, firewall and router exist and run afterwards.
    async fn router_ensure(&self, spec: &RouterSpec) -> Result<RouterInfo>;
    /// The router's stdin and stdout.
    async fn router_attach(&self) -> Result<Box<dyn Stream>>;
    /// The router starts anew; networks and containers stay.
    async fn router_restart(&self) -> Result<()>;
    /// The router is killed; every sandbox reaches nothing until it is ensured again.
    async fn router_stop(&self) -> Result<()>;
    /// What a probe finds as the router's user in the router's namespace, without the router.
    async fn router_probe(&self, image: &str, plan: &str) -> Result<String>;
    /// The network of the machine that the engine runs on, as its own namespace shows it; by the router's image.
    async fn host(&self, image: &str) -> Result<Network>;
    /// A listener on every address of that machine, in the words of `protocol::host`; it ends with the stream.
    async fn host_listen(&self, image: &str) -> Result<Box<dyn Stream>>;
    /// Whether the mirror is gone: one that a container has stays.
    async fn remove_mirror(&self, name: &str) -> Result<bool>;
    /// Removes this installation's containers that `keep` does not name and what they left, and mirrors that `mirrors` does not name
    /// and no container has; answers their names.
    async fn reap(&self, keep: &[String], mirrors: &[String]) -> Result<Vec<String>>;
}

/// The real one.
pub struct SocketBroker {
    socket: PathBuf,
    patience: Duration,
}

impl SocketBroker {
    /// `socket` is the path that `caisson broker --socket` was given.
    pub fn new(socket: impl AsRef<Path>) -> Self {
        Self { socket: socket.as_ref().to_owned(), patience: Duration::from_secs(180) }
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

/// What follows the line stays in the reader's buffer: it belongs to the stream.
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
