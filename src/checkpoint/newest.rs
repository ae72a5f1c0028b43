//! Newest versions as an answer shows them: a cell of the table of dependencies, and a sentence below it. Versions and days are foreign.
//!
//! Owns their words. Tests: below, with a real Markdown parser.

use domain::{DependencyScan, NewestScan, NewestVersion, VersionGap};
use std::fmt::Write as _;

use crate::text::{count, plain_cell, prose};

/// Characters of a reason.
const REASON: usize = 160;

/// The newest version of one dependency with its day, and where what is locked is beside it.
pub(super) fn newest_cell(newest: Option<&NewestVersion>) -> String {
    let Some(newest) = newest else { return "—".to_owned() };
    let day = newest.published.as_ref().map(|day| format!(" ({})", shown_day(day))).unwrap_or_default();
    let gap = newest.gap.map(|gap| format!(", {}", gap.words())).unwrap_or_default();
    format!("{}{day}{gap}", plain_cell(&newest.version))
}

/// A day as it was read; anything else that a log may hold as code.
pub(super) fn shown_day(day: &str) -> String {
    if day.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') { day.to_owned() } else { plain_cell(day) }
}

/// How many of the dependencies are behind, by which data, and what that does not hold.
pub(super) fn newest_sentence(scan: &DependencyScan) -> String {
    let Some(found) = &scan.newest else {
        return "\n**Newest versions** are not known. Whoever runs me can give me a folder of them with `[advisories] newest_dir = \"…\"` in `caisson.toml`; `caisson deps newest` fills it.\n".to_owned();
    };
    if let Some(why) = &found.trouble {
        return format!("\n> [!WARNING]\n> ⚠️ No newest versions were looked at: {}.\n", prose(why, REASON));
    }
    let known: Vec<&NewestVersion> = scan.direct.iter().filter_map(|it| it.newest.as_ref()).collect();
    let gaps: Vec<VersionGap> = known.iter().filter_map(|it| it.gap).collect();
    let number = |of: VersionGap| gaps.iter().filter(|gap| **gap == of).count();
    let (major, minor, patch) = (number(VersionGap::Major), number(VersionGap::Minor), number(VersionGap::Patch));
    let data = data(found);
    let mut out = match major + minor + patch {
        0 if found.since.is_empty() => "\n**No newest version** of these is in the data".to_owned(),
        0 if gaps.is_empty() => format!("\n**None was compared** with the newest version ({data})"),
        0 => format!("\n**None is behind** the newest version ({data})"),
        all => format!("\n**{all} behind** the newest version ({data}): {major} major, {minor} minor, {patch} patch"),
    };
    let apart = number(VersionGap::NotComparable);
    if apart > 0 {
        let _ = write!(out, "; {apart} not comparable");
    }
    if known.len() > gaps.len() {
        let _ = write!(out, "; {} not locked", known.len() - gaps.len());
    }
    if found.missing > 0 {
        let _ = write!(out, "; not in the data: {}", count(found.missing, "package"));
    }
    out.push_str(".\n");
    if found.unread > 0 {
        let lines = count(found.unread, "line");
        let _ = writeln!(out, "\n{lines} of the data could not be read; the log names the first.");
    }
    out
}

/// The days of the data.
fn data(found: &NewestScan) -> String {
    match found.since == found.until {
        true => format!("data of {}", shown_day(&found.since)),
        false => format!("data of {} to {}", shown_day(&found.since), shown_day(&found.until)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::Dependency;

    fn dependency(newest: Option<NewestVersion>) -> Dependency {
        Dependency {
            ecosystem: "npm".into(),
            name: "a".into(),
            asked: "^1".into(),
            locked: vec!["1.0.0".into()],
            released: std::collections::BTreeMap::new(),
            manifest: "package.json".into(),
            line: 1,
            newest,
        }
    }

    fn newest(version: &str, gap: Option<VersionGap>) -> Option<NewestVersion> {
        Some(NewestVersion { version: version.into(), published: None, gap })
    }

    fn found() -> NewestScan {
        NewestScan { since: "2026-11-01".into(), until: "2026-11-20".into(), ..NewestScan::default() }
    }

    fn sentence(newest: Option<NewestScan>, of: Vec<Option<NewestVersion>>) -> String {
        let direct = of.into_iter().map(dependency).collect();
        newest_sentence(&DependencyScan { direct, newest, ..DependencyScan::default() })
    }

    #[test]
    fn a_cell_has_version_day_and_gap_as_far_as_they_are_known() {
        let mut known = newest("2.0.0", Some(VersionGap::Major)).unwrap();
        known.published = Some("2026-10-01".into());
        assert_eq!(newest_cell(Some(&known)), "`2.0.0` (2026-10-01), major behind");
        assert_eq!(newest_cell(newest("2.0.0", None).as_ref()), "`2.0.0`");
        assert_eq!(newest_cell(None), "—");
        known.published = Some("| x".into());
        assert_eq!(newest_cell(Some(&known)), "`2.0.0` (`\\| x`), major behind");
    }

    #[test]
    fn the_sentence_counts_and_names_the_data_with_its_days() {
        use VersionGap::{Major, NotComparable, Patch, UpToDate};
        let gaps = [Major, Patch, Patch, UpToDate, NotComparable].map(|gap| newest("2.0.0", Some(gap)));
        let of = gaps.into_iter().chain([None]).collect();
        let text = sentence(Some(NewestScan { missing: 1, ..found() }), of);
        let wanted = "\n**3 behind** the newest version (data of 2026-11-01 to 2026-11-20): 1 major, 0 minor, 2 patch; \
                      1 not comparable; not in the data: 1 package.\n";
        assert_eq!(text, wanted);
        let same = NewestScan { until: "2026-11-01".into(), ..found() };
        let text = sentence(Some(same), vec![newest("1.0.0", Some(UpToDate))]);
        assert_eq!(text, "\n**None is behind** the newest version (data of 2026-11-01).\n");
        let text = sentence(Some(found()), vec![newest("1.0.0", Some(UpToDate)), newest("1.0.0", None)]);
        assert!(text.contains("**None is behind** the newest version") && text.contains("; 1 not locked."), "{text}");
        let text = sentence(Some(found()), vec![newest("1.0.0", None)]);
        assert!(text.contains("**None was compared** with the newest version"), "{text}");
    }

    #[test]
    fn what_was_not_read_and_what_is_not_there_is_said() {
        let text = sentence(Some(NewestScan { unread: 2, ..NewestScan::default() }), Vec::new());
        assert!(text.contains("**No newest version** of these is in the data."), "{text}");
        assert!(text.contains("2 lines of the data could not be read; the log names the first."), "{text}");
        let trouble = NewestScan { trouble: Some("the folder <b>".into()), ..NewestScan::default() };
        let text = sentence(Some(trouble), Vec::new());
        assert!(text.contains("No newest versions were looked at") && text.contains("`<b>`"), "{text}");
        assert!(sentence(None, Vec::new()).contains("[advisories] newest_dir"));
    }
}
