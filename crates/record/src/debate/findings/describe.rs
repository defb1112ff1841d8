//! A review as Markdown: the findings that stand, those that do not, and what was read.

use std::fmt::Write;

use dialectic_base::figures::counted;
use dialectic_base::markdown::{defused, defused_line, inline};
use dialectic_base::severity::Severity;

use crate::debate::{
    ChangeSet, Debate, FindingDecision, FindingRuling, Placed, ResultKind, ReviewedFinding, Stance, Voices,
};

/// A review with these rulings and this word of the judge's, for people: nothing that a model wrote does anything in it.
pub fn describe_review(debate: &Debate, rulings: &[FindingRuling], summary: &str) -> String {
    let (findings, voices) = (debate.findings_ruled(rulings), Voices::of(debate));
    let (dismissed, kept): (Vec<_>, Vec<_>) = findings.iter().partition(|finding| finding.is_dismissed());
    let mut out = format!("**{}**\n", verdict(debate, &kept, dismissed.len()));
    if !summary.trim().is_empty() {
        let _ = write!(out, "\n{}\n", defused(summary));
    }
    if let Some(note) = voices.note().filter(|_| !findings.is_empty()) {
        let _ = write!(out, "\n{note}\n");
    }
    for (number, finding) in (1..).zip(&kept) {
        let _ =
            write!(out, "\n## {number}. {}\n\n{}", title(debate, finding), describe_finding(debate, finding, &voices));
    }
    if !dismissed.is_empty() {
        let _ = write!(out, "\n## Dismissed\n\n");
        for finding in &dismissed {
            let why = finding.ruling.as_ref().map(|ruling| defused_line(&ruling.reason)).unwrap_or_default();
            let text = defused_line(&finding.lead().text);
            let _ = writeln!(out, "- {}: {text} Dismissed: {why}", title(debate, finding));
        }
    }
    out + &receipt(debate)
}

/// What the review comes to, in a sentence.
fn verdict(debate: &Debate, kept: &[&ReviewedFinding], dismissed: usize) -> String {
    let readers = debate.agents().len();
    let read = debate.agents().iter().filter(|agent| debate.findings_of(&agent.id).is_some()).count();
    let of_all = if read < readers {
        format!(" by the {read} of {readers} readers whose findings are there")
    } else {
        String::new()
    };
    let dismissed = if dismissed > 0 { format!("; {dismissed} dismissed") } else { String::new() };
    if read == 0 {
        return "No findings could be read.".to_owned();
    }
    if kept.is_empty() {
        return format!("No findings{of_all}{dismissed}.");
    }
    let count = |severity: Severity| kept.iter().filter(|finding| finding.severity == severity).count();
    let counts = Severity::ALL.iter().map(|severity| (count(*severity), severity.name()));
    let counts: Vec<String> =
        counts.filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect();
    format!("{}{of_all}: {}{dismissed}.", counted(kept.len() as u64, "finding"), counts.join(", "))
}

/// `[major] src/store.rs:42-48`
fn title(debate: &Debate, finding: &ReviewedFinding) -> String {
    let place = finding.place(debate).map(|(place, _)| format!(" `{}`", place.to_string().replace(['`', '\n'], "'")));
    format!("[{}]{}", finding.severity.name(), place.unwrap_or_default())
}

/// What is said of a finding below its title, as Markdown in which nothing that a model wrote does anything.
pub fn describe_finding(debate: &Debate, finding: &ReviewedFinding, voices: &Voices<'_>) -> String {
    let lead = finding.lead();
    let mut out = format!("{}\n", defused(&lead.text));
    if let Some(evidence) = &lead.evidence {
        let _ = write!(out, "\n**To see it:** {}\n", defused(evidence));
    }
    let note = match finding.place(debate) {
        Some((_, Placed::InDiff(_) | Placed::InFile(_))) => None,
        Some((place, Placed::File)) if place.lines.is_none() => None,
        Some((_, Placed::File)) => Some("The file has no such lines."),
        Some((_, Placed::Elsewhere)) if debate.change.is_some() => Some("This file is not part of the change."),
        Some((_, Placed::Elsewhere)) | None => None,
    };
    if let Some(note) = note {
        let _ = write!(out, "\n{note}\n");
    }
    let found = voices.listed(finding.reports.iter().map(|report| &report.by));
    let _ = write!(out, "\n- Found by {}", inline(&found));
    let confirmed = finding.who(Stance::Confirmed);
    if confirmed.is_empty() {
        out.push_str("; confirmed by nobody else\n");
    } else {
        let _ = writeln!(out, "; confirmed by {}", inline(&voices.listed(confirmed)));
    }
    for one in finding.opinions.iter().filter(|one| one.opinion.stance == Stance::Refuted) {
        let reason = one.opinion.reason.as_deref().map(defused_line).unwrap_or_else(|| "no reason given".to_owned());
        let _ = writeln!(out, "- Against it, by {}: {reason}", inline(&voices.name(&one.by)));
    }
    match &finding.ruling {
        Some(ruling) => {
            let decision = match ruling.decision {
                FindingDecision::Stands => "stands",
                FindingDecision::Dismissed => "dismissed",
                FindingDecision::Open => "open: what was shown does not tell",
            };
            let reason = defused_line(&ruling.reason);
            let reason = if reason.is_empty() { reason } else { format!(". {reason}") };
            let _ = writeln!(out, "- Ruling: {decision}{reason}");
        }
        None => out.push_str("- Ruling: none\n"),
    }
    out
}

/// What was read and what was not.
fn receipt(debate: &Debate) -> String {
    let Some(ChangeSet { of, files, left_out, .. }) = debate.change.as_deref() else { return String::new() };
    let mut out = format!("\n## What was read\n\n{}: ", inline(of));
    let _ = writeln!(out, "{}.\n", counted(files.len() as u64, "file"));
    for file in files {
        let extent = match file.lines {
            Some(lines) => format!("its changes and all {}", counted(u64::from(lines), "line")),
            None => "its changes".to_owned(),
        };
        let _ = writeln!(out, "- {}: {extent}", inline(&file.path));
    }
    if !left_out.is_empty() {
        out.push_str("\nLeft out:\n\n");
        for one in left_out {
            let _ = writeln!(out, "- {}: {}", inline(&one.path), inline(&one.reason));
        }
    }
    let unread = debate.agents().iter().filter(|agent| debate.findings_of(&agent.id).is_none());
    let unread: Vec<_> = unread.filter(|_| debate.texts_yielding(ResultKind::Findings).next().is_some()).collect();
    for agent in unread {
        let _ = writeln!(out, "\nThere are no readable findings of {}.", inline(&agent.name));
    }
    out
}
