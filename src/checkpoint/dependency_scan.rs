//! What a tree depends on, as tables that stand whatever a model says: what has a known advisory, and what is asked for beside what is locked and, where that
//! is known, the newest version (`newest.rs`).
//!
//! All names, versions and words of advisories are foreign. Tests: below, with a real Markdown parser.

use super::newest::{newest_cell, newest_sentence, shown_day};
use super::rule_scan::linked;
use crate::text::{code, count, grouped, plain_cell, prose, prose_cell};
use domain::{AdvisoryMatch, AdvisoryScan, Commit, Dependency, DependencyScan};
use std::fmt::Write as _;
use url::Url;

/// Longest tables, in bytes: with all else an answer stays below what the forge takes.
const LONGEST: usize = 24 << 10;
/// The most of that for advisories.
const OF_ADVISORIES: usize = 10 << 10;
/// Versions named of one package.
const VERSIONS: usize = 3;
/// Versions that are named as the oldest.
const OLDEST: usize = 5;
/// Characters of a summary.
const SUMMARY: usize = 160;
/// Files and packages named in a sentence.
const NAMED: usize = 20;

/// The tables of a scan of this commit; `link` gives the address of a line for people.
pub fn render_dependency_scan(
    scan: &DependencyScan,
    commit: &Commit,
    link: &dyn Fn(&str, u64) -> Option<Url>,
) -> String {
    let mut out = advisories(scan);
    let direct = scan.direct.len() as u64 + scan.more;
    if direct == 0 {
        let _ = writeln!(out, "\n**No direct dependency** was found at `{}`.", commit.short());
    } else {
        let what = if direct == 1 { "direct dependency" } else { "direct dependencies" };
        let _ = writeln!(out, "\n**{direct} {what}** at `{}`:\n", commit.short());
        let known = scan.newest.as_ref().is_some_and(|newest| newest.trouble.is_none());
        out.push_str(match known {
            true => "| package | asked for | locked | newest | where |\n|---|---|---|---|---|\n",
            false => "| package | asked for | locked | where |\n|---|---|---|---|\n",
        });
        let rows = rows(&mut out, LONGEST, scan.direct.iter().map(|it| dependency(it, known, link)));
        let rest = direct - rows;
        if rest > 0 {
            let _ = writeln!(out, "\n…and {rest} more.");
        }
        out.push_str(&newest_sentence(scan));
        out.push_str(&oldest(&scan.direct));
    }
    out.push_str(&files(scan));
    out
}

/// Adds rows up to a length; how many it were.
fn rows(out: &mut String, most: usize, all: impl Iterator<Item = String>) -> u64 {
    let mut told = 0;
    for row in all {
        if out.len() + row.len() > most {
            break;
        }
        out.push_str(&row);
        told += 1;
    }
    told
}

fn advisories(scan: &DependencyScan) -> String {
    let Some(found) = &scan.advisories else {
        return "**Known advisories**: none were looked at. Whoever runs me can give me a folder of them with `[advisories] dir = \"…\"` in `caisson.toml`; `caisson config --defaults` says where they come from.\n".to_owned();
    };
    if let Some(why) = &found.trouble {
        return format!("> [!WARNING]\n> ⚠️ No advisories were looked at: {}.\n", prose(why, SUMMARY));
    }
    let noun = if found.known == 1 { "advisory" } else { "advisories" };
    let data = format!("data of {}, {} {noun}", date(found), grouped(found.known));
    let versions = count(scan.locked, "locked version");
    let mut out = match found.matches.is_empty() {
        true if found.not_looked_up > 0 => format!("**No known advisory** was found, of {versions} ({data}).\n"),
        true => format!("**No known advisory** is about any of {versions} ({data}).\n"),
        false => {
            let total = found.matches.len() as u64 + found.more;
            let is = if total == 1 { "advisory is" } else { "advisories are" };
            format!(
                "**{total} known {is} about** what is locked ({versions}; {data}):\n\n| advisory | package | locked | without it | what it says |\n|---|---|---|---|---|\n"
            )
        }
    };
    let told = rows(&mut out, OF_ADVISORIES, found.matches.iter().map(advisory));
    let rest = found.matches.len() as u64 - told + found.more;
    if rest > 0 {
        let _ = writeln!(out, "\n…and {rest} more.");
    }
    if !found.not_compared.is_empty() {
        let named = listed(&found.not_compared, NAMED, |it| code(it));
        let _ = writeln!(out, "\n⚠️ **Cannot compare** these with advisories about them: {named}.");
    }
    if found.not_looked_up > 0 {
        let which = count(found.not_looked_up, "locked version");
        let _ = writeln!(out, "\n⚠️ **Not looked up**, because of a limit of number or time: {which}.");
    }
    if found.unread > 0 {
        let _ = writeln!(out, "\n{} of the data could not be read.", count(found.unread, "file"));
    }
    out
}

/// The day of the data; what is none is not shown.
fn date(found: &AdvisoryScan) -> &str {
    let is_day = !found.date.is_empty() && found.date.chars().all(|c| c.is_ascii_digit() || c == '-');
    if is_day { &found.date } else { "an unknown day" }
}

fn advisory(it: &AdvisoryMatch) -> String {
    let fixed = match it.fixed.is_empty() {
        true => "none is known".to_owned(),
        false => versions(&it.fixed),
    };
    let direct = if it.direct { "" } else { " (not direct)" };
    let (id, name, version) = (plain_cell(&it.id), plain_cell(&it.name), plain_cell(&it.version));
    let summary = prose_cell(&it.summary, SUMMARY);
    format!("| {id} | {name}{direct} | {version} | {fixed} | {summary} |\n")
}

/// A row; with the newest version where the data is known.
fn dependency(it: &Dependency, known: bool, link: &dyn Fn(&str, u64) -> Option<Url>) -> String {
    let asked = if it.asked.is_empty() { "any".to_owned() } else { plain_cell(&it.asked) };
    let with_day = |version: &String| match it.released.get(version) {
        Some(day) => format!("{} ({})", plain_cell(version), shown_day(day)),
        None => plain_cell(version),
    };
    let locked = if it.locked.is_empty() { "—".to_owned() } else { listed(&it.locked, VERSIONS, with_day) };
    let place = match it.line {
        0 => it.manifest.clone(),
        line => format!("{}:{line}", it.manifest),
    };
    let place = linked(plain_cell(&place), link(&it.manifest, it.line.max(1)));
    let newest = if known { format!(" {} |", newest_cell(it.newest.as_ref())) } else { String::new() };
    format!("| {} | {asked} | {locked} |{newest} {place} |\n", plain_cell(&it.name))
}

/// The direct dependencies whose locked version was made first, as far as lock files tell.
fn oldest(direct: &[Dependency]) -> String {
    let mut all: Vec<(&String, &String, &String)> =
        direct.iter().flat_map(|it| it.released.iter().map(move |(version, day)| (day, &it.name, version))).collect();
    if all.is_empty() {
        return String::new();
    }
    all.sort_unstable();
    all.dedup();
    let one = |(day, name, version): &(&String, &String, &String)| {
        format!("{} {} ({})", code(name), code(version), shown_day(day))
    };
    let known = all.len();
    all.truncate(OLDEST);
    let listed = listed(&all, OLDEST, one);
    format!("\n**Oldest**, of {} whose day a lock file names: {listed}.\n", count(known as u64, "version"))
}

fn versions(all: &[String]) -> String {
    listed(all, VERSIONS, |version| plain_cell(version))
}

/// The first of these, and how many more there are.
pub(super) fn listed<T>(all: &[T], most: usize, shown: impl Fn(&T) -> String) -> String {
    let more = all.len().saturating_sub(most);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", all.iter().take(most).map(shown).collect::<Vec<_>>().join(", "))
}

/// Which files were read, and which were not.
fn files(scan: &DependencyScan) -> String {
    let mut out = String::new();
    if !scan.unread.is_empty() {
        let unread = listed(&scan.unread, NAMED, |(path, why)| format!("{} ({})", code(path), prose(why, SUMMARY)));
        let _ = writeln!(out, "\n**Not read**: {unread}.");
    }
    let read: Vec<String> = scan.read.iter().take(NAMED).map(|path| code(path)).collect();
    if !read.is_empty() {
        let more = scan.read.len().saturating_sub(NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let dated = scan.direct.iter().any(|it| !it.released.is_empty());
        let which = if dated { "any other version" } else { "a version" };
        let _ = writeln!(
            out,
            "\n<sub>Read: {}{more}. How old {which} is, these files don't say. A package that is not locked is held against no advisory.</sub>",
            read.join(", ")
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::NewestScan;
    use pulldown_cmark::{Event, Options, Parser, Tag};

    fn commit() -> Commit {
        Commit::parse(&"a".repeat(40)).unwrap()
    }

    fn link(path: &str, line: u64) -> Option<Url> {
        let mut url: Url = "https://forge.example/lab/shop/src/commit/aaaa".parse().unwrap();
        url.path_segments_mut().unwrap().extend(path.split('/'));
        url.set_fragment(Some(&format!("L{line}")));
        Some(url)
    }

    fn asked(name: &str, version: &str, locked: &[&str]) -> Dependency {
        Dependency {
            ecosystem: "crates.io".into(),
            name: name.into(),
            asked: version.into(),
            released: std::collections::BTreeMap::new(),
            locked: locked.iter().map(|it| (*it).to_owned()).collect(),
            manifest: "Cargo.toml".into(),
            line: 3,
            newest: None,
        }
    }

    fn about(id: &str, name: &str, direct: bool) -> AdvisoryMatch {
        AdvisoryMatch {
            id: id.into(),
            ecosystem: "crates.io".into(),
            name: name.into(),
            version: "1.0.0".into(),
            direct,
            summary: "It reads past the end of a buffer.".into(),
            fixed: vec!["1.0.1".into()],
        }
    }

    fn scan() -> DependencyScan {
        DependencyScan {
            read: vec!["Cargo.toml".into(), "Cargo.lock".into()],
            unread: vec![("web/yarn.lock".into(), "this format is not understood".into())],
            direct: vec![asked("serde", "1", &["1.0.0"]), asked("any", "", &[])],
            more: 0,
            locked: 40,
            advisories: None,
            newest: None,
        }
    }

    #[test]
    fn tables_say_what_is_asked_for_what_is_locked_and_which_data_was_looked_at() {
        let plain = scan();
        let mut known = scan();
        known.advisories = Some(AdvisoryScan {
            date: "2026-11-20".into(),
            known: 1_200,
            unread: 2,
            matches: vec![about("RUSTSEC-2026-0001", "serde", true), about("GHSA-1", "deep", false)],
            more: 1,
            not_compared: vec!["odd latest".into()],
            not_looked_up: 0,
            trouble: None,
        });
        let none = DependencyScan {
            advisories: Some(AdvisoryScan { date: "2026-11-20".into(), known: 1, ..AdvisoryScan::default() }),
            ..DependencyScan::default()
        };
        let trouble = Some("the operator's folder of advisories cannot be read".into());
        let broken = DependencyScan { advisories: Some(AdvisoryScan { trouble, ..AdvisoryScan::default() }), ..scan() };
        let texts = [plain, known, none, broken].map(|scan| render_dependency_scan(&scan, &commit(), &link));
        insta::assert_snapshot!("dependency_scan", texts.join("\n----\n"));
    }

    #[test]
    fn the_newest_version_has_a_column_where_there_is_data() {
        let mut scan = scan();
        let (since, until) = ("2026-11-20".into(), "2026-11-20".into());
        scan.newest = Some(NewestScan { since, until, ..NewestScan::default() });
        let gap = Some(domain::VersionGap::Patch);
        scan.direct[0].newest =
            Some(domain::NewestVersion { version: "1.0.228".into(), published: Some("2025-09-27".into()), gap });
        let text = render_dependency_scan(&scan, &commit(), &|_, _| None);
        for row in [
            "| package | asked for | locked | newest | where |",
            "| `serde` | `1` | `1.0.0` | `1.0.228` (2025-09-27), patch behind | `Cargo.toml:3` |",
            "| `any` | any | — | — | `Cargo.toml:3` |",
            "**1 behind** the newest version (data of 2026-11-20): 0 major, 0 minor, 1 patch.",
        ] {
            assert!(text.lines().any(|line| line == row), "{row}\n{text}");
        }
    }

    #[test]
    fn tables_have_a_limit_and_the_rest_is_counted() {
        let long = "n".repeat(100);
        let direct = vec![asked(&long, &long, &[&long, &long, &long, &long]); 300];
        let matches = vec![about(&long, &long, true); 100];
        let advisories = Some(AdvisoryScan { matches, ..AdvisoryScan::default() });
        let text = render_dependency_scan(&DependencyScan { direct, advisories, ..scan() }, &commit(), &link);
        assert!(text.len() < LONGEST + 2_000 && text.matches("more.").count() >= 2, "{}", text.len());
    }

    #[test]
    fn versions_that_were_not_looked_up_are_said_and_nothing_is_said_of_all() {
        let advisories = Some(AdvisoryScan { not_looked_up: 7, ..AdvisoryScan::default() });
        let text = render_dependency_scan(&DependencyScan { advisories, ..scan() }, &commit(), &|_, _| None);
        assert!(text.contains("because of a limit of number or time: 7 locked versions."), "{text}");
        assert!(!text.contains("about any of"), "{text}");
    }

    #[test]
    fn hostile_names_get_out_of_nothing() {
        for bad in [
            "a)[x](http://evil.example",
            "a`b>@all<",
            "<img/src=x>",
            "a|b\\",
            "a\n| @all |",
            "![x](http://evil.example)",
        ] {
            let mut scan = scan();
            let gap = Some(domain::VersionGap::Major);
            let newest = Some(domain::NewestVersion { version: bad.into(), published: Some(bad.into()), gap });
            scan.direct = vec![Dependency { manifest: bad.into(), newest, ..asked(bad, bad, &[bad]) }];
            let (since, until) = (bad.into(), "2026-11-20".into());
            scan.newest = Some(NewestScan { since, until, ..NewestScan::default() });
            scan.unread = vec![(bad.into(), bad.into())];
            scan.read = vec![bad.into()];
            let found = AdvisoryMatch {
                summary: bad.into(),
                version: bad.into(),
                fixed: vec![bad.into()],
                ..about(bad, bad, true)
            };
            scan.advisories = Some(AdvisoryScan {
                date: bad.into(),
                matches: vec![found],
                not_compared: vec![bad.into()],
                ..AdvisoryScan::default()
            });
            let text = render_dependency_scan(&scan, &commit(), &link);
            for event in Parser::new_ext(&text, Options::ENABLE_TABLES | Options::ENABLE_GFM) {
                match &event {
                    Event::Start(Tag::Link { dest_url, .. }) => {
                        assert!(dest_url.starts_with("https://forge.example/lab/shop/src/commit/"), "{text}");
                    }
                    Event::InlineHtml(html) | Event::Html(html) => assert!(html.contains("sub>"), "{text}"),
                    Event::Start(Tag::Image { .. }) => panic!("{text}"),
                    Event::Text(words) => assert!(!words.contains('@') && !words.contains("evil."), "{text}"),
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn days_of_publication_stand_behind_versions_and_the_oldest_are_named() {
        let of = |name: &str, days: &[(&str, &str)]| {
            let locked: Vec<&str> = days.iter().map(|(version, _)| *version).collect();
            let dated = days.iter().filter(|(_, day)| !day.is_empty());
            let released = dated.map(|(version, day)| ((*version).to_owned(), (*day).to_owned())).collect();
            Dependency { released, ..asked(name, "", &locked) }
        };
        let direct = vec![
            of("a", &[("1.0", "2021-03-01"), ("2.0", "")]),
            of("b", &[("3`|@all", "2019-01-02")]),
            of("c", &[("9", "2024-05-06")]),
        ];
        let scan = DependencyScan { direct, read: vec!["uv.lock".into()], ..DependencyScan::default() };
        let shown = render_dependency_scan(&scan, &commit(), &link);
        assert!(shown.contains("| `a` | any | `1.0` (2021-03-01), `2.0` |"), "{shown}");
        let oldest = "**Oldest**, of 3 versions whose day a lock file names: `b` ``3`|@all`` (2019-01-02), `a` `1.0` (2021-03-01), `c` `9` (2024-05-06).";
        assert!(shown.lines().any(|line| line == oldest), "{shown}");
        assert!(shown.contains("How old any other version is, these files don't say."), "{shown}");
        let none = DependencyScan { direct: vec![of("a", &[("1", "")])], read: vec!["x".into()], ..scan };
        let shown = render_dependency_scan(&none, &commit(), &link);
        assert!(!shown.contains("Oldest") && shown.contains("How old a version is, these files don't say."), "{shown}");
    }
}
