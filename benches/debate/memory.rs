//! How long it takes to look up past debates.

use std::fs;
use std::time::Instant;

use serde_json::{Value, json};

use dialectic_cli::archive::{Archive, ArchiveError};
use dialectic_record::store::Directory;

use crate::Row;
use crate::measured::least;
use crate::support::{Sandbox, prose};

const DEBATES: u64 = 10_000;
const SEARCHES: usize = 20;
/// Words of a problem, and of an answer.
const PROBLEM: usize = 40;
const ANSWER: usize = 600;

pub(crate) fn rows() -> Result<Vec<Row>, String> {
    let sandbox = Sandbox::new();
    sandbox.run(["debate", "--offline", "-o", "solution.md", "Design a queue"]).expect_code(0);
    let id = sandbox.only_debate();
    let state = sandbox.read(format!("debates/{id}.json"));
    let mut debate: Value = serde_json::from_str(&state).map_err(|error| format!("the state is no JSON: {error}"))?;
    // Otherwise it would be known as the rehearsal that it is.
    debate["settings"]["judge"]["provider"] = json!("openai");
    for number in 0..DEBATES {
        let id = format!("deb-20260101-000000-{number}");
        debate["id"] = json!(id);
        debate["problem"] = json!(prose(number, PROBLEM));
        debate["finalSolution"]["description"] = json!(prose(DEBATES + number, ANSWER));
        let path = sandbox.directory().join(format!("debates/{id}.json"));
        fs::write(&path, debate.to_string()).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    let directory = Directory::at(sandbox.directory().join("debates"));
    let failed = |error: ArchiveError| error.to_string();
    let started = Instant::now();
    let mut archive = Archive::open(&directory).map_err(failed)?;
    archive.update().map_err(failed)?;
    let built = started.elapsed().as_secs_f64();
    let subject = prose(DEBATES / 2, PROBLEM);
    let words = subject.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
    let timed = |search: &dyn Fn() -> Result<(), ArchiveError>| {
        let times = (0..SEARCHES).map(|_| {
            let started = Instant::now();
            search().map(|()| started.elapsed().as_secs_f64()).map_err(failed)
        });
        let times = times.collect::<Result<Vec<f64>, _>>();
        times.map(|times| format!("{:.0} ms", least(times) * 1000.0))
    };
    let measure = |what: &str| format!("memory of {DEBATES} debates of {} kB: {what}", state.len() / 1000);
    Ok(vec![
        Row::new(measure("built"), format!("{built:.1} s"), "<= 60 s"),
        Row::new(measure("searched for three words"), timed(&|| archive.files_with(&words).map(drop))?, "<= 50 ms"),
        Row::new(
            measure("searched for a problem"),
            timed(&|| archive.search(&subject, false, 3).map(drop))?,
            "<= 50 ms",
        ),
    ])
}
