//! Statements about points in the vocabulary of the record.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use dialectic_base::severity::Severity;

use crate::debate::AgentId;

/// One objection of a critique. Cheap to clone: readings and ledgers share its texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    pub severity: Severity,
    /// The requirement or part that it concerns, if stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The objection in Markdown, without its number and severity.
    pub text: Arc<str>,
    /// The remedy, if stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Arc<str>>,
    /// The author of the criticised text, if the critique covers several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<AgentId>,
}

impl Point {
    /// The requirement or part, and the objection.
    pub fn in_words(&self) -> Cow<'_, str> {
        match &self.about {
            Some(about) => format!("{about}: {}", self.text).into(),
            None => Cow::Borrowed(&self.text),
        }
    }

    /// The point with its remedy.
    pub fn in_full(&self) -> String {
        let text = self.in_words().trim().to_owned();
        match self.resolution.as_deref().map(str::trim) {
            Some(remedy) => format!("{text} Resolved by: {remedy}"),
            None => text,
        }
    }
}

dialectic_base::named! {
    /// The author's response to a point.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Response {
        /// The point holds, and the text was changed.
        Accepted = "accepted",
        /// Part of the point holds.
        Partly = "partly",
        /// The point does not hold.
        Rejected = "rejected",
    }
}

/// The checker's finding about an accepted point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Found {
    /// The change is in the text.
    Verified,
    /// The change is not in the text.
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

dialectic_base::named! {
    /// A critic's judgement of an earlier point.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    pub enum RecheckStanding {
        /// The point still holds.
        Maintained = "maintained",
        /// The point is withdrawn.
        Withdrawn = "withdrawn",
        /// The text meets it now.
        Verified = "verified",
    }
}
