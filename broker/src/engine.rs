//! The engine's client, and its errors in our words. Nothing else opens the engine's socket. Tests: below.

use std::path::Path;
use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error;
use protocol::broker::{Problem, ProblemKind};

/// How long one call may take; attached streams are not bound by it.
const PATIENCE: Duration = Duration::from_secs(120);

/// Opens nothing yet: the engine may be down now and up later.
pub fn connect(socket: &Path) -> Result<Docker, Problem> {
    let path = socket.to_str().ok_or_else(|| Problem::refused("the path of the engine's socket is not UTF-8"))?;
    if !path.starts_with('/') {
        return Err(Problem::refused(format!("the engine's socket {path:?} must be an absolute path on this machine")));
    }
    Docker::connect_with_unix(path, PATIENCE.as_secs(), bollard::API_DEFAULT_VERSION).map_err(problem)
}

/// The engine's status, when it answered at all.
pub fn status(error: &Error) -> Option<u16> {
    match error {
        Error::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

/// The engine said that there is no such thing.
pub fn is_gone(error: &Error) -> bool {
    status(error) == Some(404)
}

/// The engine said that it is so already, or that it cannot be now.
pub fn is_conflict(error: &Error) -> bool {
    status(error) == Some(409)
}

/// For a person.
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

/// With its causes: the outermost error alone only says "connect".
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

/// No answer came: down, not permitted, cut, or too slow.
fn is_silence(error: &Error) -> bool {
    !matches!(
        error,
        Error::JsonDataError { .. }
            | Error::JsonSerdeError { .. }
            | Error::StrParseError { .. }
            | Error::StrFmtError { .. }
    )
}

/// Makes "gone" and the like a result of its own.
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
