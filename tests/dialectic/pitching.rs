//! The protocol that the documentation shows runs, is taken up and branches off like any of the program's own.

use std::sync::Arc;

use dialectic::config::{Environment, Provenance, default_settings, go_offline};
use dialectic::debate::{Debate, Settings, Status};
use dialectic::runner::{Prepared, Runner, Services, Spec};
use dialectic::store::{Directory, Entry};

use crate::pitch::PITCHING;
use crate::support::in_process::block_on;

fn settings(rounds: u32) -> Settings {
    let mut settings = default_settings();
    settings.agents.iter_mut().chain([&mut settings.judge]).for_each(go_offline);
    settings.debate.protocol = PITCHING.name.to_owned();
    settings.debate.rounds = rounds;
    settings
}

/// Runs a debate until it ends, or is told to pause before it begins.
fn run(prepared: Prepared, pauses: bool) -> Debate {
    block_on(async {
        let run = prepared.begin().unwrap().run();
        if pauses {
            run.pause();
        }
        run.wait().await.unwrap().debate
    })
}

/// What was said, in the order of the record.
fn said(debate: &Debate) -> Vec<String> {
    let contributions = debate.rounds.iter().flat_map(|round| &round.contributions);
    contributions.map(|one| format!("{} of {}", one.stage, one.agent_id)).collect()
}

#[test]
fn it_runs_is_taken_up_and_branches_off() {
    let directory = tempfile::tempdir().unwrap();
    let runner = Runner::new(Directory::at(directory.path()), Services::new(Environment::default()));
    let spec = Spec::new("Design a queue. It must be fast.", &PITCHING, settings(2));
    let paused = run(runner.prepare(spec).unwrap(), true);
    assert_eq!((paused.status, said(&paused).len()), (Status::Paused, 0));

    let entry = Entry::of_state(&Directory::at(directory.path()).state_path(&paused.id));
    let saved = runner.open(&entry, &[&PITCHING]).unwrap();
    let debate = run(runner.resume(saved, &Provenance::of_user()).unwrap(), false);
    let round = ["pitch", "show-of-hands"]
        .map(|stage| ["architect", "performance", "kiss"].map(|agent| format!("{stage} of agent-{agent}")));
    assert_eq!((debate.status, said(&debate)), (Status::Completed, [round.concat(), round.concat()].concat()));
    assert_eq!(debate.settled.len(), 2 * 3 * 2 + 1);
    assert!(debate.final_solution.is_some());

    let branch = runner.branch(&entry, &"2.show-of-hands".parse().unwrap()).unwrap();
    let forked = runner.fork(branch, settings(2), &Provenance::of_user(), &[&PITCHING]).unwrap();
    let forked = run(forked, false);
    assert_eq!(forked.status, Status::Completed);
    // Paid for are the votes of the second round and the report.
    assert_eq!(debate.total_usage().requests - forked.total_usage().requests, 3 + 3 + 3);
    let pitch_of = |debate: &Debate| Arc::clone(&debate.rounds[1].contributions[0].content);
    assert_eq!(pitch_of(&forked), pitch_of(&debate));
}
