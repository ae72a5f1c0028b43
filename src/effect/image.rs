//! Which image a task's sandbox is made from: what the pinned `.caisson.toml` asks for, otherwise what the files of the base tell.
//!
//! What a project asks for it gets or the task does not start; what was only guessed may fall back to the operator's own image,
//! and the next review says so. Tests: below and `tests/stories/toolchains.rs`.

use super::{Performer, Repository, Trouble};
use crate::config::pick::Pick;
use crate::config::process::Sandbox;
use crate::config::project::Effective;
use crate::sandbox::{SandboxError, detect};
use broker::toolchain::{BASE, REPOSITORY, profiles};
use domain::Commit;

/// An image, and what a person should know about the choice.
pub(super) struct Chosen {
    pub image: String,
    pub note: Option<String>,
}

impl Performer {
    pub(super) async fn image(
        &self,
        repository: &Repository,
        base: &Commit,
        effective: &Effective,
    ) -> Result<Chosen, Trouble> {
        match &effective.image {
            Pick::Refused(sentence) => Err(Trouble::blocked(sentence)),
            Pick::Asked { image, toolchain } => {
                if self.there(image).await? {
                    return Ok(Chosen { image: image.clone(), note: None });
                }
                Err(Trouble::blocked(absent(image, toolchain.as_deref())))
            }
            Pick::Open => self.guessed(repository, base).await,
        }
    }

    /// The toolchain that the files at the root tell of, where its image is there.
    async fn guessed(&self, repository: &Repository, base: &Commit) -> Result<Chosen, Trouble> {
        let sandbox = &self.config.sandbox;
        let root = self.repos.root(&repository.key, base).await?;
        let (image, note) = match told(sandbox, &root) {
            Some(told) if self.there(told.image).await? => (told.image, None),
            Some(told) => (sandbox.image.as_str(), Some(fell_back(&told, &sandbox.image))),
            None => (sandbox.image.as_str(), None),
        };
        Ok(Chosen { image: image.to_owned(), note })
    }

    /// Whether a sandbox can be made from it. One that the broker does not list is as good as not there.
    async fn there(&self, image: &str) -> Result<bool, Trouble> {
        match self.sandboxes.image(image).await {
            Ok(found) => Ok(found.is_some()),
            Err(SandboxError::Refused(why)) => {
                tracing::warn!(image, why, "an image that tasks may pick is not to be had");
                Ok(false)
            }
            Err(other) => Err(other.into()),
        }
    }
}

/// A toolchain that is offered, and the file that tells of it.
pub(crate) struct Told<'a> {
    pub name: &'static str,
    pub by: &'static str,
    pub image: &'a str,
}

/// What these files at the root of a repository tell, where nothing is asked for.
pub(crate) fn told<'a>(sandbox: &'a Sandbox, root: &[String]) -> Option<Told<'a>> {
    let (name, by) = detect::toolchain(root).filter(|_| guesses(&sandbox.image))?;
    let (_, image) = sandbox.offered().find(|(offered, _)| *offered == name)?;
    Some(Told { name, by, image })
}

/// An image of one's own says that it holds what tasks need: then nothing is guessed.
fn guesses(image: &str) -> bool {
    image.strip_prefix(REPOSITORY).is_some_and(|rest| rest.starts_with(':'))
}

/// How an image comes to be there.
fn cure(image: &str) -> String {
    match profiles().find(|it| it.tag() == image) {
        Some(profile) => format!("build it with caisson image build {}", profile.name),
        None => format!("bring the image {image} to the engine"),
    }
}

fn absent(image: &str, toolchain: Option<&str>) -> String {
    let asked = match toolchain {
        Some(BASE) | None => format!("the image {image}"),
        Some(name) => format!("the toolchain {name}, image {image}"),
    };
    format!(
        "the repository asks for {asked}, and the engine has no such image, or the broker was started without it: {} \
         (caisson doctor shows which)",
        cure(image)
    )
}

fn fell_back(told: &Told<'_>, usual: &str) -> String {
    let Told { name, by, image } = told;
    format!(
        "{by} tells of the toolchain {name}, whose image is not there; this task works in {usual} instead. For later tasks, {}.",
        cure(image)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_of_ones_own_is_not_second_guessed() {
        assert!(guesses("caisson-sandbox:base") && guesses("caisson-sandbox:local"));
        assert!(!guesses("team/builder:3") && !guesses("caisson-sandbox-mine:1"));
    }

    #[test]
    fn what_is_missing_is_named_with_the_command_that_makes_it() {
        let said = absent("caisson-sandbox:rust", Some("rust"));
        assert!(said.contains("toolchain rust") && said.contains("caisson image build rust"), "{said}");
        let said = absent("team/rust:1", Some("rust"));
        assert!(said.contains("bring the image team/rust:1") && !said.contains("image build"), "{said}");
        let said = fell_back(&Told { name: "go", by: "go.mod", image: "caisson-sandbox:go" }, "caisson-sandbox:base");
        assert!(said.contains("go.mod") && said.contains("caisson image build go"), "{said}");
    }
}
