//! The images of toolchains: built, listed, pruned, for an operator at a terminal.
//!
//! Owns the data of the profiles (`profile.rs`), their build from Debian's packages (`build.rs`), what is taken from official images or
//! from this machine instead (`kind.rs`, `host.rs`, `kept.rs`, `brought.rs`) and which images are ours (`stock.rs`). It talks to
//! the engine as whoever started it may; a running broker has no request for any of this, so nothing that a task says can
//! build or remove an image. Must not run anything of a project. Tests: beside each file and
//! `tests/docker/toolchains.rs`.

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
pub use host::{Found, find as find_on_host};
pub use kind::{OfficialToolchain, kind, kinds, suits};
pub use profile::{BASE, DOCKERFILE, Profile, REPOSITORY, profile, profiles};
pub use stock::{Image, Pruned, Stock};

/// What the images are made from unless somebody says otherwise; `compose/images/base.sh` makes it.
pub const DEFAULT_BASE: &str = "caisson-base:local";

/// What an image was made of; `build.sh` sets it too.
const CONTENT: &str = "caisson.content";
/// Where its toolchain is from, unless it is of Debian's packages: `host`, or an official image.
const FROM: &str = "caisson.from";
/// Which image it is: its reference when it was made.
const IMAGE: &str = "caisson.image";

/// The engine's images, for an operator.
pub struct Toolchains {
    docker: Docker,
}

impl Toolchains {
    /// Looks whether the engine behind this socket answers.
    ///
    /// # Errors
    /// When it does not, with what to do.
    pub async fn connect(engine: &Path) -> Result<Self, Problem> {
        let docker = docker::connect(engine)?;
        docker.ping().await.map_err(problem)?;
        Ok(Self { docker })
    }

    /// The image that others are made from.
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
