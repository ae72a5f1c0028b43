//! What a tree is worth.

use crate::error::CalcError;
use std::collections::HashMap;

/// Values of names.
pub type Names = HashMap<String, f64>;

#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    Number(f64),
    Name(String),
    Minus(Box<Tree>),
    Binary(char, Box<Tree>, Box<Tree>),
}

impl Tree {
    pub fn binary(sign: char, left: Tree, right: Tree) -> Tree {
        Tree::Binary(sign, Box::new(left), Box::new(right))
    }

    pub fn value(&self, names: &Names) -> Result<f64, CalcError> {
        Ok(match self {
            Tree::Number(number) => *number,
            Tree::Name(name) => *names.get(name).ok_or_else(|| CalcError::Name(name.clone()))?,
            Tree::Minus(inner) => -inner.value(names)?,
            Tree::Binary(sign, left, right) => {
                let (left, right) = (left.value(names)?, right.value(names)?);
                match sign {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    '^' => left.powf(right),
                    _ if right == 0.0 => return Err(CalcError::DivisionByZero),
                    _ => left / right,
                }
            }
        })
    }
}
