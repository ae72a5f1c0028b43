//! Workspace and home of a container on the engine's disk; both begin empty and belong to its user, whatever the image has there.
//!
//! Owns their volumes. A workspace can be a layer over the tree in a mirror, so that large trees need no check-out and unchanged files are
//! shared. The layer, which is read-only in the container, holds what the container writes; the workspace is an overlay mount of it over
//! the tree, made from the engine's own paths. The container mounts the mirror too, so that the engine does not let it be removed
//! meanwhile. Tests: `tests/docker/disks.rs`, `tests/docker/layers.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use bollard::models::VolumeCreateRequest;
use protocol::broker::{ContainerSpec, Problem, TREE};

use crate::core::Core;
use crate::engine::unless_gone;
use crate::hardening::{self, UPPER};
use crate::helper::Helpers;
use crate::name::{self, ResourceKind};
use crate::supply::directories;

/// Overlayfs' work directory, beside the differences.
const WORK: &str = "work";
/// Renamed directories are copied and changed files stored whole, so that the layer alone shows what differs.
const PLAIN: &str = "redirect_dir=off,metacopy=off";
/// Mount point of volumes in the container that sets the owners of their directories.
const GIVEN: &str = "/given";

/// Makes and removes the volumes of containers.
pub struct Disks {
    core: Arc<Core>,
    helpers: Arc<Helpers>,
}

impl Disks {
    pub fn new(core: Arc<Core>, helpers: Arc<Helpers>) -> Self {
        Self { core, helpers }
    }

    /// An empty workspace and, on disk, an empty home; leftovers of an earlier container of that name are removed first. Returns a helper
    /// container that can be discarded.
    pub async fn workspace(
        &self,
        spec: &ContainerSpec,
        image: &str,
        mirror: Option<&str>,
    ) -> Result<Option<String>, Problem> {
        self.remove(&spec.name).await?;
        if spec.limits.workspace_bytes == 0 {
            return self.on_disk(spec, image, mirror.filter(|_| spec.layered)).await.map(Some);
        }
        self.make(hardening::workspace(&self.core.names, spec, self.core.host().await?.users_from)).await.map(|_| None)
    }

    /// Creates one volume of a workspace and gives its path on the engine's machine.
    async fn make(&self, volume: VolumeCreateRequest) -> Result<String, Problem> {
        let made = self.core.engine.create_volume(volume).await?;
        if self.core.names.owns(Some(&made.labels), ResourceKind::Workspace) {
            return Ok(made.mountpoint);
        }
        Err(Problem::refused(format!("volume {} is not this installation's; remove it by hand", made.name)))
    }

    pub async fn remove(&self, name: &str) -> Result<(), Problem> {
        // The helper of an interrupted request still uses the volumes.
        self.helpers.discard(&self.core.names.disk_helper(name)).await?;
        // The engine does not know that one is mounted over the other.
        let (workspace, layer, home) =
            (self.core.names.workspace(name), self.core.names.layer(name), self.core.names.home(name));
        tokio::try_join!(self.remove_own(&workspace), self.remove_own(&layer), self.remove_own(&home)).map(|_| ())
    }

    async fn remove_own(&self, volume: &str) -> Result<(), Problem> {
        let Some(found) = self.core.engine.volume(volume).await? else { return Ok(()) };
        if !self.core.names.owns(Some(&found.labels), ResourceKind::Workspace) {
            return Err(Problem::refused(format!("volume {volume} is not this installation's and is not touched")));
        }
        unless_gone(self.core.engine.remove_volume(volume).await)
    }

    /// Creates the volumes of a workspace and a home on disk. `image`: any image of the engine; `mirror`: the mirror's path on the engine's
    /// machine, if the workspace is layered over its tree. Returns a helper container that has finished and can be discarded.
    async fn on_disk(&self, spec: &ContainerSpec, image: &str, mirror: Option<&str>) -> Result<String, Problem> {
        let mirror = mirror.map(fit_for_options).transpose()?;
        let (workspace, home) = (self.core.names.workspace(&spec.name), self.core.names.home(&spec.name));
        self.make(self.volume_of(spec, home.clone(), HashMap::new())).await?;
        let Some(mirror) = mirror else {
            self.make(self.volume_of(spec, workspace.clone(), HashMap::new())).await?;
            let given = [("workspace", spec.user, 0o755), ("home", spec.user, 0o700)];
            return self.give(spec, image, &[("workspace", &workspace), ("home", &home)], &given).await;
        };
        let layer = self.core.names.layer(&spec.name);
        let at = self.make(self.volume_of(spec, layer.clone(), HashMap::new())).await?;
        let (upper, work) = (format!("layer/{UPPER}"), format!("layer/{WORK}"));
        // The root of an overlay has the owner of the upper directory.
        let given = [(&*upper, spec.user, 0o755), (&*work, 0, 0o755), ("home", spec.user, 0o700)];
        let helper = self.give(spec, image, &[("layer", &layer), ("home", &home)], &given).await?;
        let at = fit_for_options(&at)?;
        let layers = format!("lowerdir={mirror}/{TREE},upperdir={at}/{UPPER},workdir={at}/{WORK},{PLAIN},nosuid,nodev");
        let options = [("type", "overlay"), ("device", "overlay"), ("o", &layers)];
        let options = options.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        self.make(self.volume_of(spec, workspace, options)).await.map(|_| helper)
    }

    /// Makes the filling user owner of a mirror; repeating it changes nothing, because only the volume's own directory is affected.
    pub async fn give_mirror(&self, spec: &ContainerSpec, image: &str) -> Result<Option<String>, Problem> {
        let Some(mirror) = &spec.mirror else { return Ok(None) };
        let volume = self.core.names.mirror(mirror);
        self.give(spec, image, &[("mirror", &volume)], &[("mirror", spec.user, 0o755)]).await.map(Some)
    }

    fn volume_of(&self, spec: &ContainerSpec, name: String, options: HashMap<String, String>) -> VolumeCreateRequest {
        let mut labels = self.core.names.labels(ResourceKind::Workspace);
        labels.insert(name::NAME.into(), spec.name.clone());
        VolumeCreateRequest {
            name: Some(name),
            driver: Some("local".into()),
            driver_opts: Some(options),
            labels: Some(labels),
            ..Default::default()
        }
    }

    /// Creates directories in volumes, or changes the volumes' own, each with owner and mode; a volume is named by its mount point.
    async fn give(
        &self,
        spec: &ContainerSpec,
        image: &str,
        volumes: &[(&str, &str)],
        given: &[(&str, u32, u32)],
    ) -> Result<String, Problem> {
        let helper = self.core.names.disk_helper(&spec.name);
        self.helpers.discard(&helper).await?;
        let lie: Vec<_> = volumes.iter().map(|(at, volume)| (format!("{GIVEN}/{at}"), *volume)).collect();
        let lie: Vec<_> = lie.iter().map(|(at, volume)| (at.as_str(), *volume)).collect();
        let body = self.helpers.never_started(image, &lie);
        let id = self.core.engine.create(&helper, body).await?;
        if let Err(problem) = self.core.engine.put(&id, GIVEN, directories(given)).await {
            self.helpers.discard(&helper).await?;
            return Err(problem);
        }
        Ok(helper)
    }
}

/// A path that is safe in mount options, where `,` separates options and `:` layers.
fn fit_for_options(path: &str) -> Result<&str, Problem> {
    if path.starts_with('/') && !path.contains([',', ':', '\\']) {
        return Ok(path);
    }
    Err(Problem::refused(format!("volumes of this engine lie at {path}, which cannot stand in the options of a mount")))
}

#[cfg(test)]
mod tests {
    use super::fit_for_options;

    #[test]
    fn a_path_says_nothing_but_where_it_is() {
        assert!(fit_for_options("/var/lib/docker/volumes/x/_data").is_ok());
        for path in ["", "x/y", "/a,lowerdir=/etc", "/a:/b", "/a\\b"] {
            assert!(fit_for_options(path).is_err(), "{path}");
        }
    }
}
