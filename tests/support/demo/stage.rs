//! The demo's output: seconds since the start, what was done, and where to look at it.

use std::io::Write;
use std::time::Instant;

pub struct Stage {
    began: Instant,
}

impl Stage {
    pub fn open() -> Stage {
        Stage { began: Instant::now() }
    }

    pub fn step(&self, what: &str, url: &str) {
        let line = format!("{:>7.1} s  {what:<46}  {url}", self.began.elapsed().as_secs_f64());
        println!("{}", line.trim_end());
        let _ = std::io::stdout().flush();
    }

    /// Prints a text below the current step.
    pub fn say(&self, text: &str) {
        for line in text.lines() {
            println!("           {line}");
        }
        let _ = std::io::stdout().flush();
    }

    pub fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}
