//! What a debate costs beyond waiting for models.

use crate::Row;
use crate::measured::{Measured, config, debate, least, marked_reply};
use crate::reference::{JsonLoads, Time, times};
use crate::support::{Incoming, Reply};

const RUNS: usize = 3;
const WORDS: usize = 600;

/// How answers come.
type Delivery = fn(Reply) -> Reply;

/// With answers that come as a whole.
pub(crate) fn rows() -> Result<Vec<Row>, String> {
    let whole = Cost::of(6, Reply::unstreamed)?;
    let short = Cost::of(2, Reply::unstreamed)?;
    let growth = whole.per_call / short.per_call;
    let figure = format!("{growth:.2} ({:.0} µs, {:.0} µs)", whole.per_call * 1e6, short.per_call * 1e6);
    Ok(vec![
        Row::new("engine: calls of 12 agents in 6 rounds", whole.calls.to_string(), "880"),
        Row::new("engine: whole answers, processor time over `json.loads` of the state", whole.ratio(), "<= 30"),
        Row::new("engine: whole answers, peak memory", whole.peak(), ""),
        Row::new("engine: a call in 6 rounds over one in 2 rounds", figure, "<= 1.25"),
    ])
}

/// With answers that come as streams.
pub(crate) fn streamed_rows() -> Result<Vec<Row>, String> {
    let by_word = Cost::of(6, Reply::word_by_word)?;
    let joined = Cost::of(6, |reply| reply)?;
    Ok(vec![
        Row::new("streams: each word in a packet of its own, the same", by_word.ratio(), "<= 250"),
        Row::new("streams: each word in a packet of its own, peak memory", by_word.peak(), "<= 32 MiB"),
        Row::new("streams: words in as few packets as there can be, the same", joined.ratio(), "<= 250"),
        Row::new("streams: words in as few packets as there can be, peak memory", joined.peak(), "<= 32 MiB"),
    ])
}

/// What debates of one kind took.
struct Cost {
    calls: usize,
    /// Seconds, the least.
    processor: f64,
    /// Seconds.
    per_call: f64,
    peak_mib: f64,
    loads: Option<Time>,
}

impl Cost {
    #[expect(clippy::cast_precision_loss, reason = "calls are counted in hundreds")]
    fn of(rounds: usize, delivery: Delivery) -> Result<Self, String> {
        let run = |_| {
            let reply = marked_reply(WORDS);
            let script = move |request: &Incoming| delivery(reply(request));
            debate(Some(&config(12, rounds)), "A queue must never lose a message.", script)
        };
        let runs = (0..RUNS).map(run).collect::<Result<Vec<Measured>, String>>()?;
        let calls = runs[0].exchanges.len();
        let processor = least(runs.iter().map(|run| run.processor.as_secs_f64()).collect());
        Ok(Self {
            calls,
            processor,
            per_call: processor / calls as f64,
            peak_mib: runs.iter().map(|run| run.peak_mib).fold(0.0, f64::max),
            loads: JsonLoads::of(&runs[0].state).map(|loads| loads.processor),
        })
    }

    fn peak(&self) -> String {
        format!("{:.1} MiB", self.peak_mib)
    }

    fn ratio(&self) -> String {
        times(self.processor, self.loads)
    }
}
