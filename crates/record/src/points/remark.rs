//! What critics, authors, checkers and the judge say about a point.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::AgentId;

use super::{PointId, Ruling};

/// What a text says about an earlier point. `P` identifies the point by its id or, during parsing, by its index among
/// the points that the text may refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement<V, P = PointId> {
    pub point: P,
    pub verdict: V,
    /// The section that addresses the point. If the text names none, the section is empty in an answer and absent in
    /// other statements.
    pub section: Option<String>,
    /// The stated reason or change, verbatim.
    pub reason: Option<Arc<str>>,
}

impl<V, P> Statement<V, P> {
    pub fn about<Q>(self, point: Q) -> Statement<V, Q> {
        let Self { verdict, section, reason, .. } = self;
        Statement { point, verdict, section, reason }
    }
}

/// The JSON keys of a statement, which depend on its kind.
pub trait StatementKeys {
    const POINT: &'static str = "point";
    const VERDICT: &'static str;
}

const SECTION: &str = "where";
const REASON: &str = "reason";

impl<V: StatementKeys + Serialize> Serialize for Statement<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(V::POINT, &self.point)?;
        map.serialize_entry(V::VERDICT, &self.verdict)?;
        if let Some(section) = &self.section {
            map.serialize_entry(SECTION, section)?;
        }
        if let Some(reason) = &self.reason {
            map.serialize_entry(REASON, reason)?;
        }
        map.end()
    }
}

/// Not derived, because the keys depend on `V`.
impl<'de, V: StatementKeys + Deserialize<'de>> Deserialize<'de> for Statement<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys<V>(PhantomData<V>);

        impl<'de, V: StatementKeys + Deserialize<'de>> Visitor<'de> for Keys<V> {
            type Value = Statement<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a statement with `{}` and `{}`", V::POINT, V::VERDICT)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let (mut point, mut verdict, mut section, mut reason) = (None, None, None, None);
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        key if key == V::POINT => point = Some(map.next_value()?),
                        key if key == V::VERDICT => verdict = Some(map.next_value()?),
                        SECTION => section = map.next_value()?,
                        REASON => reason = map.next_value()?,
                        _ => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                let point = point.ok_or_else(|| A::Error::missing_field(V::POINT))?;
                let verdict = verdict.ok_or_else(|| A::Error::missing_field(V::VERDICT))?;
                Ok(Statement { point, verdict, section, reason })
            }
        }

        deserializer.deserialize_map(Keys(PhantomData))
    }
}

dialectic_base::named! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Response {
        /// The author agrees with the point and claims to have changed the text.
        Accepted = "accepted",
        Partly = "partly",
        Rejected = "rejected",
    }
}

impl StatementKeys for Response {
    const VERDICT: &'static str = "answer";
}

dialectic_base::named! {
    /// A critic's verdict on an earlier point.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum RecheckStanding {
        Maintained = "maintained",
        Withdrawn = "withdrawn",
        /// The text now meets the point.
        Verified = "verified",
    }
}

impl StatementKeys for RecheckStanding {
    const VERDICT: &'static str = "standing";
}

/// A checker's finding about an accepted point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Found {
    Verified,
    NotFound,
    /// The point no longer applies to the changed text.
    Moot,
}

impl Found {
    pub fn name(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::NotFound => "not found",
            Self::Moot => "moot",
        }
    }
}

impl StatementKeys for Found {
    const VERDICT: &'static str = "found";
}

dialectic_base::named! {
    /// A reader's opinion on another reader's finding.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Stance {
        Confirmed = "confirmed",
        Refuted = "refuted",
        /// The reader cannot decide.
        Left = "left",
    }
}

impl StatementKeys for Stance {
    const POINT: &'static str = "finding";
    const VERDICT: &'static str = "stance";
}

/// An event in the history of a point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    pub at: RemarkTime,
    /// Absent for the judge's ruling.
    pub by: Option<AgentId>,
    pub kind: RemarkKind,
    /// See [`Statement::section`].
    pub section: Option<String>,
    pub reason: Option<Arc<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemarkTime {
    Round(u32),
    /// The check of the draft with this number, from 1.
    Check(u32),
    /// A new draft or the final text, which answers the preceding check.
    Final,
    Ruling,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemarkKind {
    Raised,
    Answered(Response),
    Rechecked(RecheckStanding),
    /// A critic or checker marked the point as verified although the text had not changed.
    Unchanged,
    Checked(Found),
    Opinion(Stance),
    Ruled(Box<Ruling>),
}

impl Remark {
    pub(super) fn of<P>(
        at: RemarkTime,
        by: &AgentId,
        kind: RemarkKind,
        Statement { section, reason, .. }: &Statement<impl Copy, P>,
    ) -> Self {
        Self { at, by: Some(by.clone()), kind, section: section.clone(), reason: reason.clone() }
    }

    /// Whether the remark accepts a point without naming a changed section or, if its section is absent, without a
    /// reason.
    pub fn is_bare_acceptance(&self) -> bool {
        self.kind == RemarkKind::Answered(Response::Accepted)
            && self.section.as_ref().map_or(self.reason.is_none(), |section| section.trim().is_empty())
    }

    /// The section, unless it is blank.
    pub fn section(&self) -> Option<&str> {
        self.section.as_deref().map(str::trim).filter(|section| !section.is_empty())
    }

    /// The reason, unless it is blank.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref().filter(|reason| !reason.trim().is_empty())
    }
}

impl fmt::Display for RemarkTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Round(round) => write!(f, "r{round}"),
            Self::Check(1) => f.write_str("check:"),
            Self::Check(draft) => write!(f, "check {draft}:"),
            Self::Final => f.write_str("final:"),
            Self::Ruling => f.write_str("ruled:"),
        }
    }
}

impl fmt::Display for RemarkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Raised => "raised",
            Self::Answered(response) => response.name(),
            Self::Rechecked(standing) => standing.name(),
            Self::Unchanged => "verified, although the text is unchanged",
            Self::Checked(found) => found.name(),
            Self::Opinion(stance) => stance.name(),
            Self::Ruled(ruling) => ruling.in_words(),
        })
    }
}

impl fmt::Display for Remark {
    /// For example, `r2 rejected` or `check: not found`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.at, self.kind)
    }
}
