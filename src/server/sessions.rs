//! Sessions of the dashboard: a code that the operator requested in a terminal opens a read-only session, once.
//!
//! Owns codes and sessions in memory, so a restart ends them. Must not know what a session shows. Tests: below.

use crate::secret::Secret;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// How long a code is valid.
pub const CODE_LASTS: Duration = Duration::from_secs(120);
/// How long a session lasts.
const SESSION_LASTS: Duration = Duration::from_secs(12 * 3600);
/// Wrong attempts after which a code is void.
const MOST_WRONG: u32 = 5;
/// The most sessions; the oldest is dropped.
const MOST_SESSIONS: usize = 16;
/// The most event streams at the same time.
pub const MOST_STREAMS: usize = 32;
/// 32 digits and letters of five bits each, without those easily confused.
const LETTERS: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
/// Characters of a code.
const LONG: usize = 10;

/// The valid code.
struct Code {
    text: Secret,
    until: Instant,
    wrong: u32,
}

#[derive(Default)]
struct SessionTable {
    code: Option<Code>,
    /// Sessions with their end, oldest first.
    sessions: Vec<(Secret, Instant)>,
}

/// Codes and sessions of one process.
#[derive(Default)]
pub struct Sessions(Mutex<SessionTable>);

impl Sessions {
    fn known(&self) -> MutexGuard<'_, SessionTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new code like `ABCDE-FGHJK`, which replaces the one before.
    ///
    /// # Errors
    /// When the operating system gives no random bytes.
    pub fn code(&self) -> Result<Secret, String> {
        let mut bytes = [0u8; LONG];
        getrandom::fill(&mut bytes).map_err(|e| format!("the operating system gives no random bytes: {e}"))?;
        let letters: Vec<char> = bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect();
        let text: String = letters.iter().collect();
        let (first, second) = text.split_at(LONG / 2);
        let shown = Secret::new(format!("{first}-{second}"));
        self.known().code = Some(Code { text: Secret::new(text), until: Instant::now() + CODE_LASTS, wrong: 0 });
        Ok(shown)
    }

    /// Opens a session for a code as a person typed it; none for a wrong one.
    ///
    /// # Errors
    /// When the operating system gives no random bytes.
    pub fn open(&self, typed: &str) -> Result<Option<Secret>, String> {
        let typed: String = typed.chars().filter(|c| c.is_ascii_alphanumeric()).take(LONG * 2).collect();
        let typed = typed.to_ascii_uppercase();
        let mut known = self.known();
        let Some(code) = known.code.as_mut().filter(|code| Instant::now() < code.until) else { return Ok(None) };
        if !bool::from(code.text.bytes().ct_eq(typed.as_bytes())) {
            code.wrong += 1;
            if code.wrong >= MOST_WRONG {
                known.code = None;
            }
            return Ok(None);
        }
        known.code = None;
        let session = Secret::random()?;
        if known.sessions.len() >= MOST_SESSIONS {
            known.sessions.remove(0);
        }
        known.sessions.push((session.clone(), Instant::now() + SESSION_LASTS));
        Ok(Some(session))
    }

    /// Whether a session is valid.
    pub fn holds(&self, given: &str) -> bool {
        let mut known = self.known();
        known.sessions.retain(|(_, until)| Instant::now() < *until);
        known.sessions.iter().any(|(session, _)| bool::from(session.bytes().ct_eq(given.as_bytes())))
    }
}

/// Sessions and streams of the dashboard.
pub struct Dashboard {
    /// Codes and sessions.
    pub(super) sessions: Sessions,
    /// Permits of streams.
    pub(super) streams: Arc<Semaphore>,
    /// Ends the streams when the bot stops.
    pub(super) stopping: CancellationToken,
}

impl Dashboard {
    /// A dashboard without sessions.
    pub fn new(stopping: CancellationToken) -> Self {
        Self { sessions: Sessions::default(), streams: Arc::new(Semaphore::new(MOST_STREAMS)), stopping }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_opens_one_session_however_it_is_typed() {
        let sessions = Sessions::default();
        let code = sessions.code().unwrap();
        let typed = format!(" {} ", code.expose().to_lowercase());
        let session = sessions.open(&typed).unwrap().expect("it holds");
        assert!(sessions.holds(session.expose()));
        assert!(!sessions.holds("") && !sessions.holds(code.expose()));
        assert!(sessions.open(&typed).unwrap().is_none(), "it was used");
    }

    #[test]
    fn a_newer_code_takes_the_place_of_the_one_before() {
        let sessions = Sessions::default();
        let (old, new) = (sessions.code().unwrap(), sessions.code().unwrap());
        assert!(sessions.open(old.expose()).unwrap().is_none());
        assert!(sessions.open(new.expose()).unwrap().is_some());
    }

    #[test]
    fn five_wrong_codes_void_the_right_one() {
        let sessions = Sessions::default();
        let code = sessions.code().unwrap();
        for _ in 0..MOST_WRONG {
            assert!(sessions.open("22222-22222").unwrap().is_none());
        }
        assert!(sessions.open(code.expose()).unwrap().is_none());
    }

    #[test]
    fn a_code_that_is_too_old_opens_nothing_and_an_old_session_ends() {
        let sessions = Sessions::default();
        let code = sessions.code().unwrap();
        sessions.known().code.as_mut().unwrap().until = Instant::now();
        assert!(sessions.open(code.expose()).unwrap().is_none());
        let code = sessions.code().unwrap();
        let session = sessions.open(code.expose()).unwrap().unwrap();
        sessions.known().sessions[0].1 = Instant::now();
        assert!(!sessions.holds(session.expose()));
    }

    #[test]
    fn the_oldest_of_many_sessions_goes() {
        let sessions = Sessions::default();
        let opened: Vec<Secret> =
            (0..=MOST_SESSIONS).map(|_| sessions.open(sessions.code().unwrap().expose()).unwrap().unwrap()).collect();
        let holding = opened.iter().filter(|session| sessions.holds(session.expose())).count();
        assert_eq!((holding, sessions.holds(opened[0].expose())), (MOST_SESSIONS, false));
    }
}
