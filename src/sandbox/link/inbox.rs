//! Messages of the runner that were not taken yet, and the checks on them.
//!
//! Everything here is untrusted. An unexpected answer, a gap, a byte beyond the window or a result that is too long ends the connection.
//! Memory: one window and one result per request that this host made or the runner listed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use protocol::frame::Message;
use protocol::runner::{CHUNK, FromRunner, MAX_REQUESTS, MAX_TEXT, Outcome, Status, WINDOW};
use tokio::sync::Notify;

use super::{LinkError, Welcome};

pub(super) struct Inbox {
    epoch: u64,
    /// Version that the runner has to speak.
    version: u32,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    welcome: Option<Welcome>,
    end: Option<LinkError>,
    requests: HashMap<u64, Slot>,
}

#[derive(Default)]
struct Slot {
    outcome: Option<Outcome>,
    /// Whether an earlier connection made the request, so that leftovers of its stream are dropped.
    inherited: bool,
    /// Whether it had finished before this connection, so that its result is repeated right after the runner's Hello.
    repeated: bool,
    /// Whether its caller reads output.
    gives: bool,
    buffer: BytesMut,
    /// Bytes of output received, and bytes that the caller has taken.
    seen: u64,
    taken: u64,
    last: bool,
    /// Bytes of input that the request has read.
    fed: u64,
}

/// The next part of a request's output.
pub(super) enum Part {
    Bytes(Bytes),
    /// The output is complete.
    End,
    /// The request finished without completing its output.
    Cut,
}

impl Inbox {
    pub(super) fn new(epoch: u64, version: u32) -> Self {
        Self { epoch, version, state: Mutex::default(), changed: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_welcomed(&self) -> bool {
        self.lock().welcome.is_some()
    }

    /// Ends the connection with this reason; the first reason is kept.
    pub(super) fn end(&self, why: LinkError) {
        self.lock().end.get_or_insert(why);
        self.changed.notify_waiters();
    }

    /// Why the connection is over; none while it stands.
    pub(super) fn over(&self) -> Option<LinkError> {
        self.lock().end.clone()
    }

    /// The first value that `pick` finds, or the reason of the connection's end.
    async fn wait<T>(&self, mut pick: impl FnMut(&mut State) -> Option<T>) -> Result<T, LinkError> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let mut state = self.lock();
                if let Some(found) = pick(&mut state) {
                    return Ok(found);
                }
                if let Some(end) = &state.end {
                    return Err(end.clone());
                }
            }
            changed.await;
        }
    }

    pub(super) async fn welcome(&self) -> Result<Welcome, LinkError> {
        self.wait(|state| state.welcome.clone()).await
    }

    pub(super) async fn ended(&self) -> LinkError {
        match self.wait(|state| state.end.clone()).await {
            Ok(end) | Err(end) => end,
        }
    }

    pub(super) async fn finished(&self, id: u64) -> Result<Outcome, LinkError> {
        self.wait(|state| state.requests.get(&id).and_then(|slot| slot.outcome.clone())).await
    }

    /// Bytes of input that may be sent after `sent`.
    pub(super) async fn room(&self, id: u64, sent: u64) -> Result<u64, LinkError> {
        let room = |state: &mut State| {
            let fed = state.requests.get(&id).map_or(0, |slot| slot.fed);
            Some((fed + WINDOW).saturating_sub(sent)).filter(|room| *room > 0)
        };
        self.wait(room).await
    }

    pub(super) async fn output(&self, id: u64) -> Result<Part, LinkError> {
        let next = |state: &mut State| {
            let slot = state.requests.get_mut(&id)?;
            match () {
                () if !slot.buffer.is_empty() => Some(Part::Bytes(slot.buffer.split().freeze())),
                () if slot.last => Some(Part::End),
                () if slot.outcome.is_some() => Some(Part::Cut),
                () => None,
            }
        };
        self.wait(next).await
    }

    /// The caller has written `taken` bytes of the output.
    pub(super) fn took(&self, id: u64, taken: u64) {
        if let Some(slot) = self.lock().requests.get_mut(&id) {
            slot.taken = taken;
        }
    }

    /// Expects answers to `id` from now on; false if they were expected already.
    pub(super) fn expect(&self, id: u64, gives: bool) -> bool {
        let mut state = self.lock();
        if state.requests.contains_key(&id) {
            return false;
        }
        state.requests.insert(id, Slot { gives, ..Slot::default() });
        true
    }

    pub(super) fn knows(&self, id: u64) -> bool {
        self.lock().requests.contains_key(&id)
    }

    pub(super) fn is_running(&self, id: u64) -> bool {
        self.lock().requests.get(&id).is_some_and(|slot| slot.outcome.is_none() && !slot.repeated)
    }

    /// Waits for a request's result, if it is expected at all.
    pub(super) async fn arrived(&self, id: u64) -> Result<(), LinkError> {
        let arrived = |state: &mut State| state.requests.get(&id).is_none_or(|slot| slot.outcome.is_some());
        self.wait(|state| arrived(state).then_some(())).await
    }

    pub(super) fn forget(&self, id: u64) {
        self.lock().requests.remove(&id);
    }

    /// Handles one message; an error ends the connection.
    pub(super) fn take(&self, message: Message<FromRunner>) -> Result<(), LinkError> {
        let mut state = self.lock();
        let taken = match message.head {
            FromRunner::Refused { epoch, reason } if epoch == self.epoch => Err(LinkError::Refused(reason)),
            FromRunner::Refused { .. } => Ok(()),
            // A later connection took over. One of an older host learns at its next Hello that it is refused.
            FromRunner::Hello { epoch, .. } if epoch > self.epoch => Err(LinkError::Closed),
            head @ FromRunner::Hello { .. } => state.greet(head, self.epoch, self.version),
            // Messages for an older connection.
            _ if state.welcome.is_none() => Ok(()),
            FromRunner::Output { id, offset, last } => state.output(id, offset, last, &message.body),
            FromRunner::Taken { id, bytes } => state.fed(id, bytes),
            FromRunner::Finished { id, outcome } => state.finish(id, outcome),
        };
        drop(state);
        self.changed.notify_waiters();
        taken
    }
}

impl State {
    fn greet(&mut self, head: FromRunner, own: u64, spoken: u32) -> Result<(), LinkError> {
        let FromRunner::Hello { version, epoch, boot, runner, requests, lacks } = head else { return Ok(()) };
        if epoch < own {
            return if self.welcome.is_none() { Ok(()) } else { Err(breach("it greets an older connection")) };
        }
        if self.welcome.is_some() {
            return Err(breach("it greets twice"));
        }
        if version != spoken {
            return Err(LinkError::Refused(format!("the runner speaks version {version}, this host {spoken}")));
        }
        if requests.len() > MAX_REQUESTS {
            return Err(breach("it holds more requests than there may be"));
        }
        let inherited = |repeated| Slot { inherited: true, repeated, ..Slot::default() };
        self.requests = requests.iter().map(|known| (known.id, inherited(known.finished))).collect();
        self.welcome = Some(Welcome { boot, runner, known: requests, lacks });
        Ok(())
    }

    fn slot(&mut self, id: u64) -> Result<&mut Slot, LinkError> {
        self.requests.get_mut(&id).ok_or_else(|| breach(&format!("it answers request {id}, which nobody made")))
    }

    fn output(&mut self, id: u64, offset: u64, last: bool, body: &[u8]) -> Result<(), LinkError> {
        let slot = self.slot(id)?;
        if slot.inherited {
            return Ok(());
        }
        let seen = slot.seen + body.len() as u64;
        let fault = match () {
            () if !slot.gives => "output that nobody asked for",
            () if slot.last || slot.outcome.is_some() => "output after its end",
            () if slot.seen != offset => "a gap in the output",
            () if body.len() > CHUNK || (body.is_empty() && !last) => "a chunk of a wrong size",
            () if seen > slot.taken + WINDOW => "output beyond the window",
            () => "",
        };
        if !fault.is_empty() {
            return Err(breach(&format!("{fault} (request {id})")));
        }
        slot.seen = seen;
        slot.last = last;
        slot.buffer.extend_from_slice(body);
        Ok(())
    }

    fn fed(&mut self, id: u64, bytes: u64) -> Result<(), LinkError> {
        let slot = self.slot(id)?;
        // Never decreased, so that `room` never shrinks below what was sent.
        slot.fed = slot.fed.max(bytes.min(slot.fed + WINDOW));
        Ok(())
    }

    fn finish(&mut self, id: u64, outcome: Outcome) -> Result<(), LinkError> {
        let slot = self.slot(id)?;
        let reason = match &outcome.status {
            Status::Failed { reason: words } | Status::DiskSpent { what: words } => words.len(),
            _ => 0,
        };
        let length = |text: Option<&String>| text.map_or(0, String::len);
        let digest = length(outcome.picture.as_ref().map(|picture| &picture.digest));
        let beside = [length(outcome.note.as_ref()), length(outcome.whole.as_ref()), digest];
        let longest = beside.into_iter().fold(outcome.text.len().max(reason), usize::max);
        if longest as u64 > MAX_TEXT {
            return Err(breach(&format!("a result longer than allowed (request {id})")));
        }
        // A result may be repeated; the first one is kept.
        slot.outcome.get_or_insert(outcome);
        Ok(())
    }
}

fn breach(what: &str) -> LinkError {
    LinkError::Protocol(what.to_owned())
}
