//! `kill -9` at any moment: nothing that came back is lost, and nothing is made twice.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;

use crate::resume::{everything, recorded_calls, reply, undisturbed};
use crate::support::{MockServer, thoroughness};
use crate::timing::without_times;

/// The moments at which debates are killed, all in all, times the thoroughness.
const KILLS: usize = 10;
/// Every so manieth debate is killed a second time, while it is resumed.
const TWICE: usize = 4;

/// The most calls that three agents can have in flight: while one refines, the proposals of the others are criticised.
const WIDEST: usize = 6;

/// The prompts of the agents. The judge's are shuffled by a seed that each debate has for itself.
fn prompts(server: &MockServer) -> BTreeSet<u64> {
    let requests = server.requests();
    requests.iter().filter(|request| request.model() != "model-judge").map(|request| request.digest).collect()
}

/// How far a debate comes before it is killed: that many further requests, and then so long.
#[derive(Debug, Clone, Copy)]
struct Moment {
    requests: usize,
    pause: Duration,
}

fn moment(random: &mut ChaCha12Rng, requests: std::ops::Range<usize>) -> Moment {
    // Replies take 15 ms: before, between and after the events that they cause.
    Moment { requests: random.random_range(requests), pause: Duration::from_micros(random.random_range(0..25_000)) }
}

/// Runs a debate that is killed at those moments, and then to its end.
fn killed(moments: &[Moment], expected: &serde_json::Value, calls: usize, asked: &BTreeSet<u64>) {
    let server = MockServer::with(|request| reply(request).after(Duration::from_millis(15)));
    let sandbox = everything(&server);
    let mut arguments = vec!["debate", "Design a queue"];
    let mut lost = 0;
    for moment in moments {
        let before = server.requests().len();
        let running = sandbox.spawn(&arguments);
        server.wait_for_requests((before + moment.requests).min(calls + lost));
        std::thread::sleep(moment.pause);
        running.kill();
        // What was sent just before may still be on its way to the server.
        server.settle();
        let lost_now = server.requests().len() - recorded_calls(&sandbox) - lost;
        assert!(lost_now <= WIDEST, "{moments:?}: {lost_now} replies are lost");
        lost += lost_now;
        arguments = vec!["resume", "latest"];
    }
    let state = without_times(&sandbox.debated(&arguments).1);
    assert!(state == *expected, "{moments:?}\n{state:#}\n\n{expected:#}");
    assert_eq!(recorded_calls(&sandbox), calls, "{moments:?}");
    assert_eq!(server.requests().len(), calls + lost, "{moments:?}: a finished call was made again");
    assert_eq!(prompts(&server), *asked, "{moments:?}: the prompts differ");
    server.assert_clean();
}

#[test]
fn a_debate_killed_at_any_moment_ends_as_if_nothing_had_been() {
    let (expected, calls) = undisturbed();
    let asked = {
        let server = MockServer::with(reply);
        everything(&server).run(["debate", "Design a queue"]).expect_code(0);
        prompts(&server)
    };
    let mut random = ChaCha12Rng::seed_from_u64(20_261_121);
    let mut debates = Vec::new();
    let mut kills = 0;
    let most = KILLS * thoroughness();
    while kills < most {
        let mut moments = vec![moment(&mut random, 1..calls + 1)];
        if debates.len() % TWICE == 0 && kills + 1 < most {
            moments = vec![moment(&mut random, 1..calls / 2), moment(&mut random, 1..calls / 2)];
        }
        kills += moments.len();
        debates.push(moments);
    }
    assert_eq!(debates.iter().map(Vec::len).sum::<usize>(), most);
    let debates = Mutex::new(debates);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let Some(moments) = debates.lock().unwrap().pop() else { break };
                    killed(&moments, &expected, calls, &asked);
                }
            });
        }
    });
}
