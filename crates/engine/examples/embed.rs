//! Runs a debate from your own program: `cargo run -p dialectic-engine --example embed`. Needs no key, because it only
//! calls the offline provider.

#![expect(clippy::print_stdout, reason = "an example prints its output")]

use dialectic_engine::access::Environment;
use dialectic_engine::runner::{Runner, Services, new_debate};
use dialectic_record::event::Event;
use dialectic_record::live::{Signal, Words};
use dialectic_record::protocol::DIALECTIC;
use dialectic_record::settings::{default_settings, go_offline};
use dialectic_record::store::Directory;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runner = Runner::new(Directory::at("./debates"), Services::new(Environment::default()));
    let mut settings = default_settings();
    settings.agents.iter_mut().chain([&mut settings.judge]).for_each(go_offline);
    let problem = "Design a rate limiter. It must survive a restart.";
    let run = runner.start(new_debate(problem, &DIALECTIC, settings))?;
    let (_, mut live) = run.subscribe(Words::Unwanted);
    let watching = tokio::spawn(async move {
        while let Some(signal) = live.next().await {
            if let Signal::Recorded(recorded) = &*signal
                && let Event::Contributed { key, .. } = &recorded.event
            {
                println!("round {}: {} of {}", key.round, key.stage, key.agent_id);
            }
        }
    });
    let finished = run.wait().await?;
    watching.await?;
    println!("{}", finished.debate.final_solution.map(|solution| solution.description).unwrap_or_default());
    Ok(())
}
