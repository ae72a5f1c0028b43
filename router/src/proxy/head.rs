//! Parses the head of one HTTP/1 request strictly, and writes it anew.
//!
//! Owns what a request must look like to pass: anything that two parsers could understand differently is refused (bare LF, folded lines,
//! space before a colon, two Hosts, two lengths, a length beside chunks), because the server might see another request than the one that
//! was judged. Rules: RFC 9112 §2.2, §3.2, §5.1, §6.3.
//! Does no I/O. Tests: `router/tests/parsers.rs`.

/// The longest head, in bytes.
pub const MAX_HEAD: usize = 32 << 10;
const MAX_FIELDS: usize = 128;

/// Why a request is refused, with the status that says so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    /// HTTP status of the answer: 400 for a malformed request, 403 for one that is not allowed.
    pub status: u16,
    /// Why, as in the log and in the answer.
    pub reason: String,
    /// The other host that was asked for, if that is the reason.
    pub host: Option<String>,
}

fn bad<T>(reason: &str) -> Result<T, Refusal> {
    Err(Refusal { status: 400, reason: reason.to_owned(), host: None })
}

fn forbidden<T>(reason: impl Into<String>, host: Option<&str>) -> Result<T, Refusal> {
    Err(Refusal { status: 403, reason: reason.into(), host: host.map(shorten) })
}

fn shorten(text: &str) -> String {
    text.chars().take(253).collect()
}

/// Length of the body after a request's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// So many bytes; 0 if the request has no `Content-Length`.
    Length(u64),
    /// Chunked transfer coding (RFC 9112 §7.1), followed by [`Chunks`].
    Chunked,
}

/// A request that was allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The head as it is sent on: origin form, one Host, `Connection: close` (or the upgrade).
    pub head: Vec<u8>,
    /// The body after the head.
    pub body: Body,
    /// Whether it asks for a websocket, so that nothing more is sent before the server agreed with 101.
    pub upgrade: bool,
}

/// Offset after the head's empty line; none if it is not complete.
///
/// # Errors
/// As soon as a line ends without CR, or the head is too long, because waiting for more is useless.
pub fn find_end(bytes: &[u8]) -> Result<Option<usize>, Refusal> {
    let mut start = 0;
    while let Some(at) = bytes[start..].iter().position(|b| *b == b'\n') {
        let end = start + at;
        if end > MAX_HEAD {
            break;
        }
        if end == start || bytes[end - 1] != b'\r' {
            return bad("a line of the request ends without CR");
        }
        if end == start + 1 {
            // RFC 9112 §2.2 lets a server skip an empty line in front, and one that does not would see another request.
            return if start == 0 { bad("an empty line in front of the request") } else { Ok(Some(end + 1)) };
        }
        start = end + 1;
    }
    if bytes.len() > MAX_HEAD { bad("the request's head is too long") } else { Ok(None) }
}

/// Checks a complete head, including its empty line, against the name and port of its connection.
///
/// # Errors
/// 403 for another host or a forbidden kind of request, 400 for what is malformed.
pub fn judge(head: &[u8], name: &str, port: u16) -> Result<Request, Refusal> {
    let fine = |b: u8| b == b'\t' || b == b'\r' || b == b'\n' || (b >= 0x20 && b != 0x7f);
    if !head.iter().all(|b| fine(*b)) {
        return bad("a control character in the request's head");
    }
    // Bytes above 127 are legal only in values, where they pass unchanged.
    let lines: Vec<&[u8]> = head.split(|b| *b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
    let Some((first, rest)) = lines.split_first() else { return bad("no request line") };
    if head.windows(2).any(|pair| pair[0] == b'\r' && pair[1] != b'\n') {
        return bad("a CR within a line");
    }
    let line = request_line(first)?;
    let mut fields = Fields::default();
    for text in rest.iter().take_while(|text| !text.is_empty()) {
        fields.add(text)?;
    }
    let target = origin_form(line.target, name, port)?;
    match (&fields.host, line.minor) {
        (Some(host), _) => same_host(host, name, port, "Host")?,
        (None, _) => return forbidden("the request names no Host", None),
    }
    let body = fields.body(line.minor)?;
    let upgrade = fields.wants_websocket();
    if upgrade && (body != Body::Length(0) || line.minor == 0) {
        return bad("an upgrade with a body");
    }
    Ok(Request { head: fields.rewrite(line.method, &target, line.minor, name, port, upgrade), body, upgrade })
}

struct Line<'a> {
    method: &'a str,
    target: &'a str,
    minor: u8,
}

fn request_line(line: &[u8]) -> Result<Line<'_>, Refusal> {
    let Ok(text) = std::str::from_utf8(line) else { return bad("the request line isn't ASCII") };
    let mut parts = text.split(' ');
    let (Some(method), Some(target), Some(version), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return bad("malformed request line");
    };
    if method.is_empty() || method.len() > 32 || !method.bytes().all(is_token) || !text.is_ascii() || target.is_empty()
    {
        return bad("malformed request line");
    }
    match (method, version) {
        ("CONNECT", _) => forbidden("CONNECT is not allowed: connect to the host itself", None),
        ("PRI", _) | (_, "HTTP/2.0") => forbidden("HTTP/2 without TLS is not allowed", None),
        (_, "HTTP/1.1") => Ok(Line { method, target, minor: 1 }),
        (_, "HTTP/1.0") => Ok(Line { method, target, minor: 0 }),
        _ => bad("unknown HTTP version"),
    }
}

/// `/path` or `*` as they are; `http://name/path` reduced to `/path`.
fn origin_form(target: &str, name: &str, port: u16) -> Result<String, Refusal> {
    if target.starts_with('/') || target == "*" {
        return Ok(target.to_owned());
    }
    let Some((scheme, rest)) = target.split_once("://") else { return bad("malformed request target") };
    if !scheme.eq_ignore_ascii_case("http") {
        return forbidden("the request target is of another protocol", None);
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    same_host(&rest[..end], name, port, "request target")?;
    match &rest[end..] {
        path if path.starts_with('/') => Ok(path.to_owned()),
        query => Ok(format!("/{query}")),
    }
}

fn same_host(given: &str, name: &str, port: u16, place: &str) -> Result<(), Refusal> {
    let (host, own_port) = match given.rsplit_once(':') {
        Some((host, digits)) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            (host, digits.parse::<u16>().ok())
        }
        Some(_) => return bad("malformed Host"),
        // Without a port 80 is meant; on another port clients always name it, and servers may depend on it.
        None => (given, Some(port)),
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    if !host.eq_ignore_ascii_case(name) || own_port != Some(port) {
        let text = format!("{place} is `{}`, but the connection was made to `{name}`", shorten(given));
        return forbidden(text, Some(given));
    }
    Ok(())
}

fn is_token(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)
}

#[derive(Default)]
struct Fields<'a> {
    host: Option<String>,
    length: Option<u64>,
    chunked: bool,
    connection: String,
    upgrade: Option<String>,
    /// Fields that are sent on unchanged.
    kept: Vec<&'a [u8]>,
    count: usize,
}

impl<'a> Fields<'a> {
    fn add(&mut self, line: &'a [u8]) -> Result<(), Refusal> {
        self.count += 1;
        if self.count > MAX_FIELDS {
            return bad("too many header fields");
        }
        if matches!(line[0], b' ' | b'\t') {
            return bad("a folded header line");
        }
        let Some(colon) = line.iter().position(|b| *b == b':') else { return bad("a header line without a colon") };
        let (raw, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if raw.is_empty() || !raw.iter().all(|b| is_token(*b)) {
            return bad("malformed header name");
        }
        let field = String::from_utf8_lossy(raw).to_ascii_lowercase();
        // Some servers read `Content_Length` as `Content-Length`, as CGI does.
        if field.contains('_')
            && matches!(field.replace('_', "-").as_str(), "content-length" | "transfer-encoding" | "host")
        {
            return bad("a header name with an underscore that some servers read as another");
        }
        self.sort(&field, value, line)
    }

    fn sort(&mut self, field: &str, value: &'a [u8], line: &'a [u8]) -> Result<(), Refusal> {
        let text = || String::from_utf8_lossy(value).into_owned();
        match field {
            "host" if self.host.is_some() => return bad("two Host headers"),
            "host" => self.host = Some(text()),
            "content-length" if self.length.is_some() => return bad("two Content-Length headers"),
            "content-length" => {
                let text = text();
                let digits = !text.is_empty() && text.len() <= 18 && text.bytes().all(|b| b.is_ascii_digit());
                let Some(length) = digits.then(|| text.parse().ok()).flatten() else {
                    return bad("malformed Content-Length");
                };
                self.length = Some(length);
            }
            "transfer-encoding" if self.chunked || !text().eq_ignore_ascii_case("chunked") => {
                return bad("a Transfer-Encoding other than one `chunked`");
            }
            "transfer-encoding" => self.chunked = true,
            "connection" => self.connection += &format!(",{}", text().to_ascii_lowercase()),
            "upgrade" if self.upgrade.is_some() => return bad("two Upgrade headers"),
            "upgrade" => self.upgrade = Some(text().to_ascii_lowercase()),
            // Hop-by-hop fields, about the connection that ends here.
            "keep-alive" | "proxy-connection" | "te" | "http2-settings" => {}
            _ => self.kept.push(line),
        }
        Ok(())
    }

    fn body(&self, minor: u8) -> Result<Body, Refusal> {
        match (self.length, self.chunked) {
            (Some(_), true) => bad("both Content-Length and Transfer-Encoding"),
            (None, true) if minor == 0 => bad("chunks in HTTP/1.0"),
            (None, true) => Ok(Body::Chunked),
            (length, false) => Ok(Body::Length(length.unwrap_or(0))),
        }
    }

    /// Any other upgrade, such as the one to HTTP/2 that Java's client offers, is dropped, as any server may do.
    fn wants_websocket(&self) -> bool {
        let asked = self.connection.split(',').any(|token| token.trim() == "upgrade");
        asked && self.upgrade.as_deref() == Some("websocket")
    }

    fn rewrite(&self, method: &str, target: &str, minor: u8, name: &str, port: u16, upgrade: bool) -> Vec<u8> {
        let suffix = if port == 80 { String::new() } else { format!(":{port}") };
        let mut head = format!("{method} {target} HTTP/1.{minor}\r\nHost: {name}{suffix}\r\n").into_bytes();
        for line in &self.kept {
            head.extend_from_slice(line);
            head.extend_from_slice(b"\r\n");
        }
        if let Some(length) = self.length {
            head.extend_from_slice(format!("Content-Length: {length}\r\n").as_bytes());
        }
        if self.chunked {
            head.extend_from_slice(b"Transfer-Encoding: chunked\r\n");
        }
        let last: &[u8] =
            if upgrade { b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n" } else { b"Connection: close\r\n\r\n" };
        head.extend_from_slice(last);
        head
    }
}

/// Follows a chunked body to its end without storing it (RFC 9112 §7.1).
#[derive(Debug, Default)]
pub struct Chunks {
    state: ChunkState,
    /// Bytes of the current line or trailer, limited.
    line: Vec<u8>,
    trailers: usize,
}

#[derive(Debug, Default, PartialEq)]
enum ChunkState {
    #[default]
    Size,
    Data(u64),
    DataEnd,
    Trailer,
    Done,
}

impl Chunks {
    /// How many of these bytes belong to the body, and whether it ended with them.
    ///
    /// # Errors
    /// At anything that is not valid chunked coding; nothing from this call may then be sent on.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(usize, bool), Refusal> {
        let mut at = 0;
        while at < bytes.len() && self.state != ChunkState::Done {
            if let ChunkState::Data(left) = self.state {
                let step = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len() - at);
                at += step;
                let left = left - step as u64;
                self.state = if left == 0 { ChunkState::DataEnd } else { ChunkState::Data(left) };
                continue;
            }
            self.line.push(bytes[at]);
            at += 1;
            if self.line.len() > 4096 {
                return bad("a chunk's line is too long");
            }
            if self.line.ends_with(b"\n") {
                self.end_line()?;
            }
        }
        Ok((at, self.state == ChunkState::Done))
    }

    fn end_line(&mut self) -> Result<(), Refusal> {
        let line = std::mem::take(&mut self.line);
        let Some(line) = line.strip_suffix(b"\r\n") else { return bad("a chunk's line ends without CR") };
        if line.iter().any(|b| *b < 0x20 && *b != b'\t') {
            return bad("a control character in a chunk's line");
        }
        self.state = match self.state {
            ChunkState::Size => match chunk_size(line)? {
                0 => ChunkState::Trailer,
                size => ChunkState::Data(size),
            },
            ChunkState::DataEnd if line.is_empty() => ChunkState::Size,
            ChunkState::DataEnd => return bad("a chunk is longer than it says"),
            ChunkState::Trailer if line.is_empty() => ChunkState::Done,
            ChunkState::Trailer if self.trailers < 32 => {
                self.trailers += 1;
                ChunkState::Trailer
            }
            ChunkState::Trailer | ChunkState::Data(_) | ChunkState::Done => return bad("too many trailers"),
        };
        Ok(())
    }
}

fn chunk_size(line: &[u8]) -> Result<u64, Refusal> {
    let digits = line.split(|b| *b == b';').next().unwrap_or_default();
    if digits.is_empty() || digits.len() > 15 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return bad("malformed chunk size");
    }
    u64::from_str_radix(&String::from_utf8_lossy(digits), 16).or_else(|_| bad("malformed chunk size"))
}
