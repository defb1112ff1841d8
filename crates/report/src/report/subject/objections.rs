//! What became of every objection, and who moved because of it.

use dialectic_base::figures::{UNKNOWN, counted};
use dialectic_record::debate::{AgentId, Answered, Change, Counts, Ledger, Move, Objection, PointId, Shown};

use crate::report::block::{Block, Column, Line, Piece, Table, figure, foreign, joined, line, marked};

/// What stands in a cell where there is nothing to say.
const NONE: &str = "-";

/// What is said of all points together.
pub(crate) fn counts(shown: &Shown) -> Vec<Block<'_>> {
    let mut blocks = vec![Block::Paragraph(line![figure(Counts::of(&shown.ledger.objections).sentences())])];
    if shown.is_derived {
        let note = "This debate was recorded before points and answers were. What follows was read out of its texts \
                    just now, as far as they allow; nothing of it is saved.";
        blocks.push(Block::Paragraph(line![note]));
    }
    blocks
}

/// All points of a ledger, a row each.
pub(crate) fn table(ledger: &Ledger) -> Table<'_> {
    let rows = ledger.objections.iter().map(|one| {
        vec![
            line![number(one)],
            line![one.point.severity],
            line![&one.critic_id],
            line![&one.target_id],
            line![one.answer_in_words()],
            line![one.recheck_in_words()],
            line![one.ruling_in_words().unwrap_or(NONE)],
            line![if one.open { "yes" } else { "no" }],
        ]
    });
    let columns = ["Point", "Severity", "Critic", "Target", "Answer", "Critic's last word", "Ruling", "Open"];
    Table::new("points", "All points", columns.map(Column::words), rows)
}

/// The points against each text, the open and grave ones first.
pub(crate) fn by_text(ledger: &Ledger) -> Vec<Block<'_>> {
    let mut targets: Vec<&AgentId> = Vec::new();
    for one in &ledger.objections {
        if !targets.contains(&&one.target_id) {
            targets.push(&one.target_id);
        }
    }
    let mut blocks = Vec::new();
    for target in targets {
        let against: Vec<&Objection> = ledger.in_order().into_iter().filter(|one| one.target_id == *target).collect();
        let counts = Counts::of(against.iter().copied());
        let how_many = format!(": {}, {} open", counted(counts.all as u64, "point"), counts.all_open());
        blocks.push(Block::Heading(line!["Against ", target, figure(how_many)]));
        for one in against {
            let state = if one.open { "open" } else { "settled" };
            let head = line![number(one), " · ", one.point.severity, " · ", state, " · ", &one.critic_id];
            blocks.push(Block::Indented(head, point(one)));
        }
    }
    blocks
}

/// All that was said of a point.
pub(crate) fn point(one: &Objection) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    blocks.extend(one.point.about.as_ref().map(|about| Block::Paragraph(line!["About: ", foreign(about)])));
    blocks.push(Block::said(line!["Objection (", one.point.severity, ")"], &one.point.text));
    blocks.extend(one.point.resolution.as_ref().map(|remedy| Block::said(line!["Would be resolved by"], remedy)));
    blocks.push(if one.answer == Answered::Unanswered {
        Block::Paragraph(line![&one.target_id, " did not answer it."])
    } else {
        Block::Said(
            line![&one.target_id, " answered (", one.answer_in_words(), ")"],
            one.reason.as_deref().map(Into::into),
        )
    });
    if one.critic.is_some() {
        let what = line!["Its critics later (", one.recheck_in_words(), ")"];
        blocks.push(Block::Said(what, one.critic_reason.as_deref().map(Into::into)));
    }
    if let Some(ruling) = &one.ruling {
        let met: Line<'_> = match ruling.handled_in.trim() {
            "" if ruling.is_unmet() => line![", not met by the solution"],
            "" => Line::new(),
            section => line![", met in ", marked(section)],
        };
        let reason = Some(&*ruling.reason).filter(|reason| !reason.trim().is_empty());
        let what = [line!["The judge (", ruling.decision.name()], met, line![")"]].concat();
        blocks.push(if ruling.missing {
            let missing = "The judge was asked and did not rule on it, which counts as upheld and not met.";
            Block::Paragraph(line![missing])
        } else {
            Block::Said(what, reason.map(Into::into))
        });
    }
    blocks
}

/// Which points each text answered, and how much of it is new; nothing where none did.
pub(crate) fn changes(ledger: &Ledger) -> Vec<Block<'_>> {
    if ledger.moves.is_empty() {
        return Vec::new();
    }
    let number_of = |id: &PointId| ledger.objections.iter().find(|one| one.id == *id).map(number);
    let points = |ids: &[PointId]| {
        let points = joined(ids.iter().filter_map(number_of).map(|point| vec![point]), ", ");
        if points.is_empty() { line![NONE] } else { points }
    };
    let rows = ledger.moves.iter().map(|Move { round, agent_id, accepted, partly, rejected, unanswered, change }| {
        let lines = |read: fn(Change) -> usize| line![change.map_or(UNKNOWN.into(), |change| figure(read(change)))];
        let answers = [accepted, partly, rejected, unanswered].map(|ids| points(ids));
        let changed = [lines(|change| change.added), lines(|change| change.removed)];
        [line![figure(round)], line![agent_id]].into_iter().chain(answers).chain(changed).collect()
    });
    let words = ["Agent", "Accepted", "Accepted in part", "Rejected", "Unanswered"].map(Column::words);
    let lines = ["Lines added", "Lines removed"].map(Column::figures);
    let columns = [Column::figures("Round")].into_iter().chain(words).chain(lines);
    let table = Table::new("moves", "Which points each text answered, and how much of it is new", columns, rows);
    vec![Block::Heading(line!["Who moved, and why"]), Block::Table(table)]
}

/// What became of a point, in the order in which it happened.
pub(crate) fn course(one: &Objection) -> Line<'_> {
    let recheck = one.critic.map(|_| line![one.recheck_in_words()]);
    let ruling = one.ruling_in_words().map(|ruling| line!["judge: ", ruling]);
    joined([line![one.answer_in_words()]].into_iter().chain(recheck).chain(ruling), " → ")
}

/// What a point is called.
pub(crate) fn name(one: &Objection) -> String {
    one.id.to_string()
}

/// The same, as a piece of a line.
pub(crate) fn number<'a>(one: &Objection) -> Piece<'a> {
    Piece::Point(name(one))
}
