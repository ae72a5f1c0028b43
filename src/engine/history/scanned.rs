//! What the host read before the model was asked (static rules, dependencies, hosts), as the model is told it: ours around it, the rest fenced.
//!
//! Owns how much of it is told. Tests: `src/engine/history/scanned_tests.rs`.

use domain::{AdvisoryScan, DependencyScan, NewestScan, NewestVersion, RuleScan, Scan};
use minijinja::context;
use std::fmt::Write as _;

use super::Replay;
use crate::engine::fence::Trust;
use crate::engine::numbered::lines_within;
use crate::engine::prompt;
use crate::text::one_line;

impl Replay<'_> {
    /// Tells what was read, as far as a pull request's difference would have room.
    pub(super) fn scanned(&mut self, scan: &Scan) {
        let room = self.difference_chars / 2;
        let rules = scan.rules.as_ref();
        let found = rules.map(findings).unwrap_or_default();
        let (shown, cut) = lines_within(&found, room);
        let dependencies = scan.dependencies.as_ref().map(dependencies).unwrap_or_default();
        let (listed, unlisted) = lines_within(&dependencies, room);
        let listed = match unlisted {
            0 => listed.to_owned(),
            lines => format!("{listed}({lines} more lines)\n"),
        };
        let hosts = scan.hosts.as_deref().unwrap_or_default().iter().map(|host| one_line(host)).collect::<Vec<_>>();
        let fenced = |source: &str, text: &str| match text {
            "" => String::new(),
            text => self.fence.wrap(source, Trust::None, text),
        };
        let values = context! {
            rules => rules.is_some(),
            what => if rules.is_some_and(|it| it.added_only) { "the lines that the pull request adds" } else { "the tree" },
            below => rules.and_then(|it| it.below.as_deref()).map(|path| self.fence.inline(path)),
            files => rules.map_or(0, |it| it.files),
            found => rules.map_or(0, |it| it.findings.len() as u64 + it.more),
            not_kept => rules.map_or(0, |it| it.more) + cut as u64,
            gaps => rules.is_some_and(|it| it.cut || it.passed_over > 0 || it.long_lines > 0),
            findings => fenced("findings of static rules", shown),
            dependencies => fenced("manifests and lock files", &listed),
            hosts => fenced("hosts", &hosts.join("\n")),
            no_hosts => scan.hosts.as_ref().is_some_and(Vec::is_empty),
        };
        let text = prompt::render("scan", values);
        self.ask(text);
    }
}

/// One line for each finding.
fn findings(rules: &RuleScan) -> String {
    let line = |it: &domain::RuleFinding| {
        let (severity, path, text) = (it.severity.word(), one_line(&it.path), one_line(&it.text));
        format!("[{severity}] {path}:{} {} — {} | {text}\n", it.line, it.rule, it.sentence)
    };
    rules.findings.iter().map(line).collect()
}

/// What is asked for, what is locked, and what of it has an advisory; the advisories first.
fn dependencies(scan: &DependencyScan) -> String {
    let mut out = match &scan.advisories {
        None => "No advisories were looked at.\n".to_owned(),
        Some(advisories) => of_advisories(advisories),
    };
    if let Some(newest) = &scan.newest {
        out.push_str(&of_newest(newest));
    }
    for it in &scan.direct {
        let with_day = |version: &String| match it.released.get(version) {
            Some(day) => format!("{version} (of {day})"),
            None => version.clone(),
        };
        let versions: Vec<String> = it.locked.iter().map(with_day).collect();
        let locked =
            if versions.is_empty() { "not locked".to_owned() } else { format!("locked {}", versions.join(", ")) };
        let asked = if it.asked.is_empty() { "any version" } else { &it.asked };
        let newest = it.newest.as_ref().map(newest).unwrap_or_default();
        let (ecosystem, name, manifest, line) = (&it.ecosystem, &it.name, &it.manifest, it.line);
        let words = format!("{ecosystem} {name}: asked for {asked}, {locked}{newest} ({manifest}:{line})");
        let _ = writeln!(out, "{}", one_line(&words));
    }
    if scan.more > 0 {
        let _ = writeln!(out, "({} more direct dependencies)", scan.more);
    }
    for (path, why) in &scan.unread {
        let _ = writeln!(out, "not read: {} ({why})", one_line(path));
    }
    out
}

/// The newest version of a package, and where what is locked is beside it.
fn newest(it: &NewestVersion) -> String {
    let day = it.published.as_ref().map(|day| format!(" (of {day})")).unwrap_or_default();
    let gap = it.gap.map(|gap| format!(", {}", gap.words())).unwrap_or_default();
    format!(", newest {}{day}{gap}", it.version)
}

fn of_newest(scan: &NewestScan) -> String {
    let days = match (scan.since.as_str(), &scan.trouble) {
        (_, Some(why)) => format!("none were looked at: {why}"),
        ("", None) => "the data holds none of these packages".to_owned(),
        (since, None) => format!("data of {since} to {}, without {} packages", scan.until, scan.missing),
    };
    format!("Newest versions: {}\n", one_line(&days))
}

fn of_advisories(scan: &AdvisoryScan) -> String {
    let mut out = format!("Advisories of {}:\n", if scan.date.is_empty() { "an unknown date" } else { &scan.date });
    if let Some(why) = &scan.trouble {
        let _ = writeln!(out, "None were looked at: {}", one_line(why));
    }
    for it in &scan.matches {
        let direct = if it.direct { "direct" } else { "not direct" };
        let fixed = if it.fixed.is_empty() { "none known".to_owned() } else { it.fixed.join(", ") };
        let words = format!(
            "{} {} {} {} ({direct}): {}; without it: {fixed}",
            it.id, it.ecosystem, it.name, it.version, it.summary
        );
        let _ = writeln!(out, "{}", one_line(&words));
    }
    if scan.matches.is_empty() && scan.trouble.is_none() {
        out.push_str("None about what is locked.\n");
    }
    for it in &scan.not_compared {
        let _ = writeln!(out, "cannot compare: {}", one_line(it));
    }
    if scan.more > 0 {
        let _ = writeln!(out, "({} more advisories about what is locked)", scan.more);
    }
    if scan.not_looked_up > 0 {
        let _ = writeln!(out, "not looked up, because of a limit: {} locked versions", scan.not_looked_up);
    }
    out
}

#[cfg(test)]
#[path = "scanned_tests.rs"]
mod tests;
