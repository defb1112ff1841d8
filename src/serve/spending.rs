//! What the debates of a day have cost, by their records: a restart forgets nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use chrono::{DateTime, NaiveTime, Utc};

use crate::debate::{DebateId, Event, Recorded, Usd};
use crate::store::{Directory, JournalReader, StoreError};

/// What was spent since midnight (UTC) by all debates of a directory but for these, and what they have set aside and may
/// have spent. A debate that another program runs counts with all that it may still cost by its limit. A call whose cost
/// nobody knows and for which nothing was set aside counts as none.
pub(super) fn spent_today(directory: &Directory, but_for: &[DebateId]) -> Result<Usd, StoreError> {
    let midnight = Utc::now().with_time(NaiveTime::MIN).single().unwrap_or_else(Utc::now);
    let mut spent = Usd::ZERO;
    for entry in directory.entries()? {
        let Some(journal) = entry.journal.as_deref().filter(|path| is_younger(path, midnight)) else { continue };
        if but_for.iter().all(|id| id.as_str() != entry.id()) {
            // What cannot be read was not written by this program, and not paid through it.
            let Ok(of_debate) = read(journal, midnight) else { continue };
            spent += of_debate.today.total();
            if entry.is_held() {
                spent += of_debate.limit.map_or(Usd::ZERO, |limit| limit.saturating_sub(of_debate.all.total()));
            }
        }
    }
    Ok(spent)
}

fn is_younger(path: &Path, than: DateTime<Utc>) -> bool {
    path.metadata().and_then(|file| file.modified()).is_ok_and(|changed| changed >= SystemTime::from(than))
}

/// What a journal says of money.
#[derive(Default)]
struct Spent {
    today: Sum,
    all: Sum,
    limit: Option<Usd>,
}

fn read(journal: &Path, since: DateTime<Utc>) -> std::io::Result<Spent> {
    let mut reader = JournalReader::open(journal)?;
    let mut spent = Spent::default();
    while let Some(recorded) = reader.next_event()? {
        if let Event::Created(created) = &recorded.event {
            spent.limit = created.settings.debate.budget.max_cost_usd;
        }
        spent.all.add(&recorded);
        if recorded.at.utc() >= since {
            spent.today.add(&recorded);
        }
    }
    Ok(spent)
}

#[derive(Default)]
struct Sum {
    spent: Usd,
    open: BTreeMap<u64, Usd>,
}

impl Sum {
    fn add(&mut self, recorded: &Recorded) {
        if let Event::CostReserved { usd, .. } = &recorded.event {
            self.open.insert(recorded.seq, *usd);
        }
        if let Event::CostAssumed { usd } = &recorded.event {
            self.spent += *usd;
        }
        let Some(call) = recorded.event.call().filter(|call| !call.copied) else { return };
        let reserved = call.reservation.and_then(|number| self.open.remove(&number));
        self.spent += call.cost_usd.or(reserved).unwrap_or(Usd::ZERO);
    }

    fn total(&self) -> Usd {
        self.spent + self.open.values().copied().sum()
    }
}
