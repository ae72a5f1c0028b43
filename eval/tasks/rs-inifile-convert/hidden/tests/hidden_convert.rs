use inifile::{parse, ConvertError};

#[test]
fn any_reading() {
    let ini = parse("size = 3x4\nbad = 3").unwrap();
    let size = |text: &str| {
        let (a, b) = text.split_once('x')?;
        Some((a.parse::<u8>().ok()?, b.parse::<u8>().ok()?))
    };
    assert_eq!(ini.get_with("", "size", size), Ok((3, 4)));
    assert_eq!(ini.get_with("", "bad", size), Err(ConvertError::Invalid("3".into())));
    assert_eq!(ini.get_with("", "none", size), Err(ConvertError::Missing));
}

#[test]
fn the_three_are_what_they_were() {
    let ini = parse("a = 7\nb = 1.5\nc = OFF\nd = maybe").unwrap();
    assert_eq!(ini.get_int("", "a"), Ok(7));
    assert_eq!(ini.get_float("", "b"), Ok(1.5));
    assert_eq!(ini.get_bool("", "c"), Ok(false));
    assert_eq!(ini.get_bool("", "d"), Err(ConvertError::Invalid("maybe".into())));
    assert_eq!(ini.get_float("", "d"), Err(ConvertError::Invalid("maybe".into())));
    assert_eq!(ini.get_bool("", "e"), Err(ConvertError::Missing));
}

#[test]
fn made_in_one_place() {
    let text = include_str!("../src/convert.rs");
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    assert!(code.matches("Missing").count() <= 2, "declared, and made once");
    assert!(code.matches("Invalid").count() <= 2, "declared, and made once");
    assert!(code.matches("get_with(").count() >= 3);
}
