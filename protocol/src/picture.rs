//! Format and size of a picture, read from its first bytes.
//!
//! Owns the headers of the four formats that models accept. Must not decode a picture, nor trust a file name.
//! Formats: PNG (w3.org/TR/png, 5.2 and 11.2.1), GIF 89a (w3.org/Graphics/GIF/spec-gif89a.txt, 17 and 18), JPEG (ITU-T T.81, B.1 and
//! B.2.2), WebP (RFC 9649, 2.4 to 2.7). Tests: below.

use serde::{Deserialize, Serialize};

/// Longest picture that a model is shown, in bytes; as base64 it stays below Anthropic's limit of 5 MB.
pub const MOST_BYTES: u64 = 3 << 20;
/// The most pixels per side; Anthropic refuses larger pictures.
pub const MOST_SIDE: u32 = 8000;

/// Format of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Portable Network Graphics.
    Png,
    /// JPEG.
    Jpeg,
    /// Graphics Interchange Format.
    Gif,
    /// WebP.
    Webp,
}

impl Form {
    /// Its media type.
    pub const fn media(self) -> &'static str {
        match self {
            Form::Png => "image/png",
            Form::Jpeg => "image/jpeg",
            Form::Gif => "image/gif",
            Form::Webp => "image/webp",
        }
    }

    /// Its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Form::Png => "PNG",
            Form::Jpeg => "JPEG",
            Form::Gif => "GIF",
            Form::Webp => "WebP",
        }
    }
}

/// Format and size of a picture, read from its header; the rest may still be undecodable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PictureHeader {
    /// Its format.
    pub form: Form,
    /// Width in pixels, above 0.
    pub width: u32,
    /// Height in pixels, above 0.
    pub height: u32,
}

/// Format and size of these bytes; none if they are no picture of a known format or hold no size.
pub fn recognise(bytes: &[u8]) -> Option<PictureHeader> {
    let (form, size) = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        (Form::Png, png(bytes))
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        (Form::Gif, little(bytes, 6, 2).zip(little(bytes, 8, 2)))
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        (Form::Jpeg, jpeg(bytes))
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        (Form::Webp, webp(bytes))
    } else {
        return None;
    };
    let (width, height) = size.filter(|(width, height)| *width > 0 && *height > 0)?;
    Some(PictureHeader { form, width, height })
}

/// A little-endian number of `count` bytes.
fn little(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    Some(bytes.get(at..at + count)?.iter().rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
}

/// A big-endian number of `count` bytes.
fn big(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    Some(bytes.get(at..at + count)?.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
}

/// The header chunk comes first.
fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    (bytes.get(12..16)? == b"IHDR").then(|| big(bytes, 16, 4).zip(big(bytes, 20, 4)))?
}

/// The first frame header has the size; the segments before it have their lengths.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        let marker = *bytes.get(at + 1)?;
        match marker {
            // Padding before a marker.
            0xff => at += 1,
            // Markers without a length: TEM and restarts.
            0x01 | 0xd0..=0xd7 => at += 2,
            // Frame headers; DHT, JPG and DAC have markers in the same range.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return big(bytes, at + 7, 2).zip(big(bytes, at + 5, 2));
            }
            // The picture's end or its data before any frame header.
            0x00 | 0xd8..=0xda => return None,
            _ => {
                let length = big(bytes, at + 2, 2)? as usize;
                if length < 2 {
                    return None;
                }
                at += 2 + length;
            }
        }
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        // The size follows the frame tag and the start code; the two upper bits are scaling.
        b"VP8 " if bytes.get(23..26)? == [0x9d, 0x01, 0x2a] => {
            Some((little(bytes, 26, 2)? & 0x3fff, little(bytes, 28, 2)? & 0x3fff))
        }
        // A signature of one byte, then width and height, each 14 bits less one.
        b"VP8L" if *bytes.get(20)? == 0x2f => {
            let bits = little(bytes, 21, 4)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(bytes: &[u8]) -> Option<(Form, u32, u32)> {
        recognise(bytes).map(|seen| (seen.form, seen.width, seen.height))
    }

    fn chunk(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
        [b"RIFF\0\0\0\0WEBP".as_slice(), name, &[0; 4], body].concat()
    }

    #[test]
    fn each_form_says_its_size() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x02\x80\0\0\x01\xe0\x08\x02";
        assert_eq!(seen(png), Some((Form::Png, 640, 480)));
        assert_eq!(seen(b"GIF89a\x80\x02\xe0\x01"), Some((Form::Gif, 640, 480)));
        // JFIF, a table, and a progressive frame header.
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc4\0\x03x\xff\xc2\0\x0b\x08\x01\xe0\x02\x80\x03";
        assert_eq!(seen(jpeg), Some((Form::Jpeg, 640, 480)));
        let lossy = chunk(b"VP8 ", b"\x10\x20\x30\x9d\x01\x2a\x80\x42\xe0\x01");
        assert_eq!(seen(&lossy), Some((Form::Webp, 640, 480)));
        let bits = (639_u32 | 479 << 14).to_le_bytes();
        assert_eq!(seen(&chunk(b"VP8L", &[&[0x2f], bits.as_slice()].concat())), Some((Form::Webp, 640, 480)));
        assert_eq!(seen(&chunk(b"VP8X", b"\0\0\0\0\x7f\x02\0\xdf\x01\0")), Some((Form::Webp, 640, 480)));
    }

    #[test]
    fn what_is_no_picture_or_says_no_size_is_none() {
        for bytes in [
            b"".as_slice(),
            b"<svg xmlns='http://www.w3.org/2000/svg'/>",
            b"\x89PNG\r\n\x1a\n",
            b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\0\0\0\x01\xe0",
            b"GIF89a\x80\x02",
            b"\xff\xd8\xff\xd9",
            b"\xff\xd8\xff\xe0\0\0\0\0",
            b"\xff\xd8\xff\xe0\xff\xff",
            b"\xff\xd8\xff\xda\0\x04ab\xff\xc0\0\x0b\x08\x01\xe0\x02\x80\x03",
        ] {
            assert_eq!(seen(bytes), None, "{bytes:?}");
        }
        assert_eq!(seen(&chunk(b"ANIM", &[0; 20])), None);
    }

    #[test]
    fn every_beginning_of_a_picture_can_be_looked_at() {
        let whole = [
            b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc4\0\x03x\xff\xc2\0\x0b\x08\x01\xe0\x02\x80\x03".to_vec(),
            chunk(b"VP8X", b"\0\0\0\0\x7f\x02\0\xdf\x01\0"),
        ];
        for bytes in whole {
            let sized = (0..=bytes.len()).filter(|end| recognise(&bytes[..*end]).is_some()).count();
            assert!((1..bytes.len()).contains(&sized));
        }
    }
}
