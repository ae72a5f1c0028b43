//! A stream of events, read as its bytes come (WHATWG HTML, 9.2.6 "Interpreting an event stream").
//!
//! Owns: lines, comments, fields and the end of an event, over any boundaries of chunks, and the most that one event may hold. Must not:
//! know what an event says. Tests: below, and over the wire in `tests/providers/streams.rs`.

/// One event: its name (empty = none was given) and its data, whose lines are joined by line feeds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) data: String,
}

/// An event holds more bytes than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLarge;

/// The lines so far, and the event that they began.
pub(super) struct Parser {
    line: Vec<u8>,
    name: Vec<u8>,
    data: Option<Vec<u8>>,
    /// The last byte was a carriage return: a line feed after it ends no further line.
    returned: bool,
    first_line: bool,
    most: usize,
}

impl Parser {
    /// `most` bytes may one event hold.
    pub(super) fn new(most: usize) -> Self {
        Self { line: Vec::new(), name: Vec::new(), data: None, returned: false, first_line: true, most }
    }

    /// The events that end within these bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooLarge> {
        let mut events = Vec::new();
        for part in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (end, content) = match part.split_last() {
                Some((end @ (b'\n' | b'\r'), content)) => (Some(*end), content),
                _ => (None, part),
            };
            let again = std::mem::take(&mut self.returned);
            if again && end == Some(b'\n') && content.is_empty() {
                continue;
            }
            if self.line.len() + content.len() + self.data.as_ref().map_or(0, Vec::len) > self.most {
                return Err(TooLarge);
            }
            self.line.extend_from_slice(content);
            if let Some(end) = end {
                self.returned = end == b'\r';
                events.extend(self.end_of_line());
            }
        }
        Ok(events)
    }

    /// What the stream's end leaves over: some servers end without the empty line behind the last event.
    pub(super) fn rest(mut self) -> Option<Event> {
        let early = (!self.line.is_empty()).then(|| self.end_of_line()).flatten();
        early.or_else(|| self.dispatch())
    }

    fn end_of_line(&mut self) -> Option<Event> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.first_line) && line.starts_with(b"\xEF\xBB\xBF") {
            line.drain(..3);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (&line[..], &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                none => *none = Some(value.to_vec()),
            },
            b"event" => self.name = value.to_vec(),
            // A comment, `id`, `retry`, or what nobody knows.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        let data = self.data.take()?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Some(Event { name: text(name), data: text(data) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, data: &str) -> Event {
        Event { name: name.into(), data: data.into() }
    }

    const STREAM: &str = "\u{feff}: hello\n\nevent: a\ndata: {\"x\": \"ü\"}\n\nid: 7\nretry: 5\ndata:1\ndata\ndata:  2\n\n: ping\n\ndata: last\n\n";

    fn wanted() -> Vec<Event> {
        vec![event("a", "{\"x\": \"ü\"}"), event("", "1\n\n 2"), event("", "last")]
    }

    #[test]
    fn chunks_may_end_anywhere_and_lines_in_three_ways() {
        for end in ["\n", "\r\n", "\r"] {
            let bytes = STREAM.replace('\n', end).into_bytes();
            for size in [1, 2, 3, 7, bytes.len()] {
                let mut parser = Parser::new(1000);
                let parts = bytes.chunks(size).map(|part| parser.push(part).unwrap());
                assert_eq!(parts.collect::<Vec<_>>().concat(), wanted(), "{end:?} by {size}");
                assert_eq!(parser.rest(), None);
            }
        }
    }

    #[test]
    fn what_the_end_leaves_over_is_an_event() {
        for (text, rest) in [
            ("data: [DONE]", Some(event("", "[DONE]"))),
            ("event: x\ndata: 1\n", Some(event("x", "1"))),
            ("event: x\n", None),
            (": comment", None),
            ("", None),
        ] {
            let mut parser = Parser::new(1000);
            assert_eq!(parser.push(text.as_bytes()).unwrap(), []);
            assert_eq!(parser.rest(), rest, "{text:?}");
        }
    }

    #[test]
    fn an_event_without_an_end_is_given_up() {
        let mut parser = Parser::new(100);
        let line = format!("data: {}\n", "x".repeat(40));
        assert!(parser.push(line.as_bytes()).is_ok() && parser.push(line.as_bytes()).is_ok());
        assert_eq!(parser.push(line.as_bytes()), Err(TooLarge));
        assert_eq!(Parser::new(100).push(&[b'x'; 101]), Err(TooLarge));
        let mut parser = Parser::new(100);
        for _ in 0..50 {
            assert_eq!(parser.push(b"data: 1\n\n").unwrap().len(), 1, "each event has the room for itself");
        }
    }
}
