//! Decodes text files, which must be UTF-8, and guesses the encoding of files that are not. Also formats bytes in
//! hexadecimal.

use std::fmt::Write;
use std::str::Utf8Error;

/// Formats bytes in hexadecimal, with two lower-case digits per byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotUtf8 {
    /// The length of the valid UTF-8 prefix, in bytes.
    pub valid_up_to: usize,
    /// A description of the likely encoding, such as `UTF-16` or `binary data`.
    pub looks_like: &'static str,
    /// The likely encoding's name for `iconv`; `None` if converting would not help.
    iconv_name: Option<&'static str>,
}

impl NotUtf8 {
    fn of(bytes: &[u8], error: Utf8Error) -> Self {
        let (looks_like, iconv_name) = match bytes {
            [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => ("UTF-32", Some("UTF-32")),
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => ("UTF-16", Some("UTF-16")),
            _ if bytes.contains(&0) => ("binary data", None),
            _ if error.error_len().is_none() => ("UTF-8 with an incomplete last character", None),
            // Windows-1252 has letters and quotation marks where Latin-1 has control characters.
            _ if bytes.iter().any(|byte| (0x80..=0x9f).contains(byte)) => ("Windows-1252", Some("WINDOWS-1252")),
            _ => ("Latin-1 (ISO 8859-1)", Some("ISO-8859-1")),
        };
        Self { valid_up_to: error.valid_up_to(), looks_like, iconv_name }
    }

    pub fn hint(self) -> String {
        let Self { looks_like, iconv_name, .. } = self;
        let save = match iconv_name {
            Some(name) => format!("save it as UTF-8, e.g. `iconv -f {name} -t UTF-8 <file> > <new file>`"),
            None => "save it as UTF-8 text".to_owned(),
        };
        format!("the file looks like {looks_like}; {save}")
    }
}

/// Decodes UTF-8 and drops the byte order mark.
///
/// # Errors
///
/// Returns an error if `bytes` is not valid UTF-8.
pub fn decode(bytes: &[u8]) -> Result<&str, NotUtf8> {
    let text = std::str::from_utf8(bytes).map_err(|error| NotUtf8::of(bytes, error))?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_utf8_is_named() {
        let utf16 =
            |order: fn(u16) -> [u8; 2]| [0xfeff].into_iter().chain("né".encode_utf16()).flat_map(order).collect();
        let cases: [(Vec<u8>, &str); 7] = [
            (b"caf\xe9 au lait".to_vec(), "Latin-1 (ISO 8859-1)"),
            (b"\x93caf\xe9\x94".to_vec(), "Windows-1252"),
            (utf16(u16::to_le_bytes), "UTF-16"),
            (utf16(u16::to_be_bytes), "UTF-16"),
            (b"\xff\xfe\0\0x\0\0\0".to_vec(), "UTF-32"),
            (b"\x89PNG\r\n\x1a\n\0\0".to_vec(), "binary data"),
            ("café".as_bytes()[..4].to_vec(), "UTF-8 with an incomplete last character"),
        ];
        for (bytes, looks_like) in cases {
            let error = decode(&bytes).unwrap_err();
            assert_eq!(error.looks_like, looks_like, "{bytes:?}");
            assert!(error.hint().contains(looks_like), "{}", error.hint());
        }
        assert_eq!(decode("\u{feff}naïve".as_bytes()), Ok("naïve"));
        assert_eq!(decode(b"a caf\xe9").unwrap_err().valid_up_to, 5);
    }
}
