//! Hides reasoning from the watchers of a streamed answer.

use super::spellings::{LONGEST_END, Opening, ReasoningTag, opening};
use super::{beginning, lone_ending, told_apart};

/// Passes on the words of a streamed answer, without its leading reasoning.
pub(in crate::openai) struct Spoken {
    state: ReasoningState,
    /// Text that may be either.
    held: String,
}

enum ReasoningState {
    /// Nothing was passed on yet; `reasoned` is whether reasoning was removed.
    Beginning { reasoned: bool },
    /// Inside reasoning; `searched` is how much was searched for its end.
    Reasoning { block: ReasoningTag, searched: usize },
    /// Inside the answer.
    Answering,
}

impl Spoken {
    /// Creates the state for a new answer. With `begins_within`, its model begins inside reasoning, and everything is
    /// held until that ends.
    pub(in crate::openai) fn new(begins_within: bool) -> Self {
        let state = if begins_within {
            ReasoningState::Reasoning { block: ReasoningTag::Unopened, searched: 0 }
        } else {
            ReasoningState::Beginning { reasoned: false }
        };
        Self { state, held: String::new() }
    }

    /// Adds `piece`, and calls `say` with the words that certainly belong to the answer.
    pub(in crate::openai) fn take(&mut self, piece: &str, say: &mut dyn FnMut(&str)) {
        if matches!(self.state, ReasoningState::Answering) {
            say(piece);
            return;
        }
        self.held.push_str(piece);
        while self.advance(say) {}
    }

    /// The server separates reasoning itself: all text is the answer.
    pub(in crate::openai) fn is_told_apart(&mut self, say: &mut dyn FnMut(&str)) {
        if matches!(self.state, ReasoningState::Reasoning { block: ReasoningTag::Unopened, .. }) {
            self.state = ReasoningState::Beginning { reasoned: false };
            while self.advance(say) {}
        }
    }

    /// Ends the answer: passes on held text that is not reasoning.
    pub(in crate::openai) fn finish(&mut self, say: &mut dyn FnMut(&str)) {
        let held = std::mem::take(&mut self.held);
        let rest = match &self.state {
            ReasoningState::Beginning { reasoned: true } => beginning(&held).to_owned(),
            ReasoningState::Beginning { reasoned: false } | ReasoningState::Answering => held,
            ReasoningState::Reasoning { block, .. } if block.is_certain() => return,
            ReasoningState::Reasoning { .. } => told_apart(held).answer,
        };
        if !rest.is_empty() {
            say(&rest);
        }
    }

    /// Makes one step; returns whether another may follow.
    fn advance(&mut self, say: &mut dyn FnMut(&str)) -> bool {
        match self.state {
            ReasoningState::Answering => false,
            ReasoningState::Beginning { reasoned } => {
                let start = beginning(&self.held);
                match opening(start) {
                    Opening::Perhaps => false,
                    Opening::Block { block, len } => {
                        // Text that may be the answer is kept.
                        let gone = if block.is_certain() { len } else { 0 };
                        self.held = start[gone..].to_owned();
                        self.state = ReasoningState::Reasoning { block, searched: len - gone };
                        true
                    }
                    Opening::None => {
                        say(if reasoned { start } else { &self.held });
                        self.held = String::new();
                        self.state = ReasoningState::Answering;
                        false
                    }
                }
            }
            ReasoningState::Reasoning { block, searched } => {
                // An end tag may begin in the searched part.
                let from = self.held.floor_char_boundary(searched.saturating_sub(LONGEST_END));
                let end = match block {
                    ReasoningTag::Unopened => lone_ending(&self.held, from)
                        .filter(|end| self.held[*end..].contains(|c: char| !c.is_whitespace())),
                    ReasoningTag::Tagged { .. } | ReasoningTag::Marked(_) => {
                        block.end_in(&self.held[from..]).map(|end| from + end)
                    }
                };
                if let Some(end) = end {
                    self.held.drain(..end);
                    self.state = ReasoningState::Beginning { reasoned: true };
                    return true;
                }
                if block.is_certain() {
                    self.held.drain(..from);
                }
                self.state = ReasoningState::Reasoning { block, searched: self.held.len() };
                false
            }
        }
    }
}
