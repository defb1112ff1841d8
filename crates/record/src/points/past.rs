//! The points of finished rounds, folded once for all later prompts.

use std::sync::Arc;

use crate::debate::{AgentId, Contribution, Debate, StageInfo};

use super::fold::{Fold, Folded};

/// Caches the ledger of finished rounds, so that prompts need not fold the whole debate. Derived, so comparisons of
/// debates ignore it.
#[derive(Debug, Clone, Default)]
pub struct Past(Option<Arc<FoldedLedger>>);

impl PartialEq for Past {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[derive(Debug, Clone)]
struct FoldedLedger {
    folded: Folded,
    /// The folded contributions. Holding them detects replacements in a record that is changed later.
    of: Arc<[(u32, Arc<Contribution>)]>,
    basis: Basis,
}

/// Other parts of a record that a ledger depends on.
#[derive(Debug, Clone)]
struct Basis {
    numbers: Arc<[AgentId]>,
    stages: Arc<[StageInfo]>,
}

impl Past {
    /// A fold of the cached rounds before `round`, and the remaining contributions.
    pub(super) fn begin(
        self,
        debate: &Debate,
        round: u32,
    ) -> (Fold<'_>, impl Iterator<Item = (u32, &Arc<Contribution>)>) {
        let mut fold = Fold::of(debate);
        let known = self.0.filter(|known| known.holds(debate, &fold.numbers, round)).map(Arc::unwrap_or_clone);
        let taken = known.as_ref().map_or(0, |known| known.of.len());
        if let Some(known) = known {
            fold.folded = known.folded;
        }
        (fold, debate.contributions().skip(taken))
    }

    /// The cache extended to all rounds before `round`.
    pub(crate) fn until(self, debate: &Debate, round: u32) -> Self {
        let (mut fold, new) = self.begin(debate, round);
        for (number, one) in new.take_while(|(number, _)| *number < round) {
            fold.take(number, one);
        }
        let of = debate.contributions().take_while(|(number, _)| *number < round);
        let of = of.map(|(number, one)| (number, Arc::clone(one))).collect();
        let basis = Basis { numbers: fold.numbers.into_iter().cloned().collect(), stages: Arc::clone(&debate.stages) };
        Self(Some(Arc::new(FoldedLedger { folded: fold.folded, of, basis })))
    }
}

impl FoldedLedger {
    /// Whether the cached fold is part of the rounds before `round`.
    fn holds(&self, debate: &Debate, numbers: &[&AgentId], round: u32) -> bool {
        let Basis { numbers: known, stages } = &self.basis;
        let is_same = |(number, one): &(u32, Arc<Contribution>), other: Option<(u32, &Arc<Contribution>)>| {
            *number < round && other.is_some_and(|(round, other)| round == *number && Arc::ptr_eq(one, other))
        };
        let mut now = debate.contributions();
        known.iter().eq(numbers.iter().copied())
            && Arc::ptr_eq(stages, &debate.stages)
            && self.of.iter().all(|one| is_same(one, now.next()))
    }
}
