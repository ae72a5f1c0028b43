//! What is left out of a checkpoint's commit, what is included on request, and what of a file is shown.

use caisson::sandbox::Captured;
use domain::{Commit, FileChange};

use crate::world::{FILES, World};

struct Taken {
    commit: Commit,
    files: Vec<FileChange>,
    diff: String,
    left_out: Vec<String>,
}

impl Taken {
    fn names(&self) -> Vec<&str> {
        self.files.iter().map(|file| file.path.as_str()).collect()
    }
}

async fn taken(world: &World, n: u32, parent: &Commit) -> Taken {
    let captured = world.sandboxes.captures.capture(&world.capture_spec(1, n, parent)).await.expect("captured");
    let Captured::Commit { commit, files, diff, left_out, .. } = captured else { panic!("{captured:?}") };
    world.sandboxes.of_tasks.open(1).await.expect("opened");
    Taken { commit, files, diff, left_out }
}

const PYCACHE: &str = "mkdir -p __pycache__ pkg/__pycache__ target/debug && printf 'a\\0b' | tee __pycache__/sum.pyc \
     pkg/__pycache__/x.pyc target/debug/app >/dev/null && echo 'x = 1' > pkg/x.py && mkdir -p build && echo x > build/own.o";

#[tokio::test]
async fn by_products_of_known_tools_stay_out_are_named_and_can_be_asked_for() {
    let world = World::new().await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    world.bash(1, "mkdir __pycache__ && echo x > __pycache__/sum.pyc").await;
    let captured = world.sandboxes.captures.capture(&world.capture_spec(1, 1, &world.base)).await.expect("captured");
    assert_eq!(captured, Captured::Unchanged { left_out: vec!["__pycache__/".to_owned()] });
    world.sandboxes.of_tasks.open(1).await.unwrap();
    world.bash(1, PYCACHE).await;
    let first = taken(&world, 1, &world.base).await;
    assert_eq!(first.names(), ["pkg/x.py"]);
    assert_eq!(
        first.left_out,
        ["__pycache__/", "pkg/__pycache__/", "target/"],
        "build/ is the repository's own to ignore"
    );

    world.bash(1, "printf 'build/\\n!__pycache__/\\n!*.py[cod]\\n' > .gitignore").await;
    let second = taken(&world, 2, &first.commit).await;
    assert_eq!(second.names(), [".gitignore", "__pycache__/sum.pyc", "pkg/__pycache__/x.pyc"]);
    assert_eq!(second.left_out, ["target/"]);

    // Without that line it is left out again; names may contain any character.
    world.bash(1, "printf 'build/\\n' > .gitignore; touch \"$(printf 'odd\\n.pyc')\" ä~").await;
    let third = taken(&world, 3, &second.commit).await;
    assert_eq!(third.names(), [".gitignore", "__pycache__/sum.pyc", "pkg/__pycache__/x.pyc"]);
    assert!(third.files[1..].iter().all(|file| file.kind == "deleted"));
    assert_eq!(third.left_out, ["__pycache__/", "\"odd\\n.pyc\"", "pkg/__pycache__/", "target/", "ä~"]);
}

#[tokio::test]
async fn what_a_repository_tracks_itself_is_taken_as_ever() {
    let own = [("node_modules/vendored/index.js", "1\n"), (".coverage", "old\n"), ("a.o", "\0object\n")];
    let world = World::with(&[FILES, &own].concat(), |_| {}).await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    world
        .bash(1, "echo 2 > node_modules/vendored/more.js; echo new > .coverage; echo x > b.o; echo x > .coverage.1")
        .await;
    let taken = taken(&world, 1, &world.base).await;
    assert_eq!(taken.names(), [".coverage", "b.o", "node_modules/vendored/more.js"]);
    assert_eq!(taken.left_out, [".coverage.1"]);
}

#[tokio::test]
async fn binary_files_have_a_size_and_no_text_whatever_attributes_say() {
    let attributes = [(".gitattributes", "*.py binary -diff\n*.bin text diff\n")];
    let world = World::with(&[FILES, &attributes].concat(), |_| {}).await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.unwrap();
    world.bash(1, "printf 'secret\\0bytes' > a.bin; sed -i 's/a - b/a + b/' sum.py; rm README.md").await;
    let taken = taken(&world, 1, &world.base).await;
    let found: Vec<_> = taken.files.iter().map(|f| (f.path.as_str(), f.kind.as_str(), f.bytes)).collect();
    let sum = "def add(a, b):\n    return a + b\n".len() as u64;
    assert_eq!(
        found,
        [("README.md", "deleted", None), ("a.bin", "binary", Some(12)), ("sum.py", "modified", Some(sum))]
    );
    assert!(
        taken.diff.contains("+    return a + b\n") && taken.diff.contains("Binary files /dev/null and b/a.bin differ")
    );
    assert!(!taken.diff.contains("secret"), "{}", taken.diff);
}
