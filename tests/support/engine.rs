//! The container engine for tests of whole programs: output of `docker`, and what is missing to run them.

use std::path::Path;
use std::process::{Command, Stdio};

pub const SANDBOX: &str = "caisson-sandbox:local";
pub const ROUTER: &str = "caisson-router:local";

/// Standard output of `docker`; None when it fails.
pub fn docker(words: &[&str]) -> Option<String> {
    let out = Command::new("docker").args(words).stderr(Stdio::null()).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

/// What is missing to run a test with these images; None when all are there.
pub fn missing(images: &[&str]) -> Option<String> {
    if std::env::var_os("CAISSON_RUNNER").is_none_or(|path| !Path::new(&path).is_file()) {
        return Some("CAISSON_RUNNER does not name the static runner (`make test` builds it)".to_owned());
    }
    let absent = images.iter().find(|image| docker(&["image", "inspect", image]).is_none())?;
    Some(format!("the engine does not answer, or has no image {absent} (`make images`, `caisson image build`)"))
}
