//! What is said for and against a motion: speeches, questions, answers, polls, the verdict.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::agent::Agent;
use super::checklist::{Entry, motions};
use super::document::{Point, holds, named, points};
use super::form::names_in;
use super::prompt::Fenced;
use super::words::{count_of, mixed, one_line, percent, ratio, words};

/// Arguments of a speech.
const ARGUMENTS: usize = 3;
/// A motion is quoted up to so many characters.
const QUOTED_CHARS: usize = 160;

/// For whom somebody speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    For,
    Against,
    Neither,
}

impl Side {
    /// The side of which a heading tells.
    fn named_in(title: &str) -> Self {
        let has = |wanted: &str| words(title).any(|word| word.eq_ignore_ascii_case(wanted));
        if has("against") {
            Self::Against
        } else if has("for") {
            Self::For
        } else {
            Self::Neither
        }
    }
}

impl<'a> Agent<'a> {
    /// The first speech of a side.
    pub(super) fn opening(&self) -> String {
        let reasons: Vec<&Entry> = self.arguments().into_iter().take(ARGUMENTS).collect();
        let motion = self.motion();
        let start = match self.side() {
            Side::For => format!("I speak for the motion “{motion}”, for {}.", count_of(reasons.len(), "reason")),
            Side::Against => {
                format!("I speak against the motion “{motion}”, for {}.", count_of(reasons.len(), "reason"))
            }
            Side::Neither => return self.view(),
        };
        let reasons = reasons.into_iter().map(|entry| (entry.title.to_owned(), self.argument(entry)));
        self.speech(&start, reasons.collect(), self.appeal())
    }

    /// The other side's latest arguments, answered by number, and one of its own that nobody named yet.
    pub(super) fn rebuttal(&self) -> String {
        let Some((title, attacked)) = self.latest_of_others(|_| true).filter(|_| self.side() != Side::Neither) else {
            return self.opening();
        };
        let mut parts: Vec<(String, String)> =
            attacked.iter().take(ARGUMENTS).map(|point| (point.title.clone(), self.reply(point))).collect();
        let said: Vec<&Entry> = self.material().flat_map(|text| named(text.text)).collect();
        let new = self.arguments().into_iter().find(|entry| !holds(&said, entry));
        parts.extend(new.map(|entry| {
            (entry.title.to_owned(), format!("And one thing that nobody has named yet. {}", self.argument(entry)))
        }));
        self.speech(&format!("To “{title}” I answer point by point."), parts, self.appeal())
    }

    /// The last speech of a side: what was never answered, and what was.
    pub(super) fn closing(&self) -> String {
        if self.side() == Side::Neither {
            return self.view();
        }
        let (own, others) = (self.entries_of(|side| side == self.side()), self.entries_of(|side| side != self.side()));
        let unanswered = own.iter().filter(|entry| !holds(&others, entry)).take(2);
        let met = others.iter().filter(|entry| holds(&own, entry)).take(2);
        let mut parts: Vec<(String, String)> = unanswered
            .map(|entry| (entry.title.to_owned(), format!("The other side left it standing. {}", self.argument(entry))))
            .collect();
        parts.extend(met.map(|entry| {
            (entry.title.to_owned(), format!("Both sides spoke to it, and this decides: {}", self.argument(entry)))
        }));
        if parts.is_empty() {
            return self.opening();
        }
        self.speech(&format!("What stands at the end about “{}”:", self.motion()), parts, self.appeal())
    }

    /// Cross-examination: questions about the other side's latest arguments.
    pub(super) fn questions_to_the_other(&self) -> String {
        let attacked = self.latest_of_others(|_| true).map(|(_, points)| points).unwrap_or_default();
        let mut asked: Vec<(String, String)> = attacked
            .into_iter()
            .take(ARGUMENTS)
            .map(|point| {
                let general = "Which case of your own shows that this holds, and what would show that it does not?";
                let question = point.entry.map_or(general, |entry| entry.question);
                (point.title, question.to_owned())
            })
            .collect();
        let further = self.arguments().into_iter().map(|entry| (entry.title.to_owned(), entry.question.to_owned()));
        asked.extend(further.take(2_usize.saturating_sub(asked.len())));
        self.speech("I ask the other side:", asked, "")
    }

    /// The other side's questions, answered by number.
    pub(super) fn answers(&self) -> String {
        let questions = self.latest_of_others(|points| points.iter().any(|point| point.body.ends_with('?')));
        let Some((_, questions)) = questions else { return self.view() };
        let answers = questions.iter().map(|question| (question.title.clone(), self.reply(question)));
        self.speech("To your questions:", answers.collect(), "")
    }

    /// A poll: for or against, by the arguments of each side that stand.
    pub(super) fn poll(&self) -> (&'static str, u32, String) {
        let weight = |side: Side| {
            let made = self.entries_of(|one| one == side);
            // What the voter itself looks for first counts double.
            made.len() + self.arguments().iter().take(ARGUMENTS).filter(|entry| holds(&made, entry)).count()
        };
        let (in_favour, opposed) = (weight(Side::For), weight(Side::Against));
        if in_favour + opposed == 0 {
            let depends = self.arguments().first().map_or("", |entry| entry.question);
            let reason = format!("Nothing has been argued yet. From my point of view it depends on this: {depends}");
            return ("undecided", 50, reason);
        }
        let tie_break = mixed(self.seed, &format!("{} {}", self.checklist.title, self.motion()));
        let choice = match in_favour.cmp(&opposed) {
            Ordering::Greater => "for",
            Ordering::Less => "against",
            Ordering::Equal => ["for", "against"][usize::from(tie_break.is_multiple_of(2))],
        };
        let tie = if in_favour == opposed { ", and a rule breaks the tie" } else { "" };
        let reason = format!(
            "By count: {in_favour} for the motion and {opposed} against it, with the arguments that {} looks for counted \
             twice{tie}.",
            self.checklist.view
        );
        (choice, percent(ratio(in_favour.max(opposed), in_favour + opposed)), reason)
    }

    /// The judge's verdict on debaters under labels.
    pub(super) fn verdict(&self, schema: &Value) -> Vec<(&'static str, Value)> {
        let mut labels = names_in(schema, "debater");
        if labels.is_empty() {
            labels = names_in(schema, "winner").into_iter().filter(|label| label != "none").collect();
        }
        let arguments = |label: &String| {
            let is_of = |text: &Fenced| words(text.title).any(|word| word == label);
            let points = self.material().filter(is_of).flat_map(|text| points(text.text));
            points.map(|point| point.title).collect::<BTreeSet<String>>().len()
        };
        let counts: Vec<(&String, usize)> = labels.iter().map(|label| (label, arguments(label))).collect();
        let most = counts.iter().map(|(_, count)| *count).max().unwrap_or_default();
        let mut best = counts.iter().filter(|(_, count)| *count == most).map(|(label, _)| label.as_str());
        let winner = best.next().filter(|_| best.next().is_none()).unwrap_or("none");
        let scores = counts.iter().map(|(label, count)| {
            // With no argument half of nothing is left; one more than the others is no triumph either.
            json!({ "debater": label, "score": percent(0.9 * ratio(*count, most + 1)) })
        });
        let told: Vec<String> = counts
            .iter()
            .map(|(label, count)| format!("Debater {label} makes {}", count_of(*count, "point")))
            .collect();
        let told = told.join(", ");
        let mut criteria = names_in(schema, "name");
        if criteria.is_empty() {
            let listed = self.prompt.part("Criteria").flat_map(|section| {
                let bullets = section.lines.iter().filter_map(|line| line.strip_prefix("- "));
                let bullets = bullets.map(|line| line.split([':', '.']).next().unwrap_or(line));
                bullets.chain((section.title != section.part).then_some(section.title)).collect::<Vec<_>>()
            });
            criteria = listed.map(|name| name.trim_matches(['*', '`', ' ']).to_owned()).collect();
        }
        let criteria = criteria.iter().map(|name| {
            let assessment = format!("No rule can weigh this; what can be counted for {name} are points: {told}.");
            json!({ "name": name, "assessment": assessment })
        });
        let decided =
            if winner == "none" { "so neither is ahead".to_owned() } else { format!("so Debater {winner} is ahead") };
        vec![
            ("scores", scores.collect()),
            ("criteria", criteria.collect()),
            ("reasoning", format!("By rule, without a model: {told}, {decided}.").into()),
            ("winner", winner.into()),
        ]
    }

    fn motion(&self) -> String {
        let motion = self.prompt.of_kind("problem").next().map_or("", |text| text.text);
        one_line(motion, QUOTED_CHARS).trim_end_matches('.').to_owned()
    }

    fn side(&self) -> Side {
        let lines = self.prompt.part("Your side").flat_map(|section| &section.lines);
        let named = lines.map(|line| Side::named_in(line)).find(|side| *side != Side::Neither);
        named.unwrap_or(Side::Neither)
    }

    /// Whether the checklist of the role has nothing to say of it: it is a motion about no system.
    pub(super) fn is_mere_motion(&self) -> bool {
        !self.problem.names_a_thing() && self.prompt.part("Your side").next().is_some()
    }

    /// A speech for no side: what can be said for and against, and what would settle it.
    pub(super) fn weighing(&self) -> String {
        let said: Vec<&Entry> = self.material().flat_map(|text| named(text.text)).collect();
        let new = self.arguments().into_iter().filter(|entry| !holds(&said, entry)).take(ARGUMENTS);
        let weighed = new.map(|entry| {
            let text = format!(
                "In its favour: {} Against it: {} To be settled first: {}",
                entry.merit, entry.concern, entry.question
            );
            (entry.title.to_owned(), text)
        });
        let weighed: Vec<_> = weighed.collect();
        let nothing_new = if weighed.is_empty() { "What I would weigh has been weighed." } else { "" };
        self.speech(&format!("On “{}” I take no side; I weigh it.", self.motion()), weighed, nothing_new)
    }

    /// What can be argued about the motion, in an order of the role's own. Against it stands first what its own words
    /// call for on the role's checklist; these points say how something is done well, so nobody speaks for it with them.
    fn arguments(&self) -> Vec<&'static Entry> {
        let is_opposed = self.side() == Side::Against && self.problem.names_a_thing();
        let called = self.own.iter().copied().filter(|entry| is_opposed && entry.score(&self.problem) > 0).take(2);
        let mut general: Vec<&Entry> = motions().applicable(&self.problem);
        general.sort_by_key(|entry| {
            let is_called = entry.score(&self.problem) > 0;
            (!is_called, mixed(0, &format!("{}{}", self.checklist.title, entry.title)))
        });
        called.chain(general).collect()
    }

    /// An argument for the side that it is made from.
    fn argument(&self, entry: &Entry) -> String {
        let text = match self.side() {
            Side::For if entry.merit.is_empty() => format!("It can be done, and done well: {}", entry.action),
            Side::For => entry.merit.to_owned(),
            Side::Against | Side::Neither => format!("{} {}", entry.concern, entry.effect),
        };
        self.problem.about(&text)
    }

    /// What a side answers to a point of the other.
    fn reply(&self, point: &Point) -> String {
        let Some(entry) = point.entry else {
            return "That is said without a case that shows it. As long as there is none, it decides nothing."
                .to_owned();
        };
        self.problem.about(&match self.side() {
            Side::For => format!("That can be seen to: {} The price is bearable: {}", entry.action, entry.cost),
            Side::Against => format!("{} And what would mend it has its price: {}", entry.concern, entry.cost),
            Side::Neither => format!("It would have to be settled first: {}", entry.question),
        })
    }

    fn appeal(&self) -> &'static str {
        match self.side() {
            Side::For => "So I ask you to carry the motion.",
            Side::Against => "So I ask you to reject the motion.",
            Side::Neither => "",
        }
    }

    fn speech(&self, start: &str, parts: Vec<(String, String)>, end: &str) -> String {
        let numbered = (1..).zip(parts).map(|(number, (title, text))| format!("{number}. **{title}.** {text}"));
        let mut paragraphs = vec![start.to_owned()];
        paragraphs.extend(numbered);
        paragraphs.push(end.to_owned());
        paragraphs.push(self.colophon());
        paragraphs.retain(|paragraph| !paragraph.is_empty());
        paragraphs.join("\n\n")
    }

    /// The newest speech of others whose numbered points are wanted. Where headings tell no sides, all are others'.
    fn latest_of_others(&self, is_wanted: impl Fn(&[Point]) -> bool) -> Option<(&'a str, Vec<Point>)> {
        let are_told = self.material().any(|text| Side::named_in(text.title) != Side::Neither);
        let is_of_others = |text: &Fenced| match Side::named_in(text.title) {
            Side::Neither => !are_told,
            side => side != self.side(),
        };
        let others = self.material().rev().filter(is_of_others).map(|text| (text.title, points(text.text)));
        others.into_iter().find(|(_, points)| !points.is_empty() && is_wanted(points))
    }

    /// The arguments made by some sides, as far as headings tell them.
    fn entries_of(&self, is_meant: impl Fn(Side) -> bool) -> Vec<&'static Entry> {
        let mut entries: Vec<&Entry> = Vec::new();
        let told = self.material().filter(|text| Side::named_in(text.title) != Side::Neither);
        for text in told.filter(|text| is_meant(Side::named_in(text.title))) {
            let new: Vec<_> = named(text.text).into_iter().filter(|entry| !holds(&entries, entry)).collect();
            entries.extend(new);
        }
        entries
    }
}
