//! What it costs to show a debate while its words come in.

use std::time::{Duration, Instant};

use crate::Row;
use crate::measured::{config, marked_reply, processor_time};
use crate::support::{Incoming, MockServer, Sandbox, Terminal};

const AGENTS: usize = 3;
const ROUNDS: usize = 3;
const WORDS: usize = 200;
/// Between two words: forty a second, of each agent that speaks.
const GAP: Duration = Duration::from_millis(25);

pub(crate) fn rows() -> Result<Vec<Row>, String> {
    let reply = marked_reply(WORDS);
    let server = MockServer::with(move |request: &Incoming| reply(request).paced(GAP));
    let sandbox = Sandbox::new().model_server(&server).config(&config(AGENTS, ROUNDS));
    let before = processor_time()?;
    let started = Instant::now();
    let mut terminal = Terminal::start(&sandbox, ["debate", "A queue must never lose a message."]);
    for round in 1..=ROUNDS {
        terminal.wait_for(&format!("Round {round}/{ROUNDS}"));
    }
    terminal.expect_code(0);
    let wall = started.elapsed().as_secs_f64();
    let processor = processor_time()?.saturating_sub(before).as_secs_f64();
    let measure = format!("live view: processor time over {wall:.0} s of a debate in a terminal");
    Ok(vec![Row::new(measure, format!("{:.1} %", processor / wall * 100.0), "<= 2 %")])
}
