//! The seccomp profiles, as data made by `seccomp/make.py`; the tests below keep closed what must stay closed.

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

/// SHA-256 of `sealed`, in hexadecimal; part of the key of a barrier's proof.
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

    /// The socket type is in the low bits; these two flags beside it are irrelevant.
    const FLAGS: u64 = 0x80800;

    #[test]
    fn sockets_are_streams_datagrams_and_what_tools_need() {
        for profile in [SEALED, DEBUG] {
            let rules = rules(profile);
            let mut open = Vec::new();
            for (call, rule) in ["socket", "socketpair"]
                .iter()
                .flat_map(|call| allowed(&rules, call).into_iter().map(move |it| (call, it)))
            {
                let of = |index: u64| rule["args"].as_array().unwrap().iter().find(|it| it["index"] == index);
                let kind = of(1).unwrap_or_else(|| panic!("any type: {rule}"));
                assert_eq!(
                    (&kind["op"], kind["value"].as_u64()),
                    (&Value::from("SCMP_CMP_MASKED_EQ"), Some(0xFFFF_FFFF - FLAGS))
                );
                let number = |it: &Value, part: &str| it[part].as_u64().unwrap();
                let protocol = of(2).map(|it| number(it, "value"));
                open.push((*call, number(of(0).unwrap(), "value"), number(kind, "valueTwo"), protocol));
            }
            open.sort_unstable();
            let inet = |family| {
                [(1, 0), (1, 6), (2, 0), (2, 17)].map(|(kind, protocol)| ("socket", family, kind, Some(protocol)))
            };
            let mut expected = [inet(2), inet(10)].concat();
            // Netlink route sockets, with which addresses are listed; the C library opens them raw, other programs as datagrams.
            expected.extend([("socket", 16, 3, Some(0)), ("socket", 16, 2, Some(0))]);
            expected.extend([1, 2].map(|kind| ("socket", 1, kind, None)));
            // Browsers talk to their child processes over sequenced packets.
            expected.extend([1, 2, 5].map(|kind| ("socketpair", 1, kind, None)));
            expected.sort_unstable();
            assert_eq!(open, expected);
        }
    }

    #[test]
    fn no_call_takes_room_on_a_disk_without_writing() {
        for profile in [SEALED, DEBUG] {
            let rules = rules(profile);
            let told: Vec<&Value> = rules.iter().filter(|it| it["names"] == serde_json::json!(["fallocate"])).collect();
            assert!(allowed(&rules, "fallocate").is_empty() && told.len() == 1, "{told:?}");
            assert_eq!((&told[0]["action"], &told[0]["errnoRet"]), (&"SCMP_ACT_ERRNO".into(), &95.into()));
            let open = |request: u64| {
                allowed(&rules, "ioctl").iter().any(|rule| {
                    let [arg] = &rule["args"].as_array().unwrap()[..] else { panic!("{rule}") };
                    assert_eq!((&arg["index"], &arg["op"]), (&1.into(), &"SCMP_CMP_MASKED_EQ".into()));
                    request & arg["value"].as_u64().unwrap() == arg["valueTwo"].as_u64().unwrap()
                })
            };
            // XFS_IOC_ALLOCSP, FS_IOC_RESVSP, FS_IOC_RESVSP64, FS_IOC_ZERO_RANGE; the kernel reads the low 32 bits.
            for closed in [0x4030_5824, 0x4030_5828, 0x4030_582A, 0x4030_5839] {
                assert!(!open(closed) && !open(closed | 1 << 32) && !open(closed | !0xFFFF_FFFF), "{closed:x}");
            }
            // TCGETS, FIONREAD, FIOCLEX, FICLONE, FS_IOC_GETFLAGS, TIOCGPTN, and the latter sign-extended.
            for usual in [0x5401, 0x541B, 0x5451, 0x4004_9409, 0x8008_6601, 0x8004_5430, 0xFFFF_FFFF_8004_5430] {
                assert!(open(usual), "{usual:x}");
            }
        }
    }

    #[test]
    fn a_process_changes_only_its_own_scheduling_and_limits() {
        let of_itself: [(&str, &[(u64, u64)]); 7] = [
            ("prlimit64", &[(0, 0)]),
            ("sched_setaffinity", &[(0, 0)]),
            ("sched_setattr", &[(0, 0)]),
            ("sched_setparam", &[(0, 0)]),
            ("sched_setscheduler", &[(0, 0)]),
            // PRIO_PROCESS and IOPRIO_WHO_PROCESS.
            ("setpriority", &[(0, 0), (1, 0)]),
            ("ioprio_set", &[(0, 1), (1, 0)]),
        ];
        for profile in [SEALED, DEBUG] {
            let rules = rules(profile);
            for (name, args) in of_itself {
                let equal = |&(index, value): &(u64, u64)| serde_json::json!({ "index": index, "value": value, "op": "SCMP_CMP_EQ" });
                let expected: Vec<Value> = args.iter().map(equal).collect();
                let found: Vec<&Value> = allowed(&rules, name).into_iter().map(|rule| &rule["args"]).collect();
                // Without a new limit, prlimit64 only asks.
                let query = Value::from([equal(&(2, 0))]);
                let mut all = vec![Value::from(expected)];
                all.extend((name == "prlimit64").then_some(query));
                assert_eq!(found, all.iter().collect::<Vec<_>>(), "{name}");
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
