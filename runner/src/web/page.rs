//! Converts a body to text that a model can read.

use htmd::HtmlToMarkdown;

/// Elements without text for a reader.
const SKIPPED: [&str; 8] = ["script", "style", "noscript", "svg", "iframe", "template", "head", "canvas"];

/// `content_type` is the server's header.
pub fn text(content_type: &str, body: &[u8]) -> String {
    let content_type = content_type.to_ascii_lowercase();
    let kind = content_type.split(';').next().unwrap_or("").trim();
    if kind == "text/html" || kind == "application/xhtml+xml" || (kind.is_empty() && looks_like_html(body)) {
        return markdown(&decode(&content_type, body));
    }
    let is_text = kind.starts_with("text/")
        || ["json", "xml", "javascript", "yaml", "toml", "x-sh"].iter().any(|word| kind.ends_with(word))
        || kind.is_empty();
    if is_text && !body.contains(&0) {
        return decode(&content_type, body);
    }
    format!("[not text: {} bytes of {}]", body.len(), if kind.is_empty() { "an unknown type" } else { kind })
}

fn looks_like_html(body: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&body[..body.len().min(512)]).trim_start().to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

/// UTF-8, or the encodings that Western servers still use; other bytes show as replacement characters.
fn decode(content_type: &str, body: &[u8]) -> String {
    let latin = ["iso-8859-1", "windows-1252", "latin1"].iter().any(|name| content_type.contains(name));
    if latin && std::str::from_utf8(body).is_err() {
        return body.iter().map(|&byte| char::from(byte)).collect();
    }
    String::from_utf8_lossy(body).into_owned()
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
}
