//! Capabilities of the engine, from what it reports: its kind, runtimes, user namespace mapping, and warnings for a person. Pure. Tests:
//! below, and `tests/docker/engines.rs`.

use bollard::models::{SystemInfo, SystemVersion};
use protocol::broker::{PROBE_USERS, Problem, USERS};

/// Refuses Podman, whose Docker-compatible API lacks guarantees that the barrier needs.
pub fn is_docker(version: &SystemVersion) -> Result<(), Problem> {
    if !version.components.iter().flatten().any(|part| part.name.starts_with("Podman")) {
        return Ok(());
    }
    Err(Problem::refused(format!(
        "the engine is Podman {}, on which no sandbox can be made (tried with 4.3.1): it takes a seccomp profile only as a \
         file of its own, /tmp and /home/agent without owner (uid, gid) or number of files (nr_inodes), and a workspace in \
         memory only where the disk has project quotas; install Docker Engine and give its socket (`--engine`, or \
         CAISSON_ENGINE_SOCKET)",
        version.version.as_deref().unwrap_or("of an unknown version")
    )))
}

/// Refuses, by name, a runtime that the engine does not list.
pub fn has_runtime(info: &SystemInfo, wanted: Option<&str>) -> Result<(), Problem> {
    let Some(wanted) = wanted else { return Ok(()) };
    let listed = info.runtimes.clone().unwrap_or_default();
    if listed.contains_key(wanted) {
        return Ok(());
    }
    let mut names: Vec<String> = listed.into_keys().collect();
    names.sort();
    Err(Problem::refused(format!(
        "the engine has no runtime {wanted:?} (it has {}): install it, name it under \"runtimes\" in the engine's \
         daemon.json and restart the engine, or choose another (`--runtime`; `broker.runtime` in caisson.toml)",
        if names.is_empty() { "none it tells of".to_owned() } else { names.join(", ") }
    )))
}

/// Offsets that the engine adds to the user and group numbers of a container. With userns-remap, mounts made by the engine (a workspace in
/// memory) need the machine's numbers, and only the engine's directory shows the offset.
pub fn users_from(info: &SystemInfo) -> (u64, u64) {
    let base = info.docker_root_dir.as_deref().filter(|_| has(info, "name=userns")).and_then(|directory| {
        let (uid, gid) = directory.rsplit('/').next()?.split_once('.')?;
        Some((uid.parse::<u64>().ok()?, gid.parse::<u64>().ok()?))
    });
    base.unwrap_or_default()
}

/// Warnings about this engine for a person.
pub fn warnings(info: &SystemInfo) -> Vec<String> {
    let mut warnings = Vec::new();
    let lacks = |what: Option<bool>| what == Some(false);
    if has(info, "name=userns") {
        let ((from, _), first, last) = (users_from(info), u64::from(*USERS.start()), u64::from(PROBE_USERS[1]));
        warnings.push(format!(
            "userns-remap is on: the sandboxes' users {first} to {last} are {} to {} of this machine, and the kernel counts inotify \
             instances of all of them together (check 2 of `caisson barrier`)",
            from + first,
            from + last
        ));
    }
    if has(info, "name=rootless") {
        warnings.push("the engine is rootless: Caisson was not tried on one; believe `caisson barrier` alone".into());
    }
    if !has(info, "seccomp") {
        warnings.push("the engine has no seccomp: containers cannot be started with a profile".into());
    }
    if !has(info, "apparmor") && !has(info, "selinux") {
        warnings.push("neither AppArmor nor SELinux stands behind seccomp and the missing capabilities".into());
    }
    if lacks(info.memory_limit) || lacks(info.pids_limit) || lacks(info.cpu_cfs_quota) {
        warnings
            .push("the kernel lacks a cgroup limit (memory, pids or cpu): a container may starve the machine".into());
    }
    if lacks(info.swap_limit) {
        warnings.push("the kernel does not account swap: a container may use swap beyond its memory".into());
    }
    warnings
}

fn has(info: &SystemInfo, word: &str) -> bool {
    info.security_options.iter().flatten().any(|option| option.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(options: &[&str], directory: &str) -> SystemInfo {
        SystemInfo {
            security_options: Some(options.iter().map(|&it| it.to_owned()).collect()),
            docker_root_dir: Some(directory.to_owned()),
            runtimes: Some([("runc".to_owned(), Default::default())].into()),
            ..Default::default()
        }
    }

    #[test]
    fn a_runtime_that_is_not_there_is_refused_by_name() {
        let info = info(&[], "/var/lib/docker");
        assert_eq!((has_runtime(&info, None), has_runtime(&info, Some("runc"))), (Ok(()), Ok(())));
        let problem = has_runtime(&info, Some("runsc")).unwrap_err();
        assert!(problem.text.contains("\"runsc\" (it has runc)"), "{problem}");
    }

    #[test]
    fn a_remapped_engine_numbers_users_otherwise() {
        let remapped = info(&["name=seccomp,profile=default", "name=userns"], "/var/lib/docker/200000.300000");
        assert_eq!(users_from(&remapped), (200_000, 300_000));
        assert!(warnings(&remapped)[0].contains("10003 to 10066 are 210003 to 210066 of this machine"));
        // Without userns-remap a directory of such a name means nothing.
        assert_eq!(users_from(&info(&["name=seccomp"], "/srv/200000.300000")), (0, 0));
    }

    #[test]
    fn a_rootless_engine_is_named() {
        assert!(warnings(&info(&["name=seccomp", "name=rootless"], ""))[0].contains("rootless"));
        assert!(!warnings(&info(&["name=seccomp"], "")).join("").contains("rootless"));
    }
}
