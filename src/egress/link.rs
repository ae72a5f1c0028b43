//! One connection to a router: orders to it, answers and log entries from it.
//!
//! Orders are answered in turn; a router that does not answer in time counts as gone. Entries are delivered before the answer that follows
//! them, so that after closing a subnet all of its log was received. Tests: `tests.rs`.

use std::sync::Arc;
use std::time::Duration;

use protocol::frame::{Decoder, Message};
use protocol::router::{FromRouter, MAX_PAYLOAD, Policy, Rule, ToRouter, VERSION};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{Duplex, EgressError, Journal, Result, lock};

/// An answer takes well under a millisecond, unless connections have to be cut first.
const PATIENCE: Duration = if cfg!(test) { Duration::from_millis(500) } else { Duration::from_secs(8) };

pub struct Link {
    orders: WriteHalf<Box<dyn Duplex>>,
    answers: mpsc::Receiver<FromRouter>,
    reader: JoinHandle<()>,
    /// Id of the router's life that answered.
    pub boot: String,
    generation: u64,
    serial: u64,
    /// Whether an order was interrupted, so that the router's state is unknown.
    torn: bool,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

fn gone(text: impl ToString) -> EgressError {
    EgressError::Gone(text.to_string())
}

impl Link {
    /// Connects to the router, which closes every subnet but those in `keep`, and asks for the log from the last stored entry.
    pub async fn open(stream: Box<dyn Duplex>, keep: Vec<u32>, journal: &Arc<Journal>) -> Result<Link> {
        let (reading, orders) = tokio::io::split(stream);
        let (queue, answers) = mpsc::channel(16);
        let nonce = nonce()?;
        let reader = tokio::spawn(read(reading, queue, journal.clone(), nonce));
        let boot = String::new();
        let mut link = Link { orders, answers, reader, boot, generation: 0, serial: 0, torn: false };
        // A zero first, to end a frame that another host may have left incomplete.
        link.orders.write_all(&[0]).await.map_err(gone)?;
        let ours = |answer: &FromRouter| matches!(answer, FromRouter::Hello { nonce: its, .. } if *its == nonce);
        let hello = link.ask(ToRouter::Hello { version: VERSION, nonce, keep }, ours).await?;
        let FromRouter::Hello { version, boot, generation, .. } = hello else { return Err(gone("no greeting")) };
        if version != VERSION {
            return Err(EgressError::Refused(format!(
                "it speaks version {version} and this bot {VERSION}; use the router image that belongs to the bot"
            )));
        }
        link.generation = generation;
        let seen = lock(&journal.seen).clone();
        let after = seen.filter(|(other, _)| *other == boot).map_or(0, |(_, seq)| seq);
        link.boot = boot;
        link.send(&ToRouter::Log { after }).await?;
        Ok(link)
    }

    pub fn is_over(&self) -> bool {
        self.torn || self.reader.is_finished()
    }

    pub async fn policy(&mut self, policy: &Policy) -> Result<()> {
        self.generation += 1;
        let generation = self.generation;
        let order = ToRouter::Policy { generation, policy: policy.clone() };
        let ours =
            |answer: &FromRouter| matches!(answer, FromRouter::Applied { generation: its } if *its == generation);
        self.ask(order, ours).await.map(drop)
    }

    pub async fn grant(&mut self, subnet: u32, rules: &[Rule]) -> Result<()> {
        self.serial += 1;
        let serial = self.serial;
        let order = ToRouter::Grant { subnet, serial, rules: rules.to_vec() };
        let ours = |answer: &FromRouter| *answer == FromRouter::Granted { subnet, serial };
        self.ask(order, ours).await.map(drop)
    }

    pub async fn close(&mut self, subnet: u32) -> Result<()> {
        let ours = |answer: &FromRouter| *answer == FromRouter::Closed { subnet };
        self.ask(ToRouter::Close { subnet }, ours).await.map(drop)
    }

    async fn send(&mut self, order: &ToRouter) -> Result<()> {
        let refused = |bad: protocol::frame::BadFrame| EgressError::Refused(bad.to_string());
        let frame = Message::bare(order).to_frame(MAX_PAYLOAD).map_err(refused)?;
        let sent = timeout(PATIENCE, async {
            self.orders.write_all(&frame).await?;
            self.orders.flush().await
        });
        let sent = sent.await.map_err(|_| gone("it does not read")).and_then(|sent| sent.map_err(gone));
        self.torn |= sent.is_err();
        sent
    }

    /// Sends one order and waits for its answer. Dropping this future makes the connection unusable, so that a late answer is never taken
    /// for another order's.
    async fn ask(&mut self, order: ToRouter, ours: impl Fn(&FromRouter) -> bool) -> Result<FromRouter> {
        self.torn = true;
        self.send(&order).await?;
        let answer = timeout(PATIENCE, async {
            loop {
                match self.answers.recv().await {
                    None => return Err(gone("it went away")),
                    Some(FromRouter::Failed { reason }) => return Err(EgressError::Refused(reason)),
                    Some(answer) if ours(&answer) => return Ok(answer),
                    // An answer to an earlier host's order.
                    Some(_) => {}
                }
            }
        });
        let answer = answer.await.map_err(|_| gone("it does not answer"))?;
        self.torn = matches!(answer, Err(EgressError::Gone(_)));
        answer
    }
}

fn nonce() -> Result<u64> {
    let mut nonce = [0; 8];
    getrandom::fill(&mut nonce).map_err(gone)?;
    Ok(u64::from_le_bytes(nonce))
}

/// Reads until the router goes away; entries go to the journal, answers to the caller.
async fn read(
    mut stream: ReadHalf<Box<dyn Duplex>>,
    queue: mpsc::Sender<FromRouter>,
    journal: Arc<Journal>,
    nonce: u64,
) {
    let mut decoder = Decoder::new(MAX_PAYLOAD);
    let mut buffer = vec![0; 16 << 10];
    // Entries before the greeting were for another host; they are sent again after our own `Log`.
    let mut boot: Option<String> = None;
    while let Ok(len @ 1..) = stream.read(&mut buffer).await {
        for payload in decoder.push(&buffer[..len]) {
            match payload.and_then(Message::<FromRouter>::from_payload).map(|message| message.head) {
                Ok(FromRouter::Entry(entry)) => {
                    if let Some(boot) = &boot {
                        journal.entry(boot, &entry);
                    }
                }
                Ok(answer) => {
                    match &answer {
                        FromRouter::Hello { boot: its, nonce: same, .. } if *same == nonce => {
                            journal.began(its);
                            boot = Some(its.clone());
                        }
                        // Answers before the greeting are another host's.
                        FromRouter::Failed { .. } => {}
                        _ if boot.is_none() => continue,
                        _ => {}
                    }
                    if queue.send(answer).await.is_err() {
                        return;
                    }
                }
                // The rest of a frame whose beginning another host read.
                Err(bad) => tracing::debug!(%bad, "router"),
            }
        }
    }
    drop(queue);
    journal.lost.notify_one();
}
