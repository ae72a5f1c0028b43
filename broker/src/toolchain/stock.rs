//! Lists our images on the engine, and removes those that are no longer needed. Tests: below and `tests/docker/toolchains.rs`.

use std::collections::{HashMap, HashSet};

use bollard::models::ImageSummary;
use bollard::query_parameters::{ListContainersOptionsBuilder, ListImagesOptionsBuilder, RemoveImageOptionsBuilder};
use protocol::broker::{Problem, TOOLCHAIN_VERSION};

use super::profile::{Profile, REPOSITORY, profiles};
use super::{CONTENT, FROM, IMAGE, Toolchains};
use crate::engine::docker::{Missing, is_conflict, is_gone, problem};

/// One image that was made here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The engine's id of the image, `sha256:…`.
    pub id: String,
    /// The reference that it got when it was made.
    pub made_as: String,
    /// References that it has now.
    pub tags: Vec<String>,
    /// Size in bytes.
    pub size: u64,
    /// Unix seconds of its creation.
    pub made: i64,
    /// Containers made from it, of any installation, running or not.
    pub containers: usize,
    /// Version that its toolchain printed.
    pub version: Option<String>,
    /// Source of its toolchain; `None` = Debian's packages.
    pub from: Option<String>,
    /// Hash of its content.
    content: String,
}

/// All of our images on the engine.
#[derive(Clone, Debug, Default)]
pub struct StoredImages {
    /// The images, newest first.
    pub images: Vec<Image>,
    /// Id of the image that a build would start from; none if it is missing, and then no image counts as outdated.
    pub base: Option<String>,
}

/// Result of pruning one image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pruned {
    /// Nothing needed the image, and the engine removed it.
    Removed {
        /// Reference the image had when it was made.
        made_as: String,
        /// The engine's id of the image, `sha256:…`.
        id: String,
        /// Size of the image in bytes.
        size: u64,
    },
    /// Something still needs the image, and it stays.
    Kept {
        /// Reference the image had when it was made.
        made_as: String,
        /// The engine's id of the image, `sha256:…`.
        id: String,
        /// Why it was kept, for a person.
        because: String,
    },
}

impl StoredImages {
    /// The present image of a profile.
    pub fn of(&self, profile: Profile) -> Option<&Image> {
        let tag = profile.tag();
        self.images.iter().find(|it| it.tags.contains(&tag))
    }

    /// Whether a build of this profile would make another image; never for one from another source, which the operator chose.
    pub fn outdated(&self, profile: Profile) -> bool {
        let wanted = self.base.as_deref().map(|id| profile.content(id));
        self.of(profile)
            .filter(|image| image.from.is_none())
            .zip(wanted)
            .is_some_and(|(image, wanted)| image.content != wanted)
    }

    /// Images of one version of a toolchain, with their references.
    pub fn versioned(&self) -> impl Iterator<Item = (&str, &Image)> {
        let named = self.images.iter().flat_map(|it| it.tags.iter().map(move |tag| (tag.as_str(), it)));
        named.filter(|(tag, _)| own(tag).is_some_and(is_versioned))
    }

    /// Images that belong to no profile any more.
    pub fn left_over(&self) -> impl Iterator<Item = &Image> {
        self.images.iter().filter(|it| !it.tags.iter().any(|tag| is_current(tag)))
    }
}

impl Toolchains {
    /// Lists the images; `base` is only looked up.
    ///
    /// # Errors
    /// When the engine is unreachable.
    pub async fn stock(&self, base: Option<&str>) -> Result<StoredImages, Problem> {
        let filters = HashMap::from([("label", vec![IMAGE])]);
        let options = ListImagesOptionsBuilder::default().filters(&filters).build();
        let mut images = Vec::new();
        let using = self.using().await?;
        for found in self.docker.list_images(Some(options)).await.map_err(problem)? {
            if self.made_here(&found).await? {
                let containers = using.get(&found.id).copied().unwrap_or_default();
                images.push(described(found, containers));
            }
        }
        images.sort_by_key(|it| std::cmp::Reverse(it.made));
        let base = match base {
            Some(reference) => self.found(reference).await?.and_then(|it| it.id),
            None => None,
        };
        Ok(StoredImages { images, base })
    }

    /// Removes images of no profile, unless a container uses them or they are in `needed` (references or ids that the configuration names
    /// or a running broker holds). Images that somebody derived from ours are kept.
    ///
    /// # Errors
    /// When the engine is unreachable.
    pub async fn prune(&self, needed: &[String]) -> Result<Vec<Pruned>, Problem> {
        let mut kept = HashSet::new();
        for reference in needed {
            kept.extend(self.found(reference).await?.and_then(|it| it.id));
        }
        let stock = self.stock(None).await?;
        let mut done = Vec::new();
        for image in stock.left_over() {
            let (made_as, id) = (image.made_as.clone(), image.id.clone());
            let because = if kept.contains(&id) {
                Some("the configuration or the running broker names it".to_owned())
            } else if image.containers > 0 {
                Some(containers(image.containers))
            } else {
                self.remove(image).await?
            };
            done.push(match because {
                Some(because) => Pruned::Kept { made_as, id, because },
                None => Pruned::Removed { made_as, id, size: image.size },
            });
        }
        Ok(done)
    }

    /// `None` when it was removed, otherwise why not. Never forced, because the engine knows what depends on it.
    async fn remove(&self, image: &Image) -> Result<Option<String>, Problem> {
        let targets = if image.tags.is_empty() { vec![image.id.clone()] } else { image.tags.clone() };
        for target in targets {
            let options = RemoveImageOptionsBuilder::default().force(false).build();
            match self.docker.remove_image(&target, Some(options), None).await {
                Ok(_) => {}
                Err(error) if is_gone(&error) => {}
                Err(error) if is_conflict(&error) => return Ok(Some(problem(error).text)),
                Err(error) => return Err(problem(error)),
            }
        }
        Ok(None)
    }

    /// Number of containers of any installation, by image.
    async fn using(&self) -> Result<HashMap<String, usize>, Problem> {
        let options = ListContainersOptionsBuilder::default().all(true).build();
        let mut count = HashMap::new();
        for container in self.docker.list_containers(Some(options)).await.map_err(problem)? {
            *count.entry(container.image_id.unwrap_or_default()).or_default() += 1;
        }
        Ok(count)
    }

    /// Whether the image itself was made here: derived images inherit labels, but do not have them in their last layer.
    async fn made_here(&self, found: &ImageSummary) -> Result<bool, Problem> {
        let history = self.docker.image_history(&found.id).await.or_gone()?.unwrap_or_default();
        let wanted = format!("{CONTENT}={}", found.labels.get(CONTENT).map_or("", String::as_str));
        Ok(history
            .first()
            .is_some_and(|layer| layer.created_by.contains("LABEL") && layer.created_by.contains(&wanted)))
    }
}

fn containers(count: usize) -> String {
    match count {
        1 => "a container uses it".to_owned(),
        many => format!("{many} containers use it"),
    }
}

/// Whether a profile, compose.yaml or the router uses this reference.
fn is_current(tag: &str) -> bool {
    // A tag that somebody else gave is left alone.
    own(tag).is_none_or(|name| name == "local" || profiles().any(|it| it.name == name) || is_versioned(name))
}

fn own(tag: &str) -> Option<&str> {
    tag.strip_prefix(REPOSITORY)?.strip_prefix(':')
}

/// Whether it is a profile's name with a version.
fn is_versioned(name: &str) -> bool {
    name.split_once('-').is_some_and(|(name, _)| profiles().any(|it| it.name == name))
}

fn described(found: ImageSummary, containers: usize) -> Image {
    let label = |key: &str| found.labels.get(key).cloned().unwrap_or_default();
    Image {
        made_as: label(IMAGE),
        version: found.labels.get(TOOLCHAIN_VERSION).cloned(),
        from: found.labels.get(FROM).cloned(),
        content: label(CONTENT),
        // The engine reports an image without a name as `<none>:<none>`.
        tags: found.repo_tags.into_iter().filter(|tag| !tag.starts_with('<')).collect(),
        size: found.size.unsigned_abs(),
        made: found.created,
        id: found.id,
        containers,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolchain::profile;

    fn image(id: &str, tags: &[&str], content: &str) -> Image {
        Image {
            id: id.into(),
            made_as: "caisson-sandbox:go".into(),
            tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
            size: 1,
            made: 0,
            containers: 0,
            version: None,
            from: None,
            content: content.into(),
        }
    }

    #[test]
    fn what_no_profile_stands_for_is_left_over() {
        let images = vec![
            image("a", &["caisson-sandbox:go"], ""),
            image("b", &[], ""),
            image("c", &["caisson-sandbox:fortran"], ""),
            image("d", &["caisson-sandbox:local"], ""),
            image("e", &["mine:1"], ""),
            image("f", &["caisson-sandbox:rust-1.95"], ""),
            image("g", &["caisson-sandbox:untried-rust"], ""),
        ];
        let stock = StoredImages { images, base: None };
        assert_eq!(stock.left_over().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["b", "c", "g"]);
        assert_eq!(stock.versioned().map(|(tag, _)| tag).collect::<Vec<_>>(), ["caisson-sandbox:rust-1.95"]);
    }

    #[test]
    fn an_image_of_an_older_base_is_out_of_date() {
        let go = profile("go").unwrap();
        let stock = |content: String, base: Option<&str>| StoredImages {
            images: vec![image("a", &["caisson-sandbox:go"], &content)],
            base: base.map(str::to_owned),
        };
        assert!(!stock(go.content("sha256:1"), Some("sha256:1")).outdated(go));
        assert!(stock(go.content("sha256:1"), Some("sha256:2")).outdated(go));
        let mut brought = stock(go.content("sha256:1"), Some("sha256:2"));
        brought.images[0].from = Some("host".into());
        assert!(!brought.outdated(go), "not Debian's");
        assert!(!stock(go.content("sha256:1"), None).outdated(go), "without a base nobody can say");
        assert!(!StoredImages::default().outdated(go), "what is not there is not out of date");
    }
}
