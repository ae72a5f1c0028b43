//! Pictures in a request: what a wire takes, and how many tokens each is counted as at most.
//!
//! Owns: the vendors' published ways of counting. Must not: look into a picture. Facts: platform.claude.com/docs/en/build-with-claude/vision (sizes,
//! patches of 28 pixels, at most 4,784), developers.openai.com/api/docs/guides/images-vision (tiles and patches), ai.google.dev/gemini-api/docs/tokens
//! and docs.cloud.google.com (258 for each tile of 768 pixels, 1,120 for Gemini 3; no GIF), docs.ollama.com/api/openai-compatibility. Tests: below.

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

/// Whose way of counting holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// Anthropic's.
    Anthropic,
    /// OpenAI's own, where `detail` is `high`.
    OpenAi,
    /// Google's.
    Gemini,
    /// A server of the operator's own, whatever model it has.
    Own,
}

impl Counting {
    /// Whether a picture of this media type may be sent.
    pub fn takes(self, media: &str) -> bool {
        match self {
            Counting::Gemini => media != "image/gif",
            Counting::Anthropic | Counting::OpenAi | Counting::Own => true,
        }
    }

    /// The most tokens that a picture of this size is counted as.
    pub fn tokens(self, width: u32, height: u32) -> u64 {
        let parts = |side: u32| u64::from(width.div_ceil(side)) * u64::from(height.div_ceil(side));
        match self {
            Counting::Anthropic => parts(28).max((u64::from(width) * u64::from(height)).div_ceil(750)).min(4784),
            // The most that tiles come to, and patches at the dearest factor.
            Counting::OpenAi => (parts(32).min(2500) * 246).div_ceil(100).max(85 + 8 * 170),
            Counting::Gemini => (parts(768) * 258).max(1120),
            // LLaVA's tiles; patches of Qwen's, which are many.
            Counting::Own => parts(28).clamp(2880, 16_384),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Counting;

    /// What vendors' servers were seen to count for one picture alone, and patches of 28 pixels where nothing was counted.
    #[test]
    fn no_vendor_counts_more() {
        let counted = [
            (Counting::Anthropic, [(1024, 1024, 1369), (1920, 1080, 2691), (4032, 3024, 3928)]),
            (Counting::OpenAi, [(1024, 1024, 1229), (1920, 1080, 2448), (4032, 3024, 2942)]),
            (Counting::Gemini, [(256, 256, 1090), (1920, 1080, 1101), (3840, 2160, 1101)]),
            (Counting::Own, [(336, 336, 576), (672, 672, 2880), (1920, 1080, 2691)]),
        ];
        for (counting, sizes) in counted {
            for (width, height, tokens) in sizes {
                let most = counting.tokens(width, height);
                assert!(most >= tokens, "{counting:?} {width}×{height}: {most}");
            }
        }
        assert_eq!(Counting::Anthropic.tokens(8000, 8000), 4784);
    }

    #[test]
    fn gemini_takes_no_gif() {
        assert!(!Counting::Gemini.takes("image/gif") && Counting::Gemini.takes("image/webp"));
        assert!(Counting::Anthropic.takes("image/gif"));
    }
}
