//! `/search`: starts a task that looks something up in the code and at the hosts it may reach, names its sources, and only reads.

use super::options::OF_A_REVIEW;
use super::spec::{Argument, Spec, Strength, Who};
use domain::{TaskKind, Verb};

pub(super) const SPEC: Spec = Spec {
    name: "search",
    syntax: "/search [options] words",
    who: Who::Writer,
    effect: "looks the words up at the hosts that the bot may reach and in the code, and answers with sources, each held against what it fetched; changes nothing",
    strength: Strength::Work,
    options: &OF_A_REVIEW,
    read,
};

fn read(argument: &Argument<'_>) -> Result<Verb, String> {
    let (terms, words) = argument.terms(&OF_A_REVIEW)?;
    match words.is_empty() {
        true => Err("say what to look up after it".to_owned()),
        false => Ok(Verb::begin(TaskKind::Search, words, terms)),
    }
}

#[cfg(test)]
mod tests {
    use crate::command::parse;
    use domain::{TaskKind, Terms, Verb};

    fn one(text: &str) -> Verb {
        parse(text, "u7").strongest().map(|command| command.verb.clone()).expect("a command")
    }

    #[test]
    fn a_search_without_words_is_no_search_and_what_only_reads_has_no_toolchain() {
        let refused = [
            ("/search", "say what to look up"),
            ("/search --model local", "say what to look up"),
            ("/search  \n", "say what to look up"),
            ("/security --toolchain rust", "it has --budget, --model"),
            ("/deps --branch dev", "it has --budget, --model"),
            ("/search --toolchain rust semver", "it has --budget, --model"),
        ];
        for (text, words) in refused {
            let Verb::Unknown { why: Some(why), .. } = one(text) else { panic!("{text}") };
            assert!(why.contains(words), "{text}: {why}");
        }
        assert_eq!(one("/security src/web"), Verb::begin(TaskKind::Security, "src/web".into(), Terms::default()));
        assert_eq!(one("/deps"), Verb::begin(TaskKind::Deps, String::new(), Terms::default()));
    }
}
