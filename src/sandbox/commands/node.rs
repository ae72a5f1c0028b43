//! Node: the package manager by its lock file, and the scripts of `package.json`.

use super::{Commands, Project, found, setup};
use serde_json::Value;

/// Lock files, with the command that installs exactly what each lists.
const LOCKS: [(&str, &str); 6] = [
    ("package-lock.json", "npm ci --no-audit --no-fund"),
    ("npm-shrinkwrap.json", "npm ci --no-audit --no-fund"),
    ("pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
    ("yarn.lock", "yarn install --frozen-lockfile"),
    ("bun.lock", "bun install --frozen-lockfile"),
    ("bun.lockb", "bun install --frozen-lockfile"),
];
/// Fallback for other managers' lock files: npm comes with Node, but chooses versions itself.
const PLAIN: &str = "npm install --no-audit --no-fund";

pub(super) fn read(project: &Project<'_>, out: &mut Commands) {
    let Some(package) = project.text("package.json").and_then(|text| serde_json::from_str::<Value>(&text).ok()) else {
        return;
    };
    let needs = ["dependencies", "devDependencies", "workspaces"];
    if needs.iter().any(|key| package.get(key).is_some()) {
        for (lock, install) in LOCKS.iter().filter(|(lock, _)| project.has(lock)) {
            out.setups.push(setup([(*install).to_owned()], *lock));
        }
        out.setups.push(setup([PLAIN.to_owned()], "package.json"));
    }
    let script = |name: &str| {
        let text = package.get("scripts")?.get(name)?.as_str()?;
        (!text.trim().is_empty() && !text.contains("no test specified")).then(|| {
            let command = if name == "test" { "npm test".to_owned() } else { format!("npm run {name}") };
            found(command, format!("package.json, scripts.{name}"))
        })
    };
    out.tests.extend(["test", "test:unit", "unit", "tests"].into_iter().filter_map(script));
    out.builds.extend(["build", "compile", "prepare"].into_iter().filter_map(script));
    out.lints.extend(["lint", "check:lint", "typecheck", "check:type", "check"].into_iter().filter_map(script));
}
