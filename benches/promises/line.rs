//! One line of the result table, and statistics of samples.

use std::fmt;
use std::time::Duration;

pub struct Line {
    pub name: String,
    pub measured: String,
    pub promised: String,
    /// None where only an absolute value is shown.
    pub kept: Option<bool>,
}

impl Line {
    pub fn shown(name: &str, measured: String) -> Line {
        Line { name: name.to_owned(), measured, promised: String::new(), kept: None }
    }

    pub fn promise(name: &str, measured: String, promised: &str, kept: bool) -> Line {
        Line { name: name.to_owned(), measured, promised: promised.to_owned(), kept: Some(kept) }
    }

    /// Compares two times of the same run: `one` is at most `most` times `other`.
    pub fn at_most(name: &str, one: Duration, other: Duration, most: f64) -> Line {
        let times = ratio(one, other);
        let measured = format!("{} against {}: {times:.2} ×", ms(one), ms(other));
        Line::promise(name, measured, &format!("≤ {most} ×"), times <= most)
    }

    pub fn broken(&self) -> bool {
        self.kept == Some(false)
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.kept {
            Some(true) => "held",
            Some(false) => "**broken**",
            None => "shown",
        };
        write!(f, "| {} | {} | {} | {mark} |", self.name, self.measured, self.promised)
    }
}

/// The value below which `part` (0 to 1) of the samples lie.
pub fn quantile(samples: &mut [Duration], part: f64) -> Duration {
    samples.sort_unstable();
    let at = ((samples.len() as f64 - 1.0) * part).round() as usize;
    samples.get(at).copied().unwrap_or_default()
}

pub fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

pub fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64().max(1e-9)
}
