//! `pnpm-lock.yaml`, in the versions 5, 6 and 9.
//!
//! Owns how a key of `packages` names a package: `/name/1.2.3_peer` in the fifth, `/name@1.2.3(peer@1)` in the sixth, `name@1.2.3` in the ninth. It is no
//! reader of YAML: lines are looked at one by one, as far in as pnpm writes them. What comes from an address, a folder or a file, or from another registry,
//! is left out. Tests: below.

/// The registry that a key may name, of which the others are.
const REGISTRY: &str = "registry.npmjs.org";

pub(super) fn lock(text: &str) -> Result<Vec<(String, String)>, String> {
    let (mut keys, mut version, mut within) = (Vec::new(), None, false);
    for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix("  ") {
            Some(below) if within => keys.extend(key(below)),
            Some(_) => {}
            None => {
                within = line == "packages:";
                version = version.or_else(|| line.strip_prefix("lockfileVersion:").and_then(major));
            }
        }
    }
    let version = version.ok_or_else(|| "it is no lock file of pnpm".to_owned())?;
    let read = if version < 6 { with_slash } else { with_at };
    // `registry.example/name/1.2.3`, and no local folder or archive.
    let of_another = |key: &&str| {
        let (host, rest) = key.split_once('/').unwrap_or_default();
        let version = rest.split(['_', '(']).next().unwrap_or_default().rsplit(['/', '@']).next().unwrap_or_default();
        host.contains(['.', '+']) && !host.contains([':', '@']) && version.contains('.') && is_version(version)
    };
    let others = keys.iter().filter(|key| !key.starts_with(REGISTRY)).filter(|key| of_another(key)).count();
    let packages = keys.into_iter().filter_map(|key| read(key.strip_prefix(REGISTRY).unwrap_or(key)));
    let packages: Vec<_> = packages.map(|(name, version)| (name.to_owned(), version.to_owned())).collect();
    match packages.is_empty() && others > 0 {
        true => Err(format!("its {others} packages are of another registry")),
        false => Ok(packages),
    }
}

/// The first number of `5.4`, `'6.0'` or `5.4-inlineSpecifiers`.
fn major(text: &str) -> Option<u32> {
    let text = text.trim().trim_matches(['\'', '"']);
    text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The key of an entry; none on a line that lies deeper. A long one stands behind a question mark, alone.
fn key(line: &str) -> Option<&str> {
    let key = match line.strip_prefix("? ") {
        Some(alone) => alone,
        None => line.strip_suffix(':').or_else(|| line.split_once(": ").map(|(key, _)| key))?,
    };
    (!key.starts_with(' ')).then(|| key.trim_matches(['\'', '"']))
}

/// `/name/1.2.3_peer@1`, `/@scope/name/1.2.3/peer@1`.
fn with_slash(key: &str) -> Option<(&str, &str)> {
    let key = key.strip_prefix('/')?;
    let scope = if key.starts_with('@') { key.find('/')? + 1 } else { 0 };
    let end = scope + key[scope..].find('/')?;
    let version = key[end + 1..].split(['_', '/']).next().unwrap_or_default();
    is_version(version).then_some((&key[..end], version))
}

/// `/name@1.2.3(peer@1)`, `@scope/name@1.2.3`.
fn with_at(key: &str) -> Option<(&str, &str)> {
    let key = key.strip_prefix('/').unwrap_or(key).split('(').next().unwrap_or_default();
    let at = key.get(1..)?.find('@')? + 1;
    let (name, version) = (&key[..at], &key[at + 1..]);
    let is_name = !name.contains(':') && name.matches('/').count() == usize::from(name.starts_with('@'));
    (is_name && is_version(version)).then_some((name, version))
}

/// Whether it is a version: no address, and no path.
fn is_version(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains([':', '/'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<String> {
        lock(text).unwrap().into_iter().map(|(name, version)| format!("{name} {version}")).collect()
    }

    #[test]
    fn keys_of_version_5_are_read() {
        let text = r"lockfileVersion: 5.4

specifiers:
  express: ^4.18.0

dependencies:
  express: 4.18.2
  own: link:../own

packages:

  /@babel/core/7.20.12_supports-color@8.1.1:
    resolution: {integrity: sha512-XsMfHovsUYHFMdrIHkZphTN/2Hzzi78R08NuHfDBehym2VsPDL6Zn/JAD/JQdnRvbSsbQc4mVaU1m6JgtTEElg==}
    engines: {node: '>=6.9.0'}
    dependencies:
      '@ampproject/remapping': 2.2.0
    dev: true

  /express/4.18.2:
    resolution: {integrity: sha512-5/PsL6iGPdfQ/lKM1UuielYgv3BUoJfz1aUwU9vHZ+J7gyvwdQXFEBIEIaxeGf0GIcreATNyBExtalisDbuMqQ==}

  /old/1.0.0/peer@2.0.0:
    resolution: {integrity: sha1-1}

  registry.npmjs.org/@foo/bar/1.1.0:
  example.com/foo/1.2.0:
  github.com/kevva/is-positive/97edff6f525f192a3f83cea1944765f769ae2678:
    name: is-positive
    version: 3.1.0
  file:projects/package-a.tgz:
    version: 0.0.0
  /foo/bar:

overrides:
  /no/1.0.0: 2.0.0
";
        assert_eq!(pairs(text), ["@babel/core 7.20.12", "express 4.18.2", "old 1.0.0", "@foo/bar 1.1.0"]);
        assert_eq!(pairs(&text.replace("5.4", "5.4-inlineSpecifiers")).len(), 4);
    }

    #[test]
    fn keys_of_version_6_are_read() {
        let text = r"lockfileVersion: '6.0'

settings:
  autoInstallPeers: true

packages:

  /@babel/core@7.22.5:
    resolution: {integrity: sha512-SBuTAjg91A3eKOvD+bPEz3LlhHZRNu1nFOVts9lzDJTXshHTjII0BAtDS3Y2DAkdZdDKWVZGVwkDfc4Clxn1dg==}
    dependencies:
      '@babel/types': 7.22.5

  /react-dom@18.2.0(react@18.2.0):
    peerDependencies:
      react: ^18.2.0

  ? /@scope/long@1.0.0-rc.1(@types/node@20.0.0)(react@18.2.0(a@1.0.0))
  : resolution: {integrity: sha512-x}
    dependencies:
      react: 18.2.0

  github.com/a/b/02fa893d619d3da85411acc8fd4e2eea0e95a9d9:
    name: b
    version: 6.0.1
  file:packages/own(react@18.2.0):
    version: 1.0.0
";
        assert_eq!(pairs(text), ["@babel/core 7.22.5", "react-dom 18.2.0", "@scope/long 1.0.0-rc.1"]);
        assert_eq!(pairs(&text.replace('\n', "\r\n")).len(), 3);
    }

    #[test]
    fn keys_of_version_9_are_read_and_snapshots_are_not() {
        let text = r"---
lockfileVersion: '9.0'

importers:

  .:
    dependencies:
      typescript:
        specifier: ^4.0.0
        version: 4.9.5

packages:

  '@eslint/eslintrc@2.1.4':
    resolution: {integrity: sha512-269Z39MS6wVJtsoUl10L60WdkhJVdPG24Q4eZTH3nnF6lpvSShEK3wQjDX9JRWAUPvPh7COouPpU9IrqaZFvtQ==}
    engines: {node: ^12.22.0 || ^14.17.0 || >=16.0.0}

  ansi-regex@https://codeload.github.com/chalk/ansi-regex/tar.gz/02fa893d619d3da85411acc8fd4e2eea0e95a9d9:
    resolution: {tarball: https://codeload.github.com/chalk/ansi-regex/tar.gz/02fa893d619d3da85411acc8fd4e2eea0e95a9d9}
    version: 6.0.1

  has-flag@4.0.0: {}

  own@file:../own:
    resolution: {directory: ../own, type: directory}
  linked@link:../linked:

snapshots:

  tsutils@3.21.0(typescript@4.9.5):
    dependencies:
      typescript: 4.9.5
";
        assert_eq!(pairs(text), ["@eslint/eslintrc 2.1.4", "has-flag 4.0.0"]);
    }

    #[test]
    fn what_is_no_lock_file_is_said() {
        let mirrored =
            "lockfileVersion: 5.4\npackages:\n  registry.example.org/a/1.0.0:\n  registry.example.org/b/1.0.0:\n";
        assert_eq!(lock(mirrored), Err("its 2 packages are of another registry".to_owned()));
        for text in ["", "{", "packages:\n\n  a@1.0.0:\n", "lockfileVersion: new\n"] {
            assert!(lock(text).is_err(), "{text}");
        }
        assert_eq!(lock("lockfileVersion: '9.0'\npackages:\n  é:\n  '@':\n  @:\n  a@:\n"), Ok(Vec::new()));
        assert_eq!(lock("lockfileVersion: 5.4\npackages:\n  /:\n  /@a:\n  /@a/b:\n  /a/:\n"), Ok(Vec::new()));
    }
}
