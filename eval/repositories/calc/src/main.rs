//! `calc LINE [name=value]...`

use calc::{eval, Names};

fn main() {
    let mut words = std::env::args().skip(1);
    let Some(line) = words.next() else {
        eprintln!("usage: calc LINE [name=value]...");
        std::process::exit(2);
    };
    let mut names = Names::new();
    for word in words {
        match word.split_once('=').map(|(name, value)| (name, value.parse())) {
            Some((name, Ok(value))) => names.insert(name.to_string(), value),
            _ => {
                eprintln!("calc: not name=value: {word}");
                std::process::exit(2);
            }
        };
    }
    match eval(&line, &names) {
        Ok(value) => println!("{value}"),
        Err(why) => {
            eprintln!("calc: {why}");
            std::process::exit(1);
        }
    }
}
