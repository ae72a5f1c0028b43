//! Makes a sandbox: container, repository, check-out.
//!
//! Owns the order of these steps, so that an incomplete container is never used: the record gets its boot id last, and a container without
//! one is removed and made anew. Tests: `tests/trees.rs`.

use std::sync::Arc;

use protocol::broker::{ContainerSpec, ContainerState, Purpose};
use protocol::runner::VERSION;

use super::{TaskSandboxes, merge};
use crate::sandbox::cache::loader;
use crate::sandbox::record::{Merged, MirrorGeneration, Record};
use crate::sandbox::session::{self, Session};
use crate::sandbox::{PrepareSpec, Prepared, Result, SandboxError};

impl TaskSandboxes {
    /// Makes the sandbox, or finds the one that an earlier try finished. May be repeated after any failure. Its subnet stays closed until
    /// [`TaskSandboxes::open`].
    ///
    /// # Errors
    /// [`SandboxError::Unavailable`] (engine, router or subnets), [`SandboxError::Refused`] (image without git or sh, a
    /// network without a router, an unknown commit), [`SandboxError::Limit`] (repository larger than the container).
    pub async fn prepare(&self, spec: &PrepareSpec) -> Result<Prepared> {
        if spec.network && !self.core.subnets.routed() {
            return Err(SandboxError::Refused(
                "a sandbox with a network needs the router, and none is attached".to_owned(),
            ));
        }
        if let Some(found) = self.standing(spec).await? {
            return Ok(found);
        }
        self.images.must_be_proven(&spec.image).await?;
        match spec.afresh {
            true => self.carried.forget(spec.task),
            false => self.carried.take_out(spec).await?,
        }
        if let Some(old) = self.core.records.get(spec.task) {
            self.sessions.forget(spec.task).await;
            self.core.subnets.close(old.subnet).await?;
            self.core.broker.remove(&old.name).await.map_err(session::from_broker)?;
        }
        let on_disk = spec.limits.workspace_bytes == 0;
        let generation = self.mirrors.mirror(&spec.repo_key, spec.trunk.as_ref(), on_disk).await;
        let setup = self.setups.set_up(spec, &mut Vec::new()).await?;
        let record = self.core.begin(Record { setup, ..spec.record() }, spec.network).await?;
        let (session, mirror, merged) = self.furnished(spec, &record, generation).await?;
        let conflicts = merged.as_ref().map(|merged| merged.conflicts.clone()).unwrap_or_default();
        let boot = session.boot.clone();
        self.sessions.put(spec.task, Arc::new(session)).await;
        self.core.records.change(spec.task, |record| {
            // The loss of the sandbox before does not concern this one.
            (record.boot, record.lost, record.mirror) = (Some(boot.clone()), None, mirror);
            record.merged = merged;
        })?;
        Ok(Prepared { boot, conflicts })
    }

    /// A sandbox that fits `spec` and still runs.
    async fn standing(&self, spec: &PrepareSpec) -> Result<Option<Prepared>> {
        let Ok(record) = self.core.records.ready(spec.task) else { return Ok(None) };
        let fits = record.attempt == spec.attempt && record.base == spec.base.as_str() && record.image == spec.image;
        let merged = match (&record.merged, &spec.merge) {
            (Some(merged), Some(merge)) => merged.is(merge),
            (merged, merge) => merged.is_none() && merge.is_none(),
        };
        if !fits || !merged || record.runner != VERSION || record.subnet.is_some() != spec.network {
            return Ok(None);
        }
        let found = self.core.broker.inspect(&record.name).await.map_err(session::from_broker)?;
        if !matches!(found.map(|c| c.state), Some(ContainerState::Running | ContainerState::Paused)) {
            return Ok(None);
        }
        match self.sessions.of(spec.task).await {
            Ok(session) => {
                let conflicts = record.merged.map(|merged| merged.conflicts).unwrap_or_default();
                Ok(Some(Prepared { boot: session.boot.clone(), conflicts }))
            }
            Err(SandboxError::Gone(_)) => Ok(None),
            Err(e) => Err(e),
        }
    }

    async fn furnished(
        &self,
        spec: &PrepareSpec,
        record: &Record,
        generation: Option<MirrorGeneration>,
    ) -> Result<(Session, Option<MirrorGeneration>, Option<Merged>)> {
        let container = ContainerSpec {
            name: record.name.clone(),
            task: Some(spec.task),
            purpose: Purpose::Task,
            user: self.core.users.of(&spec.repo_key)?,
            image: spec.image.clone(),
            subnet: record.subnet,
            limits: spec.limits,
            env: Vec::new(),
            profile: self.core.settings.profile.clone(),
            mirror: None,
            layered: false,
        };
        let (session, generation) = self
            .loader
            .loaded(&container, &spec.repo_key, &spec.base, self.core.settings.history_depth, generation)
            .await?;
        let generation = generation.map(|generation| MirrorGeneration {
            tree: loader::laid_over(&container, &generation).cloned(),
            ..generation
        });
        self.indexes.forget(&spec.task.to_string());
        // A layered workspace needs no index, because its layer shows the changes.
        if generation.as_ref().is_none_or(|generation| generation.tree.is_none()) {
            match self.indexes.keep(&session, spec.task).await {
                Err(error @ (SandboxError::Limit(_) | SandboxError::Refused(_))) => {
                    tracing::warn!(task = spec.task, %error, "the index was not kept; checkpoints read every file");
                }
                done => done?,
            }
        }
        self.setups.bring_setup(&session, record.setup.as_deref()).await?;
        let brought = self.carried.bring_back(&session, spec.task, &spec.base).await?;
        let merged = match &spec.merge {
            // What was brought over was made after the merge.
            Some(merge) if !brought => Some(merge::merge(&self.core, &session, spec, merge).await?),
            _ => None,
        };
        Ok((session, generation, merged))
    }
}
