use keepsake::{Cache, Stats};

#[test]
fn before_the_first_lookup() {
    assert_eq!(Stats::default().ratio(), 0.0);
    let mut cache = Cache::new(2);
    assert_eq!(cache.stats().ratio(), 0.0);
    for key in ["a", "b", "c"] {
        cache.put(key, 1);
    }
    assert_eq!(cache.stats().evicted, 1);
    assert_eq!(cache.stats().ratio(), 0.0);
}

#[test]
fn afterwards() {
    let mut cache = Cache::new(2);
    cache.get(&"a");
    assert_eq!(cache.stats().ratio(), 0.0);
    cache.put("a", 1);
    cache.get(&"a");
    assert_eq!(cache.stats().ratio(), 0.5);
    assert_eq!(Stats { hits: 3, misses: 1, evicted: 7 }.ratio(), 0.75);
    assert_eq!(Stats { hits: 2, misses: 0, evicted: 0 }.ratio(), 1.0);
}
