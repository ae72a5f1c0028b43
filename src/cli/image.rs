//! `caisson image`: builds, lists and prunes the images of toolchains.
//!
//! Owns flags and wording; the contents of an image, and which images are ours, is `broker::toolchain`, which speaks to the engine in this
//! process, with the rights of whoever runs the command. A running broker and bot are not involved. Tests: below and
//! `broker/tests/docker/toolchains.rs`.

use super::printer::{Complaint, Printer};
use crate::config::{Process, write};
use crate::sandbox::broker::{Broker, SocketBroker};
use crate::text::cut;
use ::broker::toolchain::{
    BASE, Built, DEFAULT_BASE, Image, OfficialToolchain, Origin, Profile, Progress, Pruned, StoredImages, Toolchains,
    find_on_host, kind, kinds, profile, profiles, tag,
};
use anyhow::Result;
use clap::{Args, Subcommand};
use protocol::broker::Problem;
use serde_json::json;
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub enum ImageCommand {
    Build(Build),
    List(List),
    Prune(Prune),
}

#[derive(Debug, Args)]
struct Engine {
    /// The container engine's socket; only the broker and this command open it
    #[arg(long, env = "CAISSON_ENGINE_SOCKET", value_name = "PATH", default_value = "/var/run/docker.sock")]
    engine: PathBuf,
}

#[derive(Debug, Args)]
struct From {
    /// What images are built on: a Debian the engine has already (nothing is pulled)
    #[arg(long, env = "CAISSON_BASE", value_name = "IMAGE", default_value = DEFAULT_BASE)]
    base: String,
}

/// Build the images of toolchains: from Debian's packages, from an official image, or from what this machine has.
///
/// Profiles: `base` (git, a shell, Python, a C compiler), `python`, `rust`, `node`, `go`, `java`, `cpp`; each holds what `base` holds.
/// A name alone takes Debian's packages. A name with a version (rust@1.95) takes that version's official image, which is pulled
/// unless the engine has it; with --from-host, with or without a version, the toolchain that lies on this machine is copied. Of
/// both, every tool is run in the image as a sandbox's user before the image gets its name.
///
/// A task gets the toolchain that its repository's `.caisson.toml` names (toolchain = "rust"), otherwise the one that its files
/// tell of: Cargo.toml, pyproject.toml, package.json, go.mod, pom.xml, CMakeLists.txt and the like; rust-toolchain.toml, .nvmrc, go.mod and
/// .python-version choose among the versions that are offered. No code of a project runs here; what a project needs beyond
/// are its `setup` commands.
#[derive(Debug, Args)]
#[command(
    after_help = "An image that was made of the same base, packages and Dockerfile stays as it is. A running broker keeps the image it \
    has until it is started anew.\n\
    Examples:\n  caisson image build rust python\n  \
    caisson image build rust@1.95           from the official image\n  \
    caisson image build rust --from-host    the Rust that this machine has\n  \
    caisson image build                     base, and every image that is out of date\n  \
    caisson image build --fresh rust        anew, with today's packages\n  \
    docker pull debian:bookworm-slim && caisson image build --base debian:bookworm-slim go"
)]
pub struct Build {
    /// Toolchains to build, each with a version or without
    #[arg(value_name = "NAME[@VERSION]")]
    profiles: Vec<String>,
    /// Copy the toolchains that this machine has: rustup's, Go's, Node's, pyenv's, a JDK
    #[arg(long)]
    from_host: bool,
    /// Where official images are pulled from
    #[arg(long, env = "CAISSON_REGISTRY", value_name = "HOST", default_value = "docker.io")]
    registry: String,
    #[command(flatten)]
    from: From,
    /// Build what is up to date too, so that newer packages come in
    #[arg(long)]
    fresh: bool,
    /// Show every line the builder writes
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    engine: Engine,
}

/// Show each profile's image: when it was made, whether it is used or out of date.
#[derive(Debug, Args)]
#[command(
    after_help = "Out of date: a build would make another image now, because the base, the packages or the Dockerfile changed. Newer \
    versions of the same packages don't count; `caisson image build --fresh` brings them in."
)]
pub struct List {
    #[command(flatten)]
    from: From,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    engine: Engine,
}

/// Remove images of ours that no task, configuration or profile uses.
///
/// An image that a newer build replaced stays until this command removes it. What is kept: what a profile stands for now, what
/// the configuration names, what its running broker holds, what a container of any installation uses, what has a name of yours,
/// and every image that others were made from.
#[derive(Debug, Args)]
#[command(
    after_help = "Another installation on this engine whose broker holds a replaced image, and has no container of it just now, must \
    start its broker anew after this.\nExample:\n  caisson image prune"
)]
pub struct Prune {
    #[command(flatten)]
    engine: Engine,
}

impl ImageCommand {
    pub(super) async fn run(self, config: &Path) -> Result<()> {
        let printer = Printer::terminal();
        match self {
            ImageCommand::Build(build) => build.run(config, &printer).await,
            ImageCommand::List(list) => list.run(&printer).await,
            ImageCommand::Prune(prune) => prune.run(config, &printer).await,
        }
    }
}

impl Engine {
    async fn open(&self) -> Result<Toolchains> {
        let opened = Toolchains::connect(&self.engine).await;
        opened.map_err(|why| complaint("the container engine cannot be asked", &why).into())
    }
}

impl Build {
    async fn run(&self, config: &Path, printer: &Printer) -> Result<()> {
        // Cheap checks first, so that a wrong name builds nothing.
        let requested = requested(&self.profiles)?;
        let brought = self.brought(&requested)?;
        let toolchains = self.engine.open().await?;
        let plain: Vec<Profile> = match (self.profiles.is_empty(), self.from_host) {
            (true, _) => self.due(&toolchains).await?,
            (false, true) => Vec::new(),
            (false, false) => requested.iter().filter(|it| it.version.is_none()).map(|it| it.profile).collect(),
        };
        for profile in plain {
            let mut say = |progress| self.say(printer, profile.name, progress);
            let built = toolchains.build(profile, &self.from.base, self.fresh, &mut say).await;
            let built = built.map_err(|why| complaint(format!("the profile {} was not built", profile.name), &why))?;
            stands(printer, &built);
        }
        for Brought { kind, version, origin } in brought {
            let mut say = |progress| self.say(printer, kind.name, progress);
            let tag = tag(kind.name, version);
            let built = toolchains.bring(kind, &origin, (&tag, &self.from.base), self.fresh, &mut say).await;
            let built = built.map_err(|why| complaint(format!("{tag} was not built"), &why))?;
            stands(printer, &built);
            offer(config, &name_of(kind.name, version), &tag, printer)?;
        }
        Ok(())
    }

    /// Toolchains that do not come from Debian's packages, with their source.
    fn brought<'a>(&self, requested: &'a [ToolchainRequest<'a>]) -> Result<Vec<Brought<'a>>> {
        let mut all = Vec::new();
        for ToolchainRequest { profile, version } in requested {
            if version.is_none() && !self.from_host {
                continue;
            }
            let Some(kind) = kind(profile.name) else {
                let known: Vec<_> = kinds().map(|it| it.name).collect();
                let what = format!("{} comes from Debian's packages alone", profile.name);
                let hint = format!("leave out version and --from-host, or take one of {}", known.join(", "));
                return Err(Complaint::new(what).hint(hint).into());
            };
            let origin = match (self.from_host, version) {
                (false, Some(version)) => {
                    Origin::Official { registry: self.registry.clone(), version: (*version).to_owned() }
                }
                (_, version) => Origin::Host(find_on_host(kind, *version).map_err(|why| {
                    let name = name_of(kind.name, Some(version.unwrap_or("<version>")));
                    Complaint::new(why)
                        .hint(format!("install it here, or take the official image: caisson image build {name}"))
                })?),
            };
            all.push(Brought { kind, version: *version, origin });
        }
        Ok(all)
    }

    /// The base, and other existing images that are out of date.
    async fn due(&self, toolchains: &Toolchains) -> Result<Vec<Profile>> {
        let stock = toolchains.stock(Some(&self.from.base)).await?;
        Ok(profiles().filter(|it| it.name == BASE || stock.outdated(*it)).collect())
    }

    fn say(&self, printer: &Printer, name: &str, progress: Progress) {
        match progress {
            Progress::Step { number, of, what } => {
                printer.step(&format!("{name} {number}/{of}: {}", cut(&what, 90).0));
            }
            // The size of a download is shown, because it may take long.
            Progress::Output(line) if self.verbose || line.starts_with("Need to get ") => {
                printer.step(&format!("{name}: {line}"));
            }
            Progress::Output(_) => {}
        }
    }
}

impl List {
    async fn run(&self, printer: &Printer) -> Result<()> {
        let stock = self.engine.open().await?.stock(Some(&self.from.base)).await?;
        if self.json {
            lines(&stock).iter().for_each(|line| printer.json(&json!(line)));
            return Ok(());
        }
        let rows: Vec<Vec<String>> = lines(&stock).iter().map(Line::cells).collect();
        printer.table(&["profile", "image", "id", "size", "made", "state"], &rows);
        if stock.base.is_none() {
            printer.warn(&format!("there is no {}: nobody can say what is out of date", self.from.base));
        }
        let missing: Vec<&str> = profiles().filter(|it| stock.of(*it).is_none()).map(|it| it.name).collect();
        if !missing.is_empty() {
            printer.hint(&format!("caisson image build {}", missing.join(" ")));
        }
        Ok(())
    }
}

impl Prune {
    async fn run(&self, config: &Path, printer: &Printer) -> Result<()> {
        let toolchains = self.engine.open().await?;
        let done = toolchains.prune(&needed(config).await?).await?;
        let mut freed = 0;
        for one in &done {
            match one {
                Pruned::Removed { made_as, id, size } => {
                    freed += size;
                    printer.good(&format!("removed {made_as}, {}", short(id)));
                }
                Pruned::Kept { made_as, id, because } => {
                    printer.say(&format!("  kept {made_as}, {}: {because}", short(id)));
                }
            }
        }
        match freed {
            0 => printer.good("nothing to remove"),
            // Includes layers that newer images share.
            bytes => printer.good(&format!("up to {} MB are free again", bytes / 1_000_000)),
        }
        Ok(())
    }
}

/// References and ids that must not be removed: those in the configuration, and those that its running broker has pinned. Without a
/// configuration there are none; one that cannot be read is an error, because it could name anything.
async fn needed(file: &Path) -> Result<Vec<String>> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let config = Process::load(file)?;
    let mut needed = config.images();
    let broker = SocketBroker::new(&config.broker.socket);
    if broker.hello().await.is_ok() {
        for reference in config.images() {
            // The broker does not hold what it does not list.
            needed.extend(broker.image(&reference).await.ok().flatten().map(|image| image.id));
        }
    }
    Ok(needed)
}

/// A requested toolchain.
struct ToolchainRequest<'a> {
    profile: Profile,
    version: Option<&'a str>,
}

/// A toolchain that does not come from Debian's packages.
struct Brought<'a> {
    kind: OfficialToolchain,
    version: Option<&'a str>,
    origin: Origin,
}

fn requested(names: &[String]) -> Result<Vec<ToolchainRequest<'_>>> {
    let known = |text| {
        let (name, version) = match str::split_once(text, '@') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        let profile = profile(name).ok_or_else(|| unknown(name))?;
        let fit = |text: &str| {
            (1..=30).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c))
        };
        match version.filter(|version| !fit(version)) {
            Some(odd) => {
                Err(Complaint::new(format!("{odd:?} is no version")).hint("caisson image build rust@1.95").into())
            }
            None => Ok(ToolchainRequest { profile, version }),
        }
    };
    names.iter().map(|name| known(name.as_str())).collect()
}

fn name_of(name: &str, version: Option<&str>) -> String {
    version.map_or_else(|| name.to_owned(), |version| format!("{name}@{version}"))
}

fn stands(printer: &Printer, built: &Built) {
    let Built { tag, version, id, size, before } = built;
    let version = version.as_ref().map(|version| format!(" ({version})")).unwrap_or_default();
    let how = if *before { ", there already" } else { "" };
    printer.good(&format!("{tag}{version}, {}, {} MB{how}", short(id), size / 1_000_000));
}

/// Adds an existing image to the list that repositories choose from.
fn offer(file: &Path, name: &str, image: &str, printer: &Printer) -> Result<()> {
    let line = format!("\"{name}\" = \"{image}\"");
    if !file.exists() {
        printer.hint(&format!("list it in caisson.toml: [sandbox.toolchains] {line}"));
        return Ok(());
    }
    if Process::load(file)?.sandbox.offered().any(|offered| offered == (name, image)) {
        return Ok(());
    }
    write::put_toolchain(file, name, image)?;
    printer.good(&format!("{} offers it: [sandbox.toolchains] {line}", file.display()));
    printer.hint(
        "start `caisson serve` anew: it reads the list when it starts (a broker of your own takes `--image` too)",
    );
    Ok(())
}

fn unknown(name: &str) -> Complaint {
    let all: Vec<_> = profiles().map(|it| it.name).collect();
    Complaint::new(format!("there is no toolchain profile {name}")).hint(format!("take one of {}", all.join(", ")))
}

/// The problem's text already says what to do.
fn complaint(what: impl Into<String>, why: &Problem) -> Complaint {
    Complaint::new(what).because(&why.text)
}

fn short(id: &str) -> &str {
    let hex = id.strip_prefix("sha256:").unwrap_or(id);
    hex.get(..12).unwrap_or(hex)
}

/// Offered toolchains whose image the broker does not have.
pub(super) async fn missing<'a>(config: &'a Process, broker: &dyn Broker) -> Vec<(&'a str, &'a str)> {
    let mut missing = Vec::new();
    for (name, reference) in config.sandbox.offered() {
        if matches!(broker.image(reference).await, Ok(None)) {
            missing.push((name, reference));
        }
    }
    missing
}

/// Names missing images with the command that builds them.
pub(super) fn unbuilt(missing: &[(&str, &str)]) -> Option<String> {
    let (own, others): (Vec<_>, Vec<_>) =
        missing.iter().partition(|(name, reference)| profile(name).is_some_and(|it| it.tag() == *reference));
    let mut said = Vec::new();
    if !own.is_empty() {
        let names: Vec<&str> = own.iter().map(|(name, _)| *name).collect();
        said.push(format!("not built: {}; `caisson image build {}`", names.join(", "), names.join(" ")));
    }
    said.extend(
        others.iter().map(|(name, reference)| format!("{name}: the engine has no {reference}; bring it there")),
    );
    (!said.is_empty()).then(|| said.join(". "))
}

/// An image, or a profile without one.
#[derive(serde::Serialize)]
struct Line {
    profile: Option<&'static str>,
    image: String,
    id: Option<String>,
    bytes: Option<u64>,
    /// Unix seconds.
    made: Option<i64>,
    state: String,
}

impl Line {
    fn cells(&self) -> Vec<String> {
        let or_none = |text: Option<String>| text.unwrap_or_default();
        vec![
            self.profile.unwrap_or("").to_owned(),
            self.image.clone(),
            or_none(self.id.as_deref().map(|id| short(id).to_owned())),
            or_none(self.bytes.map(|bytes| format!("{} MB", bytes / 1_000_000))),
            or_none(self.made.and_then(day)),
            self.state.clone(),
        ]
    }
}

fn day(seconds: i64) -> Option<String> {
    let at = jiff::Timestamp::from_second(seconds).ok()?;
    Some(at.strftime("%Y-%m-%d %H:%M").to_string())
}

fn lines(stock: &StoredImages) -> Vec<Line> {
    let one = |profile: Option<&'static str>, image: &Image, name: String, state: String| Line {
        profile,
        image: name,
        id: Some(image.id.clone()),
        bytes: Some(image.size),
        made: Some(image.made),
        state,
    };
    let current = profiles().map(|it| match stock.of(it) {
        Some(image) => one(Some(it.name), image, it.tag(), state(image, stock.outdated(it))),
        None => Line {
            profile: Some(it.name),
            image: it.tag(),
            id: None,
            bytes: None,
            made: None,
            state: "not built".into(),
        },
    });
    let old = stock.left_over().map(|image| {
        let state =
            if image.containers > 0 { used(image) } else { "replaced; `caisson image prune` removes it".into() };
        one(None, image, image.made_as.clone(), state)
    });
    let versioned = stock.versioned().map(|(tag, image)| one(None, image, tag.to_owned(), state(image, false)));
    current.chain(versioned).chain(old).collect()
}

fn state(image: &Image, outdated: bool) -> String {
    let fresh = match image.from.as_deref() {
        Some("host") => "from this machine",
        Some(_) => "from the official image",
        None if outdated => "out of date",
        None => "up to date",
    };
    let version = image.version.as_ref().map(|version| format!("{version}, ")).unwrap_or_default();
    let used = if image.containers == 0 { String::new() } else { format!(", {}", used(image)) };
    format!("{version}{fresh}{used}")
}

fn used(image: &Image) -> String {
    match image.containers {
        1 => "in use by 1 container".to_owned(),
        many => format!("in use by {many} containers"),
    }
}

#[cfg(test)]
#[path = "image_tests.rs"]
mod tests;
