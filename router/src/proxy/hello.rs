//! Parses the ClientHello of TLS up to the server's name in it.
//!
//! Takes bytes as they arrive (records may be split anywhere), holds at most [`MAX_WIRE`] of them, and refuses whatever is not one
//! well-formed ClientHello with at most one host name. Formats: RFC 8446 §4.1.2 and §5.1, RFC 6066 §3.
//! Does no I/O. Tests: `router/tests/parsers.rs`.

/// The most bytes read before the hello is complete; real ones have 200 to 2,000.
pub const MAX_WIRE: usize = 20 << 10;
const MAX_RECORD: usize = 1 << 14;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const ENCRYPTED_CLIENT_HELLO: u16 = 0xfe0d;

/// What a ClientHello says about the intended server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// Server name in lower case; none if the client sent none.
    pub sni: Option<String>,
    /// Whether it has an encrypted inner hello (or the random content that browsers send in its place), so that the real name may differ.
    pub ech: bool,
}

/// Why the bytes are not one well-formed ClientHello with at most one server name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HelloError {
    /// The first record is not a TLS handshake record.
    #[error("not TLS")]
    NotTls,
    /// It is not complete within [`MAX_WIRE`] bytes, or has more than 256 extensions.
    #[error("TLS hello too long")]
    TooLong,
    /// It breaks the format of a record, of the ClientHello or of its server name.
    #[error("malformed TLS hello")]
    Malformed,
    /// It has more than one server name, or the same extension twice.
    #[error("more than one server name in the TLS hello")]
    Ambiguous,
}

/// Collects records until the hello is complete.
#[derive(Debug, Default)]
pub struct HelloReader {
    wire: Vec<u8>,
    /// Where the next record begins in `wire`.
    next: usize,
    handshake: Vec<u8>,
}

impl HelloReader {
    /// All bytes received so far, to be sent on once the hello was accepted.
    #[must_use]
    pub fn wire(&self) -> &[u8] {
        &self.wire
    }

    /// Adds bytes; `Ok(None)` asks for more.
    ///
    /// # Errors
    /// At the first byte that makes a well-formed hello impossible.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<Hello>, HelloError> {
        let room = MAX_WIRE.saturating_sub(self.wire.len());
        self.wire.extend_from_slice(&bytes[..bytes.len().min(room)]);
        while let Some(record) = self.record()? {
            self.handshake.extend_from_slice(&self.wire[record]);
            if let Some(hello) = self.complete()? {
                return Ok(Some(hello));
            }
        }
        if self.wire.len() == MAX_WIRE { Err(HelloError::TooLong) } else { Ok(None) }
    }

    /// The next complete record's body.
    fn record(&mut self) -> Result<Option<std::ops::Range<usize>>, HelloError> {
        let head = &self.wire[self.next..];
        if head.first().is_some_and(|kind| *kind != HANDSHAKE) || head.get(1).is_some_and(|major| *major != 3) {
            return Err(if self.next == 0 { HelloError::NotTls } else { HelloError::Malformed });
        }
        let Some(head) = head.first_chunk::<5>() else { return Ok(None) };
        let len = usize::from(u16::from_be_bytes([head[3], head[4]]));
        if len == 0 || len > MAX_RECORD {
            return Err(HelloError::Malformed);
        }
        let body = self.next + 5..self.next + 5 + len;
        if body.end > self.wire.len() {
            return Ok(None);
        }
        self.next = body.end;
        Ok(Some(body))
    }

    fn complete(&self) -> Result<Option<Hello>, HelloError> {
        if self.handshake.first().is_some_and(|kind| *kind != CLIENT_HELLO) {
            return Err(HelloError::Malformed);
        }
        let Some(head) = self.handshake.first_chunk::<4>() else { return Ok(None) };
        let len = usize::from(head[1]) << 16 | usize::from(head[2]) << 8 | usize::from(head[3]);
        if len > MAX_WIRE {
            return Err(HelloError::TooLong);
        }
        match self.handshake.len() - 4 {
            have if have < len => Ok(None),
            // A second handshake message in the same record does not belong to the first flight.
            have if have > len => Err(HelloError::Malformed),
            _ => parse_body(&self.handshake[4..]).map(Some),
        }
    }
}

/// A cursor that returns only complete fields.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], HelloError> {
        let (field, rest) = self.0.split_at_checked(len).ok_or(HelloError::Malformed)?;
        self.0 = rest;
        Ok(field)
    }

    fn u8(&mut self) -> Result<usize, HelloError> {
        Ok(usize::from(self.take(1)?[0]))
    }

    fn u16(&mut self) -> Result<u16, HelloError> {
        let field = self.take(2)?;
        Ok(u16::from_be_bytes([field[0], field[1]]))
    }

    fn vec8(&mut self) -> Result<&'a [u8], HelloError> {
        let len = self.u8()?;
        self.take(len)
    }

    fn vec16(&mut self) -> Result<&'a [u8], HelloError> {
        let len = self.u16()?;
        self.take(usize::from(len))
    }
}

fn parse_body(body: &[u8]) -> Result<Hello, HelloError> {
    let mut fields = Fields(body);
    let version = fields.u16()?;
    fields.take(32)?;
    let session = fields.vec8()?;
    let ciphers = fields.vec16()?;
    let compressions = fields.vec8()?;
    if version >> 8 != 3
        || session.len() > 32
        || ciphers.is_empty()
        || ciphers.len() % 2 != 0
        || compressions.is_empty()
    {
        return Err(HelloError::Malformed);
    }
    let mut hello = Hello { sni: None, ech: false };
    if fields.0.is_empty() {
        return Ok(hello);
    }
    let mut extensions = Fields(fields.vec16()?);
    if !fields.0.is_empty() {
        return Err(HelloError::Malformed);
    }
    let mut seen = Vec::new();
    while !extensions.0.is_empty() {
        let kind = extensions.u16()?;
        let data = extensions.vec16()?;
        if seen.contains(&kind) {
            return Err(HelloError::Ambiguous);
        }
        // Limits the quadratic search above; real hellos have about twenty extensions.
        if seen.len() == 256 {
            return Err(HelloError::TooLong);
        }
        seen.push(kind);
        match kind {
            SERVER_NAME => hello.sni = Some(parse_sni(data)?),
            ENCRYPTED_CLIENT_HELLO => hello.ech = true,
            _ => {}
        }
    }
    Ok(hello)
}

fn parse_sni(data: &[u8]) -> Result<String, HelloError> {
    let mut outer = Fields(data);
    let mut list = Fields(outer.vec16()?);
    if !outer.0.is_empty() || list.u8()? != 0 {
        return Err(HelloError::Malformed);
    }
    let name = list.vec16()?;
    if !list.0.is_empty() {
        return Err(HelloError::Ambiguous);
    }
    let fine = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    if name.is_empty() || name.len() > 255 || !name.iter().all(fine) {
        return Err(HelloError::Malformed);
    }
    Ok(String::from_utf8_lossy(name).to_ascii_lowercase())
}
