use keepsake::{Cache, Stats};

#[test]
fn readers() {
    let mut cache = Cache::new(1);
    cache.put(1, 'a');
    cache.put(2, 'b');
    cache.get(&2);
    cache.get(&2);
    cache.get(&1);
    let stats: Stats = cache.stats();
    assert_eq!((stats.hits(), stats.misses(), stats.evicted(), stats.lookups()), (2, 1, 1, 3));
    assert!((stats.ratio() - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!(Stats::default().ratio(), 0.0);
    assert_eq!(stats, stats.clone());
}

#[test]
fn private_and_counted_in_one_place() {
    let stats = include_str!("../src/stats.rs");
    for field in ["pub hits:", "pub misses:", "pub evicted:", "pub fn hit(", "pub fn miss(", "pub fn evict("] {
        assert!(!stats.contains(field), "{field}");
    }
    let cache = include_str!("../src/cache.rs");
    assert!(!cache.contains("+= 1"));
    for call in [".hit()", ".miss()", ".evict()"] {
        assert!(cache.contains(call), "{call}");
    }
}
