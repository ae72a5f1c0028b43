//! Which pictures a conversation shows, and the text that replaces the others.
//!
//! Owns: the limits of one conversation and the text around a picture. A picture is as untrusted as foreign text: it follows a sentence of
//! ours that says so, with its name in a fence. Must not: handle bytes, which are inserted just before a request is sent. Tests:
//! `pictures_tests.rs`.

use domain::Picture;
use minijinja::context;

use super::Replay;
use crate::engine::fence::{Fence, Trust};
use crate::engine::prompt;
use crate::llm::{Counting, ShownPicture, Turn};

/// The most pictures of one request: with more than 20, Anthropic limits their size.
const MOST: usize = 16;
/// The most bytes of all pictures: encoded as base64 they stay below Gemini's 20 MB per request.
const MOST_BYTES: u64 = 12 << 20;

/// How a model takes pictures.
#[derive(Debug, Clone, Copy)]
pub struct Vision {
    /// How their tokens are counted.
    pub counting: Counting,
    /// The most tokens of all pictures of the issue together, and of each picture that the agent reads.
    pub most_tokens: u64,
}

/// The pictures shown so far.
#[derive(Debug, Default)]
pub(super) struct ShownPictures<'a> {
    /// Pictures of the issue, with which every conversation of this task begins.
    of_issue: &'a [Picture],
    /// Whether they are shown with the next text.
    awaited: bool,
    /// Pictures in results of the open answer.
    read: Vec<ShownPicture>,
    count: usize,
    bytes: u64,
}

impl<'a> ShownPictures<'a> {
    pub(super) fn add_of_issue(&mut self, pictures: &'a [Picture]) {
        self.of_issue = pictures;
        self.awaited = !pictures.is_empty();
    }

    /// The conversation is restarted, or its older turns are replaced by a summary.
    pub(super) fn anew(&mut self) {
        *self = Self { of_issue: self.of_issue, awaited: !self.of_issue.is_empty(), ..Self::default() };
    }

    /// The turns so far are not sent.
    pub(super) fn untold(&mut self) {
        self.awaited = false;
        self.read.clear();
    }

    /// Adds a picture; the error says why it is not shown.
    fn take(&mut self, picture: &Picture, vision: Option<Vision>, spent: u64) -> Result<u64, &'static str> {
        let vision = vision.ok_or("this model is shown no pictures")?;
        let tokens = vision.counting.tokens(picture.width, picture.height);
        if !vision.counting.takes(&picture.media) {
            return Err("this model takes no pictures of this form");
        }
        if spent + tokens > vision.most_tokens {
            return Err("it is too large for this model");
        }
        if self.count >= MOST || self.bytes + picture.bytes > MOST_BYTES {
            return Err("too many pictures are shown already");
        }
        self.count += 1;
        self.bytes += picture.bytes;
        Ok(tokens)
    }
}

impl Replay<'_> {
    /// Adds a result's picture, to be shown after the results; returns a note for the result's text. `old`: whether the result is
    /// shortened.
    pub(super) fn pictured(&mut self, picture: &Picture, old: bool) -> String {
        let taken = if old {
            Err("it was shown here before; read it again to see it")
        } else {
            self.shown_pictures.take(picture, self.vision, 0)
        };
        match taken {
            Ok(tokens) => {
                let number = self.shown_pictures.count;
                self.shown_pictures.read.push(shown(self.fence, picture, number, tokens));
                format!("\nNote: the picture follows as picture {number}.")
            }
            Err(why) => format!("\nNote: the picture is not shown: {why}."),
        }
    }

    /// Shows the pictures of the results that were just sent.
    pub(super) fn show_read(&mut self) {
        let read = std::mem::take(&mut self.shown_pictures.read);
        if !read.is_empty() {
            self.turns.push(Turn::Pictures(read));
        }
    }

    /// Shows the issue's pictures with the text, and names those that are not shown.
    pub(super) fn show_of_issue(&mut self) {
        if !std::mem::take(&mut self.shown_pictures.awaited) {
            return;
        }
        let (mut seen, mut unseen, mut spent) = (Vec::new(), Vec::new(), 0);
        for picture in self.shown_pictures.of_issue {
            match self.shown_pictures.take(picture, self.vision, spent) {
                Ok(tokens) => {
                    spent += tokens;
                    seen.push(shown(self.fence, picture, self.shown_pictures.count, tokens));
                }
                Err(why) => unseen.push(format!("{} ({why})", described(picture))),
            }
        }
        if !unseen.is_empty() {
            let names = self.fence.wrap("pictures of the issue that are not shown", Trust::None, &unseen.join("\n"));
            self.notes.push(prompt::render("unseen", context! { names }));
        }
        self.shown_pictures.read.extend(seen);
    }
}

fn shown(fence: &Fence, picture: &Picture, number: usize, tokens: u64) -> ShownPicture {
    let name = fence.wrap(&format!("picture {number}"), Trust::None, &described(picture));
    let label = prompt::render("picture", context! { number, name });
    ShownPicture { label, digest: picture.digest.clone(), media: picture.media.clone(), tokens, data: None }
}

fn described(picture: &Picture) -> String {
    format!("{}: {}, {}\u{d7}{} pixels", picture.name, picture.media, picture.width, picture.height)
}

#[cfg(test)]
#[path = "pictures_tests.rs"]
mod tests;
