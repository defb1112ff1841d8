//! The contents of a signature: its key and its purpose.
//!
//! The format is OpenSSH's (`PROTOCOL.sshsig`): Base64 between two lines, containing fields that begin with their
//! length.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use sha2::{Digest as _, Sha256};

const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";
const MAGIC: &[u8] = b"SSHSIG";
const VERSION: u32 = 1;

/// The contents of a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The kind of key, such as `ssh-ed25519`.
    pub kind: String,
    /// The key's fingerprint, as `ssh-keygen -l` prints it.
    pub fingerprint: String,
    /// The purpose for which it was made.
    pub namespace: String,
}

/// It is not an SSH signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not an ssh-keygen signature")]
pub struct NotAnEnvelope;

impl Envelope {
    /// Parses a signature without verifying it.
    ///
    /// # Errors
    /// It is not an SSH signature.
    pub fn read(signature: &[u8]) -> Result<Self, NotAnEnvelope> {
        let read = || {
            let text = std::str::from_utf8(signature).ok()?;
            let armored = text.trim().strip_prefix(BEGIN)?.strip_suffix(END)?;
            let blob = STANDARD.decode(armored.split_whitespace().collect::<String>()).ok()?;
            let (version, mut rest) = blob.strip_prefix(MAGIC)?.split_first_chunk()?;
            if u32::from_be_bytes(*version) != VERSION {
                return None;
            }
            let key = field(&mut rest)?;
            let namespace = text_of(field(&mut rest)?)?;
            let kind = text_of(field(&mut &*key)?)?;
            let fingerprint = format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(key)));
            Some(Self { kind, fingerprint, namespace })
        };
        read().ok_or(NotAnEnvelope)
    }
}

/// The first field of `bytes`, which then begin after it.
fn field<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (field, rest) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    *bytes = rest;
    Some(field)
}

fn text_of(field: &[u8]) -> Option<String> {
    Some(std::str::from_utf8(field).ok()?.to_owned())
}

impl std::fmt::Display for Envelope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind, self.fingerprint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn armored(fields: &[&[u8]], version: u32) -> String {
        let mut blob = [MAGIC, &version.to_be_bytes()].concat();
        for field in fields {
            blob.extend(u32::try_from(field.len()).unwrap().to_be_bytes());
            blob.extend(*field);
        }
        let lines: Vec<String> = STANDARD
            .encode(blob)
            .as_bytes()
            .chunks(70)
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect();
        format!("{BEGIN}\n{}\n{END}\n", lines.join("\n"))
    }

    #[test]
    fn it_says_what_for_and_with_which_key() {
        let key = b"\0\0\0\x0bssh-ed25519\0\0\0\x03key";
        let read = Envelope::read(armored(&[key, b"file", b"", b"sha512", b"signature"], 1).as_bytes()).unwrap();
        assert_eq!((read.kind.as_str(), read.namespace.as_str()), ("ssh-ed25519", "file"));
        assert_eq!((read.fingerprint.len(), &read.fingerprint[..7]), (50, "SHA256:"));
    }

    #[test]
    fn what_is_cut_or_of_another_form_is_refused() {
        let key: &[u8] = b"\0\0\0\x0bssh-ed25519";
        let whole = armored(&[key, b"file"], 1);
        assert!(Envelope::read(whole.as_bytes()).is_ok());
        for length in 0..whole.trim_end().len() {
            assert_eq!(Envelope::read(&whole.as_bytes()[..length]), Err(NotAnEnvelope), "{length}");
        }
        let longer: &[u8] = b"\xff\xff\xff\xffssh";
        for other in [armored(&[key, b"file"], 2), armored(&[key], 1), armored(&[longer, b"file"], 1), armored(&[], 1)]
        {
            assert_eq!(Envelope::read(other.as_bytes()), Err(NotAnEnvelope));
        }
        assert_eq!(Envelope::read(b"\xff"), Err(NotAnEnvelope));
    }
}
