//! The findings of a review as prompts list them, and the judge's rulings on them.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use dialectic_base::figures::{counted, list};
use dialectic_base::markdown::single_spaced;
use dialectic_llm::AnswerSchema;
use dialectic_record::answer::{Solution, clean_title};
use dialectic_record::debate::Debate;
use dialectic_record::ids::AgentId;
use dialectic_record::points::{
    Decision, FindingDecision, FindingRuling, Point, RaisedPoint, Remark, Report, Response, Ruling, Severity,
    Statement, describe_review,
};
use dialectic_record::prompt::{PointList, Values};
use dialectic_record::protocol::{OutputSpec, Step};

use super::json::unfit;
use super::texts::length;
use super::{AnswerError, Assessment, read_json};

/// Shows the judge all findings with the opinions on them, and shows a reader the findings of one other reader.
pub(super) fn show_findings(values: &mut Values<'_>, debate: &Debate, step: &Step) {
    let is_ruling = step.answer == OutputSpec::FindingRulings;
    let author = step.key.target_agent_id.as_ref();
    let reports = match author {
        _ if is_ruling => debate.reports(),
        Some(author) => debate.findings_of(author, step.key.round).unwrap_or_default(),
        None => Vec::new(),
    };
    let shown = |report: &Report| {
        let opinions = report.opinions.iter().filter(|_| is_ruling).map(|one| opinion(debate, one));
        item(&report.number, &report.finding) + &opinions.collect::<String>()
    };
    let text: String = reports.iter().map(shown).collect();
    values.length = length(&text);
    values.listing.points = PointList { text: text.trim_end().to_owned(), ..PointList::default() };
    values.listing.findings = reports.into_iter().map(|report| report.number).collect();
}

fn item(number: &str, finding: &RaisedPoint) -> String {
    let place = finding.place.as_ref().map(|place| format!("{}: ", single_spaced(&place.to_string())));
    let place = place.unwrap_or_default();
    let text = finding.text.replace('\n', "\n  ");
    let evidence = finding.evidence.as_ref().map(|evidence| evidence.replace('\n', "\n  "));
    let evidence = evidence.map(|evidence| format!(" To see it: {evidence}")).unwrap_or_default();
    format!("- {number} [{}] {place}{text}{evidence}\n", finding.severity.name())
}

fn opinion(debate: &Debate, one: &Remark) -> String {
    let reader = |id: &AgentId| debate.text_number(id).map_or_else(|| id.to_string(), |number| number.to_string());
    let by = one.by.as_ref().map(reader).unwrap_or_default();
    let reason = one.reason.as_deref().map(single_spaced).unwrap_or_default();
    format!("  - Reader {by}: {}: {reason}\n", one.kind)
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub(super) struct RawRulings {
    #[schemars(length(max = 600))]
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
    #[serde(default, rename = "sameAs")]
    #[schemars(length(max = 40))]
    same_as: Option<String>,
}

impl RawRulings {
    pub(super) fn schema() -> AnswerSchema {
        let mut answer = AnswerSchema::of::<Self>("rulings");
        let names = |names: Vec<&str>| json!({ "type": "string", "enum": names });
        let properties = &mut answer.schema["properties"]["rulings"]["items"]["properties"];
        properties["decision"] = names(FindingDecision::ALL.iter().map(|one| one.name()).collect());
        properties["severity"] = names(Severity::ALL.iter().map(|one| one.name()).collect());
        answer
    }

    /// Returns an error unless the answer rules on at least one of the findings with these `numbers`. If a finding has
    /// more than one ruling, keeps the last.
    pub(super) fn read(text: &str, numbers: &[String]) -> Result<Ruled, AnswerError> {
        let Self { rulings: given, summary, title } = read_json(text)?;
        let mut rulings: Vec<FindingRuling> = Vec::new();
        for RawRuling { finding, reason, decision, severity, same_as } in given {
            let word = |text: &str| text.trim().trim_matches(['*', '`', '"', '.']).to_ascii_lowercase();
            let Some(decision) = FindingDecision::ALL.iter().find(|one| one.name() == word(&decision)) else {
                let names: Vec<_> = FindingDecision::ALL.iter().map(|one| one.name()).collect();
                return Err(unfit(format!("`decision` is `{decision}`, not one of {}", names.join(", "))));
            };
            let severity =
                severity.and_then(|text| Severity::ALL.iter().copied().find(|one| one.name() == word(&text)));
            let same_as = same_as.and_then(|name| numbered(&name, numbers)).cloned();
            let named = finding.split(|c: char| c.is_whitespace() || ",;&".contains(c));
            let named: BTreeSet<&String> = named.filter_map(|name| numbered(name, numbers)).collect();
            if *decision == FindingDecision::Fixed && named.iter().any(|number| !Report::is_earlier(number)) {
                return Err(unfit("`fixed` only applies to findings of an earlier review, such as `E1`".to_owned()));
            }
            for number in named {
                rulings.retain(|known| known.finding != *number);
                let (finding, reason) = (number.clone(), reason.trim().to_owned());
                let same_as = same_as.clone().filter(|other| *other != finding);
                rulings.push(FindingRuling { finding, decision: *decision, severity, same_as, reason });
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

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ruled {
    rulings: Vec<FindingRuling>,
    summary: String,
    title: String,
}

impl Ruled {
    /// `missing` is the reason why no rulings could be read, if none could.
    pub fn into_solution(self, debate: &Debate, judge: &AgentId, missing: Option<&AnswerError>) -> Solution {
        Solution {
            title: clean_title(&self.title),
            description: describe_review(debate, &self.rulings, &self.summary),
            synthesized_by: Some(judge.clone()),
            finding_rulings: self.rulings,
            summary: Some(self.summary).filter(|summary| !summary.trim().is_empty()),
            parse_error: missing.map(ToString::to_string),
            ..Solution::default()
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawPointRuling {
    /// The numbers of the points. Similar points may share a ruling.
    points: Vec<String>,
    /// Whether the number was a JSON number, for which `2.10` equals `2.1`.
    is_number: bool,
    decision: Decision,
    section: String,
    remains: String,
    reason: String,
}

impl Assessment {
    /// Turns the judge's answers to the points of a check into rulings: a rejection with a reason dismisses a point,
    /// and a partial acceptance meets it partly. Returns the points that need a ruling: all that were not accepted.
    pub(super) fn rule_by(&mut self, answers: &[Statement<Response>], points: &[Point]) -> Vec<Point> {
        let answer_to = |point: &Point| answers.iter().find(|reply| reply.point == point.id);
        let is_accepted = |point: &&Point| answer_to(point).is_some_and(|reply| reply.verdict == Response::Accepted);
        let ruled: Vec<Point> = points.iter().filter(|point| !is_accepted(point)).cloned().collect();
        let rulings = ruled.iter().filter_map(|point| RawPointRuling::of(point, answer_to(point)?));
        self.rulings.extend(rulings);
        ruled
    }
}

impl RawPointRuling {
    fn of(point: &Point, reply: &Statement<Response>) -> Option<Self> {
        let said = reply.reason.as_deref().unwrap_or_default().trim().to_owned();
        let (decision, remains, reason) = match reply.verdict {
            Response::Rejected if said.contains(char::is_alphanumeric) => (Decision::Dismissed, String::new(), said),
            Response::Partly => (Decision::Partly, said, String::new()),
            Response::Rejected | Response::Accepted => return None,
        };
        let section = reply.section.as_deref().unwrap_or_default().trim().to_owned();
        Some(Self { points: vec![point.number()], is_number: false, decision, section, remains, reason })
    }

    /// Reads all rulings on points. Skips malformed rulings, as if the answer did not contain them.
    pub(super) fn read_all(rulings: Option<&Value>) -> Vec<Self> {
        rulings.and_then(Value::as_array).into_iter().flatten().filter_map(|one| Self::read(one.as_object()?)).collect()
    }

    fn read(ruling: &Map<String, Value>) -> Option<Self> {
        let text = |key: &str| ruling.get(key).and_then(Value::as_str).unwrap_or_default().trim().to_owned();
        let (points, is_number) = match ruling.get("point").or_else(|| ruling.get("points"))? {
            Value::Number(number) => (vec![number.to_string()], true),
            Value::String(text) => (bare_numbers(text), false),
            Value::Array(all) => (all.iter().filter_map(Value::as_str).flat_map(bare_numbers).collect(), false),
            Value::Null | Value::Bool(_) | Value::Object(_) => return None,
        };
        let decision = text("decision").to_lowercase();
        let decision = match decision.chars().filter(char::is_ascii_alphabetic).collect::<String>().as_str() {
            "met" => Decision::Met,
            "partly" | "partlymet" => Decision::Partly,
            "notmet" => Decision::NotMet,
            "dismissed" => Decision::Dismissed,
            _ => return None,
        };
        let reason = text("reason");
        // A dismissal without a reason does not show that the judge considered the point.
        if decision == Decision::Dismissed && !reason.contains(char::is_alphanumeric) {
            return None;
        }
        let remains = text("remains");
        // A point with remaining faults is only partly met.
        let leaves = remains.contains(char::is_alphanumeric) && !is_nothing(&remains);
        let decision = if decision == Decision::Met && leaves { Decision::Partly } else { decision };
        Some(Self { points, is_number, decision, section: text("where"), remains, reason })
    }

    /// Returns a ruling on each listed point: the judge's, otherwise the one in `standing`, otherwise a missing one.
    pub(super) fn on(rulings: &[Self], listed: &[Point], standing: &[Ruling]) -> Vec<Ruling> {
        let ruling = |point: &Point| {
            let found = rulings.iter().find(|one| one.is_on(point, listed));
            let stands = || standing.iter().find(|ruling| ruling.point == point.id).cloned();
            found.map_or_else(
                || stands().unwrap_or_else(|| Ruling::missing(point.id.clone())),
                |one| Ruling {
                    decision: one.decision,
                    section: one.section.clone(),
                    remains: one.remains.clone(),
                    reason: one.reason.clone(),
                    missing: false,
                    ..Ruling::missing(point.id.clone())
                },
            )
        };
        listed.iter().map(ruling).collect()
    }

    fn is_on(&self, point: &Point, listed: &[Point]) -> bool {
        self.points.iter().any(|named| {
            let is_it = |one: &&Point| {
                let number = one.number();
                if self.is_number { number.trim_end_matches('0') == named } else { number.eq_ignore_ascii_case(named) }
            };
            let mut fitting = listed.iter().filter(is_it);
            // A JSON number is ambiguous if both `2.1` and `2.10` are listed.
            fitting.next() == Some(point) && fitting.next().is_none()
        })
    }
}

/// Extracts `2.7` and `D3` from `Points 2.7, D3:`.
fn bare_numbers(text: &str) -> Vec<String> {
    let words = text.split(|c: char| c.is_whitespace() || ",;/&+".contains(c));
    let words = words.filter(|word| word.contains(|c: char| c.is_ascii_digit()));
    words.map(|word| word.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned()).collect()
}

fn is_nothing(remains: &str) -> bool {
    let bare = remains.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    matches!(bare.as_str(), "nothing" | "none" | "no" | "n/a" | "na" | "nothing remains")
}

/// The blocking points that are not met, each with whether it is maintained; maintained points limit the judge's
/// confidence. Omits points that were neither rechecked, maintained nor ruled on.
pub(super) fn unmet<'a>(listed: &'a [Point], rulings: &[Ruling]) -> Vec<(&'a Point, bool)> {
    let blocking = listed.iter().zip(rulings).filter(|(point, _)| point.point.severity == Severity::Blocking);
    let unmet = blocking.filter(|(_, ruling)| ruling.decision == Decision::NotMet);
    let told = unmet.filter(|(point, ruling)| point.recheck().is_some() || point.is_maintained() || !ruling.missing);
    told.map(|(point, _)| (point, point.is_maintained())).collect()
}

/// Returns a sentence that counts the rulings of each kind, and a text for each point that is not fully met. Returns
/// `None` if there are no rulings, or if both the assessment and all rulings are missing.
pub(super) fn under_the_solution(
    listed: &[Point],
    rulings: &[Ruling],
    is_assessed: bool,
) -> Option<(String, Vec<String>)> {
    let count = |words: &str| rulings.iter().filter(|ruling| ruling.in_words() == words).count();
    let kinds = ["met", "partly met", "not met", "not ruled", "dismissed"];
    let counts = kinds.map(|words| (count(words), words)).into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, words)| format!("{count} {words}")).collect();
    let points = counted(rulings.len() as u64, "point");
    let line = format!("By the judge's ruling, of {points}: {}.", list(&counts));
    let item = |(point, ruling): (&Point, &Ruling)| {
        let mut item = format!("{} ({}), {}", point.number(), point.point.severity.name(), ruling.in_words());
        if !ruling.section.trim().is_empty() {
            item = format!("{item} in {}", ruling.section.trim());
        }
        item = format!("{item}: {}", point.point.in_words());
        for (what, said) in [("Remains", &ruling.remains), ("Reason", &ruling.reason)] {
            if !said.is_empty() {
                item = format!("{item}\n{what}: {said}");
            }
        }
        item
    };
    let remaining = listed.iter().zip(rulings).filter(|(_, ruling)| ruling.decision != Decision::Met);
    // If there is no ruling at all, the outcome reports a missing assessment instead.
    let has_ruled = rulings.iter().any(|ruling| !ruling.missing);
    (has_ruled || is_assessed && !rulings.is_empty()).then(|| (line, remaining.map(item).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(answer: &serde_json::Value) -> Result<Vec<String>, String> {
        let numbers = ["1.1", "2.1", "2.2"].map(str::to_owned);
        let shown = |one: &FindingRuling| {
            let severity = one.severity.map_or("-", Severity::name);
            let same_as = one.same_as.as_ref().map(|other| format!(" = {other}")).unwrap_or_default();
            format!("{}{same_as} {} {severity} {}", one.finding, one.decision.name(), one.reason)
        };
        let read = RawRulings::read(&answer.to_string(), &numbers).map_err(|error| error.to_string())?;
        Ok(read.rulings.iter().map(shown).collect())
    }

    #[test]
    fn rulings_are_on_findings_that_were_shown() {
        let ruling = |finding: &str, decision: &str| json!({"finding": finding, "reason": "r", "decision": decision, "severity": "major"});
        let answer = |rulings: &[serde_json::Value]| json!({"rulings": rulings, "summary": "s", "title": "t"});
        assert_eq!(
            read(&answer(&[ruling("1.1", "Stands"), ruling("**2.2**", "dismissed"), ruling("9.9", "stands")])),
            Ok(vec!["1.1 stands major r".to_owned(), "2.2 dismissed major r".to_owned()])
        );
        let both = read(&answer(&[ruling("1.1, 2.1", "open"), ruling("2.1", "stands")]));
        assert_eq!(both, Ok(vec!["1.1 open major r".to_owned(), "2.1 stands major r".to_owned()]));
        assert_eq!(read(&answer(&[ruling("9.9", "stands")])).unwrap_err(), "`rulings` has no ruling on 1.1, 2.1, 2.2");
        assert_eq!(
            read(&answer(&[ruling("1.1", "maybe")])).unwrap_err(),
            "`decision` is `maybe`, not one of stands, dismissed, open, fixed"
        );
        let bare = json!({"rulings": [{"finding": "2.1", "decision": "stands", "sameAs": "`1.1`"}]});
        assert_eq!(read(&bare), Ok(vec!["2.1 = 1.1 stands - ".to_owned()]));
        let own = json!({"rulings": [{"finding": "2.1", "decision": "stands", "sameAs": "2.1"}]});
        assert_eq!(read(&own), Ok(vec!["2.1 stands - ".to_owned()]));
    }
}
