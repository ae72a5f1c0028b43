//! Tokens into a tree. Powers bind before signs, signs before `* /`, these before `+ -`.

use crate::error::CalcError;
use crate::token::{tokens, Token};
use crate::tree::Tree;

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

/// The tree of a line.
pub fn parse(line: &str) -> Result<Tree, CalcError> {
    let mut parser = Parser { tokens: tokens(line)?, at: 0 };
    let tree = parser.sum()?;
    match parser.tokens.get(parser.at) {
        None => Ok(tree),
        Some(token) => Err(CalcError::Unexpected(token.text())),
    }
}

impl Parser {
    fn sign(&mut self, wanted: &str) -> Option<char> {
        match self.tokens.get(self.at) {
            Some(Token::Sign(sign)) if wanted.contains(*sign) => {
                self.at += 1;
                Some(*sign)
            }
            _ => None,
        }
    }

    fn sum(&mut self) -> Result<Tree, CalcError> {
        let mut left = self.product()?;
        while let Some(sign) = self.sign("+-") {
            left = Tree::binary(sign, left, self.product()?);
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Tree, CalcError> {
        let mut left = self.signed()?;
        while let Some(sign) = self.sign("*/") {
            left = Tree::binary(sign, left, self.signed()?);
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Tree, CalcError> {
        if self.sign("-").is_some() {
            return Ok(Tree::Minus(Box::new(self.signed()?)));
        }
        self.power()
    }

    /// From the right: `2^3^2` is `2^(3^2)`.
    fn power(&mut self) -> Result<Tree, CalcError> {
        let left = self.atom()?;
        if self.sign("^").is_some() {
            return Ok(Tree::binary('^', left, self.signed()?));
        }
        Ok(left)
    }

    fn atom(&mut self) -> Result<Tree, CalcError> {
        if self.sign("(").is_some() {
            let inner = self.sum()?;
            return match self.sign(")") {
                Some(_) => Ok(inner),
                None => Err(self.unexpected()),
            };
        }
        let tree = match self.tokens.get(self.at) {
            Some(Token::Number(number)) => Tree::Number(*number),
            Some(Token::Name(name)) => Tree::Name(name.clone()),
            _ => return Err(self.unexpected()),
        };
        self.at += 1;
        Ok(tree)
    }

    fn unexpected(&self) -> CalcError {
        match self.tokens.get(self.at) {
            Some(token) => CalcError::Unexpected(token.text()),
            None => CalcError::End,
        }
    }
}
