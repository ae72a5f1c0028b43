//! Finds and replaces credentials in untrusted text.
//!
//! Owns the patterns and the replacement. Must not decide what is searched. Tests: below and
//! `src/git/secrets.rs`.

use regex::{Captures, Regex, RegexSet};
use std::borrow::Cow;
use std::sync::LazyLock;

/// A pattern for the beginning of a word, also behind an escape that ends in a letter or a digit, which would hide what touches it: a colour of
/// a terminal, `\n` in JSON or a shell's word, `%2F` in an address. The escape stays.
macro_rules! word {
    ($pattern:literal) => {
        concat!(
            r"(?:(?-u:\b)|(?P<edge>\[[0-9;]{0,16}[mK]|\\[abefnrtv]|\\u[0-9A-Fa-f]{4}|(?:\\x|%)[0-9A-Fa-f]{2}))",
            $pattern
        )
    };
}

/// Name and pattern of each kind. Only prefixes that vendors chose for recognition, nothing merely random. A private key is matched to its
/// end, or to the text's if that is missing. The ends of words are ASCII's: with Unicode's, one character beyond ASCII has the whole text
/// searched by the slowest of the engines, and a letter that touches a credential hides it.
pub const PATTERNS: [(&str, &str); 10] = [
    (
        "a private key",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:(?s:.)*?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|(?s:.)*)",
    ),
    ("an AWS access key", word!(r"(?:AKIA|ASIA)[0-9A-Z]{16}(?-u:\b)")),
    ("a GitHub token", word!(r"(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})")),
    ("a GitLab token", word!(r"glpat-[A-Za-z0-9_-]{20,}")),
    ("a Slack token", word!(r"xox[abprs]-[A-Za-z0-9-]{10,}")),
    ("a Google API key", word!(r"AIza[0-9A-Za-z_-]{35}(?-u:\b)")),
    ("a Stripe key", word!(r"[rs]k_live_[0-9A-Za-z]{20,}")),
    ("a model vendor's key", word!(r"sk-(?:ant-|proj-)[A-Za-z0-9_-]{32,}")),
    ("an npm token", word!(r"npm_[A-Za-z0-9]{36}(?-u:\b)")),
    // What follows is a host, and no digest: `docker://name:tag@sha256:…` names an image.
    (
        "a password in an address",
        word!(
            r#"[a-z][a-z0-9+.-]{1,15}://[^/\s:@"'<>]{0,64}:[^/\s:@"'{}$<>*]{8,128}@(?:[A-Za-rt-z0-9\[]|s(?:[^h\r\n]|(?mR:$)|h(?:[^a\r\n]|(?mR:$)|a(?:[^2\r\n]|(?mR:$)|2(?:[^5\r\n]|(?mR:$)|5(?:[^6\r\n]|(?mR:$)|6(?:[^:\r\n]|(?mR:$))))))))"#
        ),
    ),
];

/// Beginning of a replacement; writing a text that contains it would destroy the original.
pub const PLACE: &str = "[left out by caisson: ";

static SET: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(PATTERNS.iter().map(|(_, pattern)| pattern))
        .expect("the patterns are compiled in, and a test tries each")
});
static EACH: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let compiled = PATTERNS.iter().map(|(_, pattern)| Regex::new(pattern));
    compiled.collect::<Result<_, _>>().expect("the patterns are compiled in, and a test tries each")
});

/// Where [`PATTERNS`] has the password in an address.
const IN_ADDRESS: usize = PATTERNS.len() - 1;

/// The first kind of credential in a text that other machines may be sent. A password for an address of this very machine does not count.
pub fn sent_credential(text: &str) -> Option<&'static str> {
    let leaves = |at: usize| at != IN_ADDRESS || EACH[at].find_iter(text).any(|found| !is_own(&text[found.start()..]));
    SET.matches(text).iter().find(|at| leaves(*at)).map(|at| PATTERNS[at].0)
}

/// Whether the address at the beginning of a text, which has a user and a password, is one of this very machine. What a shell or another
/// program may read as more of the address says no: the last `@` before a host counts, and a host goes on until a sign that ends every one.
fn is_own(text: &str) -> bool {
    static OWN: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r#"^[^\s@]*@(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?(?:[/?#][^\s@]*)?(?:["']?(?:\s|$))"#;
        Regex::new(pattern).expect("the pattern is compiled in, and a test tries it")
    });
    OWN.is_match(text)
}

/// Whether a private key begins in it. As much as looks like one is left out where the text is shown.
pub fn begins_private_key(text: &str) -> bool {
    KEY_IN_WORDS.is_match(text)
}

/// The text with each credential replaced, and how many there were.
pub fn redacted(text: &str) -> (Cow<'_, str>, usize) {
    replaced(text, 0, |_| String::new())
}

/// A private key in somebody's words: as far as what follows its first line looks like one, so that a text that only names such a line keeps
/// the rest. Each match takes what it has looked at, so the time is linear.
static KEY_IN_WORDS: LazyLock<Regex> = LazyLock::new(|| {
    let name = "(?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----";
    let next = r"(?:\r?\n|\\r\\n|\\n|[ \t])[ \t>]*";
    let header = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\r\n]{0,200}";
    let line = format!(r"{next}(?:[A-Za-z0-9+=][A-Za-z0-9+/=]{{15,}}|/[A-Za-z0-9+/=]{{39,}}|{header})");
    let end = format!(r"(?:{line}|{next})*?(?:{next}[A-Za-z0-9+/=]{{1,63}})?(?:{next})?-----END {name}");
    let key = format!("-----BEGIN {name}(?:{end}|(?:(?:{next})*{line})*)");
    Regex::new(&key).expect("the pattern is compiled in, and a test tries it")
});

/// As [`redacted`], of what somebody wrote: a line with which a private key begins takes nothing away but the key.
pub fn redacted_words(text: &str) -> Cow<'_, str> {
    match without_keys(text) {
        Cow::Borrowed(same) => replaced(same, 1, |_| String::new()).0,
        Cow::Owned(owned) => Cow::Owned(replaced(&owned, 1, |_| String::new()).0.into_owned()),
    }
}

/// As [`redacted_words`], of private keys alone: where words become Markdown one by one, nothing would know the line with which one begins.
pub(super) fn without_keys(text: &str) -> Cow<'_, str> {
    KEY_IN_WORDS.replace_all(text, format!("{PLACE}{}]", PATTERNS[0].0))
}

/// A private key in a diff: as far as whole lines look like parts of one, each behind the diff's sign, what quotes it in a source, or both;
/// every other line stays, because it may be code that somebody has to see. The time is linear as with [`KEY_IN_WORDS`].
static KEY_IN_DIFF: LazyLock<Regex> = LazyLock::new(|| {
    let name = "(?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----";
    let data = |least: u8| format!("[A-Za-z0-9+/]{{{least},}}={{0,2}}");
    let (long, line, short) = (data(40), data(16), data(1));
    let header = "(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [A-Za-z0-9 ,./()_-]{1,80}";
    // What may stand between two pieces within one line, behind a piece up to its line's end, and before one.
    let between = r#"(?:\\+[rn]|[ \t"'`+,.])*"#;
    let end = r#"(?:\\+[rn]|[ \t"'`+,.;)\\])*\r?(?m:$)"#;
    let sign = r#"\n[+\- ](?:[ \t>#*+.,"'`]|//|[bru]["'`])*"#;
    let blank = r"\n[+\- ][ \t>#*]*\r?(?m:$)";
    let line_of_key = format!("{sign}(?:{line}|=[A-Za-z0-9+/]{{4}}|{header}){end}");
    let last = format!("(?:{short}{between})?-----END {name}");
    let in_line = format!("(?:{between}{line})*?{between}{last}");
    let to_end = format!("(?:{line_of_key}|{blank})*?(?:{sign}{short}{end})?{sign}{last}");
    let without_end = format!("(?:(?:{blank})*{line_of_key})+");
    let key = format!("-----BEGIN {name}(?:{in_line}|(?:{between}{long})*(?:{end}(?:{to_end}|{without_end}))?)");
    Regex::new(&key).expect("the pattern is compiled in, and a test tries it")
});

/// A diff with each credential replaced; it keeps its lines and their signs.
pub fn redacted_diff(diff: &str) -> Cow<'_, str> {
    let key = |found: &Captures<'_>| format!("{PLACE}{}]{}", PATTERNS[0].0, signs(&found[0]));
    match KEY_IN_DIFF.replace_all(diff, key) {
        Cow::Borrowed(same) => replaced(same, 1, signs).0,
        Cow::Owned(owned) => Cow::Owned(replaced(&owned, 1, signs).0.into_owned()),
    }
}

/// Line feed and sign of each line of a match but its first.
fn signs(found: &str) -> String {
    let sign = |line: &str| line.chars().next().filter(|c| "+- ".contains(*c)).unwrap_or(' ');
    found.split('\n').skip(1).map(|line| format!("\n{}", sign(line))).collect()
}

/// Replaces what the patterns from `first` on find. `behind` gives the text after each replacement, from the match.
fn replaced(text: &str, first: usize, behind: impl Fn(&str) -> String) -> (Cow<'_, str>, usize) {
    let found: Vec<usize> = SET.matches(text).iter().filter(|at| *at >= first).collect();
    if found.is_empty() {
        return (Cow::Borrowed(text), 0);
    }
    let (mut out, mut count) = (text.to_owned(), 0);
    for at in found {
        let word = |found: &Captures<'_>| {
            count += 1;
            let edge = found.name("edge").map_or("", |edge| edge.as_str());
            format!("{edge}{PLACE}{}]{}", PATTERNS[at].0, behind(&found[0]))
        };
        out = EACH[at].replace_all(&out, word).into_owned();
    }
    (Cow::Owned(out), count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_goes_and_what_stands_around_it_stays() {
        let token = format!("gh{}_{}", "p", "a1B2".repeat(10));
        let whole = format!("A={token}\nB={token}; C=1");
        let (text, count) = redacted(&whole);
        assert_eq!(count, 2);
        assert_eq!(text, "A=[left out by caisson: a GitHub token]\nB=[left out by caisson: a GitHub token]; C=1");
        let key = format!("x\n-----BEGIN {0} KEY-----\nabc\n-----END {0} KEY-----\ny", "PRIVATE");
        assert_eq!(redacted(&key).0, "x\n[left out by caisson: a private key]\ny");
        let half = format!("x\n-----BEGIN RSA {} KEY-----\nabc", "PRIVATE");
        assert_eq!(redacted(&half).0, "x\n[left out by caisson: a private key]", "one that was cut off");
        let diff = format!("+x\n+-----BEGIN {0} KEY-----\n+abc\n+-----END {0} KEY-----\n y", "PRIVATE");
        assert_eq!(redacted_diff(&diff), "+x\n+[left out by caisson: a private key]\n+\n+\n y");
        let words = format!("The line `-----BEGIN {} KEY-----` is not read.\n\n/fix", "PRIVATE");
        let shown = "The line `[left out by caisson: a private key]` is not read.\n\n/fix";
        assert_eq!(redacted_words(&words), shown, "a command behind it stays");
        assert_eq!(
            redacted_words(&format!("{}\n\n/fix {token}", key)),
            "x\n[left out by caisson: a private key]\ny\n\n/fix [left out by caisson: a GitHub token]"
        );
        let half =
            format!("x\n> -----BEGIN {} KEY-----\n> {}\n> {}\n/fix", "PRIVATE", "aB3/".repeat(16), "c".repeat(20));
        assert_eq!(redacted_words(&half), "x\n> [left out by caisson: a private key]\n/fix");
        let pem = |between: &str| format!("x\n-----BEGIN {0} KEY-----{between}-----END {0} KEY-----\ny", "PRIVATE");
        let lines = format!("{}\n/{}\nab/c==", "aB3/".repeat(16), "c".repeat(63));
        for key in [
            pem(&format!("\n{lines}\n")),
            pem(&format!("\nProc-Type: 4,ENCRYPTED\n\n{lines}\n")),
            pem(&format!("\\n{}\\n", lines.replace('\n', "\\n"))),
            pem(&format!(" {} ", lines.replace('\n', " "))),
            pem(&format!("\r\n> {}\r\n> ", lines.replace('\n', "\r\n> "))),
        ] {
            assert_eq!(redacted_words(&key), "x\n[left out by caisson: a private key]\ny", "{key}");
        }
        let between = pem("` begins it.\n\n/fix it\n\nVerdict: failed\n\n`");
        let shown = redacted_words(&between).into_owned();
        assert!(shown.contains("\n/fix it\n") && shown.contains("Verdict: failed"), "{shown}");
        let (same, none) = redacted("nothing of the kind");
        assert!(none == 0 && matches!(same, Cow::Borrowed(_)));
    }

    #[test]
    fn a_letter_beyond_ascii_that_touches_a_credential_does_not_hide_it() {
        let key = format!("AK{}", "IAIOSFODNN7EXAMPLE");
        let place = "[left out by caisson: an AWS access key]";
        assert_eq!(redacted(&format!("ü{key}é 日{key}本 {key}")).0, format!("ü{place}é 日{place}本 {place}"));
        assert_eq!(redacted(&format!("x{key} {key}x {key}_")).1, 0, "part of a longer word");
    }

    #[test]
    fn an_escape_that_ends_in_a_letter_or_a_digit_does_not_hide_what_follows() {
        let token = format!("gh{}_{}", "p", "a1B2".repeat(10));
        let place = "[left out by caisson: a GitHub token]";
        for edge in [
            "\u{1b}[32m",
            "\u{1b}[01;31m\u{1b}[K",
            "\\u001b[0m",
            "a\\n",
            "\\r\\n",
            "\\t",
            "\\u000a",
            "\\x3a",
            "?to=https%3A%2F%2F",
            "%0a",
        ] {
            let (text, shown) = (format!("{edge}{token} x"), format!("{edge}{place} x"));
            assert_eq!(redacted(&text), (Cow::Owned(shown.clone()), 1), "{edge}");
            assert_eq!(redacted_words(&text), shown, "{edge}");
            assert_eq!(sent_credential(&text), Some("a GitHub token"), "{edge}");
        }
        let address = format!("?to=%20postgres://shop:{}@", "correcthorse");
        assert_eq!(redacted(&format!("{address}db.test")).1, 1);
        assert_eq!(sent_credential(&format!("{address}localhost")), None, "an address of this machine all the same");
    }

    /// A private key's first and last line.
    fn ends() -> [String; 2] {
        ["BEGIN", "END"].map(|word| format!("-----{word} RSA {} KEY-----", "PRIVATE"))
    }

    #[test]
    fn a_line_that_is_none_of_a_key_stays_in_a_diff() {
        let [begin, end] = ends();
        let place = "[left out by caisson: a private key]";
        let code = "import os; os.system(\"x\")";
        for (diff, shown) in [
            (
                format!("+A = \"\"\"{begin}\"\"\"\n+{code}\n+B = \"\"\"{end}\"\"\"\n"),
                format!("+A = \"\"\"{place}\"\"\"\n+{code}\n+B = \"\"\"{end}\"\"\"\n"),
            ),
            (format!("+{begin}\n+{code}\n+x = 1\n"), format!("+{place}\n+{code}\n+x = 1\n")),
            (
                format!("+{begin}\n+{0}\n+{code}\n+{0}\n+{end}\n", "aB3/".repeat(16)),
                format!("+{place}\n+\n+{code}\n+{}\n+{end}\n", "aB3/".repeat(16)),
            ),
            (
                format!("+{begin}\n@@ -9 +9 @@\n+{0}(\n", "evil".repeat(9)),
                format!("+{place}\n@@ -9 +9 @@\n+{0}(\n", "evil".repeat(9)),
            ),
            (
                format!("+{begin}\n+{0}()\n+{end}\n", "evil".repeat(9)),
                format!("+{place}\n+{0}()\n+{end}\n", "evil".repeat(9)),
            ),
            (
                format!("-{begin}\n-ab\n-{end}----{}\n-y\n", &begin[5..]),
                format!("-{place}\n-\n-----{}\n-y\n", &begin[5..]),
            ),
        ] {
            assert_eq!(redacted_diff(&diff), shown, "{diff}");
        }
    }

    #[test]
    fn a_key_in_a_diff_goes_however_a_source_quotes_it() {
        let [begin, end] = ends();
        let (data, rest) = ("aB3/".repeat(16), "ab/c==");
        for key in [
            format!("+{begin}\n+{data}\n+{data}\n+{rest}\n+{end}\n"),
            format!("+{begin}\r\n+Proc-Type: 4,ENCRYPTED\r\n+\r\n+{data}\r\n+{end}\r\n"),
            format!("-    {begin}\n-    {data}\n     {rest}\n-    {end}\n"),
            format!("+\"{begin}\\n\" +\n+    \"{data}\\n\" +\n+    \"{rest}\\n\" +\n+    \"{end}\"\n"),
            format!("+// {begin}\n+// {data}\n+// {end}\n"),
            format!("+'{begin}',\n+'{data}',\n+'{rest}',\n+'{end}'\n"),
            format!("+K={begin}\\n{data}\\n{rest}\\n{end}\n"),
            format!("+K={begin} {data} {rest} {end}\n"),
            format!("+K=['{begin}', '{data}', '{end}']\n"),
            format!("+{begin}{data}\n+{data}{end}\n"),
            format!("+{begin}\\n{data}\\n{data}\n"),
            format!("+{begin}\n+{data}\n+{data}"),
        ] {
            let shown = redacted_diff(&format!("+x\n{key}")).into_owned();
            assert!(shown.starts_with("+x\n") && !shown.contains("aB3"), "{shown}");
            assert!(!shown.contains("ab/c") && !shown.contains("BEGIN"), "{shown}");
            assert_eq!(shown.matches('\n').count(), key.matches('\n').count() + 1, "{shown}");
        }
    }

    #[test]
    fn a_digest_behind_an_images_name_is_no_host() {
        let image = format!("uses: docker://node:20.11.1-bookworm@sha256:{}", "a1".repeat(32));
        assert_eq!(redacted(&image), (Cow::Borrowed(image.as_str()), 0));
        for host in ["db", "s", "sh", "sha2.test", "sha256.test:5432/x", "sha256", "smtp.test", "9.test"] {
            let address = format!("postgres://shop:{}@{host}", "correcthorse");
            assert_eq!(redacted(&address).1, 1, "{host}");
            for end in ["\n/stop", "\r\n/stop"] {
                assert!(redacted(&format!("{address}{end}")).0.ends_with(end), "{host}: the line's end stays");
            }
        }
        for address in [format!("redis://:{}@[::1]/0", "correcthorse"), format!("a+b://u:{}@h", "x".repeat(128))] {
            assert_eq!(redacted(&address).1, 1, "{address}");
        }
    }

    #[test]
    fn the_kind_is_named_of_a_credential_that_other_machines_may_be_sent() {
        let token = format!("gh{}_{}", "p", "a1B2".repeat(10));
        assert_eq!(sent_credential(&format!("curl -H 'Authorization: Bearer {token}' x.test")), Some("a GitHub token"));
        assert_eq!(sent_credential("curl -H 'Authorization: Bearer $TOKEN' x.test"), None);
        assert_eq!(PATTERNS[IN_ADDRESS].0, "a password in an address");
        let address = |host: &str| format!("postgres://shop:{}@{host}", "correcthorse");
        for own in ["localhost", "localhost:5432/x", "127.0.0.1/x psql", "[::1]:1/x", "localhost' make"] {
            assert_eq!(sent_credential(&address(own)), None, "{own}");
        }
        for other in [
            "db.test",
            "localhost.test/x",
            "localhost,@db.test/",
            "localhost\\.db.test",
            "localhost\"\".db.test",
            "127.0.0.1.test",
            "localhost@db.test",
            "localhost:1@db.test",
            "localhostess",
        ] {
            assert_eq!(sent_credential(&address(other)), Some("a password in an address"), "{other}");
        }
        let two = format!("{} {}", address("localhost"), address("db.test"));
        assert_eq!(sent_credential(&two), Some("a password in an address"));
        let behind = format!("a://u:{token}@localhost/");
        assert_eq!(sent_credential(&behind), Some("a GitHub token"), "every other kind counts wherever it stands");
    }

    #[test]
    fn many_first_lines_without_an_end_are_each_left_out() {
        let line = format!("-----BEGIN {} KEY-----\nwords\n", "PRIVATE");
        let shown = redacted_words(&line.repeat(40_000)).into_owned();
        assert_eq!(shown.matches("words").count(), 40_000);
        let diff = format!("+{}", line.trim_end().replace('\n', "\n+\n+"));
        let shown = redacted_diff(&format!("{diff}\n").repeat(40_000)).into_owned();
        assert_eq!(shown.matches("\n+words\n").count(), 40_000);
    }
}
