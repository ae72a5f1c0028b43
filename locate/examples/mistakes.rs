//! What would be told of each file named on standard input if it were new: to look at by hand, for what is wrong there.
//! Owns nothing. `find … -name '*.py' | cargo run --release -p caisson-locate --example mistakes`

use std::io::BufRead;

use caisson_locate::{Language, mistakes};

fn main() {
    let (mut files, mut told) = (0, 0);
    for path in std::io::stdin().lock().lines().map_while(Result::ok) {
        let (Some(language), Ok(text)) = (Language::of(&path), std::fs::read_to_string(&path)) else { continue };
        files += 1;
        for mistake in mistakes(language, None, &text) {
            told += 1;
            println!("{path}:{}: {}", mistake.line, mistake.what);
        }
    }
    println!("{files} files, {told} mistakes");
}
