use super::*;

fn url(ecosystem: &str, name: &str) -> Option<String> {
    let base = "http://mirror.example/all/".parse().unwrap();
    Registry::of(ecosystem).unwrap().url(&base, name).map(|url| url.path().to_owned())
}

fn said_newest(ecosystem: &str, text: &str) -> Option<(String, Option<String>)> {
    let release = (Registry::of(ecosystem).unwrap().newest)(text).unwrap()?;
    Some((release.version, release.published))
}

fn release(version: &str, day: Option<&str>) -> Option<(String, Option<String>)> {
    Some((version.to_owned(), day.map(str::to_owned)))
}

#[test]
fn each_registry_has_its_own_path_below_any_address() {
    for (ecosystem, name, path) in [
        ("crates.io", "a", "/all/1/a"),
        ("crates.io", "ab", "/all/2/ab"),
        ("crates.io", "abc", "/all/3/a/abc"),
        ("crates.io", "Serde_Json", "/all/se/rd/serde_json"),
        ("PyPI", "foo-bar", "/all/pypi/foo-bar/json"),
        ("npm", "left-pad", "/all/left-pad"),
        ("npm", "@types/node", "/all/@types%2Fnode"),
        ("Go", "github.com/Azure/go/v2", "/all/github.com/!azure/go/v2/@latest"),
        ("Packagist", "brick/math", "/all/p2/brick/math.json"),
        ("Maven", "org.junit.jupiter:junit-api", "/all/org/junit/jupiter/junit-api/maven-metadata.xml"),
    ] {
        assert_eq!(url(ecosystem, name).as_deref(), Some(path), "{ecosystem} {name}");
    }
}

#[test]
fn a_name_that_no_package_can_have_is_asked_nowhere() {
    let long = "a".repeat(300);
    let names = ["", ".", "..", "../x", "a/../b", "a b", "a?x=1", "a#b", "a%2e", "é", "a\nb", "@/x", "a:..:b"];
    for registry in &REGISTRIES {
        for name in names.into_iter().chain([long.as_str()]) {
            assert_eq!(url(registry.ecosystem, name), None, "{} {name:?}", registry.ecosystem);
        }
    }
    assert_eq!((url("npm", "@a/b/c"), url("Go", "shop/own"), url("Maven", "a..b:c")), (None, None, None));
}

#[test]
fn an_index_of_crates_gives_the_newest_that_is_neither_yanked_nor_a_pre_release() {
    let text = r#"{"name":"a","vers":"1.0.0","deps":[],"yanked":false,"pubtime":"2025-01-02T03:04:05Z"}
{"name":"a","vers":"1.2.0","deps":[],"cksum":"0","yanked":false,"pubtime":"2025-05-06T03:04:05Z"}
{"name":"a","vers":"1.3.0","deps":[],"cksum":"0","features":{},"yanked":true}
{"name":"a","vers":"2.0.0-rc.1","deps":[],"cksum":"0","features":{},"yanked":false}
"#;
    assert_eq!(said_newest("crates.io", text), release("1.2.0", Some("2025-05-06")));
    assert_eq!(said_newest("crates.io", ""), None);
    assert!(crates_io("<html>").is_err());
}

#[test]
fn a_project_of_python_is_read_with_and_without_its_releases() {
    let text = r#"{"info":{"name":"a","version":"2.0","yanked":false},"releases":{"1.0":[{"yanked":false,"upload_time_iso_8601":"2024-01-01T00:00:00.000000Z"}],"1.1":[{"yanked":true},{"yanked":false,"upload_time_iso_8601":"2024-02-03T00:00:00.000000Z"}],"2.0":[{"yanked":true,"yanked_reason":"broken"}],"3.0":[],"4.0rc1":[{"yanked":false}]},"urls":[],"last_serial":1}"#;
    assert_eq!(said_newest("PyPI", text), release("1.1", Some("2024-02-03")));
    assert_eq!(said_newest("PyPI", r#"{"info":{"version":"2.0","yanked":false}}"#), release("2.0", None));
    assert_eq!(said_newest("PyPI", r#"{"info":{"version":"2.0","yanked":true},"releases":null}"#), None);
    assert!(pypi("{}").is_err());
}

#[test]
fn of_npm_the_tagged_version_counts_unless_it_is_deprecated() {
    let text = r#"{"name":"a","dist-tags":{"latest":"1.1.0","next":"2.0.0"},"modified":"2026-01-01T00:00:00.000Z","versions":{"1.0.0":{"name":"a"},"1.1.0":{"name":"a"},"2.0.0":{"name":"a"}}}"#;
    assert_eq!(said_newest("npm", text), release("1.1.0", None));
    let deprecated = text.replace(r#""1.1.0":{"#, r#""1.1.0":{"deprecated":"broken","#);
    assert_eq!(said_newest("npm", &deprecated), release("2.0.0", None));
    let gone = text.replace(r#""1.1.0":{"name":"a"},"#, "");
    assert_eq!(said_newest("npm", &gone), release("2.0.0", None));
    let all = deprecated.replace(r#":{"name"#, r#":{"deprecated":"all","name"#);
    assert_eq!(said_newest("npm", &all), release("2.0.0", None));
    assert_eq!(said_newest("npm", r#"{"dist-tags":{"latest":"1.0.0-rc.1"},"versions":{"1.0.0-rc.1":{}}}"#), None);
}

#[test]
fn the_answers_of_go_composer_and_maven_are_read() {
    let text = r#"{"Version":"v1.9.3","Time":"2024-06-30T01:02:03Z","Origin":{"VCS":"git"}}"#;
    assert_eq!(said_newest("Go", text), release("1.9.3", Some("2024-06-30")));
    let text = r#"{"packages":{"brick/math":[{"name":"brick/math","version":"1.0.0-RC1","version_normalized":"1.0.0.0-RC1","time":"2026-02-01T00:00:00+00:00"},{"version":"v0.14.0","version_normalized":"0.14.0.0","time":"2025-08-29T12:40:03+00:00"},{"version":"0.13.1","require":"__unset"}]},"minified":"composer/2.0"}"#;
    assert_eq!(said_newest("Packagist", text), release("v0.14.0", Some("2025-08-29")));
    let text = "<?xml version=\"1.0\"?>\n<metadata><groupId>g</groupId><versioning><latest>2.0-M1</latest><release>2.0-M1</release><versions>\n<version>1.9</version>\n<version> 1.10 </version><version>2.0-M1</version></versions><lastUpdated>20260101000000</lastUpdated></versioning></metadata>";
    assert_eq!(said_newest("Maven", text), release("1.10", None));
    let of = |versions: &[&str]| {
        let versions: String = versions.iter().map(|it| format!("<version>{it}</version>")).collect();
        said_newest("Maven", &format!("<metadata><versions>{versions}</versions></metadata>"))
    };
    assert_eq!(of(&["3.2.1", "3.2.2", "20040616", "20031027.000000"]), release("3.2.2", None), "old ones have days");
    assert_eq!(of(&["20231013", "20240303", "shop-1.0"]), release("20240303", None), "all have");
    assert!(go("not found").is_err() && packagist("[]").is_err() && maven("<html>").is_err());
}
