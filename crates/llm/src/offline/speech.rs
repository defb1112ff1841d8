//! Speeches for and against a motion, or without a side: each asks for what the motion's text does not say.

use super::problem::{Gap, asked_in};
use super::task::PlayedAgent;
use super::text::{COLOPHON, listed, numbered, paragraphs};

/// The questions of an opening; the others are kept for rebuttals.
const OPENING: usize = 2;

impl PlayedAgent<'_> {
    /// The next speech.
    pub(super) fn speech(&self) -> String {
        let side = self.prompt.named("Your side").1;
        let (own, name) = (self.own(), &self.problem.name);
        let last = self.speeches().next_back().unwrap_or_default();
        let items = |most| numbered(own.iter().take(most).map(|gap| gap.item()));
        let said = match self.task {
            "question" if own.is_empty() => "1. Which answer would change your mind?".to_owned(),
            "question" => numbered(own.iter().map(|gap| gap.ask.to_owned())),
            "answer" => numbered(listed(last).iter().map(|_| "The problem does not say.".to_owned())),
            "open" | "close" if own.is_empty() => format!("Nothing on my list is missing in “{name}”."),
            "open" => {
                let start =
                    match ["for", "against"].map(|side_of| side.contains(&format!("You speak {side_of} the motion"))) {
                        [true, _] => format!("I speak for “{name}”. It stands if these answers favour it:"),
                        [false, true] => format!("I speak against “{name}”. It falls as long as nobody can answer:"),
                        [false, false] => format!("I take no side on “{name}”. First somebody has to answer:"),
                    };
                paragraphs([start, items(OPENING)])
            }
            "close" => {
                paragraphs(["The decision rests on what the problem does not say:".to_owned(), items(own.len())])
            }
            _ => self.rebuttal(&own, last),
        };
        paragraphs([said, COLOPHON.to_owned()])
    }

    fn speeches(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.prompt.of_kinds(&["contribution"]).map(|speech| speech.text)
    }

    /// Takes up the last speech's question, and asks another one.
    fn rebuttal(&self, own: &[&Gap], last: &str) -> String {
        let is_said = |line: &str| self.speeches().any(|speech| speech.contains(line));
        let taken = |gap: &Gap| format!("Nobody answered “{}” That speaks for neither side.", gap.ask);
        let heard = asked_in(last).map(taken).find(|line| !is_said(line));
        let own = own
            .iter()
            .find(|gap| !is_said(gap.ask))
            .map(|gap| format!("Nobody has asked yet: {} {}", gap.ask, gap.why));
        let said = numbered(heard.into_iter().chain(own));
        if said.is_empty() { "Everything on my list has been said.".to_owned() } else { said }
    }
}
