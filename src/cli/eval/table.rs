//! Results as Markdown: a row for each try, sums below, and warnings. Tests: below.

use super::against::Compared;
use super::results::{Header, Outcome, Row};
use crate::text::{cost, cut, one_line};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The most characters shown of a reason.
const REASON: usize = 120;

/// The whole report.
pub fn report(header: &Header, rows: &[Row]) -> String {
    let mut text = String::new();
    let what = if header.recording { "RECORDING, no model" } else { "model" };
    let name = header.model.answered.as_deref().unwrap_or(&header.model.label);
    let _ = writeln!(
        text,
        "{what}: {} · set: {} · {} s a task, at most {} reviews\n",
        cell(name),
        header.chosen,
        header.limit_s,
        header.reviews
    );
    text.push_str("| task | family | solved | end | reviews | actions | read | cached | written | model s | by formula | own s | waited s | cost | why not |\n");
    text.push_str("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for row in rows {
        text.push_str(&line(row, header.repeats > 1));
    }
    text.push_str(&sums(rows));
    text
}

fn line(row: &Row, numbered: bool) -> String {
    let family = row.about.as_ref().map_or("?".to_owned(), |about| format!("{:?}", about.family).to_lowercase());
    let solved = match row.outcome {
        Outcome::Solved => "yes",
        Outcome::Unsolved if row.false_done => "no, said done",
        Outcome::Unsolved => "no",
        Outcome::NotRun => "not run",
    };
    let task = if numbered { format!("{} #{}", row.task, row.repeat) } else { row.task.clone() };
    let m = &row.measured;
    format!(
        "| {} | {family} | {solved} | {} | {} | {} | {} | {} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {} | {} |\n",
        cell(&task),
        row.end,
        m.reviews,
        m.actions,
        m.tokens_read,
        m.tokens_cached,
        m.tokens_written,
        m.model_seconds,
        m.model_seconds_by_formula,
        m.own_seconds,
        m.waiting_seconds,
        cost(micros(m.dollars), m.unpriced),
        cell(cut(&row.reason, REASON).0),
    )
}

/// The share solved of the tries that were run, in total and by family; then the cost.
fn sums(rows: &[Row]) -> String {
    let ran: Vec<&Row> = rows.iter().filter(|row| row.outcome != Outcome::NotRun).collect();
    let solved = |rows: &[&Row]| rows.iter().filter(|row| row.outcome == Outcome::Solved).count();
    let mut text = format!("\nsolved {} of {}", solved(&ran), ran.len());
    let mut families: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in &ran {
        let Some(about) = &row.about else { continue };
        families.entry(format!("{:?}", about.family).to_lowercase()).or_default().push(row);
    }
    for (family, rows) in &families {
        let _ = write!(text, " · {family} {} of {}", solved(rows), rows.len());
    }
    let _ = writeln!(text, " · not run: {}", rows.len() - ran.len());
    let sum = |of: &dyn Fn(&Row) -> f64| ran.iter().map(|row| of(row)).sum::<f64>();
    let seconds = sum(&|row| row.measured.model_seconds_by_formula);
    let each = match solved(&ran) {
        0 => "none solved".to_owned(),
        count => format!("{:.1} for each solved task", seconds / count as f64),
    };
    let _ = writeln!(
        text,
        "false done: {} · model seconds by formula {seconds:.1} ({each}) · own seconds {:.1} · {}",
        ran.iter().filter(|row| row.false_done).count(),
        sum(&|row| row.measured.own_seconds),
        cost(micros(sum(&|row| row.measured.dollars)), ran.iter().map(|row| row.measured.unpriced).sum()),
    );
    text
}

fn micros(dollars: f64) -> u64 {
    (dollars * 1e6).round() as u64
}

/// The comparison, in words.
pub fn compared(found: &Compared) -> String {
    let names = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    format!(
        "against the baseline, {} tasks that both ran: {:.1} % then, {:.1} % now, {:+.1} points; with 95 % confidence more than {:+.1} points\n\
         gained: {}\nlost: {}\n",
        found.tasks,
        found.then * 100.0,
        found.now * 100.0,
        (found.now - found.then) * 100.0,
        found.at_least * 100.0,
        cell(&names(&found.gained)),
        cell(&names(&found.lost)),
    )
}

/// Escapes a cell's text, which may contain a program's output.
fn cell(text: &str) -> String {
    one_line(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{header, row};
    use super::*;

    #[test]
    fn an_unknown_price_is_not_free() {
        let mut paid = row("a", 1, Outcome::Solved);
        paid.measured.dollars = 0.25;
        let mut unknown = row("b", 1, Outcome::Unsolved);
        unknown.measured.unpriced = 900;
        let text = report(&header(false), &[paid, unknown]);
        assert!(text.contains("| $0.25 |") && text.contains("| price unknown |"), "{text}");
        assert!(text.contains("· $0.25 and more, price unknown"), "{text}");
    }

    #[test]
    fn what_was_not_run_is_in_no_sum() {
        let mut wrong = row("b", 1, Outcome::Unsolved);
        wrong.false_done = true;
        wrong.reason = "exit 1: a | b\nc".to_owned();
        let text = report(&header(true), &[row("a", 1, Outcome::Solved), wrong, row("c", 1, Outcome::NotRun)]);
        assert!(text.starts_with("RECORDING, no model"), "{text}");
        assert!(
            text.contains("solved 1 of 2") && text.contains("not run: 1") && text.contains("false done: 1"),
            "{text}"
        );
        assert!(
            text.lines()
                .filter(|line| line.starts_with("| "))
                .all(|line| line.replace("\\|", "").matches('|').count() == 16)
        );
    }
}
