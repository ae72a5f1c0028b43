//! Hosts of the repository's own commands, where the kind of the task changes, and where its project file is accepted.

use crate::hosts::told;
use crate::own_commands::{asked, command, opened_since, push, until};
use crate::world::{REPO, World, held};
use caisson::config::project::{FILE, Network, Project};
use domain::TaskKind;

#[tokio::test(flavor = "multi_thread")]
async fn hosts_accepted_for_a_task_that_reads_are_closed_once_it_writes() {
    let script = r#"
name = "an explanation, then a fix"
[[turn]]
expects = ["Say what is wrong. it"]
call = [{ name = "read_file", arguments = { path = "semver.py" } }]
[[turn]]
call = [{ name = "done", arguments = { summary = "Text is compared as text (`semver.py:2`)." } }]
[[turn]]
call = [{ name = "bash", arguments = { command = "echo '# parsed' >> semver.py" } }, { name = "done", arguments = { summary = "started" } }]
"#;
    let mut world = World::networked(script, "").await;
    let file = command("read_only = true\nnetwork = [\"docs.example.org\"]\n", "Say what is wrong. {words}\n");
    push(&world, &[("why.md", &file)]);
    let hosts = vec!["docs.example.org".to_owned()];
    let wish = Network { name: "why".to_owned(), kind: TaskKind::Explain, who: Vec::new(), hosts };
    let hash = Project::default().with_networks(vec![wish]).hash();
    let accepted = format!("default_branch = \"main\"\naccepted = \"{hash}\"\n");
    world.reconfigure(|text| text.replace("default_branch = \"main\"\n", &accepted)).await;
    let issue = asked(&world, "/why it");
    let task = world.until_state("awaiting-review").await;
    assert_eq!(task.kind, TaskKind::Explain);
    let reaches = |words: &String| words.contains("docs.example.org");
    assert!(opened_since(&world, 0).iter().any(reaches), "{:#?}", told(&world));
    let since = told(&world).len();
    world.alice().comment(REPO, issue, "/fix").expect("said");
    world.until("a pull request", |task| task.pull.is_some()).await;
    let opened = opened_since(&world, since);
    assert!(!opened.is_empty() && !opened.iter().any(reaches), "{opened:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_of_an_accepted_project_file_are_not_told_as_lacking() {
    let mut world = World::networked(&held(), "").await;
    let file = "egress = [\"docs.example.org\"]\n";
    world.push(&[(FILE, file)]);
    let hosts = "network = [\"docs.example.org\", \"more.example\"]\n";
    push(&world, &[("compare.md", &command(hosts, "Compare versions as numbers in {words}.\n"))]);
    let hash = Project::parse(FILE, file).expect("a file").hash();
    let accepted = format!("default_branch = \"main\"\naccepted = \"{hash}\"\n");
    world.reconfigure(|text| text.replace("default_branch = \"main\"\n", &accepted)).await;
    let issue = asked(&world, "/compare it");
    until(&world, 1, |task| task.running.is_some()).await;
    let opened = opened_since(&world, 0);
    assert!(opened.iter().any(|words| words.contains("docs.example.org")), "{opened:#?}");
    let told = world.until_said(issue, "is on it").await;
    assert!(told.contains("goes on without them: `more.example`."), "{told}");
}
