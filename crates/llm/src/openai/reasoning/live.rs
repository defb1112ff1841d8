//! Reasoning, kept from the watchers of an answer that comes in.

use super::spellings::{LONGEST_END, Opening, ReasoningTag, opening};
use super::{beginning, lone_ending, told_apart};

/// Passes on the words of an answer that comes in pieces, without the reasoning that it begins with.
pub(in crate::openai) struct Spoken {
    state: ReasoningState,
    /// What has come in and may be either.
    held: String,
}

enum ReasoningState {
    /// Nothing of the answer has been passed on; whether reasoning was left out.
    Beginning { reasoned: bool },
    /// In reasoning; how much of what is held has been looked through for its end.
    Reasoning { block: ReasoningTag, searched: usize },
    /// In the answer.
    Answering,
}

impl Spoken {
    /// For an answer of which nothing has come in. `begins_within` says that its model is known to begin in the midst
    /// of its reasoning; then everything is held until that has ended.
    pub(in crate::openai) fn new(begins_within: bool) -> Self {
        let state = if begins_within {
            ReasoningState::Reasoning { block: ReasoningTag::Unopened, searched: 0 }
        } else {
            ReasoningState::Beginning { reasoned: false }
        };
        Self { state, held: String::new() }
    }

    /// Takes in `piece`, and tells `say` the words that are sure to be of the answer.
    pub(in crate::openai) fn take(&mut self, piece: &str, say: &mut dyn FnMut(&str)) {
        if matches!(self.state, ReasoningState::Answering) {
            say(piece);
            return;
        }
        self.held.push_str(piece);
        while self.advance(say) {}
    }

    /// The server tells reasoning apart by itself: what comes in as text is text.
    pub(in crate::openai) fn is_told_apart(&mut self, say: &mut dyn FnMut(&str)) {
        if matches!(self.state, ReasoningState::Reasoning { block: ReasoningTag::Unopened, .. }) {
            self.state = ReasoningState::Beginning { reasoned: false };
            while self.advance(say) {}
        }
    }

    /// Nothing follows: passes on what turned out to be no reasoning.
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

    /// One step; whether another may follow.
    fn advance(&mut self, say: &mut dyn FnMut(&str)) -> bool {
        match self.state {
            ReasoningState::Answering => false,
            ReasoningState::Beginning { reasoned } => {
                let start = beginning(&self.held);
                match opening(start) {
                    Opening::Perhaps => false,
                    Opening::Block { block, len } => {
                        // What may turn out to be the answer is kept whole.
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
                // An end may have begun in what was looked through.
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
