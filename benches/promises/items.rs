//! Reading items out of outputs, as actions, reviews and verification do.

use crate::line::{Line, ms};
use caisson::sandbox::items;
use std::path::Path;
use std::time::{Duration, Instant};

const BYTES: usize = 1 << 20;
const ROUNDS: usize = 5;
/// A quiet tool's successful output is never this long.
const SAID: usize = 100;

/// A tool's recorded output.
struct Recorded {
    tool: String,
    passing: bool,
    text: String,
}

fn recorded() -> Vec<Recorded> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/checks");
    let mut all = Vec::new();
    for folder in std::fs::read_dir(root).expect("the recorded outputs").flatten().filter(|it| it.path().is_dir()) {
        let tool = folder.file_name().to_string_lossy().into_owned();
        for file in std::fs::read_dir(folder.path()).expect("a tool's outputs").flatten() {
            let passing = file.file_name().to_string_lossy().contains("passing");
            let text = std::fs::read_to_string(file.path()).expect("an output");
            all.push(Recorded { tool: tool.clone(), passing, text });
        }
    }
    all
}

/// `part` repeated to the number of bytes that is measured.
fn filled(part: &str) -> String {
    let mut text = String::with_capacity(BYTES + part.len());
    while text.len() < BYTES {
        text.push_str(part);
        text.push('\n');
    }
    text
}

/// The fastest of the rounds, which excludes the machine's other load.
fn time(text: &str) -> Duration {
    let once = |_| {
        let began = Instant::now();
        std::hint::black_box(items::read(std::hint::black_box(text)));
        began.elapsed()
    };
    (0..ROUNDS).map(once).min().unwrap_or_default()
}

/// The longest of the times, and the name of its text.
fn worst(texts: impl Iterator<Item = (String, String)>) -> (Duration, String) {
    texts.map(|(tool, text)| (time(&text), tool)).max().expect("recorded outputs")
}

pub fn measure() -> Vec<Line> {
    let all = recorded();
    let failing = || all.iter().filter(|one| !one.passing);
    // A long run that mostly succeeded, with a failed one's report at its end.
    let long = failing().flat_map(|failed| {
        let good = all.iter().filter(|one| one.passing && one.text.len() >= SAID && one.tool == failed.tool);
        good.map(|good| (failed.tool.clone(), filled(&good.text) + &failed.text))
    });
    let (usual, of_usual) = worst(long);
    let (dense, of_dense) = worst(failing().map(|failed| (failed.tool.clone(), filled(&failed.text))));
    let most = Duration::from_millis(20);
    vec![
        Line::promise(
            "items out of 1 MiB of a run that fails at its end, the slowest tool, the fastest of 5 rounds",
            format!("{} ({of_usual})", ms(usual)),
            "≤ 20 ms",
            usual <= most,
        ),
        Line::shown("… of nothing but failed runs", format!("{} ({of_dense})", ms(dense))),
    ]
}
