//! Whether git would store a file's bytes unchanged: `.gitattributes` may convert line ends, an `$Id$` or an encoding.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use super::{metadata_at, opened};

/// Attributes that convert more than line ends; a macro's definition contains one of these words too.
const TURNS: [&str; 2] = ["ident", "working-tree-encoding"];
/// The most bytes of such a file that git itself reads.
const MOST: u64 = 100 << 20;

/// The `.gitattributes` of a workspace, each read once.
pub struct Attributes<'a> {
    workspace: &'a Path,
    /// Whether each directory has a `.gitattributes`.
    seen: HashMap<PathBuf, bool>,
}

impl<'a> Attributes<'a> {
    pub fn new(workspace: &'a Path) -> Self {
        Self { workspace, seen: HashMap::new() }
    }

    /// Whether any file applies to this path, so that carriage returns in it may be converted.
    ///
    /// # Errors
    /// If more than line ends may be converted.
    pub fn speak_about(&mut self, path: &Path) -> anyhow::Result<bool> {
        let mut any = false;
        for directory in path.ancestors().skip(1) {
            any |= match self.seen.get(directory) {
                Some(has) => *has,
                None => {
                    let has = self.read(directory)?;
                    self.seen.insert(directory.to_owned(), has);
                    has
                }
            };
        }
        Ok(any)
    }

    fn read(&self, directory: &Path) -> anyhow::Result<bool> {
        let path = self.workspace.join(directory).join(".gitattributes");
        let Some(found) = metadata_at(&path)? else { return Ok(false) };
        ensure!(found.is_file() && found.len() <= MOST, "{}: no file, or a large one", path.display());
        let mut text = Vec::new();
        opened(&path)?.take(MOST).read_to_end(&mut text).with_context(|| path.display().to_string())?;
        if let Some(word) = TURNS.into_iter().find(|word| text.windows(word.len()).any(|part| part == word.as_bytes()))
        {
            bail!("{} has {word}", path.display());
        }
        Ok(true)
    }
}
