//! The configuration of our containers: one pure function from a spec to the engine's request.
//!
//! All configuration that makes up the barrier is here; `tests/docker/` checks each setting from inside a container.

use std::collections::HashMap;

use bollard::models::{
    ContainerCreateBody, EndpointIpamConfig, EndpointSettings, HealthConfig, HostConfig, HostConfigCgroupnsModeEnum,
    HostConfigLogConfig, Mount, MountType, MountVolumeOptions, NetworkingConfig, ResourcesUlimits, RestartPolicy,
    RestartPolicyNameEnum, VolumeCreateRequest,
};
use protocol::broker::{
    ContainerLimits, ContainerSpec, HOME, LAYER, MIRROR, Problem, Purpose, RUNNER, USERS, WORKSPACE,
};
use sha2::{Digest, Sha256};

use crate::gpus::Gpus;
use crate::subnet::ContainerNetwork;

use crate::name::{self, Names, ResourceKind};
use crate::seccomp;

/// Directory in a layer with the differences to the tree.
pub const UPPER: &str = "upper";

/// Properties of the engine.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// Number of processor cores, beyond which the engine refuses limits.
    pub cores: f64,
    pub cgroup2: bool,
    /// Whether the kernel has IPv6, and so the setting that turns it off.
    pub ipv6: bool,
    /// Offsets that the engine adds to user and group numbers in mounts it makes itself.
    pub users_from: (u64, u64),
}

/// The parts of a container's configuration that do not come from its spec.
#[derive(Clone, Debug)]
pub struct ResolvedConfig<'a> {
    /// The image's id, never its name.
    pub image: &'a str,
    /// The volume that holds the runner.
    pub runner: &'a str,
    /// Network, gateway and address; `None` = no network.
    pub place: Option<&'a ContainerNetwork>,
    pub runtime: Option<&'a str>,
    pub gpus: &'a Gpus,
    pub host: Host,
}

/// Paths masked beyond the engine's own list; the kernel's command line may contain secrets of the host.
const MASKED: &[&str] = &[
    "/proc/acpi",
    "/proc/asound",
    "/proc/cmdline",
    "/proc/config.gz",
    "/proc/interrupts",
    "/proc/kallsyms",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/devices/virtual/powercap",
    "/sys/firmware",
];

const READ_ONLY: &[&str] = &["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/// The configuration of the container for a spec.
pub fn container(
    names: &Names,
    spec: &ContainerSpec,
    fit: &ResolvedConfig<'_>,
) -> Result<ContainerCreateBody, Problem> {
    let mut body = hardened(names, spec.user, &spec.limits, &spec.profile, fit)?;
    body.labels = Some(labels(names, spec)?);
    let ContainerLimits { disk_bytes, disk_floor_bytes, .. } = spec.limits;
    if spec.limits.workspace_bytes == 0 {
        body.env.get_or_insert_default().push(format!("CAISSON_DISK={disk_bytes}:{disk_floor_bytes}"));
    }
    body.env.get_or_insert_default().extend(spec.env.iter().map(|(name, value)| format!("{name}={value}")));
    let host = body.host_config.get_or_insert_default();
    host.device_requests = fit.gpus.requests(spec.purpose);
    if spec.limits.workspace_bytes == 0 && disk_bytes > 0 {
        // No single file can exceed the limit of all files.
        host.ulimits.get_or_insert_default().push(ulimit("fsize", disk_bytes as i64));
    }
    let mounts = host.mounts.get_or_insert_default();
    let mirror = spec.mirror.as_ref().map(|mirror| names.mirror(mirror));
    let (workspace, shown) = match spec.purpose {
        Purpose::Mirror => (mirror.unwrap_or_default(), None),
        _ => (names.workspace(&spec.name), mirror),
    };
    mounts.push(volume(WORKSPACE, &workspace));
    if spec.limits.workspace_bytes == 0 && spec.purpose != Purpose::Mirror {
        host.tmpfs.get_or_insert_default().remove(HOME);
        mounts.push(volume(HOME, &names.home(&spec.name)));
        body.env.get_or_insert_default().push(format!("CAISSON_DISK_HOME={HOME}"));
    }
    if let Some(mirror) = shown {
        mounts.push(read_only(MIRROR, &mirror));
        body.env.get_or_insert_default().push(format!("CAISSON_MIRROR={MIRROR}"));
    }
    if spec.layered {
        mounts.push(read_only(LAYER, &names.layer(&spec.name)));
        body.env.get_or_insert_default().push(format!("CAISSON_LAYER={LAYER}/{UPPER}"));
    }
    Ok(body)
}

/// A container as restricted as a task's, without a workspace, that only inspects its image.
pub fn throw_away(names: &Names, fit: &ResolvedConfig<'_>, command: &[&str]) -> Result<ContainerCreateBody, Problem> {
    let limits =
        ContainerLimits { memory_bytes: 256 << 20, pids: 64, cpus: 1.0, tmp_bytes: 16 << 20, ..Default::default() };
    let mut body = hardened(names, *USERS.start(), &limits, "sealed", fit)?;
    body.labels = Some(names.labels(ResourceKind::Helper));
    body.entrypoint = Some(command.iter().map(|&word| word.to_owned()).collect());
    body.open_stdin = Some(false);
    body.working_dir = Some("/tmp".into());
    Ok(body)
}

/// The volume of a workspace in memory; the last argument has the engine's offsets of user and group numbers.
pub fn workspace(names: &Names, spec: &ContainerSpec, (uid, gid): (u64, u64)) -> VolumeCreateRequest {
    let (uid, gid) = (uid + u64::from(spec.user), gid + u64::from(spec.user));
    let bytes = spec.limits.workspace_bytes;
    let mut labels = names.labels(ResourceKind::Workspace);
    labels.insert(name::NAME.into(), spec.name.clone());
    let inodes = (bytes / 2048).clamp(10_000, 4_000_000);
    let options = format!("size={bytes},nr_inodes={inodes},uid={uid},gid={gid},mode=0755,nosuid,nodev");
    let in_memory = [("type", "tmpfs".to_owned()), ("device", "tmpfs".to_owned()), ("o", options)];
    VolumeCreateRequest {
        name: Some(names.workspace(&spec.name)),
        driver: Some("local".into()),
        driver_opts: Some(in_memory.map(|(key, value)| (key.to_owned(), value)).into()),
        labels: Some(labels),
        ..Default::default()
    }
}

/// SHA-256 of the whole spec; equal hashes mean equal containers.
pub fn spec_hash(spec: &ContainerSpec) -> Result<String, Problem> {
    let text = serde_json::to_vec(spec).map_err(|error| Problem::refused(error.to_string()))?;
    Ok(hex::encode(Sha256::digest(text)))
}

fn labels(names: &Names, spec: &ContainerSpec) -> Result<HashMap<String, String>, Problem> {
    let mut labels = names.labels(ResourceKind::Container);
    // Set even when empty, because the image could define a label of that name.
    labels.insert(name::TASK.into(), spec.task.map(|id| id.to_string()).unwrap_or_default());
    labels.insert(name::NAME.into(), spec.name.clone());
    labels.insert(name::PURPOSE.into(), spec.purpose.as_str().into());
    labels.insert(name::SPEC.into(), spec_hash(spec)?);
    Ok(labels)
}

fn hardened(
    names: &Names,
    user: u32,
    limits: &ContainerLimits,
    profile: &str,
    fit: &ResolvedConfig<'_>,
) -> Result<ContainerCreateBody, Problem> {
    let profile = seccomp::profile(profile)?;
    Ok(ContainerCreateBody {
        // The same for all containers, so that the agent learns nothing from it.
        hostname: Some("chamber".into()),
        user: Some(format!("{user}:{user}")),
        image: Some(fit.image.to_owned()),
        entrypoint: Some(vec![RUNNER.into()]),
        env: Some(vec![format!("CAISSON_WORKSPACE={WORKSPACE}"), format!("HOME={HOME}")]),
        working_dir: Some(WORKSPACE.into()),
        tty: Some(false),
        open_stdin: Some(true),
        // The runner outlives its host, and another one attaches later.
        stdin_once: Some(false),
        stop_signal: Some("SIGKILL".into()),
        healthcheck: Some(HealthConfig { test: Some(vec!["NONE".into()]), ..Default::default() }),
        labels: Some(names.labels(ResourceKind::Helper)),
        host_config: Some(host_config(user, limits, profile, fit)),
        networking_config: fit.place.map(networking),
        ..Default::default()
    })
}

fn host_config(user: u32, limits: &ContainerLimits, profile: &str, fit: &ResolvedConfig<'_>) -> HostConfig {
    let memory = Some(limits.memory_bytes as i64);
    HostConfig {
        cap_drop: Some(vec!["ALL".into()]),
        security_opt: Some(vec!["no-new-privileges".into(), format!("seccomp={profile}")]),
        privileged: Some(false),
        readonly_rootfs: Some(true),
        masked_paths: Some(owned(MASKED)),
        readonly_paths: Some(owned(READ_ONLY)),
        tmpfs: Some(tmpfs(user, limits.tmp_bytes)),
        mounts: Some(vec![read_only(runner_directory(), fit.runner)]),
        shm_size: Some(64 << 20),
        memory,
        memory_swap: memory,
        nano_cpus: Some((limits.cpus.min(fit.host.cores) * 1e9) as i64),
        pids_limit: Some(limits.pids as i64),
        ulimits: Some(vec![ulimit("nofile", limits.nofile as i64), ulimit("core", 0)]),
        log_config: Some(HostConfigLogConfig { typ: Some("none".into()), config: None }),
        restart_policy: Some(RestartPolicy { name: Some(RestartPolicyNameEnum::NO), maximum_retry_count: None }),
        ipc_mode: Some("private".into()),
        cgroupns_mode: fit.host.cgroup2.then_some(HostConfigCgroupnsModeEnum::PRIVATE),
        network_mode: Some(fit.place.map_or("none".into(), |place| place.network.clone())),
        // Always set, because an engine's resolver otherwise asks the host's, even in a network without a way out.
        dns: Some(vec![fit.place.map_or("127.0.0.1".into(), |place| place.gateway.to_string())]),
        dns_options: Some(owned(&["timeout:1", "attempts:2"])),
        dns_search: Some(owned(&["."])),
        extra_hosts: Some(Vec::new()),
        sysctls: fit.host.ipv6.then(no_ipv6),
        runtime: fit.runtime.map(str::to_owned),
        ..Default::default()
    }
}

fn networking(place: &ContainerNetwork) -> NetworkingConfig {
    let endpoint = EndpointSettings {
        ipam_config: Some(EndpointIpamConfig { ipv4_address: Some(place.address.to_string()), ..Default::default() }),
        ..Default::default()
    };
    NetworkingConfig { endpoints_config: Some(HashMap::from([(place.network.clone(), endpoint)])) }
}

fn tmpfs(user: u32, bytes: u64) -> HashMap<String, String> {
    let common = format!("size={bytes},nr_inodes=200k,exec,nosuid,nodev,uid={user},gid={user}");
    HashMap::from([
        ("/tmp".to_owned(), format!("{common},mode=1777")),
        (HOME.to_owned(), format!("{common},mode=0700")),
    ])
}

/// A mount without copying the image's content into the volume; the volume's creator sets its owner.
fn volume(target: &str, volume: &str) -> Mount {
    Mount {
        target: Some(target.into()),
        source: Some(volume.to_owned()),
        typ: Some(MountType::VOLUME),
        volume_options: Some(MountVolumeOptions { no_copy: Some(true), ..Default::default() }),
        ..Default::default()
    }
}

/// A volume that nothing in the container can change.
fn read_only(target: &str, name: &str) -> Mount {
    Mount { read_only: Some(true), ..volume(target, name) }
}

/// Where the runner's volume is mounted.
pub fn runner_directory() -> &'static str {
    RUNNER.rsplit_once('/').map_or("/", |(directory, _)| directory)
}

/// Settings that disable IPv6, for our containers and the router's holder.
pub fn no_ipv6() -> HashMap<String, String> {
    ["all", "default"].map(|which| (format!("net.ipv6.conf.{which}.disable_ipv6"), "1".to_owned())).into()
}

fn ulimit(name: &str, value: i64) -> ResourcesUlimits {
    ResourcesUlimits { name: Some(name.into()), soft: Some(value), hard: Some(value) }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::broker::Purpose;

    fn made(spec: &ContainerSpec, place: Option<&ContainerNetwork>) -> ContainerCreateBody {
        let host = Host { cores: 2.0, cgroup2: true, ipv6: true, users_from: (200_000, 300_000) };
        let fit =
            ResolvedConfig { image: "sha256:aa", runner: "the-runner", place, runtime: None, gpus: &Gpus::All, host };
        container(&Names::new("one").unwrap(), spec, &fit).unwrap()
    }

    fn spec() -> ContainerSpec {
        ContainerSpec {
            name: "t1".into(),
            task: None,
            purpose: Purpose::Task,
            user: 10_007,
            image: "some:tag".into(),
            subnet: None,
            limits: ContainerLimits { cpus: 64.0, workspace_bytes: 1 << 30, ..Default::default() },
            env: vec![("A".into(), "b".into())],
            profile: "sealed".into(),
            mirror: None,
            layered: false,
        }
    }

    #[test]
    fn a_workspace_on_disk_is_watched_and_one_in_memory_has_its_size() {
        let env = |workspace_bytes| {
            let limits = ContainerLimits { workspace_bytes, disk_bytes: 5, disk_floor_bytes: 7, ..Default::default() };
            made(&ContainerSpec { limits, ..spec() }, None).env.unwrap()
        };
        let on_disk = env(0);
        assert!(
            on_disk.contains(&"CAISSON_DISK=5:7".to_owned())
                && on_disk.contains(&"CAISSON_DISK_HOME=/home/agent".to_owned())
        );
        assert!(!env(1 << 20).iter().any(|it| it.starts_with("CAISSON_DISK")));
    }

    #[test]
    fn a_file_on_disk_is_held_to_the_disk_that_is_given() {
        let fsize = |workspace_bytes, disk_bytes| {
            let limits = ContainerLimits { workspace_bytes, disk_bytes, ..Default::default() };
            let all = made(&ContainerSpec { limits, ..spec() }, None).host_config.unwrap().ulimits.unwrap();
            all.into_iter().find(|it| it.name.as_deref() == Some("fsize")).map(|it| (it.soft, it.hard))
        };
        assert_eq!(fsize(0, 8 << 30), Some((Some(8 << 30), Some(8 << 30))));
        assert_eq!((fsize(0, 0), fsize(1 << 20, 8 << 30)), (None, None), "without end, and in memory");
    }

    #[test]
    fn a_home_lies_where_the_workspace_does() {
        let homes = |workspace_bytes, purpose| {
            let limits = ContainerLimits { workspace_bytes, ..Default::default() };
            let host = made(&ContainerSpec { limits, purpose, ..spec() }, None).host_config.unwrap();
            let volume = host.mounts.unwrap().into_iter().any(|it| it.target.as_deref() == Some("/home/agent"));
            (volume, host.tmpfs.unwrap().contains_key("/home/agent"))
        };
        for purpose in [Purpose::Task, Purpose::Verify, Purpose::Setup, Purpose::Probe] {
            assert_eq!(homes(0, purpose), (true, false), "{purpose:?}");
            assert_eq!(homes(1 << 30, purpose), (false, true), "{purpose:?}");
        }
        assert_eq!(homes(0, Purpose::Mirror), (false, true), "only git works there");
    }

    #[test]
    fn nothing_of_the_host_gets_in() {
        let host = made(&spec(), None).host_config.unwrap();
        assert_eq!(host.binds, None);
        assert_eq!(host.devices, None);
        assert_eq!(host.cap_add, None);
        assert_eq!(host.pid_mode, None);
        assert_eq!(host.privileged, Some(false));
        assert_eq!(host.network_mode.as_deref(), Some("none"));
        assert!(host.mounts.unwrap().iter().all(|mount| mount.typ == Some(MountType::VOLUME)));
    }

    #[test]
    fn a_mirror_is_written_by_its_own_container_alone() {
        let mounts = |purpose| {
            let spec = ContainerSpec { purpose, mirror: Some("m".into()), ..spec() };
            let all = made(&spec, None).host_config.unwrap().mounts.unwrap();
            let mirror: Vec<Mount> =
                all.into_iter().filter(|it| it.source.as_deref() == Some("caisson-one-mirror-m")).collect();
            mirror.into_iter().map(|it| (it.target.unwrap_or_default(), it.read_only)).collect::<Vec<_>>()
        };
        for purpose in [Purpose::Task, Purpose::Quarantine, Purpose::Verify, Purpose::Probe, Purpose::Setup] {
            assert_eq!(mounts(purpose), [("/mirror".to_owned(), Some(true))], "{purpose:?}");
        }
        assert_eq!(mounts(Purpose::Mirror), [("/workspace".to_owned(), None)]);
    }

    #[test]
    fn a_layer_is_shown_to_its_own_container_and_written_by_nobody() {
        let shown = |layered| {
            let made = made(&ContainerSpec { mirror: Some("m".into()), layered, ..spec() }, None);
            let mounts = made.host_config.unwrap().mounts.unwrap().into_iter();
            let layer = mounts.filter(|it| it.target.as_deref() == Some("/layer"));
            let layer: Vec<_> = layer.map(|it| (it.source.unwrap_or_default(), it.read_only)).collect();
            (layer, made.env.unwrap().contains(&"CAISSON_LAYER=/layer/upper".to_owned()))
        };
        let own = Names::new("one").unwrap().layer("t1");
        assert_eq!(shown(true), (vec![(own, Some(true))], true));
        assert_eq!(shown(false), (vec![], false));
    }

    #[test]
    fn memory_has_no_swap_beside_it_and_cores_are_what_there_is() {
        let host = made(&spec(), None).host_config.unwrap();
        assert_eq!(host.memory, host.memory_swap);
        assert_eq!(host.nano_cpus, Some(2_000_000_000));
    }

    #[test]
    fn a_container_is_its_user_s() {
        let made = made(&spec(), None);
        assert_eq!(made.user.as_deref(), Some("10007:10007"));
        let tmpfs = made.host_config.unwrap().tmpfs.unwrap();
        assert!(tmpfs.len() == 2 && tmpfs.values().all(|how| how.contains("uid=10007,gid=10007")), "{tmpfs:?}");
    }

    #[test]
    fn the_image_is_named_by_its_id() {
        assert_eq!(made(&spec(), None).image.as_deref(), Some("sha256:aa"));
    }

    #[test]
    fn graphics_processors_are_for_tasks_alone() {
        assert_eq!(made(&spec(), None).host_config.unwrap().device_requests.unwrap()[0].count, Some(-1));
        let verify = ContainerSpec { purpose: Purpose::Verify, ..spec() };
        assert_eq!(made(&verify, None).host_config.unwrap().device_requests, None);
    }

    #[test]
    fn another_limit_is_another_container() {
        let mut other = spec();
        other.limits.pids += 1;
        assert_eq!(spec_hash(&spec()), spec_hash(&spec()));
        assert_ne!(spec_hash(&spec()), spec_hash(&other));
    }

    #[test]
    fn a_subnet_gives_a_fixed_address_and_only_the_router_as_name_server() {
        let layout = crate::subnet::Layout::parse("10.90.0.0/24").unwrap();
        let place = layout.subnet(&Names::new("one").unwrap(), 3).unwrap();
        let body = made(&spec(), Some(&place));
        assert_eq!(body.host_config.unwrap().dns, Some(vec!["10.90.0.49".into()]));
        let endpoints = body.networking_config.unwrap().endpoints_config.unwrap();
        let address = endpoints["caisson-one-berth-003"].ipam_config.as_ref().unwrap().ipv4_address.clone();
        assert_eq!(address.as_deref(), Some("10.90.0.58"));
    }

    #[test]
    fn a_workspace_in_memory_belongs_to_the_container_s_user() {
        let options = workspace(&Names::new("one").unwrap(), &spec(), (200_000, 300_000)).driver_opts.unwrap();
        assert!(
            options["o"].contains("uid=210007,gid=310007") && options["o"].contains("size=1073741824"),
            "{options:?}"
        );
    }
}
