use keepsake::Cache;

fn filled() -> Cache<&'static str, u32> {
    let mut cache = Cache::new(2);
    cache.put("a", 1);
    cache.put("b", 2);
    cache
}

#[test]
fn used_longest_ago() {
    let mut cache = filled();
    assert_eq!(cache.next_out(), Some((&"a", &1)));
    cache.get(&"a");
    assert_eq!(cache.next_out(), Some((&"b", &2)));
    cache.put("c", 3);
    assert_eq!(cache.keys(), [&"c", &"a"]);
    assert_eq!(cache.next_out(), Some((&"a", &1)));
}

#[test]
fn empty_or_not_full() {
    let mut cache: Cache<&str, u32> = Cache::new(3);
    assert_eq!(cache.next_out(), None);
    cache.put("a", 1);
    assert_eq!(cache.next_out(), Some((&"a", &1)));
    cache.put("b", 2);
    assert_eq!(cache.next_out(), Some((&"a", &1)));
}

#[test]
fn replaced_values() {
    let mut cache = filled();
    cache.put("a", 9);
    assert_eq!(cache.next_out(), Some((&"b", &2)));
    cache.get(&"b");
    assert_eq!(cache.next_out(), Some((&"a", &9)));
}

#[test]
fn only_looks() {
    let cache = filled();
    let before = cache.stats();
    assert_eq!(cache.next_out(), cache.next_out());
    assert_eq!(cache.stats(), before);
    assert_eq!(cache.keys(), [&"b", &"a"]);
}
