//! Changes to `caisson.toml` that keep everything a person wrote in it, and the first file of an installation.
//! Tests: `tests.rs`, and below.

use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item, Table, Value, value};

/// Why the file could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file could not be read, or its replacement not written.
    #[error("{path}: {source}; check that the folder exists and is yours")]
    Io {
        /// The configuration file.
        path: PathBuf,
        /// What failed.
        source: io::Error,
    },
    /// The file is no TOML, or a key is no table where one is needed.
    #[error("{path}: this is no TOML: {why}; repair it first")]
    Toml {
        /// The configuration file.
        path: PathBuf,
        /// What is wrong, for a person to read.
        why: String,
    },
    /// A first configuration was to be written where there is a file.
    #[error("{path}: there is already a configuration; use it, or name another file with --config")]
    Exists {
        /// The file that is there.
        path: PathBuf,
    },
}

/// What `caisson setup` knows when it writes the first file. Paths may be relative to the file's folder.
#[derive(Clone, Debug, Default)]
pub struct Fresh {
    /// `forge.url`; empty = not set, as for the others.
    pub forge_url: String,
    /// `forge.public_url`.
    pub public_url: String,
    /// `forge.bot_url`.
    pub bot_url: String,
    /// `forge.token_file`.
    pub token_file: String,
    /// `forge.sync_token_file`.
    pub sync_token_file: String,
}

/// The text of a first configuration: what setup knows, and where the rest is explained.
pub fn fresh(from: &Fresh) -> String {
    let quoted = |text: &str| Value::from(text).to_string().trim().to_owned();
    format!(
        "# Caisson. Every key with its meaning and its default: `caisson config --defaults`.\n\
         # Check this file with `caisson doctor`.\n\n\
         [forge]\nurl = {}\npublic_url = {}\nbot_url = {}\ntoken_file = {}\nsync_token_file = {}\n\n\
         # Which model works, and the file with its key.\n\
         [model]\nkind = \"anthropic\"\nname = \"\"\nkey_file = \"\"\n",
        quoted(&from.forge_url),
        quoted(&from.public_url),
        quoted(&from.bot_url),
        quoted(&from.token_file),
        quoted(&from.sync_token_file),
    )
}

/// Writes a first configuration, mode 0600. Refuses to replace one.
pub fn write_fresh(path: &Path, from: &Fresh) -> Result<(), WriteError> {
    if path.exists() {
        return Err(WriteError::Exists { path: path.to_owned() });
    }
    replace(path, &fresh(from))
}

/// Takes a repository's entry out. Tables of the operator's own in it stay, the models that she lists and what she lets be merged, with the key; everything else stays as it was written. False when there
/// is no such entry.
pub fn take_out_repository(path: &Path, key: &str) -> Result<bool, WriteError> {
    let _lock = alone(path);
    let mut document = read(path)?;
    let Some(entry) = document.get_mut("repositories") else { return Ok(false) };
    let Some(tables) = entry.as_array_of_tables_mut() else {
        let why = "`repositories` is not written as [[repositories]]".to_owned();
        return Err(WriteError::Toml { path: path.to_owned(), why });
    };
    let same = |table: &Table| table.get("key").and_then(Item::as_str) == Some(key);
    let Some(at) = tables.iter().position(same) else { return Ok(false) };
    let stays = |name: &str, item: &Item| matches!(name, "models" | "merge") || item.is_table_like();
    if let Some(table) = tables.get_mut(at).filter(|table| table.iter().any(|(name, item)| stays(name, item))) {
        table.retain(|name, item| name == "key" || stays(name, item));
    } else {
        tables.remove(at);
    }
    replace(path, &document.to_string())?;
    Ok(true)
}

/// Sets one key, such as `model.name`. The tables on the way are made where they are missing.
pub fn set(path: &Path, key: &str, new: impl Into<Value>) -> Result<(), WriteError> {
    let _lock = alone(path);
    let mut document = read(path)?;
    let (tables, last) = key.rsplit_once('.').map_or((Vec::new(), key), |(t, last)| (t.split('.').collect(), last));
    let mut table = document.as_table_mut();
    for name in tables {
        let item = table.entry(name).or_insert_with(|| Item::Table(Table::new()));
        let Some(inner) = item.as_table_mut() else {
            return Err(WriteError::Toml { path: path.to_owned(), why: format!("`{name}` is not a table") });
        };
        table = inner;
    }
    put(table, last, new.into());
    replace(path, &document.to_string())
}

/// Takes whole tables of another configuration over, in place of those that are there. Relative paths under `paths` go on meaning the
/// same file. A table that the other one does not have stays as it is.
pub fn carry_over(from: &Path, to: &Path, tables: &[&str], paths: &[&str]) -> Result<(), WriteError> {
    let _lock = alone(to);
    let (source, mut document) = (read(from)?, read(to)?);
    let folder = std::path::absolute(from).ok().and_then(|file| file.parent().map(Path::to_owned)).unwrap_or_default();
    for name in tables {
        let Some(item) = source.get(name) else { continue };
        let mut item = item.clone();
        let each: Vec<&mut Table> = match &mut item {
            Item::Table(table) => vec![table],
            Item::ArrayOfTables(tables) => tables.iter_mut().collect(),
            Item::None | Item::Value(_) => Vec::new(),
        };
        for table in each {
            // Where it stood in the other file means nothing here.
            table.set_position(None);
            for key in paths {
                let named = table.get(key).and_then(Item::as_str).filter(|text| !text.is_empty());
                if let Some(path) = named.map(|text| folder.join(text).display().to_string()) {
                    put(table, key, path.into());
                }
            }
        }
        document.insert(name, item);
    }
    replace(to, &document.to_string())
}

/// Offers an image as a toolchain, under a name that may hold any sign.
pub fn put_toolchain(path: &Path, name: &str, image: &str) -> Result<(), WriteError> {
    let _lock = alone(path);
    let mut document = read(path)?;
    let mut table = document.as_table_mut();
    for name in ["sandbox", "toolchains"] {
        let item = table.entry(name).or_insert_with(|| {
            let mut made = Table::new();
            // No header of its own where it only holds the next one.
            made.set_implicit(true);
            Item::Table(made)
        });
        let Some(inner) = item.as_table_mut() else {
            return Err(WriteError::Toml {
                path: path.to_owned(),
                why: format!("`{name}` is not written as a table of its own"),
            });
        };
        table = inner;
    }
    put(table, name, image.into());
    replace(path, &document.to_string())
}

/// Replaces the value and keeps the comment behind it.
fn put(table: &mut Table, key: &str, mut new: Value) {
    if let Some(old) = table.get_mut(key).and_then(Item::as_value_mut) {
        *new.decor_mut() = old.decor().clone();
        *old = new;
    } else {
        table.insert(key, value(new));
    }
}

fn read(path: &Path) -> Result<DocumentMut, WriteError> {
    let text = fs::read_to_string(path).map_err(|source| WriteError::Io { path: path.to_owned(), source })?;
    text.parse()
        .map_err(|why: toml_edit::TomlError| WriteError::Toml { path: path.to_owned(), why: why.message().to_owned() })
}

/// Lets one change after the other be made to the files of a folder, until it is dropped. Best effort: not every file system locks a folder.
fn alone(path: &Path) -> Option<Flock<File>> {
    let target = target_of(path);
    let folder = File::open(target.parent()?).ok()?;
    Flock::lock(folder, FlockArg::LockExclusive).ok()
}

/// The file itself where the path is a link to it, as an absolute path.
fn target_of(path: &Path) -> PathBuf {
    fs::canonicalize(path).or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// Writes beside the file, then renames: a cut leaves the old one whole. Owner and mode stay; a new file has mode 0600.
fn replace(path: &Path, text: &str) -> Result<(), WriteError> {
    put_in_place(&target_of(path), text).map_err(|source| WriteError::Io { path: path.to_owned(), source })
}

fn put_in_place(target: &Path, text: &str) -> io::Result<()> {
    let folder = target.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::Builder::new().prefix(".caisson.toml.").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    if let Ok(old) = fs::metadata(target) {
        let new = file.as_file().metadata()?;
        if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
            fchown(file.as_file(), Some(old.uid()), Some(old.gid()))?;
        }
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(target).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    #[test]
    fn a_change_keeps_owner_mode_and_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("real.toml"), folder.path().join("caisson.toml"));
        fs::write(&file, "max_tasks = 2\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        // Only root can give a file away.
        let given = chown(&file, Some(65_534), Some(65_534)).is_ok();
        symlink("real.toml", &link).unwrap();
        set(&link, "max_tasks", 3).unwrap();
        let now = fs::metadata(&file).unwrap();
        assert_eq!(now.permissions().mode() & 0o777, 0o640);
        assert!(!given || (now.uid(), now.gid()) == (65_534, 65_534));
        assert_eq!(fs::read_to_string(&file).unwrap(), "max_tasks = 3\n");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left beside it");
    }

    #[test]
    fn changes_at_the_same_time_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("caisson.toml");
        fs::write(&file, "").unwrap();
        let names: Vec<String> = (0..16).map(|at| format!("name{at}")).collect();
        std::thread::scope(|scope| {
            for name in &names {
                let file = &file;
                scope.spawn(move || put_toolchain(file, name, "image").unwrap());
            }
        });
        let text = fs::read_to_string(&file).unwrap();
        assert!(names.iter().all(|name| text.contains(&format!("{name} = "))), "{text}");
    }
}
