//! Docker's engine over its socket, with its errors translated. No other code opens that socket. Tests: below, `tests/docker/`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use bollard::Docker;
use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, ContainerSummary, EventMessage, ImageInspect, Network,
    NetworkConnectRequest, NetworkCreateRequest, NetworkInspect, SystemInfo, SystemVersion, Volume,
    VolumeCreateRequest,
};
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, DownloadFromContainerOptionsBuilder,
    EventsOptionsBuilder, ListContainersOptionsBuilder, ListNetworksOptionsBuilder, ListVolumesOptionsBuilder,
    RemoveContainerOptionsBuilder, RemoveVolumeOptions, RenameContainerOptionsBuilder, RestartContainerOptionsBuilder,
    StopContainerOptionsBuilder, UploadToContainerOptionsBuilder,
};
use futures_util::StreamExt;
use protocol::broker::{Problem, ProblemKind};

use super::{Engine, Filters, Output, Streams};

/// How long one call may take; attached streams have no limit.
const PATIENCE: Duration = Duration::from_secs(120);

/// Does not connect yet, because the engine may come up later.
pub fn connect(socket: &Path) -> Result<Docker, Problem> {
    let path = socket.to_str().ok_or_else(|| Problem::refused("the path of the engine's socket is not UTF-8"))?;
    if !path.starts_with('/') {
        return Err(Problem::refused(format!("the engine's socket {path:?} must be an absolute path on this machine")));
    }
    Docker::connect_with_unix(path, PATIENCE.as_secs(), bollard::API_DEFAULT_VERSION).map_err(problem)
}

/// The HTTP status of the engine's answer, if there was one.
fn status(error: &Error) -> Option<u16> {
    match error {
        Error::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

/// Docker, connected to with the first request.
pub struct DockerEngine {
    socket: PathBuf,
    client: OnceLock<Docker>,
}

impl DockerEngine {
    /// The engine behind this socket, which does not have to be there yet.
    pub fn new(socket: &Path) -> Self {
        Self { socket: socket.to_owned(), client: OnceLock::new() }
    }

    fn docker(&self) -> Result<&Docker, Problem> {
        if let Some(docker) = self.client.get() {
            return Ok(docker);
        }
        let docker = connect(&self.socket)?;
        Ok(self.client.get_or_init(|| docker))
    }
}

#[async_trait]
impl Engine for DockerEngine {
    async fn version(&self) -> Result<SystemVersion, Problem> {
        self.docker()?.version().await.map_err(problem)
    }

    async fn info(&self) -> Result<SystemInfo, Problem> {
        self.docker()?.info().await.map_err(problem)
    }

    async fn image(&self, reference: &str) -> Result<Option<ImageInspect>, Problem> {
        self.docker()?.inspect_image(reference).await.or_gone()
    }

    async fn container(&self, name: &str) -> Result<Option<ContainerInspectResponse>, Problem> {
        self.docker()?.inspect_container(name, None).await.or_gone()
    }

    async fn containers(&self, filters: &Filters) -> Result<Vec<ContainerSummary>, Problem> {
        let options = ListContainersOptionsBuilder::default().all(true).filters(filters).build();
        self.docker()?.list_containers(Some(options)).await.map_err(problem)
    }

    async fn create(&self, name: &str, body: ContainerCreateBody) -> Result<String, Problem> {
        let options = CreateContainerOptionsBuilder::default().name(name).build();
        self.docker()?.create_container(Some(options), body).await.map(|made| made.id).map_err(problem)
    }

    async fn start(&self, id: &str) -> Result<(), Problem> {
        self.docker()?.start_container(id, None).await.map_err(problem)
    }

    async fn stop(&self, id: &str) -> Result<(), Problem> {
        let options = StopContainerOptionsBuilder::default().t(0).build();
        match self.docker()?.stop_container(id, Some(options)).await {
            // It is already stopped.
            Err(error) if status(&error) == Some(304) => Ok(()),
            done => done.map_err(problem),
        }
    }

    async fn restart(&self, id: &str) -> Result<(), Problem> {
        let options = RestartContainerOptionsBuilder::default().t(0).build();
        self.docker()?.restart_container(id, Some(options)).await.map_err(problem)
    }

    async fn pause(&self, id: &str) -> Result<(), Problem> {
        self.docker()?.pause_container(id).await.map_err(problem)
    }

    async fn unpause(&self, id: &str) -> Result<(), Problem> {
        self.docker()?.unpause_container(id).await.map_err(problem)
    }

    async fn rename(&self, id: &str, name: &str) -> Result<(), Problem> {
        let options = RenameContainerOptionsBuilder::default().name(name).build();
        self.docker()?.rename_container(id, options).await.map_err(problem)
    }

    async fn remove(&self, id: &str) -> Result<(), Problem> {
        let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
        self.docker()?.remove_container(id, Some(options)).await.map_err(problem)
    }

    async fn attach(&self, id: &str, input: bool) -> Result<Streams, Problem> {
        let options = AttachContainerOptionsBuilder::default().stream(true).stdin(input).stdout(true).stderr(!input);
        let attached = self.docker()?.attach_container(id, Some(options.build())).await.map_err(problem)?;
        let pieces = attached.output.take_while(|piece| std::future::ready(piece.is_ok()));
        let output = pieces.filter_map(async |piece| match piece {
            Ok(LogOutput::StdOut { message }) => Some(Output::Stdout(message.into())),
            Ok(LogOutput::StdErr { message }) => Some(Output::Stderr(message.into())),
            Ok(LogOutput::StdIn { .. } | LogOutput::Console { .. }) | Err(_) => None,
        });
        Ok(Streams { input: attached.input, output: Box::pin(output) })
    }

    async fn put(&self, id: &str, directory: &str, tar: Vec<u8>) -> Result<(), Problem> {
        let options = UploadToContainerOptionsBuilder::default().path(directory).build();
        let body = bollard::body_full(tar.into());
        self.docker()?.upload_to_container(id, Some(options), body).await.map_err(problem)
    }

    async fn get(&self, id: &str, path: &str, most: usize) -> Result<Option<Vec<u8>>, Problem> {
        let options = DownloadFromContainerOptionsBuilder::default().path(path).build();
        let mut pieces = self.docker()?.download_from_container(id, Some(options));
        let mut tar = Vec::new();
        while tar.len() <= most {
            match pieces.next().await {
                Some(Ok(piece)) => tar.extend_from_slice(&piece),
                Some(Err(error)) if is_gone(&error) => return Ok(None),
                Some(Err(error)) => return Err(problem(error)),
                None => break,
            }
        }
        Ok(Some(tar))
    }

    async fn orders(&self, id: &str) -> Result<Vec<EventMessage>, Problem> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() + 1;
        let words = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
        let filters =
            Filters::from([("container".to_owned(), words(&[id])), ("event".to_owned(), words(&["start", "kill"]))]);
        let options = EventsOptionsBuilder::default().since("0").until(&now.to_string()).filters(&filters).build();
        Ok(self.docker()?.events(Some(options)).filter_map(async |event| event.ok()).collect().await)
    }

    async fn create_volume(&self, volume: VolumeCreateRequest) -> Result<Volume, Problem> {
        self.docker()?.create_volume(volume).await.map_err(problem)
    }

    async fn volume(&self, name: &str) -> Result<Option<Volume>, Problem> {
        self.docker()?.inspect_volume(name).await.or_gone()
    }

    async fn volumes(&self, filters: &Filters) -> Result<Vec<Volume>, Problem> {
        let options = ListVolumesOptionsBuilder::default().filters(filters).build();
        Ok(self.docker()?.list_volumes(Some(options)).await.map_err(problem)?.volumes.unwrap_or_default())
    }

    async fn remove_volume(&self, name: &str) -> Result<(), Problem> {
        self.docker()?.remove_volume(name, None::<RemoveVolumeOptions>).await.map_err(problem)
    }

    async fn create_network(&self, network: NetworkCreateRequest) -> Result<(), Problem> {
        self.docker()?.create_network(network).await.map(drop).map_err(problem)
    }

    async fn network(&self, name: &str) -> Result<Option<NetworkInspect>, Problem> {
        self.docker()?.inspect_network(name, None).await.or_gone()
    }

    async fn networks(&self, filters: &Filters) -> Result<Vec<Network>, Problem> {
        let options = ListNetworksOptionsBuilder::default().filters(filters).build();
        self.docker()?.list_networks(Some(options)).await.map_err(problem)
    }

    async fn remove_network(&self, id: &str) -> Result<(), Problem> {
        self.docker()?.remove_network(id).await.map_err(|error| match status(&error) {
            // Status of a volume or network that a container still uses.
            Some(403) => Problem::new(ProblemKind::Conflict, problem(error).text),
            _ => problem(error),
        })
    }

    async fn connect(&self, network: &str, request: NetworkConnectRequest) -> Result<(), Problem> {
        self.docker()?.connect_network(network, request).await.map_err(problem)
    }
}

/// Whether the engine answered that there is no such thing.
pub fn is_gone(error: &Error) -> bool {
    status(error) == Some(404)
}

/// Whether the engine answered with a conflict.
pub fn is_conflict(error: &Error) -> bool {
    status(error) == Some(409)
}

/// The error translated for a person.
pub fn problem(error: Error) -> Problem {
    let text = chain(&error);
    if text.contains("no space left on device") {
        return Problem::unavailable(format!(
            "the engine's disk is full ({text}): free some space (`docker system df` shows what takes it)"
        ));
    }
    let kind = match status(&error) {
        Some(404) => ProblemKind::NotFound,
        Some(400) => ProblemKind::Refused,
        Some(409) => ProblemKind::Conflict,
        Some(503) => ProblemKind::Unavailable,
        Some(_) => ProblemKind::Engine,
        None if is_silence(&error) => {
            return Problem::unavailable(format!(
                "the container engine does not answer ({text}): start it (`systemctl start docker`), or see that the \
                 broker's user may open its socket"
            ));
        }
        None => ProblemKind::Engine,
    };
    match error {
        Error::DockerResponseServerError { message, .. } => Problem::new(kind, format!("the engine said: {message}")),
        _ => Problem::new(kind, format!("the engine's answer could not be used: {text}")),
    }
}

/// The error with its causes, because the outermost one alone only says "connect".
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = inner.source();
    }
    text
}

/// Whether no answer came: down, not permitted, broken off, or too slow.
fn is_silence(error: &Error) -> bool {
    !matches!(
        error,
        Error::JsonDataError { .. }
            | Error::JsonSerdeError { .. }
            | Error::StrParseError { .. }
            | Error::StrFmtError { .. }
    )
}

/// Turns a missing object into a result of its own.
pub trait Missing<T> {
    /// `None` instead of 404.
    fn or_gone(self) -> Result<Option<T>, Problem>;
}

impl<T> Missing<T> for Result<T, Error> {
    fn or_gone(self) -> Result<Option<T>, Problem> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(problem(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(status_code: u16) -> Problem {
        problem(Error::DockerResponseServerError { status_code, message: "so".into() })
    }

    #[test]
    fn the_engines_answers_keep_their_meaning() {
        assert_eq!(said(404).kind, ProblemKind::NotFound);
        assert_eq!(said(409).kind, ProblemKind::Conflict);
        assert_eq!(said(400).kind, ProblemKind::Refused);
        assert_eq!(said(500), Problem::new(ProblemKind::Engine, "the engine said: so"));
    }

    #[test]
    fn a_full_disk_is_no_verdict() {
        let message = "write /var/lib/x: no space left on device".into();
        let problem = problem(Error::DockerResponseServerError { status_code: 500, message });
        assert!(problem.kind == ProblemKind::Unavailable && problem.text.contains("docker system df"), "{problem}");
    }

    #[tokio::test]
    async fn a_socket_that_nobody_serves_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("docker.sock");
        drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
        let problem = problem(connect(&socket).unwrap().ping().await.unwrap_err());
        assert!(problem.kind == ProblemKind::Unavailable && problem.text.contains("refused"), "{problem}");
    }

    #[tokio::test]
    async fn an_engine_that_is_down_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let docker = connect(&dir.path().join("docker.sock"));
        let problem = match docker {
            Ok(docker) => problem(docker.ping().await.unwrap_err()),
            Err(problem) => problem,
        };
        assert_eq!(problem.kind, ProblemKind::Unavailable, "{problem}");
        assert!(problem.text.contains("systemctl start docker"), "{problem}");
    }
}
