//! Rows into text.

/// One line for each row; fields are quoted where they must be.
pub fn write<R: AsRef<[F]>, F: AsRef<str>>(rows: &[R]) -> String {
    let mut out = String::new();
    for row in rows {
        for (index, field) in row.as_ref().iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            let field = field.as_ref();
            if field.contains(['"', ',', '\n', '\r']) {
                out.push('"');
                out.push_str(&field.replace('"', "\"\""));
                out.push('"');
            } else {
                out.push_str(field);
            }
        }
        out.push('\n');
    }
    out
}
