//! Markdown to HTML for the pages. Raw HTML is shown as text, images as their alternative text, and only plain web addresses become links,
//! because reviews contain text of agents. Only the elements that reviews use get tags; all others show their text.

use pulldown_cmark::{BlockQuoteKind, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

pub(crate) fn escape(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
        out
    })
}

pub(crate) fn render(text: &str) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | Options::ENABLE_GFM;
    let (mut out, mut in_diff) = (String::new(), false);
    for event in Parser::new_ext(text, options) {
        match &event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => in_diff = language.as_ref() == "diff",
            Event::End(TagEnd::CodeBlock) => in_diff = false,
            _ => {}
        }
        match event {
            Event::Text(text) if in_diff => out.push_str(&diff(&text)),
            Event::Start(tag) => open(&mut out, &tag),
            Event::End(tag) => close(&mut out, tag),
            // Elements that reviews fold their evidence with; without attributes they are harmless.
            Event::Html(html) | Event::InlineHtml(html) => folds(&mut out, &html),
            Event::Text(text) | Event::InlineMath(text) | Event::DisplayMath(text) => out.push_str(&escape(&text)),
            Event::Code(code) => out.push_str(&format!("<code>{}</code>", escape(&code))),
            Event::FootnoteReference(name) => out.push_str(&escape(&name)),
            // A single line break in a comment is kept, as on a real forge.
            Event::SoftBreak | Event::HardBreak => out.push_str("<br>\n"),
            Event::Rule => out.push_str("<hr>"),
            Event::TaskListMarker(done) => out.push_str(if done { "☑ " } else { "☐ " }),
        }
    }
    out
}

/// A diff, its added and removed lines marked.
pub(crate) fn diff(text: &str) -> String {
    let line = |line: &str| match line.as_bytes().first() {
        Some(b'+') => format!("<ins>{}</ins>", escape(line)),
        Some(b'-') => format!("<del>{}</del>", escape(line)),
        _ => escape(line),
    };
    text.split_inclusive('\n').map(line).collect()
}

fn alert(kind: BlockQuoteKind) -> &'static str {
    match kind {
        BlockQuoteKind::Note => "Note",
        BlockQuoteKind::Tip => "Tip",
        BlockQuoteKind::Important => "Important",
        BlockQuoteKind::Warning => "Warning",
        BlockQuoteKind::Caution => "Caution",
    }
}

fn folds(out: &mut String, html: &str) {
    const KNOWN: [&str; 7] = ["<details>", "</details>", "<summary>", "</summary>", "<br>", "<sub>", "</sub>"];
    let mut rest = html;
    while !rest.is_empty() {
        if let Some(tag) = KNOWN.iter().find(|t| rest.starts_with(**t)) {
            out.push_str(tag);
            rest = &rest[tag.len()..];
            continue;
        }
        // HTML comments are not shown, as on a real forge.
        if let Some(end) = rest.strip_prefix("<!--").and_then(|r| r.find("-->")) {
            rest = &rest[end + 7..];
            continue;
        }
        let next = rest.char_indices().skip(1).find(|(_, c)| *c == '<').map_or(rest.len(), |(at, _)| at);
        out.push_str(&escape(&rest[..next]));
        rest = &rest[next..];
    }
}

/// A plain web address or anchor; none for any other target.
fn target(url: &str) -> Option<String> {
    (url.starts_with("https://") || url.starts_with("http://") || url.starts_with('#')).then(|| escape(url))
}

fn open(out: &mut String, tag: &Tag) {
    match tag {
        Tag::Paragraph => out.push_str("<p>"),
        Tag::Heading { level, .. } => out.push_str(&format!("<{level}>")),
        Tag::BlockQuote(None) => out.push_str("<blockquote>"),
        Tag::BlockQuote(Some(kind)) => out.push_str(&format!("<blockquote><b>{}</b>", alert(*kind))),
        Tag::CodeBlock(_) => out.push_str("<pre>"),
        Tag::List(Some(start)) => out.push_str(&format!("<ol start={start}>")),
        Tag::List(None) => out.push_str("<ul>"),
        Tag::Item => out.push_str("<li>"),
        Tag::Table(_) => out.push_str("<table>"),
        Tag::TableHead => out.push_str("<thead><tr>"),
        Tag::TableRow => out.push_str("<tr>"),
        Tag::TableCell => out.push_str("<td>"),
        Tag::Emphasis => out.push_str("<em>"),
        Tag::Strong => out.push_str("<strong>"),
        Tag::Strikethrough => out.push_str("<del>"),
        Tag::Link { dest_url, .. } => match target(dest_url) {
            Some(url) => out.push_str(&format!("<a rel=\"noopener noreferrer nofollow\" href=\"{url}\">")),
            None => out.push_str("<a>"),
        },
        _ => {}
    }
}

fn close(out: &mut String, tag: TagEnd) {
    match tag {
        TagEnd::Paragraph => out.push_str("</p>\n"),
        TagEnd::Heading(level) => out.push_str(&format!("</{level}>\n")),
        TagEnd::BlockQuote(_) => out.push_str("</blockquote>\n"),
        TagEnd::CodeBlock => out.push_str("</pre>\n"),
        TagEnd::List(true) => out.push_str("</ol>\n"),
        TagEnd::List(false) => out.push_str("</ul>\n"),
        TagEnd::Item => out.push_str("</li>\n"),
        TagEnd::Table => out.push_str("</table>\n"),
        TagEnd::TableHead => out.push_str("</tr></thead>\n"),
        TagEnd::TableRow => out.push_str("</tr>\n"),
        TagEnd::TableCell => out.push_str("</td>"),
        TagEnd::Emphasis => out.push_str("</em>"),
        TagEnd::Strong => out.push_str("</strong>"),
        TagEnd::Strikethrough => out.push_str("</del>"),
        TagEnd::Link => out.push_str("</a>"),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_html_images_and_strange_links_do_nothing() {
        let html =
            render("a <script>x</script> <img src=x> ![b](http://x/i.png) [c](javascript:x)\n\n<script>y</script>");
        assert!(!html.contains("<script") && !html.contains("<img") && !html.contains("javascript:"), "{html}");
        assert!(html.contains("&lt;script&gt;") && html.contains("<a>c</a>"), "{html}");
        assert!(!render("<details open onclick=x>").contains("<details"));
    }

    #[test]
    fn what_a_review_uses_is_shown() {
        let html = render(
            "## Title\n\n| a | b |\n|---|---|\n| 1 | `x<y` |\n\none\ntwo\n\n```diff\n-a\n+<b>\n```\n\n> [!WARNING]\n> read\n\n\
             <details>\n<summary>more</summary>\n\ntext\n\n</details>\n\n<sub>foot</sub>\n<!-- mark -->",
        );
        for part in [
            "<h2>Title</h2>",
            "<td>1</td>",
            "<code>x&lt;y</code>",
            "one<br>\ntwo",
            "<del>-a\n</del><ins>+&lt;b&gt;\n</ins>",
            "<b>Warning</b><p>read</p>",
            "<summary>more</summary>",
            "<sub>foot</sub>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
        assert!(!html.contains("mark"));
    }
}
