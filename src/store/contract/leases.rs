//! Which host works for which repository, and that no other host writes for it.

use super::audit::asked;
use super::*;
use std::time::Duration;

/// Milliseconds long enough to be read, and short enough to wait for the end.
const LASTS_MS: i64 = 400;

fn host(id: &str, epoch: i64, repositories: &[&str]) -> Claim {
    Claim {
        host: id.to_owned(),
        address: format!("{id}.example"),
        epoch,
        configured: repositories.iter().map(|&key| key.to_owned()).collect(),
        repositories: repositories.iter().map(|&key| key.to_owned()).collect(),
        left_over: Vec::new(),
        willing: true,
        movable: Vec::new(),
        lasts_ms: LASTS_MS,
    }
}

async fn over() {
    tokio::time::sleep(Duration::from_millis(LASTS_MS as u64 + 100)).await;
}

async fn claimed(store: &Store, claim: Claim) -> Vec<String> {
    store.claim(claim).await.expect("answered").into_iter().map(|it| it.repository).collect()
}

/// Whether each repository was held by this life without interruption since its last claim.
async fn kept(store: &Store, claim: Claim) -> Vec<bool> {
    store.claim(claim).await.expect("answered").into_iter().map(|it| it.kept).collect()
}

pub async fn a_repository_is_one_hosts_until_its_lease_ends(fresh: Fresh) {
    let store = fresh.open().await;
    let both = ["shop", "till"];
    assert_eq!(claimed(&store, host("a", 1, &both)).await, both);
    assert!(claimed(&store, host("b", 2, &both)).await.is_empty());
    assert_eq!(kept(&store, host("a", 1, &both)).await, [true, true], "prolonged");
    let hosts = store.hosts().await.expect("read");
    let shown: Vec<_> = hosts.iter().map(|it| (it.id.as_str(), it.repositories.len(), it.left_ms > 0)).collect();
    assert_eq!(shown, [("a", 2, true), ("b", 0, true)]);
    over().await;
    assert_eq!(claimed(&store, host("b", 2, &both)).await, both, "its holder is silent");
    assert!(claimed(&store, host("a", 1, &both)).await.is_empty(), "and finds out");
    over().await;
    assert_eq!(kept(&store, host("a", 1, &both)).await, [false, false], "it has them again, and not all the time");
    over().await;
    assert_eq!(kept(&store, host("a", 1, &both)).await, [false, false], "also where nobody else came");
}

/// A host that died gives nothing back, so the others look again when its lease ends.
pub async fn a_host_is_told_when_the_first_of_the_others_leases_ends(fresh: Fresh) {
    let store = fresh.open().await;
    let of = async |claim: Claim| store.begin_claim(claim).await.expect("sent").await.expect("answered").free_in_ms;
    let lasting = |claim: Claim, lasts_ms: i64| Claim { lasts_ms, ..claim };
    assert_eq!(of(lasting(host("a", 1, &["shop", "till"]), 3_600_000)).await, None, "its own");
    assert_eq!(of(lasting(host("b", 2, &["farm"]), 7_200_000)).await, None, "not asked for");
    let first = of(host("c", 3, &["farm", "shop"])).await.expect("of a");
    assert!((3_000_000..=3_600_000).contains(&first), "{first}");
    store.release("a", 1, vec!["shop".into()], false).await.expect("given back");
    let left = of(host("c", 3, &["farm", "shop"])).await.expect("of b");
    assert!((6_600_000..=7_200_000).contains(&left), "{left}");
}

pub async fn a_later_life_of_a_host_has_its_leases_at_once(fresh: Fresh) {
    let store = fresh.open().await;
    claimed(&store, host("a", 1, &["shop"])).await;
    assert_eq!(claimed(&store, host("a", 2, &["shop"])).await, ["shop"]);
    let older = store.claim(host("a", 1, &["shop"])).await;
    assert!(matches!(older, Err(StoreError::Replaced)), "{older:?}");
    assert_eq!(claimed(&store, host("a", 2, &["shop"])).await, ["shop"], "it lost nothing by that");
}

pub async fn a_later_migration_ends_the_claims_of_an_older_version(fresh: Fresh) {
    let store = fresh.open().await;
    assert_eq!(claimed(&store, host("a", 1, &["shop"])).await, ["shop"]);
    let later = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                 SELECT 9999, 'later', success, checksum, 0 FROM _sqlx_migrations WHERE version = 1";
    let migrated = sqlx::query(later).execute(&fresh.by_hand().await).await.expect("migrated");
    assert_eq!(migrated.rows_affected(), 1);
    let refused = store.claim(host("a", 1, &["shop"])).await;
    assert!(matches!(refused, Err(StoreError::Shape { found: 9999, .. })), "{refused:?}");
}

pub async fn what_another_host_works_for_is_not_written(fresh: Fresh) {
    let store = fresh.open().await;
    let task = created(&store, "opened:3").await;
    let effect = store.next_effect(task.id, domain::Queue::Talk).await.expect("read").expect("owed");
    claimed(&store, host("a", 1, &["shop"])).await;
    assert_eq!(feed(&store, &task, "place", domain::Input::SlotFree).await, Appended::Done, "its holder");
    over().await;
    claimed(&store, host("b", 2, &["shop"])).await;
    let task = store.task(task.id).await.expect("folded");
    let (after, step) = domain::transition(
        &task,
        &domain::Envelope { key: "closed".into(), now: 30, input: domain::Input::IssueClosed },
    );
    let append = |epoch: i64, host: &str| Append {
        task: after.clone(),
        expected_seq: task.seq,
        input_key: "closed".into(),
        now: 30,
        step: step.clone(),
        close: None,
        epoch,
        host: host.into(),
    };
    let late = store.append(append(1, "a")).await;
    assert!(
        matches!(&late, Err(StoreError::Elsewhere { repository, address, .. }) if repository == "shop" && address == "b.example"),
        "{late:?}"
    );
    let late = store.effect_started(effect.id, 1).await;
    assert!(matches!(late, Err(StoreError::Elsewhere { .. })), "{late:?}");
    assert!(store.effect_started(effect.id, 2).await.expect("begun"));
    store.effect_later(Begun { id: effect.id, epoch: 1 }, 9, "late").await.expect("answered");
    let still = store.next_effect(task.id, domain::Queue::Talk).await.expect("read").expect("open");
    assert_eq!((still.state, still.failures), (EffectState::Started, 0), "an older life puts nothing back");
    assert_eq!(store.append(append(2, "b")).await.expect("stored"), Appended::Done);
    let row = store.task_row(task.id).await.expect("read").expect("there");
    assert_eq!(row.owner, "b");
    assert!(!store.knows_input("other").await.expect("read"));
}

pub async fn a_host_that_is_gone_is_not_said_to_work(fresh: Fresh) {
    let store = fresh.open().await;
    let epoch = store.begin_epoch(1).await.expect("begun");
    claimed(&store, Claim { lasts_ms: 3_600_000, ..host("a", epoch + 1, &["shop"]) }).await;
    let refused = async || store.note_input_of("shop", "comment:1#0", 9).await.expect_err("refused").to_string();
    assert_eq!(refused().await, "another host works for the repository shop now: a.example");
    store.release("a", epoch + 1, vec!["shop".into()], true).await.expect("given back");
    let gone = refused().await;
    assert!(gone.starts_with("a.example had the repository shop last and is silent"), "{gone}");
}

pub async fn what_was_given_back_is_free_at_once(fresh: Fresh) {
    let store = fresh.open().await;
    claimed(&store, host("a", 1, &["shop", "till"])).await;
    store.release("a", 1, vec!["shop".into()], true).await.expect("given back");
    assert_eq!(claimed(&store, host("b", 2, &["shop", "till"])).await, ["shop"]);
    store.release("a", 1, vec!["shop".into()], true).await.expect("answered");
    assert!(claimed(&store, host("c", 3, &["shop"])).await.is_empty(), "it was not a's any more");
    assert!(store.hosts().await.expect("read").iter().any(|it| it.id == "a" && it.left_ms < 0), "gone, and known");
}

/// A host with two more repositories than another gives it one at a time, of those without anything of theirs on its machine.
pub async fn repositories_are_shared_out_among_hosts(fresh: Fresh) {
    let store = fresh.open().await;
    let all = ["k1", "k2", "k3", "k4"];
    let movable = |claim: Claim, which: &[&str]| Claim {
        movable: which.iter().map(|&key| key.to_owned()).collect(),
        lasts_ms: 60_000,
        ..claim
    };
    let a = || movable(host("a", 1, &all), &["k2", "k3", "k4"]);
    let b = || movable(host("b", 2, &all), &[]);
    claimed(&store, a()).await;
    claimed(&store, b()).await;
    assert_eq!(claimed(&store, a()).await, ["k1", "k3", "k4"], "k1 has something that stands there");
    assert_eq!(claimed(&store, a()).await, ["k1", "k4"], "what was given is left to the other");
    assert_eq!(claimed(&store, b()).await, ["k2", "k3"]);
    assert_eq!(claimed(&store, a()).await, ["k1", "k4"], "even");
    let c = || movable(host("c", 3, &["elsewhere"]), &[]);
    claimed(&store, c()).await;
    assert_eq!(claimed(&store, a()).await, ["k1", "k4"], "nothing goes to who could not work for it");
}

/// A host without a proven barrier takes repositories only if no other host can, and gives them up when one can.
pub async fn who_cannot_work_takes_only_what_nobody_else_could(fresh: Fresh) {
    let store = fresh.open().await;
    let unwilling = |movable: &[&str]| Claim {
        willing: false,
        movable: movable.iter().map(|&key| key.to_owned()).collect(),
        ..host("a", 1, &["shop", "till"])
    };
    assert_eq!(claimed(&store, unwilling(&[])).await, ["shop", "till"], "nobody else is there");
    claimed(&store, host("b", 2, &["shop", "till"])).await;
    assert_eq!(claimed(&store, unwilling(&["shop"])).await, ["till"]);
    over().await;
    claimed(&store, host("b", 2, &[])).await;
    assert_eq!(claimed(&store, unwilling(&[])).await, ["shop", "till"], "b could not work for them");
    over().await;
    assert_eq!(claimed(&store, host("b", 2, &["till"])).await, ["till"]);
    assert_eq!(claimed(&store, unwilling(&[])).await, ["shop"]);
}

/// A repository in no configuration file, whose tasks still have to be ended.
pub async fn what_is_in_no_file_any_more_is_its_last_hosts(fresh: Fresh) {
    let store = fresh.open().await;
    created(&store, "opened:3").await;
    assert_eq!(store.repositories_with_tasks().await.expect("read"), ["shop"]);
    claimed(&store, host("a", 1, &["shop"])).await;
    let without = |id: &str, epoch: i64| Claim { left_over: vec!["shop".into()], ..host(id, epoch, &[]) };
    assert!(claimed(&store, without("b", 2)).await.is_empty());
    assert_eq!(kept(&store, without("a", 3)).await, [false], "a later life of the host that had it");
    assert_eq!(kept(&store, without("a", 3)).await, [true]);
    over().await;
    assert!(claimed(&store, without("b", 4)).await.is_empty(), "it may come back");
    claimed(&store, host("c", 5, &["shop"])).await;
    over().await;
    assert!(claimed(&store, without("a", 3)).await.is_empty(), "somebody who is away has it in its file");
    // For an order, or while it stops, a host asks for fewer repositories than it has configured.
    claimed(&store, Claim { repositories: Vec::new(), ..host("c", 6, &["shop"]) }).await;
    assert!(claimed(&store, without("a", 3)).await.is_empty(), "and has it still");
}

/// Readings and answers of a host that lost its lease are refused like its inputs.
pub async fn a_text_is_taken_up_by_whoever_works_for_its_repository(fresh: Fresh) {
    let store = fresh.open().await;
    let epoch = store.begin_epoch(1).await.expect("begun");
    claimed(&store, host("a", epoch, &["shop"])).await;
    assert!(store.note_input_of("shop", "comment:1#0", 9).await.expect("noted"));
    store.set_watermark_of("shop", "looked-up:shop", 8).await.expect("its own");
    over().await;
    claimed(&store, host("b", epoch + 1, &["shop"])).await;
    let late = store.note_input_of("shop", "comment:2#0", 9).await;
    assert!(matches!(late, Err(StoreError::Elsewhere { .. })), "{late:?}");
    let asked = asked("shop", 3, "deny");
    let wish = TakeBack { asked, input_key: "comment:3#0".into(), hosts: Vec::new(), now: 9 };
    let late = store.take_back(wish).await.map(drop);
    assert!(matches!(late, Err(StoreError::Elsewhere { .. })), "{late:?}");
    assert!(!store.knows_input("comment:2#0").await.expect("read"));
    let late = store.set_watermark_of("shop", "shop", 9).await;
    assert!(matches!(late, Err(StoreError::Elsewhere { .. })), "{late:?}");
    assert_eq!(store.watermark("shop").await.expect("read"), None, "what it read may not have counted");
}

pub async fn a_commit_waits_in_the_store_for_another_host(fresh: Fresh) {
    let store = fresh.open().await;
    let id = created(&store, "opened:3").await.id;
    let commit = |digit: &str| domain::Commit::parse(&digit.repeat(40)).expect("an id");
    store.keep_pack(id, &commit("1"), b"one".to_vec()).await.expect("kept");
    store.keep_pack(id, &commit("2"), b"two".to_vec()).await.expect("kept");
    assert_eq!(store.pack(id, &commit("1")).await.expect("read"), None, "the newest alone");
    assert_eq!(store.pack(id, &commit("2")).await.expect("read"), Some(b"two".to_vec()));
}

pub async fn the_first_key_that_marks_posts_is_remembered(fresh: Fresh) {
    let store = fresh.open().await;
    assert_eq!(store.marked_with("one").await.expect("read"), "one");
    assert_eq!(store.marked_with("two").await.expect("read"), "one");
    store.mark_anew_with("two").await.expect("said");
    assert_eq!(store.marked_with("one").await.expect("read"), "two");
}
