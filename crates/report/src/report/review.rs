//! Writes the review of a change for other programs: as JSON, as SARIF, and as the body of a review on GitHub.

use serde::Serialize;
use serde_json::{Value, json};

use dialectic_base::markdown::{defused, defused_line, single_spaced};
use dialectic_record::change::Placed;
use dialectic_record::debate::{Debate, Status};
use dialectic_record::points::{Report, ReviewText, ReviewedFinding, Severity, Since, Stance, Voices};

use super::stages::capitalized;

/// The changed file in which to show a finding, and the place in that file. `None` if the finding names any other path,
/// which a model may have invented.
fn shown<'a>(debate: &Debate, finding: &'a ReviewedFinding) -> Option<(&'a str, Placed)> {
    let (place, placed) = finding.place(debate)?;
    (placed != Placed::Elsewhere).then_some((&*place.path, placed))
}

fn pretty(value: &impl Serialize) -> String {
    // Serializing a JSON value cannot fail.
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// The maximum length of a text on GitHub, in characters. Leaves room for a closing note.
const MOST: usize = 60_000;

/// The body of GitHub's `POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews`: always a comment, never an approval.
/// Contains a comment for each finding whose place the diff shows, and lists all other findings in its text.
pub fn review_github(debate: &Debate) -> String {
    let review = ReviewText::of(debate, debate.findings());
    let comments: Vec<Value> = review.kept().filter_map(|finding| comment(debate, &review, finding)).collect();
    let elsewhere = review.kept_in_words(|finding| comment(debate, &review, finding).is_none());
    let result = debate.final_solution.as_ref().filter(|_| debate.change.is_none());
    let verdict = result.map_or_else(|| format!("**{}**\n", review.verdict()), |result| result.description.clone());
    let summary = summary(debate).map(|summary| format!("\n{}\n", defused(summary))).unwrap_or_default();
    let mut body = verdict;
    for part in [summary, review.note(), elsewhere, review.dismissed_in_words(), review.receipt()] {
        if body.chars().count() + part.chars().count() > MOST {
            body += "\nThe rest does not fit in a GitHub review; see the debate record.\n";
            break;
        }
        body += &part;
    }
    let reasons = debate.outcome.iter().flat_map(|outcome| &outcome.reasons).take(20);
    body.extend(reasons.map(|reason| format!("\nIncomplete: {}\n", defused_line(reason))));
    let mut written = json!({ "event": "COMMENT", "body": body, "comments": comments });
    if let Some(head) = debate.change.as_ref().and_then(|change| change.head.as_ref()) {
        written["commit_id"] = json!(head);
    }
    pretty(&written)
}

fn summary(debate: &Debate) -> Option<&str> {
    debate.final_solution.as_ref()?.summary.as_deref()
}

/// The comment for a finding; `None` if the diff does not show its place, or the comment is too long for GitHub.
fn comment(debate: &Debate, review: &ReviewText<'_>, finding: &ReviewedFinding) -> Option<Value> {
    let (path, Placed::InDiff(lines)) = shown(debate, finding)? else { return None };
    let body: String = format!("**{}**\n\n{}", review.title(finding), review.in_words(finding));
    if body.chars().count() > MOST {
        return None;
    }
    let mut comment = json!({ "path": path, "body": body, "line": lines.last, "side": "RIGHT" });
    if lines.first < lines.last {
        comment["start_line"] = json!(lines.first);
        comment["start_side"] = json!("RIGHT");
    }
    Some(comment)
}

/// The complete review as JSON, with unchanged texts and the findings for which `is_shown` holds. Among other things, it
/// says who found, confirmed or refuted each finding, and which files each agent opened.
pub fn review_json(debate: &Debate, is_shown: impl Fn(&ReviewedFinding) -> bool) -> Value {
    let voices = Voices::of(debate);
    let findings = debate.findings();
    let review = ReviewText::of(debate, findings.clone());
    let findings = findings.iter().filter(|one| is_shown(one)).map(|one| finding(debate, one, &voices));
    let readers = debate.agents().iter().map(|agent| {
        json!({
            "id": agent.id, "name": agent.name, "role": agent.role, "model": agent.model,
            "voice": voices.name(&agent.id), "hasFindings": debate.unread_parts(&agent.id).is_empty(),
            "opened": debate.opened_by(&agent.id),
        })
    });
    json!({
        "id": Some(&debate.id).filter(|id| !id.as_str().is_empty()),
        "title": debate.given_title(),
        "outcome": debate.outcome,
        "answer": debate.answer_state(),
        "result": review.verdict(),
        "summary": summary(debate),
        "note": voices.note(),
        "readers": readers.collect::<Vec<_>>(),
        "findings": findings.collect::<Vec<_>>(),
        "change": debate.change,
        "costUsd": debate.total_cost(),
    })
}

fn finding(debate: &Debate, one: &ReviewedFinding, voices: &Voices<'_>) -> Value {
    let (lead, place) = (one.lead(), one.place(debate));
    let placed = place.map(|(_, placed)| match placed {
        Placed::InDiff(_) => "diff",
        Placed::InFile(_) | Placed::File => "file",
        Placed::Elsewhere => "elsewhere",
    });
    let said = |stance: Stance| {
        let given = one.reports.iter().flat_map(|report| report.opinions(stance).map(|said| (&report.number, said)));
        given.map(|(of, (by, remark))| json!({ "of": of, "by": by, "reason": remark.reason })).collect::<Vec<_>>()
    };
    let report = |report: &Report| {
        let Report { number, finding, .. } = report;
        json!({
            "number": number, "by": report.author(), "severity": finding.severity, "place": finding.place,
            "text": finding.text, "evidence": finding.evidence,
        })
    };
    let ruling = one.ruling.as_ref().map(|ruling| json!({ "decision": ruling.decision, "reason": ruling.reason }));
    json!({
        "number": one.number,
        "id": one.id,
        "since": one.since,
        "severity": one.severity,
        "place": place.map(|(place, _)| place),
        "placed": placed,
        "text": lead.text,
        "evidence": lead.evidence,
        "foundBy": voices.finders(&one.reports),
        "confirmedBy": voices.names(one.confirmed_by()),
        "confirmations": said(Stance::Confirmed),
        "against": said(Stance::Refuted),
        "left": said(Stance::Left),
        "ruling": ruling,
        "dismissed": one.is_dismissed(),
        "reports": one.reports.iter().map(report).collect::<Vec<_>>(),
    })
}

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// The maximum length of a message, in characters.
const MESSAGE: usize = 4000;

/// The review as SARIF 2.1.0. The results are the findings that were not dismissed.
pub fn review_sarif(debate: &Debate) -> String {
    let voices = Voices::of(debate);
    let findings = debate.findings();
    let kept = findings.iter().filter(|finding| finding.is_kept());
    let results: Vec<Value> = kept.map(|finding| result(debate, finding, &voices)).collect();
    // Report fixed findings as notes: as results, platforms would consider them open.
    let fixed = findings.iter().filter(|finding| finding.since == Some(Since::Fixed));
    let fixed = fixed.map(|finding| ("note", format!("Fixed: {} ({})", finding.lead().text, finding.id)));
    let rules = Severity::ALL.iter().map(|severity| {
        json!({
            "id": rule(*severity), "name": format!("{}Finding", capitalized(severity.name())),
            "shortDescription": { "text": meaning(*severity) },
            "defaultConfiguration": { "level": level(*severity) },
        })
    });
    let reasons = debate.outcome.iter().flat_map(|outcome| &outcome.reasons);
    let notices = reasons.map(|reason| ("warning", reason.clone()));
    let left_out = debate.change.iter().flat_map(|change| &change.left_out);
    let left_out = left_out.map(|one| ("note", format!("Not read: {} ({})", one.path, one.reason)));
    let unfinished = ReviewText::of(debate, Vec::new()).unfinished().map(|why| ("error", why));
    let notices = unfinished.into_iter().chain(notices).chain(left_out).chain(fixed);
    let notices = notices.map(|(level, text)| json!({ "level": level, "message": { "text": plain(&text) } }));
    pretty(&json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "dialectic", "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"), "rules": rules.collect::<Vec<_>>(),
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
            "number": report.number, "severity": report.finding.severity, "foundBy": finder(report, voices),
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
    if let Some((path, placed)) = shown {
        let mut location = json!({ "artifactLocation": { "uri": uri(path) } });
        if let Placed::InDiff(lines) | Placed::InFile(lines) = placed {
            location["region"] = json!({ "startLine": lines.first, "endLine": lines.last });
        }
        result["locations"] = json!([{ "physicalLocation": location }]);
    }
    result
}

fn finder(report: &Report, voices: &Voices<'_>) -> String {
    report.by.as_ref().map_or_else(|| report.author().to_owned(), |by| voices.name(by))
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
        Severity::Blocking => "The change must not be merged as is",
        Severity::Major => "The change fails in a case that will occur",
        Severity::Minor => "A minor problem that the author would want to know about",
    }
}

/// Escapes a text for a SARIF message, where brackets mark links and braces mark arguments.
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

/// A path below the root as a relative URI reference.
fn uri(path: &str) -> String {
    let encoded = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    path.trim_start_matches('/').bytes().map(encoded).collect()
}
