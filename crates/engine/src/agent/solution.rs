//! Turns the judge's answer into the solution for the user.

use std::fmt::Write;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use dialectic_record::debate::{
    ASSESSMENT, AgentId, PartlyFulfilled, Point, Ruling, Solution, clean_title, limited_confidence,
};

use super::rulings::{RawPointRuling, under_the_solution, unmet};
use super::{Assessment, Labels, Written};

/// The maximum confidence with an unfulfilled major requirement.
const UNFULFILLED_CAP: f64 = 40.0;
/// The maximum confidence with a valid, maintained blocking objection that is not met.
const UNMET_CAP: f64 = 60.0;

/// The heading of the judge's rulings.
const REMAINS: &str = "What Remains of the Objections";
/// The heading of the last section of a solution that amends a candidate.
pub const CANDIDATES: &str = "### Candidates\n\n";

/// The expectation shown for a number that is not a percentage.
pub(super) const EXPECTED: &str = "expected a number from 0 to 100 (82, not 0.82)";

/// A number from 0 to 100, or a text such as `82`, `82%` and `82/100`. Rejects numbers between 0 and 1, since 0.82 is
/// ambiguous.
pub(super) fn percentage_of(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => {
            let text = text.trim();
            text.strip_suffix('%').or_else(|| text.strip_suffix("/100")).unwrap_or(text).trim().parse().ok()
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    number.filter(|number| *number == 0.0 || (1.0..=100.0).contains(number))
}

/// Deserializes a single field with [`percentage_of`].
pub(super) fn percentage<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = Value::deserialize(deserializer)?;
    percentage_of(&value).ok_or_else(|| serde::de::Error::custom(EXPECTED))
}

/// [`percentage`] for an optional number; an unreadable one counts as missing.
pub(super) fn percentage_if_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Ok(percentage_of(&Value::deserialize(deserializer)?))
}

impl Written {
    /// The solution followed by the judge's assessment. `listed` are the points that needed a ruling, `standing` the
    /// earlier rulings.
    pub fn into_solution(self, judge: &AgentId, listed: &[Point], standing: &[Ruling]) -> Solution {
        let Self { solution, assessment, missing } = self;
        let Assessment {
            base: _,
            tradeoffs,
            recommendations,
            mut unfulfilled_major_requirements,
            partly_fulfilled,
            mut open_questions,
            rulings,
            title,
            rethought: _,
            confidence,
        } = assessment;
        // A requirement that never holds, or always fails, is not partly fulfilled.
        let (never, partly_fulfilled): (Vec<_>, Vec<_>) =
            partly_fulfilled.into_iter().partition(|one| holds_never(&one.holds) || is_always(&one.fails));
        unfulfilled_major_requirements.extend(never.into_iter().map(|one| {
            let PartlyFulfilled { requirement, fails, .. } = one;
            if fails.is_empty() || is_always(&fails) { requirement } else { format!("{requirement}: {fails}") }
        }));
        let rulings = RawPointRuling::on(&rulings, listed, standing);
        let mut cap = if unfulfilled_major_requirements.is_empty() { 100.0 } else { UNFULFILLED_CAP };
        for (objection, counts) in unmet(listed, &rulings) {
            let (number, words) = (objection.number(), objection.point.in_words());
            open_questions.push(format!("The blocking point {number} is not met: {words}"));
            if counts {
                cap = cap.min(UNMET_CAP);
            }
        }
        let stated_confidence = confidence.filter(|stated| *stated > cap);
        let confidence = confidence.map(|confidence| confidence.min(cap));
        let partly = partly_fulfilled.iter().map(in_words).collect();
        let (ruled, remaining) = under_the_solution(listed, &rulings, missing.is_none()).unzip();
        let remaining = remaining.unwrap_or_default();
        let lists = [
            ("⚠️ Unfulfilled Major Requirements", &unfulfilled_major_requirements),
            ("Partly Fulfilled Requirements", &partly),
            (REMAINS, &remaining),
            ("Open Questions", &open_questions),
            ("Recommendations", &recommendations),
            ("Trade-offs", &tradeoffs),
        ];
        let limited = limited_confidence(stated_confidence, !unfulfilled_major_requirements.is_empty());
        let limited = limited.map(|why| format!(" ({why})")).unwrap_or_default();
        let mut description = solution.trim_end().to_owned();
        if confidence.is_some() || ruled.is_some() || lists.iter().any(|(_, items)| !items.is_empty()) {
            description.push_str(ASSESSMENT);
        }
        if let Some(confidence) = confidence {
            // Writing to a string cannot fail.
            let _ = write!(description, "**Confidence Score**: {confidence}/100{limited}\n\n");
        }
        for (heading, items) in lists {
            let counts = ruled.as_ref().filter(|_| heading == REMAINS);
            if !items.is_empty() || counts.is_some() {
                let _ = write!(description, "### {heading}\n\n");
                description.extend(counts.map(|counts| format!("{counts}\n\n")));
                description.extend(items.iter().map(|item| bullet(item)));
                if !items.is_empty() {
                    description.push('\n');
                }
            }
        }
        Solution {
            title: title.as_deref().and_then(clean_title),
            description,
            tradeoffs,
            recommendations,
            confidence,
            stated_confidence,
            synthesized_by: Some(judge.clone()),
            unfulfilled_major_requirements,
            partly_fulfilled,
            open_questions,
            rulings,
            parse_error: missing.map(|error| error.to_string()),
            ..Solution::default()
        }
    }

    /// The solution that amends a candidate, with the judge's assessment and the authors of the labels.
    pub fn into_amended_solution(
        self,
        judge: &AgentId,
        labels: &Labels,
        listed: &[Point],
        standing: &[Ruling],
    ) -> Solution {
        let base = self.assessment.base.as_deref().and_then(|label| labels.author(label).ok().cloned());
        let mut solution = self.into_solution(judge, listed, standing);
        if !solution.description.ends_with("\n\n") {
            solution.description.push_str("\n\n");
        }
        solution.description.push_str(CANDIDATES);
        for (label, author) in labels.iter() {
            let is_base = if base.as_ref() == Some(author) { " (the base)" } else { "" };
            // Writing to a string cannot fail.
            let _ = writeln!(solution.description, "- Text {label}: {author}{is_base}");
        }
        solution.description.push('\n');
        Solution { base, ..solution }
    }
}

/// A partly fulfilled requirement as a sentence.
fn in_words(one: &PartlyFulfilled) -> String {
    let PartlyFulfilled { requirement, holds, fails } = one;
    let fails = if fails.is_empty() { "the answer does not say when" } else { fails };
    format!("{requirement}. Holds: {holds}. Fails: {fails}.").replace("..", ".")
}

/// Whether a requirement never holds.
fn holds_never(holds: &str) -> bool {
    matches!(bare(holds).as_str(), "" | "never" | "none" | "nowhere" | "not at all" | "in no case" | "n/a")
}

/// Whether a requirement fails in every case.
fn is_always(fails: &str) -> bool {
    let fails = bare(fails);
    let all = ["always", "in every case", "in all cases", "in any case", "every time", "at all times", "everywhere"];
    // `Always when the queue is full` is a specific case.
    all.iter().any(|word| {
        let after = fails.strip_prefix(word).map(str::trim_start);
        after.is_some_and(|after| after.is_empty() || after.starts_with([',', ';', ':', '.', '-', '–', '(']))
    })
}

/// The words of a text without punctuation.
fn bare(text: &str) -> String {
    text.trim_matches(|c: char| c.is_whitespace() || ".,;:!-–—*_`\"'()".contains(c)).to_lowercase()
}

/// A list item; its continuation lines are indented.
fn bullet(item: &str) -> String {
    format!("- {}\n", item.replace('\n', "\n  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_has_the_form_of_existing_debates() {
        let answer = "# Solution\n\nUse a {token} bucket and a \"ledger\".\n\n```json\n{\"tradeoffs\":[\"memory\"],\
            \"recommendations\":[\"measure\"],\"unfulfilledMajorRequirements\":[],\"openQuestions\":[\"which region?\"],\
            \"confidence\":82}\n```";
        let solution = Written::read(answer).into_solution(&"judge-main".into(), &[], &[]);
        let fixture: dialectic_record::debate::Debate =
            serde_json::from_str(include_str!("../../../../tests/fixtures/simple.json")).unwrap();
        assert_eq!(Some(solution), fixture.final_solution);
    }

    #[test]
    fn an_unfulfilled_major_requirement_caps_the_confidence() {
        let answer = r#"x {"unfulfilledMajorRequirements":"300 ms","confidence":"90%","tradeoffs":null}"#;
        let solution = Written::read(answer).into_solution(&"j".into(), &[], &[]);
        assert_eq!(solution.confidence, Some(40.0));
        assert!(solution.description.contains("### ⚠️ Unfulfilled Major Requirements\n\n- 300 ms\n"));
    }

    #[test]
    fn what_fails_in_a_named_case_caps_nothing_and_what_fails_always_is_unfulfilled() {
        let read = |partly: &str| {
            let block = format!(
                "x\n\n```json\n{{\"unfulfilledMajorRequirements\":[],\"partlyFulfilled\":[{partly}],\
                 \"title\":\"**Order numbers**\",\"confidence\":90}}\n```"
            );
            Written::read(&block).into_solution(&"j".into(), &[], &[])
        };
        let partly = |holds: &str, fails: &str| {
            read(&serde_json::json!({"requirement": "no gaps", "holds": holds, "fails": fails}).to_string())
        };
        let solution = partly("in one data centre", "when two are cut off");
        assert_eq!((solution.confidence, solution.title.as_deref()), (Some(90.0), Some("Order numbers")));
        assert_eq!(solution.partly_fulfilled.len(), 1);
        let shown = "### Partly Fulfilled Requirements\n\n- no gaps. Holds: in one data centre. Fails: when two are cut \
                     off.\n";
        assert!(solution.description.contains(shown), "{}", solution.description);
        assert!(partly("at night", "always when the queue is full").unfulfilled_major_requirements.is_empty());
        for (holds, fails) in
            [("", "on failover"), ("Never.", "on failover"), ("at night", "Always."), ("x", "in all cases, so far")]
        {
            let solution = partly(holds, fails);
            assert_eq!(solution.confidence, Some(40.0), "{holds} {fails}");
            assert!(solution.partly_fulfilled.is_empty());
            assert_eq!(solution.unfulfilled_major_requirements.len(), 1);
        }
        assert_eq!(partly("", "on failover").unfulfilled_major_requirements, ["no gaps: on failover"]);
        assert_eq!(read("\"plain\"").unfulfilled_major_requirements, ["plain"]);
    }

    #[test]
    fn a_solution_without_an_assessment_claims_none() {
        let solution = Written::read("Use a ring.").into_solution(&"j".into(), &[], &[]);
        assert_eq!((solution.description.as_str(), solution.confidence), ("Use a ring.", None));
        assert_eq!(solution.parse_error.as_deref(), Some("it has no assessment"));
        let answer = "Use a ring.\n\n```json\n{\"tradeoffs\":[\"memory\"],\"recommendations\":[";
        let solution = Written::read(answer).into_solution(&"j".into(), &[], &[]);
        assert_eq!(solution.description, "Use a ring.\n\n---\n\n## Judge Assessment\n\n### Trade-offs\n\n- memory\n\n");
        assert_eq!((solution.confidence, solution.tradeoffs.len()), (None, 1));
    }
}
