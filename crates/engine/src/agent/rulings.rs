//! The findings of a review as prompts list them, and the judge's rulings on them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use dialectic_base::markdown::single_spaced;
use dialectic_base::severity::Severity;
use dialectic_llm::AnswerSchema;
use dialectic_record::debate::{
    AgentId, Debate, FindingDecision, FindingRuling, RaisedPoint, ReviewedFinding, Solution, clean_title,
    describe_review,
};
use dialectic_record::protocol::{OutputSpec, Step};

use super::answer::unfit;
use super::{AnswerError, read_json};

/// The findings that a step shows.
#[derive(Debug, Clone, Default)]
pub(super) struct ListedFindings {
    /// The findings as the prompt shows them.
    pub(super) text: String,
    /// The numbers that the judge can rule on: of groups, and of single findings.
    pub(super) numbers: Vec<String>,
}

impl ListedFindings {
    /// The judge sees all findings with the opinions on them; a reader sees the findings of one other reader.
    pub(super) fn of(debate: &Debate, step: &Step) -> Self {
        if step.answer == OutputSpec::FindingRulings {
            let findings = debate.findings_ruled(&[]);
            let text = findings.iter().map(|finding| for_judge(debate, finding)).collect::<Vec<_>>().join("\n");
            let numbers = findings.iter().flat_map(|finding| {
                let own = finding.reports.iter().map(|report| report.number.clone());
                std::iter::once(finding.number.clone()).chain(own)
            });
            return Self { text, numbers: numbers.collect() };
        }
        let author = step.key.target_agent_id.as_ref();
        let findings = author.and_then(|author| debate.findings_of(author)).unwrap_or_default();
        let lines = findings.iter().map(|report| item(&report.number, &report.finding, "- "));
        Self { text: lines.collect(), numbers: findings.iter().map(|report| report.number.clone()).collect() }
    }
}

fn item(number: &str, finding: &RaisedPoint, bullet: &str) -> String {
    let place = finding.place.as_ref().map(|place| format!("{}: ", single_spaced(&place.to_string())));
    let place = place.unwrap_or_default();
    let indent = " ".repeat(bullet.len());
    let text = finding.text.replace('\n', &format!("\n{indent}"));
    let evidence = finding.evidence.as_ref().map(|evidence| evidence.replace('\n', &format!("\n{indent}")));
    let evidence = evidence.map(|evidence| format!(" To see it: {evidence}")).unwrap_or_default();
    format!("{bullet}{number} [{}] {place}{text}{evidence}\n", finding.severity.name())
}

fn for_judge(debate: &Debate, finding: &ReviewedFinding) -> String {
    let reader = |id: &AgentId| debate.text_number(id).map_or_else(|| id.to_string(), |number| number.to_string());
    let mut text = format!("{}\n", finding.number);
    for report in &finding.reports {
        text += &item(&report.number, &report.finding, "- ");
        for one in &report.opinions {
            let reason = one.reason.as_deref().map(single_spaced).unwrap_or_default();
            let by = one.by.as_ref().map(reader).unwrap_or_default();
            let _ = writeln!(text, "  - Reader {by}: {}: {reason}", one.kind);
        }
    }
    text
}

/// The judge's rulings, as requested.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub(super) struct RawRulings {
    #[schemars(length(max = 120))]
    rulings: Vec<RawRuling>,
    #[serde(default)]
    #[schemars(length(max = 800))]
    summary: String,
    #[serde(default)]
    #[schemars(length(max = 100))]
    title: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
struct RawRuling {
    #[serde(alias = "number")]
    #[schemars(length(max = 40))]
    finding: String,
    #[serde(default)]
    #[schemars(length(max = 800))]
    reason: String,
    decision: String,
    #[serde(default)]
    severity: Option<String>,
}

impl RawRulings {
    pub(super) fn schema() -> Arc<AnswerSchema> {
        let mut answer = AnswerSchema::of::<Self>("rulings");
        let names = |names: Vec<&str>| json!({ "type": "string", "enum": names });
        let properties = &mut answer.schema["properties"]["rulings"]["items"]["properties"];
        properties["decision"] = names(FindingDecision::ALL.iter().map(|one| one.name()).collect());
        properties["severity"] = names(Severity::ALL.iter().map(|one| one.name()).collect());
        Arc::new(answer)
    }

    /// At least one ruling must name one of these findings and a decision; of several rulings on a finding, the last
    /// counts.
    pub(super) fn read(text: &str, numbers: &[String]) -> Result<Ruled, AnswerError> {
        let Self { rulings: given, summary, title } = read_json(text)?;
        let mut rulings: Vec<FindingRuling> = Vec::new();
        for RawRuling { finding, reason, decision, severity } in given {
            let word = |text: &str| text.trim().trim_matches(['*', '`', '"', '.']).to_ascii_lowercase();
            let Some(decision) = FindingDecision::ALL.iter().find(|one| one.name() == word(&decision)) else {
                let names: Vec<_> = FindingDecision::ALL.iter().map(|one| one.name()).collect();
                return Err(unfit(format!("`decision` is `{decision}`, not one of {}", names.join(", "))));
            };
            let severity =
                severity.and_then(|text| Severity::ALL.iter().copied().find(|one| one.name() == word(&text)));
            let named = finding.split(|c: char| c.is_whitespace() || ",;&".contains(c));
            let named: BTreeSet<&String> = named.filter_map(|name| numbered(name, numbers)).collect();
            for number in named {
                rulings.retain(|known| known.finding != *number);
                let (finding, reason) = (number.clone(), reason.trim().to_owned());
                rulings.push(FindingRuling { finding, decision: *decision, severity, reason });
            }
        }
        if rulings.is_empty() {
            return Err(unfit(format!("`rulings` has no ruling on {}", numbers.join(", "))));
        }
        Ok(Ruled { rulings, summary, title })
    }
}

fn numbered<'n>(name: &str, numbers: &'n [String]) -> Option<&'n String> {
    let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    numbers.iter().find(|number| number.eq_ignore_ascii_case(name))
}

/// The judge's rulings, parsed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ruled {
    rulings: Vec<FindingRuling>,
    summary: String,
    title: String,
}

impl Ruled {
    /// The review as the answer of the debate. `missing` is why there are no rulings.
    pub fn into_solution(self, debate: &Debate, judge: &AgentId, missing: Option<&AnswerError>) -> Solution {
        Solution {
            title: clean_title(&self.title),
            description: describe_review(debate, &self.rulings, &self.summary),
            synthesized_by: Some(judge.clone()),
            finding_rulings: self.rulings,
            parse_error: missing.map(ToString::to_string),
            ..Solution::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answer: &serde_json::Value) -> Result<Vec<String>, String> {
        let numbers = ["F1", "1.1", "2.1", "F2", "2.2"].map(str::to_owned);
        let shown = |one: &FindingRuling| {
            let severity = one.severity.map_or("-", Severity::name);
            format!("{} {} {severity} {}", one.finding, one.decision.name(), one.reason)
        };
        let read = RawRulings::read(&answer.to_string(), &numbers).map_err(|error| error.to_string())?;
        Ok(read.rulings.iter().map(shown).collect())
    }

    #[test]
    fn rulings_are_on_findings_that_were_shown() {
        let ruling = |finding: &str, decision: &str| json!({"finding": finding, "reason": "r", "decision": decision, "severity": "major"});
        let answer = |rulings: &[serde_json::Value]| json!({"rulings": rulings, "summary": "s", "title": "t"});
        assert_eq!(
            read(&answer(&[ruling("f1", "Stands"), ruling("**2.2**", "dismissed"), ruling("F9", "stands")])),
            Ok(vec!["F1 stands major r".to_owned(), "2.2 dismissed major r".to_owned()])
        );
        let both = read(&answer(&[ruling("F1, F2", "open"), ruling("F2", "stands")]));
        assert_eq!(both, Ok(vec!["F1 open major r".to_owned(), "F2 stands major r".to_owned()]));
        assert_eq!(
            read(&answer(&[ruling("F9", "stands")])).unwrap_err(),
            "`rulings` has no ruling on F1, 1.1, 2.1, F2, 2.2"
        );
        assert_eq!(
            read(&answer(&[ruling("F1", "maybe")])).unwrap_err(),
            "`decision` is `maybe`, not one of stands, dismissed, open"
        );
        let bare = json!({"rulings": [{"finding": "F1", "decision": "stands"}]});
        assert_eq!(read(&bare), Ok(vec!["F1 stands - ".to_owned()]));
    }
}
