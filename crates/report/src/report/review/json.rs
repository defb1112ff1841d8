//! A review as JSON in our own format: complete, with unrendered texts.

use serde_json::{Value, json};

use dialectic_record::debate::{Debate, Placed, Report, ReviewedFinding, Stance, Voices};

use super::pretty;

/// The findings of a review with their finders, confirmations and refutations, the rulings, and the files that were
/// read.
pub fn review_json(debate: &Debate) -> String {
    let voices = Voices::of(debate);
    let findings: Vec<Value> = debate.findings().iter().map(|one| finding(debate, one, &voices)).collect();
    let readers = debate.agents().iter().map(|agent| {
        json!({
            "id": agent.id, "name": agent.name, "role": agent.role, "model": agent.model, "voice": voices.name(&agent.id),
            "hasFindings": debate.unread_parts(&agent.id).is_empty(), "opened": debate.opened_by(&agent.id),
        })
    });
    pretty(&json!({
        "id": debate.id,
        "title": debate.given_title(),
        "outcome": debate.outcome,
        "answer": debate.answer_state(),
        "note": voices.note(),
        "readers": readers.collect::<Vec<_>>(),
        "findings": findings,
        "change": debate.change,
        "costUsd": debate.total_cost(),
    }))
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
            "number": number, "by": report.author(), "severity": finding.severity, "place": finding.place, "text": finding.text,
            "evidence": finding.evidence,
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
