use keepsake::Cache;

fn filled() -> Cache<&'static str, u32> {
    let mut cache = Cache::new(3);
    for (key, value) in [("a", 1), ("b", 2), ("c", 3)] {
        assert_eq!(cache.put(key, value), None);
    }
    cache
}

#[test]
fn the_one_used_longest_ago_goes() {
    let mut cache = filled();
    cache.put("d", 4);
    assert_eq!(cache.keys(), [&"d", &"c", &"b"]);
    assert_eq!(cache.get(&"a"), None);
    assert_eq!(cache.len(), 3);
}

#[test]
fn getting_is_using() {
    let mut cache = filled();
    assert_eq!(cache.get(&"a"), Some(&1));
    assert_eq!(cache.peek(&"b"), Some(&2));
    cache.put("d", 4);
    assert_eq!(cache.keys(), [&"d", &"a", &"c"]);
}

#[test]
fn putting_again_replaces() {
    let mut cache = filled();
    assert_eq!(cache.put("a", 9), Some(1));
    assert_eq!(cache.keys(), [&"a", &"c", &"b"]);
    assert_eq!(cache.len(), 3);
}

#[test]
fn counts() {
    let mut cache = filled();
    cache.get(&"a");
    cache.get(&"x");
    cache.put("d", 4);
    assert_eq!(format!("{:?}", cache.stats()), "Stats { hits: 1, misses: 1, evicted: 1 }");
    assert_eq!(cache.stats().ratio(), 0.5);
}
