//! Finds names that a Python text uses and nothing in it defines.
//!
//! Ignores scopes: a name bound anywhere in the file counts as defined everywhere. Anything that may define names from elsewhere (`import
//! *`, `exec`, `globals()` and the like) disables the check for the file. Tests: below.

use std::collections::HashSet;

use tree_sitter::{Node, Tree};

use super::{Mistake, each};

/// Built-in names of Python 3.13, additions of the interactive interpreter and of common script hosts, and names of Python 2, because some
/// code supports both.
const BUILT_IN: &str = "ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError \
BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError \
DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception ExceptionGroup False FileExistsError FileNotFoundError \
FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning IndentationError IndexError InterruptedError \
IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError None NotADirectoryError \
NotImplemented NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError \
PythonFinalizationError RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration \
SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError True TypeError UnboundLocalError UnicodeDecodeError \
UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning WindowsError ZeroDivisionError _ abs \
aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex copyright credits delattr dict \
dir divmod enumerate eval exec exit filter float format frozenset getattr globals hasattr hash help hex id input int isinstance \
issubclass iter len license list locals map max memoryview min next object oct open ord pow print property quit range repr reversed \
round set setattr slice sorted staticmethod str sum super tuple type vars zip \
StandardError apply basestring buffer cmp coerce execfile file intern long raw_input reduce reload unichr unicode xrange \
get_config get_ipython ngettext npgettext pgettext reveal_locals reveal_type";

/// Names whose use may define others, or that handle an undefined one.
const SILENCING: [&str; 10] =
    ["exec", "eval", "execfile", "globals", "locals", "vars", "builtins", "__builtin__", "__builtins__", "NameError"];
/// Methods of `enum` that add names to the module they are called in.
const BRINGING: [&str; 2] = ["_convert", "_convert_"];
/// In a comment it marks a line that its author knows to look wrong.
const KNOWN: &str = "noqa";

/// Each undefined name once, at its first use.
pub fn undefined(text: &str, tree: &Tree) -> Vec<(String, Mistake)> {
    let mut reader = Reader { text, bound: HashSet::new(), used: Vec::new(), silent: false };
    each(tree, |node| reader.read(node));
    if reader.silent {
        return Vec::new();
    }
    let lines: Vec<&str> = text.lines().collect();
    let built_in: HashSet<&str> = BUILT_IN.split_whitespace().collect();
    let mut told = HashSet::new();
    let mut out = Vec::new();
    for (name, row) in reader.used {
        let known = reader.bound.contains(name) || built_in.contains(name) || name.starts_with("__");
        let known = known || lines.get(row).is_some_and(|line| line.contains(KNOWN));
        if !known && told.insert(name) {
            out.push((name.to_owned(), Mistake { line: row + 1, what: format!("undefined name `{name}`") }));
        }
    }
    out
}

struct Reader<'a> {
    text: &'a str,
    bound: HashSet<&'a str>,
    used: Vec<(&'a str, usize)>,
    silent: bool,
}

impl<'a> Reader<'a> {
    fn name(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn read(&mut self, node: Node<'_>) {
        let field = |name: &str| node.child_by_field_name(name);
        match node.kind() {
            "identifier" => self.identifier(node),
            "wildcard_import" | "exec_statement" => self.silent = true,
            "assignment" | "augmented_assignment" | "for_statement" | "for_in_clause" | "type_alias_statement" => {
                self.bind(field("left"));
            }
            "named_expression"
            | "function_definition"
            | "class_definition"
            | "default_parameter"
            | "typed_default_parameter" => {
                self.bind(field("name"));
                self.bind(field("type_parameters"));
            }
            "except_clause" => self.bind(field("alias")),
            "parameters" | "lambda_parameters" | "typed_parameter" => {
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor) {
                    let plain = ["identifier", "tuple_pattern", "list_splat_pattern", "dictionary_splat_pattern"];
                    if plain.contains(&child.kind()) {
                        self.bind(Some(child));
                    }
                }
            }
            "import_statement" | "import_from_statement" | "future_import_statement" => self.import(node),
            // All names in these count as bound, because a constant in a pattern is seldom the only mistake.
            "global_statement" | "nonlocal_statement" | "delete_statement" | "case_pattern" | "as_pattern_target" => {
                self.bind(Some(node));
            }
            _ => {}
        }
    }

    /// Records a use, unless the identifier is an attribute, a keyword or the like.
    fn identifier(&mut self, node: Node<'_>) {
        let name = self.name(node);
        let Some(parent) = node.parent() else { return };
        let is = |field: &str| parent.child_by_field_name(field) == Some(node);
        let none = match parent.kind() {
            "attribute" if is("attribute") => {
                self.silent |= BRINGING.contains(&name);
                true
            }
            "keyword_argument" => is("name"),
            "dotted_name" | "aliased_import" | "member_type" | "keyword_pattern" | "ERROR" => true,
            _ => false,
        };
        if none {
            return;
        }
        self.silent |= SILENCING.contains(&name);
        self.used.push((name, node.start_position().row));
    }

    /// Binds every name in a target, except those it only accesses attributes or items of.
    fn bind(&mut self, node: Option<Node<'_>>) {
        let mut left: Vec<Node<'_>> = node.into_iter().collect();
        while let Some(node) = left.pop() {
            match node.kind() {
                "identifier" => drop(self.bound.insert(self.name(node))),
                "attribute" | "subscript" | "call" => {}
                _ => {
                    let mut cursor = node.walk();
                    left.extend(node.named_children(&mut cursor));
                }
            }
        }
    }

    /// Binds `a` for `import a.b`, `c` for `from a import b as c`.
    fn import(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        for name in node.children_by_field_name("name", &mut cursor) {
            let bound = name.child_by_field_name("alias").or_else(|| name.named_child(0));
            self.bind(bound);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mistakes;
    use crate::language::Language;

    fn told(text: &str) -> Vec<(usize, String)> {
        mistakes(Language::Python, None, text).into_iter().map(|one| (one.line, one.what)).collect()
    }

    #[test]
    fn a_name_that_nothing_defines_is_told_once() {
        assert_eq!(
            told("import os\n\ndef f(a):\n    return helper(a) + os.sep + helper(1)\n"),
            [(4, "undefined name `helper`".to_owned())]
        );
        assert_eq!(told("def f(self):\n    self.count = total\n"), [(2, "undefined name `total`".to_owned())]);
        assert_eq!(told("x: Optional[int] = None\n"), [(1, "undefined name `Optional`".to_owned())]);
        assert_eq!(told("print(f'{missing!r}')\n"), [(1, "undefined name `missing`".to_owned())]);
        assert_eq!(told("d[key] = 1\n").len(), 2);
        assert_eq!(told("@cache\ndef f(): ...\n"), [(1, "undefined name `cache`".to_owned())]);
    }

    #[test]
    fn every_way_to_bind_a_name_is_known() {
        for text in [
            "a = b = 1\n(c, [d, *e]), f = a, b\ng: int\ng += c + d + e + f\n",
            "import a.b, c as d\nfrom . import e\nfrom x import (f as g, h)\nprint(a, d, e, g, h)\n",
            "def f(a, b=1, *c, d: int, e: int = 1, **g): return a, b, c, d, e, g, f\n",
            "def f(*args: int, **kw: str): return args, kw\nclass A[T]: x: T\ntype P[Q] = list[Q]\nprint(P, A)\n",
            "h = lambda a, *b, c=1: (a, b, c)\n",
            "for i, (j, k) in []: print(i, j, k)\n",
            "with open('x') as a, open('y') as (b, c): print(a, b, c)\n",
            "with (open('x') as a, open('y') as b): print(a, b)\n",
            "try: pass\nexcept (OSError, ValueError) as e: print(e)\n",
            "try: pass\nexcept* OSError as e: print(e)\n",
            "print([a for a in [] if (b := a)], {c: d for c, d in []}, b)\n",
            "def f():\n    global g\n    print(g)\n    async def h():\n        nonlocal_ = 1\n        return nonlocal_\n",
            "match [1]:\n    case [a, *b]: print(a, b)\n    case {'k': c, **d}: print(c, d)\n    case A(x=e) as f: print(e, f)\n",
            "print(__name__, __file__, __path__, _('text'))\n",
            "f = dict(key=1)\nprint(f.key.other)\n",
            "print(1, end='')\n",
            "match = 1\ntype = 2\nprint(match, type)\n",
        ] {
            assert_eq!(told(text), [], "{text}");
        }
    }

    #[test]
    fn what_may_bring_names_silences_the_file() {
        for line in [
            "from x import *",
            "exec(code())",
            "globals().update(a=1)",
            "try:\n    pass\nexcept NameError:\n    pass",
            "x = vars()",
            "E._convert_('A', __name__, filter)",
            "import builtins\nbuiltins.nowhere = 1",
        ] {
            assert_eq!(told(&format!("{line}\nprint(nowhere)\n")), [], "{line}");
        }
        assert_eq!(told("print(nowhere)  # noqa: F821\n"), []);
    }
}
