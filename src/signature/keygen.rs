//! The program `ssh-keygen`.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::{NAMESPACE, Refusal, SignatureError};
use dialectic_base::sanitize::one_line;
use dialectic_engine::access::Environment;
use dialectic_llm::command::{find, searched};

/// What is signed is called like this in the directory of its own in which that happens.
const SIGNED: &str = "record";

/// Why it refuses a signature that was changed, or is one of other bytes. Another reason, such as a kind of key that it
/// does not know, says nothing of the signature.
const DAMAGED: [&[u8]; 3] = [b"incorrect signature", b"invalid format", b"trailing data"];

/// `ssh-keygen`, where it was found.
pub(super) struct Keygen(PathBuf);

impl Keygen {
    /// Looks for it on `PATH`, outside of the working directory.
    ///
    /// # Errors
    /// It is not there.
    pub(super) fn find(environment: &Environment) -> Result<Self, SignatureError> {
        let here: Vec<PathBuf> = std::env::current_dir().into_iter().collect();
        let directories = environment.get("PATH").map(|path| searched(path, &here)).unwrap_or_default();
        find("ssh-keygen", &directories).map(Self).map_err(|_| SignatureError::NoProgram)
    }

    /// Signs `bytes`. It may ask the user for a passphrase or to touch a key, and says itself why it does not sign.
    ///
    /// # Errors
    /// It cannot be run, or does not sign.
    pub(super) fn sign(&self, key: &Path, bytes: &[u8]) -> Result<Vec<u8>, SignatureError> {
        let place = place()?;
        let file = place.path().join(SIGNED);
        fs::write(&file, bytes).map_err(SignatureError::Program)?;
        let mut command = Command::new(&self.0);
        command.args(["-q", "-Y", "sign", "-n", NAMESPACE, "-f"]).arg(key).arg(&file).stdout(Stdio::null());
        let status = command.status().map_err(SignatureError::Program)?;
        let signature = fs::read(file.with_added_extension("sig")).ok().filter(|_| status.success());
        signature.ok_or_else(|| SignatureError::NotSigned { key: key.to_owned() })
    }

    /// Whether `signature` is one of `bytes`, whosever it is. Only an answer that is known counts: a program that
    /// crashes, or is too old for the question, knows nothing of the signature.
    ///
    /// # Errors
    /// It cannot be run.
    pub(super) fn fits(&self, signature: &[u8], bytes: &[u8]) -> Result<Fit, SignatureError> {
        let place = Files::of(&[("signature", signature)])?;
        let of = ["-Y", "check-novalidate", "-n", NAMESPACE, "-s"].map(OsStr::new);
        let answer = self.ask(&[&of[..], &[place.path("signature").as_os_str()]].concat(), bytes)?;
        Ok(if is_good(&answer) {
            Fit::Fits
        } else if refuses(&answer, b"Could not verify signature") && DAMAGED.iter().any(|why| refuses(&answer, why)) {
            Fit::Altered
        } else {
            Fit::Unknown(described(&answer))
        })
    }

    /// Who of `signers` made `signature` of `bytes`.
    ///
    /// # Errors
    /// It cannot be run.
    pub(super) fn signers(
        &self,
        signature: &[u8],
        bytes: &[u8],
        signers: &[u8],
    ) -> Result<Result<Vec<String>, Refusal>, SignatureError> {
        let place = Files::of(&[("signature", signature), ("signers", signers)])?;
        let (signature, signers) = (place.path("signature"), place.path("signers"));
        let files = [OsStr::new("-s"), signature.as_os_str(), OsStr::new("-f"), signers.as_os_str()];
        let found = self.ask(&[&["-Y", "find-principals"].map(OsStr::new)[..], &files].concat(), b"")?;
        if !found.status.success() {
            let is_known = refuses(&found, b"No principal matched");
            return Ok(Err(if is_known { Refusal::UnknownSigner { said: None } } else { unclear(&found) }));
        }
        let mut said = None;
        let mut signed_by = Vec::new();
        for principal in String::from_utf8_lossy(&found.stdout).lines().filter(|line| !line.is_empty()) {
            let who = ["-Y", "verify", "-n", NAMESPACE, "-I", principal].map(OsStr::new);
            let verified = self.ask(&[&who[..], &files].concat(), bytes)?;
            if is_good(&verified) {
                signed_by.push(principal.to_owned());
            } else if refuses(&verified, b"Could not verify signature") {
                said = first_line(&verified.stderr);
            } else {
                return Ok(Err(unclear(&verified)));
            }
        }
        Ok(if signed_by.is_empty() { Err(Refusal::UnknownSigner { said }) } else { Ok(signed_by) })
    }

    /// Runs it with `input`, without a word to the user.
    fn ask(&self, arguments: &[&OsStr], input: &[u8]) -> Result<Output, SignatureError> {
        let mut command = Command::new(&self.0);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(SignatureError::Program)?;
        // It may have refused before it read any of this.
        drop(child.stdin.take().map(|mut stdin| stdin.write_all(input)));
        child.wait_with_output().map_err(SignatureError::Program)
    }
}

/// What `ssh-keygen` says of a signature and bytes.
pub(super) enum Fit {
    /// It is the signature of these bytes.
    Fits,
    /// It is the signature of other bytes.
    Altered,
    /// Something else, and this is how it ended.
    Unknown(String),
}

/// Whether it says that a signature for records is good. That it ends well is not enough: another program of this
/// name may do so.
fn is_good(answer: &Output) -> bool {
    answer.status.success() && answer.stdout.starts_with(format!("Good \"{NAMESPACE}\" signature ").as_bytes())
}

/// Whether it failed and says `why`.
fn refuses(answer: &Output, why: &[u8]) -> bool {
    let says = |text: &[u8]| text.windows(why.len()).any(|part| part == why);
    !answer.status.success() && (says(&answer.stderr) || says(&answer.stdout))
}

fn unclear(answer: &Output) -> Refusal {
    Refusal::Unclear { said: described(answer) }
}

/// Its first words, or how it ended.
fn described(answer: &Output) -> String {
    first_line(&answer.stderr)
        .or_else(|| first_line(&answer.stdout))
        .unwrap_or_else(|| format!("it said nothing ({})", answer.status))
}

fn first_line(text: &[u8]) -> Option<String> {
    String::from_utf8_lossy(text).lines().map(one_line).find(|line| !line.trim().is_empty())
}

fn place() -> Result<TempDir, SignatureError> {
    tempfile::Builder::new().prefix("dialectic-").tempdir().map_err(SignatureError::Program)
}

/// Files in a directory of their own, so that they stay as they were read, and no name of a stranger's is an argument.
struct Files(TempDir);

impl Files {
    fn of(files: &[(&str, &[u8])]) -> Result<Self, SignatureError> {
        let place = place()?;
        for (name, bytes) in files {
            fs::write(place.path().join(name), bytes).map_err(SignatureError::Program)?;
        }
        Ok(Self(place))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}
