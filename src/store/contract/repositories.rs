//! Entries of repositories that are shared by all hosts.

use super::*;

fn entry(key: &str, generation: i64, document: &str) -> StoredEntry {
    StoredEntry {
        key: key.to_owned(),
        document: document.to_owned(),
        // Arbitrary bytes, because sealed data is no text.
        sealed: (0..=255).collect(),
        generation,
        written_at: 1_800_000_000_000 + generation,
        written_by: format!("host {generation}"),
    }
}

pub async fn an_entry_is_kept_as_it_was_written_and_only_its_next_generation_replaces_it(fresh: Fresh) {
    let store = fresh.open().await;
    assert!(store.entries().await.expect("read").is_empty());
    let (shop, till) = (entry("shop", 1, r#"{"a":"ä\"☃"}"#), entry("till", 1, "{}"));
    store.put_entry(till.clone()).await.expect("stored");
    store.put_entry(shop.clone()).await.expect("stored");
    assert_eq!(store.entries().await.expect("read"), [shop.clone(), till.clone()]);
    // Of two writers that read the same generation, the second does not overwrite the first.
    let next = entry("shop", 2, r#"{"b":1}"#);
    store.put_entry(next.clone()).await.expect("stored");
    for late in [entry("shop", 2, "{}"), entry("shop", 1, "{}"), entry("shop", 4, "{}"), entry("new", 2, "{}")] {
        let refused = store.put_entry(late.clone()).await;
        assert!(matches!(refused, Err(StoreError::Changed { .. })), "{late:?}: {refused:?}");
    }
    assert_eq!(store.entries().await.expect("read"), [next, till]);
    assert_eq!(store.generations().await.expect("read"), [("shop".to_owned(), 2), ("till".to_owned(), 1)]);
    let look = Store::look(fresh.location.clone()).await.expect("looked").expect("there");
    assert_eq!(look.entries().await.expect("read").len(), 2);
    assert!(matches!(look.put_entry(entry("shop", 3, "{}")).await, Err(StoreError::Closed)));
}

pub async fn an_entry_that_was_taken_out_keeps_its_generation(fresh: Fresh) {
    let store = fresh.open().await;
    store.put_entry(entry("shop", 1, "{}")).await.expect("stored");
    for (repository, number) in [("shop", 4), ("till", 5)] {
        store.could_not_read(repository, number, 1).await.expect("noted");
    }
    let gone = StoredEntry { sealed: Vec::new(), ..entry("shop", 2, "") };
    store.put_entry(gone.clone()).await.expect("stored");
    assert_eq!(store.entries().await.expect("read"), [gone]);
    assert_eq!(store.unread().await.expect("read"), [("till".to_owned(), 5)], "nobody reads it any more");
    assert!(store.put_entry(entry("shop", 1, "{}")).await.is_err(), "an older one does not come back");
    store.put_entry(entry("shop", 3, "{}")).await.expect("added again");
}

pub async fn a_repository_that_is_added_again_is_read_from_then_on(fresh: Fresh) {
    let store = fresh.open().await;
    let kinds = ["first", "looked-up", "replies", "answers", "own"].map(|kind| format!("{kind}:shop"));
    let mut own = vec!["shop", "stop:shop#3", "start:shop:writer"];
    own.extend(kinds.iter().map(String::as_str));
    let others = ["shop2", "first:shop2", "first:a-shop", "stop:Shop#3", "start:till:shop", "till"];
    store.put_entry(entry("shop", 1, "{}")).await.expect("stored");
    for name in own.iter().chain(&others) {
        store.set_watermark(name, 7).await.expect("stored");
    }
    let left = async |names: &[&str]| {
        let mut left = Vec::new();
        for name in names {
            left.extend(store.watermark(name).await.expect("read").map(|_| (*name).to_owned()));
        }
        left
    };
    store.put_entry(entry("shop", 2, "{}")).await.expect("changed");
    assert_eq!(left(&own).await, own);
    store.put_entry(entry("shop", 3, "")).await.expect("removed");
    assert!(left(&own).await.is_empty());
    assert_eq!(left(&others).await, others);
    // By a reading that was under way.
    store.set_watermark("first:shop", 8).await.expect("stored");
    store.put_entry(entry("shop", 4, "{}")).await.expect("added again");
    assert!(left(&own).await.is_empty());
    assert_eq!(left(&others).await, others);
}

pub async fn nothing_of_a_repository_counts_for_another_one_under_its_key(fresh: Fresh) {
    let store = fresh.open().await;
    let mut tasks = Vec::new();
    for (repository, text) in [("shop", "opened:3"), ("till", "comment:3")] {
        store.set_watermark(&format!("first:{repository}"), 7).await.expect("stored");
        store.could_not_read(repository, 4, 1).await.expect("noted");
        tasks.push(tests::created_in(repository, &store, text).await);
    }
    let newest = async |repository: &str| store.newest_task_of(repository, 3).await.expect("read").map(|row| row.id);
    assert_eq!((newest("shop").await, newest("till").await), (Some(tasks[0].id.0), Some(tasks[1].id.0)));
    store.forget_repository("shop").await.expect("forgotten");
    assert_eq!(store.unread().await.expect("read"), [("till".to_owned(), 4)]);
    let firsts = store.watermarks("first:").await.expect("read");
    assert_eq!(firsts, [("first:till".to_owned(), 7)]);
    assert_eq!((newest("shop").await, newest("till").await), (None, Some(tasks[1].id.0)));
    // Also after that one was taken out and added again.
    feed(&store, &tasks[0], "closed", domain::Input::IssueClosed).await;
    for (generation, document) in [(1, "{}"), (2, ""), (3, "{}")] {
        store.put_entry(entry("shop", generation, document)).await.expect("stored");
    }
    assert_eq!(newest("shop").await, None);
}
