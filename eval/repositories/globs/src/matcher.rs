//! Pieces against characters.

use crate::pattern::Piece;

pub(crate) fn fits(pieces: &[Piece], path: &[char]) -> bool {
    let Some((piece, rest)) = pieces.split_first() else {
        return path.is_empty();
    };
    match piece {
        Piece::Many => {
            let end = path.iter().position(|c| *c == '/').unwrap_or(path.len());
            (0..=end).any(|taken| fits(rest, &path[taken..]))
        }
        Piece::Folders => {
            fits(rest, path)
                || path.iter().enumerate().any(|(at, c)| *c == '/' && fits(rest, &path[at + 1..]))
        }
        Piece::One | Piece::Char(_) | Piece::Set { .. } => match path.split_first() {
            Some((c, after)) => one(piece, *c) && fits(rest, after),
            None => false,
        },
    }
}

fn one(piece: &Piece, c: char) -> bool {
    match piece {
        Piece::Char(wanted) => *wanted == c,
        Piece::One => c != '/',
        Piece::Set { inverted, ranges } => {
            c != '/' && ranges.iter().any(|(first, last)| (*first..=*last).contains(&c)) != *inverted
        }
        Piece::Many | Piece::Folders => false,
    }
}
