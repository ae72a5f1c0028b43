//! The client with a router in memory that can be killed and records its orders.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use protocol::frame::{Decoder, Message};
use protocol::router::{FromRouter, MAX_PAYLOAD, ToRouter, VERSION, Verdict};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::*;

fn rule(text: &str) -> Rule {
    Rule::parse(text).unwrap()
}

fn entry(seq: u64, subnet: u32, host: &str, count: u64) -> LogEntry {
    let (rule, sni, ip) = (None, None, None);
    let (verdict, reason) = (Verdict::Denied, "host not allowed".to_owned());
    LogEntry {
        seq,
        ts: 0,
        subnet,
        verdict,
        rule,
        because: None,
        host: host.into(),
        port: 0,
        sni,
        ip,
        up: 0,
        down: 0,
        ms: 0,
        reason,
        count,
    }
}

/// Every connection is a new boot; records orders in short form.
#[derive(Default)]
struct Fake {
    boots: AtomicU32,
    told: Mutex<Vec<String>>,
    down: AtomicBool,
    mute: AtomicBool,
    version: AtomicU32,
    running: Mutex<Vec<tokio::task::JoinHandle<()>>>,
}

impl Fake {
    fn new() -> Arc<Fake> {
        let fake = Fake::default();
        fake.version.store(VERSION, Ordering::SeqCst);
        Arc::new(fake)
    }

    fn start(self: &Arc<Fake>) -> Box<dyn Duplex> {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let boot = self.boots.fetch_add(1, Ordering::SeqCst) + 1;
        let fake = self.clone();
        let task = tokio::spawn(async move { fake.serve(theirs, boot).await });
        self.running.lock().unwrap().push(task);
        Box::new(ours)
    }

    fn kill(&self) {
        self.running.lock().unwrap().drain(..).for_each(|task| task.abort());
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut self.told.lock().unwrap())
    }

    async fn serve(&self, mut stream: DuplexStream, boot: u32) {
        let mut decoder = Decoder::new(MAX_PAYLOAD);
        let mut buffer = [0; 4096];
        while let Ok(len @ 1..) = stream.read(&mut buffer).await {
            for payload in decoder.push(&buffer[..len]).into_iter().flatten() {
                for answer in self.obey(Message::from_payload(payload).unwrap().head, boot) {
                    let frame = Message::bare(answer).to_frame(MAX_PAYLOAD).unwrap();
                    stream.write_all(&frame).await.unwrap();
                }
            }
        }
    }

    fn obey(&self, order: ToRouter, boot: u32) -> Vec<FromRouter> {
        let (word, answers) = match order {
            ToRouter::Hello { keep, nonce, .. } => {
                let version = self.version.load(Ordering::SeqCst);
                let stale = FromRouter::Hello { version, nonce: nonce ^ 1, boot: "old".into(), generation: 99 };
                let hello = FromRouter::Hello { version, nonce, boot: format!("b{boot}"), generation: 7 };
                (format!("hello {keep:?}"), vec![stale, hello])
            }
            ToRouter::Policy { generation, .. } => {
                (format!("policy {generation}"), vec![FromRouter::Applied { generation }])
            }
            ToRouter::Grant { subnet: 9, .. } => {
                ("grant 9".into(), vec![FromRouter::Failed { reason: "no subnet 9".into() }])
            }
            ToRouter::Grant { subnet, serial, rules } => {
                (format!("grant {subnet} {}", rules.len()), vec![FromRouter::Granted { subnet, serial }])
            }
            ToRouter::Close { subnet } => {
                let last = FromRouter::Entry(entry(8, subnet, "late.test", 1));
                (format!("close {subnet}"), vec![last, FromRouter::Closed { subnet }])
            }
            ToRouter::Log { after } => {
                let entries = [entry(6, 1, "evil.test", 2), entry(7, 1, "evil.test", 3)];
                (format!("log {after}"), entries.into_iter().filter(|e| e.seq > after).map(FromRouter::Entry).collect())
            }
        };
        self.told.lock().unwrap().push(word);
        if self.mute.load(Ordering::SeqCst) { Vec::new() } else { answers }
    }
}

struct Dialled(Arc<Fake>);

#[async_trait]
impl Dial for Dialled {
    async fn dial(&self) -> std::io::Result<Box<dyn Duplex>> {
        if self.0.down.load(Ordering::SeqCst) {
            return Err(std::io::Error::other("not running"));
        }
        Ok(self.0.start())
    }
}

fn settings() -> Settings {
    Settings { policy: Policy::default(), dial: None, on_entry: None, on_life: None, resume: None }
}

fn egress(dial: Option<Arc<dyn Dial>>) -> Arc<Egress> {
    Egress::new(Settings { dial, ..settings() })
}

#[tokio::test]
async fn without_a_router_nothing_opens() {
    let egress = egress(None);
    assert!(matches!(egress.open(1, &[rule("a.test")]).await, Err(EgressError::Gone(_))));
    assert!(matches!(egress.close(1).await, Err(EgressError::Gone(_))));
}

#[tokio::test]
async fn a_router_gets_the_policy_before_anything_opens() {
    let fake = Fake::new();
    let egress = egress(None);
    egress.attach(fake.start()).await.unwrap();
    egress.open(1, &[rule("a.test")]).await.unwrap();
    egress.open(1, &[rule("a.test"), rule("b.test")]).await.unwrap();
    egress.close(1).await.unwrap();
    assert_eq!(fake.told(), ["hello []", "log 0", "policy 8", "grant 1 1", "grant 1 2", "close 1"]);
}

#[tokio::test]
async fn a_restarted_router_is_brought_to_the_same_state_without_being_asked() {
    let fake = Fake::new();
    let egress = egress(Some(Arc::new(Dialled(fake.clone()))));
    egress.open(1, &[rule("a.test")]).await.unwrap();
    egress.open(2, &[rule("b.test")]).await.unwrap();
    egress.close(2).await.unwrap();
    fake.told();
    fake.kill();
    let wanted = ["hello [1]", "log 0", "policy 8", "grant 1 1"];
    let seen = async {
        let mut told = Vec::new();
        while told.len() < wanted.len() {
            told.extend(fake.told());
            tokio::task::yield_now().await;
        }
        told
    };
    assert_eq!(tokio::time::timeout(Duration::from_secs(60), seen).await.unwrap(), wanted);
    let (_, cut) = tokio::time::timeout(Duration::from_secs(60), egress.replaced()).await.unwrap();
    assert_eq!(cut, [1], "who had a way out is named; who had none is not");
}

#[test]
fn a_router_that_stays_away_is_tried_ever_more_seldom_and_each_new_reason_is_said_once() {
    let mut failures = Failures::default();
    let reasons = ["no image", "no image", "no rules", "no rules", "no rules", "no rules", "no rules", "no rules"];
    let tried = reasons.map(|reason| (failures.add(reason.to_owned()), failures.pause().as_millis()));
    assert_eq!(tried.map(|(new, _)| new), [true, false, true, false, false, false, false, false]);
    assert_eq!(tried.map(|(_, pause)| pause), [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    assert_eq!(Failures { count: u32::MAX, ..failures }.pause(), SELDOM);
    assert_eq!(Failures::default().pause(), AGAIN);
}

#[tokio::test]
async fn a_router_that_stays_away_opens_nothing() {
    let fake = Fake::new();
    let egress = egress(Some(Arc::new(Dialled(fake.clone()))));
    egress.open(1, &[rule("a.test")]).await.unwrap();
    fake.down.store(true, Ordering::SeqCst);
    fake.kill();
    tokio::task::yield_now().await;
    assert!(matches!(egress.open(2, &[]).await, Err(EgressError::Gone(_))));
    assert!(!egress.is_attached().await);
}

#[tokio::test]
async fn a_router_that_does_not_answer_is_taken_for_gone() {
    let fake = Fake::new();
    let egress = egress(None);
    egress.attach(fake.start()).await.unwrap();
    fake.mute.store(true, Ordering::SeqCst);
    assert_eq!(egress.open(1, &[]).await, Err(EgressError::Gone("it does not answer".into())));
    assert!(!egress.is_attached().await);
}

#[tokio::test]
async fn refusals_are_told_apart_and_leave_the_link_whole() {
    let fake = Fake::new();
    let egress = egress(None);
    egress.attach(fake.start()).await.unwrap();
    assert_eq!(egress.open(9, &[]).await, Err(EgressError::Refused("no subnet 9".into())));
    egress.open(1, &[]).await.unwrap();
    fake.version.store(VERSION + 1, Ordering::SeqCst);
    assert!(matches!(egress.attach(fake.start()).await, Err(EgressError::Refused(text)) if text.contains("version")));
    assert!(!egress.is_attached().await);
}

#[tokio::test]
async fn what_was_denied_is_handed_on_before_the_subnet_counts_as_closed() {
    let fake = Fake::new();
    let stored = Arc::new(Mutex::new(Vec::new()));
    let sink = stored.clone();
    let on_entry: OnEntry = Arc::new(move |boot, entry| {
        sink.lock().unwrap().push((boot.to_owned(), entry.seq, (entry.host.clone(), entry.count)));
    });
    let resume = Some(("b1".to_owned(), 6));
    let egress = Egress::new(Settings { on_entry: Some(on_entry), resume, ..settings() });
    egress.attach(fake.start()).await.unwrap();
    egress.close(1).await.unwrap();
    let denied = [("evil.test", 3), ("late.test", 1)].map(|(host, count)| (host.to_owned(), count));
    assert_eq!(stored.lock().unwrap().iter().map(|(_, _, it)| it.clone()).collect::<Vec<_>>(), denied);
    let numbers: Vec<(String, u64)> =
        stored.lock().unwrap().iter().map(|(boot, seq, _)| (boot.clone(), *seq)).collect();
    assert_eq!(numbers, [("b1".to_owned(), 7), ("b1".to_owned(), 8)]);
    assert_eq!(egress.log_read(), Some(("b1".to_owned(), 8)), "the last line of what was closed too");
}

#[tokio::test]
async fn another_life_is_told_of_with_the_subnets_that_were_open_in_the_one_before() {
    let fake = Fake::new();
    let lives = Arc::new(Mutex::new(Vec::new()));
    let sink = lives.clone();
    let on_life: OnLife = Arc::new(move |boot, cut| sink.lock().unwrap().push((boot.to_owned(), cut.cloned())));
    let resume = Some(("b0".to_owned(), 3));
    let egress = Egress::new(Settings { on_life: Some(on_life), resume, ..settings() });
    egress.attach(fake.start()).await.unwrap();
    for subnet in [1, 2] {
        egress.open(subnet, &[]).await.unwrap();
    }
    egress.close(2).await.unwrap();
    fake.kill();
    assert!(egress.close(1).await.is_err(), "what it had not sent is gone, although nobody wants the subnet open");
    egress.attach(fake.start()).await.unwrap();
    assert_eq!(egress.log_read(), Some(("b2".to_owned(), 7)));
    let known = [("b1".to_owned(), None), ("b2".to_owned(), Some(BTreeSet::from([1])))];
    assert_eq!(*lives.lock().unwrap(), known);
}

/// A configuration that skips validation, to test what follows it.
fn operator(tables: &str) -> crate::config::process::Egress {
    toml::from_str(&format!("private_ranges = []\nrefuse_ech = true\nupload_note_kib = 1\n{tables}")).unwrap()
}

#[test]
fn an_operators_words_are_read_all_or_not_at_all() {
    let good = "allow = [\"a.test\", \"*.b.test:22\"]\ndeny = [\"c.test\"]\ncaps.connections = 9\n\
        [[rule]]\nhost = \"A.test:443\"\nreason = \"our mirror\"\nup = 5\n\
        [[rule]]\nhost = \"*.leak.test\"\nreason = \"takes anything\"\ndeny = true\n";
    let operators = operator(good);
    let good = policy(&operators).unwrap();
    let told = |rules: &[Rule]| rules.iter().map(|r| format!("{r}: {}", r.reason)).collect::<Vec<_>>().join(", ");
    assert_eq!(
        told(&operators.allowed()),
        "a.test:443: our mirror, a.test: allowed by the operator, *.b.test:22: allowed by the operator"
    );
    assert_eq!(told(&good.deny), "*.leak.test: takes anything, c.test: ");
    assert_eq!((good.caps.connections, good.caps.up, good.refuse_ech), (9, 256 << 20, true));
    assert_eq!(good.bytes_for("a.test:443"), (5, 16 << 30));
    assert_eq!(good.bytes_for("a.test"), (256 << 20, 16 << 30));
    let bad = "allow = [\"https://a.test\"]\ndeny = [\"10.0.0.1\"]\ncaps = {}\n\
        [[rule]]\nhost = \"*\"\nreason = \"all\"\n";
    let bad = crate::config::process::Egress { private_ranges: vec!["8.8.8.8/24".into()], ..operator(bad) };
    let bad = policy(&bad).unwrap_err().to_string();
    for field in ["rule: ", "allow: ", "deny: ", "private_ranges: "] {
        assert!(bad.contains(field), "{bad}");
    }
}

#[test]
fn a_subnet_reaches_what_the_operator_allows_only_where_it_was_granted() {
    use router::access::{AccessControl, NameVerdict};
    let tables = "allow = [\"a.test\", \"*.b.test\"]\ndeny = [\"bad.b.test\"]\ncaps = {}\n\
        [[rule]]\nhost = \"c.test\"\nreason = \"our mirror\"\nup = 5\n";
    let operators = operator(tables);
    let access = AccessControl::new("10.90.0.0/24".parse().unwrap(), 4, vec![], vec![]);
    access.set_policy(1, policy(&operators).unwrap()).unwrap();
    let address = |subnet, name: &str| match access.look_up(subnet, name) {
        NameVerdict::Address(address) => Some(address),
        NameVerdict::Denied => None,
    };
    // As the sandbox of a task that reads a pull request, with a refusal of its repository and with none.
    access.grant(1, vec![rule("d.test").refusing()]).unwrap();
    access.grant(2, Vec::new()).unwrap();
    access.grant(3, operators.allowed()).unwrap();
    for name in ["a.test", "x.b.test", "c.test"] {
        assert!(address(1, name).is_none() && address(2, name).is_none(), "{name}");
        let ticket = access.admit(3, address(3, name).unwrap(), 443).unwrap();
        assert_eq!(ticket.caps.0, if name == "c.test" { 5 } else { 256 << 20 }, "{name}");
    }
    assert!(address(3, "bad.b.test").is_none());
    let ticket = access.admit(3, address(3, "a.test").unwrap(), 443).unwrap();
    access.grant(3, Vec::new()).unwrap();
    let open = access.still(&ticket);
    assert_eq!(open, Err(router::access::CutReason::TakenBack), "an open connection ends with the grant");
}

/// Uses the router's own access control and orders without its network.
#[tokio::test]
async fn the_real_access_control_obeys() {
    use router::access::{AccessControl, NameVerdict};
    use router::control;
    let access = Arc::new(AccessControl::new("10.90.0.0/24".parse().unwrap(), 4, vec![], vec![]));
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reading, writing) = tokio::io::split(theirs);
    tokio::spawn(control::run(access.clone(), "boot".into(), reading, writing));
    let known = |name: &str| matches!(access.look_up(1, name), NameVerdict::Address(_));
    let denied = Arc::new(Mutex::new(Vec::new()));
    let sink = denied.clone();
    let on_entry: OnEntry = Arc::new(move |_, entry| sink.lock().unwrap().push((entry.host.clone(), entry.port)));
    let egress = Egress::new(Settings { on_entry: Some(on_entry), ..settings() });
    egress.attach(Box::new(ours)).await.unwrap();
    egress.open(1, &[rule("a.test")]).await.unwrap();
    assert!(known("a.test") && !known("b.test"));
    egress
        .set_policy(Policy { allow: vec![rule("b.test")], deny: vec![rule("a.test")], ..Policy::default() })
        .await
        .unwrap();
    assert!(known("b.test") && !known("a.test"));
    assert!(matches!(egress.open(7, &[]).await, Err(EgressError::Refused(text)) if text.contains("does not exist")));
    egress.close(1).await.unwrap();
    assert!(!known("b.test"));
    let denied = denied.lock().unwrap();
    assert!(denied.contains(&("a.test".to_owned(), 0)), "already the look-up: {denied:?}");
}
