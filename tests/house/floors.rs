//! The table of floors in `docs/architecture.md` is the one that the arrows between modules are judged by.

use super::{FLOORS, read, root};

#[test]
fn the_document_has_each_module_on_its_floor() {
    let text = read(&root().join("docs/architecture.md"));
    let rows: Vec<(usize, &str)> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" | "))
        .filter_map(|(floor, modules)| Some((floor.parse().ok()?, modules)))
        .collect();
    assert_eq!(rows.len(), FLOORS.len(), "{rows:?}");
    for (at, modules) in FLOORS.iter().enumerate() {
        let (_, row) = rows.iter().find(|(floor, _)| *floor == at + 1).unwrap_or_else(|| panic!("no floor {}", at + 1));
        for module in *modules {
            assert!(row.contains(&format!("`{module}`")), "`{module}` does not stand in: {row}");
        }
    }
}
