//! Pictures in a request: what a wire takes, and how many tokens each is counted as at most.
//!
//! Owns: what a way of counting is, and the one for servers of the operator's own; a vendor's published one stands in its wire's file. Must not:
//! look into a picture. Facts: docs.ollama.com/api/openai-compatibility. Tests: below, for every kind.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A picture as one request holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownPicture {
    /// What stands before it: what it is, and that it is data.
    pub label: String,
    /// SHA-256 of its bytes, in lower-case hex.
    pub digest: String,
    /// Its media type.
    pub media: String,
    /// What it is counted as, at most.
    pub tokens: u64,
    /// Its bytes in base64; none until they are put in, just before the request is sent, and where they are kept no more.
    #[serde(skip)]
    pub data: Option<Arc<str>>,
}

impl ShownPicture {
    /// As an address that holds the picture itself (RFC 2397).
    pub(super) fn address(&self, data: &str) -> String {
        format!("data:{};base64,{data}", self.media)
    }
}

/// One way of counting pictures.
#[derive(Debug, Clone, Copy)]
pub struct Counting {
    /// Whether GIF may be sent.
    pub(super) gif: bool,
    /// The most tokens that a picture of this width and height, in pixels, is counted as.
    pub(super) most: fn(u32, u32) -> u64,
}

/// At a server of the operator's own, whatever model it has: LLaVA's tiles; patches of Qwen's, which are many.
pub(super) const OWN: Counting =
    Counting { gif: true, most: |width, height| parts(28, width, height).clamp(2880, 16_384) };

/// How many squares with sides of so many pixels cover a picture.
pub(super) fn parts(side: u32, width: u32, height: u32) -> u64 {
    u64::from(width.div_ceil(side)) * u64::from(height.div_ceil(side))
}

impl Counting {
    /// Whether a picture of this media type may be sent.
    pub fn takes(self, media: &str) -> bool {
        self.gif || media != "image/gif"
    }

    /// The most tokens that a picture of this size is counted as.
    pub fn tokens(self, width: u32, height: u32) -> u64 {
        (self.most)(width, height)
    }
}

#[cfg(test)]
mod tests {
    use crate::config::process::ModelKind;
    use crate::llm::counting;

    /// What vendors' servers were seen to count for one picture alone, and patches of 28 pixels where nothing was counted.
    #[test]
    fn no_vendor_counts_more() {
        let openai = [(1024, 1024, 1229), (1920, 1080, 2448), (4032, 3024, 2942)];
        let own = [(336, 336, 576), (672, 672, 2880), (1920, 1080, 2691)];
        let gemini = [(256, 256, 1090), (1920, 1080, 1101), (3840, 2160, 1101)];
        let counted = [
            (ModelKind::Anthropic, false, [(1024, 1024, 1369), (1920, 1080, 2691), (4032, 3024, 3928)]),
            (ModelKind::Anthropic, true, own),
            (ModelKind::Openai, false, openai),
            (ModelKind::Openai, true, own),
            (ModelKind::OpenaiResponses, false, openai),
            (ModelKind::OpenaiResponses, true, own),
            (ModelKind::Gemini, false, gemini),
            (ModelKind::Gemini, true, gemini),
            (ModelKind::Scripted, false, own),
        ];
        for (kind, elsewhere, sizes) in counted {
            for (width, height, tokens) in sizes {
                let most = counting(kind, elsewhere).tokens(width, height);
                assert!(most >= tokens, "{kind:?} {elsewhere} {width}×{height}: {most}");
            }
        }
    }

    #[test]
    fn each_kind_counts_by_its_own_formula() {
        let all = [
            (ModelKind::Anthropic, 4784, 16_384),
            (ModelKind::Openai, 6150, 16_384),
            (ModelKind::OpenaiResponses, 6150, 16_384),
            (ModelKind::Gemini, 31_218, 31_218),
            (ModelKind::Scripted, 16_384, 16_384),
        ];
        for (kind, own, elsewhere) in all {
            let most = [false, true].map(|at| counting(kind, at).tokens(8000, 8000));
            assert_eq!(most, [own, elsewhere], "{kind:?}");
        }
    }

    #[test]
    fn gemini_takes_no_gif() {
        let takes = |kind, media| [false, true].map(|elsewhere| counting(kind, elsewhere).takes(media));
        assert_eq!(takes(ModelKind::Gemini, "image/gif"), [false; 2]);
        assert_eq!(takes(ModelKind::Gemini, "image/webp"), [true; 2]);
        for kind in [ModelKind::Anthropic, ModelKind::Openai, ModelKind::OpenaiResponses, ModelKind::Scripted] {
            assert_eq!(takes(kind, "image/gif"), [true; 2], "{kind:?}");
        }
    }
}
