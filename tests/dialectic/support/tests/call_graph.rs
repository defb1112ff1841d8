use std::sync::Arc;
use std::time::Duration;

use super::{incoming, question};
use crate::support::{Api, Barrier, Exchange, critical_path, marker};

/// An exchange whose prompt holds those replies and ends with that task.
fn exchange(index: usize, task: &str, made_from: &[usize], millis: u64) -> Exchange {
    let material: Vec<String> = made_from.iter().map(|index| marker(*index) + " text").collect();
    let material = material.join("\n");
    let mut request = incoming(Api::Chat, &question(Api::Chat, "s", &format!("{material}\n# Your task: {task}")));
    request.index = index;
    let (arrived, ended) = (Duration::from_secs(9), Some(Duration::from_secs(9) + Duration::from_millis(millis)));
    Exchange { request: Arc::new(request), in_flight: 1, arrived, ended, abandoned: false }
}

fn path(calls: &[(&str, &[usize], u64)], barrier: Barrier) -> Result<u128, String> {
    let numbered = calls.iter().enumerate();
    let exchanges: Vec<Exchange> =
        numbered.map(|(index, (task, made_from, millis))| exchange(index, task, made_from, *millis)).collect();
    critical_path(&exchanges, barrier).map(|path| path.as_millis())
}

#[test]
fn a_call_waits_for_what_its_prompt_holds_and_for_nothing_else_in_its_round() {
    let round: &[(&str, &[usize], u64)] = &[
        ("propose", &[], 100),
        ("propose", &[], 500),
        ("critique", &[0], 300),
        ("critique", &[1], 50),
        ("refine", &[0, 2], 20),
        ("refine", &[1, 3], 10),
    ];
    // 500 + 50 + 10 beats 100 + 300 + 20.
    assert_eq!(path(round, Barrier::Rounds), Ok(560));
    assert_eq!(path(round, Barrier::None), Ok(560));
    assert_eq!(path(&round[..5], Barrier::Rounds), Ok(550));
}

#[test]
fn a_round_waits_for_the_one_before_it_and_for_its_summaries() {
    let rounds: &[(&str, &[usize], u64)] = &[
        ("propose", &[], 1),
        ("propose", &[], 1),
        ("critique", &[0], 1),
        ("critique", &[1], 1),
        ("refine", &[0, 2], 100),
        ("refine", &[1, 3], 1),
        ("summarise", &[1, 3, 5], 30),
        ("critique", &[5, 6], 10),
        ("refine", &[5, 7], 10),
        ("synthesise", &[8], 5),
    ];
    assert_eq!(path(rounds, Barrier::Rounds), Ok(1 + 1 + 100 + 30 + 10 + 10 + 5));
    // By its texts alone the second round need not wait for the slow refinement.
    assert_eq!(path(rounds, Barrier::None), Ok(1 + 1 + 100));
    // A summary made from older texts only still holds up the critiques of its round.
    let mut unused = rounds.to_vec();
    unused[7] = ("critique", &[5], 10);
    assert_eq!(path(&unused, Barrier::Rounds), Ok(157));
}

#[test]
fn a_summary_for_the_judge_alone_holds_up_nobody_else() {
    let last: &[(&str, &[usize], u64)] = &[
        ("propose", &[], 10),
        ("critique", &[0], 10),
        ("refine", &[0, 1], 10),
        ("summarise", &[2], 25),
        ("critique", &[2], 10),
        ("refine", &[2, 4], 10),
        ("synthesise", &[3, 5], 5),
    ];
    // It begins with the last round, and takes a little longer than that.
    assert_eq!(path(last, Barrier::Rounds), Ok(30 + 25 + 5));
}

#[test]
fn scores_hold_up_the_next_round_and_the_judge_comes_last() {
    let scored: &[(&str, &[usize], u64)] = &[
        ("propose", &[], 10),
        ("critique", &[0], 10),
        ("refine", &[0, 1], 10),
        ("score `confidence`", &[2], 40),
        ("critique", &[2], 10),
        ("refine", &[2, 4], 10),
        ("summarise", &[5], 7),
        ("synthesise", &[6], 5),
    ];
    assert_eq!(path(scored, Barrier::Rounds), Ok(30 + 40 + 20 + 7 + 5));
    let started_early = &scored[..5];
    assert_eq!(path(started_early, Barrier::None), Ok(70));
}

#[test]
fn what_cannot_be_told_is_said() {
    assert_eq!(path(&[("something", &[], 1)], Barrier::None), Err("cannot tell what request 0 was for".to_owned()));
    let early = path(&[("refine", &[3], 1)], Barrier::None);
    assert_eq!(early, Err("request 0 holds reply 3, which came later".to_owned()));
}
