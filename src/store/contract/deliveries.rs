//! Deliveries.

use super::*;

pub async fn what_was_delivered_about_a_text_is_found_again(fresh: Fresh) {
    let store = fresh.open().await;
    let (one, other) = (Some("comment:1"), Some("comment:12"));
    for (at, (uuid, about)) in [("a", one), ("b", other), ("c", None), ("d", one)].into_iter().enumerate() {
        let about = about.map(str::to_owned);
        store.deliver(Delivery { about, ..delivery(uuid, at as i64, uuid.as_bytes()) }).await.expect("stored");
    }
    store.delivered(vec!["a".into()], 2).await.expect("marked");
    for (repository, expected) in [("shop", &["a", "d"][..]), ("other", &["a"][..0])] {
        let mut found = Vec::new();
        let mut deliveries = store.deliveries_about(repository, "comment:1").await.expect("read");
        while let Some(delivery) = deliveries.next().await.expect("read") {
            assert_eq!(delivery.body, delivery.uuid.as_bytes());
            found.push(delivery.uuid);
        }
        assert_eq!(found, expected);
    }
    // Each is read when it is asked for, so that nothing of the store is kept while the one before is looked at.
    let mut deliveries = store.deliveries_about("shop", "comment:1").await.expect("read");
    assert_eq!(deliveries.next().await.expect("read").map(|first| first.uuid).as_deref(), Some("a"));
    store.delivered(vec!["d".into()], 3).await.expect("marked");
    let old = Before { deliveries: Some(4), ..Before::default() };
    while store.prune(old).await.expect("pruned") {}
    assert!(deliveries.next().await.expect("read").is_none(), "it is not stored any more");
}

pub async fn bodies_come_back_byte_for_byte_also_those_of_earlier_versions(fresh: Fresh) {
    let store = fresh.open().await;
    let real = include_bytes!("../../../tests/fixtures/gitea-1.25.4/issue_comment-created.json");
    for (at, body) in [&real[..], b"", b"{}"].into_iter().enumerate() {
        assert!(store.deliver(delivery(&format!("d{at}"), at as i64, body)).await.expect("stored"));
    }
    let old = "INSERT INTO deliveries (uuid, repository, event_type, body, received_at) VALUES ('old', 'shop', 'issues', $1, 3)";
    let damaged = "UPDATE deliveries SET body = $1 WHERE uuid = 'd2'";
    let other = fresh.by_hand().await;
    for (sql, body) in [(old, &b"{1}"[..]), (damaged, b"\xff\xff\xff\xff\0")] {
        sqlx::query(sql).bind(body).execute(&other).await.expect("done");
    }
    let bodies: Vec<Vec<u8>> =
        store.open_deliveries(10, &[]).await.expect("read").into_iter().map(|d| d.body).collect();
    // A body that cannot be unpacked does not block the others.
    assert_eq!(bodies, [real.to_vec(), Vec::new(), Vec::new(), b"{1}".to_vec()]);
}

pub async fn one_uuid_is_stored_once_however_often_and_at_once_it_comes(fresh: Fresh) {
    let store = fresh.open().await;
    let mut works = Vec::new();
    for i in 0..64 {
        let store = store.clone();
        let delivery = delivery(&format!("d{}", i % 32), i, b"{}");
        works.push(tokio::spawn(async move { store.deliver(delivery).await.expect("stored") }));
    }
    let mut fresh = 0;
    for work in works {
        fresh += usize::from(work.await.expect("joined"));
    }
    assert_eq!(fresh, 32, "each uuid is stored once");
    assert_eq!(store.open_deliveries(100, &[]).await.expect("read").len(), 32);
}

pub async fn those_in_hand_are_left_out_of_the_open_ones(fresh: Fresh) {
    let store = fresh.open().await;
    for at in 0..5 {
        store.deliver(delivery(&format!("d{at}"), at, b"{}")).await.expect("stored");
    }
    store.delivered(vec!["d1".into()], 9).await.expect("marked");
    let open = async |limit, without: &[&str]| {
        let without: Vec<String> = without.iter().map(|&uuid| uuid.to_owned()).collect();
        let found = store.open_deliveries(limit, &without).await.expect("read");
        found.into_iter().map(|delivery| delivery.uuid).collect::<Vec<_>>()
    };
    assert_eq!(open(10, &[]).await, ["d0", "d2", "d3", "d4"]);
    assert_eq!(open(2, &["d0", "d3"]).await, ["d2", "d4"]);
    assert_eq!(open(1, &["d2", "gone"]).await, ["d0"]);
}
