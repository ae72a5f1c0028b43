//! The stories (`tests/stories`), one at a time: how long a developer waits for the result of one.

use crate::line::Line;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The story without a failure.
const PLAIN: &str = "trip::a_fix_becomes_a_reviewed_branch";

pub fn measure() -> Vec<Line> {
    let Some(program) = std::env::var_os("CAISSON_STORIES").filter(|it| Path::new(it).is_file()) else {
        eprintln!("skipped: stories: CAISSON_STORIES is not set (make bench sets it)");
        return Vec::new();
    };
    let program = Path::new(&program);
    let out = Command::new(program).arg("--list").output().expect("the stories");
    let text = String::from_utf8_lossy(&out.stdout);
    let names: Vec<&str> = text.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    let mut times: Vec<(Duration, &str)> = names.iter().map(|name| (alone(program, name), *name)).collect();
    times.sort_unstable();
    let plain = times.iter().find(|(_, name)| *name == PLAIN).map_or(Duration::ZERO, |(time, _)| *time);
    let (Some((slowest, which)), Some((middle, _))) = (times.last(), times.get(times.len() / 2)) else {
        return Vec::new();
    };
    let seconds = |time: &Duration| format!("{:.2} s", time.as_secs_f64());
    vec![Line::shown(
        &format!("{} stories, each alone, not optimised: the plain one, the median, the slowest", times.len()),
        format!("{}, {}, {} ({which}), wanted ≤ 0.5 s", seconds(&plain), seconds(middle), seconds(slowest)),
    )]
}

fn alone(program: &Path, name: &str) -> Duration {
    let began = Instant::now();
    let mut command = Command::new(program);
    command.args(["--exact", name]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(command.status().is_ok_and(|status| status.success()), "{name} fails");
    began.elapsed()
}
