//! From numerals to numbers.

use crate::to_roman;

/// Why a text is no numeral.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    Empty,
    /// A character that is no Roman digit.
    Unknown(char),
    /// The digits are right, their order isn't: `IIX`.
    Order,
}

fn value(symbol: char) -> Option<u32> {
    match symbol {
        'I' => Some(1),
        'V' => Some(5),
        'X' => Some(10),
        'L' => Some(50),
        'C' => Some(100),
        'D' => Some(500),
        'M' => Some(1000),
        _ => None,
    }
}

/// The number of a numeral.
pub fn from_roman(text: &str) -> Result<u32, ReadError> {
    if text.is_empty() {
        return Err(ReadError::Empty);
    }
    let mut values = Vec::new();
    for symbol in text.chars() {
        values.push(value(symbol).ok_or(ReadError::Unknown(symbol))?);
    }
    let mut total = 0;
    for (index, &value) in values.iter().enumerate() {
        match values.get(index + 1) {
            Some(&next) if next > value => total -= value as i64,
            _ => total += value as i64,
        }
    }
    let total = u32::try_from(total).map_err(|_| ReadError::Order)?;
    if to_roman(total).as_deref() != Some(text) {
        return Err(ReadError::Order);
    }
    Ok(total)
}
