//! Builds the image of one profile, unless it exists with the same content. Tests: below and `tests/docker/toolchains.rs`.

use std::collections::HashMap;

use bollard::errors::Error;
use bollard::models::BuildInfo;
use bollard::query_parameters::{BuildImageOptionsBuilder, TagImageOptionsBuilder};
use futures_util::{Stream, StreamExt, stream};
use protocol::broker::{Problem, ProblemKind, TOOLCHAIN_VERSION};

use tokio_util::bytes::Bytes;

use super::kind::{kind, version_in};
use super::profile::{BASE, DOCKERFILE, Profile, REPOSITORY};
use super::{CONTENT, Toolchains, label};
use crate::engine::docker::problem;
use crate::supply::archive;

/// The most lines of the builder's output in an error.
const TAIL: usize = 12;

/// Progress of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The builder begins a step of the Dockerfile.
    Step {
        /// Number of the step, counted from 1.
        number: u32,
        /// How many steps there are.
        of: u32,
        /// Instruction of the step, on one line.
        what: String,
    },
    /// A line of a step's output. Untrusted: escape before showing.
    Output(String),
}

/// The image of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// Reference of the image, such as `caisson-sandbox:rust`.
    pub tag: String,
    /// The version that its first tool printed.
    pub version: Option<String>,
    /// The engine's id of the image, `sha256:…`.
    pub id: String,
    /// Size in bytes.
    pub size: u64,
    /// Whether it existed already with the same content, so that nothing was done.
    pub before: bool,
}

impl Toolchains {
    /// Builds `profile` on the image `base`; with `fresh` even if it exists, to get newer packages.
    ///
    /// # Errors
    /// A missing base, an unreachable engine, or a failed step, with the end of its output.
    pub async fn build(
        &self,
        profile: Profile,
        base: &str,
        fresh: bool,
        say: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Built, Problem> {
        let base_id = self.base(base).await?;
        let content = profile.content(&base_id);
        let tag = profile.tag();
        if !fresh && let Some(built) = self.standing(&tag, &content).await? {
            return Ok(built);
        }
        // The base is given by its id, so that a tag moved meanwhile has no effect.
        let arguments = HashMap::from([
            ("BASE", base_id),
            ("PACKAGES", profile.packages()),
            ("CONTENT", content.clone()),
            ("IMAGE", tag.clone()),
        ]);
        self.make(&tag, &arguments, fresh, alone(DOCKERFILE), say).await?;
        // With a known version, files of a project can choose this image.
        if let Some(kind) = kind(profile.name)
            && let Ok(said) = self.tried(&tag, kind).await
            && let Some(version) = version_in(&said)
        {
            self.label(&tag, &tag, &content, Some(&version), None).await?;
        }
        self.also(profile).await?;
        let built = self.standing(&tag, &content).await?.map(|built| Built { before: false, ..built });
        built.ok_or_else(|| {
            let text = format!("the builder ended without {tag}; `docker system df` shows whether the disk is full");
            Problem::new(ProblemKind::Engine, text)
        })
    }

    /// Builds `tag` from an archive with a Dockerfile.
    pub(super) async fn make(
        &self,
        tag: &str,
        arguments: &HashMap<&str, String>,
        fresh: bool,
        context: impl Stream<Item = std::io::Result<Bytes>> + Send + 'static,
        say: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(), Problem> {
        let options =
            BuildImageOptionsBuilder::default().t(tag).buildargs(arguments).nocache(fresh).rm(true).forcerm(true);
        let context = bollard::body_try_stream(context);
        let mut stream = self.docker.build_image(options.build(), None, Some(context));
        let mut heard = BuildOutput::default();
        while let Some(piece) = stream.next().await {
            match piece {
                Ok(info) => heard.take(info, say),
                Err(Error::DockerStreamError { error }) => heard.failed = Some(error),
                Err(error) => return Err(problem(error)),
            }
        }
        heard.end(tag)
    }

    pub(super) async fn standing(&self, tag: &str, content: &str) -> Result<Option<Built>, Problem> {
        let found = self.found(tag).await?.filter(|it| label(it, CONTENT) == Some(content));
        Ok(found.map(|it| Built {
            version: label(&it, TOOLCHAIN_VERSION).map(str::to_owned),
            tag: tag.to_owned(),
            id: it.id.unwrap_or_default(),
            size: it.size.unwrap_or_default().unsigned_abs(),
            before: true,
        }))
    }

    /// Tags the base profile as `local` too, as compose.yaml and the tests expect.
    async fn also(&self, profile: Profile) -> Result<(), Problem> {
        if profile.name != BASE {
            return Ok(());
        }
        let options = TagImageOptionsBuilder::default().repo(REPOSITORY).tag("local").build();
        self.docker.tag_image(&profile.tag(), Some(options)).await.map_err(problem)
    }
}

/// An archive with only a Dockerfile.
pub(super) fn alone(text: &str) -> impl Stream<Item = std::io::Result<Bytes>> + Send + 'static {
    let bytes = Bytes::from(archive("Dockerfile", text.as_bytes()));
    stream::once(async move { Ok(bytes) })
}

/// Output of a build so far.
#[derive(Default)]
struct BuildOutput {
    /// Beginning of an incomplete line.
    rest: String,
    tail: Vec<String>,
    failed: Option<String>,
}

impl BuildOutput {
    fn take(&mut self, info: BuildInfo, say: &mut (dyn FnMut(Progress) + Send)) {
        if let Some(detail) = info.error_detail {
            self.failed = Some(detail.message.unwrap_or_else(|| "the builder did not say why".into()));
        }
        self.rest.push_str(&info.stream.unwrap_or_default());
        while let Some(at) = self.rest.find('\n') {
            let line: String = self.rest.drain(..=at).collect();
            let line = line.trim().to_owned();
            if line.is_empty() {
                continue;
            }
            if self.tail.len() == TAIL {
                self.tail.remove(0);
            }
            self.tail.push(line.clone());
            say(step(&line).unwrap_or(Progress::Output(line)));
        }
    }

    fn end(self, tag: &str) -> Result<(), Problem> {
        let Some(why) = self.failed else { return Ok(()) };
        let said = self.tail.join("\n");
        let text = format!(
            "{tag} could not be built: {why}\n{said}\nPackages come from where the base image's apt looks \
             (/etc/apt in it); the engine's containers must reach that"
        );
        Err(Problem::new(ProblemKind::Engine, text))
    }
}

/// Parses `Step 3/7 : RUN …` of Docker, or `STEP 3/7: RUN …` of Podman.
fn step(line: &str) -> Option<Progress> {
    let rest = line.strip_prefix("Step ").or_else(|| line.strip_prefix("STEP "))?;
    let (count, what) = rest.split_once(':')?;
    let (number, of) = count.trim().split_once('/')?;
    let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(Progress::Step { number: number.parse().ok()?, of: of.parse().ok()?, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(pieces: &[&str]) -> (BuildOutput, Vec<Progress>) {
        let (mut heard, mut said) = (BuildOutput::default(), Vec::new());
        for piece in pieces {
            let info = BuildInfo { stream: Some((*piece).to_owned()), ..Default::default() };
            heard.take(info, &mut |it| said.push(it));
        }
        (heard, said)
    }

    #[test]
    fn a_builders_words_become_steps_and_lines_however_they_are_cut() {
        let (_, said) =
            heard(&["Step 1/7 : ARG BA", "SE\n ---> ab\nSte", "p 2/7 : RUN set -eu;     x\n", "STEP 3/7: FROM x\n"]);
        let step = |number, what: &str| Progress::Step { number, of: 7, what: what.into() };
        let lines =
            [step(1, "ARG BASE"), Progress::Output("---> ab".into()), step(2, "RUN set -eu; x"), step(3, "FROM x")];
        assert_eq!(said, lines);
    }

    #[test]
    fn a_failed_build_brings_the_end_of_what_it_wrote() {
        let lines: String = (0..40).map(|n| format!("line {n}\n")).collect();
        let (mut heard, _) = heard(&[&lines]);
        heard.failed = Some("returned a non-zero code: 100".into());
        let problem = heard.end("caisson-sandbox:go").unwrap_err().text;
        assert!(
            problem.contains("caisson-sandbox:go could")
                && problem.contains("code: 100")
                && problem.contains("line 39"),
            "{problem}"
        );
        assert!(!problem.contains("line 20"), "{problem}");
    }
}
