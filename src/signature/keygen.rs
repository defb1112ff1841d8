//! The program `ssh-keygen`.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::{NAMESPACE, Refusal, Stop, not_signed};
use crate::error::UserError;
use dialectic_base::diagnostic::ErrorCategory;
use dialectic_base::sanitize::one_line;
use dialectic_engine::access::Environment;
use dialectic_llm::command::{find, searched};

/// The name of the signed file in its temporary directory.
const SIGNED: &str = "record";

/// The reasons of `ssh-keygen` for a damaged signature or one of other bytes. Other reasons, such as an unknown kind of
/// key, say nothing about the signature.
const DAMAGED: [&[u8]; 7] = [
    b"incorrect signature",
    b"invalid format",
    b"incomplete message",
    b"string is too large",
    b"unexpected bytes remain after decoding",
    b"key type does not match",
    b"trailing data",
];

/// The path of `ssh-keygen`.
pub(super) struct Keygen(PathBuf);

impl Keygen {
    /// Searches `PATH`, except the working directory, for `ssh-keygen`.
    pub(super) fn find(environment: &Environment) -> Option<Self> {
        let here: Vec<PathBuf> = std::env::current_dir().into_iter().collect();
        let directories = environment.get("PATH").map(|path| searched(path, &here)).unwrap_or_default();
        find("ssh-keygen", &directories).map(Self).ok()
    }

    /// Signs `bytes`. `ssh-keygen` may ask the user for a passphrase or a touch, and prints why it does not sign.
    ///
    /// # Errors
    /// It cannot be run, or does not sign.
    pub(super) fn sign(&self, key: &Path, bytes: &[u8]) -> Result<Vec<u8>, UserError> {
        let place = place()?;
        let file = place.path().join(SIGNED);
        fs::write(&file, bytes).map_err(not_run)?;
        let mut command = Command::new(&self.0);
        command.args(["-q", "-Y", "sign", "-n", NAMESPACE, "-f"]).arg(key).arg(&file).stdout(Stdio::null());
        let status = command.status().map_err(not_run)?;
        let signature = fs::read(file.with_added_extension("sig")).ok().filter(|_| status.success());
        signature.ok_or_else(|| not_signed(key))
    }

    /// Checks that `signature` is a valid signature of `bytes`, read from `path`, by any key. Only known answers count: a
    /// program that crashes, or is too old, does not judge the signature.
    ///
    /// # Errors
    /// It is not, or the program cannot be run.
    pub(super) fn check_fit(&self, signature: &[u8], bytes: &[u8], path: &Path) -> Result<(), Stop> {
        let place = Files::of(&[("signature", signature)])?;
        let of = ["-Y", "check-novalidate", "-n", NAMESPACE, "-s"].map(OsStr::new);
        let answer = self.ask(&[&of[..], &[place.path("signature").as_os_str()]].concat(), bytes)?;
        if is_good(&answer) {
            Ok(())
        } else if refuses(&answer, b"Could not verify signature") && DAMAGED.iter().any(|why| refuses(&answer, why)) {
            Err(Refusal::Altered(path.to_owned()).into())
        } else {
            Err(unclear(&answer).into())
        }
    }

    /// The `signers` who signed `bytes` with `signature`.
    ///
    /// # Errors
    /// None did, or the program cannot be run.
    pub(super) fn signers(&self, signature: &[u8], bytes: &[u8], signers: &[u8]) -> Result<Vec<String>, Stop> {
        let place = Files::of(&[("signature", signature), ("signers", signers)])?;
        let (signature, signers) = (place.path("signature"), place.path("signers"));
        let files = [OsStr::new("-s"), signature.as_os_str(), OsStr::new("-f"), signers.as_os_str()];
        let found = self.ask(&[&["-Y", "find-principals"].map(OsStr::new)[..], &files].concat(), b"")?;
        if !found.status.success() {
            let is_known = refuses(&found, b"No principal matched");
            return Err(if is_known { Refusal::UnknownSigner(None) } else { unclear(&found) }.into());
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
                return Err(unclear(&verified).into());
            }
        }
        if signed_by.is_empty() { Err(Refusal::UnknownSigner(said).into()) } else { Ok(signed_by) }
    }

    /// Runs `ssh-keygen` with `input`, silently.
    fn ask(&self, arguments: &[&OsStr], input: &[u8]) -> Result<Output, UserError> {
        let mut command = Command::new(&self.0);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(not_run)?;
        // The program may have failed before it read any of this.
        drop(child.stdin.take().map(|mut stdin| stdin.write_all(input)));
        child.wait_with_output().map_err(not_run)
    }
}

/// The program cannot be started, or its input cannot be written.
fn not_run(source: std::io::Error) -> UserError {
    UserError::of(ErrorCategory::General, "cannot run ssh-keygen").with_source(source)
}

/// Whether the output confirms a signature for records. A successful exit is not enough: another program of this name
/// may succeed too.
fn is_good(answer: &Output) -> bool {
    answer.status.success() && answer.stdout.starts_with(format!("Good \"{NAMESPACE}\" signature ").as_bytes())
}

/// Whether it failed with the message `why`.
fn refuses(answer: &Output, why: &[u8]) -> bool {
    let says = |text: &[u8]| text.windows(why.len()).any(|part| part == why);
    !answer.status.success() && (says(&answer.stderr) || says(&answer.stdout))
}

/// With its first words, or how it ended.
fn unclear(answer: &Output) -> Refusal {
    let said = first_line(&answer.stderr).or_else(|| first_line(&answer.stdout));
    Refusal::Unclear(said.unwrap_or_else(|| format!("it said nothing ({})", answer.status)))
}

fn first_line(text: &[u8]) -> Option<String> {
    String::from_utf8_lossy(text).lines().map(one_line).find(|line| !line.trim().is_empty())
}

fn place() -> Result<TempDir, UserError> {
    tempfile::Builder::new().prefix("dialectic-").tempdir().map_err(not_run)
}

/// Copies in a temporary directory: they cannot change any more, and no foreign file name becomes an argument.
struct Files(TempDir);

impl Files {
    fn of(files: &[(&str, &[u8])]) -> Result<Self, UserError> {
        let place = place()?;
        for (name, bytes) in files {
            fs::write(place.path().join(name), bytes).map_err(not_run)?;
        }
        Ok(Self(place))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}
