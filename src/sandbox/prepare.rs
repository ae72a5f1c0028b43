//! A sandbox is made: chamber, repository in, check-out, berth open.
//!
//! Owns the order in which that happens, so that a half-prepared chamber is never used: the record gets its boot id last,
//! and whatever is found without one is removed and made anew. Tests: `tests/trees.rs`.

use std::sync::Arc;

use domain::Commit;
use protocol::broker::{ChamberSpec, ChamberState, Purpose};

use super::record::Record;
use super::room::{self, Room, Work};
use super::{PrepareSpec, Prepared, Result, SandboxError, Sandboxes};

/// The branch an agent finds itself on; its own commits on it are never looked at.
const BRANCH: &str = "refs/heads/work";

impl Sandboxes {
    /// Makes the sandbox, or finds the one that an earlier try has finished. May be repeated after any failure.
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] (engine, router or berths), [`SandboxError::Refused`] (image without git or sh, a
    /// network without a router, an unknown commit), [`SandboxError::Limit`] (repository larger than the chamber).
    pub async fn prepare(&self, spec: &PrepareSpec) -> Result<Prepared> {
        if spec.network && self.gate.is_none() {
            return Err(SandboxError::Refused(
                "a sandbox with a network needs the router, and none is attached".to_owned(),
            ));
        }
        if let Some(boot) = self.standing(spec).await? {
            self.open(spec.task).await?;
            return Ok(Prepared { boot });
        }
        if let Some(old) = self.records.get(spec.task) {
            self.rooms.lock().await.remove(&spec.task);
            self.close_berth(old.berth).await?;
            self.broker.remove(&old.name).await.map_err(room::from_broker)?;
        }
        let record = self.records.begin(
            Record {
                task: spec.task,
                attempt: spec.attempt,
                name: format!("task-{}-{}", spec.task, spec.attempt),
                base: spec.base.to_string(),
                image: spec.image.clone(),
                berth: None,
                egress: spec.egress.clone(),
                boot: None,
            },
            spec.network,
        )?;
        self.close_berth(record.berth).await?;
        let room = Arc::new(self.furnished(spec, &record).await?);
        let boot = room.boot.clone();
        self.rooms.lock().await.insert(spec.task, room);
        self.records.change(spec.task, |record| record.boot = Some(boot.clone()))?;
        self.open(spec.task).await?;
        Ok(Prepared { boot })
    }

    /// The boot id of a sandbox that fits `spec` and still runs.
    async fn standing(&self, spec: &PrepareSpec) -> Result<Option<String>> {
        let Ok(record) = self.records.ready(spec.task) else { return Ok(None) };
        let fits = record.attempt == spec.attempt && record.base == spec.base.as_str() && record.image == spec.image;
        if !fits || record.berth.is_some() != spec.network {
            return Ok(None);
        }
        let found = self.broker.inspect(&record.name).await.map_err(room::from_broker)?;
        if !matches!(found.map(|c| c.state), Some(ChamberState::Running | ChamberState::Paused)) {
            return Ok(None);
        }
        match self.room(spec.task).await.map_err(SandboxError::from) {
            Ok(room) => Ok(Some(room.boot.clone())),
            Err(SandboxError::Gone(_)) => Ok(None),
            Err(e) => Err(e),
        }
    }

    async fn furnished(&self, spec: &PrepareSpec, record: &Record) -> Result<Room> {
        let chamber = ChamberSpec {
            name: record.name.clone(),
            task: Some(spec.task),
            purpose: Purpose::Task,
            image: spec.image.clone(),
            berth: record.berth,
            limits: spec.limits,
            env: Vec::new(),
            profile: self.settings.profile.clone(),
        };
        let room = Room::make(self.broker.as_ref(), &chamber, self.epoch, Arc::clone(&self.ids)).await?;
        self.furnish(&room, &spec.repo_key, &spec.base, self.settings.history_depth, &spec.image).await?;
        Ok(room)
    }

    /// Brings one commit (and `depth` of its history) into a fresh chamber's workspace and checks it out.
    pub(super) async fn furnish(&self, room: &Room, key: &str, commit: &Commit, depth: u32, image: &str) -> Result<()> {
        require_git(room, image).await?;
        let mut pack = self.repos.pack(key, std::slice::from_ref(commit), depth, self.settings.base_pack_bytes).await?;
        let init = ["git", "init", "--quiet", "--template=", "."];
        room.must(Work::new(init), "making the repository in the sandbox").await?;
        let shallow = pack.shallow_lines();
        if !shallow.is_empty() {
            let write = Work::new(["sh", "-c", "cat > .git/shallow"]);
            room.must(write.input(&mut shallow.as_bytes()), "cutting the history in the sandbox").await?;
        }
        let unpack = Work::git(".git", ["index-pack", "--stdin"]).wall(600_000);
        room.must(unpack.input(pack.reader().await?), "unpacking the repository in the sandbox").await?;
        let point = Work::git(".git", ["update-ref", BRANCH, commit.as_str()]);
        room.must(point, "naming the base commit").await?;
        room.must(Work::git(".git", ["symbolic-ref", "HEAD", BRANCH]), "naming the branch").await?;
        let out = Work::new(["git", "--git-dir=.git", "--work-tree=.", "reset", "--quiet", "--hard"]);
        room.must(out.wall(600_000), "checking the base commit out").await?;
        // An agent that commits needs a name; what it commits is never looked at.
        for (key, value) in [("user.name", "agent"), ("user.email", "agent@sandbox.invalid"), ("gc.auto", "0")] {
            room.must(Work::git(".git", ["config", key, value]), "setting the repository up").await?;
        }
        Ok(())
    }
}

/// An image without git or sh cannot hold a task: said by name before anything else.
pub(super) async fn require_git(room: &Room, image: &str) -> Result<()> {
    for program in ["sh", "git"] {
        let ask = if program == "sh" { vec!["sh", "-c", ":"] } else { vec!["git", "--version"] };
        if let Err(SandboxError::Refused(why)) = room.must(Work::new(ask), program).await {
            let said = format!("the image {image} has no working `{program}` ({why}); install it in the image");
            return Err(SandboxError::Refused(said));
        }
    }
    Ok(())
}
