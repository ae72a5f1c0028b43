//! Converts a body to text that a model can read.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use htmd::HtmlToMarkdown;

/// How many bytes of a page may name its encoding, as the HTML standard says.
const NAMES_ENCODING: usize = 1024;

/// Elements without text for a reader.
const SKIPPED: [&str; 8] = ["script", "style", "noscript", "svg", "iframe", "template", "head", "canvas"];

/// `content_type` is the server's header.
pub fn text(content_type: &str, body: &[u8]) -> String {
    let content_type = content_type.to_ascii_lowercase();
    let kind = content_type.split(';').next().unwrap_or("").trim();
    if kind == "text/html" || kind == "application/xhtml+xml" || (kind.is_empty() && looks_like_html(body)) {
        return markdown(&decode(in_header(&content_type).or_else(|| in_page(body)), body));
    }
    let is_text = kind.starts_with("text/")
        || ["json", "xml", "javascript", "yaml", "toml", "x-sh"].iter().any(|word| kind.ends_with(word))
        || kind.is_empty();
    let decoded = if is_text { decode(in_header(&content_type), body) } else { String::new() };
    if is_text && !decoded.contains('\0') {
        return decoded;
    }
    format!("[not text: {} bytes of {}]", body.len(), if kind.is_empty() { "an unknown type" } else { kind })
}

fn looks_like_html(body: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&body[..body.len().min(512)]).trim_start().to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// By its byte order mark, else by what was declared, else as UTF-8; what is invalid shows as replacement characters.
fn decode(declared: Option<&'static Encoding>, body: &[u8]) -> String {
    declared.unwrap_or(UTF_8).decode(body).0.into_owned()
}

/// The encoding that the header names, in lower case.
fn in_header(content_type: &str) -> Option<&'static Encoding> {
    let named = |part: &str| part.trim().strip_prefix("charset")?.trim_start().strip_prefix('=').map(str::to_owned);
    let label = content_type.split(';').skip(1).find_map(named)?;
    Encoding::for_label(label.trim().trim_matches(['"', '\'']).as_bytes())
}

/// The encoding that a page names at its beginning. One that is read as ASCII there is not UTF-16, whatever it says.
fn in_page(body: &[u8]) -> Option<&'static Encoding> {
    let start: String = body.iter().take(NAMES_ENCODING).map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    let encoding = without_comments(&start).split("<meta").skip(1).find_map(in_meta)?;
    Some(match encoding {
        it if it == UTF_16BE || it == UTF_16LE => UTF_8,
        it if it == X_USER_DEFINED => WINDOWS_1252,
        it => it,
    })
}

/// The encoding in what stands behind `<meta`: of an attribute of its own, or within the content type that the element stands for.
fn in_meta(behind: &str) -> Option<&'static Encoding> {
    let tag = behind.split('>').next().filter(|tag| tag.starts_with(|c: char| c.is_ascii_whitespace() || c == '/'))?;
    if tag.contains("content") && !tag.contains("content-type") {
        return None;
    }
    let value = |at: usize| tag[at + "charset".len()..].trim_start().strip_prefix('=');
    let value = tag.match_indices("charset").find_map(|(at, _)| value(at))?.trim_start();
    let ends = |c: char| matches!(c, '"' | '\'' | ';' | '/') || c.is_ascii_whitespace();
    Encoding::for_label(value.trim_start_matches(['"', '\'']).split(ends).next()?.as_bytes())
}

fn without_comments(html: &str) -> String {
    let mut parts = html.split("<!--");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once("-->").map_or("", |(_, behind)| behind))
}

fn markdown(html: &str) -> String {
    let converter = HtmlToMarkdown::builder().skip_tags(SKIPPED.to_vec()).build();
    converter.convert(html).unwrap_or_else(|error| format!("[the page could not be converted: {error}]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_becomes_markdown_without_its_scripts() {
        let html = b"<html><head><title>t</title><style>x{}</style></head><body><h1>Hi</h1><p>a <b>b</b> <a href=\"/c\">c</a></p><script>evil()</script></body></html>";
        assert_eq!(text("text/html; charset=utf-8", html), "# Hi\n\na **b** [c](/c)");
        assert_eq!(text("", html), "# Hi\n\na **b** [c](/c)");
    }

    #[test]
    fn other_text_stays_and_the_rest_is_named() {
        assert_eq!(text("application/json", b"{\"a\":1}"), "{\"a\":1}");
        assert_eq!(text("text/plain; charset=iso-8859-1", b"caf\xe9"), "caf\u{e9}");
        assert_eq!(text("image/png", &[0; 7]), "[not text: 7 bytes of image/png]");
        assert_eq!(text("text/plain", b"a\0b"), "[not text: 3 bytes of text/plain]");
    }

    #[test]
    fn a_page_is_read_in_the_encoding_of_its_mark_its_header_or_its_own_words() {
        let russian = b"\xcf\xf0\xe8\xe2\xe5\xf2";
        assert_eq!(text("text/plain; charset=\"Windows-1251\"", russian), "Привет");
        assert_eq!(text("text/plain; charset=Shift_JIS", b"\x93\xfa\x96\x7b"), "日本");
        assert_eq!(text("text/plain; charset=windows-1252", b"\x80 5"), "€ 5");
        assert_eq!(text("text/plain; charset=utf-16le", b"h\0i\0"), "hi");
        assert_eq!(text("text/plain; charset=windows-1251", b"\xef\xbb\xbfcaf\xc3\xa9"), "café", "the mark counts");
        assert_eq!(text("text/plain; charset=none-such", "né".as_bytes()), "né");
        let page = |head: &str| [format!("<html><head>{head}</head><p>").as_bytes(), russian].concat();
        for head in [
            "<meta charset=windows-1251>",
            "<META http-equiv='Content-Type' content='text/html; charset=windows-1251'/>",
            "<!-- <meta charset=utf-8> --><meta name=description content=charset=utf-8><meta charset = \"cp1251\">",
        ] {
            assert_eq!(text("text/html", &page(head)), "Привет", "{head}");
        }
        let says_latin = "<meta charset=iso-8859-1>";
        assert_eq!(text("text/html; charset=windows-1251", &page(says_latin)), "Привет", "the header counts");
        let late = format!("{}<meta charset=windows-1251>", " ".repeat(NAMES_ENCODING));
        assert!(text("text/html", &page(&late)).contains(char::REPLACEMENT_CHARACTER));
        let ascii = "<html><meta charset=utf-16><p>né";
        assert_eq!(text("text/html", ascii.as_bytes()), "né");
    }
}
