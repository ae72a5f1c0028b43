//! Trees, layers and workspaces built by hand; `tests/trees/layers.rs` tests layers that the kernel makes.

use std::collections::BTreeSet;
use std::fs::{create_dir_all, remove_file, set_permissions, write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

use super::*;

struct World {
    dir: tempfile::TempDir,
}

type Named = (Vec<String>, Vec<String>);

impl World {
    /// Files, or directories if they end with `/`.
    fn new(tree: &[&str], layer: &[&str], workspace: &[&str]) -> Self {
        let world = Self { dir: tempfile::tempdir().expect("a directory") };
        for (place, files) in [("tree", tree), ("layer", layer), ("workspace", workspace)] {
            create_dir_all(world.at(place)).expect("made");
            for file in files {
                let path = world.at(place).join(file);
                create_dir_all(path.parent().expect("a parent")).expect("made");
                if file.ends_with('/') { create_dir_all(path) } else { write(path, "x\n") }.expect("made");
            }
        }
        world.git("init -q", b"");
        world
    }

    fn at(&self, place: &str) -> PathBuf {
        self.dir.path().join(place)
    }

    fn put(&self, file: &str, text: &str) {
        write(self.at("workspace").join(file), text).expect("written");
    }

    fn names(&self, later: &Later) -> Result<Named, String> {
        let (layer, tree, workspace) = (self.at("layer"), self.at("tree"), self.at("workspace"));
        let found = names::of(&Places { layer: &layer, tree: &tree, workspace: &workspace }, later);
        let shown = |paths: BTreeSet<PathBuf>| paths.iter().map(|path| path.display().to_string()).collect();
        found.map(|found| (shown(found.known), shown(found.new))).map_err(|error| format!("{error:#}"))
    }

    /// The stream for these files of the commit, or the error.
    fn written(&self, known: &[&[u8]]) -> Result<Vec<u8>, String> {
        let known = known.iter().map(|path| PathBuf::from(OsStr::from_bytes(path))).collect();
        let mut out = Vec::new();
        let names = names::Names { known, ..names::Names::default() };
        let done = stream::write(&self.at("workspace"), "refs/heads/base^0", &names, &mut out);
        done.map(|()| out).map_err(|error| format!("{error:#}"))
    }

    fn git(&self, words: &str, stdin: &[u8]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=x", "-c", "user.email=x"]).args(words.split(' ')).current_dir(self.at("workspace"));
        let mut child = git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("git");
        child.stdin.take().expect("piped").write_all(stdin).expect("taken");
        let done = child.wait_with_output().expect("ended");
        assert!(done.status.success(), "git {words}");
        String::from_utf8(done.stdout).expect("text").trim().to_owned()
    }
}

fn look(tree: &[&str], layer: &[&str], workspace: &[&str]) -> Result<Named, String> {
    World::new(tree, layer, workspace).names(&Later::default())
}

fn named(known: &[&str], new: &[&str]) -> Result<Named, String> {
    let own = |paths: &[&str]| paths.iter().map(|&path| path.to_owned()).collect();
    Ok((own(known), own(new)))
}

#[test]
fn what_the_layer_holds_is_named_and_nothing_else() {
    let tree = ["a", "d/one", "d/two", "e/f/g"];
    assert_eq!(look(&tree, &[".git/index"], &tree), named(&[], &[]), "git's own is not the project's");
    assert_eq!(look(&tree, &["d/one"], &tree), named(&["d/one"], &[]));
    let both = ["a", "d/one", "d/two", "e/f/g", "d/new", "n/deep/file"];
    assert_eq!(look(&tree, &both[4..], &both), named(&[], &["d/new", "n/deep/file"]));
}

#[test]
fn of_a_directory_made_anew_all_that_it_was_is_named() {
    let tree = ["d/one", "d/two", "d/sub/x", "z"];
    assert_eq!(look(&tree, &["d/one"], &["d/one", "z"]), named(&["d/one", "d/sub/x", "d/two"], &[]));
}

#[test]
fn a_file_for_a_directory_and_the_other_way_round_name_both() {
    assert_eq!(look(&["d/one", "d/sub/x"], &["d"], &["d"]), named(&["d/one", "d/sub/x"], &["d"]));
    assert_eq!(look(&["d"], &["d/one"], &["d/one"]), named(&["d"], &["d/one"]));
    assert_eq!(look(&["d"], &["d/"], &["d/"]), named(&["d"], &[]), "an empty one is nothing to git");
}

#[test]
fn what_is_ignored_is_not_named_and_a_directory_of_it_not_looked_into() {
    let world =
        World::new(&["a"], &["target/x/.git", "kept/log", "kept/code", "log"], &["a", "kept/log", "kept/code", "log"]);
    world.put(".gitignore", "target/\nlog\n!kept/\n");
    create_dir_all(world.at("workspace/target/x")).expect("made");
    assert_eq!(world.names(&Later::default()), named(&[], &["kept/code"]), ".gitignore itself is not in this layer");
    world.put(".gitignore", "target/\n*\n!log\n");
    assert_eq!(world.names(&Later::default()), named(&[], &["log"]), "what lies in an ignored directory is ignored");
}

#[test]
fn by_products_stay_out_and_are_named_by_their_topmost_directory() {
    let new = [
        "target/debug/app",
        "n/__pycache__/a.pyc",
        "n/__pycache__/sub/b.pyc",
        "n/a.py",
        "x.pyc",
        "own/log",
        "odd\n.pyc",
    ];
    let world = World::new(&["a"], &new, &["a", "n/__pycache__/sub/b.pyc", "target/debug/app"]);
    write(world.at("workspace/.git/info/exclude"), "/target/\n__pycache__/\n*.pyc\nown/\n").expect("written");
    world.put(".gitignore", "own/\n");
    let left_out = |world: &World| {
        let (layer, tree, workspace) = (world.at("layer"), world.at("tree"), world.at("workspace"));
        let found = names::of(&Places { layer: &layer, tree: &tree, workspace: &workspace }, &Later::default());
        String::from_utf8(stream::lines(&found.expect("named").left_out)).expect("text")
    };
    assert_eq!(world.names(&Later::default()), named(&[], &["n/a.py"]));
    assert_eq!(
        left_out(&world),
        "n/__pycache__/\n\"odd\\012.pyc\"\ntarget/\nx.pyc\n",
        "what .gitignore says is no news"
    );
    world.put(".gitignore", "own/\n!/target/\n!x.pyc\n");
    assert_eq!(world.names(&Later::default()), named(&[], &["n/a.py", "target/debug/app", "x.pyc"]), "asked for");
    assert_eq!(left_out(&world), "n/__pycache__/\n\"odd\\012.pyc\"\n");
}

#[test]
fn what_a_later_commit_has_is_its_own_wherever_it_lies() {
    let world = World::new(&["a", "was", "old"], &["old", "log"], &["a", "old", "log", "was"]);
    world.put(".gitignore", "log\nold\n");
    let change = |status: &str, path: &str| format!(":100644 100644 0 0 {status}\0{path}\0");
    let later = [("D", "old"), ("D", "was"), ("A", "log"), ("M", "gone")].map(|(status, path)| change(status, path));
    let later = Later::parse(later.concat().as_bytes()).expect("parsed");
    // `was` is deleted in the later commit and exists again; `gone` exists nowhere; `old` is ignored, `log` ignored but committed.
    assert_eq!(world.names(&later), named(&["gone", "log"], &["was"]));
    for bad in [
        ":100644",
        &change("R100", "a\0b"),
        &change("A", "a").replacen("100644", "160000", 1),
        ":000000 160000 0 0 A\0a\0",
    ] {
        assert!(Later::parse(bad.as_bytes()).is_err(), "{bad}");
    }
}

#[test]
fn what_is_gits_own_to_judge_cannot_be_read_or_is_too_much_is_an_error() {
    let error = |tree: &[&str], layer: &[&str]| look(tree, layer, layer).expect_err("an error");
    assert!(error(&["a"], &["n/deep/.git"]).contains("a repository of its own"));
    for layer in [&["a/sub/new"][..], &["a/sub"], &["a"]] {
        assert!(error(&["a/sub/", "a/b"], layer).contains("submodule"), "{layer:?}");
    }
    let world = World::new(&["a"], &[], &["a"]);
    (0..=20_000).for_each(|n| write(world.at("layer").join(n.to_string()), "").expect("written"));
    assert!(world.names(&Later::default()).expect_err("too much").contains("more than 20000 names"));
    std::fs::remove_dir_all(world.at("tree")).expect("removed");
    assert!(world.names(&Later::default()).expect_err("nothing there").contains("tree"));
}

#[test]
fn git_makes_of_the_stream_what_it_makes_of_the_files() {
    let world = World::new(&[], &[], &["same", "changed", "gone", "d/gone", "d/stays", "dir/file", "link"]);
    let odd: &[u8] = b"a \"b\"\\\n\xff\xc3\xa4";
    let odd_at = world.at("workspace").join(OsStr::from_bytes(odd));
    write(&odd_at, "x").expect("written");
    world.git("add -A .", b"");
    world.git("commit -q -m x", b"");
    world.git("branch base", b"");
    // An empty file, one without a final line end, one of several parts; a link; an executable; a link in place of a directory.
    world.put("changed", "");
    world.put("same", &"0123456789\r\n".repeat(20_000));
    write(&odd_at, "a\0b").expect("written");
    let at = |file: &str| world.at("workspace").join(file);
    for file in ["gone", "d/gone", "link", "dir/file"] {
        remove_file(at(file)).expect("removed");
    }
    symlink("some/where\nelse", at("link")).expect("linked");
    set_permissions(at("d/stays"), PermissionsExt::from_mode(0o700)).expect("set");
    std::fs::remove_dir(at("dir")).expect("removed");
    symlink("d", at("dir")).expect("linked");
    let stream =
        world.written(&[b"same", b"changed", b"gone", b"d/gone", b"d/stays", b"dir/file", b"dir", b"link", odd]);
    world.git("fast-import --quiet --done", &stream.expect("written"));
    world.git("add -A .", b"");
    assert_eq!(world.git("rev-parse taken^{tree}", b""), world.git("write-tree", b""));
}

#[test]
fn what_git_may_store_in_another_way_is_an_error() {
    let files = ["plain", "d/attributed", "d/.gitattributes"];
    let world = World::new(&[], &[], &files);
    let written = |file: &[u8]| world.written(&[file]).err();
    world.put("plain", "\r\n");
    assert_eq!(
        (written(b"plain"), written(b"d/attributed")),
        (None, None),
        "nothing speaks about it, or there is no return"
    );
    world.put("d/attributed", "$Id$\r\n");
    assert!(written(b"d/attributed").is_some_and(|why| why.contains("ends of lines")));
    for word in ["ident", "working-tree-encoding=UTF-16"] {
        world.put("d/attributed", "x");
        world.put("d/.gitattributes", &format!("* {word}\n"));
        assert!(written(b"d/attributed").is_some_and(|why| why.contains(word.split('=').next().unwrap_or_default())));
    }
    assert_eq!(written(b"d/.gitattributes").as_deref(), Some("attributes changed"));
    assert_eq!(written(b"d").as_deref(), None, "a directory where the commit has a file");
    let fifo = world.at("workspace/fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    assert!(written(b"fifo").is_some_and(|why| why.contains("neither a file nor a link")));
}
