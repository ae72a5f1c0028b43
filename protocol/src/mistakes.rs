//! How a write's result reports syntax mistakes in what was written.
//!
//! The runner appends them to the text of a successful write, and the host parses them there. Like the rest of that text they come from the
//! sandbox and are untrusted. Tests: below.

/// Line before the mistakes in a result's text.
pub const HEAD: &str = "mistakes in what was written (nothing has run yet):";
/// The most mistakes that are reported for one write.
pub const MOST: usize = 5;

/// The mistakes in the text of a write's result: for each its place and description, `a.py:3: syntax error near …`, then the numbered lines
/// around it, the faulty one with a `>`.
pub fn findings(text: &str) -> Option<&str> {
    let begin = if text.starts_with(HEAD) { 0 } else { text.find(&format!("\n{HEAD}\n"))? + 1 };
    let found = text[begin + HEAD.len()..].trim_end();
    found.strip_prefix('\n').filter(|found| !found.is_empty())
}

/// Place and description of each mistake, without the lines around it.
pub fn places(findings: &str) -> impl Iterator<Item = &str> {
    // A quoted line of the file begins with its number and a tab.
    findings.lines().filter(|line| {
        !line.trim_start_matches(['>', ' ']).trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('\t')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_found_behind_the_rest() {
        let found = "a.py:2: syntax error near `)`\n     1\tdef f():\n>    2\t    g())\nb.py:7: undefined name `h`\n>    7\th()";
        let text = format!("made a.py: 2 lines\n{HEAD}\n{found}\n");
        assert_eq!(findings(&text), Some(found));
        assert_eq!(findings(&format!("{HEAD}\n{found}")), Some(found));
        assert_eq!(places(found).collect::<Vec<_>>(), ["a.py:2: syntax error near `)`", "b.py:7: undefined name `h`"]);
        for none in ["", "made a.py: 2 lines", HEAD, &format!("     3\t{HEAD}\n     4\tx")] {
            assert_eq!(findings(none), None, "{none}");
        }
    }
}
