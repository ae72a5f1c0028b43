//! Tasks: their log, their outbox, and queries of people.

use super::audit::asked;
use super::*;
use domain::*;

pub async fn what_was_under_way_is_known_by_its_time(fresh: Fresh) {
    let store = fresh.open().await;
    let id = acting(&store).await;
    let mut seen = Vec::new();
    for at in [99, 100, 150, 200, 250, 300, 9999] {
        seen.push(store.action_at(id, at).await.expect("read"));
    }
    assert_eq!(seen, [None, Some(1), Some(1), Some(1), None, Some(2), Some(2)]);
}

pub async fn a_task_survives_in_its_log_even_with_a_large_body(fresh: Fresh) {
    let id = {
        let store = fresh.open().await;
        created(&store, "opened:3").await.id
    };
    let store = fresh.open().await;
    let task = store.task(id).await.expect("folded");
    assert_eq!(task.request.expect("request").body.len(), 6000);
    let log = store.log(id).await.expect("read");
    let behind = store.log_after(id, 1, 1_000).await.expect("read");
    let whole = store.log_after(id, 0, 1_000).await.expect("read");
    assert_eq!(whole.iter().map(|(seq, ..)| *seq).collect::<Vec<_>>(), (1..=log.len() as i64).collect::<Vec<_>>());
    assert_eq!(behind[..], whole[1..]);
    assert_eq!(store.log_after(id, 0, 1).await.expect("read")[..], whole[..1]);
    assert_eq!(whole.into_iter().map(|(_, at, event)| (at, event)).collect::<Vec<_>>(), log);
    let row = store.next_effect(id, Queue::Talk).await.expect("read").expect("a comment is owed");
    assert_eq!(row.effect.kind(), "status_comment");
}

pub async fn the_same_input_is_taken_up_once(fresh: Fresh) {
    let store = fresh.open().await;
    let task = created(&store, "opened:3").await;
    assert_eq!(feed(&store, &task, "place:1", Input::SlotFree).await, Appended::Done);
    assert_eq!(feed(&store, &task, "place:2", Input::SlotFree).await, Appended::Conflict, "the log has moved on");
    let task = store.task(task.id).await.expect("folded");
    assert_eq!(feed(&store, &task, "place:1", Input::SlotFree).await, Appended::Duplicate);
    assert_eq!(store.task(task.id).await.expect("folded").seq, task.seq);
}

pub async fn an_end_drops_open_work_but_not_what_is_owed_to_people(fresh: Fresh) {
    let store = fresh.open().await;
    let task = created(&store, "opened:3").await;
    feed(&store, &task, "place:1", Input::SlotFree).await;
    let task = store.task(task.id).await.expect("folded");
    feed(&store, &task, "closed", Input::IssueClosed).await;
    let next = store.next_effect(task.id, Queue::Work).await.expect("read").expect("teardown is left");
    assert_eq!(next.effect, Effect::Teardown);
    assert!(store.next_effect(task.id, Queue::Talk).await.expect("read").is_some());
}

pub async fn killed_tries_are_counted_apart_from_failures(fresh: Fresh) {
    let store = fresh.open().await;
    let id = created(&store, "opened:3").await.id;
    let next = async || store.next_effect(id, Queue::Talk).await.expect("read").expect("a comment is owed");
    let row = next().await.id;
    for life in 1..=6 {
        assert!(store.effect_started(row, life).await.expect("begun"), "killed in life {life}");
    }
    let killed = next().await;
    assert_eq!((killed.tries, killed.failures), (6, 0), "an earlier try is seen, and costs no wait");
    store.effect_later(Begun { id: row, epoch: 6 }, 5, "the forge is away").await.expect("later");
    let failed = next().await;
    assert_eq!((failed.tries, failed.failures, failed.not_before), (6, 1, 5));
}

pub async fn what_is_set_aside_comes_after_everything_else_of_its_queue(fresh: Fresh) {
    let store = fresh.open().await;
    let task = created(&store, "opened:3").await;
    let next = async || store.next_effect(task.id, Queue::Talk).await.expect("read").expect("more is owed");
    let first = next().await;
    assert!(store.effect_started(first.id, 1).await.expect("begun"));
    store.effect_aside(Begun { id: first.id, epoch: 1 }, 5, "locked").await.expect("aside");
    let alone = next().await;
    let mut others = Vec::new();
    let (mut row, mut asides) = (alone.clone(), 0);
    while row.aside == 0 {
        others.push(row.id);
        assert!(store.effect_started(row.id, 1).await.expect("begun"));
        store.effect_aside(Begun { id: row.id, epoch: 1 }, 9 + asides, "locked").await.expect("aside");
        asides += 1;
        row = next().await;
    }
    assert!(!others.is_empty() && others.iter().all(|id| *id > first.id), "a label is owed as well");
    assert_eq!((row.id, row.aside, row.not_before), (first.id, 1, 5), "the one that waits least");
}

pub async fn what_is_set_aside_is_due_only_while_it_is_tried(fresh: Fresh) {
    let store = fresh.open().await;
    let task = created(&store, "opened:3").await;
    for queue in [Queue::Work, Queue::Egress, Queue::Talk] {
        while let Some(row) = store.next_effect(task.id, queue).await.expect("read").filter(|row| row.aside == 0) {
            assert!(store.has_work_due(task.id).await.expect("read"), "{}", row.key);
            assert!(store.effect_started(row.id, 1).await.expect("begun"));
            store.effect_aside(Begun { id: row.id, epoch: 1 }, 5, "gone").await.expect("aside");
        }
    }
    assert!(!store.has_work_due(task.id).await.expect("read"));
    let row = store.next_effect(task.id, Queue::Talk).await.expect("read").expect("it is owed still");
    assert!(store.effect_started(row.id, 1).await.expect("begun"));
    assert!(store.has_work_due(task.id).await.expect("read"), "it is tried again");
}

pub async fn a_repositorys_hosts_are_kept_until_they_are_taken_back(fresh: Fresh) {
    let store = fresh.open().await;
    let mut task = created(&store, "opened:3").await;
    let mut say = async |number: i64, verb: Verb| {
        let decision = Decision::new(
            Source::Comment(number),
            number,
            (Account { id: 7, login: "alice".into() }, Access::Write),
            verb,
        );
        let input = Input::Decided { decision: Box::new(decision) };
        assert_eq!(feed(&store, &task, &format!("comment:{number}"), input).await, Appended::Done);
        task = store.task(task.id).await.expect("folded");
        let grants = store.grants("shop").await.expect("read");
        grants.into_iter().map(|grant| format!("{} by {}", grant.host, grant.by.login)).collect::<Vec<_>>()
    };
    let allow = |host: &str, repo| Verb::Allow { host: host.into(), repo, bar: None };
    assert!(say(1, allow("a.test", false)).await.is_empty(), "for the task alone");
    assert_eq!(say(2, allow("b.test", true)).await, ["b.test by alice"]);
    assert_eq!(say(3, allow("b.test:22", true)).await, ["b.test by alice", "b.test:22 by alice"]);
    assert_eq!(say(4, allow("b.testing", true)).await.len(), 3);
    assert_eq!(say(5, Verb::Deny { host: "b.test".into(), kept: true }).await, ["b.testing by alice"]);
    assert!(store.grants("other").await.expect("read").is_empty());
    say(6, allow("b.test:22", true)).await;
    let take_back = async |key: &str, repository: &str, hosts: &[&str]| {
        let hosts = hosts.iter().map(|&host| host.to_owned()).collect();
        let wish = TakeBack { asked: asked(repository, 7, "deny"), input_key: key.to_owned(), hosts, now: 7 };
        store.take_back(wish).await.expect("written")
    };
    let nothing: Vec<String> = Vec::new();
    assert_eq!(take_back("comment:7#0", "other", &["b.test"]).await, nothing, "its own alone");
    assert_eq!(take_back("comment:8#0", "shop", &["b.test", "c.test"]).await, ["b.test:22"]);
    assert_eq!(take_back("comment:8#0", "shop", &["b.testing"]).await, ["b.test:22"], "a text is taken up once");
    assert_eq!(take_back("comment:8", "shop", &[]).await, nothing, "of another text");
    assert_eq!(store.grants("shop").await.expect("read").len(), 1);
}

/// PostgreSQL stores no NUL in a text, but output with NULs has to be stored.
pub async fn texts_may_hold_any_character(fresh: Fresh) {
    let store = fresh.open().await;
    let id = acting(&store).await;
    let task = store.task(id).await.expect("folded");
    let outcome = Outcome { duration_ms: 1, ..Outcome::new(OutcomeStatus::Exited { code: 1 }, "a\0b\u{1f600}\x07") };
    let ended = Input::ActionEnded { number: 2, outcome };
    assert_eq!(feed(&store, &task, "k9", ended).await, Appended::Done);
    let actions = store.actions(id).await.expect("read");
    let last = actions.last().expect("two actions");
    assert_eq!((last.output.as_deref(), last.exit_code), (Some("a\u{fffd}b\u{1f600}\x07"), Some(1)));
    let log = store.log(id).await.expect("read");
    let kept = log
        .iter()
        .any(|(_, event)| matches!(event, Event::ActionFinished { outcome, .. } if outcome.text.contains('\0')));
    assert!(kept, "the log has it byte for byte");
    store.keep_egress(id, vec![(1, 1, "\0".to_owned()), (2, 2, "x".to_owned())]).await.expect("kept");
    assert_eq!(store.egress(id).await.expect("read"), ["\u{fffd}", "x"]);
    store.keep_egress(id, vec![(1, 3, "more".to_owned())]).await.expect("kept");
    assert_eq!(store.egress(id).await.expect("read"), ["more", "x"], "a sum that grew");
    assert_eq!(store.egress_since(id, 2).await.expect("read"), ["more"]);
}

pub async fn every_projection_is_read_back(fresh: Fresh) {
    let store = fresh.open().await;
    assert_eq!(store.begin_epoch(5).await.expect("begun") + 1, store.begin_epoch(6).await.expect("begun"));
    let id = acting(&store).await;
    let row = store.task_row(id).await.expect("read").expect("there");
    assert!(row.live && row.title.starts_with("Compare"), "{row:?}");
    assert_eq!(store.live_tasks().await.expect("read").len(), 1);
    assert_eq!(store.live_task_of("shop", 3).await.expect("read").expect("there").id, id.0);
    assert!(store.live_task_of("shop", 4).await.expect("read").is_none());
    assert_eq!(store.task_of_branch("shop", "agent/3-compare").await.expect("read").expect("there").id, id.0);
    assert_eq!(store.tasks_of_issue("shop", 3).await.expect("read"), 1);
    assert_eq!(store.tasks_with_effects().await.expect("read"), [id]);
    store.remember_post(id, "review:1", 5).await.expect("kept");
    store.remember_post(id, "review:1", 6).await.expect("kept");
    assert_eq!(store.post(id, "review:1").await.expect("read"), Some(6));
    store.set_watermark("shop", 9).await.expect("set");
    assert_eq!(store.watermark("shop").await.expect("read"), Some(9));
    for (name, at) in [("start:shop:label:a_b", 7), ("start:shop2:writer", 8), ("start:shop:assigned", -1)] {
        store.set_watermark(name, at).await.expect("set");
    }
    let of_shop = [("start:shop:assigned".to_owned(), -1), ("start:shop:label:a_b".to_owned(), 7)];
    assert_eq!(store.watermarks("start:shop:").await.expect("read"), of_shop);
    assert_eq!(store.watermarks("start_").await.expect("read"), []);
    store.set_watermark("start:shop2:writer", 0).await.expect("forgotten");
    assert_eq!(store.watermark("start:shop2:writer").await.expect("read"), None);
    store.could_not_read("shop", 4, 1).await.expect("noted");
    store.could_not_read("shop", 4, 2).await.expect("noted");
    assert_eq!(store.unread().await.expect("read"), [("shop".to_owned(), 4)]);
    store.read_at_last("shop", 4).await.expect("noted");
    assert!(store.unread().await.expect("read").is_empty());
    let seen = Address { repository: "shop".into(), forge_id: 3, owner: "o".into(), name: "n".into() };
    store.keep_address(seen.clone()).await.expect("kept");
    assert_eq!(store.address("shop").await.expect("read"), Some(seen));
    assert_eq!(store.newest_checkpoint_at(id).await.expect("read"), None);
    let posted = "INSERT INTO checkpoints (task, n, review, number, last, posted_at) VALUES ($1, $2, 1, 1, FALSE, $3)";
    let by_hand = fresh.by_hand().await;
    for (n, at) in [(1_i64, 70_i64), (2, 80)] {
        sqlx::query(posted).bind(id.0).bind(n).bind(at).execute(&by_hand).await.expect("posted");
    }
    assert_eq!(store.newest_checkpoint_at(id).await.expect("read"), Some(80));
    let effect = store.next_effect(id, Queue::Work).await.expect("read").expect("owed");
    let epoch = store.begin_epoch(9).await.expect("begun");
    assert!(store.effect_started(effect.id, epoch).await.expect("begun"));
    store.hold_charge(effect.id).await.expect("held");
    assert!(store.next_effect(id, Queue::Work).await.expect("read").expect("owed").charge_kept);
    assert!(!store.charge_was_kept(id).await.expect("read"), "it is still open");
    let dropped = "UPDATE effects SET state = 'dropped' WHERE id = $1";
    sqlx::query(dropped).bind(effect.id).execute(&by_hand).await.expect("dropped");
    assert!(store.charge_was_kept(id).await.expect("read"));
    store.ready().await.expect("ready");
    let look = Store::look(fresh.location.clone()).await.expect("looked").expect("there");
    assert_eq!(look.tasks(10).await.expect("read").len(), 1);
    assert!(matches!(look.set_watermark("shop", 1).await, Err(StoreError::Closed)));
}

/// A write that the database refuses between others: an effect whose body violates a rule of its table.
pub async fn one_failing_message_takes_nothing_else_with_it(fresh: Fresh) {
    let store = fresh.open().await;
    let task = created(&store, "opened:3").await;
    let twice = |key: &str| {
        let event = Event::ActionStarted { number: 1, turn: 1, index: 0 };
        // The primary key refuses an event with a number that the log already has.
        let step = Step { events: vec![event], effects: Vec::new() };
        Append {
            task: task.clone(),
            expected_seq: task.seq,
            input_key: key.into(),
            now: 9,
            step,
            close: None,
            epoch: 1,
            host: "".into(),
        }
    };
    let by_hand = fresh.by_hand().await;
    let row = "INSERT INTO task_events (task, seq, at, kind, version, body) VALUES ($1, $2, 1, 'x', 1, '{}')";
    sqlx::query(row).bind(task.id.0).bind(i64::from(task.seq) + 1).execute(&by_hand).await.expect("done");
    let (before, refused, after) =
        tokio::join!(store.note_input("comment:1#0", 9), store.append(twice("k")), store.note_input("comment:2#0", 9));
    assert!(matches!(refused, Err(StoreError::Sql(_))), "{refused:?}");
    assert!(before.expect("stored") && after.expect("stored"), "what stood in the same transaction");
    assert!(!store.knows_input("k").await.expect("read"), "nothing of what was refused is there");
    assert!(store.knows_input("comment:2#0").await.expect("read"));
}

pub async fn of_two_texts_one_begins_a_task_on_an_issue(fresh: Fresh) {
    let store = fresh.open().await;
    let one = created(&store, "opened:3").await;
    let again = async |key: &str| {
        let request = store.task(one.id).await.expect("folded").request.expect("a request");
        let envelope = Envelope { key: key.into(), now: 11, input: Input::Requested { request: Box::new(request) } };
        let (task, step) = transition(&Task::new(TaskId(0)), &envelope);
        store.create(NewTask { task, input_key: key.into(), now: 11, step, epoch: 1, host: "".into() }).await
    };
    let refused = again("comment:4#0").await;
    assert!(matches!(refused, Err(StoreError::AtWork { task, issue: 3 }) if task == one.id), "{refused:?}");
    assert!(!store.knows_input("comment:4#0").await.expect("read"), "the text is answered later");
    assert_eq!(again("opened:3").await.expect("known"), None, "the same text again");
    feed(&store, &one, "closed", Input::IssueClosed).await;
    assert!(again("comment:4#0").await.expect("stored").is_some());
}
