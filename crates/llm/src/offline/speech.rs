//! Speeches for and against a motion, or without a side: the unused parts of the script.

use super::script::{PreparedPart, debaters, part};
use super::task::PlayedAgent;
use super::text::{numbered, paragraphs};

impl PlayedAgent<'_> {
    /// The next speech.
    pub(super) fn speech(&self) -> String {
        let side = self.prompt.named("Your side").1;
        let said = match ["for", "against"].map(|name| side.contains(&format!("You speak {name} the motion"))) {
            [true, _] => self.of_side("for", "against"),
            [false, true] => self.of_side("against", "for"),
            [false, false] => self.of_no_side(),
        };
        paragraphs([said, "*Offline: this speech was prepared beforehand, and no model was called.*".to_owned()])
    }

    fn is_said(&self, line: &str) -> bool {
        !line.is_empty() && self.texts().any(|speech| speech.text.contains(line))
    }

    fn of_side(&self, own: &str, other: &str) -> String {
        let line = |name: &str| self.problem.fill(part(own).get(name));
        let all = |side: &str, name: &str| -> Vec<String> {
            self.problem.fill(part(side).get(name)).split(" | ").map(str::to_owned).collect()
        };
        // Answers only what the other side said.
        let to = |name: &str, answer: &str| {
            let said = all(other, name).into_iter().zip(all(own, answer)).filter(|(said, _)| self.is_said(said));
            said.map(|(_, answer)| answer).collect::<Vec<_>>()
        };
        let reply: Vec<String> =
            to("argue", "reply").into_iter().filter(|reply| !self.is_said(reply)).take(1).collect();
        match self.task {
            "question" => numbered(all(own, "ask")),
            "answer" => numbered(to("ask", "answer")),
            "close" => paragraphs([numbered(all(own, "close")), line("end")]),
            "open" => paragraphs([line("open"), numbered(reply.into_iter().chain(all(own, "argue")))]),
            _ if reply.is_empty() => part("neither").get("nothing").to_owned(),
            _ => numbered(reply),
        }
    }

    /// A speaker without a side speaks from its role, and responds to the last speech.
    fn of_no_side(&self) -> String {
        let filled = |text: &str| self.problem.fill(text);
        let line = |name: &str, text: &str| filled(&format!("{} {text}", part("neither").get(name)));
        let (own, last) = (self.part, self.texts().next_back().unwrap_or_default().text);
        let steps = filled(own.get("plan"));
        let unsaid = |point: &&PreparedPart| !self.is_said(&filled(point.change)) && !self.is_said(point.title);
        let steps = || numbered(steps.split(" | ").map(str::to_owned));
        match (self.task, own.points.iter().find(unsaid)) {
            ("open", _) => paragraphs([line("open", own.get("approach")), steps()]),
            ("close", _) => line("end", own.get("ask")),
            (_, None) => part("neither").get("nothing").to_owned(),
            (_, Some(point)) => {
                let all = debaters().flat_map(|part| &part.points);
                let heard = all.filter(|point| self.holds(last, point));
                let newest = heard.max_by_key(|point| last.find(&filled(point.change)));
                let heard = newest.map(|point| line("agree", point.change));
                let fault = point.text.split_once("] ").unwrap_or_default().1;
                let (word, text) = if point.change.is_empty() { ("doubt", fault) } else { ("add", point.change) };
                paragraphs([heard.unwrap_or_default(), line(word, text)])
            }
        }
    }
}
