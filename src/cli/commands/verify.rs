//! `dialectic verify`: checks whether a debate's record is intact, signed, and signed by someone you trust.

use std::path::Path;

use serde::Serialize;

use crate::cli::args::VerifyArgs;
use crate::cli::latest::or_latest;
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use crate::signature::{CheckedSignature, Refusal, SignedLines, check};
use dialectic_base::diagnostic::ErrorCategory;
use dialectic_base::figures::counted;
use dialectic_base::sanitize::one_line;
use dialectic_config::process_environment;
use dialectic_record::store::{Entry, Flaw, StateFileStatus, VerifiedRecord, verify};

pub(in crate::cli) fn run(args: &VerifyArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = or_latest(args.which.name())?;
    let journal = entry.journal_path()?;
    let found = verify(&entry, journal)?;
    let signature = check(&entry, &found, args.signers.as_deref(), &process_environment())?;
    if args.json {
        terminal.json(&VerifyReport::of(&entry, &found, signature.as_ref()))?;
    } else {
        terminal.text(&text(&entry, journal, &found, signature.as_ref()))?;
    }
    if !found.is_whole() {
        return Err(UserError::input(format!("the record of {} is damaged", entry.id())).into());
    }
    let id = entry.id();
    let refused = match (signature, &args.signers) {
        (None, Some(_)) => UserError::input(format!("the record of {id} is not signed"))
            .with_hint(format!("to sign it: dialectic sign {id}")),
        (Some(CheckedSignature { refusal: Some(refusal), .. }), signers) => match (refusal, signers) {
            // No option required more than an undamaged record.
            (Refusal::Unchecked, None) => return Ok(()),
            (Refusal::Unclear(_), _) => {
                UserError::of(ErrorCategory::General, format!("the signature of {id} was not checked"))
                    .with_hint("check that `ssh-keygen` is OpenSSH 8.9 or newer")
            }
            (Refusal::UnknownSigner(_), Some(signers)) => UserError::input(format!(
                "the record of {id} is signed, but by none of the signers in {}",
                signers.display()
            )),
            (_, _) => UserError::input(format!("the signature of {id} is not valid")),
        },
        (None, None) | (Some(CheckedSignature { refusal: None, .. }), _) => return Ok(()),
    };
    Err(refused.into())
}

/// The JSON output.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of the output")]
struct VerifyReport {
    id: String,
    whole: bool,
    signed: bool,
    trusted: bool,
    events: usize,
    running: bool,
    cut_short: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    imported: bool,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    state_events: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bad_line: Option<usize>,
    flaws: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<SignatureReport>,
}

/// The signature in the JSON output.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SignatureReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    key_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_events: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unsigned_events: Option<u64>,
    signers: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl SignatureReport {
    fn of(signature: &CheckedSignature) -> Self {
        let envelope = signature.envelope.as_ref();
        Self {
            key_type: envelope.map(|envelope| envelope.kind.clone()),
            fingerprint: envelope.map(|envelope| envelope.fingerprint.clone()),
            signed_events: signature.signed.map(|signed| signed.lines),
            unsigned_events: signature.signed.map(|signed| signed.later),
            signers: signature.signers.clone(),
            refusal: signature.refusal.as_ref().map(Refusal::name),
            reason: signature.refusal.as_ref().map(ToString::to_string),
        }
    }
}

impl VerifyReport {
    fn of(entry: &Entry, found: &VerifiedRecord, signature: Option<&CheckedSignature>) -> Self {
        let (state, state_events) = match found.state {
            StateFileStatus::Current => ("current", Some(found.events)),
            StateFileStatus::Behind { events } => ("behind", Some(events)),
            StateFileStatus::Missing => ("missing", None),
            StateFileStatus::Differs => ("differs", None),
            StateFileStatus::Unknown => ("unknown", None),
        };
        let bad_line = found.flaws.iter().find_map(|flaw| match flaw {
            Flaw::Journal(error) => error.bad_line(),
            _ => None,
        });
        Self {
            id: entry.id(),
            whole: found.is_whole(),
            signed: signature.is_some_and(CheckedSignature::is_signed),
            trusted: signature.is_some_and(CheckedSignature::is_trusted),
            events: found.events,
            running: found.running,
            cut_short: found.cut_short,
            imported: found.imported,
            state,
            state_events,
            bad_line,
            flaws: found.flaws.iter().map(ToString::to_string).collect(),
            signature: signature.map(SignatureReport::of),
        }
    }
}

/// The three words: `the record is intact, signed and trusted`.
fn verdict(found: &VerifiedRecord, signature: Option<&CheckedSignature>) -> &'static str {
    let signed = signature.map(|signature| (signature.is_signed(), signature.is_trusted()));
    match (found.is_whole(), signed) {
        (true, None | Some((false, _))) => "the record is intact",
        (true, Some((true, false))) => "the record is intact and signed",
        (true, Some((true, true))) => "the record is intact, signed and trusted",
        (false, _) => "the record is damaged",
    }
}

/// The signed lines and the signers, or why the signature does not count.
fn signature_lines(signature: &CheckedSignature) -> Vec<String> {
    let key = signature.envelope.as_ref().map(|envelope| format!("with {}", one_line(&envelope.to_string())));
    let mut lines = Vec::new();
    if let Some(SignedLines { lines: signed, later }) = signature.signed {
        let events = counted(signed, "event");
        let extent = if later == 0 { events } else { format!("the first {events}") };
        let by = signature.signers.iter().map(|signer| one_line(signer)).collect::<Vec<_>>().join(", ");
        let by = if by.is_empty() { String::new() } else { format!(" by {by}") };
        lines.push(format!("  signed   {extent}{by} {}", key.unwrap_or_default()));
        if later > 0 {
            lines.push(format!("           {} came later: not signed", counted(later, "event")));
        }
        if signature.signers.is_empty() && signature.refusal.is_none() {
            lines.push("           --signers shows whose key this is".to_owned());
        }
    } else {
        lines.push(format!("  signed   not counted{}", key.map(|key| format!(" ({key})")).unwrap_or_default()));
    }
    lines.extend(
        signature.refusal.iter().map(|refusal| format!("  - the signature: {}", one_line(&refusal.to_string()))),
    );
    lines
}

fn text(entry: &Entry, journal: &Path, found: &VerifiedRecord, signature: Option<&CheckedSignature>) -> String {
    let mut lines = vec![format!("{}: {}", entry.id(), verdict(found, signature))];
    let is_damaged = found.flaws.iter().any(|flaw| matches!(flaw, Flaw::Journal(_)));
    let events = counted(found.events as u64, "event");
    let before = if is_damaged { " before the first damaged line" } else { ", every line intact" };
    lines.push(format!("  journal  {events}{before} ({})", journal.display()));
    if found.imported {
        lines.push(
            "           imported: it begins with the state of the older program, which kept no journal".to_owned(),
        );
    }
    if found.running {
        lines.push("           another process is running this debate".to_owned());
    }
    if found.cut_short && !found.running {
        let cut = "the last line is incomplete, as after a crash; it is ignored, and `resume` removes it";
        lines.push(format!("           {cut}"));
    }
    let state = match found.state {
        StateFileStatus::Current => "matches the journal".to_owned(),
        StateFileStatus::Behind { events } => {
            let why = if found.running { "the rest will follow" } else { "`resume` updates it" };
            format!("matches the first {}; {why}", counted(events as u64, "event"))
        }
        StateFileStatus::Missing if found.running => "not written yet".to_owned(),
        StateFileStatus::Missing => "missing; `resume` writes it".to_owned(),
        StateFileStatus::Differs => "differs from the journal".to_owned(),
        StateFileStatus::Unknown => "not compared".to_owned(),
    };
    lines.push(format!("  state    {state} ({})", entry.state.display()));
    lines.extend(signature.map(signature_lines).into_iter().flatten());
    lines.extend(found.flaws.iter().map(|flaw| format!("  - {}", one_line(&flaw.to_string()))));
    lines.join("\n")
}
