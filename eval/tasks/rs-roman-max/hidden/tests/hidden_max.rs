use roman::{from_roman, to_roman, MAX};

#[test]
fn stands_in_the_other_module() {
    assert!(include_str!("../src/write.rs").contains("pub const MAX: u32 = 3999;"));
    assert!(include_str!("../src/write.rs").contains("The largest number that can be written."));
    assert!(!include_str!("../src/write.rs").contains("use crate::MAX"));
    assert!(!include_str!("../src/lib.rs").contains("const MAX"));
}

#[test]
fn is_exported() {
    assert_eq!(MAX, 3999);
    assert_eq!(roman::MAX, MAX);
}

#[test]
fn same_results() {
    assert_eq!(to_roman(3999), Some("MMMCMXCIX".to_string()));
    assert_eq!(to_roman(MAX + 1), None);
    assert_eq!(to_roman(0), None);
    assert_eq!(from_roman("MMMCMXCIX"), Ok(MAX));
}
