//! `dialectic show`: a part of a saved debate.

use serde::Serialize;

use crate::cli::args::{Part, ShowArgs};
use crate::cli::session::DEBATES;
use crate::cli::terminal::Terminal;
use crate::debate::{Debate, Ledger, Move, Objection, Shown};
use crate::display::objections;
use crate::error::Error;
use crate::report::View;
use crate::store::{Directory, Wanted};

pub(in crate::cli) fn run(args: &ShowArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let saved = Directory::at(DEBATES).find(&args.debate)?.load(Wanted::State)?;
    for warning in &saved.warnings {
        terminal.warning(warning);
    }
    match args.part {
        Part::Points => points(&saved.debate, args.json, terminal),
    }
}

/// What became of every objection.
fn points(debate: &Debate, json: bool, terminal: &mut Terminal) -> Result<(), Error> {
    let shown = Ledger::shown(debate);
    if json {
        return terminal.json(&Points::of(&shown));
    }
    if shown.ledger.is_empty() {
        terminal.notice("No objections are on record, and none can be read out of the texts.");
        return Ok(());
    }
    let view = View::new(debate, &[], None);
    let text = objections(&shown, |agent| view.name_of(agent), terminal.layout());
    terminal.clean(&text)
}

/// What a program is told: the keys are those of the state file.
#[derive(Serialize)]
struct Points<'a> {
    ledger: &'a [Objection],
    moves: &'a [Move],
    /// Whether the record holds none of this, so that it was just read out of the texts.
    derived: bool,
}

impl<'a> Points<'a> {
    fn of(Shown { ledger, is_derived }: &'a Shown) -> Self {
        Self { ledger: &ledger.objections, moves: &ledger.moves, derived: *is_derived }
    }
}
