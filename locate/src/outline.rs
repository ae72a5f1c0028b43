//! Definitions and imports of a source, read from its syntax tree.
//!
//! Owns the grammars' node names for definitions. A text with errors yields what could be parsed; one that takes too long yields nothing.
//! Must not know files or scores. Tests: below and in `parts.rs`.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use protocol::survey::MAX_NAME;
use tree_sitter::{Node, ParseOptions, Parser, TreeCursor};

use crate::language::Language;

/// A text that takes longer to parse has no outline, because some texts are made to be slow.
const PARSE: Duration = Duration::from_millis(700);
/// Deepest nesting of definitions.
const DEPTH: u32 = 5;
/// The most definitions of one file; generated files have more.
const MOST: usize = 3000;

/// A definition; lines count from 0.
#[derive(Debug)]
pub struct Definition {
    /// In one line, not empty, and no longer than an answer's names.
    pub name: String,
    /// First line of the comments and attributes above it.
    pub first: usize,
    pub last: usize,
    /// Whether it is a function, class or the like, which can be shown by itself.
    pub block: bool,
    pub inner: Vec<Definition>,
}

#[derive(Debug, Default)]
pub struct Outline {
    pub definitions: Vec<Definition>,
    /// Text of the imports.
    pub imports: Vec<String>,
}

impl Outline {
    /// `None` when parsing takes too long.
    pub fn of(text: &str, language: Language) -> Option<Self> {
        let mut parser = Parser::new();
        parser.set_language(&language.grammar()).ok()?;
        let end = Instant::now() + PARSE;
        let mut late = |_: &_| if Instant::now() > end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        let options = ParseOptions::new().progress_callback(&mut late);
        let tree = parser.parse_with_options(
            &mut |at, _| text.as_bytes().get(at..).unwrap_or_default(),
            None,
            Some(options),
        )?;
        let mut reader = Reader { text, left: MOST, imports: Vec::new() };
        let definitions = reader.within(tree.root_node(), DEPTH);
        Some(Self { definitions, imports: reader.imports })
    }

    /// All names in order of appearance.
    pub fn names(&self) -> Vec<&str> {
        fn add<'a>(definitions: &'a [Definition], out: &mut Vec<&'a str>) {
            for definition in definitions {
                out.push(&definition.name);
                add(&definition.inner, out);
            }
        }
        let mut out = Vec::new();
        add(&self.definitions, &mut out);
        out
    }
}

/// A node that defines something: its name, and the node that may contain further definitions.
struct Shape<'tree> {
    name: Node<'tree>,
    body: Option<Node<'tree>>,
    block: bool,
}

struct Reader<'a> {
    text: &'a str,
    left: usize,
    imports: Vec<String>,
}

impl Reader<'_> {
    fn text(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn within(&mut self, parent: Node<'_>, depth: u32) -> Vec<Definition> {
        let mut out = Vec::new();
        let mut cursor = parent.walk();
        // First and last line of comments and attributes directly above the next node.
        let mut above: Option<(usize, usize)> = None;
        for node in children(parent, &mut cursor) {
            let (first, last) = lines(node);
            if is_above(node.kind()) {
                let joined = above.filter(|(_, end)| first <= end + 1);
                above = Some((joined.map_or(first, |(begin, _)| begin), last));
                continue;
            }
            let begin = above.take().filter(|(_, end)| first <= end + 1).map_or(first, |(begin, _)| begin);
            self.import(node);
            self.define(node, (begin, last), depth, &mut out);
        }
        out
    }

    fn define(&mut self, node: Node<'_>, (first, last): (usize, usize), depth: u32, out: &mut Vec<Definition>) {
        let Some(node) = unwrapped(node) else { return };
        for shape in shapes(node) {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            let name = self.name(shape.name);
            let inner = match shape.body {
                Some(body) if depth > 0 => self.within(body, depth - 1),
                Some(_) | None => Vec::new(),
            };
            match name.is_empty() {
                // A broken text may lack a name; what is defined within counts like what is beside it.
                true => out.extend(inner),
                false => out.push(Definition { name, first, last, block: shape.block, inner }),
            }
        }
        // A definition below a condition counts like one beside it.
        if matches!(node.kind(), "if_statement" | "try_statement" | "block" | "statement_block") && depth > 0 {
            let inner = self.within(node, depth - 1);
            out.extend(inner);
        }
    }

    /// `Session` for `impl<T> Session<T>`, `send` for `exports.send = …`; empty where a broken text has none.
    fn name(&self, node: Node<'_>) -> String {
        let node = match node.kind() {
            "generic_type" => node.child_by_field_name("type").unwrap_or(node),
            "member_expression" => node.child_by_field_name("property").unwrap_or(node),
            _ => node,
        };
        in_one_line(self.text(node))
    }

    fn import(&mut self, node: Node<'_>) {
        let is_import = matches!(
            node.kind(),
            "import_statement" | "import_from_statement" | "use_declaration" | "import_declaration" | "import_spec"
        );
        let required = node.kind().ends_with("_declaration") && self.text(node).contains("require(");
        if (is_import || required) && self.imports.len() < 400 {
            let text = self.text(node).chars().take(2000).collect();
            self.imports.push(text);
        }
    }
}

/// The text without control characters, with single spaces, and cut to the length of a name.
fn in_one_line(text: &str) -> String {
    let mut name = text.split_whitespace().collect::<Vec<_>>().join(" ");
    name.retain(|c| !c.is_control());
    name.truncate(name.floor_char_boundary(MAX_NAME));
    name
}

fn lines(node: Node<'_>) -> (usize, usize) {
    let (first, end) = (node.start_position().row, node.end_position());
    // A node that ends at the beginning of a line ended on the line before.
    let last = if end.column == 0 && end.row > first { end.row - 1 } else { end.row };
    (first, last)
}

/// All named children; a cursor is used because access by index starts over each time.
fn children<'tree>(parent: Node<'tree>, cursor: &mut TreeCursor<'tree>) -> Vec<Node<'tree>> {
    parent.named_children(cursor).collect()
}

fn is_above(kind: &str) -> bool {
    matches!(kind, "comment" | "line_comment" | "block_comment" | "attribute_item" | "decorator")
}

/// The definition inside a decorator or export.
fn unwrapped(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "decorated_definition" => node.child_by_field_name("definition"),
        "export_statement" => node.child_by_field_name("declaration").or_else(|| node.child_by_field_name("value")),
        "expression_statement" => node.named_child(0),
        _ => Some(node),
    }
}

fn shapes<'tree>(node: Node<'tree>) -> Vec<Shape<'tree>> {
    let named = |field: &str, block: bool| {
        let name = node.child_by_field_name(field);
        name.map(|name| Shape { name, body: node.child_by_field_name("body"), block }).into_iter().collect()
    };
    match node.kind() {
        "function_definition"
        | "class_definition"
        | "function_item"
        | "function_signature_item"
        | "struct_item"
        | "enum_item"
        | "union_item"
        | "trait_item"
        | "mod_item"
        | "macro_definition"
        | "function_declaration"
        | "generator_function_declaration"
        | "function_signature"
        | "class_declaration"
        | "abstract_class_declaration"
        | "method_definition"
        | "interface_declaration"
        | "enum_declaration"
        | "internal_module"
        | "module"
        | "method_declaration"
        | "constructor_declaration"
        | "record_declaration"
        | "annotation_type_declaration" => named("name", true),
        "impl_item" => named("type", true),
        "const_item" | "static_item" | "type_item" | "type_alias_declaration" | "public_field_definition" => {
            named("name", false)
        }
        "field_definition" => named("property", false),
        "type_declaration" | "const_declaration" | "var_declaration" => specified(node),
        "lexical_declaration" | "variable_declaration" => declared(node),
        "assignment" => assigned(node, false),
        "assignment_expression" => {
            let made = node.child_by_field_name("right").is_some_and(|right| is_block(right.kind()));
            if made { assigned(node, true) } else { Vec::new() }
        }
        _ => Vec::new(),
    }
}

/// The definitions in Go's `type ( … )` and `const ( … )`.
fn specified<'tree>(node: Node<'tree>) -> Vec<Shape<'tree>> {
    let mut cursor = node.walk();
    let block = node.kind() == "type_declaration";
    let specs = children(node, &mut cursor).into_iter().filter(|spec| spec.kind().ends_with("_spec"));
    specs.filter_map(|spec| Some(Shape { name: spec.child_by_field_name("name")?, body: None, block })).collect()
}

/// The definition in JavaScript's `const send = () => …`.
fn declared<'tree>(node: Node<'tree>) -> Vec<Shape<'tree>> {
    let mut cursor = node.walk();
    let all = children(node, &mut cursor).into_iter().filter(|one| one.kind() == "variable_declarator");
    let shape = |one: Node<'tree>| {
        let name = one.child_by_field_name("name").filter(|name| name.kind() == "identifier")?;
        let value = one.child_by_field_name("value");
        let block = value.is_some_and(|value| is_block(value.kind()));
        Some(Shape { name, body: value.and_then(|value| value.child_by_field_name("body")).filter(|_| block), block })
    };
    all.filter_map(shape).collect()
}

fn assigned<'tree>(node: Node<'tree>, block: bool) -> Vec<Shape<'tree>> {
    let name =
        node.child_by_field_name("left").filter(|left| matches!(left.kind(), "identifier" | "member_expression"));
    name.map(|name| Shape { name, body: None, block }).into_iter().collect()
}

fn is_block(kind: &str) -> bool {
    matches!(kind, "arrow_function" | "function_expression" | "function" | "generator_function" | "class")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str, language: Language) -> Vec<String> {
        let outline = Outline::of(text, language).unwrap();
        outline.names().into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn each_language_gives_its_names() {
        let python = "LIMIT = 3\n@wraps\ndef send(x):\n    pass\nclass Session(Base):\n    def get(self): pass\n";
        assert_eq!(names(python, Language::Python), ["LIMIT", "send", "Session", "get"]);
        let rust = "/// Doc.\npub struct Wire<T>(T);\nimpl<T> Wire<T> { fn cut(&self) {} }\nmod a { const B: u8 = 1; }\nmacro_rules! m { () => {} }";
        assert_eq!(names(rust, Language::Rust), ["Wire", "Wire", "cut", "a", "B", "m"]);
        let script = "const a = 1;\nconst send = async () => {};\nclass View { render() {} }\nexports.use = function use(fn) {};\nexport default class Deep {}\nexport function top() {}";
        assert_eq!(names(script, Language::JavaScript), ["a", "send", "View", "render", "use", "Deep", "top"]);
        let typed = "export interface Shape { a: string }\ntype Id = string;\nexport abstract class X { private y = 1; z(): void {} }\nenum E { A }\nnamespace N { export const q = () => 1 }";
        assert_eq!(names(typed, Language::TypeScript), ["Shape", "Id", "X", "y", "z", "E", "N", "q"]);
        let go = "package a\ntype Command struct { Use string }\nfunc (c *Command) Execute() error { return nil }\nfunc New() {}\nconst X = 1\n";
        assert_eq!(names(go, Language::Go), ["Command", "Execute", "New", "X"]);
        let java = "package a; import a.B; class Gson { Gson() {} String toJson(Object o) { return null; } interface In { void go(); } }";
        assert_eq!(names(java, Language::Java), ["Gson", "Gson", "toJson", "In", "go"]);
    }

    #[test]
    fn imports_are_told() {
        let python = Outline::of("from a.b import c\nimport os\n", Language::Python).unwrap();
        assert_eq!(python.imports, ["from a.b import c", "import os"]);
        let script =
            Outline::of("const x = require('../lib/x');\nimport y from './y.js';\n", Language::JavaScript).unwrap();
        assert_eq!(script.imports, ["const x = require('../lib/x');", "import y from './y.js';"]);
    }

    #[test]
    fn a_broken_text_gives_what_can_be_told() {
        let found =
            names("def whole():\n    pass\n\nclass Cut(:\n  def (((\n\ndef after():\n    pass\n", Language::Python);
        assert!(found.contains(&"whole".to_owned()), "{found:?}");
        assert!(Outline::of("", Language::Go).unwrap().names().is_empty());
    }

    #[test]
    fn each_name_is_one_that_an_answer_may_have() {
        let rust = "impl From<&X>\n    for (\n        A,\n        B,\n    )\n{\n    fn from(x: &X) -> Self {}\n}\n";
        assert_eq!(names(rust, Language::Rust), ["( A, B, )", "from"]);
        let long = names(&format!("def {}(): pass\n", "é".repeat(200)), Language::Python);
        assert_eq!(long, ["é".repeat(MAX_NAME / 2)]);
        for broken in ["exports. = function () {};\n", "function () { }\nexports.a = class { x() {} };\n"] {
            assert!(names(broken, Language::JavaScript).iter().all(|name| !name.is_empty()), "{broken}");
        }
        assert_eq!(in_one_line("a\u{1b}[0m\u{85}\tb\n"), "a[0m b");
        assert_eq!(in_one_line(" \u{1} \n"), "");
    }

    #[test]
    fn depth_and_number_are_bounded() {
        let deep =
            "class A:\n".to_owned() + &(1..200).map(|at| format!("{}class A:\n", " ".repeat(at))).collect::<String>();
        assert!(names(&deep, Language::Python).len() <= DEPTH as usize + 1);
        let many = "def f(): pass\n".repeat(MOST + 50);
        assert_eq!(names(&many, Language::Python).len(), MOST);
    }
}
