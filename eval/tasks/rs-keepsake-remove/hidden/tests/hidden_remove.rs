use keepsake::Cache;

fn filled(keys: &[u32]) -> Cache<u32, String> {
    let mut cache = Cache::new(4);
    for &key in keys {
        cache.put(key, key.to_string());
    }
    cache
}

#[test]
fn whichever_is_removed() {
    for gone in 1..=4 {
        let mut cache = filled(&[1, 2, 3, 4]);
        assert_eq!(cache.remove(&gone), Some(gone.to_string()));
        assert_eq!(cache.remove(&gone), None);
        assert_eq!(cache.len(), 3);
        let left: Vec<u32> = [4, 3, 2, 1].into_iter().filter(|key| *key != gone).collect();
        assert_eq!(cache.keys(), left.iter().collect::<Vec<_>>());
        for key in &left {
            assert_eq!(cache.peek(key), Some(&key.to_string()));
        }
        assert_eq!(cache.peek(&gone), None);
    }
}

#[test]
fn there_is_room_again() {
    let mut cache = filled(&[1, 2, 3, 4]);
    cache.remove(&2);
    cache.put(5, "5".into());
    assert_eq!(cache.stats().evicted, 0);
    assert_eq!(cache.keys(), [&5, &4, &3, &1]);
    cache.put(6, "6".into());
    assert_eq!(cache.stats().evicted, 1);
    assert_eq!(cache.keys(), [&6, &5, &4, &3]);
}

#[test]
fn removed_to_the_last_and_filled_again() {
    let mut cache = filled(&[1, 2, 3]);
    for key in [2, 1, 3] {
        cache.remove(&key);
    }
    assert!(cache.is_empty());
    assert!(cache.keys().is_empty());
    for key in 7..=11 {
        cache.put(key, String::new());
    }
    assert_eq!(cache.keys(), [&11, &10, &9, &8]);
    cache.get(&8);
    assert_eq!(cache.keys(), [&8, &11, &10, &9]);
}

#[test]
fn cleared() {
    let mut cache = filled(&[1, 2, 3, 4, 5]);
    cache.get(&5);
    cache.clear();
    assert!(cache.is_empty());
    assert_eq!((cache.stats().hits, cache.stats().evicted), (1, 1));
    cache.put(1, "x".into());
    assert_eq!(cache.keys(), [&1]);
}
