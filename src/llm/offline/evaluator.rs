//! What an evaluator says of a final solution: scores from counts, and what was counted.
//!
//! A criterion that no rule here can judge for the problem at hand has no score: an invented one would pass for a
//! finding.

use std::collections::HashSet;

use serde::Serialize;

use crate::llm::{Brief, MaterialKind};

use super::checklist::{Applicable, Entry, catalog};
use super::document::{COVERAGE, Document, adopted};
use super::judge::{count_of, covers, mean, ratio};
use super::problem::{Problem, Requirement, Weight};
use super::words::{list, stems, terms};
use super::write::json;

/// Points of a checklist that are looked for, those that the problem calls for most strongly first.
const LOOKED_FOR: usize = 6;
/// Titles that a summary names at most.
const NAMED: usize = 3;
/// The part of a solution that the judge says about it; it quotes what is missing.
const ASSESSMENT: &str = "## Judge Assessment";
/// Words by which a problem shows that a regulation matters to it.
const REGULATION: &str = "gdpr hipaa pci sox law legal regulation regulatory regulator compliance compliant audit consent \
    privacy retention auditor certification";

/// One evaluator at work on one solution.
pub(super) struct Evaluator {
    problem: Problem,
    problem_text: String,
    held: Vec<&'static Entry>,
    terms: HashSet<String>,
}

/// A score from 1 to 10 with one decimal, or none, and what it rests on.
#[derive(Serialize)]
struct Score {
    score: Option<f64>,
    reasoning: String,
}

#[derive(Serialize)]
struct NonFunctional {
    performance_scalability: Score,
    security: Score,
    maintainability_evolvability: Score,
    regulatory_compliance: Score,
    testability: Score,
    requirements_fulfillment: Score,
}

#[derive(Serialize)]
struct Scores {
    functional_completeness: Score,
    non_functional: NonFunctional,
}

#[derive(Serialize)]
struct Summary {
    strengths: Vec<String>,
    weaknesses: Vec<String>,
    overall_score: Option<f64>,
}

#[derive(Serialize)]
struct Answer {
    evaluation: Scores,
    overall_summary: Summary,
}

impl Evaluator {
    /// For a brief that is about a final solution; nothing for the judge's briefs, which are about a round.
    pub(super) fn of(brief: &Brief) -> Option<Self> {
        let solution = brief.material.iter().find(|material| material.kind == MaterialKind::Solution)?;
        let mut document = Document::read(&solution.text);
        // Both quote requirements whether or not they are met.
        document.remove(COVERAGE);
        document.remove(ASSESSMENT);
        let text = document.text();
        Some(Self {
            problem: Problem::read(&brief.problem, &brief.clarifications),
            problem_text: brief.problem.to_string(),
            held: adopted(&text),
            terms: terms(&text),
        })
    }

    /// The scores, as JSON.
    pub(super) fn evaluation(&self) -> String {
        let evaluation = Scores {
            functional_completeness: self.met(&[Weight::Major, Weight::Minor], "requirement"),
            non_functional: NonFunctional {
                performance_scalability: self.covered(&["performance"]),
                security: self.covered(&["security"]),
                maintainability_evolvability: self.covered(&["architect", "kiss"]),
                regulatory_compliance: self.regulation(),
                testability: self.covered(&["testing"]),
                requirements_fulfillment: self.met(&[Weight::Major], "major requirement"),
            },
        };
        let overall_summary = self.summary(&evaluation);
        json(&Answer { evaluation, overall_summary })
    }

    /// How many of the stated requirements the solution takes up.
    fn met(&self, weights: &[Weight], what: &str) -> Score {
        let asked = || weights.iter().flat_map(|weight| self.problem.weighing(*weight));
        let met = asked().filter(|requirement| self.takes_up(requirement)).count();
        share(met, asked().count(), &format!("{what} that the problem states"), "the solution takes up")
    }

    /// How many points of these checklists, as far as they apply to the problem, the solution holds.
    fn covered(&self, roles: &[&str]) -> Score {
        let applicable = roles.iter().flat_map(|role| {
            let mut called = catalog().of(role).applicable(&self.problem);
            called.truncate(LOOKED_FOR);
            called
        });
        let wanted: Vec<Applicable> = applicable.collect();
        let held = wanted.iter().filter(|one| covers(&self.held, one.entry)).count();
        share(held, wanted.len(), &format!("point of the {} checklist", roles.join(" and ")), "the solution holds")
    }

    /// How many of the words about regulation that the problem uses the solution uses too.
    fn regulation(&self) -> Score {
        let known: HashSet<String> = stems(REGULATION).into_iter().collect();
        let named: HashSet<String> =
            stems(&self.problem_text).into_iter().filter(|stem| known.contains(stem)).collect();
        let taken_up = named.iter().filter(|stem| self.terms.contains(*stem)).count();
        share(taken_up, named.len(), "word about regulation that the problem uses", "the solution takes up")
    }

    /// A requirement is taken up when a point of a checklist answers it, or when most of its telling words occur.
    fn takes_up(&self, requirement: &Requirement) -> bool {
        let by_point = self.held.iter().any(|entry| entry.answers(requirement) > 0);
        let occurring = requirement.terms.intersection(&self.terms).count();
        by_point || (occurring > 0 && 2 * occurring > requirement.terms.len())
    }

    fn summary(&self, scores: &Scores) -> Summary {
        let NonFunctional {
            performance_scalability,
            security,
            maintainability_evolvability,
            regulatory_compliance,
            testability,
            requirements_fulfillment,
        } = &scores.non_functional;
        let all = [
            &scores.functional_completeness,
            performance_scalability,
            security,
            maintainability_evolvability,
            regulatory_compliance,
            testability,
            requirements_fulfillment,
        ];
        let given: Vec<f64> = all.iter().filter_map(|score| score.score).collect();
        let titles: Vec<String> = self.held.iter().take(NAMED).map(|entry| entry.title.clone()).collect();
        let points = count_of(self.held.len(), "point");
        let open = self.problem.weighing(Weight::Major).filter(|requirement| !self.takes_up(requirement));
        Summary {
            strengths: if titles.is_empty() {
                Vec::new()
            } else {
                vec![format!("It holds {points} of the checklists, among them {}.", list(&titles))]
            },
            weaknesses: open.map(|open| format!("Nothing found for the requirement “{}”.", open.text)).collect(),
            overall_score: (!given.is_empty()).then(|| tenths(mean(given.into_iter()))),
        }
    }
}

/// The score of a share: 1 for nothing, 10 for all.
fn share(part: usize, whole: usize, what: &str, verb: &str) -> Score {
    if whole == 0 {
        let reasoning = format!("By rule, without a model: there is no {what}, so nothing is scored.");
        return Score { score: None, reasoning };
    }
    let reasoning = format!("By rule, without a model: {verb} {part} of {}.", count_of_first(whole, what));
    Score { score: Some(tenths(1.0 + 9.0 * ratio(part, whole))), reasoning }
}

/// `3 points of the kiss checklist`: the plural belongs to the head of the phrase.
fn count_of_first(count: usize, what: &str) -> String {
    let (head, rest) = what.split_once(" of ").or_else(|| what.split_once(" that ")).unwrap_or((what, ""));
    let joint = what.get(head.len()..what.len() - rest.len()).unwrap_or_default();
    format!("{}{joint}{rest}", count_of(count, head))
}

fn tenths(score: f64) -> f64 {
    (score * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::debate::{AgentId, CallKey, Phase};
    use crate::llm::Material;

    fn evaluate(problem: &str, solution: &str) -> Value {
        let brief = Brief {
            key: CallKey { round: 1, phase: Phase::Evaluation, agent_id: AgentId::new("e"), target_agent_id: None },
            role: "evaluator".into(),
            problem: problem.into(),
            clarifications: [].into(),
            material: vec![Material {
                author: AgentId::new("judge"),
                role: "".into(),
                kind: MaterialKind::Solution,
                text: solution.into(),
            }],
        };
        serde_json::from_str(&Evaluator::of(&brief).unwrap().evaluation()).unwrap()
    }

    const PROBLEM: &str =
        "Design a photo store. Uploads must resume after a broken connection. It shall keep an audit log.";

    #[test]
    fn scores_follow_from_what_the_solution_holds() {
        let poor =
            evaluate(PROBLEM, "Use a disk.\n\n## Requirements Coverage\n\n- Uploads resume after a broken connection");
        let rich = evaluate(
            PROBLEM,
            "Uploads resume after a broken connection.\n\n- **Restore drills.** Do.\n\nEvery change goes to an audit log.",
        );
        let score = |answer: &Value, pointer: &str| answer.pointer(pointer).and_then(Value::as_f64);
        let functional = "/evaluation/functional_completeness/score";
        let regulation = "/evaluation/non_functional/regulatory_compliance/score";
        assert_eq!((score(&poor, functional), score(&rich, functional)), (Some(1.0), Some(10.0)));
        assert_eq!((score(&poor, regulation), score(&rich, regulation)), (Some(1.0), Some(10.0)));
        assert!(score(&poor, "/overall_summary/overall_score") < score(&rich, "/overall_summary/overall_score"));
        assert_eq!(poor["overall_summary"]["weaknesses"].as_array().unwrap().len(), 2);
        let reasoning = rich.pointer("/evaluation/functional_completeness/reasoning").unwrap();
        assert_eq!(
            reasoning,
            "By rule, without a model: the solution takes up 2 of 2 requirements that the problem states."
        );
    }

    #[test]
    fn what_no_rule_can_judge_has_no_score() {
        let answer = evaluate("Design a photo store", "Use a disk.");
        for pointer in [
            "functional_completeness",
            "non_functional/regulatory_compliance",
            "non_functional/requirements_fulfillment",
        ] {
            let score = answer.pointer(&format!("/evaluation/{pointer}")).unwrap();
            assert!(score["score"].is_null(), "{pointer}: {score}");
            assert!(score["reasoning"].as_str().unwrap().contains("nothing is scored"), "{score}");
        }
        assert!(answer.pointer("/evaluation/non_functional/security/score").unwrap().is_number());
    }
}
