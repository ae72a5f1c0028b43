//! How often the ranking finds what a commit changed, by its message alone, against plain BM25 over the text.
//!
//! `cargo run --release -p caisson-locate --example commits -- CACHE NUMBER REPOSITORY…`: repositories with their history, NUMBER commits of
//! each, whose trees are unpacked below CACHE once. `LOCATE="path.counts=3 test=0.2"` tries other numbers; `LOCATE_EACH=1` prints a
//! line for each commit. What it printed is in `docs/relevant-files.md`.

mod choose;
mod plain;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, bail};
use caisson_locate::Tuning;
use choose::Commit;
use protocol::survey::Question;

/// Where the first changed file stands in each ranking (0 = the first), and how much of what changed is among the first three.
#[derive(Debug, Clone)]
struct Tried {
    repository: usize,
    commit: String,
    subject: String,
    changed: Vec<String>,
    first: [Option<usize>; RANKINGS.len()],
    share: [f64; RANKINGS.len()],
}

const RANKINGS: [&str; 3] = ["plain BM25, all text", "plain BM25, sources", "locate"];
const TOP: usize = 3;

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [cache, number, repositories @ ..] = args.as_slice() else { bail!("commits CACHE NUMBER REPOSITORY…") };
    let (cache, number) = (PathBuf::from(cache), number.parse().context("the number of commits")?);
    let tuning = tuning(&std::env::var("LOCATE").unwrap_or_default())?;
    let mut work = Vec::new();
    for (at, repository) in repositories.iter().enumerate() {
        for commit in choose::commits(Path::new(repository), number)? {
            work.push((at, commit));
        }
    }
    let (next, tried) = (Mutex::new(work.into_iter()), Mutex::new(Vec::new()));
    let threads = std::env::var("LOCATE_THREADS").ok().and_then(|it| it.parse().ok()).unwrap_or(2);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let one = next.lock().ok().and_then(|mut work| work.next());
                    let Some((at, commit)) = one else { return };
                    match attempt(Path::new(&repositories[at]), at, &commit, &cache, &tuning) {
                        Ok(one) => tried.lock().map(|mut all| all.push(one)).unwrap_or_default(),
                        Err(why) => eprintln!("{}: {why:#}", commit.id),
                    }
                }
            });
        }
    });
    let mut tried = tried.into_inner().unwrap_or_default();
    tried.sort_by(|a, b| (a.repository, &a.commit).cmp(&(b.repository, &b.commit)));
    print(repositories, &tried);
    Ok(())
}

fn attempt(repository: &Path, at: usize, commit: &Commit, cache: &Path, tuning: &Tuning) -> anyhow::Result<Tried> {
    let tree = choose::unpack(repository, &commit.parent, cache)?;
    let texts = plain::texts(&tree);
    let question = Question { words: commit.message.clone(), most: 50, ..Question::default() };
    let ours = caisson_locate::survey_with(&tree, &question, tuning);
    let ours: Vec<String> = ours.files.into_iter().map(|file| file.path).collect();
    let orders = [plain::order(&texts, &commit.message, false), plain::order(&texts, &commit.message, true), ours];
    let is_changed = |path: &String| commit.changed.contains(path);
    Ok(Tried {
        repository: at,
        commit: commit.id.clone(),
        subject: commit.message.lines().next().unwrap_or_default().to_owned(),
        changed: commit.changed.clone(),
        first: std::array::from_fn(|it| orders[it].iter().position(is_changed)),
        share: std::array::from_fn(|it| {
            let found = orders[it].iter().take(TOP).filter(|path| is_changed(path)).count();
            found as f64 / commit.changed.len().min(TOP) as f64
        }),
    })
}

/// One number by its name.
fn tuning(text: &str) -> anyhow::Result<Tuning> {
    let mut out = Tuning::default();
    for word in text.split_whitespace() {
        let (name, value) = word.split_once('=').context("name=value")?;
        let value: f64 = value.parse()?;
        let place = match name {
            "path.counts" => &mut out.path.counts,
            "path.length" => &mut out.path.length,
            "symbols.counts" => &mut out.symbols.counts,
            "symbols.length" => &mut out.symbols.length,
            "text.counts" => &mut out.text.counts,
            "text.length" => &mut out.text.length,
            "k1" => &mut out.k1,
            "first" => &mut out.first,
            "failed" => &mut out.failed,
            "test" => &mut out.test,
            "beside" => &mut out.beside,
            "named" => &mut out.named,
            "defines" => &mut out.defines,
            "failing" => &mut out.failing,
            "imported" => &mut out.imported,
            other => bail!("there is no number {other}"),
        };
        *place = value;
    }
    Ok(out)
}

fn print(repositories: &[String], tried: &[Tried]) {
    if std::env::var_os("LOCATE_EACH").is_some() {
        println!("| commit | changed | {} |\n|---|---|{}", RANKINGS.join(" | "), "---|".repeat(RANKINGS.len()));
        for one in tried {
            let place = |it: usize| one.first[it].map_or("–".to_owned(), |at| (at + 1).to_string());
            let places: Vec<String> = (0..RANKINGS.len()).map(place).collect();
            println!(
                "| {} {:.60} | {} | {} |",
                &one.commit[..10],
                one.subject,
                one.changed.join(" "),
                places.join(" | ")
            );
        }
    }
    println!("| repository | commits | {} |\n|---|---|{}", RANKINGS.join(" | "), "---|".repeat(RANKINGS.len()));
    for (at, repository) in repositories.iter().enumerate() {
        let of: Vec<&Tried> = tried.iter().filter(|one| one.repository == at).collect();
        line(repository, &of);
    }
    line("all", &tried.iter().collect::<Vec<_>>());
}

/// Commits of which a changed file is among the first three, and the mean share of changed files there, both in per cent.
fn line(name: &str, tried: &[&Tried]) {
    let number = tried.len().max(1) as f64;
    let cell = |it: usize| {
        let hits = tried.iter().filter(|one| one.first[it].is_some_and(|at| at < TOP)).count();
        let share: f64 = tried.iter().map(|one| one.share[it]).sum();
        format!("{:.1} ({:.1})", 100.0 * hits as f64 / number, 100.0 * share / number)
    };
    let cells: Vec<String> = (0..RANKINGS.len()).map(cell).collect();
    println!("| {name} | {} | {} |", tried.len(), cells.join(" | "));
}
