//! Words that were replaced do not come back: in names, in comments, in documents.

use super::{files, read, root, shown, sources};

/// Types by which nobody could tell what they are of, and words that were replaced (docs/glossary.md).
#[test]
fn retired_words_do_not_come_back() {
    const RETIRED: [&str; 5] = [
        "Kind Answer Stretch Performer Desk Loan Loans Chamber Room Cell Berth Berths Walls Gate",
        "Lane Lanes Shelf Shelves Ahead Seal Sealed Told Said Held Wanted Way Speaker Speakers",
        "Circle Purse Came Stepped Fall Gallery Ear Ears Teller Sheet Door Visitors Seat Habits No",
        "Voice Speech Fed Obeyed Driven Anew Lent",
        "Seen Found Place Known Standing Heard Asked",
    ];
    // What a function gives, or a field holds, has a name of its own.
    const VERBS: [&str; 5] = ["told", "said", "held", "wanted", "way"];
    let mut found = Vec::new();
    for path in sources().into_iter().filter(|path| !shown(path).starts_with("eval/")) {
        let text = read(&path);
        for (number, line) in text.lines().enumerate() {
            found.extend(gone(line).into_iter().map(|word| format!("{}:{}: {word}", shown(&path), number + 1)));
            let field = line
                .trim_start()
                .trim_start_matches("pub ")
                .trim_start_matches("pub(super) ")
                .trim_start_matches("pub(crate) ");
            let named = |verb: &&str| line.contains(&format!("fn {verb}(")) || line.contains(&format!("fn {verb}<"));
            let holds = |verb: &&str| {
                field.strip_prefix(*verb).is_some_and(|rest| is_type(rest.strip_prefix(": ").unwrap_or_default()))
            };
            let of_ours = !shown(&path).contains("tests");
            let verbs = VERBS
                .into_iter()
                .filter(|verb| of_ours && (named(verb) || holds(verb)) && !is_within_tests(&text, number));
            found.extend(verbs.map(|verb| format!("{}:{}: {verb}", shown(&path), number + 1)));
            let declared = ["enum ", "struct ", "type ", "trait "].iter().find_map(|word| line.split_once(word));
            let Some((_, rest)) = declared.filter(|(before, _)| !before.contains("//") && !before.contains('"')) else {
                continue;
            };
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if RETIRED.iter().flat_map(|line| line.split(' ')).any(|word| word == name) {
                found.push(format!("{}:{}: {name}", shown(&path), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "say of what each is:\n{}", found.join("\n"));
    assert!(retired_in_prose().is_empty(), "docs/glossary.md has a word for it:\n{}", retired_in_prose().join("\n"));
    let glossary = read(&root().join("docs/glossary.md"));
    let rows = glossary.lines().filter(|line| line.starts_with('|')).count().saturating_sub(2);
    assert!((5..=20).contains(&rows), "{rows} words: one word for one thing needs no more");
}

/// Replaced words in documents, scripts and what images are made from; not in the README's sentence about what a caisson is.
fn retired_in_prose() -> Vec<String> {
    let endings = [".md", ".sh", "Dockerfile", ".toml", ".yaml", ".py", ".js", ".css"];
    let mut found = Vec::new();
    for path in files(root(), &endings).into_iter().filter(|path| !path.ends_with("docs/glossary.md")) {
        let text = read(&path);
        let lines = text.lines().enumerate().filter(|(_, line)| !line.contains("*A caisson is the sealed"));
        let words = lines.flat_map(|(number, line)| gone(line).into_iter().map(move |word| (number + 1, word)));
        found.extend(words.map(|(number, word)| format!("{}:{number}: {word}", shown(&path))));
    }
    found
}

/// Whether what stands behind a field's name is a type, and not a value.
fn is_type(text: &str) -> bool {
    let first = text.trim_start_matches(['&', '[', '(']).trim_start_matches("'a ").chars().next();
    let plain = ["bool", "str", "u8", "u16", "u32", "u64", "usize", "i32", "i64", "impl ", "dyn "];
    first.is_some_and(char::is_uppercase) && text.ends_with(',') && !text.contains("::new(") && !text.contains('{')
        || plain.iter().any(|word| {
            text.trim_start_matches('&').starts_with(&format!("{word},"))
                || text.starts_with(word) && word.ends_with(' ')
        })
}

/// Whether a line is behind the beginning of its file's tests.
fn is_within_tests(text: &str, line: usize) -> bool {
    text.lines().take(line).any(|before| before.trim() == "#[cfg(test)]")
}

/// Replaced words that a line of code or of a comment holds, alone or as a part of a name. In strings and backticks they may
/// stand: names that are stored, or spoken to an older program, keep theirs.
fn gone(line: &str) -> Vec<&'static str> {
    const GONE: [&str; 21] = [
        "chamber",
        "chambers",
        "berth",
        "berths",
        "shelf",
        "shelves",
        "speaker",
        "speakers",
        "purse",
        "gist",
        "unsaid",
        "lanes",
        "rooms",
        "stretch",
        "desk",
        "loan",
        "loans",
        "performer",
        "shelved",
        "walls",
        "gate",
    ];
    let (mut bare, mut quote, mut before) = (String::new(), None, ' ');
    for c in line.chars() {
        match quote {
            Some(end) if c == end && before != '\\' => quote = None,
            Some(_) => {}
            None if c == '"' || c == '`' => quote = Some(c),
            None if c.is_uppercase() && before.is_lowercase() => bare.extend([' ', c]),
            None => bare.push(c),
        }
        before = if before == '\\' { ' ' } else { c };
    }
    // A command and an option that the router's program has always had, in its usage.
    let bare = bare.to_lowercase().replace("caisson-router walls ", "").replace("[--berths ", "");
    let parts: Vec<&str> = bare.split(|c: char| !c.is_alphanumeric()).collect();
    GONE.into_iter().filter(|word| parts.contains(word)).collect()
}

#[test]
fn a_replaced_word_is_found_in_names_and_not_in_strings() {
    assert_eq!(
        gone("let of_berth: ChamberSpec = \"a \\\" shelf\"; // `berths`, MAX_BERTHS"),
        ["chamber", "berth", "berths"]
    );
    assert_eq!(gone("fn of_walls(gate: Gateway) {} // a surrogate behind `walls`"), ["walls", "gate"]);
    assert_eq!(gone("let subnets = \"{} berths\";"), [] as [&str; 0]);
}
