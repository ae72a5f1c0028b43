//! The images of toolchains: built, listed and pruned by an operator.
//!
//! Owns the profiles' data (`profile.rs`), their build from Debian's packages (`build.rs`), what is taken from official images or this
//! machine instead (`kind.rs`, `host.rs`, `kept.rs`, `brought.rs`) and the list of our images (`stock.rs`). It talks to the engine with the
//! rights of its caller; a running broker has no request for it, so no task can build or remove an image. Must not run anything of a
//! project. Tests: beside each file and `tests/docker/toolchains.rs`.

mod brought;
mod build;
mod host;
mod kept;
mod kind;
mod profile;
mod stock;

use std::path::Path;

use bollard::Docker;
use bollard::models::ImageInspect;
use protocol::broker::{Problem, ProblemKind};

use crate::engine::docker::{self, Missing, problem};
pub use brought::{Origin, tag};
pub use build::{Built, Progress};
pub use host::{HostToolchain, find as find_on_host};
pub use kind::{OfficialToolchain, kind, kinds, suits};
pub use profile::{BASE, DOCKERFILE, Profile, REPOSITORY, profile, profiles};
pub use stock::{Image, Pruned, StoredImages};

/// Default base image, made by `compose/images/base.sh`.
pub const DEFAULT_BASE: &str = "caisson-base:local";

/// Label with the hash of an image's content, also set by `build.sh`.
const CONTENT: &str = "caisson.content";
/// Label with the source of its toolchain if that is not Debian's packages: `host`, or an official image.
const FROM: &str = "caisson.from";
/// Label with the reference that the image got when it was made.
const IMAGE: &str = "caisson.image";

/// The engine's images, managed by an operator.
pub struct Toolchains {
    docker: Docker,
}

impl Toolchains {
    /// Connects to the engine behind this socket.
    ///
    /// # Errors
    /// When the engine does not answer, with what to do.
    pub async fn connect(engine: &Path) -> Result<Self, Problem> {
        let docker = docker::connect(engine)?;
        docker.ping().await.map_err(problem)?;
        Ok(Self { docker })
    }

    /// Id of the base image.
    async fn base(&self, reference: &str) -> Result<String, Problem> {
        match self.found(reference).await?.and_then(|it| it.id) {
            Some(id) => Ok(id),
            None => Err(Problem::new(ProblemKind::NotFound, no_base(reference))),
        }
    }

    async fn found(&self, reference: &str) -> Result<Option<ImageInspect>, Problem> {
        self.docker.inspect_image(reference).await.or_gone()
    }
}

fn no_base(reference: &str) -> String {
    if reference == DEFAULT_BASE {
        return format!(
            "the engine has no {reference} to start from: `compose/images/base.sh` of the source makes it without a \
             registry (as root); or pull a Debian yourself and name it, `docker pull debian:bookworm-slim` and \
             `--base debian:bookworm-slim`"
        );
    }
    format!(
        "the engine has no {reference} to start from: `docker pull {reference}`, nothing is pulled here; or leave out --base"
    )
}

fn label<'a>(found: &'a ImageInspect, key: &str) -> Option<&'a str> {
    found.config.as_ref()?.labels.as_ref()?.get(key).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_base_says_how_to_get_one() {
        assert!(no_base(DEFAULT_BASE).contains("compose/images/base.sh"));
        assert!(no_base("debian:x").contains("docker pull debian:x"));
    }

    #[tokio::test]
    async fn an_engine_that_is_down_says_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let problem = Toolchains::connect(&dir.path().join("docker.sock")).await.err().unwrap();
        assert!(
            problem.kind == ProblemKind::Unavailable && problem.text.contains("systemctl start docker"),
            "{problem}"
        );
    }
}
