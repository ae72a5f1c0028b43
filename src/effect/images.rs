//! Chooses the image of a task's sandbox: what the pinned `.caisson.toml` asks for, otherwise what the files at the base indicate.
//!
//! If what a project asks for or needs is not available, the task does not start, and a person is told what to type. The files only choose
//! among the images that the operator listed. Tests: below and `tests/stories/toolchains.rs`.

use super::policy::{Policy, RepositoryPolicy};
use super::repository::{Repositories, request};
use crate::config::process::Sandbox;
use crate::config::project::{Granted, Pick};
use crate::git::{GitError, Repos};
use crate::sandbox::detect::unversioned;
use crate::sandbox::need::{self, Need};
use crate::sandbox::project_files::ProjectFiles;
use crate::sandbox::{SandboxError, Sandboxes};
use crate::trouble::Trouble;
use broker::toolchain::{BASE, REPOSITORY, profiles};
use domain::{Commit, Task};
use std::sync::Arc;

/// An image, and a note about the choice for the first review.
pub(crate) struct Chosen {
    pub image: String,
    pub note: Option<String>,
    /// The offered toolchain and the file that indicated it, if no image was asked for.
    pub by_file: Option<(String, &'static str)>,
}

/// Chooses the images of tasks.
pub(super) struct Images {
    pub sandboxes: Arc<Sandboxes>,
    pub repositories: Arc<Repositories>,
}

impl Images {
    pub(super) async fn choose(&self, task: &Task, policy: &Policy<'_>) -> Result<Chosen, Trouble> {
        let Policy { repository, operators, .. } = policy;
        let repos = &self.repositories.repos;
        let choice = Choice { sandboxes: &self.sandboxes, repos, sandbox: operators.sandbox, files: None };
        let pick = request(task)?.terms.toolchain.as_ref().map(|name| named(&operators.granted, name));
        let test = policy.effective.test.as_deref();
        choice.of(&repository.key, &policy.base, pick.as_ref().unwrap_or(&policy.effective.image), test).await
    }

    /// The image that the task began with; for a task of an older version it is chosen again.
    pub(super) async fn of_task(&self, task: &Task, policy: &Policy<'_>) -> Result<String, Trouble> {
        let Some(image) = &task.image else { return Ok(self.choose(task, policy).await?.image) };
        listed(task, &policy.operators)?;
        Ok(image.clone())
    }
}

/// An error if the operator removed the task's image from the list since the task began.
pub(super) fn listed(task: &Task, operators: &RepositoryPolicy<'_>) -> Result<(), Trouble> {
    let key = &request(task)?.repository;
    match &task.image {
        Some(image) if !operators.sandbox.all_images().contains(image) => Err(Trouble::blocked(format!(
            "the task was begun in the image {image}, which is not listed for {key} any more: list it again, or end the task"
        ))),
        _ => Ok(()),
    }
}

/// The name of the toolchain that was asked for: at the task's start, otherwise by the project file.
pub(super) fn toolchain(task: &Task, policy: &Policy<'_>) -> Option<String> {
    let at_start = task.request.as_ref().and_then(|request| request.terms.toolchain.clone());
    at_start.or_else(|| match &policy.effective.image {
        Pick::Asked { toolchain, .. } => toolchain.clone(),
        Pick::Refused(_) | Pick::Open => None,
    })
}

/// The toolchain named at the task's start, if it is still offered.
fn named(granted: &Granted, name: &str) -> Pick {
    match granted.toolchain(name) {
        Some(image) => Pick::Asked { image, toolchain: Some(name.to_owned()) },
        None => Pick::Refused(format!(
            "this task was begun with `--toolchain {name}`, which is not offered any more ({}): end it, or list that again",
            granted.offered()
        )),
    }
}

/// Where an image is looked for.
pub(crate) struct Choice<'a> {
    pub sandboxes: &'a Sandboxes,
    pub repos: &'a Repos,
    pub sandbox: &'a Sandbox,
    /// The project's files, if they were read already.
    pub files: Option<&'a ProjectFiles>,
}

impl Choice<'_> {
    /// The image for a commit of a repository, given what its project file asks for, and the test command, if that is named.
    pub(crate) async fn of(
        &self,
        key: &str,
        base: &Commit,
        pick: &Pick,
        test: Option<&str>,
    ) -> Result<Chosen, Trouble> {
        match pick {
            Pick::Refused(sentence) => Err(Trouble::blocked(sentence)),
            Pick::Asked { image, toolchain } => {
                if self.there(image).await?.is_some() {
                    return Ok(plainly(image));
                }
                Err(Trouble::blocked(absent(image, toolchain.as_deref())))
            }
            Pick::Open => self.chosen_by_files(key, base, test).await,
        }
    }

    /// The image by the project's files, if its project file asks for nothing.
    async fn chosen_by_files(&self, key: &str, base: &Commit, test: Option<&str>) -> Result<Chosen, Trouble> {
        let from_files = match self.files {
            Some(files) => indicated(self.sandbox, files, test),
            None => read(self.repos, key, base, self.sandbox, test).await?,
        };
        let candidates = match from_files {
            FromFiles::Nothing => return Ok(plainly(&self.sandbox.image)),
            FromFiles::Image { image, by } if self.there(&image).await?.is_none() => {
                return Err(Trouble::blocked(unready(&image, by)));
            }
            FromFiles::Image { image, .. } => return Ok(plainly(&image)),
            FromFiles::Toolchain { need, images } => {
                let mut candidates = Vec::new();
                for (name, image) in images {
                    let found = self.there(&image).await?;
                    candidates.push(Candidate { name, image, found });
                }
                (need, candidates)
            }
        };
        let (need, candidates) = candidates;
        match best(&need, &candidates) {
            Some(best) => {
                let note = need.version.as_ref().filter(|_| best.version().is_none()).map(|version| {
                    format!(
                        "{} asks for {} {}; {} does not say which it has.",
                        version.by, need.toolchain, version.text, best.image
                    )
                });
                Ok(Chosen { image: best.image.clone(), note, by_file: Some((best.name.clone(), need.by)) })
            }
            None => Err(Trouble::blocked(lacking(&need, &candidates))),
        }
    }

    /// The version that an image declares, or none if no sandbox can be made from it. An image that the broker refuses counts as missing.
    async fn there(&self, image: &str) -> Result<Option<ToolchainVersion>, Trouble> {
        match self.sandboxes.image(image).await {
            Ok(found) => Ok(found.map(|found| found.version)),
            Err(SandboxError::Refused(why)) => {
                tracing::warn!(image, why, "an image that tasks may pick is not to be had");
                Ok(None)
            }
            Err(other) => Err(other.into()),
        }
    }
}

fn plainly(image: &str) -> Chosen {
    Chosen { image: image.to_owned(), note: None, by_file: None }
}

/// The version that an image declares, if any.
type ToolchainVersion = Option<String>;

/// What the files of a repository indicate, within what the operator offers.
pub(crate) enum FromFiles {
    Nothing,
    /// An image of the operator's list, by name.
    Image {
        image: String,
        by: &'static str,
    },
    /// The offered images of a toolchain, by their names in `[sandbox.toolchains]`.
    Toolchain {
        need: Need,
        images: Vec<(String, String)>,
    },
}

/// Reads the files of a commit that indicate a toolchain. `test` is the project's test command, if that is named.
///
/// # Errors
/// When the commit that is to be read is missing. A file that is too large is ignored.
pub(crate) async fn read(
    repos: &Repos,
    key: &str,
    commit: &Commit,
    sandbox: &Sandbox,
    test: Option<&str>,
) -> Result<FromFiles, GitError> {
    if !guesses(&sandbox.image) {
        return Ok(FromFiles::Nothing);
    }
    Ok(indicated(sandbox, &ProjectFiles::read(repos, key, commit).await?, test))
}

fn indicated(sandbox: &Sandbox, files: &ProjectFiles, test: Option<&str>) -> FromFiles {
    match guesses(&sandbox.image) {
        true => from_files(sandbox, &files.names, &|name| files.text(name), test),
        false => FromFiles::Nothing,
    }
}

fn from_files(
    sandbox: &Sandbox,
    files: &[String],
    text: &dyn Fn(&str) -> Option<String>,
    test: Option<&str>,
) -> FromFiles {
    if let Some((image, by)) = need::devcontainer(text)
        && sandbox.all_images().contains(&image)
    {
        return FromFiles::Image { image, by };
    }
    let Some(need) = need::need(files, text, test) else { return FromFiles::Nothing };
    let offered = sandbox.offered().filter(|(name, _)| unversioned(name) == need.toolchain);
    let images: Vec<_> = offered.map(|(name, image)| (name.to_owned(), image.to_owned())).collect();
    if images.is_empty() { FromFiles::Nothing } else { FromFiles::Toolchain { need, images } }
}

/// An offered image of the needed toolchain.
struct Candidate {
    name: String,
    image: String,
    /// The image's version as in [`ToolchainVersion`]; `None` if the image is missing.
    found: Option<ToolchainVersion>,
}

impl Candidate {
    /// The version that the image declares; otherwise that of its name.
    fn version(&self) -> Option<&str> {
        let named = self.name.split_once('@').map(|(_, version)| version);
        self.found.as_ref().and_then(|has| has.as_deref()).or(named)
    }
}

/// The best available candidate: one whose version is known to fit, otherwise one without a known version. If no version is asked for, the
/// one offered under the toolchain's own name comes first.
fn best<'a>(need: &Need, candidates: &'a [Candidate]) -> Option<&'a Candidate> {
    let there = || candidates.iter().filter(|it| it.found.is_some());
    let plain = || there().find(|it| it.name == need.toolchain);
    let Some(wanted) = &need.version else { return plain().or_else(|| there().next_back()) };
    let suits = |it: &&Candidate| it.version().is_some_and(|has| wanted.suits(has));
    plain().filter(suits).or_else(|| there().find(suits)).or_else(|| there().find(|it| it.version().is_none()))
}

/// Whether `caisson image build` makes this image.
fn is_ours(image: &str) -> bool {
    image.strip_prefix(REPOSITORY).is_some_and(|rest| rest.starts_with(':'))
}

/// Whether the project's files are consulted: not if the operator's default image is one of their own, which is expected to contain what tasks need.
fn guesses(image: &str) -> bool {
    is_ours(image)
}

/// What to type to get a missing image.
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
        "this task asks for {asked}, and the engine has no such image, or the broker was started without it: {} \
         (caisson doctor shows which)",
        cure(image)
    )
}

fn unready(image: &str, by: &str) -> String {
    format!("{by} names the image {image}, which is listed and not there: {}", cure(image))
}

/// What to type if no offered image fits.
fn lacking(need: &Need, candidates: &[Candidate]) -> String {
    let Need { toolchain, by, version } = need;
    let has = candidates.iter().filter(|it| it.found.is_some());
    let has: Vec<_> = has.map(|it| format!("{} is {}", it.image, it.version().unwrap_or("of some version"))).collect();
    let what = match version {
        None => format!("{by} tells of the toolchain {toolchain}"),
        Some(version) => {
            let later = if version.or_later { " or later" } else { "" };
            format!("{} asks for {toolchain} {}{later}", version.by, version.text)
        }
    };
    let there = if has.is_empty() {
        "no image of it is there".to_owned()
    } else {
        format!("what is there is another: {}", has.join(", "))
    };
    let named = |it: &&Candidate| match version {
        Some(version) => it.version().is_some_and(|has| version.suits(has)),
        None => it.name == *toolchain,
    };
    let known = profiles().any(|it| it.name == *toolchain);
    let cure = match (candidates.iter().find(|it| it.found.is_none() && named(it)), version) {
        (Some(listed), _) if !is_ours(&listed.image) => cure(&listed.image),
        (_, Some(version)) if known => {
            format!(
                "build it with `caisson image build {toolchain}@{}` (from the official image, or with --from-host from what this machine has)",
                version.text
            )
        }
        (_, None) if known => {
            format!(
                "build it with `caisson image build {toolchain}` (Debian's), or `caisson image build {toolchain} --from-host`"
            )
        }
        _ => format!("list an image of it under [sandbox.toolchains], as {toolchain}"),
    };
    format!(
        "{what}, and {there}; {cure}, or write toolchain = \"base\" into .caisson.toml on the default branch to work without it"
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
    }

    fn needed(version: Option<(&str, bool)>) -> Need {
        let version = version.map(|(text, or_later)| need::Version { text: text.into(), by: "go.mod", or_later });
        Need { toolchain: "go", by: "go.mod", version }
    }

    fn candidate(name: &str, image: &str, found: Option<Option<&str>>) -> Candidate {
        Candidate { name: name.into(), image: image.into(), found: found.map(|has| has.map(str::to_owned)) }
    }

    #[test]
    fn the_image_whose_version_suits_is_taken_and_one_that_does_not_say_only_after_it() {
        let all = [
            candidate("go", "caisson-sandbox:go", Some(Some("1.19.8"))),
            candidate("go@1.22", "caisson-sandbox:go-1.22", Some(Some("1.22.4"))),
            candidate("go@1.26", "team/go", Some(None)),
            candidate("go@tip", "gone", None),
        ];
        let chosen = |version| best(&needed(version), &all).map(|it| it.name.as_str());
        assert_eq!(chosen(None), Some("go"), "its own name, where nothing more is asked");
        assert_eq!(chosen(Some(("1.18", true))), Some("go"));
        assert_eq!(chosen(Some(("1.22", true))), Some("go@1.22"));
        assert_eq!(chosen(Some(("1.26.1", true))), Some("go@1.26"), "as its name says");
        assert_eq!(chosen(Some(("1.27", true))), None);
        let unnamed = [candidate("go", "team/go", Some(None))];
        assert_eq!(best(&needed(Some(("1.27", true))), &unnamed).map(|it| it.image.as_str()), Some("team/go"));
    }

    #[test]
    fn what_is_lacking_is_said_with_what_to_type() {
        let none = [candidate("go", "caisson-sandbox:go", None)];
        let said = lacking(&needed(None), &none);
        assert!(
            said.contains("go.mod tells of the toolchain go") && said.contains("`caisson image build go`"),
            "{said}"
        );
        assert!(said.contains("caisson image build go --from-host"), "{said}");
        let old = [candidate("go", "caisson-sandbox:go", Some(Some("1.19.8")))];
        let said = lacking(&needed(Some(("1.22", true))), &old);
        for words in ["asks for go 1.22 or later", "caisson-sandbox:go is 1.19.8", "`caisson image build go@1.22`"] {
            assert!(said.contains(words), "{words}: {said}");
        }
        let own = [candidate("go", "team/go:1", None)];
        assert!(lacking(&needed(None), &own).contains("bring the image team/go:1"));
    }

    #[test]
    fn files_choose_among_what_the_operator_listed() {
        let config = |text: &str| {
            crate::config::Process::from_layers(std::path::Path::new("x"), text, &|_| None).unwrap().sandbox
        };
        let sandbox =
            config("[sandbox]\nimages = [\"team/b:3\"]\n[sandbox.toolchains]\n\"rust@1.95\" = \"r:1\"\nnode = \"\"\n");
        let from_files = |files: &[(&str, &str)]| {
            let root: Vec<String> = files.iter().map(|(name, _)| (*name).to_owned()).collect();
            let text = |name: &str| files.iter().find(|(it, _)| *it == name).map(|(_, text)| (*text).to_owned());
            from_files(&sandbox, &root, &text, None)
        };
        let FromFiles::Toolchain { images, .. } = from_files(&[("Cargo.toml", "")]) else { panic!("rust") };
        assert_eq!(images.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["rust", "rust@1.95"]);
        assert!(matches!(from_files(&[("package.json", "")]), FromFiles::Nothing), "not offered");
        let named = |image: &str| format!("{{\"image\": \"{image}\"}}");
        let listed = from_files(&[("Cargo.toml", ""), (".devcontainer.json", &named("team/b:3"))]);
        assert!(matches!(listed, FromFiles::Image { image, .. } if image == "team/b:3"));
        let foreign = from_files(&[("Cargo.toml", ""), (".devcontainer.json", &named("evil/x:1"))]);
        assert!(matches!(foreign, FromFiles::Toolchain { .. }), "what nobody listed is not taken");
    }
}
