//! Numbers the agents' texts in prompts. In output for people, adds the authors' names to these numbers and explains
//! the judge's confidence.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha12Rng;

use super::{Contribution, Debate};
use crate::answer::{ASSESSMENT, Solution};
use crate::ids::AgentId;
use crate::live::PanelInfo;
use crate::points::{ParsedAnswer, RaisedPoint, Statement};
use crate::settings::{AgentSettings, Critics, Settings};

/// Words that stand before a number in prompts: `Text 1` in debates, `Reader 1` in reviews.
const LABELS: [&str; 2] = ["Text", "Reader"];

impl Debate {
    /// Returns a copy for people, with the author's name after labels such as `Text 2` and an explanation of the
    /// judge's confidence. Never save the copy, because models must see only the numbers.
    pub fn with_named_texts(&self) -> Self {
        let Some(settings) = self.settings.as_ref().filter(|_| self.format_version.is_some()) else {
            // Prompts of the TypeScript version had no labels like `Text 2`.
            return self.clone();
        };
        let names = Names::of(self, settings);
        let mut debate = self.clone();
        let rounds = debate.rounds.iter_mut().flat_map(|round| &mut round.contributions);
        for one in rounds.chain(&mut debate.checks) {
            names.in_contribution(Arc::make_mut(one));
        }
        for solution in debate.final_solution.iter_mut().chain(&mut debate.draft) {
            names.in_solution(solution);
            explain_confidence(solution);
        }
        for answer in debate.follow_ups.iter_mut().filter_map(|one| one.answer.as_mut()) {
            names.in_shared(answer);
        }
        debate
    }
}

impl PanelInfo {
    /// Adds the author's name after each label such as `Text 2`.
    pub fn with_named_texts<'t>(&self, text: &'t str) -> Cow<'t, str> {
        Names(self.agents.iter().map(|agent| agent.name.as_str()).collect()).named(text)
    }
}

/// Says in words what the confidence score in the description means. Saved descriptions keep the TypeScript version's
/// format.
fn explain_confidence(solution: &mut Solution) {
    let found = solution.description.rsplit_once(ASSESSMENT).and_then(|(before, after)| {
        let (score, after) = after.strip_prefix("**Confidence Score**: ")?.split_once("/100")?;
        let chance = solution.chance_in_words(&format!("{score} %"));
        Some(format!("{before}{ASSESSMENT}Confidence: {chance}{after}"))
    });
    if let Some(explained) = found {
        solution.description = explained;
    }
}

/// The authors' names in the order of text numbers.
struct Names<'a>(Vec<&'a str>);

impl<'a> Names<'a> {
    fn of(debate: &Debate, settings: &'a Settings) -> Self {
        let order = debate.in_order_of_numbers().into_iter();
        let name =
            |id: &AgentId| settings.agents.iter().find(|agent| agent.id == *id).map_or("", |agent| agent.name.as_str());
        Self(order.map(name).collect())
    }

    fn named<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut named = String::new();
        let mut from = 0;
        for (end, name) in self.labels(text) {
            named.extend([&text[from..end], " (", name, ")"]);
            from = end;
        }
        if from == 0 { Cow::Borrowed(text) } else { (named + &text[from..]).into() }
    }

    /// For each label without a name, the byte position of its end and the author's name.
    fn labels<'s>(&'s self, text: &str) -> Vec<(usize, &'s str)> {
        let places = LABELS.iter().flat_map(|label| text.match_indices(label).map(|(at, _)| (at, at + label.len())));
        let mut places: Vec<(usize, usize)> = places.collect();
        places.sort_unstable();
        let label = |(at, end): (usize, usize)| {
            let digits = text[end..].strip_prefix([' ', '\u{a0}'])?;
            let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            let (number, rest) = digits.split_at(length);
            let name = *self.0.get(number.parse::<usize>().ok()?.checked_sub(1)?)?;
            let is_word = !text[..at].ends_with(char::is_alphanumeric) && !rest.starts_with(char::is_alphanumeric);
            // `Text 2.1` means a section, not a text.
            let is_section = rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            let is_free = is_word && !is_section && !rest.starts_with(" (") && !name.is_empty();
            is_free.then(|| (text.len() - rest.len(), name))
        };
        places.into_iter().filter_map(label).collect()
    }

    fn in_text(&self, text: &mut String) {
        if let Cow::Owned(named) = self.named(text) {
            *text = named;
        }
    }

    fn in_shared(&self, text: &mut Arc<str>) {
        if let Cow::Owned(named) = self.named(text) {
            *text = named.into();
        }
    }

    /// The position that `place` has after names are inserted into `text`.
    fn moved(&self, text: &str, place: usize) -> usize {
        let before = self.labels(text).into_iter().filter(|(end, _)| *end <= place);
        place + before.map(|(_, name)| name.len() + " ()".len()).sum::<usize>()
    }

    fn in_contribution(&self, one: &mut Contribution) {
        if let Some(reading) = one.reading.as_deref_mut() {
            reading.answers_at = reading
                .answers_at
                .take()
                .map(|Range { start, end }| self.moved(&one.content, start)..self.moved(&one.content, end));
            self.in_reading(reading);
        }
        self.in_shared(&mut one.content);
    }

    fn in_reading(&self, reading: &mut ParsedAnswer) {
        for point in reading.points.iter_mut().chain(&mut reading.findings).flatten() {
            self.in_point(point);
        }
        reading.rechecks.iter_mut().for_each(|one| self.in_statement(one));
        reading.verifications.iter_mut().for_each(|one| self.in_statement(one));
        reading.answers.iter_mut().for_each(|one| self.in_statement(one));
        reading.opinions.iter_mut().for_each(|one| self.in_statement(one));
        for one in &mut reading.given_up {
            // Leave a leading label unchanged, so that `remark` still recognizes it.
            let label = one.reason.len() - one.remark().len();
            let named = self.named(&one.reason[label..]).into_owned();
            one.reason.replace_range(label.., &named);
        }
    }

    fn in_point(&self, point: &mut RaisedPoint) {
        self.in_shared(&mut point.text);
        point.about.iter_mut().for_each(|about| self.in_text(about));
        point.resolution.iter_mut().chain(&mut point.evidence).for_each(|text| self.in_shared(text));
    }

    fn in_statement<V>(&self, one: &mut Statement<V>) {
        one.section.iter_mut().for_each(|section| self.in_text(section));
        one.reason.iter_mut().for_each(|reason| self.in_shared(reason));
    }

    fn in_solution(&self, solution: &mut Solution) {
        self.in_text(&mut solution.description);
        solution.summary.iter_mut().for_each(|text| self.in_text(text));
        let lists = [
            &mut solution.tradeoffs,
            &mut solution.recommendations,
            &mut solution.unfulfilled_major_requirements,
            &mut solution.open_questions,
            &mut solution.unverified,
        ];
        lists.into_iter().flatten().for_each(|text| self.in_text(text));
        let partly = solution.partly_fulfilled.iter_mut().flat_map(|one| [&mut one.holds, &mut one.fails]);
        partly.for_each(|text| self.in_text(text));
        let rulings = solution.rulings.iter_mut();
        let said = rulings.flat_map(|ruling| [&mut ruling.section, &mut ruling.remains, &mut ruling.reason]);
        said.for_each(|text| self.in_text(text));
        solution.finding_rulings.iter_mut().for_each(|ruling| self.in_text(&mut ruling.reason));
    }
}

/// The salt for the shuffle that determines the order of text numbers.
const NUMBERS: u32 = 1 << 16;

/// Shuffles `items` into an order that depends only on `seed` and `salt`. A debate has one seed; each of its shuffles
/// has its own salt.
pub fn shuffled<T>(items: impl IntoIterator<Item = T>, seed: u32, salt: u32) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    // ChaCha12 is stable across versions, unlike the standard generator.
    let mut rng = ChaCha12Rng::seed_from_u64(u64::from(seed) << 32 | u64::from(salt));
    items.shuffle(&mut rng);
    items
}

impl Debate {
    /// Returns the agents in the order of their text numbers. One shuffle for the whole debate hides the configured
    /// order. Records without settings use the order of first contributions.
    pub fn in_order_of_numbers(&self) -> Vec<&AgentId> {
        let Some(settings) = &self.settings else {
            let mut spoke: Vec<&AgentId> = Vec::new();
            for one in self.rounds.iter().flat_map(|round| &round.contributions) {
                if !spoke.contains(&&one.agent_id) {
                    spoke.push(&one.agent_id);
                }
            }
            return spoke;
        };
        let agents = settings.agents.iter().map(|agent| &agent.id);
        match self.seed {
            Some(seed) => shuffled(agents, seed, NUMBERS),
            None => agents.collect(),
        }
    }

    /// The number of the author's text, from 1; `None` for the judge.
    pub fn text_number(&self, author: &AgentId) -> Option<u32> {
        self.text_numbers()(author)
    }

    /// Like [`Self::text_number`], for many authors: determines the order only once.
    pub fn text_numbers(&self) -> impl Fn(&AgentId) -> Option<u32> {
        let order = self.in_order_of_numbers();
        move |author| u32::try_from(order.iter().position(|known| *known == author)? + 1).ok()
    }

    /// The critics of `target`'s text, in configuration order: all other agents, or the configured number of agents
    /// that follow `target`, wrapping around.
    pub fn critics_of(&self, target: &AgentId) -> Vec<&AgentSettings> {
        let team = self.team();
        let Some(place) = team.iter().position(|agent| agent.id == *target) else { return Vec::new() };
        let wanted = match self.settings.as_ref().map(|settings| settings.debate.critics) {
            Some(Critics::Number(number)) => number as usize,
            Some(Critics::All) | None => team.len(),
        };
        let is_critic = |at: usize| at != place && (at + team.len() - place - 1) % team.len() < wanted;
        team.iter().enumerate().filter(|(at, _)| is_critic(*at)).map(|(_, agent)| *agent).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::debate::fixture::{argued, debate};

    use super::*;

    #[test]
    fn the_order_depends_on_seed_and_salt_alone() {
        let order = |seed, salt| shuffled(0..8, seed, salt);
        assert_eq!(order(7, 1), order(7, 1));
        assert_ne!(order(7, 1), order(7, 2));
        assert_ne!(order(7, 1), order(8, 1));
        let mut sorted = order(7, 1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn texts_have_the_numbers_from_1_on_in_an_order_of_the_seed() {
        let mut debate = debate();
        let ids: Vec<AgentId> = debate.settings.as_ref().unwrap().agents.iter().map(|agent| agent.id.clone()).collect();
        let mut orders = std::collections::BTreeSet::new();
        for seed in 0..40 {
            debate.seed = Some(seed);
            let numbers: Vec<u32> = ids.iter().map(|id| debate.text_number(id).unwrap()).collect();
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            assert!((1..).zip(sorted).all(|(expected, found)| expected == found), "{numbers:?}");
            orders.insert(numbers);
        }
        assert!(orders.len() > 1, "every seed gives the same order");
        debate.seed = None;
        let numbers: Vec<u32> = ids.iter().map(|id| debate.text_number(id).unwrap()).collect();
        assert!((1..).zip(numbers).all(|(expected, found)| expected == found), "without a seed it is the settings'");
        assert_eq!(debate.text_number(&"nobody".into()), None);
        debate.settings = None;
        assert_eq!(debate.text_number(&debate.rounds[0].contributions[0].agent_id.clone()), Some(1));
    }

    #[test]
    fn a_label_is_followed_by_its_authors_name_and_nothing_else_changes() {
        let names = Names(vec!["Architect", "Kiss"]);
        for (text, named) in [
            ("Text 2 waits; so does Text 1.", "Text 2 (Kiss) waits; so does Text 1 (Architect)."),
            ("**Text 2**: x", "**Text 2 (Kiss)**: x"),
            ("Reader 1 is right", "Reader 1 (Architect) is right"),
            (
                "Text 2 (mine), Text 3, Text 2.1, Texts 2, Context 2, Text 21, text 2",
                "Text 2 (mine), Text 3, Text 2.1, Texts 2, Context 2, Text 21, text 2",
            ),
        ] {
            assert_eq!(names.named(text), named);
        }
    }

    #[test]
    fn a_confidence_says_what_it_is_the_chance_of() {
        let mut solution = Solution {
            description:
                "One store.\n\n---\n\n## Judge Assessment\n\n**Confidence Score**: 60/100 (limited)\n\n### Trade-offs"
                    .into(),
            ..Solution::default()
        };
        explain_confidence(&mut solution);
        let chance = "60 % chance that it meets every major requirement, the judge estimates (limited)";
        let explained = format!("One store.\n\n---\n\n## Judge Assessment\n\nConfidence: {chance}\n\n### Trade-offs");
        assert_eq!(solution.description, explained);
    }

    #[test]
    fn answers_stay_apart_from_the_text_around_them() {
        let mut debate = argued();
        debate.format_version = Some(2);
        let one = debate.rounds.iter_mut().flat_map(|round| &mut round.contributions);
        let one = one.into_iter().find(|one| one.target_agent_id.is_none() && one.reading.is_some()).unwrap();
        let one = Arc::make_mut(one);
        one.content = "As Text 1 says.\n\n## Response\n\n- 1.1 accepted: as Text 2\n\nThe end of Text 2.".into();
        let at = one.content.find("## Response").unwrap()..one.content.find("The end").unwrap();
        one.reading.as_mut().unwrap().answers_at = Some(at);
        let plain = one.without_answers().into_owned();
        let named = debate.with_named_texts();
        let texts = || named.rounds.iter().flat_map(|round| &round.contributions);
        let shown = texts().find(|one| one.content.starts_with("As Text")).unwrap();
        let without_names =
            shown.without_answers().replace(" (System Architect)", "").replace(" (Simplicity Advocate)", "");
        assert_eq!(without_names, plain);
        assert!(shown.content.matches(" (S").count() == 3, "{}", shown.content);
        debate.format_version = None;
        assert_eq!(debate.with_named_texts(), debate);
    }
}
