//! Make: targets with conventional names.

use super::{Commands, Project, found, setup};

const SETUPS: [&str; 9] =
    ["install-dev", "dev-install", "install_deps", "install-deps", "deps", "develop", "bootstrap", "setup", "init"];

pub(super) fn read(project: &Project<'_>, out: &mut Commands) {
    // In GNU make's order of preference.
    let named = ["GNUmakefile", "makefile", "Makefile"].into_iter().find_map(|file| Some((file, project.text(file)?)));
    let Some((file, text)) = named else { return };
    let targets: Vec<&str> = text.lines().filter_map(target).collect();
    let has = |names: &[&'static str]| {
        let there = names.iter().filter(|name| targets.contains(*name));
        there.map(|name| (format!("make {name}"), format!("{file}, {name}"))).collect::<Vec<_>>()
    };
    out.setups.extend(has(&SETUPS).into_iter().map(|(command, by)| setup([command], by)));
    out.builds.extend(has(&["build"]).into_iter().map(|(command, by)| found(command, by)));
    out.lints.extend(has(&["lint", "vet", "check-format"]).into_iter().map(|(command, by)| found(command, by)));
    out.tests.extend(has(&["test", "tests", "check", "unittest"]).into_iter().map(|(command, by)| found(command, by)));
}

/// A rule `test: deps`, but no variable (`test := …`) and no pattern.
fn target(line: &str) -> Option<&str> {
    let (name, rest) = line.split_once(':')?;
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    (plain && !name.starts_with('.') && !rest.starts_with('=') && !rest.starts_with(":=")).then_some(name)
}
