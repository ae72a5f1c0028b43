//! `caisson model list` and `caisson model check`: the models of the configuration, whether they answer, and how each is talked to.

pub mod look;
pub mod measure;

use super::printer::{Complaint, Printer};
use crate::config::Process;
use crate::config::process::{Model as Entry, ModelStyle, Models, Origin};
use crate::engine::probe;
use crate::llm::Model;
use crate::llm::deltas::Tally;
use anyhow::Result;
use clap::Subcommand;
use look::Finding;
use std::path::Path;
use std::time::Instant;

#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// One line for each model: what it is for, how it is talked to, and whether it answers (asked one word).
    List,
    /// Try a model at reading, editing and checking with tools, say how it will be talked to, and measure it: speed, cache, several calls at
    /// once. Costs about 12,000 tokens.
    Check {
        /// The entry's id; left out: each that may be asked.
        id: Option<String>,
        /// Also send one prompt as long as its window, to see that it is taken: costs as many tokens.
        #[arg(long)]
        window: bool,
    },
}

impl ModelCommand {
    /// # Errors
    /// A [`Complaint`] when a model that was looked at has a fault.
    pub async fn run(self, file: &Path) -> Result<()> {
        let config = Process::load(file)?;
        let printer = Printer::terminal();
        match self {
            ModelCommand::List => list(&config.models, &printer).await,
            ModelCommand::Check { id, window } => {
                let entries = chosen(&config.models, id.as_deref())?;
                let mut faults = 0;
                for entry in entries {
                    faults += check(&config.models, entry, window, &printer).await;
                }
                match faults {
                    0 => Ok(()),
                    1 => Err(Complaint::new("one fault").into()),
                    many => Err(Complaint::new(format!("{many} faults")).into()),
                }
            }
        }
    }
}

fn chosen<'a>(models: &'a Models, id: Option<&str>) -> Result<Vec<&'a Entry>> {
    let Some(id) = id else {
        return Ok(models.used());
    };
    let found = models.by_id(id).map(|entry| vec![entry]);
    found.ok_or_else(|| {
        let known: Vec<_> = models.all().iter().map(|entry| entry.id.as_str()).collect();
        Complaint::new(format!("there is no model {id}")).hint(format!("take one of: {}", known.join(", "))).into()
    })
}

async fn list(models: &Models, printer: &Printer) -> Result<()> {
    let mut rows = Vec::new();
    for entry in models.all() {
        let found = match look::opened(entry) {
            Ok(model) => look::look(entry, model.as_ref()).await,
            Err(fault) => vec![fault],
        };
        rows.push(row(models, entry, &found));
    }
    printer.table(&["id", "kind", "name", "roles", "style", "window", "price", "answers"], &rows);
    pages(models).iter().for_each(|page| printer.hint(page));
    models.all().iter().filter_map(|entry| look::kept_back(models, entry)).for_each(|note| printer.hint(&note));
    Ok(())
}

fn row(models: &Models, entry: &Entry, found: &[Finding]) -> Vec<String> {
    let roles = models.roles(entry).into_iter().map(|role| role.word().to_owned());
    let commands =
        models.of_commands().filter(|(_, own)| own.id == entry.id).map(|(kind, _)| format!("/{}", kind.name()));
    let roles: Vec<String> = roles.chain(commands).collect();
    let asked = models.used().iter().any(|used| used.id == entry.id);
    let stands_in = models.all().iter().flat_map(|it| models.fallbacks(it)).any(|it| it.id == entry.id);
    let roles = match roles.is_empty() {
        false => roles.join(" "),
        true if stands_in && asked => "fallback".to_owned(),
        true if entry.by_name => "by name".to_owned(),
        true if asked => "a repository's".to_owned(),
        true => "none".to_owned(),
    };
    // The window has a column of its own.
    let words = found.iter().filter(|it| !matches!(it, Finding::Window { .. })).map(sentence).collect::<Vec<_>>();
    let name = entry.shown().split_once(' ').map(|(_, name)| name.to_owned()).unwrap_or_default();
    vec![
        entry.id.clone(),
        entry.kind.word().to_owned(),
        name,
        roles,
        entry.style.word().to_owned(),
        window(entry),
        price(entry),
        words.join("; "),
    ]
}

/// Tokens of the window, and where the number comes from.
fn window(entry: &Entry) -> String {
    let whose = match &entry.origins.window {
        Origin::Unknown => "assumed",
        sentence @ (Origin::Entry | Origin::File { .. }) => sentence.word(),
    };
    format!("{} ({whose})", entry.context_tokens)
}

/// Dollars per million tokens read and written, and where the numbers come from.
fn price(entry: &Entry) -> String {
    if entry.kind.is_recording() {
        return "none".to_owned();
    }
    match (entry.price_input, entry.price_output) {
        (Some(input), Some(output)) if input + output > 0.0 => {
            format!("${input} / ${output} ({})", entry.origins.price.word())
        }
        (Some(_), Some(_)) => format!("free ({})", entry.origins.price.word()),
        (None, _) | (_, None) => "unknown".to_owned(),
    }
}

/// The sources of numbers that no entry gives: one line per page.
fn pages(models: &Models) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in models.all() {
        for (what, origin) in [("price", &entry.origins.price), ("window", &entry.origins.window)] {
            let Origin::File { date, page } = origin else { continue };
            lines.push(format!("{what} of {}: {page}, read {date}", entry.id));
        }
    }
    lines
}

fn sentence(finding: &Finding) -> String {
    match finding {
        Finding::Recording => "a recording".to_owned(),
        Finding::Answers { took } => format!("yes, in {} ms", took.as_millis()),
        Finding::Window { tokens, configured } => look::windows(*tokens, *configured),
        Finding::Note(note) => note.clone(),
        Finding::Fault { found, .. } => format!("FAULT: {found}"),
    }
}

/// Looks at one model and makes its trial calls; returns the number of faults.
async fn check(models: &Models, entry: &Entry, window: bool, printer: &Printer) -> usize {
    if models.all().len() > 1 {
        printer.heading(&entry.id);
    }
    let model = match look::opened(entry) {
        Ok(model) => model,
        Err(fault) => return tell(&[fault], printer),
    };
    let mut found = look::look(entry, model.as_ref()).await;
    found.retain(|it| !window || !matches!(it, Finding::Note(note) if note.contains(look::WINDOW_CHECK)));
    let faults = tell(&found, printer);
    if model.scripted() || !found.iter().any(|it| matches!(it, Finding::Answers { .. })) {
        return faults;
    }
    printer.hint(&look::vision(entry));
    let faults = faults + tries(entry, model.as_ref(), printer).await;
    let measured = measure::measure(entry, model.as_ref(), window).await;
    printer.fields(&measured.fields);
    faults + tell(&measured.findings, printer)
}

fn tell(found: &[Finding], printer: &Printer) -> usize {
    let mut faults = 0;
    for finding in found {
        match finding {
            Finding::Recording => printer.hint("a recording; there is no model to be tried"),
            Finding::Answers { .. } => {}
            Finding::Window { tokens, configured } => printer.hint(&look::windows(*tokens, *configured)),
            Finding::Note(note) => printer.hint(note),
            Finding::Fault { found, hint } => {
                faults += 1;
                printer.bad(found);
                printer.hint(hint);
            }
        }
    }
    faults
}

async fn tries(entry: &Entry, model: &dyn Model, printer: &Printer) -> usize {
    let (began, tally) = (Instant::now(), Tally::default());
    let tries = match probe::probe(model, entry.is_own_server(), &tally).await {
        Ok(tries) => tries,
        Err(error) => return tell(&[look::refused(&error)], printer),
    };
    let word = |passed: bool| if passed { "passed".to_owned() } else { "not passed".to_owned() };
    printer.fields(&[
        ("model", model.label()),
        ("read", word(tries.read)),
        ("edit", word(tries.edit)),
        ("check", word(tries.check)),
        ("took", format!("{} ms", began.elapsed().as_millis())),
        ("arrives", arrives(&tally)),
        ("style", tries.style().word().to_owned()),
    ]);
    match entry.style {
        ModelStyle::Auto if entry.needs_trials() => {}
        ModelStyle::Auto => printer.hint("style is auto, and a vendor's own server is talked to with tools"),
        style @ (ModelStyle::Tools | ModelStyle::Text | ModelStyle::Files) => {
            printer.hint(&format!("style says {}, whatever was found here", style.word()));
        }
    }
    0
}

/// Whether answers were streamed.
fn arrives(tally: &Tally) -> String {
    match tally.first() {
        Some(first) => format!("as a stream: {} pieces, the first after {} ms", tally.pieces(), first.as_millis()),
        None => "whole, not as a stream".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn models(text: &str) -> Models {
        Process::from_layers(Path::new("/x/c.toml"), text, &|_| None).unwrap().models
    }

    const TWO: &str = "[[model]]\nid = \"big\"\nkind = \"scripted\"\nscript = \"r.toml\"\nroles = [\"planner\"]\n\
        [[model]]\nid = \"small\"\nkind = \"openai\"\nname = \"qwen\"\nbase_url = \"http://127.0.0.1:1\"\nroles = [\"worker\"]\nstyle = \"files\"\n\
        [[model]]\nid = \"spare\"\nname = \"m\"\n";

    #[test]
    fn a_line_says_what_a_model_is_for_and_what_was_found() {
        let models = models(TWO);
        let fault = Finding::Fault { found: "its window is 4096 tokens".into(), hint: String::new() };
        let lines: Vec<_> = models
            .all()
            .iter()
            .map(|entry| row(&models, entry, &[Finding::Recording, fault.clone()]).join(" | "))
            .collect();
        assert_eq!(
            lines[0],
            "big | scripted | r.toml | planner | auto | 200000 (assumed) | none | a recording; FAULT: its window is 4096 tokens"
        );
        assert!(
            lines[1].starts_with(
                "small | openai | qwen | worker summarizer reviewer | files | 200000 (assumed) | unknown | "
            ),
            "{}",
            lines[1]
        );
        assert!(lines[2].starts_with("spare | anthropic | m | none | auto"), "{}", lines[2]);
    }

    #[test]
    fn a_price_and_a_window_are_shown_with_where_they_came_from() {
        let of = |text: &str| models(&format!("[model]\nid = \"m\"\nname = {text}"));
        let cells = |text: &str| (window(of(text).worker()), price(of(text).worker()));
        let told = cells("\"claude-sonnet-5\"\n");
        assert_eq!((told.0.as_str(), told.1.as_str()), ("1000000 (2026-11-25)", "$2 / $10 (2026-11-25)"));
        let own = cells("\"x\"\nprice_input = 0.5\nprice_output = 1\ncontext_tokens = 32768\n");
        assert_eq!((own.0.as_str(), own.1.as_str()), ("32768 (entry)", "$0.5 / $1 (entry)"));
        assert_eq!(cells("\"x\"\nprice_input = 0\nprice_output = 0\n").1, "free (entry)");
        let pages = pages(&of("\"claude-sonnet-5\"\n"));
        assert!(pages.len() == 2 && pages[0].starts_with("price of m: https://platform.claude.com/"), "{pages:?}");
    }

    #[test]
    fn one_is_chosen_by_its_id_and_otherwise_all_that_are_used() {
        let models = models(TWO);
        let ids =
            |id: Option<&str>| chosen(&models, id).map(|all| all.iter().map(|it| it.id.clone()).collect::<Vec<_>>());
        assert_eq!(ids(None).unwrap(), ["big", "small"]);
        assert_eq!(ids(Some("spare")).unwrap(), ["spare"]);
        assert!(ids(Some("huge")).unwrap_err().to_string().contains("no model huge"));
    }
}
