//! A point: an objection to a text or a finding about a change, with everything said about it.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use dialectic_base::markdown::truncate;
use dialectic_base::sanitize::one_line;

use crate::ids::AgentId;

use super::{Found, Place, RecheckStanding, Remark, RemarkKind, RemarkTime, Response, Statement};

/// The maximum number of characters of the section or subject shown after a point's number.
const PLACE: usize = 60;
const NOTHING: &str = "-";

dialectic_base::named! {
    /// Ordered from most to least severe, so the minimum is the highest severity.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Severity {
        /// A major requirement is not met.
        Blocking = "blocking",
        /// A major requirement is at risk, or a minor one is not met. Also assumed if a critic names no severity.
        Major = "major",
        /// Any other fault.
        Minor = "minor",
    }
}

/// The permanent id of a point. `r1/agent-kiss/agent-architect/2` is the second point of `agent-kiss` against
/// `agent-architect` in round 1, and `check1/facts/agent-kiss/2` its second point in the check of the first draft's
/// facts. A finding's id is its number.
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

    pub fn of_finding(number: &str) -> Self {
        Self(number.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Escapes `/` and `%`, because an agent named `a/b` could otherwise produce another point's id.
fn escaped(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2F")
}

impl fmt::Display for PointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An objection from a critique, or a finding from a review. Cheap to clone, because its long strings are shared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaisedPoint {
    pub severity: Severity,
    /// The requirement or part of the text that the point concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The objection in Markdown, without its number and severity.
    pub text: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Arc<str>>,
    /// How to observe the fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Arc<str>>,
    /// The author of the criticised text, if the critique covers more than one text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<AgentId>,
    /// Identifies a finding across reviews.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

impl RaisedPoint {
    pub fn new(severity: Severity, text: impl Into<Arc<str>>) -> Self {
        let (text, place, target, fingerprint) = (text.into(), None, None, None);
        Self { severity, about: None, place, text, resolution: None, evidence: None, target, fingerprint }
    }

    pub fn in_words(&self) -> Cow<'_, str> {
        match &self.about {
            Some(about) => format!("{about}: {}", self.text).into(),
            None => Cow::Borrowed(&self.text),
        }
    }

    pub fn in_full(&self) -> String {
        let text = self.in_words().trim().to_owned();
        match self.resolution.as_deref().map(str::trim) {
            Some(remedy) => format!("{text} Resolved by: {remedy}"),
            None => text,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ruling {
    pub point: PointId,
    pub decision: Decision,
    /// The section of the solution that addresses the point.
    #[serde(default, rename = "where", skip_serializing_if = "String::is_empty")]
    pub section: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remains: String,
    #[serde(default)]
    pub reason: String,
    /// Set if the judge did not rule on the point. The decision is then [`Decision::NotMet`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
}

impl Ruling {
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

    pub fn leaves_something(&self) -> bool {
        matches!(self.decision, Decision::Partly | Decision::NotMet)
    }

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
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    pub enum Decision {
        /// The solution meets the point.
        Met = "met",
        /// The solution meets part of the point.
        Partly = "partly",
        /// The solution does not meet the point.
        NotMet = "notMet",
        /// The point is wrong.
        Dismissed = "dismissed",
    }
}

/// A point with its history. Cheap to clone, because ledgers share unchanged points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point(Arc<PointHistory>);

impl Deref for Point {
    type Target = PointHistory;

    fn deref(&self) -> &PointHistory {
        &self.0
    }
}

impl DerefMut for Point {
    fn deref_mut(&mut self) -> &mut PointHistory {
        Arc::make_mut(&mut self.0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PointHistory {
    pub id: PointId,
    /// The permanent number that debaters and readers see: `2.7` is the seventh point against text 2, and `D3` the
    /// third point raised in a check.
    pub(super) number: String,
    /// The round in which the point was raised; for a point of the check, the last round.
    pub round: u32,
    pub critic_id: AgentId,
    /// The author of the criticised text.
    pub target_id: AgentId,
    /// For a point of the check, the number of the criticised draft, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lens: Option<String>,
    #[serde(flatten)]
    pub point: RaisedPoint,
    /// Everything said about the point, in order. Determines the point's state. The first remark is
    /// [`RemarkKind::Raised`].
    #[serde(skip)]
    pub remarks: Vec<Remark>,
    /// Whether the critic has criticised the author's text again since the point was raised or last answered.
    #[serde(skip)]
    pub(super) was_not_reraised: bool,
    /// The identity (see `fold`) of the text to which a critic's last remark on the point refers.
    #[serde(skip)]
    pub(super) text: Option<u64>,
    /// Whether the author has changed the text since a critic's last remark on the point.
    #[serde(skip)]
    pub is_of_earlier_text: bool,
    /// Set if the protocol allows neither answers nor rechecks, as in a council.
    #[serde(skip)]
    pub is_unanswerable: bool,
}

dialectic_base::named! {
    /// What became of a point. Open points sort first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum PointStatus {
        /// The point needs a change or a decision.
        Open = "open",
        /// The author claims to have changed the text, but nobody has confirmed the change.
        Claimed = "claimed",
        /// A critic or checker confirmed the change, the critic withdrew the point after the author had accepted it, or
        /// the judge ruled that the point is met.
        Fixed = "fixed",
        /// The author or the judge rejected the point, or its critic withdrew it although the author had not accepted
        /// it.
        Rejected = "rejected",
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct PointState<'a> {
    answer: Option<(Response, &'a Remark)>,
    recheck: Option<(RecheckStanding, &'a Remark)>,
    check: Option<(Found, &'a Remark)>,
    ruling: Option<&'a Ruling>,
    open: bool,
    critic_spoke: Option<RemarkTime>,
    was_answered_last: bool,
}

impl<'a> PointState<'a> {
    fn of(remarks: &'a [Remark]) -> Self {
        remarks.iter().fold(Self { open: true, ..Self::default() }, Self::after)
    }

    fn after(mut self, remark: &'a Remark) -> Self {
        match &remark.kind {
            RemarkKind::Raised => self.critic_spoke = Some(remark.at),
            RemarkKind::Unchanged | RemarkKind::Opinion(_) => {}
            RemarkKind::Answered(response) => {
                self.answer = Some((*response, remark));
                self.was_answered_last = remark.at == RemarkTime::Final;
                // After a critic has withdrawn or verified a point, the author can reopen it only by answering the
                // check.
                let is_over = self.recheck.is_some_and(|(standing, _)| standing.is_over());
                if !is_over || self.was_answered_last {
                    self.open = *response != Response::Accepted || remark.is_bare_acceptance();
                }
            }
            RemarkKind::Rechecked(standing) => {
                // If critics both maintain and withdraw a point in the same round, maintaining wins.
                let is_first = self.critic_spoke != Some(remark.at);
                if is_first || *standing == RecheckStanding::Maintained {
                    self.critic_spoke = Some(remark.at);
                    self.recheck = Some((*standing, remark));
                    self.open = *standing == RecheckStanding::Maintained;
                }
            }
            RemarkKind::Checked(found) => {
                self.was_answered_last = false;
                match found {
                    Found::NotFound => self.open = true,
                    // A partly accepted point stays open: the check only confirms the accepted part.
                    Found::Verified | Found::Moot => {
                        let is_accepted = self.answer.is_some_and(|(response, _)| response == Response::Accepted);
                        self.open &= !is_accepted;
                    }
                }
                self.check = Some((*found, remark));
            }
            RemarkKind::Ruled(ruling) => {
                self.open = ruling.leaves_something();
                self.ruling = Some(ruling);
            }
        }
        self
    }
}

impl Point {
    pub(super) fn raised(
        id: PointId,
        number: String,
        round: u32,
        target: &AgentId,
        point: &RaisedPoint,
        by: Remark,
    ) -> Self {
        Self(Arc::new(PointHistory {
            id,
            number,
            round,
            critic_id: by.by.clone().unwrap_or_else(|| target.clone()),
            target_id: target.clone(),
            draft: None,
            lens: None,
            point: RaisedPoint { target: None, ..point.clone() },
            remarks: vec![by],
            was_not_reraised: false,
            text: None,
            is_of_earlier_text: false,
            is_unanswerable: false,
        }))
    }

    fn state(&self) -> PointState<'_> {
        PointState::of(&self.remarks)
    }

    pub fn status(&self) -> PointStatus {
        let PointState { answer, recheck, check, ruling, open, was_answered_last, .. } = self.state();
        if let Some(ruling) = ruling {
            return match ruling.decision {
                Decision::Met => PointStatus::Fixed,
                Decision::Dismissed => PointStatus::Rejected,
                Decision::Partly | Decision::NotMet => PointStatus::Open,
            };
        }
        let response = answer.map(|(response, _)| response);
        // A rejection without a reason, or of a point that a critic maintains, leaves the point open.
        let is_rejected =
            response == Some(Response::Rejected) && answer.is_some_and(|(_, answer)| answer.reason().is_some());
        let is_contradicted = recheck.is_some_and(|(standing, _)| standing == RecheckStanding::Maintained);
        let check = check.filter(|_| !was_answered_last).map(|(found, _)| found);
        match (check, recheck.map(|(standing, _)| standing)) {
            _ if open && is_rejected && !is_contradicted && check.is_none() => PointStatus::Rejected,
            _ if open => PointStatus::Open,
            (Some(Found::Verified | Found::Moot), _) | (None, Some(RecheckStanding::Verified)) => PointStatus::Fixed,
            (None, Some(RecheckStanding::Withdrawn)) => match response {
                Some(Response::Accepted | Response::Partly) => PointStatus::Fixed,
                Some(Response::Rejected) | None => PointStatus::Rejected,
            },
            (Some(Found::NotFound) | None, Some(RecheckStanding::Maintained) | None) | (Some(Found::NotFound), _) => {
                PointStatus::Claimed
            }
        }
    }

    pub fn number(&self) -> String {
        self.number.clone()
    }

    /// Whether the point is open: no claimed change, recheck, check or ruling has closed it. A rejection by the text's
    /// author does not close it.
    pub fn is_undecided(&self) -> bool {
        self.state().open
    }

    pub fn response(&self) -> Option<Response> {
        self.state().answer.map(|(response, _)| response)
    }

    pub fn answer(&self) -> Option<&Remark> {
        self.state().answer.map(|(_, answer)| answer)
    }

    pub fn recheck(&self) -> Option<RecheckStanding> {
        self.state().recheck.map(|(standing, _)| standing)
    }

    pub fn found(&self) -> Option<Found> {
        self.state().check.map(|(found, _)| found)
    }

    pub fn ruling(&self) -> Option<&Ruling> {
        self.state().ruling
    }

    /// Whether the author answered the point after the check, and no later check examined it.
    pub fn was_answered_last(&self) -> bool {
        self.state().was_answered_last
    }

    pub(super) fn rechecked_in(&self) -> Option<RemarkTime> {
        self.state().recheck.map(|(_, remark)| remark.at)
    }

    /// Whether critics have nothing to add: the point was withdrawn or verified, or accepted with a change that its
    /// critic did not contest afterwards.
    pub fn is_settled(&self) -> bool {
        let PointState { recheck, open, .. } = self.state();
        !open && (self.was_not_reraised || recheck.is_some_and(|(standing, _)| standing.is_over()))
    }

    pub fn is_claimed(&self) -> bool {
        let PointState { answer, recheck, check, open, was_answered_last, .. } = self.state();
        let is_over = recheck.is_some_and(|(standing, _)| standing.is_over());
        let is_accepted = answer.is_some_and(|(response, _)| response == Response::Accepted);
        is_accepted && !open && !is_over && (check.is_none() || was_answered_last)
    }

    /// Whether the last check did not find the claimed change or, if no check examined the point, a critic maintained
    /// it.
    pub fn is_maintained(&self) -> bool {
        let PointState { recheck, check, .. } = self.state();
        match check {
            Some((found, _)) => found == Found::NotFound,
            None => recheck.is_some_and(|(standing, _)| standing == RecheckStanding::Maintained),
        }
    }

    pub fn is_unmet(&self) -> bool {
        self.ruling().is_some_and(|ruling| ruling.decision == Decision::NotMet)
    }

    /// The number, followed in parentheses by the changed section or else by the point's subject, if either is known:
    /// `D3 (Failover)`.
    pub fn with_place(&self) -> String {
        let section = self.answer().and_then(Remark::section);
        let place = section.or(self.point.about.as_deref()).map(one_line);
        let Some(place) = place else { return self.number() };
        let shown = truncate(&place, PLACE);
        let more = if shown.len() < place.len() { "…" } else { "" };
        format!("{} ({}{more})", self.number, shown.trim_end())
    }

    pub fn answer_in_words(&self) -> &'static str {
        match self.state().answer {
            None if self.is_unanswerable => NOTHING,
            None => "unanswered",
            Some((Response::Accepted, answer)) if answer.is_bare_acceptance() => "accepted without naming a change",
            Some((Response::Accepted, _)) => "accepted",
            Some((Response::Partly, _)) => "accepted in part",
            Some((Response::Rejected, _)) => "rejected",
        }
    }

    /// The history on one line: `r1 raised → r1 rejected → r2 maintained → r2 accepted → check: verified → ruled: met`.
    pub fn story_in_words(&self) -> String {
        self.remarks.iter().map(Remark::to_string).collect::<Vec<_>>().join(" → ")
    }
}

impl RecheckStanding {
    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::Withdrawn | Self::Verified)
    }
}

/// Serializes the point as it appears in the `ledger` of a state file.
impl Serialize for Point {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct InFile<'a> {
            #[serde(flatten)]
            history: &'a PointHistory,
            answer: &'static str,
            #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
            section: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            reason: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            critic: Option<RecheckStanding>,
            #[serde(skip_serializing_if = "Option::is_none")]
            critic_where: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            critic_reason: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            check: Option<Statement<Found>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            ruling: Option<&'a Ruling>,
            open: bool,
        }

        let PointState { answer, recheck, check, ruling, open, .. } = self.state();
        let (said, again) = (answer.map(|(_, said)| said), recheck.map(|(_, said)| said));
        let in_file = InFile {
            history: self,
            answer: answer.map_or("unanswered", |(response, _)| response.name()),
            section: said.and_then(|said| said.section.as_deref()),
            reason: said.and_then(|said| said.reason.as_deref()),
            critic: recheck.map(|(standing, _)| standing),
            critic_where: again.and_then(|said| said.section.as_deref()),
            critic_reason: again.and_then(|said| said.reason.as_deref()),
            check: check.map(|(verdict, Remark { section, reason, .. })| Statement {
                point: self.id.clone(),
                verdict,
                section: section.clone(),
                reason: reason.clone(),
            }),
            ruling,
            open,
        };
        in_file.serialize(serializer)
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
        assert_eq!(PointId::of_check(1, "facts", &"r1/x".into(), 3).to_string(), "check1/facts/r1%2Fx/3");
    }
}
