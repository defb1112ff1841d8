//! A group: a problem's debate and its arms, each with its own record in the debates directory.

use std::cell::RefCell;
use std::path::PathBuf;

use crate::cli::args::VouchArgs;
use crate::cli::conclusion::{limit_reached, paused, server_gone};
use crate::cli::interrupt::Interrupts;
use crate::cli::session::vouched;
use crate::error::Error;
use crate::lift::{Arm, Arms, Bill, Done, Meter, Metering, Note, Notes, NotesError, Problem, identity};
use dialectic_base::money::Usd;
use dialectic_config::ConfigFiles;
use dialectic_engine::access::Trust;
use dialectic_engine::engine::RunEnding;
use dialectic_engine::runner::{Finished, Prepared, Ready, Runner, RunnerError, Spec};
use dialectic_record::debate::{AgentSettings, Debate, DebateId, Forecast, Settings, Status};
use dialectic_record::protocol::Protocol;
use dialectic_record::store::{AccessMode, Directory, Entry, SavedDebate, StoreError};

use super::purse::Spent;

/// The part of a group that is the debate.
const DEBATE: &str = "debate";
/// The debate's name in notes; `held` is its limit, if any.
pub(super) fn debate_part(held: Option<Usd>) -> String {
    held.map_or_else(|| DEBATE.to_owned(), |held| format!("{DEBATE} held to {held}"))
}

/// The parts that groups share.
pub(super) struct Groups<'a> {
    /// The name of the debates.
    pub(super) name: String,
    pub(super) runner: &'a Runner,
    pub(super) files: ConfigFiles<'a>,
    pub(super) directory: Directory,
    pub(super) protocol: &'static Protocol,
    pub(super) settings: Settings,
    pub(super) provenance: Trust,
    /// The agent that answers in the arms.
    pub(super) arm: AgentSettings,
}

/// A part of a group.
pub(super) struct Part {
    /// The name in notes.
    pub(super) name: String,
    /// The name in messages.
    pub(super) what: String,
    /// The maximum cost at list prices; absent if unknown.
    pub(super) most: Option<Usd>,
    /// The meter that ends it when its money is spent.
    pub(super) meter: Option<Meter>,
    /// Whether it has a limit that may not cover it.
    pub(super) is_held: bool,
}

/// Why a part of a group has no answer.
pub(super) enum Lacking {
    /// The part is skipped, and the run continues.
    LeftOut(String),
    /// The run stops.
    Stop(Error),
}

impl<E: Into<Error>> From<E> for Lacking {
    fn from(error: E) -> Self {
        Self::Stop(error.into())
    }
}

impl Groups<'_> {
    /// The path of a group's notes. The same problem and settings give the same group everywhere.
    pub(super) fn notes_path(&self, problem: &Problem) -> PathBuf {
        let settings = Settings { base_dir: None, context_dir: None, ..self.settings.clone() };
        // Settings always have a JSON form.
        let settings = serde_json::to_string(&settings).unwrap_or_default();
        let name = identity([self.protocol.name, &settings, &problem.text], 8);
        self.directory.path().join("lift").join(format!("{name}.jsonl"))
    }

    /// The name of an arm in notes.
    pub(super) fn part_of(&self, arm: Arm) -> String {
        format!("{} by {}/{}", arm.protocol().name, self.arm.provider, self.arm.model)
    }

    /// The record of a part, if there is one.
    pub(super) fn record(&self, notes: &Notes, part: &str) -> Option<Entry> {
        self.entry(notes.record_of(part)?)
    }

    /// A noted record. It may be missing or empty: the user removed it, or the program was killed between the note and
    /// the first event.
    fn entry(&self, id: &DebateId) -> Option<Entry> {
        let entry = Entry::of_state(&self.directory.state_path(id));
        let is_begun = |journal: &PathBuf| journal.metadata().is_ok_and(|file| file.len() > 0);
        (entry.state.exists() || entry.journal.as_ref().is_some_and(is_begun)).then_some(entry)
    }

    /// A finished part.
    pub(super) fn finished(&self, notes: &Notes, part: &str) -> Result<Option<Done>, StoreError> {
        let Some(entry) = self.record(notes, part) else { return Ok(None) };
        let done = read(&entry)?;
        Ok((done.debate.status == Status::Completed).then_some(done))
    }

    /// The cost of all records of a group so far.
    pub(super) fn spent(&self, notes: &Notes) -> Result<Spent, StoreError> {
        let mut sum = Spent::default();
        for entry in notes.records().filter_map(|id| self.entry(id)) {
            sum += Spent::of(&entry.load(AccessMode::State)?.debate);
        }
        Ok(sum)
    }

    /// The debate of a problem. It may cost at most `most`, regardless of its own limit.
    pub(super) fn debate(&self, problem: &Problem, most: Option<Usd>) -> Spec {
        let mut settings = self.settings.clone();
        let budget = &mut settings.debate.budget;
        budget.max_cost_usd = budget.max_cost_usd.into_iter().chain(most).min();
        self.spec(problem, self.protocol, settings)
    }

    /// The name of a problem's debate.
    pub(super) fn what(&self, problem: &Problem) -> String {
        format!("{}: {}", problem.id, self.name)
    }

    /// The maximum cost of a problem's debate under the limit `held`; `None` if unknown.
    pub(super) fn most(&self, problem: &Problem, held: Option<Usd>) -> Result<Option<Usd>, Error> {
        let most = self.forecast(&self.debate(problem, held))?.most();
        Ok(most.map(|most| self.settings.max_cost().into_iter().chain(held).fold(most, Usd::min)))
    }

    /// One answer of the arms' model.
    pub(super) fn single(&self, problem: &Problem) -> Spec {
        self.spec(problem, Arm::Single.protocol(), self.arms().single())
    }

    /// The arms.
    pub(super) fn arms(&self) -> Arms<'_> {
        Arms { debate: &self.settings, model: &self.arm }
    }

    pub(super) fn spec(&self, problem: &Problem, protocol: &'static Protocol, settings: Settings) -> Spec {
        let text: std::sync::Arc<str> = problem.text.as_str().into();
        Spec { provenance: self.provenance.clone(), ..Spec::new(text, protocol, settings) }
    }

    /// The forecast of a debate.
    pub(super) fn forecast(&self, spec: &Spec) -> Result<Forecast, Error> {
        Ok(self.runner.forecast(spec)?)
    }

    /// A part of the group, ready to start or resume, or its finished debate.
    pub(super) fn prepare(&self, notes: &Notes, part: &Part, spec: Spec) -> Result<Next, Lacking> {
        let Some(entry) = self.record(notes, &part.name) else {
            let prepared = self.runner.prepare(spec)?;
            match prepared.check_limit() {
                Ok(()) => {}
                Err(error) if part.is_held => return Err(Lacking::LeftOut(error.to_string())),
                Err(error) => return Err(error.into()),
            }
            return Ok(Next::Run { prepared: Box::new(prepared), before: Spent::default() });
        };
        match self.runner.open(&entry, &[]) {
            Ok(saved) => {
                let before = Spent::of(saved.debate());
                let vouch = VouchArgs { config: None, context: None };
                let trust = vouched(saved.provenance(), &vouch, &self.files)?;
                let prepared = self.runner.resume(saved, &trust)?;
                Ok(Next::Run { prepared: Box::new(prepared), before })
            }
            Err(RunnerError::IsFinished { .. }) => Ok(Next::Finished(Box::new(read(&entry)?))),
            Err(error) => Err(error.into()),
        }
    }
}

/// Reads a finished part.
fn read(entry: &Entry) -> Result<Done, StoreError> {
    let SavedDebate { debate, events, .. } = entry.load(AccessMode::Events)?;
    Ok(Done { debate, bill: Bill::of(&events) })
}

/// The next action for a part.
pub(super) enum Next {
    /// Nothing.
    Finished(Box<Done>),
    /// Starts or resumes the part; `before` is its cost so far.
    Run { prepared: Box<Prepared>, before: Spent },
}

/// Records a part. Its id is noted before its first event is written, so that no record is forgotten.
fn begin(prepared: Prepared, part: &str, notes: &mut Notes) -> Result<Ready, Lacking> {
    let kept: RefCell<(&mut Notes, Result<(), NotesError>)> = RefCell::new((notes, Ok(())));
    let ready = prepared.begin_telling(|id| {
        let (notes, result) = &mut *kept.borrow_mut();
        *result = notes.add(Note::Begun { part: part.to_owned(), debate: id.clone() });
    })?;
    kept.into_inner().1?;
    Ok(ready)
}

/// Runs a part to its answer. The debate records the cost, even without an answer.
pub(super) async fn run(
    prepared: Prepared,
    part: &str,
    notes: &mut Notes,
    meter: Option<Meter>,
    interrupts: &mut Interrupts,
) -> (Option<Debate>, Result<(), Lacking>) {
    let ready = match begin(prepared, part, notes) {
        Ok(ready) => ready,
        Err(error) => return (None, Err(error)),
    };
    let run = ready.run();
    let mut is_interrupted = false;
    let controls = run.controls();
    let mut metering = Metering::of(&run, meter);
    let wait = run.wait();
    tokio::pin!(wait);
    let ended = loop {
        tokio::select! {
            ended = &mut wait => break ended,
            () = metering.keep(&controls) => {}
            () = interrupts.next() => {
                is_interrupted = true;
                controls.interrupt();
            }
        }
    };
    match ended {
        Err(failed) => (None, Err(failed.source.into())),
        Ok(Finished { debate, ending, .. }) => {
            let result = match ending {
                RunEnding::Completed => Ok(()),
                RunEnding::Failed => {
                    Err(Lacking::LeftOut(debate.error.clone().unwrap_or_else(|| "it has no answer".to_owned())))
                }
                RunEnding::ServerGone => Err(Lacking::Stop(server_gone(&debate.id))),
                RunEnding::LimitReached => Err(Lacking::Stop(limit_reached(&debate.id))),
                RunEnding::Paused | RunEnding::Suspended if is_interrupted => {
                    Err(Lacking::Stop(Error::LiftInterrupted))
                }
                RunEnding::Paused | RunEnding::Suspended => Err(Lacking::Stop(paused(&debate.id))),
            };
            (Some(debate), result)
        }
    }
}

/// Whether an arm ended because nothing was left to fix, rather than because a round failed or its money ran out.
pub(super) fn is_content(debate: &Debate) -> bool {
    let rounds = debate.settings.as_ref().map_or(0, |settings| settings.debate.rounds);
    debate.is_full() == Some(true) && debate.current_round < rounds
}
