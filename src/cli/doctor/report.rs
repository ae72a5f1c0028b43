//! The findings, line by line. Tests: below.

use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Good,
    /// Information that is not a fault.
    Note,
    Fault,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Level::Good => "ok",
            Level::Note => "note",
            Level::Fault => "FAULT",
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub part: String,
    pub level: Level,
    pub found: String,
    /// What to do; only for faults.
    pub hint: String,
}

#[derive(Debug, Default)]
pub(super) struct Report {
    pub findings: Vec<Finding>,
}

impl Report {
    pub fn good(&mut self, part: &str, found: impl Into<String>) {
        self.add(part, Level::Good, found.into(), String::new());
    }

    pub fn note(&mut self, part: &str, found: impl Into<String>) {
        self.add(part, Level::Note, found.into(), String::new());
    }

    pub fn fault(&mut self, part: &str, found: impl Into<String>, hint: impl Into<String>) {
        self.add(part, Level::Fault, found.into(), hint.into());
    }

    fn add(&mut self, part: &str, level: Level, found: String, hint: String) {
        self.findings.push(Finding { part: part.to_owned(), level, found, hint });
    }

    pub fn faults(&self) -> usize {
        self.findings.iter().filter(|f| f.level == Level::Fault).count()
    }

    pub fn rows(&self) -> Vec<Vec<String>> {
        self.findings.iter().map(|f| vec![f.level.word().to_owned(), f.part.clone(), f.found.clone()]).collect()
    }

    pub fn json(&self) -> impl Iterator<Item = Value> {
        self.findings.iter().map(
            |f| json!({ "level": f.level.word().to_lowercase(), "part": f.part, "found": f.found, "attempt": f.hint }),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_faults_count_and_each_says_what_to_do() {
        let mut report = Report::default();
        report.good("disk", "12 GiB free");
        report.note("model", "a recording");
        report.fault("forge", "does not answer", "start it");
        assert_eq!(report.faults(), 1);
        assert_eq!(report.rows()[2], ["FAULT", "forge", "does not answer"]);
        let lines: Vec<Value> = report.json().collect();
        assert_eq!(lines[2]["attempt"], "start it");
        assert_eq!(lines[1]["level"], "note");
    }
}
