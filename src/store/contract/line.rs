//! Turns of people, and files that live tasks have in common.

use super::*;
use domain::*;

pub async fn who_was_given_a_slot_is_remembered_until_it_is_old(fresh: Fresh) {
    let store = fresh.open().await;
    let first = created(&store, "opened:3").await;
    let second = created(&store, "opened:4").await;
    assert!(store.turns().await.expect("read").is_empty(), "nobody was given one");
    feed_at(50, &store, &first, "place:1", Input::SlotFree).await;
    feed_at(70, &store, &second, "place:2", Input::SlotFree).await;
    let turn = Turn { repository: "shop".into(), person: "alice".into(), at: 70 };
    assert_eq!(fresh.open().await.turns().await.expect("read"), [turn], "the newest, in the next life too");
    let states: Vec<String> = store.line().await.expect("read").into_iter().map(|row| row.state).collect();
    assert_eq!(states, ["preparing", "preparing"]);
    let details = |at| Before { details: Some(at), ..Before::default() };
    store.prune(details(70)).await.expect("pruned");
    assert_eq!(store.turns().await.expect("read").len(), 1);
    store.prune(details(71)).await.expect("pruned");
    assert!(store.turns().await.expect("read").is_empty());
}

pub async fn turns_follow_one_another_although_the_clock_was_set_back(fresh: Fresh) {
    let store = fresh.open().await;
    for (issue, repository, at) in [(3, "shop", 1_000), (4, "till", 20), (5, "lab", 20)] {
        let task = tests::created_in(repository, &store, &format!("opened:{issue}")).await;
        feed_at(at, &store, &task, &format!("place:{}", task.id), Input::SlotFree).await;
    }
    let turns = store.turns().await.expect("read");
    let turns: Vec<(&str, i64)> = turns.iter().map(|turn| (turn.repository.as_str(), turn.at)).collect();
    assert_eq!(turns, [("lab", 1_002), ("shop", 1_000), ("till", 1_001)]);
}

/// Records a checkpoint of a task that changes these files.
async fn capture(store: &Store, id: TaskId, paths: &[&str]) {
    let mut task = store.task(id).await.expect("folded");
    let file = |path: &&str| FileChange {
        path: (*path).to_owned(),
        added: 1,
        removed: 0,
        kind: "modified".into(),
        bytes: Some(1),
    };
    let commit = Commit::parse(&"c".repeat(40)).expect("an id");
    let files = paths.iter().map(file).collect();
    let (diff, steering, left_out) = (String::new(), Vec::new(), Vec::new());
    let (outside, marked, facts) = Default::default();
    let tree = CapturedTree { commit, files, diff, diff_cut: 0, steering, left_out, outside, marked, facts };
    let events = vec![Event::TreeCaptured { n: 1, tree }];
    let expected_seq = task.seq;
    events.iter().for_each(|event| task.apply(event));
    let step = Step { events, effects: Vec::new() };
    let (input_key, host) = (format!("captured:{id}:{expected_seq}"), "".into());
    let append = Append { task, expected_seq, input_key, now: 30, step, close: None, epoch: 1, host };
    assert_eq!(store.append(append).await.expect("stored"), Appended::Done);
}

pub async fn what_two_live_tasks_changed_is_found_until_one_ends(fresh: Fresh) {
    let store = fresh.open().await;
    let (one, two) = (created(&store, "opened:3").await.id, created(&store, "opened:4").await.id);
    let other = tests::created_in("blog", &store, "opened:5").await.id;
    let long = "deep/".repeat(900);
    capture(&store, one, &["a.py", "b.py", &long, "odd\0name"]).await;
    capture(&store, other, &["a.py"]).await;
    assert!(store.shared_files(one).await.expect("read").is_empty(), "another repository's a.py is another file");
    capture(&store, two, &["c.py", "b.py", &long]).await;
    capture(&store, two, &["b.py", "odd\0name"]).await;
    let paths = |shared: &[Shared]| shared.iter().map(|it| it.path.clone()).collect::<Vec<_>>();
    let seen = store.shared_files(one).await.expect("read");
    assert_eq!(paths(&seen), ["b.py", long.as_str(), "odd\u{fffd}name"]);
    assert!(seen.iter().all(|it| (it.task, it.issue, it.pull) == (two.0, 4, None)));
    assert_eq!(paths(&store.shared_files(two).await.expect("read")), paths(&seen), "either sees the other");
    let task = store.task(two).await.expect("folded");
    feed(&store, &task, "closed", Input::IssueClosed).await;
    assert!(store.shared_files(one).await.expect("read").is_empty(), "who has ended changes nothing any more");
}

pub async fn files_of_a_large_checkpoint_are_all_stored(fresh: Fresh) {
    let store = fresh.open().await;
    let (one, two) = (created(&store, "opened:3").await.id, created(&store, "opened:4").await.id);
    let names: Vec<String> = (0..900).map(|n| format!("{n:04}.py")).collect();
    // The first one again, within a statement and in a later one.
    let mut paths: Vec<&str> = vec!["0000.py"];
    paths.extend(names.iter().map(String::as_str).chain(["0000.py"]));
    capture(&store, one, &paths).await;
    capture(&store, two, &paths).await;
    let shared = store.shared_files(one).await.expect("read");
    assert!(shared.iter().map(|it| &it.path).eq(&names), "{} files", shared.len());
    capture(&store, two, &[]).await;
    assert_eq!(store.shared_files(two).await.expect("read").len(), names.len());
}
