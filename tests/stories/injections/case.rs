//! One injection: where the text is, what obeys it, and what is checked afterwards.

use super::checks;
use super::script::Script;
use super::seen::CaseEvidence;
use super::words::Expected;
pub use super::words::{ELSEWHERE, SIGN, Scene, Stands, order};
use crate::pictures::png;
use crate::world::{REPO, World};
use futures_util::future::BoxFuture;
use std::path::Path;

/// What happens after the task has stopped.
pub type Then = for<'a> fn(&'a World, Scene) -> BoxFuture<'a, ()>;

pub struct Case {
    pub name: &'static str,
    pub files: Vec<(&'static str, String)>,
    pub plant: Option<fn(&Path)>,
    pub opener: &'static str,
    pub title: String,
    pub body: String,
    /// Name of a picture attached to the issue.
    pub picture: Option<String>,
    pub script: Script,
    pub more: &'static str,
    pub models: Option<&'static str>,
    pub then: Option<Then>,
    pub command: &'static str,
    /// Approvals by a writer: one for each checkpoint except the last.
    pub approvals: u8,
    /// Decisions by a writer in `then`.
    pub decisions: u8,
    pub stops: &'static str,
    pub stands: Stands,
    pub own: fn(&CaseEvidence),
}

impl Case {
    /// An issue by a reader without an injection, on which a writer starts a task whose recording obeys.
    pub fn new(name: &'static str, script: Script) -> Self {
        Case {
            name,
            files: Vec::new(),
            plant: None,
            opener: "bob",
            title: "Versions compare as text".to_owned(),
            body: "1.10.0 sorts before 1.9.0.".to_owned(),
            picture: None,
            script,
            more: "",
            models: None,
            then: None,
            command: "/fix",
            approvals: 0,
            decisions: 0,
            stops: "awaiting-review",
            stands: Stands::Fenced("none"),
            own: |_| {},
        }
    }

    /// A file of the default branch.
    pub fn file(mut self, path: &'static str, text: impl Into<String>) -> Self {
        self.files.push((path, text.into()));
        self
    }

    /// Changes a clone of the default branch otherwise, before its files are pushed.
    pub fn plant(mut self, how: fn(&Path)) -> Self {
        self.plant = Some(how);
        self.file("LICENSE", "Whatever.\n")
    }

    pub fn issue(mut self, title: impl Into<String>, body: impl Into<String>) -> Self {
        (self.title, self.body) = (title.into(), body.into());
        self
    }

    pub fn body(mut self, body: impl Into<String>) -> Self {
        self.body = body.into();
        self
    }

    pub fn picture(mut self, name: impl Into<String>) -> Self {
        self.picture = Some(name.into());
        self
    }

    pub fn then(mut self, then: Then) -> Self {
        self.then = Some(then);
        self
    }

    pub fn own(mut self, own: fn(&CaseEvidence)) -> Self {
        self.own = own;
        self
    }

    pub fn stands(mut self, stands: Stands) -> Self {
        self.stands = stands;
        self
    }

    /// With this many approvals by a writer.
    pub fn approved(mut self, approvals: u8) -> Self {
        self.approvals = approvals;
        self
    }

    /// With this many decisions by a writer after the stop.
    pub fn decides(mut self, decisions: u8) -> Self {
        self.decisions = decisions;
        self
    }

    /// Asks for a plan instead of a change.
    pub fn asked_to_plan(mut self) -> Self {
        self.command = "/plan";
        self
    }

    pub fn stops(mut self, state: &'static str) -> Self {
        self.stops = state;
        self
    }

    /// Runs the case and checks it.
    pub async fn play(self) {
        let script = self.script.clone().text();
        let world = match self.models {
            Some(models) => World::of_models(&script, models).await,
            None => World::networked(&script, self.more).await,
        };
        self.push(&world);
        let before = CaseEvidence::refs_of(&world);
        let issue = world.forge.as_person(self.opener).open_issue(REPO, &self.title, &self.body).expect("an issue");
        if let Some(name) = &self.picture {
            world.forge.as_person(self.opener).attach(REPO, issue, name, &png()).expect("attached");
        }
        if self.opener != "alice" {
            world.alice().comment(REPO, issue, self.command).expect("asked");
        }
        let mut pull = self.stopped(&world, 1).await;
        for round in 0..self.approvals {
            world.approve().await;
            pull = self.stopped(&world, usize::from(round) + 2).await;
        }
        if let Some(then) = self.then {
            then(&world, Scene { issue, pull }).await;
        }
        let seen = CaseEvidence::of(&world, Scene { issue, pull }, before).await;
        let decisions = self.approvals + self.decisions;
        checks::all(&seen, &Expected { decisions, stops: self.stops, stands: self.stands });
        (self.own)(&seen);
    }

    /// Pushes the case's default branch.
    fn push(&self, world: &World) {
        let project = world.dir.path().join("project");
        if let Some(plant) = self.plant {
            plant(&project);
        }
        for (path, _) in &self.files {
            std::fs::create_dir_all(project.join(path).parent().expect("a folder")).expect("made");
        }
        let files: Vec<(&str, &str)> = self.files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        if !files.is_empty() {
            world.push(&files);
        }
    }

    /// Waits for the checkpoint with this number; returns the pull request's number.
    async fn stopped(&self, world: &World, checkpoints: usize) -> Option<u64> {
        let over = ["paused", "failed", "cancelled", "declined", "expired", "approved", "delivered"];
        let stands =
            |task: &domain::Task| task.checkpoints.len() >= checkpoints && !task.state.name().contains("publish");
        let is_waiting = |task: &domain::Task| ["awaiting-review", "final-review"].contains(&task.state.name());
        let task =
            world.until("a stop", |task| (stands(task) && is_waiting(task)) || over.contains(&task.state.name())).await;
        let state = task.state.name();
        if state == "paused" || (state != self.stops && checkpoints > usize::from(self.approvals)) {
            let log = world.log().await;
            let tail: Vec<String> = log.iter().rev().take(4).map(|event| format!("{event:?}")).collect();
            assert_eq!(state, self.stops, "{}: {:?}\n{}", self.name, task.state, tail.join("\n"));
        }
        task.pull
    }
}

/// Waits for the second checkpoint, after a writer's decision.
pub async fn next_stop(world: &World) {
    let stops = |task: &domain::Task| {
        (task.checkpoints.len() == 2 && task.state.name() == "awaiting-review") || task.state.name() == "paused"
    };
    let task = world.until("the next checkpoint", stops).await;
    assert_eq!(task.state.name(), "awaiting-review", "{:?}", task.state);
}

/// Runs all cases, and lists those that fail.
pub async fn play(cases: Vec<Case>) {
    let mut wrong = Vec::new();
    for case in cases {
        let name = case.name;
        if std::env::var("INJECTION").is_ok_and(|one| one != name) {
            continue;
        }
        if let Err(error) = tokio::spawn(case.play()).await {
            let said = error.into_panic();
            let text = said.downcast_ref::<String>().cloned();
            let text = text.or_else(|| said.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            wrong.push(format!("{name}: {}", text.unwrap_or_default()));
        }
    }
    assert!(wrong.is_empty(), "{} cases do not hold:\n\n{}", wrong.len(), wrong.join("\n\n"));
}
