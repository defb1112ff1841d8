//! Speeches for and against a motion, or of those who take no side: of what the script has, what was not said yet.

use super::script::{Part, debaters, part};
use super::task::Agent;
use super::text::{numbered, paragraphs};

/// What a side has of each kind, under these numbers.
const NUMBERS: [&str; 3] = ["1", "2", "3"];

impl Agent<'_> {
    /// What is said in turn.
    pub(super) fn speech(&self) -> String {
        let side = self.prompt.named("Your side").1;
        let said = match ["for", "against"].map(|name| side.contains(&format!("You speak {name} the motion"))) {
            [true, _] => self.of_side("for", "against"),
            [false, true] => self.of_side("against", "for"),
            [false, false] => self.of_no_side(),
        };
        paragraphs([said, "*Rehearsal: this speech was prepared beforehand, and no model was called.*".to_owned()])
    }

    /// Whether somebody has said it in a speech.
    fn is_said(&self, line: &str) -> bool {
        !line.is_empty() && self.texts().any(|speech| speech.text.contains(line))
    }

    fn of_side(&self, own: &str, other: &str) -> String {
        let line = |side: &str, name: &str| self.problem.fill(part(side).get(name));
        let all = |kind: &str| -> Vec<String> {
            let lines = NUMBERS.map(|number| line(own, &format!("{kind}{number}"))).into_iter();
            lines.filter(|line| !line.is_empty()).collect()
        };
        // Only what the other side did say is answered.
        let to = |kind: &str, answer: &str| -> Vec<String> {
            let said = NUMBERS.iter().filter(|number| self.is_said(&line(other, &format!("{kind}{number}"))));
            said.map(|number| line(own, &format!("{answer}{number}"))).collect()
        };
        let reply: Vec<String> =
            to("argue", "reply").into_iter().filter(|reply| !self.is_said(reply)).take(1).collect();
        match self.task {
            "question" => numbered(all("ask")),
            "answer" => numbered(to("ask", "answer")),
            "close" => paragraphs([numbered(all("close")), line(own, "end")]),
            "open" => paragraphs([line(own, "open"), numbered(reply.into_iter().chain(all("argue")))]),
            _ if reply.is_empty() => line("neither", "nothing"),
            _ => numbered(reply),
        }
    }

    /// Somebody who takes no side speaks from its role, and takes up what was said last.
    fn of_no_side(&self) -> String {
        let line = |name| self.problem.fill(part("neither").get(name));
        let objection = |point: &Part| self.problem.fill(point.text.split_once("] ").map_or("", |(_, text)| text));
        let mut own = self.part.points.iter().map(objection);
        if self.task == "open" {
            return paragraphs([line("open"), self.problem.fill(self.part.get("approach")), numbered(own)]);
        }
        let last = self.texts().next_back().unwrap_or_default().text;
        let mut points = debaters().flat_map(|part| &part.points);
        let heard = points.find(|point| last.contains(point.title) && !point.change.is_empty());
        let agreed = heard.map_or("", |point| point.change);
        let agreed = if agreed.is_empty() { String::new() } else { format!("{} {agreed}", line("agree")) };
        let doubt = own.find(|doubt| !self.is_said(doubt)).unwrap_or_else(|| self.part.get("ask").to_owned());
        let end = if self.task == "close" { line("end") } else { String::new() };
        paragraphs([self.problem.fill(&agreed), format!("{} {doubt}", line("doubt")), end])
    }
}
