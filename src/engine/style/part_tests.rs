//! Definitions in the forms that small models return.

use super::*;

const FILE: &str = "import re\n\n\ndef one():\n    return 1\n\n\nclass Bag:\n    size = 2\n\n    # How many.\n    def count(self):\n        return 0\n\n    def drop(self):\n        pass\n\n    def fill(self):\n        pass\n";

#[test]
fn one_definition_replaces_that_one() {
    let out = placed(FILE, "def one():\n    return 2\n", &DefinitionHeads::default()).unwrap();
    assert_eq!(out, FILE.replace("return 1", "return 2"));
    let method = placed(FILE, "def count(self):\n    return self.size\n", &DefinitionHeads::default()).unwrap();
    assert_eq!(method, FILE.replace("return 0", "return self.size"), "moved to its place");
}

#[test]
fn a_class_given_in_part_loses_nothing() {
    let out =
        placed(FILE, "class Bag:\n    def count(self):\n        return 5\n", &DefinitionHeads::default()).unwrap();
    assert_eq!(out, FILE.replace("return 0", "return 5"));
}

#[test]
fn new_imports_and_new_definitions_find_a_place() {
    let out = placed(
        FILE,
        "import os\n\ndef one():\n    return two()\n\n\ndef two():\n    return os.sep\n",
        &DefinitionHeads::default(),
    )
    .unwrap();
    let wanted = FILE
        .replace("import re\n", "import re\nimport os\n")
        .replace("    return 1\n", "    return two()\n\ndef two():\n    return os.sep\n");
    assert_eq!(out, wanted);
}

#[test]
fn what_has_no_certain_place_is_not_placed() {
    assert_eq!(placed(FILE, "x = 1\n", &DefinitionHeads::default()), None);
    let two = FILE.to_owned() + "\n\nclass Box:\n    def shut(self):\n        pass\n";
    assert_eq!(
        placed(&two, "    def other(self):\n        pass\n", &DefinitionHeads::default()),
        None,
        "which of the two is not said"
    );
    assert_eq!(
        placed("def a():\n  1\ndef a():\n  2\n", "def a():\n  3\n", &DefinitionHeads::default()),
        None,
        "there are two"
    );
    assert_eq!(placed(FILE, "def one():\n    return 1\n", &DefinitionHeads::default()), None, "nothing changed");
}

#[test]
fn a_new_method_stands_behind_the_last_of_its_class_or_behind_the_one_given_before_it() {
    let method = "def other(self):\n    return 1\n";
    let end = FILE.to_owned() + "\n    def other(self):\n        return 1\n";
    assert_eq!(placed(FILE, method, &DefinitionHeads::default()).unwrap(), end);
    assert_eq!(
        placed(FILE, "class Bag:\n    def other(self):\n        return 1\n", &DefinitionHeads::default()).unwrap(),
        end
    );
    let between =
        placed(FILE, &format!("def count(self):\n    return 5\n\n{method}"), &DefinitionHeads::default()).unwrap();
    let wanted = FILE.replace("return 0\n", "return 5\n\n    def other(self):\n        return 1\n");
    assert_eq!(between, wanted);
    let rust = "impl Ini {\n    fn one(&self) {}\n\n    fn get(&self) -> u8 {\n        1\n    }\n}\n";
    let wanted = "impl Ini {\n    fn one(&self) {}\n\n    fn get(&self) -> u8 {\n        1\n    }\n\n    fn list(&self) -> u8 {\n        2\n    }\n}\n";
    assert_eq!(placed(rust, "fn list(&self) -> u8 {\n    2\n}\n", &DefinitionHeads::default()).unwrap(), wanted);
    assert_eq!(
        placed(rust, "impl Ini {\n    fn list(&self) -> u8 {\n        2\n    }\n}\n", &DefinitionHeads::default())
            .unwrap(),
        wanted
    );
}

#[test]
fn what_was_left_out_of_a_function_is_not_lost_and_words_about_it_are_not_written() {
    assert_eq!(
        placed(FILE, "def one():\n    # ... existing code ...\n    return 2\n", &DefinitionHeads::default()),
        None
    );
    let out = placed(
        FILE,
        "class Bag:\n    # ... other methods\n    def count(self):\n        return 5\n",
        &DefinitionHeads::default(),
    );
    assert_eq!(out.unwrap(), FILE.replace("return 0", "return 5"));
}

#[test]
fn of_two_with_one_name_the_one_in_its_class_or_the_one_that_was_shown_is_meant() {
    let two = "class A:\n    def go(self, x):\n        return 1\n\nclass B:\n    def go(self):\n        return 1\n";
    let (a, b) = (two.replacen("return 1", "return 2", 1), two.to_owned());
    let second = |text: &str| text.rsplit_once("return 1").map(|(head, tail)| format!("{head}return 2{tail}")).unwrap();
    assert_eq!(
        placed(two, "class A:\n    def go(self, x):\n        return 2\n", &DefinitionHeads::default()).unwrap(),
        a
    );
    assert_eq!(placed(two, "def go(self):\n    return 2\n", &DefinitionHeads::of(two, &[(6, 7)])).unwrap(), second(&b));
    assert_eq!(placed(two, "def go(self):\n    return 2\n", &DefinitionHeads::default()), None);
}

#[test]
fn what_stands_in_no_block_is_replaced_by_its_name() {
    let file = "const a = 1;\n\nmodule.exports = { a };\n";
    let out = placed(file, "function b() {\n}\n\nmodule.exports = { a, b };\n", &DefinitionHeads::default()).unwrap();
    assert_eq!(out, "const a = 1;\n\nfunction b() {\n}\n\nmodule.exports = { a, b };\n");
    assert_eq!(placed("SIZES = [1]\n", "SIZES = [1, 2]\n", &DefinitionHeads::default()).unwrap(), "SIZES = [1, 2]\n");
}

#[test]
fn what_was_left_out_of_a_table_or_a_class_is_not_lost() {
    let object = "module.exports = {\n  foo(a) {\n    return 1;\n  },\n  bar(b) {\n    return b;\n  },\n  baz(c) {\n    return c;\n  },\n};\n";
    let out = placed(object, "module.exports = {\n  foo(a) {\n    return 2;\n  },\n};\n", &DefinitionHeads::default());
    assert_eq!(out.unwrap(), object.replace("return 1", "return 2"));
    let table = "SIZES = {\n    \"a\": 1,\n    \"b\": 2,\n    \"c\": 3,\n    \"d\": 4,\n}\n";
    assert_eq!(placed(table, "SIZES = {\"a\": 5}\n", &DefinitionHeads::default()), None);
    let class = "class A:\n".to_owned()
        + &["a", "b", "c", "d"].map(|it| format!("    def {it}(self):\n        x = 1\n        return x\n\n")).concat();
    let given = class
        .replace("class A:\n", "class A:\n    # ... other methods\n")
        .split("    def d")
        .next()
        .unwrap()
        .replace("x = 1", "x = 2");
    let out = placed(&class, &given, &DefinitionHeads::default()).unwrap();
    assert_eq!((out.matches("x = 2").count(), out.matches("def d").count(), out.contains("...")), (3, 1, false));
}

#[test]
fn an_example_beside_a_definition_is_left_out() {
    let out = placed(FILE, "def one():\n    return 2\n\nresult = one()\nprint(result)\n", &DefinitionHeads::default());
    assert_eq!(out.unwrap(), FILE.replace("return 1", "return 2"));
}

#[test]
fn a_text_over_many_lines_is_one_definition() {
    let file = "def main():\n    pass\n\nUSAGE = \"\"\"\nusage: prog\n\"\"\"\n";
    let out = placed(file, "def helper():\n    pass\n", &DefinitionHeads::default()).unwrap();
    assert_eq!(out, format!("{file}\ndef helper():\n    pass\n"));
    let out = placed(file, "USAGE = \"\"\"\nusage: program\n\"\"\"\n", &DefinitionHeads::default()).unwrap();
    assert_eq!(out, file.replace("prog", "program"));
}

#[test]
fn words_that_the_file_has_itself_leave_nothing_out() {
    let file = "def one():\n    # skip the rest of the line\n    return 1\n";
    assert_eq!(placed(file, &file.replace('1', "2"), &DefinitionHeads::default()).unwrap(), file.replace('1', "2"));
}

#[test]
fn an_example_with_an_import_is_no_answer_and_a_variable_that_is_used_is_kept() {
    assert_eq!(placed(FILE, "from bag import one\nresult = one()\n", &DefinitionHeads::default()), None);
    let out = placed(FILE, "_cache = {}\n\ndef one():\n    return _cache\n", &DefinitionHeads::default()).unwrap();
    assert!(out.contains("_cache = {}\n") && out.contains("return _cache"), "{out}");
}

#[test]
fn nothing_goes_that_was_not_given_back() {
    let script = "const sizes = {\n  a: 1,\n  b: 2,\n  c: 3,\n};\n";
    assert_eq!(placed(script, "const sizes = {\n  a: 5,\n};\n", &DefinitionHeads::default()), None);
    assert_eq!(placed("MAX = 100000\n", "MAX = 1\n", &DefinitionHeads::default()).unwrap(), "MAX = 1\n");
    let property = "class A:\n    @property\n    def size(self):\n        return 1\n";
    let out = placed(property, "# lib/a.py\ndef size(self):\n    return 2\n", &DefinitionHeads::default());
    assert_eq!(out.unwrap(), property.replace('1', "2"));
    let object = "module.exports = {\n  foo() {\n    return 1;\n  },\n  bar() {\n    return 3;\n  }\n};\n";
    let out = placed(object, "module.exports = {\n  foo() {\n    return 2;\n  }\n};\n", &DefinitionHeads::default());
    assert_eq!(out.unwrap(), object.replace("return 1", "return 2"));
    let class = "class A:\n".to_owned()
        + &["a", "b", "c", "d"].map(|it| format!("    def {it}(self):\n        return 1\n")).concat();
    let three = class.split("    def d").next().unwrap().replace("return 1", "return 2");
    let out = placed(&class, &three, &DefinitionHeads::of(&class, &[(2, 7)])).unwrap();
    assert!(out.contains("def d(self)"), "it was not shown: {out}");
    let kept = "def a():\n    # unchanged\n    return 1\n\ndef b():\n    x = 1\n    return x\n";
    assert_eq!(placed(kept, "def b():\n    # unchanged\n    return 2\n", &DefinitionHeads::default()), None);
}

#[test]
fn quoted_quotes_begin_no_text_and_an_import_over_several_lines_stays_whole() {
    let file = "QUOTES = ('\"\"\"', \"'''\")\n\ndef a():\n    \"\"\"Doc.\"\"\"\n    return 1\n";
    let out = placed(file, "def a():\n    return 2\n", &DefinitionHeads::default()).unwrap();
    assert!(out.starts_with("QUOTES") && out.contains("return 2") && !out.contains("return 1"), "{out}");
    let file = "from x import (\n    a,\n)\n\ndef one():\n    return a\n";
    let out = placed(file, "import os\n\ndef one():\n    return os\n", &DefinitionHeads::default()).unwrap();
    assert!(out.starts_with("from x import (\n    a,\n)\nimport os\n"), "{out}");
}

#[test]
fn a_block_of_nothing_but_imports_adds_them() {
    let out = placed(FILE, "import re\nfrom .util import escape\n", &DefinitionHeads::default()).unwrap();
    assert_eq!(out, FILE.replace("import re\n", "import re\nfrom .util import escape\n"));
    assert_eq!(placed(FILE, "from bag import one\none()\n", &DefinitionHeads::default()), None, "an example");
}

#[test]
fn the_names_of_a_function_are_no_variables_of_the_file() {
    let file = "def wrap(text):\n    return text\n";
    let answer = "def wrap(text):\n    return text.strip()\n\ntext = load(1)\nprint(wrap(text))\n";
    let out = placed(file, answer, &DefinitionHeads::default());
    assert_eq!(out.unwrap(), "def wrap(text):\n    return text.strip()\n");
}

#[test]
fn a_class_without_methods_is_replaced_also_where_the_file_was_shown_in_part() {
    let file = "class Config:\n    a: int = 1\n    b: int = 2\n";
    let out = placed(file, &file.replace('2', "3"), &DefinitionHeads::of(file, &[(1, 3)]));
    assert_eq!(out.unwrap(), file.replace('2', "3"));
}

#[test]
fn a_text_in_a_call_a_table_in_brackets_and_words_above_stay() {
    let file = "def main():\n    pass\n\nUSAGE = dedent(\"\"\"\nusage: prog\n\"\"\")\n";
    let out = placed(file, "def helper():\n    pass\n", &DefinitionHeads::default()).unwrap();
    assert_eq!(out, format!("{file}\ndef helper():\n    pass\n"));
    let words = "KEYWORDS = (\n    \"if\",\n    \"else\",\n    \"while\",\n)\n";
    assert_eq!(placed(words, "KEYWORDS = (\"if\",)\n", &DefinitionHeads::default()), None);
    let rust = "/// Parses a header.\n/// The rest of the line stays.\n#[case(1.5)]\nfn parse() {\n    1\n}\n";
    assert_eq!(
        placed(rust, &rust.replace("    1\n", "    2\n"), &DefinitionHeads::default()).unwrap(),
        rust.replace("    1\n", "    2\n")
    );
}

#[test]
fn the_first_import_stands_behind_what_speaks_of_the_whole_file() {
    let with = |file: &str, line: &str| placed(file, line, &DefinitionHeads::default()).unwrap();
    assert_eq!(with("//! Doc.\n\nfn a() {}\n", "use crate::b;\n"), "//! Doc.\nuse crate::b;\n\nfn a() {}\n");
    assert_eq!(with("'use strict';\n\nf();\n", "import b from 'b';\n"), "'use strict';\nimport b from 'b';\n\nf();\n");
    assert_eq!(
        with("\"\"\"Doc.\n\nMore.\n\"\"\"\n\nx = 1\n", "import os\n"),
        "\"\"\"Doc.\n\nMore.\n\"\"\"\nimport os\n\nx = 1\n"
    );
    assert_eq!(with("/// One.\nfn a() {}\n", "use crate::b;\n"), "use crate::b;\n/// One.\nfn a() {}\n");
}

#[test]
fn so_many_definitions_and_no_more_are_placed() {
    let file: String = (0..200).map(|at| format!("def f{at}():\n    return 1\n")).collect();
    let given =
        |most: usize| file.replace("return 1", "return 2").split_inclusive('\n').take(2 * most).collect::<String>();
    assert_eq!(placed(&file, &given(MOST), &DefinitionHeads::default()).unwrap().matches("return 2").count(), MOST);
    assert_eq!(placed(&file, &given(MOST + 1), &DefinitionHeads::default()), None);
}

#[test]
fn the_usual_comments_in_place_of_code_are_known() {
    for mark in [
        "# ... rest of code ...",
        "# ... other code ...",
        "// ... rest of implementation",
        "# Same as before",
        "# ... (no changes)",
        "# Helpers (no changes)",
        "# Other functions remain the same",
        "# …",
        "// …",
        "# rest of file",
        "/* ... */",
        "...",
    ] {
        let text = format!("def one():\n    return 1\n\n{mark}\n");
        assert!(omits(&text, FILE), "{mark}");
        assert!(!omits(&text, &text), "the file has it: {mark}");
    }
    for own in
        ["# The others wait", "    ...options,", "# If there is no change, it ends", "# v1...v2", "#[allow(dead_code)]"]
    {
        assert!(!omits(&format!("def one():\n{own}\n"), FILE), "{own}");
    }
}

/// Without a list of what was shown.
fn put(file: &str, block: &str) -> Option<String> {
    placed(file, block, &DefinitionHeads::default())
}

#[test]
fn a_comment_with_an_empty_line_is_kept_whole() {
    let file = "class Help {\n  wrap(text) {\n    return text;\n  }\n}\n";
    let block =
        "  /**\n   * Wraps.\n   *\n   * @param {string} text\n   */\n  wrap(text) {\n    return text.trim();\n  }\n";
    assert_eq!(put(file, block).unwrap(), format!("class Help {{\n{block}}}\n"));
}

#[test]
fn a_new_method_before_a_changed_one_stands_before_it() {
    let file = "struct A;\n\nimpl A {\n    /// One.\n    fn one(&self) -> u8 {\n        1\n    }\n}\n\nimpl Default for A {\n    fn default() -> A {\n        A\n    }\n}\n";
    let (two, one) = ("fn two(&self) -> u8 {\n    2\n}\n", "fn one(&self) -> u8 {\n    self.two()\n}\n");
    let wanted = file.replace("    /// One.\n", "    fn two(&self) -> u8 {\n        2\n    }\n\n    /// One.\n");
    assert_eq!(put(file, &format!("{two}\n{one}")).unwrap(), wanted.replace("        1\n", "        self.two()\n"));
    let python = "class A:\n    def a(self):\n        return 1\n\nclass B:\n    def b(self):\n        return 1\n";
    let block = "    def _h(self):\n        return 3\n\n    def b(self):\n        return self._h()\n";
    let wanted = python.replace("    def b(self):\n        return 1\n", block);
    assert_eq!(put(python, block).unwrap(), wanted);
}

#[test]
fn of_a_property_and_its_setter_the_one_that_begins_alike_is_meant() {
    let file = "class A:\n    @property\n    def size(self):\n        return self._s\n\n    @size.setter\n    def size(self, v):\n        self._s = v\n";
    let block = "    @size.setter\n    def size(self, v):\n        self._s = int(v)\n";
    let wanted = file.replace("_s = v", "_s = int(v)");
    assert_eq!(put(file, block).as_ref(), Some(&wanted));
    assert_eq!(placed(file, block, &DefinitionHeads::of(file, &[(1, 8)])), Some(wanted));
    let script = "class A {\n  get x() {\n    return 1;\n  }\n  set x(a) {\n    this.a = a;\n  }\n}\n";
    let out = put(script, "  get x() {\n    return 2;\n  }\n");
    assert_eq!(out.unwrap(), script.replace("return 1", "return 2"));
}

#[test]
fn what_is_given_within_one_of_two_containers_with_one_name_is_found_in_either() {
    let file = "impl A {\n    fn new() -> A {\n        A\n    }\n}\n\nimpl A {\n    fn go(&self) -> u8 {\n        1\n    }\n}\n";
    let block = "impl A {\n    fn go(&self) -> u8 {\n        2\n    }\n}\n";
    let wanted = file.replace("        1\n", "        2\n");
    assert_eq!(put(file, block).as_ref(), Some(&wanted));
    assert_eq!(placed(file, block, &DefinitionHeads::of(file, &[(7, 11)])), Some(wanted));
}

#[test]
fn a_definition_is_replaced_up_to_its_end() {
    let rust = "fn f<T>(x: T) -> u8\nwhere\n    T: Into<u8>,\n{\n    x.into()\n}\n";
    let block = "fn f<T: Into<u8>>(x: T) -> u8 {\n    x.into() + 1\n}\n";
    assert_eq!(put(rust, block).unwrap(), block);
    let script = "function help() {\n  return `\nUsage: x\n  a\n`;\n}\n\nfunction b() {\n}\n";
    let out = put(script, "function help() {\n  return `\nUsage: y\n  a\n`;\n}\n");
    assert_eq!(out.unwrap(), script.replace("Usage: x", "Usage: y"));
    let python = "def usage():\n    return \"\"\"\nusage: x\n\"\"\"\n\n\ndef b():\n    pass\n";
    let out = put(python, "def usage():\n    return \"\"\"\nusage: y\n\"\"\"\n");
    assert_eq!(out.unwrap(), python.replace("usage: x", "usage: y"));
}

#[test]
fn tabs_stay_tabs() {
    let file = "class A:\n\tdef f(self):\n\t\treturn 1\n\n\tdef g(self):\n\t\treturn 1\n";
    let out = put(file, "def f(self):\n\tif self:\n\t\treturn 2\n").unwrap();
    assert_eq!(out, file.replacen("\t\treturn 1\n", "\t\tif self:\n\t\t\treturn 2\n", 1));
    let out = put(file, "class A:\n    def f(self):\n        return 2\n").unwrap();
    assert!(out.starts_with("class A:\n\tdef f(self):\n\t") && out.contains("return 2\n\n\tdef g"), "{out}");
}

#[test]
fn new_fields_of_a_class_stand_before_its_methods_or_the_answer_is_not_placed() {
    let script = "class A {\n  constructor() {\n    this.a = 1;\n  }\n  size() {\n    return 1;\n  }\n  more() {\n    return 1;\n  }\n}\n";
    let block = "class A {\n  #cache = new Map();\n\n  size() {\n    return this.#cache.size;\n  }\n}\n";
    let wanted = script.replace("class A {\n", "class A {\n  #cache = new Map();\n\n").replacen(
        "return 1",
        "return this.#cache.size",
        1,
    );
    assert_eq!(put(script, block).unwrap(), wanted);
    let block = "class Bag:\n    size = 3\n    retries: int = 3\n\n    def count(self):\n        return self.retries\n";
    let wanted =
        FILE.replace("size = 2\n", "size = 3\n    retries: int = 3\n").replace("return 0", "return self.retries");
    assert_eq!(put(FILE, block).unwrap(), wanted);
    let late = "class Bag:\n    def count(self):\n        return 5\n\n    size = property(count)\n";
    assert_eq!(put(FILE, late), None, "where it belongs is not sure");
}

#[test]
fn methods_without_indentation_and_with_arguments_over_several_lines_are_placed() {
    let file =
        "class A {\n  size() {\n    return 1;\n  }\n\n  async go(\n    a,\n    b\n  ) {\n    return 1;\n  }\n}\n";
    let out = put(file, "size() {\n  return 2;\n}\n").unwrap();
    assert_eq!(out, file.replacen("return 1", "return 2", 1));
    let go = "async go(\n  a,\n  c\n) {\n  return c;\n}\n";
    let wanted = file.replace("    b\n", "    c\n").replace("  ) {\n    return 1;", "  ) {\n    return c;");
    assert_eq!(put(file, go).unwrap(), wanted);
    let both = put(file, "size() {\n  return this.other();\n}\n\n// Other.\nother() {\n  return 2;\n}\n").unwrap();
    assert!(
        both.contains("    return this.other();\n  }\n\n  // Other.\n  other() {\n    return 2;\n  }\n\n  async go("),
        "{both}"
    );
    assert_eq!(put(file, "function b() {\n}\n\nunknown() {\n  return 2;\n}\n"), None, "it would be lost");
}

#[test]
fn an_import_of_more_names_takes_the_place_of_the_one_of_fewer() {
    let with = |file: &str, block: &str| put(&format!("{file}\nf();\n"), block).map(|out| out.replace("\nf();\n", ""));
    let same = |file: &str, block: &str| assert_eq!(with(file, block).as_deref(), Some(block));
    same("const { a } = require('x');\n", "const { a, b } = require('x');\n");
    same("import { a } from 'x';\n", "import c, { a, b } from \"x\";\n");
    same("from x import a\n", "from x import (\n    a,\n    b,\n)\n");
    same("export { a };\n", "export { a, b };\n");
    let out = with("const { a, c } = require('x');\n", "const { a, b } = require('x');\n");
    assert_eq!(out.unwrap(), "const { a, c } = require('x');\nconst { b } = require('x');\n");
    let out = with("use c::HashMap;\n", "use c::{HashMap, HashSet, fmt::{self, Write}};\n");
    assert_eq!(out.unwrap(), "use c::HashMap;\nuse c::HashSet;\nuse c::fmt;\nuse c::fmt::Write;\n");
    assert_eq!(with("use c::{HashMap, HashSet};\n", "use c::HashMap;\n"), None, "it is there");
}

#[test]
fn what_stands_between_and_above_definitions_is_not_lost() {
    let python = "import os\n\ndef f():\n    return 1\n";
    let guarded = "try:\n    import json\nexcept ImportError:\n    json = None\n";
    let out = put(python, &format!("{guarded}\ndef f():\n    return json\n")).unwrap();
    assert_eq!(out, format!("import os\n{guarded}\ndef f():\n    return json\n"));
    let script = "const fs = require('fs');\n\nfunction a() {\n  return 1;\n}\n";
    let block =
        "const fs = require('fs');\nconst { join } = require('path');\n\nfunction a() {\n  return join('a', 'b');\n}\n";
    assert_eq!(put(script, block).unwrap(), block);
    let block = "function a() {\n  return 2;\n}\n\nexport { a };\n";
    assert_eq!(put(script, block).unwrap(), format!("const fs = require('fs');\n\n{block}"));
    let example = format!("{block}\ntest('a', function () {{\n  a();\n}});\n");
    assert_eq!(put(script, &example), put(script, block));
    let rust = "fn a() -> u8 {\n    1\n}\n";
    let block = "pub use b::c;\n\nstatic MAX: u8 = 5;\n\nfn a() -> u8 {\n    MAX\n}\n";
    assert_eq!(put(rust, block).unwrap(), block.replacen("\n\n", "\n", 1));
    assert_eq!(put(rust, "macro_rules! m {\n    () => {};\n}\n\nfn a() -> u8 {\n    m!()\n}\n"), None);
    let example = "def f():\n    return 2\n\nfrom module import f\nprint(f())\n";
    assert_eq!(put(python, example).unwrap(), python.replace('1', "2"), "the file does not import itself");
}

#[test]
fn a_pattern_of_several_names_is_completed_or_replaced_and_no_name_is_bound_twice() {
    let file = "const config = load();\nconst { A, B } = process.env;\n\nfunction f() {\n  return A;\n}\n";
    let block = |first: &str| format!("{first}\n\nfunction f() {{\n  return C;\n}}\n");
    let after =
        |first: &str| Some(file.replace("const { A, B } = process.env;", first).replace("return A", "return C"));
    for (given, expected) in [
        ("const { A, B, C = 1 } = process.env;", "const { A, B, C = 1 } = process.env;"),
        ("const {\n  A,\n  B: B,\n  C,\n} = config;", "const {\n  A,\n  B: B,\n  C,\n} = config;"),
        ("const { B, C } = process.env;", "const { A, B, C } = process.env;"),
        ("const { A } = process.env;", "const { A, B } = process.env;"),
        ("const { C } = config;", "const { A, B } = process.env;\n\nconst { C } = config;"),
    ] {
        assert_eq!(put(file, &block(given)), after(expected), "{given}");
    }
    for given in ["const { B, C } = config;", "const { A = 2 } = process.env;", "const A = 1;"] {
        assert_eq!(put(file, &block(given)), None, "{given}");
    }
    let more = "const { A, B, C } = process.env;";
    assert_eq!(placed(file, &block(more), &DefinitionHeads::of(file, &[(4, 6)])), after(more), "it was not shown");
    let new = "let [x, y] = [1, 2];\n\nfunction f() {\n  return x;\n}\n";
    assert_eq!(put("function f() {\n  return 1;\n}\n", new).unwrap(), new);
    assert_eq!(put(new, &new.replace("[x, y]", "[x, y = 3]")).unwrap(), new.replace("[x, y]", "[x, y = 3]"));
}

#[test]
fn what_an_example_behind_the_definitions_assigns_and_prints_is_not_written() {
    let script = "function f(x) {\n  return x;\n}\n\nfunction g() {\n  return 1;\n}\n";
    let block = "function f(x) {\n  return x + 1;\n}\n\n";
    let wanted = Some(script.replace("return x;", "return x + 1;"));
    for example in [
        "const out = f(1);\nconsole.log(out);\n",
        "// Try it.\nconst first = await f(1);\nconst out = g(first);\n\nconsole.log(`is ${out}`); // 2\n",
    ] {
        assert_eq!(put(script, &format!("{block}{example}")), wanted, "{example}");
    }
    let rust = "fn add(a: u8, b: u8) -> u8 {\n    a - b\n}\n\nfn sub() {}\n";
    let added = rust.replace("a - b", "a + b");
    let (block, _) = added.split_once("\nfn sub").unwrap();
    let example = "let sum = add(1, 2);\nprintln!(\"{sum}\");\nassert_eq!(sum, 3);\n";
    assert_eq!(put(rust, &format!("{block}\n{example}")).as_ref(), Some(&added));
    let python = "def add(a, b):\n    result = a - b\n    return result\n\n\ndef sub():\n    pass\n";
    let block = "def add(a, b):\n    result = a + b\n    return result\n\n\nresult = add(1, 2)\nprint(result)\n";
    assert_eq!(put(python, block).unwrap(), python.replace("a - b", "a + b"));
}

#[test]
fn a_constant_that_is_used_or_exported_or_not_printed_is_no_example() {
    let script = "function f(x) {\n  return x;\n}\n\nfunction g() {\n  return 1;\n}\n";
    for (given, name) in [
        ("function f(x) {\n  return x + size;\n}\n\nconst size = g();\nconsole.log(size);\n", "size"),
        ("function f(x) {\n  return 2;\n}\n\nexport { out };\n\nconst out = f(1);\nconsole.log(out);\n", "out"),
        ("function f(x) {\n  return 2;\n}\n\nconst out = f(1);\n", "out"),
        ("function f(x) {\n  return 2;\n}\n\nconst out = other(1);\nconsole.log(out);\n", "out"),
        ("function f(x) {\n  return 2;\n}\n\nconst OUT = f(1);\nconsole.log(OUT);\n", "OUT"),
    ] {
        let out = put(script, given).unwrap();
        assert!(out.contains(&format!("const {name} = ")), "{out}");
    }
}
