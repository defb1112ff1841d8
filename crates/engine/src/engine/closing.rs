//! How a debate closes, and which parts it omits.

use dialectic_record::debate::{Debate, ResultKind, StageId};
use dialectic_record::protocol::{Next, Protocol, Stage};

use super::Engine;

impl Engine {
    /// Whether a closing debate leaves this stage early. It finishes the closing stage, and its check unless the user
    /// stopped the debate.
    pub(super) fn has_to_leave(&self, stage: StageId) -> bool {
        let rank = |id: StageId| self.protocol.stages.iter().position(|stage| stage.info.id == id);
        let is_over_money = self.is_out_of_money() && rank(stage) >= rank(self.wound_up_in());
        self.is_stopping() && stage != self.protocol.closing && !is_over_money
    }

    /// The stage that a closing debate enters. The reserve for the check is used even if the check precedes the
    /// closing.
    pub(super) fn wound_up_in(&self) -> StageId {
        let is_wanted = self.is_out_of_money() && has_something_to_check(self.debate());
        check_before_closing(self.protocol).filter(|_| is_wanted).unwrap_or(self.protocol.closing)
    }

    /// Whether the debate is closing and nothing follows.
    pub(super) fn is_at_its_end(&self) -> bool {
        let debate = self.debate();
        let leads_on = |stage: &Stage| stage.rows.iter().any(|row| matches!(row.1, Next::Go(_)));
        let is_closing = debate.current_stage == Some(self.protocol.closing);
        let is_checked =
            self.protocol.stage(self.protocol.closing).is_some_and(leads_on) && !debate.lenses().is_empty();
        is_closing && !is_checked
    }
}

/// The check stage, if it precedes the closing.
pub(super) fn check_before_closing(protocol: &Protocol) -> Option<StageId> {
    let mut before = protocol.stages.iter().take_while(|stage| stage.info.id != protocol.closing);
    before.find(|stage| stage.info.yields == Some(ResultKind::Check)).map(|stage| stage.info.id)
}

/// Whether there is a text to check.
pub(super) fn has_something_to_check(debate: &Debate) -> bool {
    !debate.lenses().is_empty() && debate.final_round().is_some()
}
