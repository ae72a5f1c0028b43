//! Rust, Go, Java and CMake, each with one tool that fetches, builds and tests.

use super::{Commands, Project, detect, found, setup};

pub(super) fn rust(project: &Project<'_>, out: &mut Commands) {
    if !project.has("Cargo.toml") {
        return;
    }
    let locked = project.has("Cargo.lock");
    if locked {
        out.setups.push(setup(["cargo fetch --locked".to_owned()], "Cargo.lock"));
    }
    out.setups.push(setup(["cargo fetch".to_owned()], "Cargo.toml"));
    let is_left_out = project.text("Cargo.toml").is_some_and(|manifest| detect::leaves_members_out(&manifest));
    let whole = if is_left_out { " --workspace" } else { "" };
    out.builds.push(found(format!("cargo build --offline{whole}"), "Cargo.toml"));
    out.lints.push(found(format!("cargo clippy --offline --all-targets{whole}"), "Cargo.toml"));
    if project.has("rustfmt.toml") || project.has(".rustfmt.toml") {
        out.lints.push(found("cargo fmt --check", "rustfmt.toml"));
    }
    // Without a lock file cargo queries the index for versions, unless it is offline.
    out.tests.push(found(format!("cargo test --offline{whole}"), "Cargo.toml"));
}

pub(super) fn go(project: &Project<'_>, out: &mut Commands) {
    if !project.has("go.mod") {
        return;
    }
    // A module without dependencies has no go.sum.
    if project.has("go.sum") {
        out.setups.push(setup(["go mod download".to_owned()], "go.sum"));
    }
    out.builds.push(found("go build ./...", "go.mod"));
    out.lints.push(found("go vet ./...", "go.mod"));
    out.tests.push(found("go test ./...", "go.mod"));
}

pub(super) fn java(project: &Project<'_>, out: &mut Commands) {
    if project.has("pom.xml") {
        // `dependency:go-offline` misses some artifacts (the test runner's provider), which building the tests fetches.
        out.setups.push(setup(["mvn -B -q test-compile dependency:go-offline".to_owned()], "pom.xml"));
        out.setups.push(setup(["mvn -B -q -DskipTests verify".to_owned()], "pom.xml"));
        out.builds.push(found("mvn -B -o -q -DskipTests package", "pom.xml"));
    } else if project.has("gradlew") {
        out.setups.push(setup(["sh ./gradlew --no-daemon testClasses".to_owned()], "gradlew"));
        out.builds.push(found("sh ./gradlew --offline --no-daemon assemble", "gradlew"));
    }
}

pub(super) fn cpp(project: &Project<'_>, out: &mut Commands) {
    let Some(text) = project.text("CMakeLists.txt") else { return };
    let build = "cmake -S . -B build && cmake --build build -j 2";
    out.builds.push(found(build, "CMakeLists.txt"));
    let lower = text.to_lowercase();
    if lower.contains("enable_testing") || lower.contains("include(ctest)") || lower.contains("add_test(") {
        out.tests.push(found(format!("{build} && ctest --test-dir build --output-on-failure"), "CMakeLists.txt"));
    }
}
