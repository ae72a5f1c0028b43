//! Pictures attached to a task's issue, and those that the agent reads. The store holds their bytes; the log says which there are.
//!
//! Owns: what is accepted as a picture, how many and how large, and where the bytes come from (forge and sandbox, never another host). A
//! file's type is determined by its first bytes; nothing here decodes one. Must not: say how a model is shown it (`engine`, `llm`). Tests:
//! below, `tests/stories/pictures.rs`.

use super::configured_model::ConfiguredModels;
use super::repository::request;
use crate::engine::style::Style;
use crate::forge::{Attachment, Forge, ForgeError, RepoRef};
use crate::llm::ModelRequest;
use crate::store::Store;
use crate::text::{code, cut, one_line};
use crate::trouble::Trouble;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::{Action, Outcome, Picture, Task};
use protocol::picture::{MOST_BYTES, MOST_SIDE, recognise};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The most pictures of an issue that are stored, and the most of its files that are fetched.
const MOST: usize = 8;
const MOST_FILES: usize = 40;
/// Characters kept of a name.
const NAME: usize = 200;
/// Extensions of pictures; files with others are not fetched.
const ENDINGS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// Why a file cannot be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unfit {
    /// Not a picture of a supported format, whatever its name says.
    NoPicture,
    TooLarge,
    /// The forge refuses to hand it out.
    Kept,
    /// More than the limit.
    TooMany,
}

impl Unfit {
    fn words(self) -> String {
        match self {
            Unfit::NoPicture => "is no PNG, JPEG, GIF or WebP".to_owned(),
            Unfit::TooLarge => format!("is larger than {} MiB or {MOST_SIDE} pixels", MOST_BYTES >> 20),
            Unfit::Kept => "could not be had from the forge".to_owned(),
            Unfit::TooMany => "was one too many".to_owned(),
        }
    }
}

/// Stores pictures and puts them into requests.
pub(super) struct Pictures {
    pub store: Store,
    pub forge: Arc<dyn Forge>,
    pub models: Arc<ConfiguredModels>,
}

impl Pictures {
    /// Stores the pictures attached to the task's issue, and returns a note about them for the first review. May be repeated: the same
    /// bytes are stored once.
    pub(super) async fn of_issue(
        &self,
        task: &Task,
        at: &RepoRef,
        style: Option<Style>,
    ) -> Result<(Vec<Picture>, Option<String>), Trouble> {
        let number = request(task)?.issue;
        let (mut pictures, mut unfit) = (Vec::new(), Vec::new());
        let files = match self.forge.attachments(at, number).await {
            Ok(files) => files,
            // This forge has no such list.
            Err(ForgeError::NotFound(_)) => Vec::new(),
            Err(other) => return Err(other.into()),
        };
        for file in files.into_iter().filter(is_called_one).take(MOST_FILES) {
            match self.one_of_issue(task, &file, pictures.len()).await? {
                Ok(picture) => pictures.push(picture),
                Err(why) => unfit.push((one_line(cut(&file.name, NAME).0), why)),
            }
        }
        let seen = self.models.of(task).each().iter().all(|it| it.entry.sees());
        let sentence = sentence(pictures.len(), &unfit, seen, style);
        Ok((pictures, sentence))
    }

    async fn one_of_issue(
        &self,
        task: &Task,
        file: &Attachment,
        taken: usize,
    ) -> Result<Result<Picture, Unfit>, Trouble> {
        if taken >= MOST {
            return Ok(Err(Unfit::TooMany));
        }
        if file.size > MOST_BYTES {
            return Ok(Err(Unfit::TooLarge));
        }
        let bytes = match self.forge.attachment(file, MOST_BYTES).await {
            Ok(bytes) => bytes,
            Err(ForgeError::TooLarge(_)) => return Ok(Err(Unfit::TooLarge)),
            // A missing picture stops no task; a forge that is unavailable is tried again.
            Err(error) if self.forge.version().await.is_ok() => {
                tracing::warn!(task = task.id.0, %error, uuid = file.uuid, "a picture of the issue could not be had");
                return Ok(Err(Unfit::Kept));
            }
            Err(other) => return Err(other.into()),
        };
        self.keep(task, &file.name, bytes).await
    }

    /// Stores a picture that an action read and describes it in the outcome; without bytes the outcome says why there is none.
    pub(super) async fn keep_read(
        &self,
        task: &Task,
        action: &Action,
        bytes: Option<Vec<u8>>,
        outcome: &mut Outcome,
    ) -> Result<(), Trouble> {
        let kept = match bytes {
            Some(bytes) => self.keep(task, &action.object(), bytes).await?.map_err(Unfit::words),
            None => Err("changed while it was read".to_owned()),
        };
        match kept {
            Ok(picture) => outcome.picture = Some(Box::new(picture)),
            Err(why) => outcome.text.push_str(&format!("\n[it is not shown: it {why}]")),
        }
        Ok(())
    }

    async fn keep(&self, task: &Task, name: &str, bytes: Vec<u8>) -> Result<Result<Picture, Unfit>, Trouble> {
        let picture = match judged(name, &bytes) {
            Ok(picture) => picture,
            Err(why) => return Ok(Err(why)),
        };
        let kept = self.store.keep_file(task.id, &picture.digest, bytes).await?;
        Ok(if kept { Ok(picture) } else { Err(Unfit::TooMany) })
    }

    /// Puts the pictures' bytes into a request that is about to be sent.
    pub(super) async fn put_in(&self, task: &Task, request: &mut ModelRequest) -> Result<(), Trouble> {
        for picture in request.pictures_mut() {
            let bytes = self.store.kept_file(task.id, &picture.digest).await?;
            picture.data = bytes.map(|bytes| STANDARD.encode(bytes).into());
        }
        Ok(())
    }
}

fn is_called_one(file: &Attachment) -> bool {
    let ending = file.name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

fn judged(name: &str, bytes: &[u8]) -> Result<Picture, Unfit> {
    let seen = recognise(bytes).ok_or(Unfit::NoPicture)?;
    if bytes.len() as u64 > MOST_BYTES || seen.width.max(seen.height) > MOST_SIDE {
        return Err(Unfit::TooLarge);
    }
    Ok(Picture {
        digest: hex::encode(Sha256::digest(bytes)),
        media: seen.form.media().to_owned(),
        width: seen.width,
        height: seen.height,
        bytes: bytes.len() as u64,
        name: one_line(cut(name, NAME).0),
    })
}

/// The note for the first review. `seen`: whether all models that may answer are shown pictures.
fn sentence(count: usize, unfit: &[(String, Unfit)], seen: bool, style: Option<Style>) -> Option<String> {
    let mut out = Vec::new();
    let many = if count == 1 { "1 picture".to_owned() } else { format!("{count} pictures") };
    if count > 0 && style == Some(Style::Files) {
        let why = "its model is asked in style `files`, which shows it files alone";
        out.push(format!("The issue has {many}, and {why}: no picture was given to it."));
    } else if count > 0 && seen && style.is_none() {
        let unless = "unless its model turns out to be asked in style `files`, which shows it files alone";
        out.push(format!("It is given {many} of the issue, {unless}."));
    } else if count > 0 && seen {
        out.push(format!("It was given {many} of the issue."));
    } else if count > 0 {
        let why = "not every model that may answer is shown pictures (`vision` of its entry)";
        out.push(format!("The issue has {many}, and {why}: such a model is told their names alone."));
    }
    out.extend(
        unfit.iter().map(|(name, why)| format!("{} of the issue {} and was not shown.", code(name), why.words())),
    );
    (!out.is_empty()).then(|| out.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32) -> Vec<u8> {
        [b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".as_slice(), &width.to_be_bytes(), &480_u32.to_be_bytes()].concat()
    }

    #[test]
    fn a_file_is_what_its_bytes_say() {
        let picture = judged("a\nb.jpg", &png(640)).unwrap();
        assert_eq!((picture.media.as_str(), picture.width, picture.height), ("image/png", 640, 480));
        assert!(!picture.name.contains('\n') && picture.bytes == 24 && picture.digest.len() == 64);
        assert_eq!(judged("a.png", b"<svg/>"), Err(Unfit::NoPicture));
        assert_eq!(judged("a.png", &png(MOST_SIDE + 1)), Err(Unfit::TooLarge));
        let long = [png(640), vec![0; usize::try_from(MOST_BYTES).unwrap()]].concat();
        assert_eq!(judged("a.png", &long), Err(Unfit::TooLarge));
    }

    #[test]
    fn what_is_not_shown_is_told() {
        let tools = Some(Style::Tools);
        assert_eq!(sentence(0, &[], true, tools), None);
        assert_eq!(sentence(1, &[], true, tools).unwrap(), "It was given 1 picture of the issue.");
        let files = sentence(1, &[], true, Some(Style::Files)).unwrap();
        assert!(files.contains("style `files`") && files.ends_with("no picture was given to it."), "{files}");
        assert!(sentence(1, &[], true, None).unwrap().contains("unless its model turns out"));
        let told = sentence(2, &[("x`y.png".to_owned(), Unfit::NoPicture)], false, tools).unwrap();
        assert!(told.contains("The issue has 2 pictures, and not every model"), "{told}");
        assert!(told.contains("is no PNG, JPEG, GIF or WebP and was not shown."), "{told}");
        let called = |name: &str| is_called_one(&Attachment { uuid: "u".into(), name: name.into(), size: 1 });
        assert!(called("A.PNG") && called("a.b.webp") && !called("png") && !called("a.svg"));
    }
}
