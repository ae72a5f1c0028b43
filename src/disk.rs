//! How much of a disk is free.

use std::io;
use std::path::Path;

/// Bytes that are free, for other users than root, on the file system of this path.
///
/// # Errors
/// When the path does not exist or cannot be looked at.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let disk = nix::sys::statvfs::statvfs(path)?;
    Ok(disk.blocks_available().saturating_mul(disk.fragment_size()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_measured_and_a_missing_path_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert!(free_bytes(dir.path()).unwrap() > 0);
        assert_eq!(free_bytes(&dir.path().join("gone")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
