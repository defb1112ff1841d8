//! Points: objections by critics and checkers, and findings of a review. `parser` parses a text according to its
//! [`AnswerFormat`]; a [`Ledger`] derives each point's state from the parsed texts and the judge's rulings.

mod findings;
mod fold;
mod ledger;
pub mod parser;
mod point;
mod reading;
mod remark;

pub use findings::{
    FindingDecision, FindingRuling, Place, Report, ReviewText, ReviewedFinding, Since, Voices, describe_opened,
    describe_review, opened,
};
pub(crate) use fold::Fold;
pub use fold::Past;
pub(crate) use ledger::listed;
pub use ledger::{Ledger, Move, Tally};
pub use point::{Decision, Point, PointHistory, PointId, PointStatus, RaisedPoint, Ruling, Severity};
pub use reading::{AnswerFormat, Change, ParsedAnswer, RejectedApproach};
pub use remark::{Found, RecheckStanding, Remark, RemarkKind, RemarkTime, Response, Stance, Statement};

#[cfg(test)]
mod tests;
