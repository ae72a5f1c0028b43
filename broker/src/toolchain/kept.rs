//! Selects the files of a toolchain on this machine that go into an image: world-readable ones that are no configuration.
//!
//! Must not open a file. An image is readable to every sandbox, while a toolchain's prefix may also hold registries' credentials,
//! environments and private packages. Tests: below.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Names of files with credentials, wherever they are.
const SECRET: [&str; 7] = ["pip.conf", ".condarc", "condarc", ".npmrc", "npmrc", ".netrc", ".git"];

/// Entries at the top of a toolchain with configuration, or with data of other projects.
const NOT_ITS_OWN: [&str; 5] = ["etc", "envs", "pkgs", "conda-meta", "condarc.d"];

/// Packages that belong to a Python installation.
const PACKAGES: [&str; 3] = ["pip", "setuptools", "wheel"];

/// Paths of the selected files, relative to `dir`, below these parts of it, each terminated by a zero byte and after its parents. `follow`:
/// links are replaced by their targets.
pub fn list(dir: &Path, parts: &[&str], follow: bool) -> Vec<u8> {
    let mut walk = Walk { dir, follow, above: Vec::new(), list: Vec::new() };
    for part in parts {
        let part = if *part == "." { "" } else { part };
        walk.take(Path::new(part));
    }
    walk.list
}

struct Walk<'a> {
    dir: &'a Path,
    follow: bool,
    /// The directories above, resolved, so that a link to one of them is not followed.
    above: Vec<PathBuf>,
    list: Vec<u8>,
}

impl Walk<'_> {
    fn take(&mut self, path: &Path) {
        let full = self.dir.join(path);
        let Ok(met) = full.symlink_metadata() else { return };
        if left_out(path) {
            return;
        }
        if met.is_symlink() && !self.follow {
            return self.write(path);
        }
        let Ok(real) = full.canonicalize() else { return };
        let Ok(met) = real.metadata() else { return };
        let named = real.strip_prefix(self.dir).unwrap_or(&real).ancestors().any(left_out);
        if named || !is_readable(&met) || !self.is_reachable(&real) {
            return;
        }
        if met.is_file() {
            self.write(path);
        } else if met.is_dir() && !self.above.contains(&real) {
            self.write(path);
            self.above.push(real);
            self.children(path);
            self.above.pop();
        }
    }

    fn children(&mut self, path: &Path) {
        let entries = std::fs::read_dir(self.dir.join(path)).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        for name in names {
            self.take(&path.join(name));
        }
    }

    /// Whether everybody may traverse to a path, from the top of the toolchain or, outside of it, from the root.
    fn is_reachable(&self, real: &Path) -> bool {
        let mut above = real.ancestors().skip(1).take_while(|it| *it != self.dir);
        real == self.dir || above.all(|it| it.metadata().is_ok_and(|met| met.permissions().mode() & 0o1 != 0))
    }

    fn write(&mut self, path: &Path) {
        if path != Path::new("") {
            self.list.extend_from_slice(path.as_os_str().as_bytes());
            self.list.push(0);
        }
    }
}

/// Whether everybody may read it, and for a directory also enter it.
fn is_readable(met: &Metadata) -> bool {
    let needed = if met.is_dir() { 0o5 } else { 0o4 };
    met.permissions().mode() & needed == needed
}

fn left_out(path: &Path) -> bool {
    let Some(name) = path.file_name().map(OsStr::to_string_lossy) else { return false };
    let parent = path.parent().unwrap_or(Path::new(""));
    let above = parent.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    if SECRET.contains(&&*name)
        || name.ends_with(".password")
        || (parent == Path::new("") && NOT_ITS_OWN.contains(&&*name))
    {
        return true;
    }
    match &*above {
        "site-packages" | "dist-packages" => !is_pythons_own(&name),
        // Files that no program needs.
        "share" => ["doc", "man"].contains(&&*name),
        "lib" => name == "src.zip",
        python if python.starts_with("python") && parent.parent().is_some_and(|it| it.ends_with("lib")) => {
            name == "test"
        }
        _ => false,
    }
}

fn is_pythons_own(name: &str) -> bool {
    let whole = ["_distutils_hack", "distutils-precedence.pth", "pkg_resources"];
    let version = |rest: &str| rest.starts_with('-') && (rest.ends_with(".dist-info") || rest.ends_with(".egg-info"));
    whole.contains(&name)
        || PACKAGES.iter().any(|it| name.strip_prefix(it).is_some_and(|rest| rest.is_empty() || version(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn made(dir: &Path, part: &str, mode: u32) {
        let path = dir.join(part);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    }

    fn names(dir: &Path, follow: bool) -> Vec<String> {
        let list = String::from_utf8(list(dir, &["."], follow)).unwrap();
        list.split_terminator('\0').filter(|it| !dir.join(it).is_dir()).map(str::to_owned).collect()
    }

    fn place() -> (tempfile::TempDir, PathBuf) {
        let held = tempfile::tempdir().unwrap();
        std::fs::set_permissions(held.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let dir = held.path().canonicalize().unwrap().join("prefix");
        std::fs::create_dir(&dir).unwrap();
        (held, dir)
    }

    #[test]
    fn credentials_environments_and_private_packages_stay_here() {
        let (_held, dir) = place();
        let packages = "lib/python3.11/site-packages";
        let kept =
            ["pip/main.py", "pip-23.1.dist-info/RECORD", "setuptools/a.py", "_distutils_hack/a.py", "wheel/a.py"];
        let kept = kept.map(|it| format!("{packages}/{it}"));
        let gone = ["pipeline/a.py", "ours/a.py", "ours-1.dist-info/direct_url.json", "ours.pth", "pip_ours.py"];
        let gone = gone.map(|it| format!("{packages}/{it}"));
        let secret = [
            "pip.conf",
            ".condarc",
            "etc/x",
            "envs/a/x",
            "pkgs/x",
            "lib/a/.npmrc",
            "lib/b/npmrc",
            "lib/.netrc",
            "lib/management/jmxremote.password",
            "share/doc/x",
            "lib/python3.11/test/x",
            "conda-meta/history",
        ];
        for part in kept.iter().chain(&gone).map(String::as_str).chain(secret) {
            made(&dir, part, 0o644);
        }
        made(&dir, "bin/python3", 0o755);
        made(&dir, "lib/python3.11/os.py", 0o644);
        let mut expected = kept.to_vec();
        expected.extend(["bin/python3".to_owned(), "lib/python3.11/os.py".to_owned()]);
        expected.sort_unstable();
        let mut found = names(&dir, false);
        found.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_toolchain_in_a_closed_home_is_copied() {
        let (held, dir) = place();
        made(&dir, "bin/go", 0o755);
        std::fs::set_permissions(held.path(), PermissionsExt::from_mode(0o700)).unwrap();
        assert_eq!((names(&dir, true), names(&dir, false)), (vec!["bin/go".to_owned()], vec!["bin/go".to_owned()]));
    }

    #[test]
    fn what_only_its_owner_may_read_stays_here_also_behind_a_link() {
        let (held, dir) = place();
        made(&dir, "open", 0o644);
        made(&dir, "shut", 0o600);
        made(&dir, "group", 0o640);
        made(&dir, "closed/in", 0o644);
        made(&dir, "etc/open", 0o644);
        std::fs::set_permissions(dir.join("closed"), PermissionsExt::from_mode(0o750)).unwrap();
        let outside = held.path().canonicalize().unwrap();
        made(&outside, "beside/open", 0o644);
        made(&outside, "own/open", 0o644);
        std::fs::set_permissions(outside.join("own"), PermissionsExt::from_mode(0o700)).unwrap();
        for (link, to) in [
            ("a", "../beside/open"),
            ("b", "../own/open"),
            ("c", "shut"),
            ("d", "closed/in"),
            ("e", "etc/open"),
            ("round", "."),
        ] {
            symlink(to, dir.join(link)).unwrap();
        }
        assert_eq!(names(&dir, true), ["a", "open"]);
        assert_eq!(names(&dir, false), ["a", "b", "c", "d", "e", "open"], "links are copied as links");
    }
}
