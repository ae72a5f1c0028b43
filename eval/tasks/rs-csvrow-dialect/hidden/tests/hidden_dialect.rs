use csvrow::{read, write, Dialect, ReadError};

#[test]
fn the_default() {
    assert_eq!(Dialect::default(), Dialect { separator: ',', quote: '"' });
    let text = "a,\"b,\"\"c\"\n";
    let rows: Vec<_> = read(text).collect::<Result<_, _>>().unwrap();
    assert_eq!(Dialect::default().read(text).collect::<Result<Vec<_>, _>>().unwrap(), rows);
    assert_eq!(write(&rows), text);
    assert_eq!(Dialect::default().write(&rows), text);
}

#[test]
fn another() {
    let dialect = Dialect { separator: ';', quote: '\'' };
    let rows: Vec<_> = dialect.read("a,b;'c;d''e'\n\"x\";").collect::<Result<_, _>>().unwrap();
    assert_eq!(rows, [["a,b", "c;d'e"], ["\"x\"", ""]]);
    assert_eq!(dialect.write(&rows), "a,b;'c;d''e'\n\"x\";\n");
    assert_eq!(dialect.read("'a'b").next(), Some(Err(ReadError::AfterQuote { line: 1 })));
    assert_eq!(dialect.read("'a").next(), Some(Err(ReadError::OpenQuote { line: 1 })));
}

#[test]
fn written_in_one_place() {
    for text in [include_str!("../src/read.rs"), include_str!("../src/write.rs")] {
        let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code = code.join("\n");
        assert!(!code.contains("','") && !code.contains("'\"'"), "{code}");
    }
}
