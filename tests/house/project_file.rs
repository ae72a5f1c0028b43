//! A repository's `.caisson.toml` is read out of a commit, and parsed, in one function, and in a step of a task that one is called in one place,
//! as is what the operator says of its sandboxes, hosts and budgets.

use super::{files, read, root, shown};
use regex::Regex;

/// A read of a tree that is given the name of the file.
const READ: &str = r#"\.(?:show|at_path|has_path)\((?:[^()]|\([^()]*\))*?(?:\bFILE\b|"\.caisson\.toml")"#;

/// The functions of a text, outside its tests, in which this stands.
fn functions(text: &str, pattern: &Regex) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    // Few texts have a hit.
    let head = || Regex::new(r"\bfn (\w+)").expect("a literal");
    let name =
        |at: usize| head().captures_iter(&code[..at]).last().map(|found| found[1].to_owned()).unwrap_or_default();
    pattern.find_iter(code).map(|hit| name(hit.start())).collect()
}

/// Those of all sources, behind their files' names.
fn of_sources(pattern: &str) -> Vec<String> {
    let (mut found, pattern) = (Vec::new(), Regex::new(pattern).expect("a literal"));
    for path in files(&root().join("src"), &[".rs"]).into_iter().filter(|path| !shown(path).ends_with("tests.rs")) {
        let names = functions(&read(&path), &pattern);
        found.extend(names.into_iter().map(|name| format!("{}: {name}", shown(&path))));
    }
    found
}

#[test]
fn a_project_file_is_read_out_of_a_tree_in_one_function() {
    assert_eq!(of_sources(READ), ["src/git/project_file.rs: project_file"]);
    // The others parse what is proposed, which is in no tree yet.
    let parsed =
        ["src/cli/repo/trial/look.rs: wishes", "src/config/proposal.rs: over", "src/git/project_file.rs: project_file"];
    assert_eq!(of_sources(r"\bProject::parse\("), parsed);
}

#[test]
fn a_step_of_a_task_takes_its_project_file_from_one_place() {
    let mut callers = of_sources(r"\.project_file\(");
    // The operator's commands are no steps of a task, and show mistakes in their own way.
    callers.retain(|caller| !caller.starts_with("src/cli/"));
    // `lacking` reads that of the newest commit, before the task begins whose policy it would be.
    assert_eq!(callers, ["src/effect/policy.rs: project", "src/thread/own.rs: lacking"]);
}

#[test]
fn a_step_of_a_task_takes_what_the_operator_says_of_sandboxes_hosts_and_budgets_from_one_place() {
    let mut callers =
        of_sources(r"\b(?:sandbox_of|allowed_of|denied_of|refusals_of|budget_of|own_budget_of|Granted::of)\(");
    callers.retain(|caller| caller.starts_with("src/effect/"));
    callers.dedup();
    assert_eq!(callers, ["src/effect/policy.rs: of"]);
}

#[test]
fn a_read_of_the_file_is_found_however_it_is_written() {
    let text = "async fn one() {\n    repos.show(&key(task), commit, FILE, MAX).await\n}\n\
                fn two() {\n    repos\n        .show(\n            key,\n            &at,\n            project::FILE,\n        )\n}\n\
                fn three() {\n    repos.has_path(key, at, \".caisson.toml\")\n}\n\
                fn other() {\n    repos.show(key, at, name, MAX);\n    say(FILE);\n}\n\
                #[cfg(test)]\nmod tests {\n    fn four() {\n        repos.show(key, at, FILE, MAX)\n    }\n}\n";
    assert_eq!(functions(text, &Regex::new(READ).expect("a literal")), ["one", "two", "three"]);
}
