//! A review as SARIF 2.1.0, which platforms show next to the code.

use serde_json::{Value, json};

use dialectic_base::markdown::single_spaced;
use dialectic_record::debate::{Debate, ReviewedFinding, Severity, Since, Stance, Status, Voices};

use super::{pretty, shown};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// The maximum number of characters in a message.
const MESSAGE: usize = 4000;

/// The findings that were not dismissed, as results.
pub fn review_sarif(debate: &Debate) -> String {
    let voices = Voices::of(debate);
    let findings = debate.findings();
    let kept = findings.iter().filter(|finding| finding.is_kept());
    let results: Vec<Value> = kept.map(|finding| result(debate, finding, &voices)).collect();
    // As results, platforms would take them for open ones.
    let fixed = findings.iter().filter(|finding| finding.since == Some(Since::Fixed));
    let fixed = fixed.map(|finding| ("note", format!("Fixed: {} ({})", finding.lead().text, finding.id)));
    let rules = Severity::ALL.iter().map(|severity| {
        json!({
            "id": rule(*severity), "name": format!("{}Finding", capitalised(severity.name())),
            "shortDescription": { "text": meaning(*severity) },
            "defaultConfiguration": { "level": level(*severity) },
        })
    });
    let reasons = debate.outcome.iter().flat_map(|outcome| &outcome.reasons);
    let notices = reasons.map(|reason| ("warning", reason.clone()));
    let left_out = debate.change.iter().flat_map(|change| &change.left_out);
    let left_out = left_out.map(|one| ("note", format!("Not read: {} ({})", one.path, one.reason)));
    let notices = notices.chain(left_out).chain(fixed);
    let notices = notices.map(|(level, text)| json!({ "level": level, "message": { "text": plain(&text) } }));
    pretty(&json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "dialectic", "version": env!("CARGO_PKG_VERSION"), "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules.collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": matches!(debate.status, Status::Completed),
                "toolExecutionNotifications": notices.collect::<Vec<_>>(),
            }],
            "results": results,
        }],
    }))
}

fn result(debate: &Debate, finding: &ReviewedFinding, voices: &Voices<'_>) -> Value {
    let lead = finding.lead();
    let shown = shown(debate, finding);
    let mut text = lead.text.to_string();
    if let Some(evidence) = &lead.evidence {
        text = format!("{text}\n\nTo see it: {evidence}");
    }
    if let (None, Some((place, _))) = (&shown, finding.place(debate)) {
        text = format!("{}: {text}", single_spaced(&place.to_string()));
    }
    let found = voices.finders(&finding.reports);
    let confirmed = voices.names(finding.confirmed_by());
    let reports = finding.reports.iter().map(|report| {
        let said = |stance: Stance| voices.names(report.opinions(stance).map(|(by, _)| by));
        json!({
            "number": report.number, "severity": report.finding.severity, "foundBy": voices.finders([report]).concat(),
            "confirmedBy": said(Stance::Confirmed), "refutedBy": said(Stance::Refuted),
        })
    });
    let mut result = json!({
        "ruleId": rule(finding.severity),
        "level": level(finding.severity),
        "message": { "text": plain(&text) },
        "partialFingerprints": { "dialecticFinding/v1": finding.id },
        "properties": {
            "number": finding.number, "foundBy": found, "confirmedBy": confirmed,
            "reports": reports.collect::<Vec<_>>(),
            "ruling": finding.ruling.as_ref().map(|ruling| ruling.decision),
        },
    });
    if let Some(since) = finding.since {
        result["baselineState"] = json!(if since == Since::New { "new" } else { "unchanged" });
        result["properties"]["since"] = json!(since.name());
    }
    if let Some(shown) = shown {
        let mut location = json!({ "artifactLocation": { "uri": uri(shown.path) } });
        if let Some(lines) = shown.lines {
            location["region"] = json!({ "startLine": lines.first, "endLine": lines.last });
        }
        result["locations"] = json!([{ "physicalLocation": location }]);
    }
    result
}

fn rule(severity: Severity) -> String {
    format!("dialectic/{}", severity.name())
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Blocking => "error",
        Severity::Major => "warning",
        Severity::Minor => "note",
    }
}

fn meaning(severity: Severity) -> &'static str {
    match severity {
        Severity::Blocking => "The change must not be merged as it is",
        Severity::Major => "The change fails in a case that will occur",
        Severity::Minor => "A minor problem that the author would want to know",
    }
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The text without links and placeholders: in messages, brackets make links, and braces mark arguments.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars().take(MESSAGE).filter(|c| !c.is_control() || *c == '\n').peekable();
    while let Some(c) = letters.next() {
        if matches!(c, '\\' | '[' | ']') {
            out.push('\\');
        }
        out.push(c);
        if c == '{' && letters.peek().is_some_and(char::is_ascii_digit) {
            out.push(c);
        }
    }
    if out.trim().is_empty() { "-".to_owned() } else { out }
}

/// A path below the root as a relative reference.
fn uri(path: &str) -> String {
    let encoded = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    path.trim_start_matches('/').bytes().map(encoded).collect()
}
