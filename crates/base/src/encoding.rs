//! Reads the user's text files, which must be UTF-8, and guesses the encoding of others. Also hexadecimal.

use std::fmt::{self, Write};

/// Bytes in hexadecimal, two digits each.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A file that is not UTF-8, and its likely encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotUtf8 {
    /// The number of valid UTF-8 bytes at its beginning.
    pub valid_up_to: usize,
    pub seems: Encoding,
}

/// The likely encoding of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8 whose last character is incomplete.
    Cut,
    /// It starts with a UTF-16 byte order mark.
    Utf16,
    /// It starts with a UTF-32 byte order mark.
    Utf32,
    /// One byte per character, with Windows letters and quotes in 0x80 to 0x9f.
    Windows1252,
    /// One byte per character.
    Latin1,
    /// It is not text.
    Binary,
}

impl Encoding {
    fn of(bytes: &[u8], is_cut: bool) -> Self {
        match bytes {
            [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Self::Utf32,
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Self::Utf16,
            _ if bytes.contains(&0) => Self::Binary,
            _ if is_cut => Self::Cut,
            _ if bytes.iter().any(|byte| (0x80..=0x9f).contains(byte)) => Self::Windows1252,
            _ => Self::Latin1,
        }
    }

    /// The name that `iconv` and editors use.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Utf16 => Some("UTF-16"),
            Self::Utf32 => Some("UTF-32"),
            Self::Windows1252 => Some("WINDOWS-1252"),
            Self::Latin1 => Some("ISO-8859-1"),
            Self::Cut | Self::Binary => None,
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cut => "UTF-8 with an incomplete last character",
            Self::Utf16 => "UTF-16",
            Self::Utf32 => "UTF-32",
            Self::Windows1252 => "Windows-1252",
            Self::Latin1 => "Latin-1 (ISO 8859-1)",
            Self::Binary => "not text",
        })
    }
}

impl NotUtf8 {
    /// How the user can fix it.
    pub fn hint(self) -> String {
        match self.seems.name() {
            Some(name) => format!(
                "the file looks like {}: save it as UTF-8, e.g. `iconv -f {name} -t UTF-8 <file> > <new file>`",
                self.seems
            ),
            None => format!("the file looks like {}: save it as UTF-8 text", self.seems),
        }
    }
}

/// The text of a file, without byte order mark.
///
/// # Errors
///
/// The file is not UTF-8.
pub fn decode(bytes: &[u8]) -> Result<&str, NotUtf8> {
    let text = std::str::from_utf8(bytes).map_err(|error| NotUtf8 {
        valid_up_to: error.valid_up_to(),
        seems: Encoding::of(bytes, error.error_len().is_none()),
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_utf8_is_named() {
        let utf16 =
            |order: fn(u16) -> [u8; 2]| [0xfeff].into_iter().chain("né".encode_utf16()).flat_map(order).collect();
        let cases: [(Vec<u8>, Encoding); 7] = [
            (b"caf\xe9 au lait".to_vec(), Encoding::Latin1),
            (b"\x93caf\xe9\x94".to_vec(), Encoding::Windows1252),
            (utf16(u16::to_le_bytes), Encoding::Utf16),
            (utf16(u16::to_be_bytes), Encoding::Utf16),
            (b"\xff\xfe\0\0x\0\0\0".to_vec(), Encoding::Utf32),
            (b"\x89PNG\r\n\x1a\n\0\0".to_vec(), Encoding::Binary),
            ("café".as_bytes()[..4].to_vec(), Encoding::Cut),
        ];
        for (bytes, seems) in cases {
            let error = decode(&bytes).unwrap_err();
            assert_eq!(error.seems, seems, "{bytes:?}");
            assert!(error.hint().contains(&seems.to_string()), "{}", error.hint());
        }
        assert_eq!(decode("\u{feff}naïve".as_bytes()), Ok("naïve"));
        assert_eq!(decode(b"a caf\xe9").unwrap_err().valid_up_to, 5);
    }
}
