use globs::{Pattern, PatternError};
use std::process::Command;

#[test]
fn displayed() {
    assert_eq!(PatternError::OpenSet.to_string(), "a set without its end");
    assert_eq!(PatternError::Backwards('z', 'a').to_string(), "the range z-a runs backwards");
    let boxed: Box<dyn std::error::Error> = Pattern::new("[").unwrap_err().into();
    assert_eq!(boxed.to_string(), "a set without its end");
}

#[test]
fn from_text_and_back() {
    let pattern: Pattern = "src/*.rs".parse().unwrap();
    assert_eq!(pattern, Pattern::new("src/*.rs").unwrap());
    assert_eq!(pattern.to_string(), "src/*.rs");
    assert_eq!("[z-a]".parse::<Pattern>(), Err(PatternError::Backwards('z', 'a')));
}

#[test]
fn the_program_prints_it() {
    let done = Command::new(env!("CARGO_BIN_EXE_globs")).args(["[z-a]", "x"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stderr), "globs: the range z-a runs backwards\n");
    assert_eq!(done.status.code(), Some(2));
}

#[test]
fn moved() {
    assert!(include_str!("../src/error.rs").contains("enum PatternError"));
    assert!(!include_str!("../src/pattern.rs").contains("enum PatternError"));
}
