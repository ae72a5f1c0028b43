//! Names and labels on the engine, and the validation of names in requests. Tests: below.
//!
//! Everything of this installation is named `caisson-<installation>-…` and labelled with it; the label decides ownership, the name only
//! avoids collisions.

use std::collections::HashMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

use protocol::broker::{ContainerLimits, ContainerSpec, PROBE_USERS, Problem, Purpose, USERS};

/// Label with the owning installation.
pub const INSTALLATION: &str = "caisson.installation";
/// Label with the [`ResourceKind`].
pub const KIND: &str = "caisson.kind";
/// Label with the container's name as the client knows it, also on its workspace.
pub const NAME: &str = "caisson.name";
pub const PURPOSE: &str = "caisson.purpose";
pub const TASK: &str = "caisson.task";
/// Label with the SHA-256 of the spec.
pub const SPEC: &str = "caisson.spec";
/// Label with the number of the user that a mirror belongs to.
pub const USER: &str = "caisson.user";
/// Label with the network that all subnets are cut from.
pub const POOL: &str = "caisson.pool";
/// Label with a subnet's number.
pub const SUBNET: &str = "caisson.berth";

/// The most subnets; a holder's start takes longer with each network, beyond this many seconds.
pub const MAX_SUBNETS: u32 = 64;

/// Kind of a labelled object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceKind {
    Container,
    Workspace,
    /// The volume that holds a repository's history.
    Mirror,
    /// The volume that holds the runner.
    Runner,
    /// A container that lives only within one request.
    Helper,
    Holder,
    Firewall,
    Router,
    Subnet,
    Outer,
}

impl ResourceKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Container => "chamber",
            Self::Workspace => "workspace",
            Self::Mirror => "mirror",
            Self::Runner => "runner",
            Self::Helper => "helper",
            Self::Holder => "holder",
            Self::Firewall => "walls",
            Self::Router => "router",
            Self::Subnet => "berth",
            Self::Outer => "outer",
        }
    }
}

/// This installation's names.
#[derive(Clone, Debug)]
pub struct Names {
    installation: String,
}

impl Names {
    pub fn new(installation: &str) -> Result<Self, Problem> {
        if plain(installation, 24) {
            return Ok(Self { installation: installation.to_owned() });
        }
        Err(Problem::refused(format!(
            "installation id {installation:?} must be 1 to 24 of a-z, 0-9 and -, starting with a letter or digit"
        )))
    }

    pub fn installation(&self) -> &str {
        &self.installation
    }

    pub fn container(&self, name: &str) -> String {
        format!("caisson-{}-box-{name}", self.installation)
    }

    pub fn workspace(&self, name: &str) -> String {
        format!("caisson-{}-work-{name}", self.installation)
    }

    /// Volume with a layered workspace's differences to its tree.
    pub fn layer(&self, name: &str) -> String {
        format!("caisson-{}-layer-{name}", self.installation)
    }

    /// Volume of a home on disk.
    pub fn home(&self, name: &str) -> String {
        format!("caisson-{}-home-{name}", self.installation)
    }

    pub fn mirror(&self, name: &str) -> String {
        format!("caisson-{}-mirror-{name}", self.installation)
    }

    pub fn runner(&self, sha256: &str) -> String {
        format!("caisson-{}-runner-{}", self.installation, short(sha256))
    }

    pub fn helper(&self, what: &str) -> String {
        format!("caisson-{}-helper-{what}", self.installation)
    }

    /// Helper that creates the directories of a container's volumes.
    pub fn disk_helper(&self, container: &str) -> String {
        self.helper(&format!("disk-{container}"))
    }

    pub fn router_part(&self, kind: ResourceKind) -> String {
        format!("caisson-{}-{}", self.installation, kind.as_str())
    }

    /// Name of a part until it replaces the old one.
    pub fn next(&self, kind: ResourceKind) -> String {
        format!("{}-next", self.router_part(kind))
    }

    /// Sorts before every subnet's name, because the engine takes the default route from the first network.
    pub fn outer(&self) -> String {
        format!("caisson-{}-a-outer", self.installation)
    }

    pub fn subnet(&self, number: u32) -> String {
        format!("caisson-{}-berth-{number:03}", self.installation)
    }

    /// The labels of every object.
    pub fn labels(&self, kind: ResourceKind) -> HashMap<String, String> {
        HashMap::from([
            (INSTALLATION.to_owned(), self.installation.clone()),
            (KIND.to_owned(), kind.as_str().to_owned()),
        ])
    }

    pub fn owns(&self, labels: Option<&HashMap<String, String>>, kind: ResourceKind) -> bool {
        let is = |key: &str, value: &str| labels.and_then(|all| all.get(key)).is_some_and(|it| it == value);
        is(INSTALLATION, &self.installation) && is(KIND, kind.as_str())
    }

    /// Filter for the engine's list calls.
    pub fn filter(&self, kind: Option<ResourceKind>) -> HashMap<String, Vec<String>> {
        let mut labels = vec![format!("{INSTALLATION}={}", self.installation)];
        labels.extend(kind.map(|kind| format!("{KIND}={}", kind.as_str())));
        HashMap::from([("label".to_owned(), labels)])
    }
}

/// The first twelve digits, as the engine shows ids.
pub fn short(sha256: &str) -> &str {
    let hex = sha256.strip_prefix("sha256:").unwrap_or(sha256);
    hex.get(..12).unwrap_or(hex)
}

fn plain(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len())
        && !text.starts_with('-')
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Checks a container's name before it is used in a path of the engine's API.
pub fn check_container(name: &str) -> Result<(), Problem> {
    if plain(name, 64) {
        return Ok(());
    }
    Err(Problem::refused(format!(
        "container name {name:?} must be 1 to 64 of a-z, 0-9 and -, starting with a letter or digit"
    )))
}

/// Checks a mirror's name, as strictly as a container's.
pub fn check_mirror(name: &str) -> Result<(), Problem> {
    if plain(name, 64) {
        return Ok(());
    }
    Err(Problem::refused(format!(
        "mirror name {name:?} must be 1 to 64 of a-z, 0-9 and -, starting with a letter or digit"
    )))
}

/// The container that writes to a mirror has no network, variables, tracing or other workspace.
fn check_purpose(spec: &ContainerSpec) -> Result<(), Problem> {
    if let Some(mirror) = &spec.mirror {
        check_mirror(mirror)?;
    }
    let layered = spec.purpose == Purpose::Task && spec.mirror.is_some() && spec.limits.workspace_bytes == 0;
    if spec.layered && !layered {
        return Err(Problem::refused(
            "only a task's workspace on disk can lie over a mirror's tree, and it names the mirror",
        ));
    }
    if spec.purpose != Purpose::Mirror {
        return Ok(());
    }
    let bare = spec.subnet.is_none() && spec.env.is_empty() && spec.profile == "sealed";
    if bare && spec.mirror.is_some() && spec.limits.workspace_bytes == 0 {
        return Ok(());
    }
    Err(Problem::refused(
        "a container that fills a mirror names it, is sealed, and has no network, no variables and no workspace of its own",
    ))
}

/// Checks the user: never root, the router's or one of this machine, and the barrier's users are no repository's.
fn check_user(spec: &ContainerSpec) -> Result<(), Problem> {
    let (repository, probe) = (USERS.contains(&spec.user), PROBE_USERS.contains(&spec.user));
    let fits = match spec.purpose {
        Purpose::Probe => probe,
        Purpose::Mirror => repository || probe,
        Purpose::Task | Purpose::Quarantine | Purpose::Verify | Purpose::Setup => repository,
    };
    if fits {
        return Ok(());
    }
    Err(Problem::refused(format!("a container for {} does not run as user {}", spec.purpose.as_str(), spec.user)))
}

/// Checks everything in a spec that does not need the engine.
pub fn check_spec(spec: &ContainerSpec, max_memory: u64, plain_workspaces: bool) -> Result<(), Problem> {
    check_container(&spec.name)?;
    check_purpose(spec)?;
    check_user(spec)?;
    let limits = &spec.limits;
    if limits.memory_bytes > max_memory {
        return Err(Problem::refused(format!(
            "this broker gives a container at most {} MiB of memory, not {}: start it with a higher --max-memory",
            max_memory >> 20,
            limits.memory_bytes >> 20
        )));
    }
    within("memory_bytes", &limits.memory_bytes, &(32 << 20..=max_memory))?;
    within("pids", &limits.pids, &ContainerLimits::PIDS)?;
    within("tmp_bytes", &limits.tmp_bytes, &(1 << 20..=max_memory))?;
    within("nofile", &limits.nofile, &ContainerLimits::NOFILE)?;
    // A mirror is always on disk; the bot limits its size.
    let on_disk = plain_workspaces || spec.purpose == Purpose::Mirror;
    if limits.workspace_bytes != 0 || !on_disk {
        within("workspace_bytes", &limits.workspace_bytes, &(1 << 20..=max_memory))?;
    }
    within("cpus", &limits.cpus, &ContainerLimits::CPUS)?;
    if spec.subnet.is_some_and(|subnet| subnet >= MAX_SUBNETS) {
        return Err(Problem::refused(format!("there are at most {} subnets", MAX_SUBNETS)));
    }
    check_env(&spec.env)
}

fn within<T: PartialOrd + Display>(what: &str, value: &T, taken: &RangeInclusive<T>) -> Result<(), Problem> {
    if taken.contains(value) {
        return Ok(());
    }
    let (least, most) = (taken.start(), taken.end());
    Err(Problem::refused(format!("limit {what} = {value} must lie between {least} and {most}")))
}

/// The environment is readable for everyone who may inspect containers, and affects the runner as PID 1.
fn check_env(env: &[(String, String)]) -> Result<(), Problem> {
    let total: usize = env.iter().map(|(name, value)| name.len() + value.len()).sum();
    if total > 32 << 10 {
        return Err(Problem::refused("the environment of a container is longer than 32 KiB"));
    }
    for (name, value) in env {
        let shaped = !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !shaped || value.contains('\0') {
            return Err(Problem::refused(format!(
                "{name:?} is no name of an environment variable, or its value has a NUL"
            )));
        }
        if name.starts_with("LD_") || name.starts_with("CAISSON_") || name == "GLIBC_TUNABLES" {
            return Err(Problem::refused(format!("environment variable {name} would steer the runner itself")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> ContainerSpec {
        ContainerSpec {
            name: "t1-1".into(),
            task: Some(1),
            purpose: Purpose::Task,
            user: *USERS.start(),
            image: "caisson-sandbox:local".into(),
            subnet: None,
            limits: ContainerLimits { workspace_bytes: 1 << 30, ..ContainerLimits::default() },
            env: vec![("PIP_RETRIES".into(), "1".into())],
            profile: "sealed".into(),
            mirror: None,
            layered: false,
        }
    }

    #[test]
    fn what_is_usual_is_fine() {
        assert_eq!(check_spec(&spec(), 16 << 30, false), Ok(()));
        assert_eq!(check_spec(&ContainerSpec { limits: ContainerLimits::default(), ..spec() }, 16 << 30, true), Ok(()));
    }

    #[test]
    fn names_cannot_leave_their_place() {
        for bad in ["", "-a", "a/b", "..", "a b", "A", "a\n", "a?b=c", "%2e", &"a".repeat(65)] {
            assert!(check_container(bad).is_err(), "{bad:?}");
        }
        for bad in ["", "../x", "Ä", &"a".repeat(25)] {
            assert!(Names::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn limits_have_a_floor_and_a_ceiling() {
        let changes: [fn(&mut ContainerLimits); 9] = [
            |it| it.memory_bytes = 0,
            |it| it.memory_bytes = 32 << 30,
            |it| it.pids = 0,
            |it| it.pids = u64::MAX,
            |it| it.cpus = f64::NAN,
            |it| it.cpus = -1.0,
            |it| it.workspace_bytes = 0,
            |it| it.tmp_bytes = u64::MAX,
            |it| it.nofile = 0,
        ];
        for change in changes {
            let mut spec = spec();
            change(&mut spec.limits);
            assert!(check_spec(&spec, 16 << 30, false).is_err(), "{:?}", spec.limits);
        }
    }

    #[test]
    fn who_wants_more_memory_than_the_broker_gives_is_told_what_to_set() {
        let limits = ContainerLimits { memory_bytes: 32 << 30, ..spec().limits };
        let why = check_spec(&ContainerSpec { limits, ..spec() }, 16 << 30, false).unwrap_err().text;
        assert!(why.contains("16384 MiB of memory, not 32768") && why.contains("--max-memory"), "{why}");
    }

    #[test]
    fn a_workspace_without_a_bound_needs_the_operator() {
        let mut spec = spec();
        spec.limits.workspace_bytes = 0;
        assert!(check_spec(&spec, 16 << 30, true).is_ok());
    }

    #[test]
    fn a_container_has_a_repository_s_user_and_the_barrier_s_are_its_own() {
        let refused = |purpose, user| {
            let mirror = (purpose == Purpose::Mirror).then(|| "m".to_owned());
            let (env, limits) = (Vec::new(), ContainerLimits::default());
            check_spec(&ContainerSpec { purpose, user, mirror, env, limits, ..spec() }, 16 << 30, true).is_err()
        };
        let repositories = [10_003, 10_064];
        for purpose in [Purpose::Task, Purpose::Quarantine, Purpose::Verify, Purpose::Setup] {
            assert!(!repositories.iter().any(|user| refused(purpose, *user)), "{purpose:?}");
            assert!(PROBE_USERS.iter().all(|user| refused(purpose, *user)), "{purpose:?}");
        }
        assert!(repositories.iter().all(|user| refused(Purpose::Probe, *user)));
        assert!(!PROBE_USERS.iter().any(|user| refused(Purpose::Probe, *user) || refused(Purpose::Mirror, *user)));
        assert!(!repositories.iter().any(|user| refused(Purpose::Mirror, *user)));
        // Root, the user of earlier releases, the router's, and numbers beyond the range.
        for user in [0, 1000, 10_001, 10_002, 10_067, u32::MAX] {
            for purpose in [Purpose::Task, Purpose::Probe, Purpose::Mirror] {
                assert!(refused(purpose, user), "{purpose:?} {user}");
            }
        }
    }

    #[test]
    fn whoever_fills_a_mirror_has_nothing_else() {
        let limits = ContainerLimits { workspace_bytes: 0, ..ContainerLimits::default() };
        let mirror = Some("a1-b2".to_owned());
        let bare = ContainerSpec { purpose: Purpose::Mirror, mirror, env: Vec::new(), limits, ..spec() };
        assert_eq!(check_spec(&bare, 16 << 30, false), Ok(()));
        let changes: [fn(&mut ContainerSpec); 7] = [
            |it| it.mirror = None,
            |it| it.mirror = Some("../x".into()),
            |it| it.subnet = Some(0),
            |it| it.env = vec![("A".into(), "b".into())],
            |it| it.profile = "debug".into(),
            |it| it.limits.workspace_bytes = 1 << 30,
            // Only a mirror is on disk without the operator's permission.
            |it| it.purpose = Purpose::Task,
        ];
        for change in changes {
            let mut spec = bare.clone();
            change(&mut spec);
            assert!(check_spec(&spec, 16 << 30, false).is_err(), "{spec:?}");
        }
    }

    #[test]
    fn the_environment_cannot_steer_the_runner() {
        for name in ["LD_PRELOAD", "CAISSON_WORKSPACE", "GLIBC_TUNABLES", "", "A=B", "1A", "A B"] {
            let mut spec = spec();
            spec.env = vec![(name.into(), "x".into())];
            assert!(check_spec(&spec, 16 << 30, false).is_err(), "{name}");
        }
    }

    #[test]
    fn only_the_right_labels_make_it_ours() {
        let names = Names::new("one").unwrap();
        let other = Names::new("two").unwrap();
        assert!(names.owns(Some(&names.labels(ResourceKind::Container)), ResourceKind::Container));
        assert!(!names.owns(Some(&names.labels(ResourceKind::Helper)), ResourceKind::Container));
        assert!(!names.owns(Some(&other.labels(ResourceKind::Container)), ResourceKind::Container));
        assert!(!names.owns(None, ResourceKind::Container));
    }

    #[test]
    fn the_outer_network_comes_first() {
        let names = Names::new("one").unwrap();
        assert!(names.outer() < names.subnet(0));
    }
}
