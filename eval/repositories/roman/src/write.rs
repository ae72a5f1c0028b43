//! From numbers to numerals.

use crate::MAX;

const SYMBOLS: [(u32, &str); 13] = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
];

/// The numeral of a number; `None` outside of 1 to 3999.
pub fn to_roman(mut number: u32) -> Option<String> {
    if number == 0 || number > MAX {
        return None;
    }
    let mut out = String::new();
    for (value, symbol) in SYMBOLS {
        while number >= value {
            out.push_str(symbol);
            number -= value;
        }
    }
    Some(out)
}
