//! The disputed matters that agents see at the start of the next round: differing decisions, objections to an
//! agreement, and faults of the winning text.

use dialectic_base::markdown::{single_spaced, truncate};
use dialectic_record::debate::{AgentId, Debate, Matter};

/// The maximum characters of a decision, claim or point.
const ITEM: usize = 300;
/// The maximum number of matters.
const MATTERS: usize = 12;

/// The disputed matters for an agent before `round`; `None` if there are none.
pub(super) fn dispute(debate: &Debate, agent: &AgentId, round: u32) -> Option<String> {
    let before = round.checked_sub(1)?;
    let mut parts: Vec<String> = Vec::new();
    let measured = debate.round(before).and_then(|before| before.convergence.as_ref());
    let open = measured.iter().flat_map(|measured| &measured.matters).filter(|matter| !matter.agreed);
    let open: Vec<String> = open.take(MATTERS).map(|matter| on_one_line(matter, agent)).collect();
    if !open.is_empty() {
        parts.push(format!("Not decided alike by all:\n{}", open.join("\n")));
    }
    if let Some(challenge) = debate.round(before).and_then(|before| before.challenge.as_ref()) {
        let claims =
            challenge.claims.iter().map(|claim| format!("- All share this, and nobody supports it: {}", short(claim)));
        let points = challenge.points.iter().map(|point| {
            let whose = if point.target_agent_id == *agent { "your text" } else { point.target_agent_id.as_str() };
            format!("- Nobody has answered this point against {whose}: {}", short(&point.text))
        });
        let items: Vec<String> = claims.chain(points).collect();
        if !items.is_empty() {
            parts.push(format!("Against the agreement so far:\n{}", items.join("\n")));
        }
    }
    if let Some(extension) = debate.extensions.iter().find(|extension| extension.round == before) {
        let missing: Vec<String> = extension.missing.iter().map(|missing| format!("- {}", short(missing))).collect();
        parts.push(format!("The judge found that the best text misses:\n{}", missing.join("\n")));
    }
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// The decisions of a matter, each with the number of its supporters.
fn on_one_line(matter: &Matter, agent: &AgentId) -> String {
    let decisions: Vec<String> = matter
        .decisions
        .iter()
        .map(|wording| {
            let yours = if wording.agents.contains(agent) { ", you among them" } else { "" };
            format!("“{}” ({}{yours})", short(&wording.decision), wording.agents.len())
        })
        .collect();
    let mark = if matter.opposed { "opposed: " } else { "" };
    format!("- {mark}{}", decisions.join(" / "))
}

/// The text on one line, shortened.
pub(super) fn short(text: &str) -> String {
    let words = single_spaced(text);
    let shown = truncate(&words, ITEM);
    if shown.len() < words.len() { format!("{}…", shown.trim_end()) } else { words }
}
