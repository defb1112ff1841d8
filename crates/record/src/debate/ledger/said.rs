//! What texts and the judge were read to say of objections, as the record keeps it.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::debate::{AgentId, Finding, Opinion};

use super::{Found, Point, RecheckStanding, Response};

use super::reads::without;

/// Which point of the debate: `r1/agent-kiss/agent-architect/2` is the second that `agent-kiss` raised against
/// `agent-architect` in round 1, `check1/facts/agent-kiss/2` the second that it raised against the first draft. It
/// never changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PointId(Arc<str>);

impl PointId {
    /// Of a point of a critique.
    pub(super) fn new(round: u32, critic: &AgentId, target: &AgentId, number: usize) -> Self {
        let [critic, target] = [critic, target].map(|agent| escaped(agent.as_str()));
        Self(format!("r{round}/{critic}/{target}/{number}").into())
    }

    /// Of a point of the check.
    pub(super) fn of_check(draft: u32, lens: &str, checker: &AgentId, number: usize) -> Self {
        let [lens, checker] = [lens, checker.as_str()].map(escaped);
        Self(format!("check{draft}/{lens}/{checker}/{number}").into())
    }

    /// Whether `other` names the same point: earlier versions escaped nothing.
    pub(super) fn is(&self, other: &Self) -> bool {
        self == other || self.0.contains('%') && self.0.replace("%2F", "/").replace("%25", "%") == *other.0
    }
}

/// Agents may be called anything, also `a/b`: an id that holds a separator would be that of another point.
fn escaped(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2F")
}

impl fmt::Display for PointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a contribution was read to say of objections when it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Reading {
    /// The points of a critique. Empty if it says that it has none; absent where none could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<Point>>,
    /// Points of a critique beyond the limit.
    #[serde(skip_serializing_if = "is_zero")]
    pub unread: usize,
    /// Texts without a readable section in a review of several texts.
    #[serde(skip_serializing_if = "is_zero")]
    pub unread_texts: usize,
    /// Approaches that a review of several texts gives up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub given_up: Vec<GivenUp>,
    /// What a critique says of earlier points.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rechecks: Vec<Recheck>,
    /// What a checker found of the points that were accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verifications: Vec<Verification>,
    /// What a proposal answers to points that were raised against the one before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AuthorReply>,
    /// Where in the text the section of answers stands, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers_at: Option<Range<usize>>,
    /// How much a proposal changed against its author's last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
    /// The findings of a reader of a change. Empty if it says that it has none; absent where none could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<Finding>>,
    /// What a reader says of another one's findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opinions: Vec<Opinion>,
    /// What a proposal lists as its decisions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
pub(super) fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Reading {
    /// `text`, which this was read of, without its answers.
    pub fn without_answers<'a>(&self, text: &'a str) -> Cow<'a, str> {
        without(text, self.answers_at.as_ref())
    }

    /// With the points of `more`, which was asked for them once more.
    pub fn with_points_of(self, more: Self) -> Self {
        let rechecks = if more.rechecks.is_empty() { self.rechecks } else { more.rechecks };
        let verifications = if more.verifications.is_empty() { self.verifications } else { more.verifications };
        let given_up = if more.given_up.is_empty() { self.given_up } else { more.given_up };
        Self { given_up, rechecks, verifications, ..more }
    }

    /// Whether anything was read at all.
    pub fn says_something(&self) -> bool {
        *self != Self::default()
    }
}

/// A reviewer's word that no remedy can mend the approach of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenUp {
    /// Whose approach it is, where the review names the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<AgentId>,
    /// What breaks it and what to do instead, word for word.
    pub reason: String,
}

/// A critic's word on a point that was raised before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recheck {
    /// Which.
    pub point: PointId,
    /// How it stands.
    pub standing: RecheckStanding,
    /// The section that meets it, if the critic names one.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Why, where the text says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a checker found of a point that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// Which.
    pub point: PointId,
    /// What became of the change.
    pub found: Found,
    /// Its section, if the checker names one.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Why, where the text says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An author's answer to a point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorReply {
    /// Which.
    pub point: PointId,
    /// The answer.
    pub answer: Response,
    /// The section that was changed. Empty where the author names none; absent in records of versions that did not ask
    /// for it.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// What was changed or why not, where the text says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How much of a text is new, in lines, its answers to critics left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Lines that were not there before.
    pub added: usize,
    /// Lines that are there no more.
    pub removed: usize,
}

/// What the judge decides on an open point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ruling {
    /// Which.
    pub point: PointId,
    /// The decision.
    pub decision: Decision,
    /// The section of the solution that meets it.
    #[serde(default, rename = "where", skip_serializing_if = "String::is_empty")]
    pub section: String,
    /// What is still to be done.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remains: String,
    /// Rulings of earlier versions: the section that meets the point, empty if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handled_in: Option<String>,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// Set where the judge was asked and said nothing: that counts as not met.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
}

impl Ruling {
    /// That the judge was asked and did not rule.
    pub fn missing(point: PointId) -> Self {
        Self {
            point,
            decision: Decision::NotMet,
            section: String::new(),
            remains: String::new(),
            handled_in: None,
            reason: String::new(),
            missing: true,
        }
    }

    /// Whether the point is right and the solution does not meet it at all.
    pub fn is_unmet(&self) -> bool {
        match self.decision {
            Decision::NotMet => true,
            Decision::Upheld => self.place().is_empty(),
            Decision::Met | Decision::Partly | Decision::Dismissed => false,
        }
    }

    /// Whether something remains to be done about the point.
    pub fn leaves_something(&self) -> bool {
        self.decision == Decision::Partly || self.is_unmet()
    }

    /// Whether an earlier version recorded it, after which a point stayed as open as it was.
    pub(super) fn is_older(&self) -> bool {
        self.decision == Decision::Upheld || self.handled_in.is_some()
    }

    /// The section of the solution that meets the point; empty where none does.
    pub fn place(&self) -> &str {
        if self.section.is_empty() {
            self.handled_in.as_deref().unwrap_or_default().trim()
        } else {
            self.section.trim()
        }
    }

    /// The decision in words.
    pub fn in_words(&self) -> &'static str {
        match self.decision {
            Decision::Upheld if self.missing => "no ruling, so upheld and not met",
            Decision::Upheld if self.is_unmet() => "upheld, not met",
            Decision::Upheld => "upheld, met",
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
        /// It meets a part of it.
        Partly = "partly",
        /// It does not.
        NotMet = "notMet",
        /// The point is wrong.
        Dismissed = "dismissed",
        /// The point is right: rulings of earlier versions, which say separately where it is met.
        #[schemars(skip)]
        Upheld = "upheld",
    }
}

dialectic_base::named! {
    /// The answer to a point, as far as there is one.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Answered {
        /// It holds, and the text was changed.
        Accepted = "accepted",
        /// Some of it holds.
        Partly = "partly",
        /// It does not hold.
        Rejected = "rejected",
        /// Nothing was said of it.
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
        let earlier = PointId("r1/a/b/c/2".into());
        assert!(id("a/b", "c").is(&earlier) && id("a", "b/c").is(&earlier) && !id("x", "c").is(&earlier));
        let of_check = PointId::of_check(1, "facts", &"r1/x".into(), 3).to_string();
        assert_eq!(of_check, "check1/facts/r1%2Fx/3");
    }
}
