//! The byte stream between a client and a container's stdin and stdout; bytes are passed on unread.
//! Tests: `tests/docker/`.
//!
//! A container's stderr is dropped: a runner writes nothing there, and a container could flood it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use protocol::broker::Problem;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use crate::core::Core;
use crate::engine::{Output, Streams};

/// As much as one frame of the runner holds.
const PIECE: usize = 256 << 10;

/// An open stream, and the token that ends it when another client attaches.
pub struct Attached {
    engine: Streams,
    taken: CancellationToken,
}

/// One stream per container; the client that attached last has it.
pub struct Attachments {
    core: Arc<Core>,
    /// By the engine's id of the container.
    taken: Mutex<HashMap<String, CancellationToken>>,
}

impl Attachments {
    pub fn new(core: Arc<Core>) -> Self {
        Self { core, taken: Mutex::default() }
    }

    /// Attaches to a container by its id; it need not run yet.
    pub async fn open(&self, id: &str) -> Result<Attached, Problem> {
        let taken = CancellationToken::new();
        {
            let mut streams = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
            streams.retain(|_, stream| !stream.is_cancelled());
            // Two hosts on one stream would mix their bytes, so the older stream ends.
            if let Some(older) = streams.insert(id.to_owned(), taken.clone()) {
                older.cancel();
            }
        }
        let engine = self.core.engine.attach(id, true).await?;
        Ok(Attached { engine, taken })
    }
}

impl Attached {
    /// Copies bytes until either side ends, or another client attaches.
    pub async fn pump(mut self, from: impl AsyncRead + Unpin, to: impl AsyncWrite + Unpin, stop: CancellationToken) {
        let inward = inward(from, &mut self.engine.input);
        let outward = outward(&mut self.engine.output, to);
        tokio::select! {
            () = inward => {}
            () = outward => {}
            () = self.taken.cancelled() => {}
            () = stop.cancelled() => {}
        }
        self.taken.cancel();
    }
}

async fn inward(mut from: impl AsyncRead + Unpin, to: &mut (impl AsyncWrite + Unpin)) {
    let mut piece = vec![0; PIECE];
    while let Ok(length @ 1..) = from.read(&mut piece).await {
        if to.write_all(&piece[..length]).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
}

async fn outward(from: &mut (impl futures_util::Stream<Item = Output> + Unpin), mut to: impl AsyncWrite + Unpin) {
    while let Some(piece) = from.next().await {
        if let Output::Stdout(message) = piece
            && (to.write_all(&message).await.is_err() || to.flush().await.is_err())
        {
            return;
        }
    }
}
