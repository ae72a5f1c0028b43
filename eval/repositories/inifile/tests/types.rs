use inifile::{parse, ConvertError};

#[test]
fn numbers_and_switches() {
    let ini = parse("a = 7\nb = 1.5\nc = Yes\nd = maybe").unwrap();
    assert_eq!(ini.get_int("", "a"), Ok(7));
    assert_eq!(ini.get_float("", "b"), Ok(1.5));
    assert_eq!(ini.get_bool("", "c"), Ok(true));
    assert_eq!(ini.get_bool("", "d"), Err(ConvertError::Invalid("maybe".into())));
    assert_eq!(ini.get_int("", "b"), Err(ConvertError::Invalid("1.5".into())));
    assert_eq!(ini.get_int("x", "b"), Err(ConvertError::Missing));
}
