//! Text into tokens.

use crate::error::CalcError;

#[derive(Debug, Clone, PartialEq)]
pub enum Token {
    Number(f64),
    Name(String),
    Sign(char),
}

impl Token {
    pub fn text(&self) -> String {
        match self {
            Token::Number(number) => number.to_string(),
            Token::Name(name) => name.clone(),
            Token::Sign(sign) => sign.to_string(),
        }
    }
}

pub fn tokens(line: &str) -> Result<Vec<Token>, CalcError> {
    let chars: Vec<char> = line.chars().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let start = at;
        match chars[at] {
            c if c.is_whitespace() => at += 1,
            c if c.is_ascii_digit() || c == '.' => {
                while at < chars.len() && (chars[at].is_ascii_digit() || chars[at] == '.') {
                    at += 1;
                }
                let text: String = chars[start..at].iter().collect();
                let number = text.parse().map_err(|_| CalcError::Unexpected(text))?;
                out.push(Token::Number(number));
            }
            c if c.is_alphabetic() || c == '_' => {
                while at < chars.len() && (chars[at].is_alphanumeric() || chars[at] == '_') {
                    at += 1;
                }
                out.push(Token::Name(chars[start..at].iter().collect()));
            }
            c if "+-*/^()".contains(c) => {
                out.push(Token::Sign(c));
                at += 1;
            }
            c => return Err(CalcError::Character(c)),
        }
    }
    Ok(out)
}
