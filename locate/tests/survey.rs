//! The survey of generated trees: what is found, why, in which order, and what is left out.

use std::fs;
use std::path::Path;

use caisson_locate::survey;
use protocol::survey::{MAX_REASONS, Question, Reason, SurveyAnswer};

const CLIENT: &str = "class Client:\n    def send(self, request):\n        return self.retry(request)\n\n    def retry(self, request):\n        pass\n";
const CACHE: &str =
    "class Cache:\n    def store(self, response):\n        pass\n\n    def evict_oldest(self):\n        pass\n";

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(dir.path(), path, text);
    }
    dir
}

fn write(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A package with sources, tests and documents.
fn package() -> tempfile::TempDir {
    tree(&[
        ("src/web/__init__.py", "from .client import Client\n"),
        ("src/web/client.py", CLIENT),
        ("src/web/cache.py", CACHE),
        ("src/web/util.py", "def plain(): pass\n"),
        ("tests/test_client.py", "from web.client import Client\n\ndef test_send_again():\n    Client().send(1)\n"),
        ("tests/test_cache.py", "from web.cache import Cache\n\ndef test_evicts():\n    Cache().evict_oldest()\n"),
        ("docs/cache.md", "The cache evicts the oldest response. Cache cache cache.\n"),
    ])
}

fn ask(root: &Path, words: &str) -> SurveyAnswer {
    survey(root, &Question { words: words.to_owned(), most: 10, ..Question::default() })
}

fn failing(root: &Path, line: &str) -> SurveyAnswer {
    let question =
        Question { words: "It fails".to_owned(), failing: vec![line.to_owned()], most: 10, ..Question::default() };
    survey(root, &question)
}

fn paths(answer: &SurveyAnswer) -> Vec<&str> {
    answer.files.iter().map(|file| file.path.as_str()).collect()
}

fn because<'a>(answer: &'a SurveyAnswer, path: &str) -> &'a [Reason] {
    &answer.files.iter().find(|file| file.path == path).unwrap().because
}

#[test]
fn sources_come_before_tests_and_documents() {
    let dir = package();
    let told = ask(dir.path(), "Evicting the oldest response from the cache is slow");
    assert_eq!(paths(&told)[0], "src/web/cache.py");
    assert!(paths(&told).contains(&"tests/test_cache.py") && paths(&told).contains(&"docs/cache.md"));
    let why = because(&told, "src/web/cache.py");
    assert!(matches!(&why[0], Reason::Path(words) if words == &["cache"]), "{why:?}");
    assert!(matches!(&why[1], Reason::Text(words) if words.contains(&"oldest".to_owned())), "{why:?}");
}

#[test]
fn what_the_words_name_comes_first() {
    let dir = package();
    for (words, path, why) in [
        ("The cache: see src/web/util.py", "src/web/util.py", Reason::Named),
        ("The cache uses util.py:1 wrongly", "src/web/util.py", Reason::Named),
        (
            "https://forge.example/o/r/src/branch/main/src/web/util.py#L1 and the cache",
            "src/web/util.py",
            Reason::Named,
        ),
        ("web.client.Client breaks the cache", "src/web/client.py", Reason::Named),
        ("`plain` is slower than the cache", "src/web/util.py", Reason::Defines("plain".to_owned())),
        ("The cache is empty after evict_oldest()", "src/web/cache.py", Reason::Defines("evict_oldest".to_owned())),
    ] {
        let told = ask(dir.path(), words);
        assert_eq!(paths(&told)[0], path, "{words}: {:?}", told.files);
        assert!(because(&told, path).contains(&why), "{words}: {:?}", because(&told, path));
    }
}

#[test]
fn a_failing_check_leads_to_its_test_and_to_what_that_imports() {
    let dir = package();
    for line in ["FAILED tests/test_cache.py::test_evicts - AssertionError", "test_evicts ... FAILED"] {
        let told = failing(dir.path(), line);
        assert_eq!(paths(&told)[..2], ["tests/test_cache.py", "src/web/cache.py"], "{line}");
        assert_eq!(because(&told, "tests/test_cache.py")[0], Reason::FailingCheck);
        assert_eq!(because(&told, "src/web/cache.py")[0], Reason::ImportedBy("tests/test_cache.py".to_owned()));
    }
}

#[test]
fn what_was_asked_for_comes_first_and_few_sources_come_whole() {
    let dir = package();
    let mut question = Question { words: "cache".to_owned(), most: 1, ..Question::default() };
    question.paths = vec!["src/web/util.py".to_owned(), "no/such.py".to_owned()];
    let told = survey(dir.path(), &question);
    assert_eq!((paths(&told), told.whole), (vec!["src/web/util.py"], false));
    assert_eq!(told.files[0].because[0], Reason::Asked);
    question.paths.clear();
    question.whole = 3000;
    let told = survey(dir.path(), &question);
    assert_eq!((told.files.len(), told.whole, told.files[0].path.as_str()), (6, true, "src/web/cache.py"));
    assert!(because(&told, "src/web/util.py").contains(&Reason::Whole));
    // The tests no longer fit.
    question.whole = 4 + told.tokens;
    let told = survey(dir.path(), &question);
    assert!(told.whole && told.files.len() == 4 && paths(&told).iter().all(|path| path.starts_with("src/")));
    question.whole = 10;
    assert!(!survey(dir.path(), &question).whole);
}

#[test]
fn a_file_that_was_asked_for_has_no_more_reasons_than_an_answer_may_have() {
    let dir = package();
    let names = ["store", "put_entry", "drop_entry", "load_all", "save_all", "evict_oldest"];
    let methods: String = names.iter().map(|name| format!("    def {name}(self): pass\n")).collect();
    write(dir.path(), "src/web/cache.py", format!("class Cache:\n{methods}"));
    let words = format!("The cache of src/web/cache.py fails after `{}`", names.join("` `"));
    let because = |paths: Vec<String>| {
        let told = survey(dir.path(), &Question { words: words.clone(), paths, most: 10, ..Question::default() });
        because(&told, "src/web/cache.py").to_vec()
    };
    let found = because(Vec::new());
    assert_eq!(found.len(), MAX_REASONS, "{found:?}");
    let asked = because(vec!["src/web/cache.py".to_owned()]);
    assert_eq!((&asked[0], &asked[1..]), (&Reason::Asked, &found[..MAX_REASONS - 1]));
}

#[test]
fn a_pipe_in_place_of_rules_holds_up_no_survey() {
    let dir = package();
    std::fs::create_dir(dir.path().join("build")).unwrap();
    for path in [".gitignore", "build/.gitignore"] {
        let made = std::process::Command::new("mkfifo").arg(dir.path().join(path)).status().unwrap();
        assert!(made.success());
    }
    assert_eq!(paths(&ask(dir.path(), "cache")), paths(&ask(package().path(), "cache")));
}

#[test]
fn a_pipe_in_place_of_rules_that_a_survey_does_not_read_changes_nothing() {
    let dir = package();
    write(dir.path(), ".gitignore", "made/\n");
    write(dir.path(), "made/cache.py", CACHE);
    for path in [".ignore", "src/.ignore"] {
        let made = std::process::Command::new("mkfifo").arg(dir.path().join(path)).status().unwrap();
        assert!(made.success());
    }
    assert_eq!(paths(&ask(dir.path(), "cache")), paths(&ask(package().path(), "cache")));
}

#[test]
fn ignored_linked_binary_and_long_files_are_left_out() {
    let dir = package();
    write(dir.path(), ".gitignore", "made/\n");
    write(dir.path(), "made/cache.py", CACHE);
    write(dir.path(), ".git/cache.py", CACHE);
    write(dir.path(), "cache.bin", b"cache\0cache");
    write(dir.path(), "cache_long.py", "cache = 1\n".repeat(60_000));
    std::os::unix::fs::symlink(dir.path().join("src/web/cache.py"), dir.path().join("cache_link.py")).unwrap();
    let outside = tree(&[("cache.py", CACHE)]);
    std::os::unix::fs::symlink(outside.path(), dir.path().join("cache")).unwrap();
    let told = ask(dir.path(), "cache");
    assert_eq!(paths(&told), paths(&ask(package().path(), "cache")));
    assert_eq!(told.passed_over, 2);
}

#[test]
fn a_text_in_an_older_encoding_counts_as_long_as_it_is_read() {
    let dir = package();
    write(dir.path(), "src/web/old.py", b"cache = 1  # \xea\xfd\xf8\n");
    write(dir.path(), "src/web/old_long.py", [b"cache = 1  # ".to_vec(), vec![0xea; 200 << 10]].concat());
    let told = ask(dir.path(), "cache");
    assert!(paths(&told).contains(&"src/web/old.py") && !paths(&told).contains(&"src/web/old_long.py"));
    assert_eq!(told.passed_over, 1);
}

#[test]
fn the_same_tree_gives_the_same_answer() {
    let (one, two) = (package(), package());
    let words = "The client sends the cached response again";
    assert_eq!(ask(one.path(), words), ask(two.path(), words));
}

#[test]
fn long_files_come_in_parts_and_short_ones_with_their_text() {
    let dir = package();
    let long: String = (0..80).map(|at| format!("def cache_{at}():\n    pass\n\n")).collect();
    write(dir.path(), "src/web/long.py", &long);
    let question = Question { words: "cache".to_owned(), most: 10, texts: 400, ..Question::default() };
    let told = survey(dir.path(), &question);
    let of = |path: &str| told.files.iter().find(|file| file.path == path).unwrap();
    let file = of("src/web/long.py");
    assert_eq!((file.lines, file.parts.len(), file.defines.len()), (240, 80, 40));
    assert_eq!((file.parts[1].name.as_str(), file.parts[1].first, file.parts[1].last), ("cache_1", 4, 5));
    assert!(file.text.is_none());
    assert!(of("src/web/cache.py").parts.is_empty());
    assert_eq!(of("src/web/cache.py").text.as_deref(), Some(CACHE));
    let bytes: u64 = told.files.iter().filter(|file| file.text.is_some()).map(|file| file.bytes).sum();
    assert!(bytes <= 400);
}

#[test]
fn words_that_match_nothing_give_nothing() {
    let dir = package();
    assert!(ask(dir.path(), "zebra ... the of").files.is_empty());
    assert!(ask(dir.path(), "").files.is_empty());
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(ask(empty.path(), "cache"), SurveyAnswer::default());
}
