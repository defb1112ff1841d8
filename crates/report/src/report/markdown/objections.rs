//! The check of the answer and the objections: a table of all points, their texts, and the authors' changes.

use dialectic_record::debate::Ledger;

use super::super::View;
use super::super::block::Block;
use super::super::subject;
use super::{Document, blocks};

/// Writes nothing about a missing check, nor about objections of older records without readings: their reports stay
/// unchanged.
pub(super) fn write(out: &mut Document<'_>, view: &View<'_>) {
    let check = subject::check(view.debate);
    if !check.is_empty() {
        out.line("\n## Check\n");
        blocks::write(out, &check);
    }
    let ledger = &Ledger::of(view.debate);
    if ledger.is_empty() {
        return;
    }
    out.line("\n## Objections\n");
    blocks::write(out, &subject::counts(view.debate, ledger));
    blocks::write(out, &[Block::Table(subject::table(ledger))]);
    for one in &ledger.objections {
        blocks::write(out, &[subject::title(one)]);
        blocks::write(out, &subject::point(one));
    }
    blocks::write(out, &subject::given_up(view.debate));
    blocks::write(out, &subject::changes(ledger));
}
