//! The stored proof: for which machine, engine, images and programs the barrier held, so that it isn't tested at every start.
//!
//! Owns one file in the state directory, and the state for the rest of the bot: whether tasks may start. Only an equal key is a proof.
//! Tests: below.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use protocol::broker::{ContainerLimits, RouterSpec};
use protocol::router::{Bogons, Net};
use serde::{Deserialize, Serialize};

use super::Untested;
use crate::sandbox::broker::Broker;

/// Kernel settings that affect what the checks try.
const SYSCTLS: &[&str] = &[
    "kernel/unprivileged_userns_clone",
    "user/max_user_namespaces",
    "kernel/unprivileged_bpf_disabled",
    "kernel/io_uring_disabled",
    "kernel/perf_event_paranoid",
    "kernel/kptr_restrict",
    "kernel/dmesg_restrict",
    "kernel/yama/ptrace_scope",
    "vm/unprivileged_userfaultfd",
    "fs/suid_dumpable",
    "net/bridge/bridge-nf-call-iptables",
    "net/bridge/bridge-nf-call-ip6tables",
    "net/ipv4/ip_forward",
];

/// State of the barrier, which decides whether tasks may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BarrierState {
    /// It holds on this machine in its present configuration.
    Proven,
    /// Not proven yet: what is being done, or why it can't be.
    Waiting(String),
    /// It can't be tested before the operator acts; tasks are refused with this sentence instead of waiting.
    Refused(String),
    /// It does not hold; each mismatch in a sentence.
    Broken(Vec<String>),
}

impl BarrierState {
    /// Why tasks may not start; `None` when they may.
    pub fn reason(&self) -> Option<String> {
        match self {
            Self::Proven => None,
            Self::Waiting(why) => Some(format!("not proven yet: {why}")),
            Self::Refused(why) => Some(format!("can't be proven: {why}")),
            Self::Broken(mismatches) => Some(format!("does not hold, so no task starts: {}", mismatches.join("; "))),
        }
    }
}

/// Properties of the network of the machine that sandboxes run on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// `rp_filter` as the kernel applies it, for each subnet's bridge, by the name of its network.
    pub rp_filter: BTreeMap<String, u8>,
    /// Its public addresses, which the firewall refuses. (All others are private or special, and change with an engine's networks.)
    pub public: Vec<Net>,
}

/// Everything a proof depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Key {
    /// Release of the kernel that the engine runs on; empty where the engine reports none.
    pub kernel: String,
    /// The kernel's boot id.
    pub boot: String,
    /// Name and version of the container engine, for example `Docker 20.10.24`.
    pub engine: String,
    /// SHA-256 of the engine's configuration.
    pub daemon: String,
    /// sha256 of the seccomp profile `sealed`, hex.
    pub seccomp: String,
    /// Kernel settings that isolation depends on, by path below `/proc/sys`; empty where one can't be read.
    pub sysctls: BTreeMap<String, String>,
    /// sha256 of the runner that sandboxes get, hex.
    pub runner: String,
    /// Hardening profiles that sandboxes are made with.
    pub profiles: Vec<String>,
    /// Image ids by reference.
    pub images: BTreeMap<String, String>,
    /// The router's image and specification; `None` without a network.
    pub router: Option<(String, RouterSpec)>,
    /// Properties of the machine's network that subnets depend on; `None` without a network.
    #[serde(default)]
    pub machine: Option<Machine>,
    /// Limits of each sandbox.
    pub limits: ContainerLimits,
    /// This program's version, which stands for the checks themselves.
    pub version: String,
}

impl Key {
    /// The key of this machine in its present configuration.
    ///
    /// # Errors
    /// When the broker is unreachable, or an image is missing.
    pub async fn of(
        broker: &dyn Broker,
        images: &[String],
        profiles: &[&str],
        router: Option<&RouterSpec>,
        limits: ContainerLimits,
    ) -> Result<Key, Untested> {
        let info = broker.hello().await?;
        let id = async |reference: &str| {
            let found = broker.image(reference).await?;
            let missing = || Untested(format!("the image {reference} is not there; `make images` builds it"));
            found.map(|image| image.id).ok_or_else(missing)
        };
        let mut ids = BTreeMap::new();
        for reference in images {
            ids.insert(reference.clone(), id(reference).await?);
        }
        let (router, machine) = match router {
            Some(spec) => {
                let host = broker.host(&spec.image).await?;
                let special = Bogons::new(&[], &[]);
                let public = host.own().filter(|net| !special.refuses(net.addr)).collect();
                let machine = Machine { rp_filter: host.rp_filter, public };
                (Some((id(&spec.image).await?, spec.clone())), Some(machine))
            }
            None => (None, None),
        };
        let read = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        Ok(Key {
            kernel: info.kernel,
            boot: read("/proc/sys/kernel/random/boot_id"),
            engine: info.engine,
            daemon: info.daemon,
            seccomp: info.seccomp,
            sysctls: SYSCTLS.iter().map(|&name| (name.to_owned(), read(&format!("/proc/sys/{name}")))).collect(),
            runner: info.runner,
            profiles: profiles.iter().map(|&profile| profile.to_owned()).collect(),
            images: ids,
            router,
            machine,
            limits,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }
}

/// Result of the last test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// What was tested, and on which machine.
    pub key: Key,
    /// Unix milliseconds.
    pub at: i64,
    /// Each mismatch in a sentence; empty = the barrier held.
    pub mismatches: Vec<String>,
    /// Addresses of the machine itself that were tried; none without a network.
    #[serde(default)]
    pub tried: Vec<IpAddr>,
}

impl Proof {
    fn file(state_dir: &Path) -> PathBuf {
        state_dir.join("barrier.json")
    }

    /// The stored proof; none if there is none or it is unreadable.
    pub fn last(state_dir: &Path) -> Option<Proof> {
        serde_json::from_slice(&std::fs::read(Self::file(state_dir)).ok()?).ok()
    }

    /// Whether it proves that the barrier holds for this key.
    pub fn shows(&self, key: &Key) -> bool {
        self.lacks(key).is_empty()
    }

    /// The images of `key` that are not proven: all of them, unless it proves the same machine with other images.
    pub fn lacks(&self, key: &Key) -> Vec<String> {
        let tried = |reference: &str, id: &String| self.key.images.get(reference) == Some(id);
        let shown =
            |reference: &str, id: &String| self.mismatches.is_empty() && self.is_of(key) && tried(reference, id);
        key.images
            .iter()
            .filter(|(reference, id)| !shown(reference, id))
            .map(|(reference, _)| reference.clone())
            .collect()
    }

    /// Whether it is of the machine of this key, whatever the images.
    pub fn is_of(&self, key: &Key) -> bool {
        Key { images: key.images.clone(), ..self.key.clone() } == *key
    }

    /// Adds the images that an older proof of the same machine proves.
    pub fn with(mut self, older: Option<Proof>) -> Proof {
        // With a mismatch nothing is added, so that the key names exactly what was tested.
        let whole = self.mismatches.is_empty();
        let older = older.filter(|older| whole && older.mismatches.is_empty() && older.is_of(&self.key));
        for (reference, id) in older.into_iter().flat_map(|it| it.key.images) {
            self.key.images.entry(reference).or_insert(id);
        }
        self
    }

    /// Stores the proof atomically: a new file, then renamed.
    ///
    /// # Errors
    /// When the state directory can't be written.
    pub fn keep(&self, state_dir: &Path) -> std::io::Result<()> {
        let (path, beside) = (Self::file(state_dir), state_dir.join("barrier.json.new"));
        std::fs::write(&beside, serde_json::to_vec_pretty(self)?)?;
        std::fs::rename(beside, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof() -> Proof {
        let key = Key {
            kernel: "6.1".into(),
            boot: "b".into(),
            engine: "Docker".into(),
            daemon: "d".into(),
            seccomp: "s".into(),
            sysctls: BTreeMap::from([("kernel/kptr_restrict".into(), "1".into())]),
            runner: "r".into(),
            profiles: vec!["sealed".into()],
            images: BTreeMap::from([("a:1".into(), "sha256:1".into())]),
            router: None,
            machine: Some(Machine {
                rp_filter: BTreeMap::from([("berth-000".into(), 1)]),
                public: vec!["8.8.4.4".parse().unwrap()],
            }),
            limits: ContainerLimits::default(),
            version: "1".into(),
        };
        Proof { key, at: 7, mismatches: Vec::new(), tried: vec!["198.51.100.7".parse().unwrap()] }
    }

    #[test]
    fn any_other_key_is_no_proof() {
        let proof = proof();
        let changes: [fn(&mut Key); 14] = [
            |it| it.kernel = "6.2".into(),
            |it| it.boot = "c".into(),
            |it| it.engine = "Docker 2".into(),
            |it| it.daemon = "e".into(),
            |it| it.seccomp = "t".into(),
            |it| drop(it.sysctls.insert("kernel/kptr_restrict".into(), "0".into())),
            |it| it.runner = "q".into(),
            |it| it.profiles.push("debug".into()),
            |it| drop(it.images.insert("a:1".into(), "sha256:2".into())),
            |it| *it.machine.as_mut().unwrap().rp_filter.get_mut("berth-000").unwrap() = 0,
            |it| it.machine.as_mut().unwrap().public.clear(),
            |it| it.machine = None,
            |it| it.limits.pids += 1,
            |it| it.version = "2".into(),
        ];
        assert!(proof.shows(&proof.key));
        for change in changes {
            let mut key = proof.key.clone();
            change(&mut key);
            assert!(!proof.shows(&key), "{key:?}");
        }
    }

    #[test]
    fn an_image_that_comes_later_is_all_that_is_tried_anew() {
        let mut proof = proof();
        let mut key = proof.key.clone();
        key.images.insert("b:1".into(), "sha256:3".into());
        assert_eq!(proof.lacks(&key), ["b:1"]);
        assert!(!proof.shows(&key));
        key.kernel = "6.2".into();
        assert_eq!(proof.lacks(&key), ["a:1", "b:1"], "another machine proves nothing");
        key.kernel.clone_from(&proof.key.kernel);
        proof.key.images.insert("gone:1".into(), "sha256:4".into());
        key.images.remove("b:1");
        assert!(proof.shows(&key), "one more than is needed");
        let newer = Proof { key: key.clone(), at: 8, mismatches: Vec::new(), tried: Vec::new() };
        assert!(newer.clone().with(Some(proof.clone())).shows(&proof.key), "what was shown stays shown");
        assert!(!newer.with(None).shows(&proof.key));
        proof.mismatches.push("check 1".into());
        assert_eq!(proof.lacks(&key), ["a:1"]);
    }

    #[test]
    fn it_is_kept_whole_and_a_mismatch_shows_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Proof::last(dir.path()), None);
        let mut proof = proof();
        proof.keep(dir.path()).unwrap();
        assert_eq!(Proof::last(dir.path()).as_ref(), Some(&proof));
        proof.mismatches.push("check 1".into());
        assert!(!proof.shows(&proof.key));
        std::fs::write(dir.path().join("barrier.json"), "{").unwrap();
        assert_eq!(Proof::last(dir.path()), None);
    }
}
