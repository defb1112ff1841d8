//! The results of a debate: the judge's solution, verdicts, votes, and the agreement of texts.

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
