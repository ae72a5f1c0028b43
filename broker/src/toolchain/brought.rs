//! Images of toolchains that Debian does not package: made from an official image, or from this machine's files. Tests: below and
//! `tests/docker/brought.rs`.
//!
//! Both get the packages of the profile `base` and the sandboxes' users. Every tool is run as a sandbox's user, with a sandbox's
//! restrictions, before the image gets its name. Only the operator's own command pulls images; no task can.

use std::collections::HashMap;
use std::time::Duration;

use bollard::models::{ContainerCreateBody, HostConfig};
use bollard::query_parameters::{
    CreateContainerOptions, CreateImageOptionsBuilder, LogsOptionsBuilder, RemoveContainerOptionsBuilder,
    RemoveImageOptionsBuilder, WaitContainerOptions,
};
use futures_util::{StreamExt, stream};
use protocol::broker::{HOME, Problem, ProblemKind, TOOLCHAIN_VERSION, USERS};
use sha2::{Digest, Sha256};
use tokio_util::bytes::Bytes;
use tokio_util::io::ReaderStream;

use super::build::{Built, Progress, alone};
use super::host::HostToolchain;
use super::kind::{OfficialToolchain, PLACE, version_in};
use super::profile::{BASE, DOCKERFILE, Profile, REPOSITORY, profile};
use super::{CONTENT, FROM, IMAGE, Toolchains};
use crate::engine::docker::{is_gone, problem};
use crate::supply::archive;

/// How long the tools of one image may take to say their versions.
const PATIENCE: Duration = Duration::from_secs(120);
/// Temporary tag of an image that was not tested yet.
const UNTRIED: &str = "untried";

/// Source of a toolchain.
#[derive(Clone, Debug)]
pub enum Origin {
    /// The official image of this version at this registry.
    Official {
        /// The registry's host name, such as `docker.io`.
        registry: String,
        /// The toolchain's version, as it stands in the tag of the official image.
        version: String,
    },
    /// A toolchain of this machine, whose files are copied into the image.
    Host(HostToolchain),
}

/// The reference of a toolchain's image: its name, with a version if one is given.
pub fn tag(name: &str, version: Option<&str>) -> String {
    match version {
        Some(version) => format!("{REPOSITORY}:{name}-{version}"),
        None => format!("{REPOSITORY}:{name}"),
    }
}

impl Toolchains {
    /// Makes the image `tag` of a toolchain; `base` is the image that the profile `base` is built on.
    ///
    /// # Errors
    /// A registry that is unreachable or lacks the image, or a step or tool that failed, with its output.
    pub async fn bring(
        &self,
        kind: OfficialToolchain,
        origin: &Origin,
        (tag, base): (&str, &str),
        fresh: bool,
        say: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Built, Problem> {
        let plain = profile(BASE).ok_or_else(|| Problem::refused("there is no profile base"))?;
        let untried = format!("{REPOSITORY}:{UNTRIED}-{}", kind.name);
        let (start, whence) = match origin {
            Origin::Host(found) => {
                let built = self.build(plain, base, false, say).await?;
                (built.id, format!("host:{}:{}", found.dir.display(), found.version))
            }
            Origin::Official { registry, version } => {
                let reference = kind.official(registry, version);
                (self.pulled(&reference, fresh).await?, reference)
            }
        };
        let recipe = recipe(kind, matches!(origin, Origin::Host(_)));
        let text = format!("{start}\n{whence}\n{DOCKERFILE}{}\n{recipe}", plain.packages());
        let content = hex::encode(Sha256::digest(text))[..16].to_owned();
        if !fresh && let Some(built) = self.standing(tag, &content).await? {
            return Ok(built);
        }
        let start = match origin {
            Origin::Host(_) => start,
            Origin::Official { .. } => self.furnished(plain, &start, &untried, say).await?,
        };
        self.with_toolchain(origin, &recipe, &start, &untried, say).await?;
        let labelled = async {
            let said = self.tried(&untried, kind).await?;
            let version = version_in(&said);
            let from = matches!(origin, Origin::Host(_)).then_some("host").unwrap_or(whence.as_str());
            self.label(&untried, tag, &content, version.as_deref(), Some(from)).await
        }
        .await;
        // Removes only the temporary tag; a successful image has its own name by now.
        let options = RemoveImageOptionsBuilder::default().build();
        let removed = self.docker.remove_image(&untried, Some(options), None).await;
        labelled?;
        removed.map(drop).or_else(|error| if is_gone(&error) { Ok(()) } else { Err(problem(error)) })?;
        let built = self.standing(tag, &content).await?.map(|built| Built { before: false, ..built });
        built.ok_or_else(|| Problem::new(ProblemKind::Engine, format!("the builder ended without {tag}")))
    }

    /// The id of an official image, pulled unless the engine has it.
    async fn pulled(&self, reference: &str, fresh: bool) -> Result<String, Problem> {
        if !fresh && let Some(id) = self.found(reference).await?.and_then(|it| it.id) {
            return Ok(id);
        }
        let (image, version) = reference.rsplit_once(':').unwrap_or((reference, "latest"));
        let options = CreateImageOptionsBuilder::default().from_image(image).tag(version).build();
        let mut pieces = self.docker.create_image(Some(options), None, None);
        while let Some(piece) = pieces.next().await {
            piece.map_err(|error| {
                let text = format!(
                    "{reference} could not be pulled ({}); where no registry is reached, take what this machine has (--from-host), or \
                     name a registry that is (--registry)",
                    problem(error).text
                );
                Problem::new(ProblemKind::NotFound, text)
            })?;
        }
        let found = self.found(reference).await?.and_then(|it| it.id);
        found.ok_or_else(|| Problem::new(ProblemKind::NotFound, format!("{reference} was pulled and is not there")))
    }

    /// An official image with the packages of `base`.
    async fn furnished(
        &self,
        plain: Profile,
        start: &str,
        untried: &str,
        say: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<String, Problem> {
        let arguments = HashMap::from([("BASE", start.to_owned()), ("PACKAGES", plain.packages())]);
        self.make(untried, &arguments, false, alone(DOCKERFILE), say).await?;
        let made = self.found(untried).await?.and_then(|it| it.id);
        made.ok_or_else(|| Problem::new(ProblemKind::Engine, "the builder ended without an image"))
    }

    async fn with_toolchain(
        &self,
        origin: &Origin,
        recipe: &str,
        start: &str,
        untried: &str,
        say: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<(), Problem> {
        let arguments = HashMap::from([("BASE", start.to_owned())]);
        let Origin::Host(found) = origin else {
            return self.make(untried, &arguments, true, alone(recipe), say).await;
        };
        let mut context = archive("Dockerfile", recipe.as_bytes());
        // Two archives are joined, so the end marker of the first is cut off.
        context.truncate(context.len() - 1024);
        let refused = |why: std::io::Error| Problem::refused(format!("{} cannot be read: {why}", found.dir.display()));
        let mut tar = tokio::process::Command::from(found.archive().map_err(refused)?);
        let mut tar = tar.stdout(std::process::Stdio::piped()).kill_on_drop(true).spawn().map_err(refused)?;
        let Some(out) = tar.stdout.take() else { return Err(Problem::refused("tar writes nothing")) };
        let whole =
            stream::once(async move { Ok(Bytes::from(context)) }).chain(ReaderStream::with_capacity(out, 256 << 10));
        let made = self.make(untried, &arguments, true, whole, say).await;
        let ended = tar.wait().await.map_err(refused)?;
        made?;
        match ended.code() {
            // Exit code 1: a file changed while it was read.
            Some(0 | 1) => Ok(()),
            _ => Err(Problem::refused(format!("{} could not be read whole (tar: {ended})", found.dir.display()))),
        }
    }

    /// Gives a tested image its name.
    pub(super) async fn label(
        &self,
        image: &str,
        tag: &str,
        content: &str,
        version: Option<&str>,
        from: Option<&str>,
    ) -> Result<(), Problem> {
        let more = [(TOOLCHAIN_VERSION, version), (FROM, from)];
        let more = more.iter().filter_map(|(key, value)| value.map(|value| format!(" {key}=\"{value}\"")));
        let more = more.collect::<String>();
        let text = format!("FROM {image}\nLABEL {CONTENT}={content} {IMAGE}={tag}{more}\n");
        self.make(tag, &HashMap::new(), true, alone(&text), &mut |_| {}).await
    }

    /// Runs the tools of a toolchain in an image as a sandbox would, and gives the first one's output.
    pub(super) async fn tried(&self, image: &str, kind: OfficialToolchain) -> Result<String, Problem> {
        let docker = &self.docker;
        let made = docker.create_container(None::<CreateContainerOptions>, hardened(image, &script(kind.tools))).await;
        let id = made.map_err(problem)?.id;
        let ran = tokio::time::timeout(PATIENCE, self.listen(&id)).await;
        let options = RemoveContainerOptionsBuilder::default().force(true).v(true).build();
        docker.remove_container(&id, Some(options)).await.map_err(problem)?;
        let (code, said) = ran.map_err(|_| Problem::refused(format!("the tools of {} did not end", kind.name)))??;
        if code == 0 {
            return Ok(said);
        }
        Err(Problem::refused(format!("{} does not run in the image, which was not kept: {}", kind.name, said.trim())))
    }

    async fn listen(&self, id: &str) -> Result<(i64, String), Problem> {
        self.docker.start_container(id, None).await.map_err(problem)?;
        let code = match self.docker.wait_container(id, None::<WaitContainerOptions>).next().await {
            Some(Ok(ended)) => ended.status_code,
            Some(Err(bollard::errors::Error::DockerContainerWaitError { code, .. })) => code,
            Some(Err(error)) => return Err(problem(error)),
            None => -1,
        };
        let options = LogsOptionsBuilder::default().stdout(true).stderr(true).tail("20").build();
        let mut lines = self.docker.logs(id, Some(options));
        let mut said = String::new();
        while let Some(line) = lines.next().await {
            said.push_str(&line.map_err(problem)?.to_string());
        }
        Ok((code, said))
    }
}

fn recipe(kind: OfficialToolchain, copied: bool) -> String {
    // Scripts contain the absolute path of their interpreter.
    let bring = match (copied, kind.lies) {
        (true, _) => format!(
            "COPY toolchain {PLACE}\nRUN for it in {PLACE}/bin/*; do [ ! -f \"$it\" ] || [ -L \"$it\" ] || [ \"$(head -c 2 \"$it\")\" != '#!' ] || \
             sed -i '1s,^#!/.*/bin/\\(python[0-9.]*\\|node\\)$,#!{PLACE}/bin/\\1,' \"$it\"; done; {}\n",
            kind.settled
        ),
        (false, "") => String::new(),
        (false, lies) => format!("RUN ln -s \"$({lies})\" {PLACE}\n"),
    };
    format!("ARG BASE\nFROM ${{BASE}}\n{bring}ENV PATH={PLACE}/bin:$PATH {}\n", kind.variables)
}

/// Ends at the first tool that fails, with its output.
fn script(tools: &[&str]) -> String {
    let run = "run() { said=$(sh -c \"$1\" 2>&1) || { printf '%s: %s\\n' \"$1\" \"$said\"; exit 9; }; printf '%s\\n' \"$said\"; }\n";
    let calls: String = tools.iter().map(|tool| format!("run \"{}\"\n", tool.replace('"', "\\\""))).collect();
    format!("{run}{calls}")
}

fn hardened(image: &str, script: &str) -> ContainerCreateBody {
    let owned = |words: &[&str]| Some(words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
    let user = USERS.start();
    let mine = format!("size=64m,exec,nosuid,nodev,uid={user},gid={user}");
    ContainerCreateBody {
        image: Some(image.to_owned()),
        user: Some(format!("{user}:{user}")),
        entrypoint: owned(&["/bin/sh", "-c", script]),
        env: Some(vec![format!("HOME={HOME}")]),
        working_dir: Some("/tmp".into()),
        host_config: Some(HostConfig {
            network_mode: Some("none".into()),
            cap_drop: owned(&["ALL"]),
            security_opt: owned(&["no-new-privileges"]),
            readonly_rootfs: Some(true),
            memory: Some(1 << 30),
            pids_limit: Some(256),
            tmpfs: Some([("/tmp", &mine), (HOME, &mine)].map(|(at, how)| (at.to_owned(), how.clone())).into()),
            ..Default::default()
        }),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolchain::kind;

    #[test]
    fn a_tool_that_fails_is_named_with_what_it_said() {
        let run = |tools: &[&str]| std::process::Command::new("sh").args(["-c", &script(tools)]).output().unwrap();
        let good = run(&["echo v1.2 'a b'", "true"]);
        assert!(good.status.success() && good.stdout.starts_with(b"v1.2 a b\n"));
        let bad = run(&["echo v1.2", "echo no lib >&2; exit 3", "echo never"]);
        let said = String::from_utf8_lossy(&bad.stdout).into_owned();
        assert!(!bad.status.success() && said.contains("exit 3: no lib") && !said.contains("never"), "{said}");
    }

    #[test]
    fn what_is_copied_comes_in_and_what_is_official_is_led_to() {
        let go = kind("go").unwrap();
        assert!(recipe(go, true).contains("COPY toolchain /opt/toolchain"));
        assert!(recipe(go, false).contains("ln -s \"$(go env GOROOT)\" /opt/toolchain"));
        assert!(recipe(go, false).contains("ENV PATH=/opt/toolchain/bin:$PATH GOPATH=/home/agent/go"));
        assert!(!recipe(kind("node").unwrap(), false).contains("RUN"));
        // The generated line is a program, so it is run.
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("pip"), "#!/elsewhere/versions/3.11/bin/python3.11\nprint()\n").unwrap();
        std::fs::write(dir.path().join("other"), "#!/bin/sh\n").unwrap();
        let recipe_of = recipe(go, true).replace(&format!("{PLACE}/bin/*"), &format!("{}/*", dir.path().display()));
        let line = recipe_of.lines().find_map(|line| line.strip_prefix("RUN ")).unwrap();
        assert!(std::process::Command::new("sh").args(["-c", line]).status().unwrap().success());
        let first =
            |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap().lines().next().unwrap().to_owned();
        assert_eq!((first("pip"), first("other")), ("#!/opt/toolchain/bin/python3.11".into(), "#!/bin/sh".into()));
        assert_eq!(
            (tag("rust", Some("1.95")), tag("rust", None)),
            ("caisson-sandbox:rust-1.95".into(), "caisson-sandbox:rust".into())
        );
    }
}
