//! The places in which small models name a file.

use super::super::blocks::blocks;
use super::super::shown;
use super::*;

/// The path of the answer's last block.
fn of(answer: &str, look: &Look, asked: &str) -> Option<String> {
    let blocks = blocks(answer, false);
    match path(blocks.last()?, look, asked)? {
        BlockPath::Own(path) | BlockPath::Near(path) => Some(path),
    }
}

fn block(lines: &str) -> String {
    format!("```js\n{lines}```\n")
}

const CODE: &str = "function pieces() {\n  return [];\n}\n";

#[test]
fn a_new_file_is_not_merged_into_the_only_one() {
    let look = shown(&[("lib/case.js", "x\n")]);
    let new = Some("lib/pieces.js".to_owned());
    assert_eq!(of(&format!("Create `lib/pieces.js`:\n\n{}", block(CODE)), &look, ""), new);
    assert_eq!(of(&format!("Create **lib/pieces.js** beside lib/case.js:\n{}", block(CODE)), &look, ""), new);
    for sign in ["// lib/pieces.js", "// File: lib/pieces.js", "/* lib/pieces.js */", "// ./lib/pieces.js (new file)"] {
        assert_eq!(of(&format!("Here it is.\n{}", block(&format!("{sign}\n{CODE}"))), &look, ""), new, "{sign}");
    }
    for unknown in ["// deep/pieces.js", "// pieces.ts"] {
        assert_eq!(of(&block(&format!("{unknown}\n{CODE}")), &look, ""), None, "{unknown}");
    }
    assert_eq!(of(&format!("I wrote `deep/pieces.js`:\n{}", block(CODE)), &look, ""), None);
    let only = Some("lib/case.js".to_owned());
    for other in ["Here `case.words` is mended:", "It runs on Node.js as before:", "The version is 1.2 now."] {
        assert_eq!(of(&format!("{other}\n{}", block(CODE)), &look, ""), only, "{other}");
    }
    assert_eq!(of(&block(&format!("// v1.2\n{CODE}")), &look, ""), only, "no path");
}

#[test]
fn a_heading_of_a_flat_project_may_be_a_new_file() {
    let look = Look { others: Vec::new(), ..shown(&[("calc.py", "x = 1\n")]) };
    let answer = format!("I moved it out of `calc.py`.\n\nutils.py\n{}", block(CODE));
    assert_eq!(of(&answer, &look, ""), Some("utils.py".into()));
    let two = shown(&[("a/utils.py", "x = 1\n"), ("b/utils.py", "x = 1\n"), ("calc.py", "x = 1\n")]);
    assert_eq!(of(&answer, &two, ""), None, "which of the two is not said, and a third is not meant");
}

#[test]
fn the_comment_of_a_block_counts_before_the_text_above_it() {
    let look = shown(&[("src/a.js", "x\n"), ("src/b.js", "x\n")]);
    let answer = format!("This is used by `src/a.js` too:\n{}", block(&format!("// src/b.js\n{CODE}")));
    assert_eq!(of(&answer, &look, ""), Some("src/b.js".into()));
    let answer = format!("In `src/a.js`:\n{}", block(&format!("// This was in src/b.js before.\n{CODE}")));
    assert_eq!(of(&answer, &look, ""), Some("src/a.js".into()), "a comment on something else");
}

#[test]
fn a_path_that_the_issue_names_may_be_new_and_none_outside_of_the_tree() {
    let look = shown(&[("src/a.js", "x\n")]);
    let asked =
        "Move it to `src/parts/pieces.js`, with settings in `pieces.toml`; see ../x.js, /etc/x.js, .ci/x.js and a.js.";
    for (named, new) in [
        ("src/parts/pieces.js", Some("src/parts/pieces.js")),
        ("./src/parts/pieces.js", Some("src/parts/pieces.js")),
        ("pieces.toml", Some("pieces.toml")),
        ("src/parts/others.js", None),
        ("../x.js", None),
        ("/etc/x.js", None),
        (".ci/x.js", None),
        ("a.js", Some("src/a.js")),
    ] {
        let found = of(&format!("{named}\n{}", block(CODE)), &look, asked);
        assert_eq!(found.as_deref(), new, "{named}");
    }
}

#[test]
fn a_comment_with_the_path_of_its_file_is_no_part_of_it() {
    let look = shown(&[("lib/a.py", "x = 1\n"), ("lib/b.py", "# lib/b.py\nx = 1\n")]);
    assert_eq!(uncommented("# lib/a.py\n\nx = 2\n", "lib/a.py", &look), "x = 2\n");
    assert_eq!(uncommented("# a.py\nx = 2\n", "lib/a.py", &look), "x = 2\n");
    for whole in ["# lib/b.py\nx = 2\n", "# lib/c.py\nx = 2\n", "# Uses lib/b.py\nx = 2\n", "# lib/b.py\n"] {
        assert_eq!(uncommented(whole, "lib/b.py", &look), whole);
    }
}
