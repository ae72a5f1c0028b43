//! Finds JavaScript constants that are assigned again, which fails when the line runs.
//!
//! Reports only names that the whole file binds once, by `const`, and only inside the block of that binding. Tests: below.

use std::collections::HashMap;

use tree_sitter::{Node, Tree};

use super::{Mistake, each};

/// Each such name once, at its first assignment.
pub fn assigned(text: &str, tree: &Tree) -> Vec<(String, Mistake)> {
    let name = |node: Node<'_>| text.get(node.byte_range()).unwrap_or_default().to_owned();
    // How often a name is bound, and the byte range of the block in which it is a constant.
    let mut bound: HashMap<String, (usize, Option<std::ops::Range<usize>>)> = HashMap::new();
    let mut writes: Vec<Node<'_>> = Vec::new();
    each(tree, |node| {
        let Some(parent) = node.parent() else { return };
        match node.kind() {
            "identifier" | "shorthand_property_identifier_pattern" if binds(node, parent) => {
                let entry = bound.entry(name(node)).or_default();
                entry.0 += 1;
                entry.1 = constant(node, parent);
            }
            "identifier" if written(node, parent) => writes.push(node),
            _ => {}
        }
    });
    let mut out: Vec<(String, Mistake)> = Vec::new();
    for node in writes {
        let name = name(node);
        let inside = |block: &std::ops::Range<usize>| block.contains(&node.start_byte());
        let wrong = bound.get(&name).is_some_and(|(times, block)| *times == 1 && block.as_ref().is_some_and(inside));
        if wrong && out.iter().all(|(known, _)| *known != name) {
            let what = format!("assignment to the constant `{name}`");
            out.push((name, Mistake { line: node.start_position().row + 1, what }));
        }
    }
    out
}

/// Whether it may be a binding: a declaration, a parameter, an import, a name in any pattern.
fn binds(node: Node<'_>, parent: Node<'_>) -> bool {
    let is = |field: &str| parent.child_by_field_name(field) == Some(node);
    match parent.kind() {
        "variable_declarator"
        | "function_declaration"
        | "generator_function_declaration"
        | "class_declaration"
        | "function_expression"
        | "generator_function"
        | "class" => is("name"),
        "formal_parameters" | "rest_pattern" | "array_pattern" | "object_pattern" | "pair_pattern"
        | "import_clause" | "import_specifier" | "namespace_import" => true,
        "arrow_function" | "catch_clause" => is("parameter"),
        "assignment_pattern" | "object_assignment_pattern" | "for_in_statement" => is("left"),
        _ => false,
    }
}

/// The block of a plain `const name = …`.
fn constant(node: Node<'_>, parent: Node<'_>) -> Option<std::ops::Range<usize>> {
    let declaration = parent.parent()?;
    let plain = parent.kind() == "variable_declarator" && declaration.kind() == "lexical_declaration";
    let constant = plain && declaration.child(0).is_some_and(|word| word.kind() == "const");
    let block = declaration.parent()?;
    let block = if block.kind() == "export_statement" { block.parent()? } else { block };
    let known = matches!(block.kind(), "program" | "statement_block");
    (constant && known && parent.child_by_field_name("name") == Some(node)).then(|| block.byte_range())
}

fn written(node: Node<'_>, parent: Node<'_>) -> bool {
    let is = |field: &str| parent.child_by_field_name(field) == Some(node);
    match parent.kind() {
        "assignment_expression" | "augmented_assignment_expression" => is("left"),
        "update_expression" => is("argument"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::mistakes;
    use crate::language::Language;

    fn told(text: &str) -> Vec<(usize, String)> {
        mistakes(Language::JavaScript, None, text).into_iter().map(|one| (one.line, one.what)).collect()
    }

    #[test]
    fn a_constant_that_is_assigned_to_is_told() {
        let what = "assignment to the constant `n`".to_owned();
        assert_eq!(told("const n = 0;\nfunction f() {\n  n += 1;\n  n++;\n}\n"), [(3, what.clone())]);
        assert_eq!(told("function f() {\n  const n = 0;\n  n = 1;\n}\n"), [(3, what.clone())]);
        assert_eq!(told("export const n = 0;\nn++;\n"), [(2, what)]);
    }

    #[test]
    fn another_binding_of_the_name_or_another_block_silences_it() {
        for text in [
            "let n = 0;\nn = 1;\n",
            "const n = 0;\nfunction f(n) { n = 1; }\n",
            "const n = 0;\nconst g = n => { n = 1; };\n",
            "const n = 0;\n{ let n = 1; n = 2; }\n",
            "const n = 0;\nfunction f({ n }) { n = 1; }\n",
            "const n = 0;\nfunction f(a, { b: n = 2 }, ...c) { n = 1; }\n",
            "const n = 0;\ntry {} catch (n) { n = 1; }\n",
            "const n = 0;\nfor (let n of []) { n = 1; }\n",
            "function f() { const n = 0; }\nfunction g() { n = 1; }\n",
            "const n = {};\nn.a = 1;\nn['b']++;\n",
            "for (const n of []) {}\nn = 1;\n",
        ] {
            assert_eq!(told(text), [], "{text}");
        }
    }
}
