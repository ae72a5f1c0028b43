//! Checks on this machine alone: the configuration, the state directory, modes of secrets, free space. Tests: below.

use super::report::Report;
use crate::cli::entries::{self, Entries};
use crate::cli::store::location;
use crate::config::{Process, Secret, SecretError};
use crate::disk::free_bytes;
use crate::egress;
use crate::store::{Store, StoreError};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

/// Bytes that must be free for checkpoints' packs, a growing store and a log.
const FLOOR: u64 = 2 << 30;

/// What brings a lost token of the forge back.
pub(super) const TOKEN: &str = "`caisson setup --adopt --config NEW …`, NEW another file in the same folder as the configuration, makes both tokens anew \
     where `setup` put them; then remove NEW";

/// What brings a lost secret of a hook back that a file's entry names.
const HOOK: &str = "take the repository's entry out of the configuration, then add it anew: `caisson repo add` with --on-forge, \
     or --here";

/// What helps where an entry of the store cannot be used.
const ENTRY: &str = "where mark.key is not the one that it was written with, put that back; otherwise `caisson repo add`, with --on-forge \
     or --here, writes it anew";

/// What brings a lost key of a model or password of a database back.
const YOURS: &str = "put it there again: only you have it";

/// Reads the configuration; reports each problem as a fault.
pub(super) fn configuration(report: &mut Report, file: &Path) -> Option<Process> {
    match Process::load(file) {
        Ok(config) => {
            report.good("configuration", format!("{}, installation {}", file.display(), config.installation));
            // A preset without hosts on this machine refuses no file that is loaded.
            if let Err(error) = egress::policy(&config.egress) {
                let hint = "mend the entry: with it `caisson serve` neither starts with a router nor reloads";
                report.fault("configuration", error.to_string(), hint);
            }
            Some(config)
        }
        Err(error) => {
            for line in error.to_string().lines() {
                let hint = match std::fs::read_to_string(file) {
                    Ok(_) => "mend the line; `caisson config --defaults` prints every key with its meaning",
                    Err(why) if why.kind() == ErrorKind::NotFound => "caisson setup --help",
                    Err(_) => "run doctor as the bot's user; the file has to be text in UTF-8",
                };
                report.fault("configuration", line, hint);
            }
            None
        }
    }
}

/// Checks the state directory, secrets and free space.
pub(super) fn state(report: &mut Report, config: &Process) {
    let directory = &config.state_dir;
    if !directory.exists() {
        report.note("state", format!("{} is not there yet; the first `caisson serve` makes it", directory.display()));
    } else {
        closed(report, directory);
    }
    let forge = &config.forge;
    for path in [&forge.token_file, &forge.sync_token_file].into_iter().flatten() {
        secret(report, path, TOKEN);
    }
    let keys = config.models.all().iter().map(|model| &model.key_file);
    for path in std::iter::once(&config.store.password_file).chain(keys).flatten() {
        secret(report, path, YOURS);
    }
    for path in config.in_file().flat_map(|entry| &entry.secret_files) {
        secret(report, path, HOOK);
    }
    space(report, directory);
}

/// Reads the store and its entries of repositories; creates nothing.
pub(super) async fn store(report: &mut Report, config: &Process) -> Entries {
    let hint = "look at [store] of the configuration; a server of PostgreSQL must run and let this user in";
    let location = match location(config) {
        Ok(location) => location,
        Err(error) => {
            report.fault("store", format!("{error:#}"), hint);
            return Entries::default();
        }
    };
    match Store::look(location.clone()).await {
        Ok(Some(_)) => report.good("store", location.to_string()),
        Ok(None) => report.note("store", format!("{location} is empty; the first `caisson serve` makes what it needs")),
        Err(StoreError::Shape { found, known }) => of_another_version(report, found, known),
        Err(error) => report.fault("store", error.to_string(), hint),
    }
    // Problems with the store itself were reported above.
    let entries = entries::look(config).await.unwrap_or_default();
    for (key, why) in &entries.refused {
        report.fault(&format!("repository {key}"), format!("the store's entry is refused: {why}"), ENTRY);
    }
    for own in config.in_file() {
        // An unreadable file is reported separately.
        let differs = entries.differences(own).ok().flatten().unwrap_or_default();
        if !differs.is_empty() {
            let found = format!(
                "the entry in the file counts on this host, and the store's is another one for the other hosts ({}): \
                 `caisson repo import {}` says what to do",
                differs.join(", "),
                own.key
            );
            report.note(&format!("repository {}", own.key), found);
        }
    }
    entries
}

/// A start migrates the store of an older version, and refuses that of a newer one.
fn of_another_version(report: &mut Report, found: i64, known: i64) {
    let text = StoreError::Shape { found, known }.to_string();
    match found < known {
        true => report.note("store", text),
        false => report.fault("store", text, "`caisson serve` of this version does not start with it"),
    }
}

/// Checks a secret by reading it as the bot does; `lost` brings one back that is not there.
fn secret(report: &mut Report, path: &Path, lost: &str) {
    let shown = path.display();
    match Secret::read(path) {
        Ok(_) => report.good("secrets", format!("{shown}, in order")),
        Err(error) => report.fault("secrets", error.to_string(), cure(&error, lost)),
    }
}

/// What to do about a secret that cannot be used; `lost` brings back one that is not there.
pub(super) fn cure(error: &SecretError, lost: &str) -> String {
    match error {
        SecretError::Open { right, path, .. } => format!("chmod {right} {path}"),
        SecretError::Unreadable { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
            "run doctor as the bot's user".to_owned()
        }
        _ => lost.to_owned(),
    }
}

/// Checks that only its owner, this process's user, has access to the state directory.
fn closed(report: &mut Report, path: &Path) {
    let shown = path.display();
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) => return report.fault("state", format!("{shown}: {error}"), "run doctor as the bot's user"),
    };
    let mode = found.permissions().mode() & 0o777;
    let me = nix::unistd::geteuid().as_raw();
    if mode & 0o077 != 0 {
        report.fault("state", format!("{shown} has mode {mode:o}: others may read it"), format!("chmod 700 {shown}"));
    } else if found.uid() != me {
        let hint = format!("chown {me} {shown}, or run doctor as the bot's user");
        report.fault("state", format!("{shown} belongs to user {}", found.uid()), hint);
    } else {
        report.good("state", format!("{shown}, mode {mode:o}"));
    }
}

fn space(report: &mut Report, directory: &Path) {
    let there = directory.ancestors().find(|it| it.exists()).unwrap_or(directory);
    match free_bytes(there) {
        Ok(free) => {
            let text = format!("{:.1} GiB free at {}", free as f64 / f64::from(1u32 << 30), there.display());
            if free < FLOOR {
                report.fault("disk", text, "make room: below 2 GiB a task may fill the disk while it works");
            } else {
                report.good("disk", text);
            }
        }
        Err(error) => report.fault("disk", format!("{}: {error}", there.display()), "check that the disk is there"),
    }
}

/// Whether the bot is running; if not, whether its ports are free.
pub(super) fn process(report: &mut Report, config: &Process, running: bool) {
    if running {
        return report.good("bot", format!("`caisson serve` answers on {}", config.listen.ops));
    }
    report.note("bot", "`caisson serve` does not run");
    for at in [config.listen.webhooks, config.listen.ops] {
        if let Err(error) = std::net::TcpListener::bind(at) {
            let hint = format!("`ss -ltnp` shows who has port {}; end it, or change [listen]", at.port());
            report.fault("bot", format!("{at} cannot be listened on: {error}"), hint);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::sealed;
    use crate::config::process::Repository;

    #[test]
    fn a_secret_others_may_read_is_a_fault_with_its_cure() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let looked = |text: &str, mode: u32| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let mut report = Report::default();
            secret(&mut report, &path, TOKEN);
            report
        };
        assert!(looked("x", 0o640).findings[0].hint.starts_with("chmod 600 "));
        assert_eq!(looked("x", 0o600).faults(), 0);
        assert_eq!(looked("", 0o600).findings[0].hint, TOKEN, "the bot refuses it");
        std::fs::write(&path, b"\xff").unwrap();
        let mut report = Report::default();
        secret(&mut report, &path, TOKEN);
        assert_eq!(report.findings[0].hint, TOKEN, "another user reads no more of it");
        // Only root can give a file away.
        if std::os::unix::fs::chown(&path, Some(65_534), None).is_ok() {
            assert_eq!(looked("x", 0o640).faults(), 0, "the bot takes what others gave to its group");
            assert!(looked("x", 0o644).findings[0].hint.starts_with("chmod o= "));
        }
    }

    #[test]
    fn a_state_directory_that_others_may_read_is_a_fault_with_its_cure() {
        let dir = tempfile::tempdir().unwrap();
        let looked = |mode: u32| {
            std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            let mut report = Report::default();
            closed(&mut report, dir.path());
            report
        };
        assert!(looked(0o750).findings[0].hint.starts_with("chmod 700 "));
        assert_eq!(looked(0o700).faults(), 0);
    }

    #[test]
    fn a_store_that_the_bot_cannot_start_with_is_a_fault() {
        let faults = |found: i64| {
            let mut report = Report::default();
            of_another_version(&mut report, found, 7);
            (report.findings.len(), report.faults())
        };
        assert_eq!((faults(6), faults(8)), ((1, 0), (1, 1)));
    }

    #[test]
    fn a_secret_that_is_lost_is_a_fault_with_what_brings_it_back() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("caisson.toml");
        let text =
            "[forge]\nurl = \"http://127.0.0.1:3000\"\ntoken_file = \"lost-token\"\n[model]\nkey_file = \"lost-key\"\n";
        let config = Process::from_layers(&file, text, &|_| None).unwrap();
        let mut report = Report::default();
        state(&mut report, &config);
        let hint = |name: &str| {
            report.findings.iter().find(|finding| finding.found.contains(name)).map(|finding| finding.hint.as_str())
        };
        assert!(hint("lost-token").unwrap().contains("setup --adopt --config NEW"), "{:?}", report.findings);
        // `setup` makes no key of a model.
        assert_eq!(hint("lost-key"), Some(YOURS));
    }

    #[tokio::test]
    async fn an_entry_that_cannot_be_used_is_a_fault_with_what_makes_it_usable() {
        let dir = tempfile::tempdir().unwrap();
        let text = format!("state_dir = \"{}\"\n", dir.path().display());
        let config = Process::from_layers(&dir.path().join("caisson.toml"), &text, &|_| None).unwrap();
        let document = r#"{"version":1,"owner":"lab","name":"shop","id":7,"default_branch":"main"}"#;
        let shop = Repository::from_document("shop", document).unwrap();
        let put = entries::put(&config, |key, by| sealed(key, &shop, &[Secret::new("a")], (1, by))).await;
        put.unwrap();
        let looked = async || {
            let mut report = Report::default();
            store(&mut report, &config).await;
            report.findings.into_iter().filter(|it| it.part == "repository shop").map(|it| it.hint).collect::<Vec<_>>()
        };
        assert!(looked().await.is_empty());
        std::fs::remove_file(config.mark_key_file()).unwrap();
        Secret::new("another").write(&config.mark_key_file()).unwrap();
        assert_eq!(looked().await, [ENTRY]);
    }

    #[test]
    fn a_configuration_that_cannot_be_read_names_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("caisson.toml");
        std::fs::write(&path, "\n[forge]\nurll = \"x\"\n").unwrap();
        let mut report = Report::default();
        assert!(configuration(&mut report, &path).is_none());
        assert!(report.findings[0].found.contains(":3"), "{:?}", report.findings);
        std::fs::write(&path, b"# \xe4\n").unwrap();
        for (path, found, hint) in [
            (path, "write it as UTF-8", "text in UTF-8"),
            (dir.path().to_owned(), "name a file", "as the bot's user"),
            (dir.path().join("none"), "run `caisson setup`", "caisson setup"),
        ] {
            let mut report = Report::default();
            configuration(&mut report, &path);
            let fault = &report.findings[0];
            assert!(fault.found.contains(found) && fault.hint.contains(hint), "{fault:?}");
        }
    }

    #[test]
    fn a_preset_that_the_bot_cannot_start_with_is_a_fault() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("caisson.toml");
        std::fs::write(&path, "[egress]\nallow = [\"preset:crago\"]\n").unwrap();
        let mut report = Report::default();
        assert!(configuration(&mut report, &path).is_some());
        let fault = report.findings.iter().find(|finding| finding.found.contains("no preset `crago`"));
        assert!(fault.is_some() && report.faults() == 1, "{:?}", report.findings);
    }
}
