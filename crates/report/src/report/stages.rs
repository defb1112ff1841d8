//! The stages of a debate in reports: their words, order and marks. All of it comes from the record; unknown stages use
//! their ids.

use std::sync::Arc;

use dialectic_base::markdown::{inline, truncate};
use dialectic_record::debate::{Contribution, Debate, ResultKind, Round, StageId, StageInfo};

/// The number of colours in the stylesheet, from `p1`.
const COLOURS: usize = 8;
/// The maximum characters of a name in a legend.
const NAME: usize = 60;
/// The letters of questions to the user, and of the answer.
const QUESTION: &str = "?";
const ANSWER: &str = "A";

/// The stages in the order in which they were reached. Sequential stages of the same place are ordered by their first
/// texts.
fn as_they_came(debate: &Debate) -> Vec<&StageInfo> {
    let texts = || debate.rounds.iter().flat_map(|round| &round.contributions);
    let mut stages: Vec<&StageInfo> = debate.stages.iter().collect();
    stages.sort_by_cached_key(|stage| {
        let first = stage.in_turn.then(|| texts().position(|one| one.stage == stage.id)).flatten();
        (debate.place_rank(stage.id), first)
    });
    stages
}

/// The mark of a stage's calls on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    /// The text in a legend.
    pub(super) name: String,
    /// The letter in a wide bar.
    pub(super) letter: String,
    /// The class of its colour.
    pub(super) colour: String,
}

/// The marks of the stages with calls. Stages with the same name and kind of result share one.
pub(super) struct Marks {
    marks: Vec<(Mark, Option<ResultKind>)>,
    places: Vec<(StageId, usize)>,
}

/// A period of the debate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Period {
    /// Before the first round.
    Before,
    /// In a round.
    Round(u32),
    /// After the last round.
    Closing,
}

/// The contributions of one stage in a round.
pub(super) struct StageSection<'v> {
    /// The heading.
    pub(super) title: String,
    /// Shown when there are none.
    pub(super) empty: String,
    /// The contributions.
    pub(super) contributions: Vec<&'v Contribution>,
}

impl Marks {
    /// The marks of the record's stages in order, then of unknown ones in `used`.
    pub(super) fn of(debate: &Debate, used: impl IntoIterator<Item = StageId>) -> Self {
        let mut marks = Self { marks: Vec::new(), places: Vec::new() };
        for stage in as_they_came(debate).into_iter().filter(|stage| stage.yields.is_some()) {
            marks.add(debate, stage.id);
        }
        for stage in used {
            marks.add(debate, stage);
        }
        marks
    }

    fn add(&mut self, debate: &Debate, stage: StageId) {
        if self.places.iter().any(|(known, _)| *known == stage) {
            return;
        }
        let yields = debate.stage(stage).and_then(|stage| stage.yields);
        let name = truncate(&debate.words(stage).noun, NAME).to_owned();
        let shared = self.marks.iter().position(|(mark, of)| mark.name == name && *of == yields);
        let place = shared.unwrap_or_else(|| {
            let answers = debate.stages.iter().any(|stage| stage.yields == Some(ResultKind::Solution));
            let letter = if yields == Some(ResultKind::Questions) {
                QUESTION.to_owned()
            } else if yields == Some(ResultKind::Solution) && self.marks.iter().all(|(mark, _)| mark.letter != ANSWER) {
                ANSWER.to_owned()
            } else {
                self.free_letter(&name, answers)
            };
            let colour = format!("p{}", self.marks.len() % COLOURS + 1);
            self.marks.push((Mark { name, letter, colour }, yields));
            self.marks.len() - 1
        });
        self.places.push((stage, place));
    }

    /// The first unused letter of a name, or its first letter if all are used.
    fn free_letter(&self, name: &str, answers: bool) -> String {
        let letters = || name.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_uppercase().to_string());
        let is_free = |letter: &String| {
            !(answers && letter == ANSWER) && self.marks.iter().all(|(mark, _)| mark.letter != *letter)
        };
        letters().find(is_free).or_else(|| letters().next()).unwrap_or_default()
    }

    /// The mark of a stage's calls.
    pub(super) fn mark(&self, stage: StageId) -> Option<&Mark> {
        let (_, place) = self.places.iter().find(|(known, _)| *known == stage)?;
        self.marks.get(*place).map(|(mark, _)| mark)
    }

    /// The marks of `used`, each once, in the order of the stages.
    pub(super) fn legend(&self, used: impl Iterator<Item = StageId> + Clone) -> impl Iterator<Item = &Mark> {
        self.marks
            .iter()
            .map(|(mark, _)| mark)
            .filter(move |shown| used.clone().any(|one| self.mark(one) == Some(shown)))
    }
}

impl Period {
    /// The period of a stage's calls.
    pub(super) fn of(debate: &Debate, stage: StageId, round: u32) -> Self {
        let place = debate.stage_rank(stage);
        match debate.stages.get(place) {
            Some(stage) if stage.in_round => Self::Round(round),
            Some(_) if debate.stages.iter().skip(place).any(|stage| stage.in_round) => Self::Before,
            Some(_) => Self::Closing,
            None if round == 0 => Self::Before,
            None => Self::Round(round),
        }
    }
}

/// The contributions of a round by stage in order; unknown stages last. Speeches keep their order, since they answer
/// each other.
pub(super) fn sections<'v>(debate: &'v Debate, round: &'v Round) -> Vec<StageSection<'v>> {
    let all = || round.contributions.iter().map(Arc::as_ref);
    let mut sections = Vec::new();
    let mut done = Vec::new();
    for stage in debate.stages.iter() {
        if done.contains(&stage.id) {
            continue;
        }
        if stage.yields == Some(ResultKind::Speech) {
            let speeches: Vec<&Contribution> =
                all().filter(|one| debate.yield_of(one) == Some(ResultKind::Speech)).collect();
            let held_in = debate.stages.iter().filter(|stage| stage.yields == Some(ResultKind::Speech));
            done.extend(held_in.map(|stage| stage.id));
            sections.extend(speeches.chunk_by(|one, next| one.stage == next.stage).map(|turn| held(debate, turn)));
            continue;
        }
        done.push(stage.id);
        let contributions: Vec<&Contribution> = all().filter(|one| one.stage == stage.id).collect();
        if !contributions.is_empty() || is_missed(debate, round, stage) {
            sections.push(section(&stage.words.plural, contributions));
        }
    }
    while let Some(unknown) = all().find(|one| !done.contains(&one.stage)) {
        done.push(unknown.stage);
        let contributions = all().filter(|one| one.stage == unknown.stage).collect();
        sections.push(section(unknown.stage.as_str(), contributions));
    }
    sections
}

fn section<'v>(plural: &str, contributions: Vec<&'v Contribution>) -> StageSection<'v> {
    StageSection { title: capitalized(plural), empty: format!("No {plural} in this round."), contributions }
}

fn held<'v>(debate: &Debate, turn: &[&'v Contribution]) -> StageSection<'v> {
    let words = turn.first().map(|one| debate.words(one.stage));
    let name = words.map(|words| if turn.len() == 1 { words.noun } else { words.plural }).unwrap_or_default();
    section(&name, turn.to_vec())
}

/// Whether a round should mention an empty stage: if the debate requires it. Of adjacent stages with the same kind of
/// result, a round has one.
fn is_missed(debate: &Debate, round: &Round, stage: &StageInfo) -> bool {
    let mut groups = debate.stages.chunk_by(|one, next| one.yields == next.yields);
    let group = groups.find(|group| group.first().is_some_and(|first| first.id == stage.id)).unwrap_or_default();
    let is_of_group = |one: &Arc<Contribution>| group.iter().any(|stage| stage.id == one.stage);
    stage.in_round
        && stage.is_essential
        && matches!(stage.yields, Some(ResultKind::Proposal | ResultKind::Critique))
        && !group.is_empty()
        && !round.contributions.iter().any(is_of_group)
}

/// The first stage with that result.
pub(super) fn first(debate: &Debate, yields: ResultKind) -> Option<&StageInfo> {
    debate.stages.iter().find(|stage| stage.yields == Some(yields))
}

/// The noun for the answer of the debate.
pub(super) fn answer(debate: &Debate) -> &str {
    let stage = first(debate, ResultKind::Solution).or_else(|| first(debate, ResultKind::Verdict));
    stage.map_or("solution", |stage| &stage.words.noun)
}

/// Whether a contribution is a ballot.
pub(super) fn is_ballot(debate: &Debate, one: &Contribution) -> bool {
    debate.yield_of(one) == Some(ResultKind::Ballot)
}

/// The preposition for a call's target: a critique *of*, a vote *for*, a speech *addressed to*.
pub(crate) fn preposition(debate: &Debate, stage: StageId) -> &'static str {
    let yields = debate.stage(stage).and_then(|stage| stage.yields);
    if yields == Some(ResultKind::Ballot) {
        "for"
    } else if yields == Some(ResultKind::Speech) {
        "addressed to"
    } else {
        "of"
    }
}

/// `3 proposals, 6 critiques, 3 refinements`, in the order of the texts.
pub(super) fn said_in(debate: &Debate, round: &Round) -> String {
    let mut stages: Vec<(StageId, usize)> = Vec::new();
    for one in round.contributions.iter().filter(|one| !one.metadata.carried_over) {
        match stages.iter_mut().find(|(stage, _)| *stage == one.stage) {
            Some((_, count)) => *count += 1,
            None => stages.push((one.stage, 1)),
        }
    }
    // Texts of one stage keep their order.
    stages.sort_by_key(|(stage, _)| debate.place_rank(*stage));
    let said = stages.into_iter().map(|(stage, count)| {
        let words = debate.words(stage);
        format!("{count} {}", inline(if count == 1 { &words.noun } else { &words.plural }))
    });
    let said = said.collect::<Vec<_>>().join(", ");
    if said.is_empty() { "nothing was said".to_owned() } else { said }
}

/// `text` with an initial capital.
pub(super) fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dialectic_record::debate::fixture;
    use dialectic_record::debate::fixture::pitching;
    use dialectic_record::debate::{AgentId, Metadata};
    use dialectic_record::protocol::DIALECTIC;

    fn with(stages: Arc<[StageInfo]>) -> Debate {
        Debate { stages, ..fixture::debate() }
    }

    fn marked(debate: &Debate, used: &[StageId]) -> Vec<String> {
        let marks = Marks::of(debate, used.iter().copied());
        let used = debate.stages.iter().map(|stage| stage.id).chain(used.iter().copied()).collect::<Vec<_>>();
        let shown = marks.legend(used.iter().copied());
        shown.map(|Mark { name, letter, colour }| format!("{letter} {name} {colour}")).collect()
    }

    #[test]
    fn marks_follow_the_order_of_the_stages_and_are_told_apart_by_letters() {
        insta::assert_snapshot!(marked(&with(DIALECTIC.infos()), &[]).join("\n"), @r"
        ? question p1
        S summary p2
        P proposal p3
        C critique p4
        R refinement p5
        E evaluation p6
        A synthesis p7
        H check p8
        F final text p1
        ");
        let encore = StageId::new("encore");
        insta::assert_snapshot!(marked(&with(pitching::stages()), &[encore, encore]).join("\n"), @r"
        P pitch p1
        H heckle p2
        A applause p3
        S show of hands p4
        R ruling p5
        E encore p6
        ");
        let named = |id, noun| StageInfo::new(StageId::new(id), [noun; 6]).yielding(ResultKind::Speech);
        let alike = [named("a", "as"), named("b", "sea"), named("c", "sea"), named("d", "sees"), named("e", "")];
        let solved = named("f", "fix").yielding(ResultKind::Solution);
        assert_eq!(
            marked(&with(alike.into_iter().chain([solved]).collect()), &[]),
            ["S as p1", "E sea p2", "S sees p3", "  p4", "A fix p5"]
        );
    }

    #[test]
    fn periods_are_in_the_order_of_the_debate() {
        let periods = [Period::Before, Period::Round(1), Period::Round(2), Period::Round(10), Period::Closing];
        assert!(periods.is_sorted());
        let debate = with(DIALECTIC.infos());
        let of = |stage: StageId| Period::of(&debate, stage, 3);
        assert_eq!(of(fixture::CLARIFICATION), Period::Before);
        assert_eq!(of(fixture::EVALUATION), Period::Round(3));
        let closing = [fixture::JUDGE_SUMMARY, fixture::SYNTHESIS];
        assert!(closing.into_iter().all(|stage| of(stage) == Period::Closing));
        assert_eq!(of(StageId::new("encore")), Period::Round(3));
    }

    fn headings(stages: Arc<[StageInfo]>, said: &[(&str, &str)]) -> Vec<String> {
        let debate = with(stages);
        let said = said.iter().map(|(stage, agent)| {
            let (agent_id, stage) = (AgentId::new(agent), StageId::from((*stage).to_owned()));
            let (agent_role, content, metadata) = ("kiss".into(), "text".into(), Metadata::default());
            Arc::new(Contribution {
                agent_id,
                agent_role,
                stage,
                content,
                metadata,
                target_agent_id: None,
                reading: None,
            })
        });
        let round = Round { contributions: said.collect(), ..Round::begun(1) };
        let sections = sections(&debate, &round);
        sections.iter().map(|section| format!("{} {}", section.title, section.contributions.len())).collect()
    }

    #[test]
    fn texts_stand_under_their_stage_and_those_of_an_unknown_one_under_its_id() {
        let dialectic = |said: &[(&str, &str)]| headings(DIALECTIC.infos(), said);
        assert_eq!(dialectic(&[]), ["Proposals 0", "Critiques 0", "Refinements 0"]);
        assert_eq!(
            dialectic(&[("encore", "a"), ("refinement", "a"), ("proposal", "a"), ("encore", "b")]),
            ["Proposals 1", "Critiques 0", "Refinements 1", "Encore 2"]
        );
        assert_eq!(headings(pitching::stages(), &[("heckle", "a"), ("pitch", "a")]), ["Pitches 1", "Heckles 1"]);
        let writing = |id, plural| {
            let stage = StageInfo::new(StageId::new(id), [id, plural, id, id, id, id]);
            stage.yielding(ResultKind::Proposal).in_round().essential()
        };
        let review = [writing("draft", "drafts"), writing("rewrite", "rewrites")];
        assert_eq!(headings(review.clone().into(), &[]), ["Drafts 0"]);
        assert_eq!(headings(review.clone().into(), &[("draft", "a")]), ["Drafts 1"]);
        assert_eq!(headings(review.into(), &[("rewrite", "a")]), ["Rewrites 1"], "no draft is missed there");
    }

    #[test]
    fn speeches_stay_in_the_order_in_which_they_were_held() {
        let speech = |id: &'static str| {
            StageInfo::new(StageId::new(id), [id, "speeches", id, id, id, id]).yielding(ResultKind::Speech)
        };
        let stages: Arc<[StageInfo]> = ["silence", "answer", "opening", "closing"].map(speech).into();
        let said = [("opening", "a"), ("answer", "b"), ("opening", "b"), ("opening", "c"), ("answer", "a")];
        assert_eq!(headings(stages, &said), ["Opening 1", "Answer 1", "Speeches 2", "Answer 1"]);
    }
}
