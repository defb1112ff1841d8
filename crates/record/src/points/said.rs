//! Recorded readings of objections in texts and the judge's answers.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use dialectic_base::call::is_default;

use crate::debate::{AgentId, Finding, Opinion};

use super::{Found, Point, RecheckStanding, Response};

use super::reads::without;

/// The permanent id of a point: `r1/agent-kiss/agent-architect/2` is the second point of `agent-kiss` against
/// `agent-architect` in round 1, `check1/facts/agent-kiss/2` its second point against the first draft.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PointId(Arc<str>);

impl PointId {
    pub(super) fn new(round: u32, critic: &AgentId, target: &AgentId, number: usize) -> Self {
        let [critic, target] = [critic, target].map(|agent| escaped(agent.as_str()));
        Self(format!("r{round}/{critic}/{target}/{number}").into())
    }

    pub(super) fn of_check(draft: u32, lens: &str, checker: &AgentId, number: usize) -> Self {
        let [lens, checker] = [lens, checker.as_str()].map(escaped);
        Self(format!("check{draft}/{lens}/{checker}/{number}").into())
    }
}

/// Escapes separators in an agent's name, such as `a/b`, which could produce another point's id.
fn escaped(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2F")
}

impl fmt::Display for PointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The objections read from a contribution when it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Reading {
    /// The points of a critique. Empty if it states that it has none; absent if none could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<Point>>,
    /// Points of a critique beyond the limit.
    #[serde(skip_serializing_if = "is_default")]
    pub unread: usize,
    /// Texts without a readable section in a review of several texts.
    #[serde(skip_serializing_if = "is_default")]
    pub unread_texts: usize,
    /// Approaches that a review rejects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub given_up: Vec<GivenUp>,
    /// Remarks on earlier points.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rechecks: Vec<Recheck>,
    /// Findings of a checker about accepted points.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verifications: Vec<Verification>,
    /// Answers of a proposal to earlier points.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AuthorReply>,
    /// The position of the answers in the text, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers_at: Option<Range<usize>>,
    /// The size of the change since the author's last proposal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// The findings of a reader of a change. Empty if it reported none; absent if none could be parsed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<Finding>>,
    /// A reader's opinions on other readers' findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opinions: Vec<Opinion>,
    /// The listed decisions of a proposal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
}

impl Reading {
    /// `text`, the source of this reading, without its answers.
    pub fn without_answers<'a>(&self, text: &'a str) -> Cow<'a, str> {
        without(text, self.answers_at.as_ref())
    }

    /// Adds the points of `more`, which repeated the request.
    pub fn with_points_of(self, more: Self) -> Self {
        let rechecks = if more.rechecks.is_empty() { self.rechecks } else { more.rechecks };
        let verifications = if more.verifications.is_empty() { self.verifications } else { more.verifications };
        let given_up = if more.given_up.is_empty() { self.given_up } else { more.given_up };
        Self { given_up, rechecks, verifications, ..more }
    }

    /// Whether anything was read.
    pub fn says_something(&self) -> bool {
        *self != Self::default()
    }
}

/// A reviewer's statement that a text's approach cannot be repaired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenUp {
    /// The author of the approach, if the review names the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<AgentId>,
    /// The reason and the alternative, verbatim.
    pub reason: String,
}

impl GivenUp {
    /// The reason, without a leading label of the text if the target already names its author.
    pub fn remark(&self) -> &str {
        let is_mark = |c: char| c.is_whitespace() || "*_`[]".contains(c);
        let label = || {
            let rest = self.reason.trim_start_matches(is_mark);
            let (word, rest) = rest.split_at_checked("Text".len())?;
            let digits = rest.trim_start();
            let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
            let is_label = word.eq_ignore_ascii_case("Text") && rest.len() < digits.len();
            let rest = rest.trim_start_matches(is_mark).strip_prefix([':', '—', '–']).filter(|_| is_label)?;
            Some(rest.trim_start_matches(is_mark)).filter(|rest| !rest.is_empty())
        };
        self.target.as_ref().and_then(|_| label()).unwrap_or(&self.reason)
    }
}

/// A critic's recheck of an earlier point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recheck {
    pub point: PointId,
    pub standing: RecheckStanding,
    /// The section that meets it, if named.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
}

/// A checker's finding about an accepted point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    pub point: PointId,
    pub found: Found,
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
}

/// An author's answer to a point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorReply {
    pub point: PointId,
    pub answer: Response,
    /// The changed section; empty if not named.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The change, or the reason for rejecting it, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<str>>,
}

/// The changed lines of a text, without its answers to critics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// New lines.
    pub added: usize,
    /// Removed lines.
    pub removed: usize,
}

/// The judge's ruling on an open point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ruling {
    pub point: PointId,
    pub decision: Decision,
    /// The section of the solution that meets it.
    #[serde(default, rename = "where", skip_serializing_if = "String::is_empty")]
    pub section: String,
    /// The remaining work.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remains: String,
    #[serde(default)]
    pub reason: String,
    /// Set if the judge gave no ruling, which counts as not met.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
}

impl Ruling {
    /// The record of a missing ruling.
    pub fn missing(point: PointId) -> Self {
        Self {
            point,
            decision: Decision::NotMet,
            section: String::new(),
            remains: String::new(),
            reason: String::new(),
            missing: true,
        }
    }

    /// Whether the point needs more work.
    pub fn leaves_something(&self) -> bool {
        matches!(self.decision, Decision::Partly | Decision::NotMet)
    }

    /// The decision as text.
    pub fn in_words(&self) -> &'static str {
        match self.decision {
            _ if self.missing => "not ruled",
            Decision::Met => "met",
            Decision::Partly => "partly met",
            Decision::NotMet => "not met",
            Decision::Dismissed => "dismissed",
        }
    }
}

dialectic_base::named! {
    /// The decision of a [`Ruling`].
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    pub enum Decision {
        /// The solution meets the point.
        Met = "met",
        /// The text meets part of the point.
        Partly = "partly",
        /// The text does not meet the point.
        NotMet = "notMet",
        /// The point is wrong.
        Dismissed = "dismissed",
    }
}

dialectic_base::named! {
    /// The answer to a point, if any.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Answered {
        /// The point holds, and the text was changed.
        Accepted = "accepted",
        /// Part of the point holds.
        Partly = "partly",
        /// The point does not hold.
        Rejected = "rejected",
        /// The point was not answered.
        Unanswered = "unanswered",
    }
}

impl From<Response> for Answered {
    fn from(response: Response) -> Self {
        match response {
            Response::Accepted => Self::Accepted,
            Response::Partly => Self::Partly,
            Response::Rejected => Self::Rejected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_do_not_collide_whatever_agents_are_called() {
        let id = |critic: &str, target: &str| PointId::new(1, &critic.into(), &target.into(), 2);
        assert_eq!(id("agent-kiss", "b").to_string(), "r1/agent-kiss/b/2");
        let pairs = [("a", "b/c"), ("a/b", "c"), ("a%2Fb", "c"), ("a", "b%2Fc"), ("a%252Fb", "c")];
        let ids: std::collections::BTreeSet<PointId> = pairs.iter().map(|(one, other)| id(one, other)).collect();
        assert_eq!(ids.len(), pairs.len(), "{ids:?}");
        let of_check = PointId::of_check(1, "facts", &"r1/x".into(), 3).to_string();
        assert_eq!(of_check, "check1/facts/r1%2Fx/3");
    }
}
