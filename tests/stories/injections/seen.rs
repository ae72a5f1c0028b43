//! Everything that a case leaves behind and that is checked.

use super::prompt::read;
use super::words::Scene;
use crate::ground::git;
use crate::hosts::told;
use crate::world::{REPO, World};
use caisson::forge::{ForgeReads, RepoRef};
use caisson::llm::ModelRequest;
use domain::{Event, Task};
use std::collections::BTreeMap;

pub struct CaseEvidence {
    pub task: Task,
    pub log: Vec<Event>,
    /// The requests to the model, oldest first.
    pub requests: Vec<ModelRequest>,
    /// Everything that the bot posted: comments, reviews, remarks, and title and text of its pull request.
    pub posts: Vec<String>,
    pub refs: BTreeMap<String, String>,
    pub refs_before: BTreeMap<String, String>,
    /// Author, message and changes of each commit on the agent's branch.
    pub commits: String,
    /// Authors and messages of these commits.
    pub messages: String,
    /// The requests to the router.
    pub told: Vec<String>,
    /// Number of hosts allowed for the repository.
    pub grants: usize,
    /// Tokens, keys and secrets of the bot and the forge, with their names.
    pub secrets: Vec<(String, String)>,
    pub forge: String,
}

impl CaseEvidence {
    pub fn refs_of(world: &World) -> BTreeMap<String, String> {
        let all = git(&world.forge.repository_dir(REPO), &["for-each-ref", "--format=%(refname) %(objectname)"]);
        let pair = |line: &str| line.split_once(' ').map(|(name, id)| (name.to_owned(), id.to_owned()));
        all.lines().filter_map(pair).collect()
    }

    pub async fn of(world: &World, scene: Scene, refs_before: BTreeMap<String, String>) -> CaseEvidence {
        let (task, refs) = (world.task().await, CaseEvidence::refs_of(world));
        let branch = task.request.as_ref().map(|request| format!("refs/heads/{}", request.branch)).unwrap_or_default();
        let on_branch = |more: &[&str]| match refs.contains_key(&branch) {
            true => {
                let range = format!("refs/heads/main..{branch}");
                let words = [&["log", "--format=%an <%ae>%n%cn <%ce>%n%B"], more, &[range.as_str()]].concat();
                git(&world.forge.repository_dir(REPO), &words)
            }
            false => String::new(),
        };
        CaseEvidence {
            log: world.log().await,
            requests: world.model.asked(),
            posts: posts(world, scene).await,
            commits: on_branch(&["-p", "--text"]),
            messages: on_branch(&[]),
            told: if world.doors.is_some() { told(world) } else { Vec::new() },
            grants: world.store().grants("shop").await.expect("read").len(),
            secrets: secrets(world),
            forge: world.forge.url().to_owned(),
            task,
            refs,
            refs_before,
        }
    }

    /// All posts as one text.
    pub fn posted(&self) -> String {
        self.posts.join("\n\n")
    }

    pub fn log_text(&self) -> String {
        serde_json::to_string(&self.log).expect("a log")
    }

    /// The newest request without the model's own answers.
    pub fn newest(&self) -> String {
        self.requests.last().map(|request| read(request).join("\n")).unwrap_or_default()
    }
}

async fn posts(world: &World, scene: Scene) -> Vec<String> {
    let mut posts = world.said(scene.issue).await;
    let Some(number) = scene.pull else { return posts };
    posts.extend(world.said(number).await);
    let (forge, at) = (world.look(), RepoRef::new("lab", "shop"));
    let pull = forge.pull(&at, number).await.expect("read");
    posts.extend([pull.title, pull.body]);
    for status in forge.statuses(&at, &pull.head_sha).await.expect("read") {
        posts.push(status.description);
    }
    for review in forge.reviews(&at, number).await.expect("read") {
        let remarks = forge.review_comments(&at, number, review.id).await.expect("read");
        posts.extend(remarks.into_iter().filter(|remark| remark.author.login == "caisson").map(|remark| remark.body));
    }
    posts
}

fn secrets(world: &World) -> Vec<(String, String)> {
    let state = &world.config.state_dir;
    let files = [world.dir.path().join("bot.token"), world.dir.path().join("shop.secret"), state.join("ops.token")];
    let mut all = vec![("the admin's token".to_owned(), world.forge.admin_token().to_owned())];
    for file in files.into_iter().chain([world.config.mark_key_file()]) {
        let text = std::fs::read_to_string(&file).expect("a secret").trim().to_owned();
        assert!(text.len() >= 6, "{} holds no secret", file.display());
        all.push((file.file_name().expect("named").to_string_lossy().into_owned(), text));
    }
    all
}
