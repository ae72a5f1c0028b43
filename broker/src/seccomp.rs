//! The seccomp profiles, as data. They are made by `seccomp/make.py`; what must stay closed is held by the tests below.

use protocol::broker::Problem;
use sha2::{Digest, Sha256};

const SEALED: &str = include_str!("../seccomp/sealed.json");
const DEBUG: &str = include_str!("../seccomp/debug.json");

/// The text of a profile, as the engine takes it inline.
pub fn profile(name: &str) -> Result<&'static str, Problem> {
    match name {
        "sealed" => Ok(SEALED),
        "debug" => Ok(DEBUG),
        _ => Err(Problem::refused(format!("there is no profile {name:?}; there are `sealed` and `debug`"))),
    }
}

/// sha256 of `sealed`, hex: part of what a barrier's proof is keyed by.
pub fn sealed_hash() -> String {
    hex::encode(Sha256::digest(SEALED))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn rules(profile: &str) -> Vec<Value> {
        let read: Value = serde_json::from_str(profile).unwrap();
        assert_eq!(read["defaultAction"], "SCMP_ACT_ERRNO");
        read["syscalls"].as_array().unwrap().clone()
    }

    fn allowed<'a>(rules: &'a [Value], name: &str) -> Vec<&'a Value> {
        let named = |rule: &&Value| rule["names"].as_array().unwrap().iter().any(|it| it == name);
        rules.iter().filter(named).filter(|rule| rule["action"] == "SCMP_ACT_ALLOW").collect()
    }

    const CLOSED: &str = "io_uring_setup io_uring_enter io_uring_register memfd_secret kcmp add_key request_key keyctl bpf \
        perf_event_open userfaultfd name_to_handle_at open_by_handle_at fanotify_init mount umount2 pivot_root setns unshare \
        chroot init_module finit_module kexec_load reboot swapon modify_ldt clone3 move_mount open_tree fsopen pidfd_getfd \
        quotactl mbind set_mempolicy syslog iopl ioperm";

    #[test]
    fn both_profiles_keep_closed_what_must_be() {
        for profile in [SEALED, DEBUG] {
            let rules = rules(profile);
            for name in CLOSED.split_whitespace() {
                assert!(allowed(&rules, name).is_empty(), "{name}");
            }
        }
    }

    #[test]
    fn only_debug_may_trace() {
        for name in ["ptrace", "process_vm_readv", "process_vm_writev"] {
            assert!(allowed(&rules(SEALED), name).is_empty(), "{name}");
            assert_eq!(allowed(&rules(DEBUG), name).len(), 1, "{name}");
        }
    }

    #[test]
    fn sockets_are_of_four_families() {
        for profile in [SEALED, DEBUG] {
            for rule in allowed(&rules(profile), "socket") {
                let family = &rule["args"][0];
                assert_eq!((&family["index"], &family["op"]), (&Value::from(0), &Value::from("SCMP_CMP_EQ")));
                assert!([1, 2, 10, 16].contains(&family["value"].as_u64().unwrap()), "{rule}");
                if family["value"] == 16 {
                    assert_eq!(rule["args"][1]["value"], 0, "only NETLINK_ROUTE");
                }
            }
        }
    }

    #[test]
    fn fifos_can_be_made() {
        assert_eq!(allowed(&rules(SEALED), "mknodat").len(), 1);
    }

    #[test]
    fn other_profiles_are_refused_by_name() {
        assert!(profile("unconfined").unwrap_err().text.contains("unconfined"));
    }
}
