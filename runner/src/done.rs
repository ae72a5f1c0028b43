//! The result of an operation, before its duration is added and its text is cut to the limits.

use protocol::runner::{Picture, Status};
use protocol::touched::Touched;

pub struct Done {
    pub status: Status,
    pub text: String,
    pub dropped: u64,
    pub note: Option<String>,
    /// Path of the file with the whole output.
    pub whole: Option<String>,
    /// The picture that was read.
    pub picture: Option<Picture>,
    /// What it changed in the workspace, where that was observed.
    pub touched: Option<Touched>,
}

impl Done {
    pub fn failed(reason: impl Into<String>) -> Self {
        Self::bare(Status::Failed { reason: reason.into() })
    }

    pub fn bare(status: Status) -> Self {
        Self { status, text: String::new(), dropped: 0, note: None, whole: None, picture: None, touched: None }
    }

    pub fn ok(text: String) -> Self {
        Self { text, ..Self::bare(Status::Ok) }
    }

    /// Adds a sentence to the note.
    pub fn also(self, said: impl Into<String>) -> Self {
        let said = said.into();
        let note = match self.note {
            Some(note) => format!("{note}; {said}"),
            None => said,
        };
        Self { note: Some(note), ..self }
    }

    /// Replaces the status of a command that took too much disk space, because that is what ended it.
    pub fn unless_disk(self, spent: Option<String>) -> Self {
        match spent {
            Some(what) => Self { status: Status::DiskSpent { what }, note: None, ..self },
            None => self,
        }
    }

    /// A child process prints why it failed; its output becomes the reason.
    pub fn or_reason(self) -> Self {
        match self.status {
            Status::Exited { code: crate::web::SAID_WHY } => Self { note: self.note, ..Self::failed(self.text.trim()) },
            Status::Exited { .. } | Status::Signaled { .. } => {
                Self { note: self.note, ..Self::failed("the page could not be turned into text") }
            }
            _ => self,
        }
    }
}
