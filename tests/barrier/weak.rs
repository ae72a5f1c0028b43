//! One protection is removed from a sandbox, and the check for it reports that.

use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::Arc;

use protocol::router::{Policy, Rule};
use serde_json::{Value, json};

use crate::lab::{Change, IMAGE, Lab, ROUTER, Weak, lenient, mismatches, run, run_alone, runner};

/// A name, the change, and the numbers of all checks that must report it.
type Weakness = (&'static str, Change, &'static [u8]);

fn host(body: &mut Value, key: &str, value: Value) {
    body["HostConfig"][key] = value;
}

fn push(body: &mut Value, key: &str, value: Value) {
    match body["HostConfig"][key].as_array_mut() {
        Some(list) => list.push(value),
        None => body["HostConfig"][key] = json!([value]),
    }
}

fn bind(body: &mut Value, source: &str, target: &str, read_only: bool) {
    push(body, "Mounts", json!({ "Type": "bind", "Source": source, "Target": target, "ReadOnly": read_only }));
}

fn security(body: &mut Value, keep: &str) {
    let list = body["HostConfig"]["SecurityOpt"].as_array_mut().expect("options");
    list.retain(|option| option.as_str().is_some_and(|it| it.starts_with(keep)));
}

/// The filter without the condition on the type argument of `socket`.
fn any_type(body: &mut Value) {
    let list = body["HostConfig"]["SecurityOpt"].as_array_mut().expect("options");
    let option = list.iter_mut().find(|it| it.as_str().is_some_and(|it| it.starts_with("seccomp="))).expect("a filter");
    let mut filter: Value = serde_json::from_str(&option.as_str().expect("text")["seccomp=".len()..]).expect("JSON");
    for rule in filter["syscalls"].as_array_mut().expect("rules").iter_mut().filter(|it| it["names"][0] == "socket") {
        rule["args"].as_array_mut().expect("arguments").retain(|it| it["index"] != 1);
    }
    *option = json!(format!("seccomp={filter}"));
}

fn mounts(body: &mut Value) -> &mut Vec<Value> {
    body["HostConfig"]["Mounts"].as_array_mut().expect("mounts")
}

/// A part of the mirror's mount.
fn mirror<'a>(body: &'a mut Value, part: &str) -> &'a mut Value {
    let mount = mounts(body).iter_mut().find(|mount| mount["Target"] == "/mirror");
    &mut mount.expect("a mirror")[part]
}

/// User and group of the first sandbox (`protocol::broker::PROBE_USERS`).
const FIRST: &str = "10065:10065";

/// Adds an object to a volume, as the container that fills it could.
fn plant(volume: &str) {
    let mount = format!("{volume}:/m");
    let hash = "echo planted | git --git-dir=/m hash-object -w --stdin";
    let words =
        ["run", "--rm", "--network", "none", "--user", FIRST, "-v", &mount, "--entrypoint", "sh", IMAGE, "-c", hash];
    let done = Command::new("docker").args(words).output().expect("docker");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Mounts the bot's own object store, which has every task's commits, in place of the mirror.
fn bots_own(body: &mut Value, lab: &Lab) {
    let entries = std::fs::read_dir(lab.dir.path()).expect("a directory").flatten().map(|entry| entry.path());
    let store = entries.map(|path| path.join("repos/barrier.git")).find(|path| path.is_dir()).expect("the test's own");
    let copy = format!("{}/own", shared(lab, "plain"));
    drop(std::fs::remove_dir_all(&copy));
    let copied = Command::new("cp").args(["-r", &store.display().to_string(), &copy]).status();
    let given = Command::new("chown").args(["-R", FIRST, &copy]).status();
    assert!(copied.is_ok_and(|it| it.success()) && given.is_ok_and(|it| it.success()));
    mounts(body).retain(|it| it["Target"] != "/mirror");
    bind(body, &copy, "/mirror", true);
}

const PROCESS: &[Weakness] = &[
    ("a capability", |body, _| host(body, "CapAdd", json!(["NET_RAW"])), &[1]),
    (
        "no filter",
        |body, _| {
            security(body, "no-new");
            push(body, "SecurityOpt", json!("seccomp=unconfined"));
        },
        &[2, 3, 4, 5, 6, 7, 14],
    ),
    ("the engine's own filter", |body, _| security(body, "no-new"), &[5, 7, 14]),
    ("sockets of any type", |body, _| any_type(body), &[7]),
    ("root", |body, _| body["User"] = json!("0:0"), &[2, 19, 20, 24, 28, 29, 30]),
    ("the host's processes", |body, _| host(body, "PidMode", json!("host")), &[6, 29]),
    ("another process 1", |body, _| host(body, "Init", json!(true)), &[6, 19, 28, 29]),
    // The runner sets the same flag for itself and its children, so nothing is reported.
    ("no-new-privileges not asked for", |body, _| security(body, "seccomp"), &[]),
];

const FILES: &[Weakness] = &[
    ("a root for writing", |body, _| host(body, "ReadonlyRootfs", json!(false)), &[19, 20]),
    ("the engine's socket", |body, _| bind(body, "/var/run/docker.sock", "/run/docker.sock", true), &[18]),
    ("a directory of the host", |body, lab| bind(body, &shared(lab, "plain"), "/mnt", false), &[20]),
    (
        "a file with a secret",
        |body, lab| bind(body, &format!("{}/leak", shared(lab, "leaky")), "/etc/issue", true),
        &[25],
    ),
    (
        "a secret in a variable",
        |body, _| {
            body["Env"].as_array_mut().expect("variables").push(json!("FORGE_TOKEN=0123456789"));
        },
        &[25],
    ),
    (
        "a device",
        |body, _| {
            push(
                body,
                "Devices",
                json!({ "PathOnHost": "/dev/fuse", "PathInContainer": "/dev/fuse", "CgroupPermissions": "r" }),
            );
        },
        &[21],
    ),
    ("a mirror for writing", |body, _| *mirror(body, "ReadOnly") = json!(false), &[20, 24]),
    ("no mirror", |body, _| mounts(body).retain(|it| it["Target"] != "/mirror"), &[24, 30]),
    ("a mirror that holds more", |body, _| plant(mirror(body, "Source").as_str().expect("a volume")), &[30]),
    ("the bot's own repository instead", |body, lab| bots_own(body, lab), &[30]),
    ("nothing masked", |body, _| host(body, "MaskedPaths", json!([])), &[22]),
    ("/proc/sys for writing", |body, _| host(body, "ReadonlyPaths", json!([])), &[19]),
];

const LIMITS: &[Weakness] = &[
    ("no limit of processes", |body, _| host(body, "PidsLimit", json!(0)), &[23]),
    (
        "more memory",
        |body, _| {
            host(body, "Memory", json!(1 << 30));
            host(body, "MemorySwap", json!(1 << 30));
        },
        &[23],
    ),
    ("swap", |body, _| host(body, "MemorySwap", json!(1 << 30)), &[23]),
    ("no limit of processor time", |body, _| host(body, "NanoCpus", json!(0)), &[23]),
    (
        "core dumps",
        |body, _| {
            host(
                body,
                "Ulimits",
                json!([{ "Name": "nofile", "Soft": 512, "Hard": 512 }, { "Name": "core", "Soft": -1, "Hard": -1 }]),
            );
        },
        &[],
    ),
    (
        "more open files",
        |body, _| {
            host(
                body,
                "Ulimits",
                json!([{ "Name": "nofile", "Soft": 1024, "Hard": 1024 }, { "Name": "core", "Soft": 0, "Hard": 0 }]),
            );
        },
        &[23],
    ),
    ("the host's shared memory", |body, _| host(body, "IpcMode", json!("host")), &[23]),
    (
        "IPv6",
        |body, _| {
            host(
                body,
                "Sysctls",
                json!({ "net.ipv6.conf.all.disable_ipv6": "0", "net.ipv6.conf.default.disable_ipv6": "0" }),
            );
        },
        &[8],
    ),
];

/// Path of a file without permission to execute.
fn no_program(lab: &Lab) -> String {
    let path = format!("{}/none", shared(lab, "plain"));
    std::fs::write(&path, "").expect("written");
    path
}

/// A directory that everybody may read; with `leaky` it contains a file that looks like a planted secret.
fn shared(lab: &Lab, name: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = lab.dir.path().join(name);
    std::fs::create_dir_all(&path).expect("a directory");
    if name == "leaky" {
        std::fs::write(path.join("leak"), format!("{}0123", protocol::probe::CANARY.concat())).expect("written");
    }
    for at in [lab.dir.path(), &path] {
        std::fs::set_permissions(at, PermissionsExt::from_mode(0o755)).expect("opened");
    }
    path.display().to_string()
}

/// An internal network of the engine; removed when dropped.
struct Internal(String);

impl Internal {
    fn make(lab: &Lab) -> Internal {
        let name = format!("caisson-{}-internal", lab.installation);
        let made = Command::new("docker").args(["network", "create", "--internal", &name]).output();
        assert!(made.is_ok_and(|out| out.status.success()), "{name}");
        Internal(name)
    }
}

impl Drop for Internal {
    fn drop(&mut self) {
        let _ = Command::new("docker").args(["network", "rm", &self.0]).output();
    }
}

async fn each(lab: Arc<Lab>, weaknesses: &[Weakness]) {
    let mut wrong = Vec::new();
    for (what, change, expected) in weaknesses {
        let weak = Weak::new(&lab, *change);
        let (report, seen) = mismatches(&lab.setup(Arc::new(weak))).await;
        if seen != *expected {
            wrong.push(format!("{what}: {seen:?} instead of {expected:?}: {:#?}", report.mismatches()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_weaker_process_is_caught() {
    let Some(runner) = runner() else { return };
    run(runner, |lab| each(lab, PROCESS)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_weaker_file_system_is_caught() {
    let Some(runner) = runner() else { return };
    run(runner, |lab| each(lab, FILES)).await;
}

/// All sandboxes once shared a user: the kernel then counts their inotify instances together.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_that_two_sandboxes_share_is_caught() {
    let Some(runner) = runner() else { return };
    run_alone(runner, |lab| async move {
        let shared = Weak { victim: "barrier-2", ..Weak::new(&lab, |body, _| body["User"] = json!(FIRST)) };
        let (report, seen) = mismatches(&lab.setup(Arc::new(shared))).await;
        let said = report.mismatches().join("\n");
        assert_eq!(seen, [2], "{said}");
        assert!(said.contains("an inotify instance meanwhile: EMFILE instead of OPEN"), "{said}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn weaker_limits_are_caught() {
    let Some(runner) = runner() else { return };
    run(runner, |lab| each(lab, LIMITS)).await;
}

/// Such a network keeps a sandbox from the internet, but not from the host.
#[tokio::test(flavor = "multi_thread")]
async fn an_internal_network_of_the_engine_is_caught() {
    let Some(runner) = runner() else { return };
    run(runner, |lab| async move {
        let _network = Internal::make(&lab);
        // No container with a network is started before the host's side of the subnets is closed; this network is not a subnet.
        let _router = lab.networked(lab.broker.clone(), "").await;
        let change: Change = |body, lab| {
            host(body, "NetworkMode", json!(format!("caisson-{}-internal", lab.installation)));
            body["NetworkingConfig"] = json!({});
        };
        let weak = Weak::new(&lab, change);
        let (report, seen) = mismatches(&lab.setup(Arc::new(weak))).await;
        for number in [8, 9, 11] {
            assert!(seen.contains(&number), "{number}: {:#?}", report.mismatches());
        }
        let heard = report.mismatches().into_iter().find(|it| it.starts_with("check 11")).unwrap_or_default();
        assert!(heard.contains("OPEN"), "{heard}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_way_out_that_is_too_wide_is_caught() {
    let Some(runner) = runner() else { return };
    run(runner, |lab| async move {
        let unchanged: Change = |_, _| {};
        let near = Arc::new(Weak { joined: true, ..Weak::new(&lab, unchanged) });
        let (report, seen) = mismatches(&lab.networked(near, "").await).await;
        assert_eq!(seen, [8, 9, 12, 32], "beside its neighbour: {:#?}", report.mismatches());
        let stays = Arc::new(Weak { router_stays: true, ..Weak::new(&lab, unchanged) });
        let (report, seen) = mismatches(&lab.networked(stays, "").await).await;
        assert_eq!(seen, [27], "a router that stays: {:#?}", report.mismatches());
        let hole = Arc::new(Weak { hole: true, ..Weak::new(&lab, unchanged) });
        let (report, seen) = mismatches(&lab.networked(hole, "").await).await;
        assert_eq!(seen, [31], "a hole in the router's firewall: {:#?}", report.mismatches());
        let uncounted = Arc::new(Weak { uncounted: true, ..Weak::new(&lab, unchanged) });
        let setup = lab.networked(uncounted, "").await;
        let (mut report, mut seen) = mismatches(&setup).await;
        // On a busy machine one try may not send enough.
        for _ in 0..2 {
            if seen.is_empty() {
                (report, seen) = mismatches(&setup).await;
            }
        }
        assert_eq!(seen, [33], "a resolver that one can take: {:#?}", report.mismatches());
        // Otherwise its client would keep sending to the router.
        drop(setup);
        let shut = "[egress]\ndeny = [\"*.caisson-barrier.invalid\"]\n";
        let (report, seen) = mismatches(&lab.networked(lab.broker.clone(), shut).await).await;
        assert!(seen.contains(&15) && seen.contains(&17), "nothing is let pass: {:#?}", report.mismatches());
        let wide = lab.networked(lab.broker.clone(), "").await;
        let allow = vec![Rule::parse("*.caisson-barrier.invalid").expect("a rule")];
        let private = wide.broker.host(ROUTER).await.expect("told").own().collect();
        let policy = Policy { allow, private, ..Policy::default() };
        wide.router.as_ref().expect("a router").egress.set_policy(policy).await.expect("in force");
        let (report, seen) = mismatches(&wide).await;
        assert_eq!(seen, [13, 16, 32], "a rule for every name: {:#?}", report.mismatches());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_was_flushed_is_caught() {
    let Some(runner) = runner() else { return };
    run(runner, |lab| async move {
        let open = Arc::new(Weak { unfenced: true, ..Weak::new(&lab, |_, _| {}) });
        let setup = lab.networked(open, "").await;
        if lenient(&lab).await {
            let (report, seen) = mismatches(&setup).await;
            let what = report.mismatches().join("\n");
            assert_eq!(seen, [11], "{what}");
            // Which network the router has depends on what else runs on this machine.
            let heard =
                what.split("the machine's listener heard: ").nth(1).and_then(|rest| rest.split([',', '\n']).next());
            let heard = heard.and_then(|address| address.parse::<Ipv4Addr>().ok());
            assert!(heard.is_some_and(|address| address.is_private()), "{what}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_that_could_not_be_made_is_no_mismatch_and_is_tried_again() {
    let Some(runner) = runner() else { return };
    run(runner, |lab| async move {
        let busy = Arc::new(Weak { busy: true, ..Weak::new(&lab, |_, _| {}) });
        let trouble = caisson::barrier::run(&lab.setup(busy), &|_| {}).await.expect_err("carried out");
        assert!(trouble.0.contains("the engine is busy"), "{trouble}");
        let (report, seen) = mismatches(&lab.setup(lab.broker.clone())).await;
        assert!(seen.is_empty() && report.holds, "{:#?}", report.mismatches());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_without_git_is_no_mismatch_and_the_row_says_it() {
    let Some(runner) = runner() else { return };
    run(runner, |lab| async move {
        let change: Change = |body, lab| bind(body, &no_program(lab), "/usr/bin/git", true);
        let (report, seen) = mismatches(&lab.setup(Arc::new(Weak::new(&lab, change)))).await;
        assert!(seen.is_empty(), "{:#?}", report.mismatches());
        let row = report.rows.iter().find(|row| row.number == 30).expect("check 30");
        assert!(row.seen.contains("the image has no git"), "{}", row.seen);
    })
    .await;
}
