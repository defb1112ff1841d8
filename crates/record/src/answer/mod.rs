//! Answers that decide something: the judge's solution, verdicts and votes, and what candidates agree on.

mod agreement;
mod solution;
mod verdict;

pub use agreement::{
    Argument, Challenge, Convergence, Decisions, Extension, Matter, NeglectedPoint, Observation, RelatedPair, Relation,
    Relations, Wording,
};
pub(crate) use agreement::{mean, similarity, weights};
pub use solution::{ASSESSMENT, PartlyFulfilled, Shortened, Solution, clean_title, limited_confidence};
pub use verdict::{Advice, Dissent, Judgement, Poll, PollChoice, Polls, Undecided, Verdict, VoteCount, Voting, Winner};
