//! From a comment or a review to the verb that it asks for: of several commands the strongest.

use super::by_name::{by_name, only_asks};
use super::inline;
pub(crate) use super::inline::OnLine;
pub(crate) use crate::command::Command;
use crate::command::{self, MAX_WORDS, OwnNames, Parsed, Strength};
use crate::forge::{Comment, Review, ReviewComment, ReviewState, own_remarks};
use crate::redact;
use domain::{Access, Account, Item, Verb};

/// Hosts that one text may name beside the command that it is; or, where it is one of them, beyond the first.
const MOST_HOSTS: usize = 20;

pub(crate) fn access(from: crate::forge::Access) -> Access {
    match from {
        crate::forge::Access::None => Access::None,
        crate::forge::Access::Read => Access::Read,
        crate::forge::Access::Write => Access::Write,
        crate::forge::Access::Admin => Access::Admin,
        crate::forge::Access::Owner => Access::Owner,
    }
}

pub(crate) fn account(from: &crate::forge::Account) -> Account {
    Account { id: from.id, login: from.login.clone() }
}

/// The verb of a comment.
pub(crate) fn comment(comment: &Comment) -> Verb {
    text(&comment.body, &comment.author.login)
}

pub(crate) fn text(text: &str, author: &str) -> Verb {
    asked(text, author).map_or_else(|| plain(text, author), |command| command.verb)
}

/// A text that asks for nothing. Of one that is too long no words are taken.
pub(crate) fn plain(text: &str, author: &str) -> Verb {
    let taken = too_long(text).is_none();
    Verb::Say { items: taken.then(|| Item::on_the_whole(&redact::in_words(text), author)).into_iter().collect() }
}

/// The characters of a text, where they are more than are taken.
pub(super) fn too_long(text: &str) -> Option<usize> {
    let text = text.trim();
    // No text has more characters than bytes.
    (text.len() > MAX_WORDS).then(|| text.chars().count()).filter(|count| *count > MAX_WORDS)
}

/// The command that a text begins with, if it is none of the bot's: it may be one of the repository's own.
pub(crate) fn own_name(text: &str) -> Option<String> {
    parsed(text, "").own
}

/// The strongest command of a text, with those of the repository's own.
pub(crate) fn strongest_with(text: &str, author: &str, own: &OwnNames) -> Option<Command> {
    parsed_with(text, author, own).strongest().cloned()
}

/// The commands of a text, after secrets and what looks like a credential are removed.
pub(super) fn parsed(text: &str, author: &str) -> Parsed {
    parsed_with(text, author, &OwnNames::new())
}

/// As [`parsed`], with the commands of the repository's own.
pub(super) fn parsed_with(text: &str, author: &str, own: &OwnNames) -> Parsed {
    // What is removed leaves no slash at the beginning of a line that was not there before.
    if !command::may_hold_command(text) {
        return Parsed { plain: true, ..Parsed::default() };
    }
    command::parse_with(&redact::in_words(text), author, own)
}

/// The strongest command of a text, if any.
fn asked(text: &str, author: &str) -> Option<Command> {
    parsed(text, author).strongest().cloned()
}

/// The hosts that a text allows or denies besides its strongest command, in order; each is carried out.
pub(crate) fn hosts(text: &str, strongest: &Verb) -> Vec<Verb> {
    let first = usize::from(matches!(strongest, Verb::Allow { .. } | Verb::Deny { .. }));
    named(text).skip(first).take(MOST_HOSTS).collect()
}

pub(crate) fn asks_for_help(text: &str) -> bool {
    parsed(text, "").commands.iter().any(|command| command.verb == Verb::Help)
}

/// The name of the strongest command in a text that also contains one that begins a task; `own` are the repository's own.
pub(crate) fn beside_a_start(text: &str, own: &OwnNames) -> Option<String> {
    let found = parsed_with(text, "", own);
    let starts = found.commands.iter().any(|command| command.verb.begins().is_some());
    found.strongest().filter(|_| starts).map(|command| command.name.clone())
}

/// The commands in these inline comments of a review, in order. A line may begin with a path, so an unknown word is none.
pub(crate) fn inline_commands(own: &[&ReviewComment]) -> Vec<OnLine> {
    inline::commands(own)
}

/// As a command, the question of an inline comment that asks the bot by its name; none where it gives a command.
pub(crate) fn asked_by_name(note: &ReviewComment, bot: &str) -> Option<OnLine> {
    let question = question_on_line(note, bot)?;
    let command = Command { name: "ask".to_owned(), strength: Strength::Question, verb: Verb::Ask { question } };
    Some(OnLine { command, note: note.clone(), by_name: true })
}

/// The question of an inline comment that asks the bot by its name; none where it gives a command.
fn question_on_line(note: &ReviewComment, bot: &str) -> Option<String> {
    by_name(&note.body, bot).filter(|_| inline::commands(&[note]).is_empty())
}

/// What the commands of a text ask for, in order.
pub(crate) fn commands(text: &str) -> Vec<Verb> {
    parsed(text, "").commands.into_iter().map(|command| command.verb).collect()
}

/// All hosts that a text allows or denies, in order.
pub(crate) fn every_host(text: &str) -> Vec<Verb> {
    named(text).take(MOST_HOSTS + 1).collect()
}

/// Whether a text counts although a task began behind it, before it could be carried out: what is carried out beside tasks, and what takes a
/// host back. It is asked of every older text in each reading, so a text is parsed once for it.
pub(super) fn is_for_any(text: &str) -> bool {
    let all = parsed(text, "");
    let hosts = all.commands.iter().map(|command| &command.verb).filter(|verb| verb.host().is_some());
    all.strongest().is_some_and(|command| command.verb.is_apart())
        || hosts.take(MOST_HOSTS + 1).any(|verb| matches!(verb, Verb::Deny { .. }))
}

fn named(text: &str) -> impl Iterator<Item = Verb> {
    commands(text).into_iter().filter(|verb| verb.host().is_some())
}

/// The verb of a review; none if it is not submitted or dismissed. `bot` is the name by which it is asked, none where words are an answer to
/// its agent. Inline remarks count only if the reviewer submitted them with it:
/// replies of readers, and later ones of the reviewer that are not checked for edits, are in the same list.
pub(crate) fn review(review: &Review, inline: &[ReviewComment], bot: Option<&str>) -> Option<Verb> {
    let login = &review.author.login;
    let own = own_remarks(review, inline);
    let mut items: Vec<Item> = Vec::new();
    if !review.body.trim().is_empty() {
        items.push(Item::on_the_whole(&redact::in_words(&review.body), login));
    }
    items.extend(own.iter().filter_map(|note| inline::remark(note, redact::in_words(&note.body), login)));
    let said = inline::stronger(asked(&review.body, login), inline::strongest(&own));
    let (by_state, strength) = match review.state {
        ReviewState::Approved => (Verb::approve(), Strength::Approval),
        ReviewState::RequestChanges => (Verb::Changes { items: items.clone() }, Strength::Changes),
        ReviewState::Comment => {
            let asked = bot.and_then(|bot| by_name_alone(review, &own, bot));
            let plain = || asked.unwrap_or_else(|| Verb::Say { items: items.clone() });
            return Some(said.map_or_else(plain, |it| with(it, &items)));
        }
        ReviewState::Pending | ReviewState::RequestReview | ReviewState::Dismissed | ReviewState::DismissedApproval => {
            return None;
        }
    };
    Some(match said {
        // The text of an approving review may name what it approves.
        Some(Command { verb: verb @ Verb::Approve { .. }, .. }) if strength == Strength::Approval => verb,
        Some(command) if command.strength > strength => with(command, &items),
        _ => by_state,
    })
}

/// The verb of a review of a person's pull request: its command, or the questions in it to the bot by this name; else it says nothing. Its
/// state is about the person's work. None if it is not submitted or dismissed.
pub(crate) fn review_of_a_persons(given: &Review, inline: &[ReviewComment], bot: &str) -> Option<Verb> {
    if !matches!(given.state, ReviewState::Approved | ReviewState::RequestChanges | ReviewState::Comment) {
        return None;
    }
    let as_comment = Review { state: ReviewState::Comment, ..given.clone() };
    let verb = review(&as_comment, inline, None)?;
    if !matches!(verb, Verb::Say { .. }) {
        return Some(verb);
    }
    let of_line = |note: &ReviewComment| Some(inline::asked(note, &question_on_line(note, bot)?));
    let of_lines = own_remarks(given, inline).into_iter().filter_map(of_line);
    let question = inline::together(by_name(&given.body, bot).into_iter().chain(of_lines));
    Some(if question.is_empty() { Verb::Say { items: Vec::new() } } else { Verb::Ask { question } })
}

/// The question of a review that holds nothing but questions to the bot by its name, in its text and on lines.
pub(super) fn by_name_alone(review: &Review, own: &[&ReviewComment], bot: &str) -> Option<Verb> {
    let body = (!review.body.trim().is_empty()).then(|| only_asks(&review.body, bot));
    let on_lines = own.iter().map(|note| Some(inline::asked(note, &only_asks(&note.body, bot)?)));
    let all: Option<Vec<String>> = body.into_iter().chain(on_lines).collect();
    let question = inline::together(all?.into_iter());
    (!question.is_empty()).then_some(Verb::Ask { question })
}

/// The verb of a reply on a line, about that line: its command, as far as inline comments have one that is followed; a question where it
/// addresses the bot by its name; else what it says.
pub(crate) fn reply(reply: &ReviewComment, bot: &str) -> Verb {
    let items: Vec<Item> = inline::remark_of_reply(reply).into_iter().collect();
    if let Some(command) = inline::strongest(&[reply]) {
        return with(command, &items);
    }
    match question_on_line(reply, bot) {
        Some(question) => Verb::Ask { question: inline::asked(reply, &question) },
        None => Verb::Say { items },
    }
}

/// The command of a review; one that asks for changes asks for those of the inline remarks, too.
fn with(command: Command, items: &[Item]) -> Verb {
    match command.verb {
        Verb::Changes { items: mut asked } => {
            asked.extend(items.iter().filter(|item| item.path.is_some()).cloned());
            Verb::Changes { items: asked }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forge::Account as Poster;
    use crate::thread::fixtures;

    fn poster(id: i64) -> Poster {
        Poster { id, login: format!("u{id}") }
    }

    fn given(state: ReviewState, body: &str) -> Review {
        Review { author: poster(7), ..fixtures::review(state, body) }
    }

    fn inline(author: i64) -> ReviewComment {
        ReviewComment { author: poster(author), ..fixtures::note("rename this") }
    }

    #[test]
    fn the_operators_table_speaks_of_every_command() {
        let config = crate::config::Process::from_layers(std::path::Path::new("/x/c.toml"), "", &|_| None).unwrap();
        let mut named: Vec<&str> = config.who.commands().collect();
        let mut all: Vec<&str> = command::COMMANDS.iter().map(|spec| spec.name).collect();
        named.sort_unstable();
        all.sort_unstable();
        assert_eq!(named, all);
        for spec in command::COMMANDS {
            let list = config.who_of("", spec.name).concat();
            let reads = crate::config::who::bar_of(&list, "bob", Access::Read).is_none();
            assert_eq!(reads, spec.who == command::Who::Reader, "{}", spec.name);
        }
    }

    /// An inline comment of the reviewer's on line 3 of a.py.
    fn line(text: &str) -> ReviewComment {
        ReviewComment { body: text.into(), ..inline(7) }
    }

    /// The verb of a submitted review with these inline comments.
    fn said(state: ReviewState, body: &str, notes: &[&str]) -> Verb {
        let notes: Vec<ReviewComment> = notes.iter().map(|text| line(text)).collect();
        review(&given(state, body), &notes, Some("caisson")).expect("submitted")
    }

    fn texts(verb: Verb) -> Vec<String> {
        match verb {
            Verb::Changes { items } | Verb::Say { items } => {
                items.into_iter().map(|it| format!("{}:{}", it.path.unwrap_or_default(), it.text)).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_command_in_an_inline_comment_is_about_its_line() {
        let comment = ReviewState::Comment;
        assert_eq!(
            texts(said(comment, "", &["/revise use a set", "rename", "/ask why?"])),
            ["a.py:use a set", "a.py:rename"]
        );
        assert_eq!(
            texts(said(ReviewState::Approved, "", &["/revise use a set"])),
            ["a.py:use a set"],
            "changes before approval"
        );
        assert_eq!(texts(said(ReviewState::RequestChanges, "No.", &["/revise use a set"])), [":No.", "a.py:use a set"]);
        assert_eq!(
            texts(said(comment, "Hm.", &["/usr is wrong"])),
            [":Hm.", "a.py:/usr is wrong"],
            "a path is no command"
        );
        assert_eq!(
            said(comment, "", &["/ask why?", "/ask what?"]),
            Verb::Ask { question: "a.py, line 3: why?\na.py, line 3: what?".into() }
        );
        assert_eq!(said(ReviewState::Approved, "", &["/stop"]), Verb::Stop);
        assert_eq!(said(ReviewState::Approved, "", &["/ask why?"]), Verb::approve());
        assert_eq!(said(comment, "/pause", &["/ask why?"]), Verb::Pause);
        assert_eq!(texts(said(comment, "", &["/approve"])), [""; 0], "a line's approval approves nothing");
        for (note, told) in [
            ("/revise rename it\n/revise and add a test", "rename it\n and add a test"),
            ("This allocates.\n\n/revise use a buffer", "This allocates.\n\n use a buffer"),
            ("/status must return 503 here", "/status must return 503 here"),
        ] {
            assert_eq!(texts(said(ReviewState::RequestChanges, "", &[note])), [format!("a.py:{told}")], "{note}");
        }
        let long = "y".repeat(1_990);
        let asked = said(comment, "", &[&format!("/ask {long}"), &format!("/ask z{long}"), &format!("/ask zz{long}")]);
        let Verb::Ask { question } = asked else { panic!("{asked:?}") };
        assert_eq!(question.matches(&long).count(), 1, "each whole, or not at all");
        let foreign = ReviewComment { body: "/stop".into(), ..inline(8) };
        assert_eq!(
            review(&super::tests::given(ReviewState::Approved, ""), &[foreign], Some("caisson")),
            Some(Verb::approve())
        );
    }

    #[test]
    fn a_review_that_only_asks_the_bot_by_its_name_is_a_question() {
        let comment = ReviewState::Comment;
        let asked = said(comment, "", &["@caisson why?"]);
        assert_eq!(asked, Verb::Ask { question: "a.py, line 3: why?".into() });
        assert_eq!(said(comment, "Why, @caisson?", &[]), Verb::Ask { question: "Why, @caisson?".into() });
        assert_eq!(
            texts(said(comment, "", &["@caisson why?", "rename"])),
            ["a.py:@caisson why?", "a.py:rename"],
            "a remark beside it is none"
        );
        assert_eq!(texts(said(ReviewState::RequestChanges, "", &["@caisson why?"])), ["a.py:@caisson why?"]);
        let answer = review(&given(comment, "A set, @caisson, ok?"), &[], None).expect("submitted");
        assert_eq!(texts(answer), [":A set, @caisson, ok?"], "where the agent asked, it is an answer");
    }

    #[test]
    fn what_is_left_of_inline_comments_is_named() {
        let left = |notes: &[&str], done: &Verb| {
            let notes: Vec<ReviewComment> = notes.iter().map(|text| line(text)).collect();
            inline::left(&notes.iter().collect::<Vec<_>>(), done)
        };
        assert_eq!(
            left(&["/approve", "/allow a.test", "/approve", "/revise", "/usr/lib"], &Verb::Stop),
            ["approve", "allow", "revise"]
        );
        assert_eq!(left(&["/stop", "/pause", "/deny a.test"], &Verb::Stop), ["pause"], "what is denied is carried out");
        assert_eq!(
            left(&["/frobnicate\n", "/Look-up", "/look-up \nbecause", "/stop"], &Verb::Stop),
            ["frobnicate", "look-up"],
            "a word alone in the first line is meant as a command"
        );
        let remarks = ["/usr/lib", "/etc is wrong", "/api-v2", "/usr, or is it?", "Is it\n/usr", "/"];
        assert_eq!(left(&remarks, &Verb::Stop), [""; 0], "paths and sentences stay remarks");
        assert_eq!(left(&["/ask why?"], &Verb::Ask { question: "what?".into() }), ["ask"]);
        assert_eq!(left(&["/ask why?"], &Verb::Ask { question: "a.py, line 3: why?".into() }), [""; 0]);
        assert_eq!(left(&["/revise a set", "plain"], &Verb::Changes { items: Vec::new() }), [""; 0]);
    }

    #[test]
    fn a_text_is_too_long_by_its_characters_and_its_words_are_not_taken() {
        let most = "ü".repeat(MAX_WORDS);
        assert_eq!(too_long(&format!("\n{most} \n")), None);
        assert_eq!(texts(super::text(&most, "u7")).len(), 1);
        let longer = format!("{most}ü");
        assert_eq!(too_long(&longer), Some(MAX_WORDS + 1));
        assert_eq!(super::text(&longer, "u7"), Verb::Say { items: Vec::new() });
        assert_eq!(super::text(&format!("{longer}\n/stop"), "u7"), Verb::Stop, "a command of it counts");
    }

    #[test]
    fn what_is_carried_out_beside_a_task_counts_from_before_it() {
        for text in
            ["/sync", "/test-pr \"make\"", "/fix it\n/deny a.test", "/deny a.test", "/allow a.test\n/deny b.test"]
        {
            assert!(is_for_any(text), "{text}");
        }
        for text in ["", "Words.", "/fix it", "/stop\n/sync", "/allow a.test", "> /sync", "`/deny a.test`"] {
            assert!(!is_for_any(text), "{text}");
        }
    }

    #[test]
    fn stop_in_an_approving_review_stops() {
        assert_eq!(review(&given(ReviewState::Approved, "fine\n\n/stop"), &[], Some("caisson")), Some(Verb::Stop));
    }

    #[test]
    fn every_host_of_a_text_counts_beside_its_strongest_word() {
        let names = |text: &str, strongest: &Verb| -> Vec<String> {
            let one = |verb: Verb| match verb {
                Verb::Allow { host, .. } => format!("+{host}"),
                Verb::Deny { host, .. } => format!("-{host}"),
                other => panic!("{other:?}"),
            };
            hosts(text, strongest).into_iter().map(one).collect()
        };
        let text = "/allow a.test\n/approve\n/deny b.test\n/allow c.test repo";
        assert_eq!(names(text, &super::text(text, "u7")), ["+a.test", "-b.test", "+c.test"]);
        let only = "/allow a.test\n/allow c.test";
        assert_eq!(names(only, &super::text(only, "u7")), ["+c.test"], "the first is the strongest word itself");
        assert_eq!(
            names("/allow a.test", &Verb::approve()),
            ["+a.test"],
            "an approving review with a host in its text"
        );
    }

    #[test]
    fn an_approving_review_may_name_what_it_approves() {
        let verb = review(&given(ReviewState::Approved, "fine\n\n/approve next 3"), &[], Some("caisson"));
        assert_eq!(verb, Some(Verb::Approve { checkpoint: None, commit: None, next: 3 }));
        let verb = review(&given(ReviewState::Approved, "/approve c2"), &[], Some("caisson"));
        assert_eq!(verb, Some(Verb::Approve { checkpoint: Some(2), commit: None, next: 0 }));
    }

    #[test]
    fn an_approval_with_a_request_for_changes_in_its_text_asks_for_changes() {
        let verb = review(&given(ReviewState::Approved, "/revise use a set"), &[], Some("caisson"));
        assert!(matches!(verb, Some(Verb::Changes { .. })), "{verb:?}");
    }

    #[test]
    fn a_readers_reply_under_a_writers_review_is_no_item() {
        let verb = review(&given(ReviewState::RequestChanges, "see below"), &[inline(7), inline(8)], Some("caisson"));
        let Some(Verb::Changes { items }) = verb else { panic!("{verb:?}") };
        assert_eq!(items.len(), 2, "the body and the reviewer's own remark");
        assert_eq!(items[1].line, Some(3));
        let later = ReviewComment { created_at: 60, ..inline(7) };
        let Some(Verb::Changes { items }) =
            review(&given(ReviewState::RequestChanges, "see below"), &[later], Some("caisson"))
        else {
            panic!("no changes")
        };
        assert_eq!(items.len(), 1, "a reply that came after the review is not looked at for edits");
    }

    #[test]
    fn a_review_that_says_revise_asks_for_its_inline_remarks_too() {
        let verb = review(&given(ReviewState::Comment, "/revise use a set"), &[inline(7)], Some("caisson"));
        let Some(Verb::Changes { items }) = verb else { panic!("{verb:?}") };
        assert_eq!(items.iter().map(|item| item.line).collect::<Vec<_>>(), [None, Some(3)]);
    }

    #[test]
    fn a_review_of_a_persons_pull_request_says_its_commands_alone() {
        let of = |state: ReviewState, body: &str, notes: &[&str]| {
            let notes: Vec<ReviewComment> = notes.iter().map(|text| line(text)).collect();
            review_of_a_persons(&given(state, body), &notes, "caisson")
        };
        for state in [ReviewState::Comment, ReviewState::Approved, ReviewState::RequestChanges] {
            assert_eq!(of(state, "Not so.", &["rename it"]), Some(Verb::Say { items: Vec::new() }), "{state:?}");
            assert_eq!(of(state, "Fine.", &["/stop"]), Some(Verb::Stop), "{state:?}");
            assert_eq!(of(state, "/pause", &["rename it"]), Some(Verb::Pause), "{state:?}");
            let question = "a.py, line 3: Why, @caisson?".to_owned();
            assert_eq!(
                of(state, "Nearly.", &["Why, @caisson?", "rename it"]),
                Some(Verb::Ask { question }),
                "{state:?}"
            );
        }
        assert_eq!(of(ReviewState::Dismissed, "/stop", &[]), None);
    }

    #[test]
    fn a_dismissed_review_says_nothing() {
        assert_eq!(review(&given(ReviewState::Dismissed, "/approve"), &[], Some("caisson")), None);
    }
}
