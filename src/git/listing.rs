//! Parsers of git's machine-readable listings.
//!
//! Owns the grammar of `diff-tree --raw -z`, `ls-tree -z` and `cat-file --batch`. Names stay bytes; the policy refuses those that are no
//! UTF-8. Tests: below.

/// The mode of a symbolic link.
pub const LINK: &str = "120000";

/// The mode of a submodule.
pub const SUBMODULE: &str = "160000";
/// The mode of a directory.
pub const DIRECTORY: &str = "040000";

/// One line of `diff-tree --raw`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The file's mode before, as six octal digits; `000000` for an added file.
    pub old_mode: String,
    /// The file's mode now, as six octal digits; `000000` for a deletion.
    pub new_mode: String,
    /// The object's id before; zeros for an added file.
    pub old_id: String,
    /// The new object's id; zeros for a deletion.
    pub id: String,
    /// `A`, `M`, `D` or `T`.
    pub status: char,
    /// The path's bytes, as in the tree.
    pub path: Vec<u8>,
}

impl Change {
    /// Whether the path was deleted.
    pub fn deleted(&self) -> bool {
        self.status == 'D'
    }

    /// Whether it is only about a directory; one that becomes a file is listed twice, as deleted and added.
    pub fn of_directory(&self) -> bool {
        let nothing = |mode: &str| mode == DIRECTORY || mode.bytes().all(|digit| digit == b'0');
        nothing(&self.old_mode) && nothing(&self.new_mode)
    }
}

/// One entry of the whole new tree, directories included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The entry's mode, as six octal digits.
    pub mode: String,
    /// Id of the entry's object: 40 hexadecimal digits.
    pub id: String,
    /// The path's bytes, relative to the tree's root.
    pub path: Vec<u8>,
}

/// `:100644 100644 <id> <id> M\0path\0…`
pub(crate) fn parse_changes(raw: &[u8]) -> std::result::Result<Vec<Change>, String> {
    let broken = || "git's list of changed files could not be read".to_owned();
    let mut fields = raw.split(|b| *b == 0);
    let mut changes = Vec::new();
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let head = std::str::from_utf8(head).map_err(|_| broken())?;
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old_id, id, status] = words[..] else { return Err(broken()) };
        let path = fields.next().filter(|path| !path.is_empty()).ok_or_else(broken)?.to_vec();
        let status = status.chars().next().ok_or_else(broken)?;
        changes.push(Change {
            old_mode: old_mode.to_owned(),
            new_mode: new_mode.to_owned(),
            old_id: old_id.to_owned(),
            id: id.to_owned(),
            status,
            path,
        });
    }
    Ok(changes)
}

/// `100644 blob <id>\tpath\0…`
pub(crate) fn parse_entries(list: &[u8]) -> std::result::Result<Vec<Entry>, String> {
    let broken = || "git's list of the tree could not be read".to_owned();
    let mut entries = Vec::new();
    for record in list.split(|b| *b == 0).filter(|r| !r.is_empty()) {
        let tab = record.iter().position(|b| *b == b'\t').ok_or_else(broken)?;
        let head = std::str::from_utf8(&record[..tab]).map_err(|_| broken())?;
        let words: Vec<&str> = head.split(' ').collect();
        let [mode, _, id] = words[..] else { return Err(broken()) };
        entries.push(Entry { mode: mode.to_owned(), id: id.to_owned(), path: record[tab + 1..].to_vec() });
    }
    Ok(entries)
}

/// `<id> blob <size>\n<bytes>\n…`
pub(crate) fn parse_batch(mut out: &[u8]) -> std::result::Result<Vec<Vec<u8>>, String> {
    let broken = || "git's answer about the symbolic links could not be read".to_owned();
    let mut found = Vec::new();
    while !out.is_empty() {
        let end = out.iter().position(|b| *b == b'\n').ok_or_else(broken)?;
        let head = std::str::from_utf8(&out[..end]).map_err(|_| broken())?;
        let size: usize = head.rsplit(' ').next().and_then(|size| size.parse().ok()).ok_or_else(broken)?;
        let rest = &out[end + 1..];
        let body = rest.get(..size).ok_or_else(broken)?;
        found.push(body.to_vec());
        out = rest.get(size..).and_then(|rest| rest.strip_prefix(b"\n")).ok_or_else(broken)?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_are_read_to_the_byte() {
        let id = "a".repeat(40);
        let raw = format!(":000000 100644 {id} {id} A\0a b\0:100644 000000 {id} {id} D\0c\nd\0");
        let changes = parse_changes(raw.as_bytes()).unwrap();
        assert_eq!((changes.len(), changes[1].status, changes[1].path.as_slice()), (2, 'D', &b"c\nd"[..]));
        assert!(parse_changes(b":x\0").is_err() && parse_changes(b":1 2 3 4 A\0").is_err());
        let list = format!("120000 blob {id}\tx\ty\0");
        assert_eq!(parse_entries(list.as_bytes()).unwrap()[0].path, b"x\ty");
        assert_eq!(parse_batch(b"id blob 3\na\nb\nid blob 0\n\n").unwrap(), vec![b"a\nb".to_vec(), vec![]]);
        assert!(parse_batch(b"id blob 9\nabc\n").is_err() && parse_batch(b"id missing\n").is_err());
        assert!(parse_batch(format!("id blob {}\n", usize::MAX).as_bytes()).is_err(), "a size that no memory has");
    }
}
