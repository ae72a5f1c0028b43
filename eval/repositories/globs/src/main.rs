//! `globs PATTERN PATH...` prints the paths that fit.

use globs::Pattern;

fn main() {
    let mut words = std::env::args().skip(1);
    let Some(pattern) = words.next() else {
        eprintln!("usage: globs PATTERN PATH...");
        std::process::exit(2);
    };
    match Pattern::new(&pattern) {
        Ok(pattern) => words.filter(|path| pattern.fits(path)).for_each(|path| println!("{path}")),
        Err(why) => {
            eprintln!("globs: {why:?}");
            std::process::exit(2);
        }
    }
}
