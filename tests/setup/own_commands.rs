//! `caisson repo add` of a repository whose own commands wish for hosts.

use super::{Home, project};
use crate::support::forges::git;
use devforge::{Devforge, Options};
use std::path::Path;

/// Commits a file of `.caisson/commands`.
fn command(project: &Path, name: &str, text: &str) {
    let folder = project.join(".caisson/commands");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
    git(project, &["add", "-A"]);
    git(project, &["commit", "-q", "-m", name]);
}

fn compare(hosts: &str, prompt: &str) -> String {
    format!("+++\ndescription = \"Compares versions\"\nnetwork = [{hosts}]\n+++\n{prompt}\n")
}

/// The value that is printed to accept what is shown.
fn value(text: &str) -> String {
    let value = text.split("--accept ").nth(1).and_then(|rest| rest.split_whitespace().next());
    value.unwrap_or_else(|| panic!("no value in {text}")).to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hosts_of_its_commands_are_shown_and_count_once_they_are_accepted() {
    let forge = Devforge::start(Options::quiet()).await.unwrap();
    let home = Home::set_up(forge.url(), forge.admin_token()).await;
    let project = project(home.dir.path(), "test = \"true\"\n");
    command(&project, "compare.md", &compare("\"docs.example.org\"", "Compare {words}."));
    command(&project, "notes.md", "+++\ndescription = \"Writes notes\"\n+++\nWrite {words}.\n");
    command(&project, "broken.md", "No settings.\n");
    let source = project.display().to_string();
    let add = ["repo", "add", source.as_str()];

    // Without a value nothing is accepted, and all of it is shown.
    let text = home.good(&add);
    assert!(text.contains("commands of its own: /compare, /notes"), "{text}");
    assert!(text.contains(".caisson/commands/broken.md:1: begin with a line `+++`"), "{text}");
    assert!(text.contains("its .caisson.toml and commands ask for 1 thing that you don't grant"), "{text}");
    assert!(text.contains("docs.example.org") && text.contains("/compare"), "{text}");
    assert!(text.contains("none of this has an effect until you accept it"), "{text}");
    let first = value(&text);
    assert!(first.contains('-'), "a part for .caisson.toml and one for the commands: {first}");
    assert_eq!(home.entry().await.0.accepted, "");
    let text = home.bad(&["repo", "add", &source, "--accept", "0000"]);
    assert!(text.contains("belongs to other wishes") && text.contains(&first), "{text}");
    assert_eq!(home.entry().await.0.accepted, "");
    home.good(&["repo", "add", &source, "--accept", &first]);
    assert_eq!(home.entry().await.0.accepted, first);

    // It stays accepted while nothing changes, and where a prompt does: the value covers what tasks could reach, and for whom.
    let accepted = "accepted, for exactly these wishes";
    assert!(home.good(&add).contains(accepted));
    command(&project, "compare.md", &compare("\"docs.example.org\"", "Compare {words} as numbers."));
    assert!(home.good(&add).contains(accepted));
    assert_eq!(home.entry().await.0.accepted, first);

    // Another host is asked for anew, and takes nothing from what .caisson.toml was granted.
    command(&project, "compare.md", &compare("\"docs.example.org\", \"evil.example\"", "Compare {words}."));
    let text = home.good(&add);
    assert!(text.contains("evil.example") && !text.contains(accepted), "{text}");
    assert!(
        text.contains("what .caisson.toml asks for stays accepted; what the commands ask for has no effect"),
        "{text}"
    );
    let (file, second) = (first.split_once('-').unwrap().0, value(&text));
    assert_eq!(home.entry().await.0.accepted, file);
    assert!(second != first && second.starts_with(&format!("{file}-")), "{second}");
    assert!(home.bad(&["repo", "add", &source, "--accept", &first]).contains("belongs to other wishes"));
    home.good(&["repo", "add", &source, "--accept", &second]);
    assert_eq!(home.entry().await.0.accepted, second);
}
