//! Whole files, and blocks that look like one and are a part.

use super::super::answer::files;
use super::super::shown;
use super::*;

/// The file's new text after a block under its path.
fn after(path: &str, base: &str, block: &str, asked: &str) -> Option<String> {
    let answer = format!("{path}\n```\n{block}```\n");
    files(&answer, false, &shown(&[(path, base)]), asked).into_iter().next().map(|file| file.content)
}

const RUST: &str = "use std::fmt;\n\npub fn add(a: u8, b: u8) -> u8 {\n    a - b\n}\n\npub fn sub(a: u8, b: u8) -> u8 {\n    a - b\n}\n\nimpl fmt::Debug for Sum {\n    fn fmt(&self) {\n        one();\n        two();\n    }\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n";

const PYTHON: &str = "import re\nimport sys\n\n\ndef first(text):\n    a = 1\n    b = 2\n    c = 3\n    d = 4\n    e = 5\n    f = 6\n    g = 7\n    return a\n\n\ndef second(text):\n    return re.sub(\"a\", \"b\", text)\n\n\nif __name__ == \"__main__\":\n    print(first(sys.argv[1]))\n";

#[test]
fn tests_in_a_rust_file_that_were_not_given_back_stay() {
    let (code, _) = RUST.split_once("#[cfg(test)]").unwrap();
    let given = code.replacen("a - b", "a + b", 1);
    assert_eq!(after("src/sum.rs", RUST, &given, "").unwrap(), RUST.replacen("a - b", "a + b", 1));
    let less = given.replace("pub fn sub(a: u8, b: u8) -> u8 {\n    a - b\n}\n\n", "");
    let out = after("src/sum.rs", RUST, &less, "Remove `sub` and the module `tests`.").unwrap();
    assert_eq!(out.matches("fn sub").count(), 0);
    assert!(out.ends_with("\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n"), "{out}");
}

#[test]
fn a_part_as_long_as_most_of_the_file_loses_nothing_of_it() {
    let (part, _) = PYTHON.split_once("\n\ndef second").unwrap();
    let given = part.replace("return a", "return d");
    assert!(given.lines().count() * 100 >= PYTHON.lines().count() * WHOLE, "long enough to be taken for the file");
    let wanted = PYTHON.replace("return a", "return d");
    assert_eq!(after("lib/a.py", PYTHON, &given, "").as_deref(), Some(wanted.as_str()));
    assert_eq!(after("lib/a.py", PYTHON, part, ""), None, "the file's own lines again");
    let file = "import re\n\n\ndef slug(text):\n    return re.sub(\" \", \"-\", text)\n";
    let longer = "def slug(text):\n    text = text.lower()\n    text = text.strip()\n    text = re.sub(\"_\", \" \", text)\n    return re.sub(\" +\", \"-\", text)\n";
    assert_eq!(after("lib/a.py", file, longer, "").unwrap(), format!("import re\n\n\n{longer}"));
    let other =
        "def slug(text):\n    text = text.lower()\n    text = text.strip()\n    text = text.title()\n    return text\n";
    assert_eq!(after("lib/a.py", file, other, "").unwrap(), other, "the import has no use any more");
    let wide = "from re import (\n    sub,\n)\n\n\ndef slug(text):\n    return sub(\" \", \"-\", text)\n";
    let more = "text.strip()\n    text = text.title()\n    text = text.casefold()\n";
    let longer = longer.replace("re.sub", "sub").replace("text.strip()\n", more);
    assert_eq!(after("lib/a.py", wide, &longer, "").unwrap(), format!("from re import (\n    sub,\n)\n\n\n{longer}"));
}

#[test]
fn what_the_issue_asks_to_remove_or_the_answer_moves_goes() {
    let (head, tail) = PYTHON.split_once("def second(text):\n    return re.sub(\"a\", \"b\", text)\n\n\n").unwrap();
    let given = format!("{head}{tail}");
    for asked in ["`second` is unused: delete it.", "Please remove these:\n\n- `third`\n- `second`\n"] {
        assert_eq!(after("lib/a.py", PYTHON, &given, asked).as_ref(), Some(&given), "{asked}");
    }
    for asked in ["", "`second` is slow", "Remove `first`.\n\n`second` stays."] {
        assert_eq!(after("lib/a.py", PYTHON, &given, asked), None, "{asked}");
    }
    let renamed = PYTHON.replace("second", "last");
    assert_eq!(after("lib/a.py", PYTHON, &renamed, "Rename `second` to `last`").as_ref(), Some(&renamed));
    let moved = "import re\n\n\ndef second(text):\n    return re.sub(\"a\", \"b\", text)\n";
    let answer = format!("lib/a.py\n```python\n{given}```\n\nlib/b.py\n```python\n{moved}```\n");
    let out = files(&answer, false, &shown(&[("lib/a.py", PYTHON)]), "");
    assert_eq!(out.iter().map(|file| file.content.as_str()).collect::<Vec<_>>(), [given.as_str(), moved]);
}

#[test]
fn a_whole_file_below_a_comment_with_its_path_is_whole() {
    let shorter = PYTHON.replace("    b = 2\n    c = 3\n", "");
    let given = format!("# lib/a.py\n{shorter}");
    assert_eq!(after("lib/a.py", PYTHON, &given, "").as_ref(), Some(&shorter));
    let words = "# Words\n\nOne.\n\nTwo.\n";
    assert_eq!(after("lib/a.md", words, "# Words\n\nOne.\n\nThree.\n", "").unwrap(), "# Words\n\nOne.\n\nThree.\n");
}

#[test]
fn an_issue_asks_for_names_and_not_by_them() {
    assert!(removes("Rename `cut` to `split_at`", "cut"));
    assert!(!removes("`remove_item` fails", "remove_item") && !removes("`remove` fails on 0", "remove"));
    assert!(!removes("Remove `a`.\nThen b is called.", "b"));
}

#[test]
fn a_file_keeps_its_line_ends() {
    let file = "def a():\r\n    return 1\r\n\r\n\r\ndef b():\r\n    return 1\r\n";
    let wanted = file.replacen("return 1", "return 2", 1);
    assert_eq!(after("lib/a.py", file, "def a():\n    return 2\n", "").as_ref(), Some(&wanted));
    assert_eq!(after("lib/a.py", file, &wanted.replace('\r', ""), "").as_ref(), Some(&wanted));
    assert_eq!(after("lib/a.py", file, &file.replace('\r', ""), ""), None, "nothing is new");
}
