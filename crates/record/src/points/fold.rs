//! Derives the state of each point from the parsed texts.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use foldhash::{HashMap, HashSet};

use crate::answer::Solution;
use crate::debate::{Contribution, Debate, Lens};
use crate::ids::{AgentId, ResultKind, StageInfo};

use super::reading::lines;
use super::{
    Found, Ledger, Move, ParsedAnswer, Point, PointId, RaisedPoint, RecheckStanding, Remark, RemarkKind, RemarkTime,
    Response, Statement,
};

/// Hashes a text without its answers to critics. Blank lines and whitespace around lines do not matter.
fn identity(text: &Contribution) -> u64 {
    // `DefaultHasher::new` has fixed keys, so ledgers of the same record are equal.
    let mut hasher = DefaultHasher::new();
    lines(&text.without_answers()).for_each(|line| line.hash(&mut hasher));
    hasher.finish()
}

pub(crate) struct Fold<'a> {
    pub(super) folded: Folded,
    /// `None` if the first event does not create a debate. The folded state is then approximate.
    debate: Option<&'a Debate>,
    pub(super) numbers: Vec<&'a AgentId>,
}

/// Clones share an author's points until either clone changes them.
#[derive(Debug, Clone, Default)]
pub(super) struct Folded {
    authors: BTreeMap<AgentId, Arc<Criticised>>,
    moves: Arc<Vec<Move>>,
    /// The number of points raised so far, which is also the next point's rank.
    raised: usize,
}

#[derive(Debug, Clone, Default)]
struct Criticised {
    /// The [`identity`] of the author's last text.
    text: Option<u64>,
    /// The points against all of the author's texts, each with its rank among all points of the debate.
    points: Vec<(usize, Point)>,
    /// For each point's id, its index in `points`.
    by_id: Arc<HashMap<PointId, usize>>,
}

impl Criticised {
    fn all(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().map(|(_, point)| point)
    }

    fn add(&mut self, rank: usize, point: Point) {
        let by_id = Arc::make_mut(&mut self.by_id);
        by_id.entry(point.id.clone()).or_insert(self.points.len());
        self.points.push((rank, point));
    }
}

impl Folded {
    fn author(&mut self, author: &AgentId) -> &mut Criticised {
        Arc::make_mut(self.authors.entry(author.clone()).or_default())
    }

    fn point(&mut self, id: &PointId) -> Option<&mut Point> {
        let (index, criticised) = self.authors.values_mut().find_map(|one| Some((*one.by_id.get(id)?, one)))?;
        Arc::make_mut(criticised).points.get_mut(index).map(|(_, point)| point)
    }

    fn add(&mut self, point: Point) {
        let rank = self.raised;
        self.raised += 1;
        self.author(&point.target_id.clone()).add(rank, point);
    }
}

impl<'a> Fold<'a> {
    pub(crate) fn of(debate: &'a Debate) -> Self {
        let (numbers, debate) = (debate.in_order_of_numbers(), Some(debate));
        Self { debate, numbers, ..Self::without_numbers() }
    }

    pub(crate) fn without_numbers() -> Self {
        Self { folded: Folded::default(), debate: None, numbers: Vec::new() }
    }

    pub(crate) fn ledger(&self) -> Ledger {
        let mut points: Vec<&(usize, Point)> = self.folded.authors.values().flat_map(|one| &one.points).collect();
        points.sort_unstable_by_key(|(rank, _)| *rank);
        let objections = points.into_iter().map(|(_, point)| point.clone()).collect();
        Ledger { objections, moves: self.folded.moves.to_vec(), is_derived: false }
    }

    pub(super) fn against(&self, target: &AgentId) -> Ledger {
        let objections = self.folded.authors.get(target).into_iter().flat_map(|one| one.all()).cloned().collect();
        Ledger { objections, ..Ledger::default() }
    }

    /// Folds one contribution of `round`. Call this for the contributions in the order of the record.
    pub(crate) fn take(&mut self, round: u32, one: &Contribution) {
        // A carried-over text was already folded in its own round.
        if let Some(reading) = one.reading.as_ref().filter(|_| !one.metadata.carried_over) {
            if let Some(target) = &one.target_agent_id {
                self.criticise(round, one, target, reading, reading.points.iter().flatten());
            } else {
                for target in targets(reading) {
                    let points = reading.points.iter().flatten();
                    let points = points.filter(|point| point.target.as_ref() == Some(target));
                    self.criticise(round, one, target, reading, points);
                }
                if self.is_text(one) {
                    self.answer(round, one, reading);
                }
            }
        }
        if one.target_agent_id.is_none() && self.is_text(one) {
            let text = Some(identity(one));
            let known = self.folded.authors.get(&one.agent_id);
            if known.is_none_or(|known| known.text != text) {
                let criticised = self.folded.author(&one.agent_id);
                criticised.text = text;
                for (_, known) in &mut criticised.points {
                    let is_earlier = known.text != text;
                    // Assigning even an equal value would copy a shared point.
                    if known.is_of_earlier_text != is_earlier {
                        known.is_of_earlier_text = is_earlier;
                    }
                }
            }
        }
    }

    /// Whether the contribution is an author's text. True also if its kind is unknown.
    fn is_text(&self, one: &Contribution) -> bool {
        let yields = self.debate.and_then(|debate| debate.yield_of(one));
        yields.is_none_or(|yields| yields == ResultKind::Proposal)
    }

    /// Folds the drafts, the checks and the judge's rulings. Call this last, because they come after all rounds.
    pub(super) fn close(&mut self, debate: &Debate) {
        let (mut draft, mut text, mut raised) = (0, None, 0);
        for one in &debate.checks {
            let Some(reading) = one.reading.as_ref() else {
                if debate.yield_of(one) != Some(ResultKind::Check) {
                    (draft, text) = (draft + 1, Some(identity(one)));
                }
                continue;
            };
            if debate.yield_of(one) == Some(ResultKind::Check) {
                self.check(one, draft, text);
                raised = self.raise_by_check(debate, one, draft, raised);
            } else {
                // Both a new draft and the final text answer the preceding check.
                self.reply(RemarkTime::Final, &one.agent_id, &reading.answers);
                (draft, text) = (draft + 1, Some(identity(one)));
            }
        }
        if let Some(solution) = &debate.final_solution {
            self.rule(solution);
        }
    }

    fn check(&mut self, one: &Contribution, draft: u32, text: Option<u64>) {
        for found in one.reading.iter().flat_map(|reading| &reading.verifications) {
            let Some(objection) = self.folded.point(&found.point) else { continue };
            let is_same = text.is_none() || text == objection.text;
            let is_unchanged = found.verdict == Found::Verified && is_same;
            let kind = if is_unchanged { RemarkKind::Unchanged } else { RemarkKind::Checked(found.verdict) };
            objection.remarks.push(Remark::of(RemarkTime::Check(draft), &one.agent_id, kind, found));
        }
    }

    fn raise_by_check(&mut self, debate: &Debate, one: &Contribution, draft: u32, before: usize) -> usize {
        let lens = one.metadata.lens.map_or("", Lens::name);
        let target = one.target_agent_id.as_ref().unwrap_or(&one.agent_id);
        let points = one.reading.iter().flat_map(|reading| &reading.points).flatten();
        let mut raised = before;
        for (number, point) in (1..).zip(points) {
            raised += 1;
            let id = PointId::of_check(draft, lens, &one.agent_id, number);
            let by = raised_by(RemarkTime::Check(draft), one);
            let mut objection = Point::raised(id, format!("D{raised}"), debate.current_round, target, point, by);
            objection.lens = Some(lens.to_owned()).filter(|lens| !lens.is_empty());
            objection.draft = Some(draft);
            self.folded.add(objection);
        }
        raised
    }

    fn criticise<'p>(
        &mut self,
        round: u32,
        one: &Contribution,
        target: &AgentId,
        reading: &ParsedAnswer,
        points: impl Iterator<Item = &'p RaisedPoint>,
    ) {
        let (at, debate) = (RemarkTime::Round(round), self.debate);
        let criticised = self.folded.author(target);
        let text = criticised.text;
        // Only points from earlier rounds: a critic cannot recheck points that were raised in the same round.
        let is_passed_over = |known: &Point| {
            let is_own = debate.is_none() || known.critic_id == one.agent_id;
            known.round < round && !known.was_not_reraised && is_own
        };
        let passed_over = criticised.points.iter_mut().map(|(_, known)| known).filter(|known| is_passed_over(known));
        passed_over.for_each(|known| known.was_not_reraised = true);
        for recheck in &reading.rechecks {
            let Some(objection) = self.folded.point(&recheck.point) else { continue };
            let is_same = text.is_none() || text == objection.text;
            if recheck.verdict == RecheckStanding::Verified && is_same {
                objection.remarks.push(Remark::of(at, &one.agent_id, RemarkKind::Unchanged, recheck));
                continue;
            }
            let kind = RemarkKind::Rechecked(recheck.verdict);
            let is_first = objection.rechecked_in() != Some(at) && objection.round < round;
            objection.remarks.push(Remark::of(at, &one.agent_id, kind, recheck));
            if is_first || recheck.verdict == RecheckStanding::Maintained {
                objection.text = text;
                objection.is_of_earlier_text = false;
            }
        }
        let criticised = self.folded.author(target);
        let against = || criticised.all().filter(|known| known.draft.is_none());
        let before = against().filter(|known| known.round == round && known.critic_id == one.agent_id).count();
        let raised = against().count();
        let is_unanswerable = one.target_agent_id.is_none() && debate.is_some_and(|debate| !debate.has_answers());
        let text_number = self.numbers.iter().position(|author| *author == target).map_or(0, |place| place + 1);
        for (number, point) in (1..).zip(points) {
            let id = PointId::new(round, &one.agent_id, target, before + number);
            let number = format!("{text_number}.{}", raised + number);
            let mut objection = Point::raised(id, number, round, target, point, raised_by(at, one));
            (objection.text, objection.is_unanswerable) = (text, is_unanswerable);
            self.folded.add(objection);
        }
    }

    fn answer(&mut self, round: u32, one: &Contribution, reading: &ParsedAnswer) {
        let author = &one.agent_id;
        let criticised = self.folded.author(author);
        let answered = reading.answers.iter().filter_map(|reply| criticised.by_id.get(&reply.point));
        let answered: HashSet<usize> = answered.copied().collect();
        let due = criticised
            .all()
            .enumerate()
            .filter(|(index, known)| known.is_undecided() && known.draft.is_none() && !answered.contains(index));
        let unanswered: Vec<PointId> = due.map(|(_, known)| known.id.clone()).collect();
        let all = |wanted| {
            let replies = reading.answers.iter().filter(move |reply| reply.verdict == wanted);
            replies.map(|reply| reply.point.clone()).collect::<Vec<_>>()
        };
        let moved = Move {
            round,
            agent_id: author.clone(),
            accepted: all(Response::Accepted),
            partly: all(Response::Partly),
            rejected: all(Response::Rejected),
            unanswered,
            change: reading.change,
        };
        if !reading.answers.is_empty() || !moved.unanswered.is_empty() {
            Arc::make_mut(&mut self.folded.moves).push(moved);
        }
        self.reply(RemarkTime::Round(round), author, &reading.answers);
    }

    fn reply(&mut self, at: RemarkTime, author: &AgentId, replies: &[Statement<Response>]) {
        for reply in replies {
            let Some(objection) = self.folded.point(&reply.point) else { continue };
            objection.was_not_reraised = false;
            objection.remarks.push(Remark::of(at, author, RemarkKind::Answered(reply.verdict), reply));
        }
    }

    fn rule(&mut self, solution: &Solution) {
        for ruling in &solution.rulings {
            let Some(objection) = self.folded.point(&ruling.point) else { continue };
            let named = |text: &str| Some(text.to_owned()).filter(|text| !text.trim().is_empty());
            objection.remarks.push(Remark {
                at: RemarkTime::Ruling,
                by: None,
                kind: RemarkKind::Ruled(Box::new(ruling.clone())),
                section: named(&ruling.section),
                reason: named(&ruling.reason).map(Arc::from),
            });
        }
    }
}

fn raised_by(at: RemarkTime, one: &Contribution) -> Remark {
    Remark { at, by: Some(one.agent_id.clone()), kind: RemarkKind::Raised, section: None, reason: None }
}

fn targets(reading: &ParsedAnswer) -> Vec<&AgentId> {
    let mut targets: Vec<&AgentId> = Vec::new();
    for target in reading.points.iter().flatten().filter_map(|point| point.target.as_ref()) {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    targets
}

/// Caches the fold of finished rounds, so that prompts need not fold the whole debate again. All caches compare equal,
/// so that a cache does not affect comparisons of debates. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Past {
    folded: Folded,
    /// The contributions already folded. They are kept alive so that comparing pointers detects replacements.
    of: Arc<[(u32, Arc<Contribution>)]>,
    /// The authors in the order of their text numbers, which are part of the points' numbers.
    numbers: Arc<[AgentId]>,
    stages: Arc<[StageInfo]>,
}

impl PartialEq for Past {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Past {
    /// Returns the cached fold, or an empty one if the cache is out of date or covers `round`, and all contributions
    /// that are not folded yet, including those of `round` and later rounds.
    pub(super) fn begin(
        self,
        debate: &Debate,
        round: u32,
    ) -> (Fold<'_>, impl Iterator<Item = (u32, &Arc<Contribution>)>) {
        let mut fold = Fold::of(debate);
        let mut taken = 0;
        if self.holds(debate, &fold.numbers, round) {
            (fold.folded, taken) = (self.folded, self.of.len());
        }
        (fold, debate.contributions().skip(taken))
    }

    /// Folds all rounds before `round`. The contributions of `round` itself may still change.
    pub(crate) fn until(self, debate: &Debate, round: u32) -> Self {
        let (mut fold, new) = self.begin(debate, round);
        for (number, one) in new.take_while(|(number, _)| *number < round) {
            fold.take(number, one);
        }
        let of = debate.contributions().take_while(|(number, _)| *number < round);
        let of = of.map(|(number, one)| (number, Arc::clone(one))).collect();
        let (numbers, stages) = (fold.numbers.into_iter().cloned().collect(), Arc::clone(&debate.stages));
        Self { folded: fold.folded, of, numbers, stages }
    }

    fn holds(&self, debate: &Debate, numbers: &[&AgentId], round: u32) -> bool {
        let is_same = |(number, one): &(u32, Arc<Contribution>), other: Option<(u32, &Arc<Contribution>)>| {
            *number < round && other.is_some_and(|(round, other)| round == *number && Arc::ptr_eq(one, other))
        };
        let mut now = debate.contributions();
        self.numbers.iter().eq(numbers.iter().copied())
            && Arc::ptr_eq(&self.stages, &debate.stages)
            && self.of.iter().all(|one| is_same(one, now.next()))
    }
}
