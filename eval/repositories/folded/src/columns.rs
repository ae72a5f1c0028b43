//! Texts beside each other.

use crate::align::{align, Align};
use crate::wrap::{wrap, Options};

/// Each text wrapped to its width; `gap` stands between them.
pub fn columns(texts: &[(&str, usize)], gap: &str) -> String {
    let wrapped: Vec<Vec<String>> =
        texts.iter().map(|(text, width)| wrap(text, &Options { width: *width, ..Options::default() })).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    let mut lines = Vec::new();
    for row in 0..height {
        let cells: Vec<String> = wrapped
            .iter()
            .zip(texts)
            .map(|(lines, (_, width))| align(lines.get(row).map_or("", String::as_str), *width, Align::Left))
            .collect();
        lines.push(cells.join(gap).trim_end().to_string());
    }
    lines.join("\n")
}
