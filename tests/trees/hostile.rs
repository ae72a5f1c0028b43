//! Every hostile object that a tree can contain, given directly to the quarantine: refused quickly with a reason, and the container
//! removed.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use caisson::git::Tree;
use caisson::sandbox::Captured;
use tokio::io::{AsyncSeekExt, AsyncWriteExt};

use crate::world::{KEY, World, git, git_command, git_in};

/// Creates objects that git itself would refuse to create.
struct Smith {
    dir: PathBuf,
    made: Vec<String>,
}

impl Smith {
    fn new(world: &World) -> Self {
        let dir = world.dir.path().join(format!("smith-{}", world.broker.created.lock().unwrap().len()));
        std::fs::create_dir_all(&dir).unwrap();
        git(&dir, &["init", "--quiet", "--bare"]);
        git(&dir, &["fetch", "--quiet", world.upstream().to_str().unwrap(), "main:main"]);
        Self { dir, made: Vec::new() }
    }

    fn object(&mut self, kind: &str, bytes: &[u8]) -> String {
        let id = git_in(&self.dir, &["hash-object", "-t", kind, "--literally", "-w", "--stdin"], bytes);
        self.made.push(id.clone());
        id
    }

    fn blob(&mut self, bytes: &[u8]) -> String {
        self.object("blob", bytes)
    }

    /// A tree with the entries as given, sorted and valid or not.
    fn raw_tree(&mut self, entries: &[(&str, &[u8], &str)]) -> String {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend_from_slice(mode.as_bytes());
            bytes.push(b' ');
            bytes.extend_from_slice(name);
            bytes.push(0);
            bytes.extend(hex::decode(id).unwrap());
        }
        self.object("tree", &bytes)
    }

    /// A tree of the base's entries and these, in git's order.
    fn tree(&mut self, extra: &[(&str, &[u8], &str)]) -> String {
        let list = git(&self.dir, &["ls-tree", "main"]);
        let base: Vec<(String, Vec<u8>, String)> = list
            .lines()
            .map(|line| {
                let (head, name) = line.split_once('\t').unwrap();
                let words: Vec<&str> = head.split(' ').collect();
                (words[0].trim_start_matches('0').to_owned(), name.as_bytes().to_vec(), words[2].to_owned())
            })
            .collect();
        let mut all: Vec<(&str, &[u8], &str)> =
            base.iter().map(|(m, n, i)| (m.as_str(), n.as_slice(), i.as_str())).collect();
        all.retain(|(_, name, _)| !extra.iter().any(|(_, other, _)| other == name));
        all.extend_from_slice(extra);
        let key = |(mode, name, _): &(&str, &[u8], &str)| {
            let mut key = name.to_vec();
            if *mode == "40000" {
                key.push(b'/');
            }
            key
        };
        all.sort_by_key(key);
        self.raw_tree(&all)
    }

    /// A tree with a file at a path of several components.
    fn at(&mut self, path: &str, mode: &str, id: &str) -> String {
        let mut parts: Vec<&str> = path.split('/').collect();
        let (mut mode, mut id) = (mode.to_owned(), id.to_owned());
        while let Some(part) = parts.pop() {
            let entry = [(mode.as_str(), part.as_bytes(), id.as_str())];
            id = if parts.is_empty() { self.tree(&entry) } else { self.raw_tree(&entry) };
            mode = "40000".to_owned();
        }
        id
    }

    fn pack(&self, leave_out: &[&str]) -> Vec<u8> {
        let ids: String =
            self.made.iter().filter(|id| !leave_out.contains(&id.as_str())).map(|id| format!("{id}\n")).collect();
        let mut child = git_command(&self.dir)
            .args(["pack-objects", "--stdout", "-q"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), ids.as_bytes()).unwrap();
        child.wait_with_output().unwrap().stdout
    }
}

async fn judge(world: &World, tree: &str, pack: &[u8]) -> Captured {
    let mut file = tokio::fs::File::from_std(tempfile::tempfile().unwrap());
    file.write_all(pack).await.unwrap();
    file.rewind().await.unwrap();
    let spec = world.capture_spec(9, 1, &world.base);
    let started = Instant::now();
    let quarantine = world.sandboxes.quarantines.quarantine(&spec.segment).await.unwrap();
    let captured =
        world.sandboxes.quarantines.examine(quarantine, &spec, &Tree::parse(tree).unwrap(), &mut file).await.unwrap();
    // A wide limit for busy machines; the actual one is processor time, which the kernel enforces.
    assert!(started.elapsed() < Duration::from_secs(240), "took {:?}", started.elapsed());
    captured
}

/// Expects a refusal with a reason that contains `word`; nothing is left behind.
async fn refused(world: &World, what: &str, word: &str, make: impl FnOnce(&mut Smith) -> String) {
    let mut smith = Smith::new(world);
    let tree = make(&mut smith);
    let pack = smith.pack(&[]);
    match judge(world, &tree, &pack).await {
        Captured::Refused { reasons } => {
            assert!(reasons.iter().any(|r| r.to_lowercase().contains(&word.to_lowercase())), "{what}: {reasons:?}");
            assert!(reasons.iter().all(|r| !r.chars().any(char::is_control)), "{what}: {reasons:?}");
        }
        other => panic!("{what} was taken: {other:?}"),
    }
    nothing_left(world).await;
}

async fn nothing_left(world: &World) {
    assert!(world.left().await.is_empty(), "a container is left");
    assert_eq!(world.repos.checkpoint(KEY, 9, 1).await.unwrap(), None);
}

#[tokio::test]
async fn a_sound_tree_passes() {
    let world = World::new().await;
    let mut smith = Smith::new(&world);
    let (text, link) = (smith.blob(b"new\n"), smith.blob(b"docs/link-target.md"));
    let tree =
        smith.tree(&[("100644", b"new.txt", &text), ("120000", b"shortcut", &link), ("100755", b"run.sh", &text)]);
    let Captured::Commit { files, .. } = judge(&world, &tree, &smith.pack(&[])).await else { panic!("refused") };
    assert_eq!(files.len(), 3);
}

#[tokio::test]
async fn names_that_gits_own_check_knows() {
    let world = World::new().await;
    for name in [".git", ".GIT", "git~1", ".g\u{200c}it", "..", ".", "a/b", ".git ", ".git...", ".Git"] {
        refused(&world, name, "", |s| {
            let blob = s.blob(b"x");
            s.tree(&[("100644", name.as_bytes(), &blob)])
        })
        .await;
    }
}

#[tokio::test]
async fn trees_that_are_broken() {
    let world = World::new().await;
    refused(&world, "duplicate entries", "", |s| {
        let blob = s.blob(b"x");
        s.raw_tree(&[("100644", b"a", &blob), ("100644", b"a", &blob)])
    })
    .await;
    refused(&world, "file and directory of one name", "", |s| {
        let blob = s.blob(b"x");
        let sub = s.raw_tree(&[("100644", b"y", &blob)]);
        s.raw_tree(&[("100644", b"a", &blob), ("40000", b"a", &sub)])
    })
    .await;
    refused(&world, "zero-padded mode", "", |s| {
        let blob = s.blob(b"x");
        let sub = s.raw_tree(&[("100644", b"y", &blob)]);
        s.raw_tree(&[("040000", b"a", &sub)])
    })
    .await;
    refused(&world, "unsorted", "", |s| {
        let blob = s.blob(b"x");
        s.raw_tree(&[("100644", b"b", &blob), ("100644", b"a", &blob)])
    })
    .await;
    refused(&world, "setuid", "", |s| {
        let blob = s.blob(b"x");
        s.tree(&[("104755", b"su", &blob)])
    })
    .await;
    refused(&world, "empty name", "", |s| {
        let blob = s.blob(b"x");
        s.raw_tree(&[("100644", b"", &blob)])
    })
    .await;
    refused(&world, "null id", "", |s| s.raw_tree(&[("100644", b"a", &"0".repeat(40))])).await;
    refused(&world, "a directory that is a file", "", |s| {
        let blob = s.blob(b"x");
        s.tree(&[("40000", b"dir", &blob)])
    })
    .await;
    refused(&world, "a file that is a directory", "", |s| {
        let blob = s.blob(b"x");
        let sub = s.raw_tree(&[("100644", b"y", &blob)]);
        s.tree(&[("100644", b"file", &sub)])
    })
    .await;
}

#[tokio::test]
async fn submodules_attributes_and_protected_paths() {
    let world = World::new().await;
    for (path, text) in [
        (".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c id\n"),
        (".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = file:///\n"),
        (".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = --x\n"),
        (".gitmodules", "[submodule \"../x\"]\n\tpath = x\n\turl = a\n"),
        (".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = a\n\tupdate = !cmd\n"),
        (".gitmodules", "[submodule \"x\"]\n\tpath = -x\n\turl = a\n"),
        (".gitattributes", "* filter=lfs\n"),
        ("deep/.gitattributes", "* diff=evil\n"),
        (".caisson.toml", "test = \"true\"\n"),
        (".caisson/x", "x"),
        (".github/workflows/x.yml", "on: push\n"),
        (".GitHub/Workflows/x.yml", "on: push\n"),
        (".gitea/workflows/x.yml", "on: push\n"),
        ("deploy/prod.sh", "x"),
    ] {
        refused(&world, path, "", |s| {
            let blob = s.blob(text.as_bytes());
            s.at(path, "100644", &blob)
        })
        .await;
    }
    let base = world.base.to_string();
    refused(&world, "submodule", "submodule", |s| s.tree(&[("160000", b"sub", &base)])).await;
    refused(&world, ".gitmodules as a link", "", |s| {
        let blob = s.blob(b"x");
        s.tree(&[("120000", b".gitmodules", &blob)])
    })
    .await;
}

#[tokio::test]
async fn links_out_of_the_tree() {
    let world = World::new().await;
    for (path, target) in [
        ("l", "/etc/passwd"),
        ("l", "../x"),
        ("d/l", "../../x"),
        ("l", ".git/config"),
        ("l", ".GIT/hooks/x"),
        ("l", "a\\..\\.."),
        ("l", "C:\\x"),
        ("l", "l"),
        ("l", "a\u{1b}]0;x"),
        ("d/e/l", "../../docs/../../x"),
    ] {
        refused(&world, target, "link", |s| {
            let blob = s.blob(target.as_bytes());
            s.at(path, "120000", &blob)
        })
        .await;
    }
    refused(&world, "through another link", "link", |s| {
        let (up, out) = (s.blob(b".."), s.blob(b"d/up/../x"));
        let sub = s.raw_tree(&[("120000", b"up", &up)]);
        s.tree(&[("40000", b"d", &sub), ("120000", b"out", &out)])
    })
    .await;
    refused(&world, "a chain of long detours", "steps to follow", |s| {
        let names: Vec<String> = (10..50).map(|n| format!("l{n}")).collect();
        let detours = "a/../".repeat(200);
        let ids: Vec<String> = (11..51).map(|n| s.blob(format!("{detours}l{n}").as_bytes())).collect();
        let links = names.iter().zip(&ids).map(|(name, id)| ("120000", name.as_bytes(), id.as_str()));
        let chain = s.raw_tree(&links.collect::<Vec<_>>());
        s.tree(&[("40000", b"chain", &chain)])
    })
    .await;
}

#[tokio::test]
async fn names_that_deceive() {
    let world = World::new().await;
    let deep = "d/".repeat(60) + "x";
    for (path, word) in [
        ("-rf", "option"),
        ("a\u{202e}gpj.exe", "nobody sees"),
        ("a\u{200b}b", "nobody sees"),
        ("a\nb", "nobody sees"),
        ("esc\u{1b}[2J", "nobody sees"),
        ("aux", "device"),
        ("src/nul.txt", "device"),
        ("x.", "drop"),
        ("x ", "drop"),
        ("readme.MD", "one and the same"),
        ("README.md\u{200d}", ""),
        ("Docs/y", "one and the same"),
        ("f:$DATA", "stream"),
        (".\u{ff47}it/config", ".git"),
        (&deep, "deep"),
    ] {
        refused(&world, path, word, |s| {
            let blob = s.blob(b"x");
            s.at(path, "100644", &blob)
        })
        .await;
    }
    for (one, other) in [("caf\u{e9}", "cafe\u{301}"), ("stra\u{df}e", "STRASSE"), ("\u{212a}", "k")] {
        refused(&world, one, "one and the same", |s| {
            let blob = s.blob(b"x");
            s.tree(&[("100644", one.as_bytes(), &blob), ("100644", other.as_bytes(), &blob)])
        })
        .await;
    }
    refused(&world, "not UTF-8", "UTF-8", |s| {
        let blob = s.blob(b"x");
        s.tree(&[("100644", b"a\xff", &blob)])
    })
    .await;
    let long = "n".repeat(300);
    refused(&world, "long name", "", |s| {
        let blob = s.blob(b"x");
        s.tree(&[("100644", long.as_bytes(), &blob)])
    })
    .await;
}

#[tokio::test]
async fn bombs() {
    let world = World::with(crate::world::FILES, |s| {
        (s.policy.objects, s.policy.object_bytes, s.policy.sum_bytes) = (200, 2 << 20, 6 << 20);
    })
    .await;
    refused(&world, "tree bomb", "", |s| {
        let mut id = s.blob(b"x");
        let mut mode = "100644";
        for _ in 0..10 {
            let names: Vec<String> = (0..10).map(|n| n.to_string()).collect();
            let entries: Vec<(&str, &[u8], &str)> = names.iter().map(|n| (mode, n.as_bytes(), id.as_str())).collect();
            id = s.raw_tree(&entries);
            mode = "40000";
        }
        s.tree(&[("40000", b"bomb", &id)])
    })
    .await;
    refused(&world, "many objects", "objects", |s| {
        let ids: Vec<(String, String)> =
            (0..201).map(|n| (format!("f{n:03}"), s.blob(n.to_string().as_bytes()))).collect();
        let entries: Vec<(&str, &[u8], &str)> = ids.iter().map(|(n, i)| ("100644", n.as_bytes(), i.as_str())).collect();
        s.tree(&entries)
    })
    .await;
    refused(&world, "a large blob in a small pack", "MB", |s| {
        let blob = s.blob(&vec![0; 3 << 20]);
        s.tree(&[("100644", b"zeros", &blob)])
    })
    .await;
    refused(&world, "many middling blobs", "in all", |s| {
        let ids: Vec<(String, String)> = (0..4_u8).map(|n| (format!("z{n}"), s.blob(&vec![n; 2 << 20]))).collect();
        let entries: Vec<(&str, &[u8], &str)> = ids.iter().map(|(n, i)| ("100644", n.as_bytes(), i.as_str())).collect();
        s.tree(&entries)
    })
    .await;
}

#[tokio::test]
async fn what_unpacks_for_too_long_is_stopped() {
    let world = World::with(crate::world::FILES, |s| (s.policy.step_ms, s.policy.sum_bytes) = (200, 1 << 30)).await;
    refused(&world, "400 MB of zeros", "git's check", |s| {
        let blob = s.blob(&vec![0; 400 << 20]);
        s.tree(&[("100644", b"zeros", &blob)])
    })
    .await;
}

#[tokio::test]
async fn packs_that_lie() {
    let world = World::new().await;
    let mut smith = Smith::new(&world);
    let secret = smith.blob(b"left out");
    let tree = smith.tree(&[("100644", b"hole", &secret)]);
    let whole = smith.pack(&[]);
    let holed = smith.pack(&[secret.as_str()]);
    let mut cut = whole.clone();
    cut.truncate(whole.len() / 2);
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 0x40;
    let mut trailing = whole.clone();
    trailing.extend_from_slice(b"and more");
    let elsewhere = "1".repeat(40);
    for (what, tree, pack) in [
        ("an object is missing", tree.as_str(), &holed),
        ("cut short", &tree, &cut),
        ("a flipped bit", &tree, &flipped),
        ("no pack at all", &tree, &b"hello".to_vec()),
        ("empty", &tree, &Vec::new()),
        ("a tree that is not there", &elsewhere, &whole),
        ("a file as the tree", &secret, &whole),
        ("the base's commit as the tree", world.base.as_str(), &whole),
    ] {
        let end = judge(&world, tree, pack).await;
        assert!(matches!(end, Captured::Refused { .. }), "{what}: {end:?}");
        nothing_left(&world).await;
    }
    // Bytes after a valid pack are refused or ignored, never read as objects.
    drop(judge(&world, &tree, &trailing).await);
}
