//! The survey of a sandbox: the host accepts whatever its own runner answers about a tree.

use caisson::sandbox::SurveySpec;
use protocol::survey::{MAX_REASONS, Question};

use crate::world::{KEY, World};

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_about_an_odd_tree_is_accepted() {
    let names = ["store", "put_entry", "drop_entry", "load_all", "save_all", "evict_oldest"];
    let methods: String = names.iter().map(|name| format!("    def {name}(self): pass\n")).collect();
    let (many, after) = (format!("class Cache:\n{methods}"), "// The cache.\n".repeat(200));
    // The name of this block has several lines.
    let tuple = format!("impl From<&Cache>\n    for (\n        A,\n        B,\n    )\n{{\n}}\n{after}");
    let world = World::with(&[("cache.py", many.as_str()), ("src/cache.rs", tuple.as_str())], |_| {}).await;
    world.sandboxes.of_tasks.prepare(&world.spec(1)).await.expect("prepared");
    // In an older encoding; as UTF-8 it is longer than a file may be.
    let old = [b"# cache ".to_vec(), vec![0xea; 200 << 10]].concat();
    std::fs::write(world.workspace(1).join("old.py"), old).expect("written");
    let words = format!("The cache of cache.py fails after `{}`", names.join("` `"));
    let question = Question { words, most: 10, paths: vec!["cache.py".to_owned()], ..Question::default() };
    let spec = SurveySpec { task: 1, repo_key: KEY.to_owned(), commit: world.base.clone(), question };
    let found = world.sandboxes.looks.survey(&spec).await.expect("accepted");
    let paths: Vec<_> = found.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!((paths, found.passed_over), (vec!["cache.py", "src/cache.rs"], 1));
    assert_eq!(found.files[0].because.len(), MAX_REASONS, "{:?}", found.files[0].because);
    assert_eq!(found.files[1].parts[0].name, "( A, B, )");
}
