//! Measures how far the texts of a round agree in their decisions, and how similar they are.
//!
//! A text lists its decisions under the heading `Decisions`. Decisions with the same words count as the same; the judge
//! names other pairs that mean the same or exclude each other. A *matter* is a group of decisions connected by these
//! pairs, or a single unconnected decision. Texts agree on a matter if each of them states one of its decisions and no
//! two of these are opposite. Agreement is the percentage of matters agreed on, or 0 if opposite decisions concern a
//! major requirement. It is unknown if there are fewer than two texts, if a text lists no decisions, or if the judge's
//! relations are needed but missing.

use std::collections::{BTreeMap, BTreeSet};

use rust_stemmers::{Algorithm, Stemmer};
use serde::{Deserialize, Serialize};

use crate::debate::Debate;
use crate::ids::{AgentId, CallKey};
use crate::points::PointId;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wording {
    /// The decision as first worded; other agents' wordings may differ in case and punctuation.
    pub decision: String,
    pub agents: Vec<AgentId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Relation {
    /// The same decision in other words.
    Same,
    /// The decisions exclude each other.
    Opposite,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelatedPair {
    pub first: String,
    pub second: String,
    pub relation: Relation,
}

/// How the judge relates the decisions of a round. Pairs not listed are unrelated.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Relations {
    pub decisions: Vec<String>,
    pub pairs: Vec<RelatedPair>,
    /// Maps each decision that concerns a major requirement to that requirement.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requirements: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matter {
    pub decisions: Vec<Wording>,
    /// Whether each text states one of the decisions and no two of the decisions are opposite.
    pub agreed: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub opposed: bool,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Convergence {
    /// The percentage of matters on which all texts agree; absent if unknown.
    pub agreement: Option<f64>,
    /// Why the agreement is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// The debate has converged if the agreement reaches this percentage.
    #[serde(serialize_with = "crate::ids::serialize_number")]
    pub threshold: f64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matters: Vec<Matter>,
    /// A major requirement on which decisions are opposite. If set, the agreement is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opposed_on: Option<String>,
    /// How similar each agent's text is to its previous one, 0 to 100; agents without a previous text are omitted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stability: BTreeMap<AgentId, f64>,
    /// The mean similarity of all pairs of texts, 0 to 100; absent if unknown. Informational only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similarity: Option<f64>,
}

impl Convergence {
    pub fn is_reached(&self) -> bool {
        self.agreement.is_some_and(|agreement| agreement >= self.threshold)
    }

    /// The mean of `stability`, 0 to 100; `None` if no agent has a previous text.
    pub fn mean_stability(&self) -> Option<f64> {
        mean(self.stability.values().copied())
    }
}

pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.into_iter().fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Challenge {
    /// Claims that every text makes and no text supports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<NeglectedPoint>,
}

/// A critic's point that no author answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NeglectedPoint {
    pub point: PointId,
    /// The author of the criticised text.
    pub target_agent_id: AgentId,
    pub text: String,
}

impl Challenge {
    pub fn is_empty(&self) -> bool {
        self.claims.is_empty() && self.points.is_empty()
    }
}

/// Additional rounds, granted because the winning text misses a major requirement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Extension {
    /// The last round before the extension.
    pub round: u32,
    pub winner: AgentId,
    /// The major requirements that the winning text misses.
    pub missing: Vec<String>,
    /// The verdict that led to the extension, kept because a later verdict replaces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<super::Verdict>,
    /// The vote that preceded the extension, kept because a later vote replaces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voting: Option<super::Voting>,
}

dialectic_base::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
    pub enum Argument {
        /// Rests on verifiable facts.
        Evidence = "evidence",
        /// Accepts another agent's point.
        Concession = "concession",
        /// Argues against another agent's point.
        Rebuttal = "rebuttal",
        /// States the conditions under which a claim holds.
        Qualification = "qualification",
        /// Appeals to an authority.
        Authority = "authority",
        /// Asks a question.
        Question = "question",
        /// Combines several statements.
        Synthesis = "synthesis",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Observation {
    #[serde(flatten)]
    pub of: CallKey,
    pub kinds: BTreeSet<Argument>,
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '’'));
    words.filter(|word| !word.is_empty()).map(|word| word.to_lowercase().replace('’', "'"))
}

const NEGATIONS: [&str; 8] = ["not", "no", "never", "don't", "without", "avoid", "cannot", "neither"];
/// Words that may accompany a negation, as in `we do not use any cache`.
const COMPANIONS: [&str; 4] = ["do", "does", "any", "we"];

/// Whether two decisions differ only by a negation. Such decisions are opposite, whatever the judge says.
fn is_negation(one: &str, other: &str) -> bool {
    let taken_apart = |text: &str| {
        let (negations, rest): (Vec<String>, Vec<String>) =
            words(text).partition(|word| NEGATIONS.contains(&word.as_str()));
        let rest: Vec<String> = rest.into_iter().filter(|word| !COMPANIONS.contains(&word.as_str())).collect();
        (negations.len() % 2, rest)
    };
    let ((one_is_negated, one), (other_is_negated, other)) = (taken_apart(one), taken_apart(other));
    one_is_negated != other_is_negated && !one.is_empty() && one == other
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decisions {
    pub authors: Vec<AgentId>,
    /// Distinct wordings, sorted alphabetically so that their order does not reveal the authors.
    pub wordings: Vec<Wording>,
    /// The first author whose text lists no decisions.
    pub silent: Option<AgentId>,
}

impl Decisions {
    pub fn of<'a>(texts: impl IntoIterator<Item = (&'a AgentId, &'a [String])>) -> Self {
        let (mut authors, mut silent) = (Vec::new(), None);
        let mut wordings: BTreeMap<String, Wording> = BTreeMap::new();
        for (author, decisions) in texts {
            authors.push(author.clone());
            let mut said_something = false;
            for decision in decisions {
                let normal = words(decision).collect::<Vec<_>>().join(" ");
                if normal.is_empty() {
                    continue;
                }
                said_something = true;
                let new = || Wording { decision: decision.clone(), agents: Vec::new() };
                let wording = wordings.entry(normal).or_insert_with(new);
                if !wording.agents.contains(author) {
                    wording.agents.push(author.clone());
                }
            }
            if !said_something {
                silent = silent.or_else(|| Some(author.clone()));
            }
        }
        Self { authors, wordings: wordings.into_values().collect(), silent }
    }

    /// Whether the judge must relate the decisions. False if all authors decide the same, or if the agreement would be
    /// unknown anyway.
    pub fn are_open(&self) -> bool {
        let is_everybodys = |wording: &Wording| wording.agents.len() == self.authors.len();
        self.unknown().is_none() && !self.wordings.iter().all(is_everybodys)
    }

    fn unknown(&self) -> Option<String> {
        if self.authors.len() < 2 {
            return Some("there are fewer than two texts to compare".to_owned());
        }
        self.silent.as_ref().map(|silent| format!("{silent}'s text lists no decisions"))
    }

    /// Computes the agreement, but leaves stability, similarity and threshold unset.
    pub fn agreement(&self, relations: Option<&Relations>) -> Convergence {
        let unknown = self.unknown().or_else(|| {
            (self.are_open() && relations.is_none()).then(|| "the judge did not say which decisions match".to_owned())
        });
        if unknown.is_some() {
            return Convergence { unknown, ..Convergence::default() };
        }
        let related = self.related(relations);
        let mut group: Vec<usize> = (0..self.wordings.len()).collect();
        for (first, second, _) in &related {
            let (from, to) = (group[*second], group[*first]);
            group.iter_mut().filter(|one| **one == from).for_each(|one| *one = to);
        }
        let mut matters = Vec::new();
        for number in 0..self.wordings.len() {
            let members: Vec<usize> = (0..self.wordings.len()).filter(|place| group[*place] == number).collect();
            if members.is_empty() {
                continue;
            }
            let opposed =
                related.iter().any(|(first, _, relation)| *relation == Relation::Opposite && members.contains(first));
            let holds = |author: &AgentId| members.iter().any(|place| self.wordings[*place].agents.contains(author));
            matters.push(Matter {
                decisions: members.iter().map(|place| self.wordings[*place].clone()).collect(),
                agreed: !opposed && self.authors.iter().all(holds),
                opposed,
            });
        }
        let requirement =
            |place: &usize| relations.and_then(|known| known.requirements.get(&self.wordings[*place].decision));
        let opposed_on = related.iter().find_map(|(first, second, relation)| {
            (*relation == Relation::Opposite).then(|| requirement(first).or_else(|| requirement(second))).flatten()
        });
        let opposed_on = opposed_on.cloned();
        let share = mean(matters.iter().map(|matter| if matter.agreed { 100.0 } else { 0.0 }));
        let agreement = if opposed_on.is_some() { Some(0.0) } else { share };
        Convergence { agreement, matters, opposed_on, ..Convergence::default() }
    }

    /// The pairs of related decisions, as indices into `wordings`, each with its relation.
    fn related(&self, relations: Option<&Relations>) -> Vec<(usize, usize, Relation)> {
        let place = |decision: &str| self.wordings.iter().position(|wording| wording.decision == decision);
        let named = relations.into_iter().flat_map(|relations| &relations.pairs).filter_map(|pair| {
            Some((place(&pair.first)?, place(&pair.second)?, pair.relation))
                .filter(|(first, second, _)| first != second)
        });
        let mut related: Vec<(usize, usize, Relation)> = named.collect();
        for first in 0..self.wordings.len() {
            for second in first + 1..self.wordings.len() {
                if is_negation(&self.wordings[first].decision, &self.wordings[second].decision) {
                    related.retain(|(one, other, _)| ![(first, second), (second, first)].contains(&(*one, *other)));
                    related.push((first, second, Relation::Opposite));
                }
            }
        }
        related
    }
}

impl Debate {
    pub fn decisions_of(&self, texts: &[CallKey]) -> Decisions {
        let texts = texts.iter().filter_map(|key| self.contribution(key));
        Decisions::of(texts.map(|text| {
            let decisions = text.reading.as_ref().map_or(&[][..], |reading| reading.decisions.as_slice());
            (&text.agent_id, decisions)
        }))
    }
}

type Weights = BTreeMap<String, f64>;

/// Returns a map for each text, from the stems of its words to their weights. A stem weighs more if its text uses it
/// more often and if fewer of the texts use it.
pub(crate) fn weights<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Weights> {
    let stemmer = Stemmer::create(Algorithm::English);
    let counted: Vec<Weights> = texts
        .into_iter()
        .map(|text| {
            let mut counts = Weights::new();
            for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
                *counts.entry(stemmer.stem(&word.to_lowercase()).into_owned()).or_default() += 1.0;
            }
            counts
        })
        .collect();
    let mut having: BTreeMap<&str, f64> = BTreeMap::new();
    for word in counted.iter().flat_map(BTreeMap::keys) {
        *having.entry(word).or_default() += 1.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "bounded by the number of agents")]
    let texts = counted.len() as f64;
    // Smoothed as if one more text contained every word, which keeps weights positive and bounded.
    let rarity = |word: &str| ((1.0 + texts) / (1.0 + having.get(word).copied().unwrap_or_default())).ln() + 1.0;
    let weigh = |counts: &Weights| {
        counts.iter().map(|(word, count)| (word.clone(), (1.0 + count.ln()) * rarity(word))).collect()
    };
    counted.iter().map(weigh).collect()
}

/// The cosine similarity of two texts, 0 to 100; `None` if one has no words.
pub(crate) fn similarity(one: &Weights, other: &Weights) -> Option<f64> {
    let product: f64 = one.iter().filter_map(|(word, weight)| Some(weight * other.get(word)?)).sum();
    let length = |of: &Weights| of.values().map(|weight| weight * weight).sum::<f64>().sqrt();
    let lengths = length(one) * length(other);
    (lengths > 0.0).then(|| (product / lengths * 100.0).clamp(0.0, 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decisions(texts: &[(&str, &[&str])]) -> Decisions {
        let texts: Vec<(AgentId, Vec<String>)> = texts
            .iter()
            .map(|(author, of)| (AgentId::new(*author), of.iter().map(|one| (*one).to_owned()).collect()))
            .collect();
        Decisions::of(texts.iter().map(|(author, of)| (author, of.as_slice())))
    }

    fn relations(pairs: &[(&str, &str, Relation)], requirements: &[(&str, &str)]) -> Relations {
        let pair = |(first, second, relation): &(&str, &str, Relation)| RelatedPair {
            first: (*first).to_owned(),
            second: (*second).to_owned(),
            relation: *relation,
        };
        Relations {
            decisions: Vec::new(),
            pairs: pairs.iter().map(pair).collect(),
            requirements: requirements.iter().map(|(one, on)| ((*one).to_owned(), (*on).to_owned())).collect(),
        }
    }

    #[test]
    fn equal_wordings_are_the_same_without_asking_anybody() {
        let all = decisions(&[("a", &["**Use Postgres.**", "Cache reads"]), ("b", &["use postgres", "cache  reads!"])]);
        assert!(!all.are_open());
        assert_eq!(all.agreement(None).agreement, Some(100.0));
        let other = decisions(&[("a", &["Use Postgres"]), ("b", &["Use SQLite"])]);
        assert!(other.are_open());
        assert_eq!(other.agreement(None).agreement, None);
        assert_eq!(other.agreement(Some(&Relations::default())).agreement, Some(0.0));
    }

    #[test]
    fn other_words_for_the_same_decision_agree_where_the_judge_says_so() {
        let all = decisions(&[
            ("a", &["Keep the data in Postgres", "Use a queue"]),
            ("b", &["PostgreSQL is the store", "Use a queue"]),
            ("c", &["Store: Postgres"]),
        ]);
        // The third is related to the first through the second.
        let same = relations(
            &[
                ("Keep the data in Postgres", "PostgreSQL is the store", Relation::Same),
                ("Store: Postgres", "PostgreSQL is the store", Relation::Same),
            ],
            &[],
        );
        let agreement = all.agreement(Some(&same));
        assert_eq!(agreement.agreement, Some(50.0), "the third says nothing of the queue");
        assert_eq!(agreement.matters.len(), 2);
        assert_eq!(agreement.matters.iter().filter(|matter| matter.agreed).count(), 1);
    }

    #[test]
    fn an_opposite_pair_divides_its_matter_and_on_a_major_requirement_everything() {
        let all = decisions(&[("a", &["Use Kafka", "Log to files"]), ("b", &["Use Rabbit", "Log to files"])]);
        let opposite = |on: &[(&str, &str)]| relations(&[("Use Kafka", "Use Rabbit", Relation::Opposite)], on);
        assert_eq!(all.agreement(Some(&opposite(&[]))).agreement, Some(50.0));
        let grave = all.agreement(Some(&opposite(&[("Use Rabbit", "It must not lose a message")])));
        assert_eq!(grave.agreement, Some(0.0));
        assert_eq!(grave.opposed_on.as_deref(), Some("It must not lose a message"));
    }

    #[test]
    fn a_negation_is_no_agreement_whatever_the_judge_says() {
        for (one, other) in [
            ("Use Postgres", "Do not use Postgres"),
            ("Use Postgres.", "Don’t use Postgres."),
            ("Cache the reads", "Never cache the reads"),
        ] {
            let all = decisions(&[("a", &[one]), ("b", &[other])]);
            let agreement = all.agreement(Some(&relations(&[(one, other, Relation::Same)], &[])));
            assert_eq!(agreement.agreement, Some(0.0), "{one} / {other}");
            assert!(agreement.matters[0].opposed);
        }
        assert!(!is_negation("Use Postgres", "Do use Postgres"));
        assert!(!is_negation("Use Postgres", "Do not use Redis"));
        assert!(!is_negation("no", "not"));
    }

    #[test]
    fn what_is_unknown_is_no_agreement() {
        assert_eq!(decisions(&[("a", &["x"])]).agreement(None).agreement, None);
        let silent = decisions(&[("a", &["x"]), ("b", &["**"])]);
        assert!(!silent.are_open());
        assert_eq!(silent.agreement(None).unknown.as_deref(), Some("b's text lists no decisions"));
    }

    #[test]
    fn repeated_words_are_alike_and_other_words_are_not() {
        let weights = weights([
            "Queues decouple the services. Use Postgres.",
            "The services are decoupled by a queue; use Postgres!",
            "Bananas ripen slowly",
            "",
            "Queues decouple the services. Do not use Postgres.",
        ]);
        let alike = |one: usize, other: usize| similarity(&weights[one], &weights[other]).unwrap();
        assert!((alike(0, 0) - 100.0).abs() < 1e-9);
        assert!(alike(0, 1) > 40.0, "{}", alike(0, 1));
        assert!(alike(0, 2).abs() < 1e-9);
        assert_eq!(similarity(&weights[0], &weights[3]), None);
        // Similarity of words says little, which is why nothing depends on it.
        assert!(alike(0, 4) > 70.0, "{}", alike(0, 4));
        assert!((alike(0, 4) - alike(4, 0)).abs() < 1e-9);
    }

    #[test]
    fn a_weight_is_what_it_says() {
        // They share one of two words.
        let weights = weights(["red apple", "red pear"]);
        let (common, own) = (1.0_f64, (3.0_f64 / 2.0).ln() + 1.0);
        let expected = common * common / (common * common + own * own) * 100.0;
        assert!((similarity(&weights[0], &weights[1]).unwrap() - expected).abs() < 1e-9);
    }
}
