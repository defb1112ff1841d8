//! The kit: a hermetic place to run the program in, and a model server that does what a test tells it.
//!
//! Nothing here knows the program's insides but for the public record of a debate. The benchmarks share it.

mod config;
mod html;
pub(crate) mod in_process;
mod latency;
mod planted;
mod process;
mod record;
mod sandbox;
mod screen;
#[expect(dead_code, reason = "the unit tests of the client use it, too")]
mod server;
mod terminal;

#[cfg(test)]
mod tests;

pub(crate) use config::{config, with_each};
pub(crate) use html::{Tag, assert_nested, tags};
pub(crate) use latency::LogNormal;
pub(crate) use planted::{Planted, listed, planted, readers};
pub(crate) use process::{Finished, Running, redactions, wait_until};
pub(crate) use record::Plan;
pub(crate) use sandbox::{Debated, Sandbox, TEST_KEY, sandbox, two_agents};
pub(crate) use screen::Screen;
pub(crate) use server::{
    Api, Content, Ending, Exchange, Gate, Incoming, MockServer, Purpose, Reply, answer, by_task, default_reply, prose,
    short_reply, solved, violations,
};
pub(crate) use terminal::Terminal;

/// Runs what waits for programs and servers.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be made").block_on(future)
}

/// How many times the usual number of cases a loop over cases goes through: `PROPTEST_CASES` over its default in
/// `.cargo/config.toml`.
pub(crate) fn thoroughness() -> usize {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse::<usize>().ok());
    (cases.unwrap_or_default() / 32).max(1)
}

/// `few` times the thoroughness of the cases, spread evenly.
pub(crate) fn sample<T>(cases: impl IntoIterator<Item = T>, few: usize) -> Vec<T> {
    let mut cases: Vec<Option<T>> = cases.into_iter().map(Some).collect();
    spread(cases.len(), few, 0).filter_map(|place| cases[place].take()).collect()
}

/// `few` times the thoroughness of the places up to `count`, spread evenly. Other places for each `offset`.
pub(crate) fn spread(count: usize, few: usize, offset: usize) -> impl Iterator<Item = usize> {
    let places = (few * thoroughness()).min(count);
    // Seven, so that the same place within each part is not the same row of a table.
    (0..places).map(move |part| {
        let (start, end) = (part * count / places, (part + 1) * count / places);
        start + (offset + 7 * part) % (end - start)
    })
}
