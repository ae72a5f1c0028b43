//! Keys of the configuration that have another name now, and are still read under their old one.

use super::problem::Problem;
use toml::{Table, Value};

/// Table, old name, present name.
const RENAMED: [(&str, &str, &str); 1] = [("router", "berths", "subnets")];

/// The present name of a key such as `router.subnets`.
pub(super) fn present(key: &str) -> String {
    let found = RENAMED.iter().find(|(table, old, _)| key == format!("{table}.{old}"));
    found.map_or_else(|| key.to_owned(), |(table, _, new)| format!("{table}.{new}"))
}

/// Gives the keys of a file their present names.
///
/// # Errors
/// Where one is there under both names.
pub(super) fn rename(file: &mut Table) -> Result<(), Problem> {
    for (table, old, new) in RENAMED {
        let Some(Value::Table(keys)) = file.get_mut(table) else { continue };
        let Some(value) = keys.remove(old) else { continue };
        if keys.insert(new.to_owned(), value).is_some() {
            let what = format!("{table}.{old} is its old name; keep one of the two");
            return Err(Problem { line: None, key: format!("{table}.{new}"), what });
        }
    }
    Ok(())
}

/// The value of a variable of the environment, also under its old name.
pub(super) fn variable(name: &str, environment: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let of = |table: &str, key: &str| format!("CAISSON_{table}_{key}").to_uppercase();
    let older = || RENAMED.iter().find(|(table, _, new)| of(table, new) == name);
    environment(name).or_else(|| older().and_then(|(table, old, _)| environment(&of(table, old))))
}

#[cfg(test)]
mod tests {
    use super::super::Process;
    use std::path::Path;

    const FORGE: &str = "[forge]\nurl = \"http://forge.example.org\"\n";

    fn loaded(text: &str, variable: Option<&str>) -> Result<u32, String> {
        let environment = |name: &str| (Some(name) == variable).then(|| "5".to_owned());
        let text = format!("{FORGE}{text}");
        let loaded = Process::from_layers(Path::new("caisson.toml"), &text, &environment);
        loaded.map(|process| process.router.subnets).map_err(|error| error.to_string())
    }

    #[test]
    fn a_key_is_read_under_its_old_name_too() {
        assert_eq!(loaded("[router]\nsubnets = 3\n", None), Ok(3));
        assert_eq!(loaded("[router]\nberths = 3\n", None), Ok(3));
        assert_eq!(loaded("", Some("CAISSON_ROUTER_SUBNETS")), Ok(5));
        assert_eq!(loaded("", Some("CAISSON_ROUTER_BERTHS")), Ok(5));
        let both = loaded("[router]\nberths = 3\nsubnets = 4\n", None).expect_err("refused");
        assert!(both.contains("router.subnets: router.berths is its old name"), "{both}");
        let wrong = loaded("[router]\nberths = 99\n", None).expect_err("refused");
        assert!(wrong.contains("caisson.toml:4: router.subnets: set 1 to 62"), "{wrong}");
    }
}
