//! Images: only those the operator listed, pinned to the id they had at first use, and inspected once.
//! Never pulls, never builds. Tests: `tests/docker/`.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use bollard::models::ImageInspect;
use protocol::broker::{ImageInfo, Problem, ProblemKind, Purpose, TOOLCHAIN_VERSION};

use crate::core::Core;
use crate::gpus::Gpus;
use crate::hardening;
use crate::helper::Helpers;
use crate::name::short;
use crate::supply::Supply;

/// Prints the missing programs; an image without a shell cannot be started.
const LOOK: &str = "for it in git sh; do command -v $it >/dev/null || echo $it; done; echo looked";

/// The listed images.
pub struct Images {
    core: Arc<Core>,
    helpers: Arc<Helpers>,
    supply: Supply,
    /// By reference.
    pinned: Mutex<HashMap<String, ImageInfo>>,
    /// Ids of images that contain what a container needs.
    fit: tokio::sync::Mutex<HashSet<String>>,
}

impl Images {
    pub fn new(core: Arc<Core>, helpers: Arc<Helpers>, supply: Supply) -> Self {
        Self { core, helpers, supply, pinned: Mutex::default(), fit: tokio::sync::Mutex::default() }
    }

    /// `None` when the engine does not have it; an image that is not listed is refused in either case.
    pub async fn image(&self, reference: &str) -> Result<Option<ImageInfo>, Problem> {
        let known = self.core.settings.images.iter().chain(&self.core.settings.router_images);
        if !known.into_iter().any(|listed| listed == reference) {
            return Err(unlisted(reference, &self.core.settings.images));
        }
        self.pin(reference).await
    }

    /// The id of a listed container image that has git and sh, and the volume with the runner.
    pub async fn container_image(&self, reference: &str) -> Result<(String, &str), Problem> {
        if !self.core.settings.images.iter().any(|listed| listed == reference) {
            return Err(unlisted(reference, &self.core.settings.images));
        }
        let id = self.pin(reference).await?.ok_or_else(|| missing(reference))?.id;
        let runner = self.supply.runner_volume(&id).await?;
        let mut fit = self.fit.lock().await;
        if !fit.contains(&id) {
            self.look_into(reference, &id, runner).await?;
            fit.insert(id.clone());
        }
        Ok((id, runner))
    }

    /// The id of a listed router image.
    pub async fn router_image(&self, reference: &str) -> Result<String, Problem> {
        if !self.core.settings.router_images.iter().any(|listed| listed == reference) {
            return Err(unlisted(reference, &self.core.settings.router_images));
        }
        Ok(self.pin(reference).await?.ok_or_else(|| missing(reference))?.id)
    }

    /// The image's id; a tag that is moved later has no effect until the broker is restarted.
    async fn pin(&self, reference: &str) -> Result<Option<ImageInfo>, Problem> {
        let pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner).get(reference).cloned();
        let ask = pinned.as_ref().map_or(reference, |image| image.id.as_str());
        let Some(found) = self.core.engine.image(ask).await? else {
            return match pinned {
                None => Ok(None),
                Some(old) => Err(Problem::new(
                    ProblemKind::NotFound,
                    format!(
                        "image {reference} was {} and is gone; start the broker anew to take another",
                        short(&old.id)
                    ),
                )),
            };
        };
        let image = described(reference, found)?;
        let mut all = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Some(all.entry(reference.to_owned()).or_insert(image).clone()))
    }

    /// Runs a shell in a container as restricted as a task's and checks the image's programs.
    async fn look_into(&self, reference: &str, id: &str, runner: &str) -> Result<(), Problem> {
        let fit = self.core.fittings(id, runner, None).await?;
        let body = hardening::throw_away(&self.core.names, &fit, &["/bin/sh", "-c", LOOK])?;
        let said = self.helpers.thrown_away(&format!("look-{}", short(id)), body).await;
        judge(reference, &said.map_err(|problem| unseen(reference, problem))?)
    }

    /// Refuses an engine that is not Docker's or lacks the runtime or the graphics processors. Engines do not list GPU drivers, so the
    /// first available image is tried with one.
    pub async fn check(&self) -> Result<(), Problem> {
        self.core.usable().await?;
        let gpus = &self.core.settings.gpus;
        if *gpus == Gpus::None {
            return Ok(());
        }
        for reference in &self.core.settings.images {
            if self.pin(reference).await?.is_none() {
                continue;
            }
            let (image, runner) = self.container_image(reference).await?;
            let fit = self.core.fittings(&image, runner, None).await?;
            let mut body = hardening::throw_away(&self.core.names, &fit, &["/bin/sh", "-c", LOOK])?;
            body.host_config.get_or_insert_default().device_requests = gpus.requests(Purpose::Task);
            return self
                .helpers
                .thrown_away("look-gpus", body)
                .await
                .map(|_| ())
                .map_err(|problem| no_gpu(gpus, problem));
        }
        tracing::warn!("no listed image is there to try the GPUs with: the first task shows whether there are any");
        Ok(())
    }
}

fn described(reference: &str, found: ImageInspect) -> Result<ImageInfo, Problem> {
    let config = found.config.unwrap_or_default();
    let volumes = config.volumes.unwrap_or_default();
    if !volumes.is_empty() {
        return Err(Problem::refused(format!(
            "image {reference} declares VOLUME {}, which would be written without a limit; build it without",
            volumes.join(", ")
        )));
    }
    let id = found.id.ok_or_else(|| Problem::new(ProblemKind::Engine, format!("image {reference} has no id")))?;
    let version = config.labels.and_then(|mut labels| labels.remove(TOOLCHAIN_VERSION));
    Ok(ImageInfo { id, size: found.size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0), version })
}

/// Adds what to do to the engine's error about a missing GPU driver.
pub fn no_gpu(gpus: &Gpus, problem: Problem) -> Problem {
    if !problem.text.contains("device driver") {
        return problem;
    }
    Problem::refused(format!(
        "the engine gives no GPU for `--gpus {gpus}` ({}): install the driver and NVIDIA's container toolkit and restart the \
         engine, or take `--gpus none` (`broker.gpus` in caisson.toml)",
        problem.text
    ))
}

/// Names the image in a refusal to look into it.
fn unseen(reference: &str, problem: Problem) -> Problem {
    match problem.kind {
        ProblemKind::Refused => Problem::refused(format!(
            "image {reference} cannot be looked into for git and sh, which a container needs: {}",
            problem.text
        )),
        _ => problem,
    }
}

fn judge(reference: &str, said: &str) -> Result<(), Problem> {
    let mut lines: Vec<&str> = said.split_whitespace().collect();
    if lines.pop() != Some("looked") {
        return Err(Problem::refused(format!("image {reference} has no usable /bin/sh, which a container needs")));
    }
    if lines.is_empty() {
        return Ok(());
    }
    Err(Problem::refused(format!(
        "image {reference} lacks {}, which a container needs; install it there",
        lines.join(", ")
    )))
}

fn unlisted(reference: &str, listed: &[String]) -> Problem {
    let listed = if listed.is_empty() { "none".to_owned() } else { listed.join(", ") };
    Problem::refused(format!(
        "image {reference:?} is not on the operator's list ({listed}); add it where the broker is started"
    ))
}

fn missing(reference: &str) -> Problem {
    Problem::new(
        ProblemKind::NotFound,
        format!("the engine has no image {reference}; build or load it (`make images`), the broker never pulls"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_refused_by_what_it_lacks() {
        assert_eq!(judge("a:b", "looked\n"), Ok(()));
        assert!(judge("a:b", "git\nlooked\n").unwrap_err().text.contains("a:b lacks git"));
        assert!(judge("a:b", "").unwrap_err().text.contains("/bin/sh"));
        assert!(judge("a:b", "exec format error").is_err());
    }
}
