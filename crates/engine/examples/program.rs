//! Calls a program once, as a debate does: `tests/vendors/run` compares what reaches a server with the request.
//!
//! `program <provider> <model> <argv as JSON>` takes the prompt from standard input.

#![expect(clippy::print_stdout, reason = "an example prints its output")]

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use dialectic_engine::access::{Environment, located};
use dialectic_llm::command::CommandModel;
use dialectic_llm::{ChatModel, Live, Request, Timeouts};
use dialectic_record::settings::ProviderSettings;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [provider, model, argv] = arguments.as_slice() else {
        return Err("usage: program <provider> <model> <argv as JSON>".into());
    };
    let argv: Vec<String> = serde_json::from_str(argv)?;
    let entry = ProviderSettings { program: Some(argv.into()), ..ProviderSettings::default() };
    let providers = BTreeMap::from([(provider.clone(), entry)]);
    let environment = Environment::from_pairs(std::env::vars());
    let program = located(provider, &providers, &environment, &[])?;
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt)?;
    let request = Request {
        model: model.as_str().into(),
        temperature: 0.5,
        max_tokens: None,
        system: "SYSTEM-OF-OURS {file:~/secret} {env:HOME}".into(),
        prompt: prompt.into(),
        turns: Vec::new(),
        answer: None,
        tools: Arc::new([]),
        tools_are_optional: false,
    };
    let timeouts = Timeouts { first_token: Duration::from_mins(1), idle: Duration::from_mins(1) };
    let live = Live { listener: &(), timeouts, attempt: 1, further: None };
    let version = program.version()?;
    let answer = CommandModel::new(program).ask(&request, live).await;
    println!("version {version}");
    match answer {
        Ok(reply) => {
            let word = reply.finish_word.unwrap_or_else(|| "none".to_owned());
            println!("text {}", reply.text);
            println!("finish {:?}, word {word}, tokens {:?}, cost {:?}", reply.finish, reply.tokens, reply.stated_cost);
        }
        Err(failed) => println!("failed {}: {failed}", failed.error.kind()),
    }
    Ok(())
}
