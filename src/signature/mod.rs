//! Signatures of records, made and checked with `ssh-keygen -Y`. They cover the [`Statement`] about a journal.

mod envelope;
mod keygen;

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use crate::error::{Error, UserError};
use dialectic_base::diagnostic::ErrorCategory;
use dialectic_engine::access::Environment;
use dialectic_record::store::{Entry, Readers, Statement, StatementFault, VerifiedRecord, write_atomically};

pub use envelope::{Envelope, NotAnEnvelope};
use keygen::Keygen;

/// The namespace of record signatures. Signatures with another namespace are rejected.
pub const NAMESPACE: &str = "dialectic-record@v1";

/// The keys to try, in this order, if none is named; `ssh` tries the same ones.
const USUAL_KEYS: [&str; 5] = ["id_ed25519", "id_ecdsa", "id_rsa", "id_ed25519_sk", "id_ecdsa_sk"];
/// The maximum number of bytes of a statement or a signature; a larger file is neither.
const MOST_BYTES: u64 = 64 * 1024;

/// Signs all lines of an undamaged record and replaces an earlier signature. `ssh-keygen` may ask for a passphrase.
///
/// # Errors
/// There is no key or no program, the program refuses, or a file cannot be written. In the last case an earlier
/// signature may be lost.
pub fn sign(
    entry: &Entry,
    record: &VerifiedRecord,
    key: Option<&Path>,
    environment: &Environment,
) -> Result<(Statement, Envelope), Error> {
    let empty = || UserError::input("there is nothing to sign: the journal is empty");
    let statement = Statement::of(record).ok_or_else(empty)?;
    let key = match key {
        Some(key) => key.to_owned(),
        None => usual_key(environment)?,
    };
    fs::File::open(&key).map_err(|source| {
        UserError::input(format!("cannot read the key {}", key.display()))
            .with_hint("name a private key, or a public one whose private key your agent holds")
            .with_source(source)
    })?;
    let signature = Keygen::find(environment).ok_or_else(no_program)?.sign(&key, &statement.bytes())?;
    let envelope = Envelope::read(&signature).map_err(|_| not_signed(&key))?;
    write_atomically(&entry.signature_path(), Readers::Owner, |out| out.write_all(&signature))?;
    write_atomically(&entry.statement_path(), Readers::Owner, |out| out.write_all(&statement.bytes()))?;
    Ok((statement, envelope))
}

fn no_program() -> UserError {
    UserError::of(ErrorCategory::General, "there is no program `ssh-keygen` on PATH")
        .with_hint("install OpenSSH 8.9 or newer")
}

/// `ssh-keygen` did not sign with this key.
fn not_signed(key: &Path) -> UserError {
    UserError::of(ErrorCategory::General, format!("ssh-keygen did not sign with {}", key.display()))
        .with_hint("the lines above say why; for a public key, `ssh-add -l` must list it")
}

fn usual_key(environment: &Environment) -> Result<PathBuf, UserError> {
    let directory = environment.home().map(|home| home.join(".ssh"));
    let keys = directory.iter().flat_map(|directory| USUAL_KEYS.map(|name| directory.join(name)));
    keys.into_iter().find(|key| key.is_file()).ok_or_else(|| {
        UserError::input(format!("no key to sign with: ~/.ssh has none of {}", USUAL_KEYS.join(", ")))
            .with_hint("name one with --key, or make one: ssh-keygen -t ed25519")
    })
}

/// The result of checking the signature next to a record.
#[derive(Debug, Default)]
pub struct CheckedSignature {
    /// The signing key and namespace; absent if the signature is unreadable.
    pub envelope: Option<Envelope>,
    /// The numbers of signed and later lines; absent if the signature is invalid.
    pub signed: Option<SignedLines>,
    /// The signers who made it; empty if no signers are given or none match.
    pub signers: Vec<String>,
    /// Why it does not satisfy the request.
    pub refusal: Option<Refusal>,
}

impl CheckedSignature {
    /// Whether the signature is valid, by any key.
    pub fn is_signed(&self) -> bool {
        self.signed.is_some()
    }

    /// Whether one of the signers made it.
    pub fn is_trusted(&self) -> bool {
        self.is_signed() && !self.signers.is_empty()
    }
}

/// How much of a journal is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedLines {
    /// The number of signed lines, from the first.
    pub lines: u64,
    /// The number of later lines.
    pub later: u64,
}

/// Why a signature does not satisfy the request.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// One of its two files is missing.
    #[error("{} is missing", .0.display())]
    Missing(PathBuf),
    /// A file exists but cannot be read.
    #[error("{} cannot be read: {why}", .path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// The signature has another namespace.
    #[error("it was made for `{0}`, not for `{NAMESPACE}`")]
    OtherNamespace(String),
    /// The signature belongs to other bytes.
    #[error("it does not match {}: one of the two was changed", .0.display())]
    Altered(PathBuf),
    /// The record differs from the signed one.
    #[error(transparent)]
    Record(#[from] StatementFault),
    /// None of the signers made it. Holds the message of `ssh-keygen` if a signer has the key but may not sign.
    #[error("none of your signers made it{}", .0.as_deref().map(|said| format!(" (ssh-keygen: {said})")).unwrap_or_default())]
    UnknownSigner(Option<String>),
    /// `ssh-keygen` reported neither a valid nor an invalid signature.
    #[error("it was not checked: ssh-keygen says: {0}")]
    Unclear(String),
    /// `ssh-keygen` is missing, so the signature was not checked.
    #[error("it was not checked: there is no program `ssh-keygen` on PATH")]
    Unchecked,
}

impl Refusal {
    /// The name in JSON output.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Missing(_) => "missing",
            Self::Unreadable { .. } => "unreadable",
            Self::OtherNamespace(_) => "other-namespace",
            Self::Altered(_) => "altered",
            Self::Record(StatementFault::OtherDebate(_)) => "other-debate",
            Self::Record(StatementFault::Shortened { .. }) => "shortened",
            Self::Record(StatementFault::OtherJournal(_)) => "other-journal",
            Self::Record(StatementFault::Continued(_)) => "continued",
            Self::Record(StatementFault::Damaged(_)) => "damaged",
            Self::UnknownSigner(_) => "unknown-signer",
            Self::Unclear(_) => "unclear",
            Self::Unchecked => "unchecked",
        }
    }
}

/// Checks the signature next to a record, if there is one. `signers` is a file in the `allowed_signers` format of
/// `ssh-keygen`.
///
/// # Errors
/// `ssh-keygen` cannot be run, or the signers cannot be read. Without signers, a missing program counts as a refusal.
pub fn check(
    entry: &Entry,
    record: &VerifiedRecord,
    signers: Option<&Path>,
    environment: &Environment,
) -> Result<Option<CheckedSignature>, Error> {
    let read = |path: &Path| {
        let unreadable = format!("cannot read the signers {}", path.display());
        fs::read(path).map_err(|source| UserError::input(unreadable).with_source(source))
    };
    let signers = signers.map(read).transpose()?;
    let (statement, signature) = (entry.statement_path(), entry.signature_path());
    if !is_there(&statement) && !is_there(&signature) {
        return Ok(None);
    }
    let keygen = match (Keygen::find(environment), &signers) {
        (None, Some(_)) => return Err(no_program().into()),
        (keygen, _) => keygen,
    };
    let mut checked = CheckedSignature::default();
    match steps(&mut checked, [&statement, &signature], record, signers.as_deref(), keygen.as_ref()) {
        Ok(()) => {}
        Err(Stop::Refused(refusal)) => checked.refusal = Some(refusal),
        Err(Stop::Failed(error)) => return Err(error.into()),
    }
    Ok(Some(checked))
}

/// Whether the path exists, even as a broken link.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Why a check stops.
enum Stop {
    Refused(Refusal),
    Failed(UserError),
}

impl<R: Into<Refusal>> From<R> for Stop {
    fn from(refusal: R) -> Self {
        Self::Refused(refusal.into())
    }
}

impl From<UserError> for Stop {
    fn from(error: UserError) -> Self {
        Self::Failed(error)
    }
}

/// The checks, in order; `checked` records how far they got.
fn steps(
    checked: &mut CheckedSignature,
    [statement_path, signature_path]: [&Path; 2],
    record: &VerifiedRecord,
    signers: Option<&[u8]>,
    keygen: Option<&Keygen>,
) -> Result<(), Stop> {
    let unreadable =
        |path: &Path, why: &dyn ToString| Refusal::Unreadable { path: path.to_owned(), why: why.to_string() };
    let (bytes, signature) = (file(statement_path)?, file(signature_path)?);
    let envelope = Envelope::read(&signature).map_err(|error| unreadable(signature_path, &error))?;
    let found = checked.envelope.insert(envelope).namespace.clone();
    if found != NAMESPACE {
        return Err(Refusal::OtherNamespace(found).into());
    }
    let keygen = keygen.ok_or(Refusal::Unchecked)?;
    keygen.check_fit(&signature, &bytes, statement_path)?;
    let statement = Statement::read(&bytes).map_err(|error| unreadable(statement_path, &error))?;
    let later = statement.hold_against(record)?;
    checked.signed = Some(SignedLines { lines: statement.lines, later });
    if let Some(signers) = signers {
        checked.signers = keygen.signers(&signature, &bytes, signers)?;
    }
    Ok(())
}

/// The content of a signature file.
fn file(path: &Path) -> Result<Vec<u8>, Refusal> {
    let unreadable = |why: String| Refusal::Unreadable { path: path.to_owned(), why };
    match path.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(Refusal::Missing(path.to_owned())),
        Err(error) => return Err(unreadable(error.to_string())),
        Ok(found) if !found.is_file() => return Err(unreadable("it is not a regular file".to_owned())),
        Ok(found) if found.len() > MOST_BYTES => return Err(unreadable("it is too large".to_owned())),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
    read.map(|_| bytes).map_err(|error| unreadable(error.to_string()))
}
