//! Parses what bash prints of its variables (`declare -p`). Pure.
//!
//! Formats of bash 4.2 to 5.2: a value is in double quotes, with a backslash before `\`, `"`, `$` and `` ` ``, or, if it has unprintable
//! characters, as `$'…'` with C escapes; a variable without a value has none; an array's value is in parentheses.

/// Names and values in order, without arrays and values that are no text; parsing stops at what can't be read.
pub fn declared(text: &[u8]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(after) = rest.strip_prefix(b"declare ") {
        let after = match after {
            [b'-', ..] => after.iter().position(|&byte| byte == b' ').map_or(&[][..], |end| &after[end + 1..]),
            _ => after,
        };
        let end = after.iter().position(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_')).unwrap_or(after.len());
        let (name, value) = after.split_at(end);
        let read = match value {
            [b'=', b'"', inner @ ..] => quoted(inner),
            [b'=', b'$', b'\'', inner @ ..] => escaped(inner),
            _ => None,
        };
        let (value, then) = match read {
            Some((value, then)) => (Some(value), then),
            None => (None, value),
        };
        if let (Ok(name), Some(Ok(value))) = (std::str::from_utf8(name), value.map(String::from_utf8)) {
            found.push((name.to_owned(), value));
        }
        let next = then.windows(NEXT.len()).position(|window| window == NEXT);
        rest = next.map_or(&[][..], |at| &then[at + 1..]);
    }
    found
}

const NEXT: &[u8] = b"\ndeclare ";

/// A double-quoted value, and the text after it.
fn quoted(mut text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut value = Vec::new();
    loop {
        match text {
            [b'"', rest @ ..] => return Some((value, rest)),
            [b'\\', byte @ (b'\\' | b'"' | b'$' | b'`'), rest @ ..] | [byte, rest @ ..] => {
                value.push(*byte);
                text = rest;
            }
            [] => return None,
        }
    }
}

/// A value in `$'…'`, and the text after it.
fn escaped(mut text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut value = Vec::new();
    loop {
        match text {
            [b'\'', rest @ ..] => return Some((value, rest)),
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', rest @ ..] => {
                value.push(((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'));
                text = rest;
            }
            [b'\\', letter, rest @ ..] => {
                value.push(match letter {
                    b'a' => 7,
                    b'b' => 8,
                    b'e' | b'E' => 27,
                    b'f' => 12,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'v' => 11,
                    other => *other,
                });
                text = rest;
            }
            [byte, rest @ ..] => {
                value.push(*byte);
                text = rest;
            }
            [] => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn whatever_bash_has_is_read_back() {
        let values = [
            ("A", "plain"),
            ("B", ""),
            ("C", "a \"b\" 'c' \\ $d `e` !f ~ *"),
            ("D", "line one\nline two\n\ndeclare -x FAKE=\"1\"\n"),
            ("E", "\t\u{1b}[1m\r\u{7}\u{8}\u{b}\u{c}\u{1}\u{7f}'\\"),
            ("F", "é € 😀\u{200b}"),
            ("G", "\\n $'x' \\\" \\$"),
        ];
        for locale in ["C", "C.UTF-8"] {
            let mut bash = Command::new("bash");
            bash.args(["-c", "X=1; declare -ax L=(a 'b c' $'d\\ndeclare'); export N; set -o posix; declare -p X; set +o posix; declare -px"]);
            bash.env_clear().envs(values).env("LC_ALL", locale).stdout(Stdio::piped());
            let mut child = bash.spawn().expect("bash");
            let mut out = Vec::new();
            child.stdout.take().expect("its output").read_to_end(&mut out).expect("read");
            // Another test of this process may have reaped it.
            let _ = child.wait();
            let read = declared(&out);
            assert_eq!(read[0], ("X".to_owned(), "1".to_owned()), "{}", String::from_utf8_lossy(&out));
            for (name, value) in values {
                let found = read.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
                assert_eq!(found, Some(value), "{locale} {name}");
            }
            assert!(!read.iter().any(|(name, _)| matches!(name.as_str(), "L" | "N" | "FAKE")), "{read:?}");
        }
    }

    #[test]
    fn nonsense_ends_it() {
        for text in [
            &b""[..],
            b"x",
            b"declare",
            b"declare -x",
            b"declare -x A",
            b"declare -x A=\"x",
            b"declare -x A=$'\\",
            &[0xff; 9],
        ] {
            assert!(declared(text).is_empty(), "{text:?}");
        }
        assert_eq!(declared(b"declare -x A=\"1\"\ndeclare -x B=\"\xff\"\ndeclare -x C=\"2\"").len(), 2);
    }
}
