use keepsake::Cache;

/// The same thing, slowly.
struct Plain(Vec<u32>, usize);

impl Plain {
    fn touch(&mut self, key: u32) -> bool {
        match self.0.iter().position(|k| *k == key) {
            Some(at) => {
                let key = self.0.remove(at);
                self.0.insert(0, key);
                true
            }
            None => false,
        }
    }

    fn put(&mut self, key: u32) {
        if !self.touch(key) {
            self.0.insert(0, key);
            self.0.truncate(self.1);
        }
    }
}

#[test]
fn as_the_plain_one() {
    for capacity in 1..6 {
        let mut cache = Cache::new(capacity);
        let mut plain = Plain(Vec::new(), capacity);
        let mut seed = 1u32;
        for _ in 0..500 {
            seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
            let key = (seed >> 16) % 9;
            if seed & 1024 == 0 {
                cache.put(key, ());
                plain.put(key);
            } else {
                assert_eq!(cache.get(&key).is_some(), plain.touch(key));
            }
            assert_eq!(cache.keys(), plain.0.iter().collect::<Vec<_>>());
        }
    }
}
