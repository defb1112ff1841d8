//! Points: the objections of critics and checkers, and the findings of a review.
//!
//! [`AnswerFormat`] says how the text of a call is parsed, `parser` parses it, and the [`ParsedAnswer`] is recorded with the text. A
//! point's state is the fold of the remarks about it in those readings and in the judge's rulings, in a [`Ledger`].

mod findings;
mod fold;
mod ledger;
mod parser;
mod point;
mod reading;
mod remark;

pub use findings::{
    FindingDecision, FindingRuling, Place, Report, ReviewText, ReviewedFinding, Since, Voices, describe_opened,
    describe_review, opened,
};
pub(crate) use fold::Fold;
pub use fold::Past;
pub use ledger::{Ledger, Move, Tally};
pub use parser::{
    ANSWERS_HEADING, CHECK_ANSWERS_HEADING, ReadAnswers, ReadCritique, read_answers, read_check, read_critique,
    read_decisions, read_findings, read_given_up, read_opinions, read_review,
};
pub use point::{Decision, Point, PointHistory, PointId, PointStatus, RaisedPoint, Ruling, Severity};
pub use reading::{AnswerFormat, Change, ParsedAnswer, RejectedApproach};
pub use remark::{Found, RecheckStanding, Remark, RemarkKind, RemarkTime, Response, Stance, Statement};

#[cfg(test)]
mod tests;
