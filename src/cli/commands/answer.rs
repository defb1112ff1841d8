//! `dialectic answer`: answers a debate's questions and continues it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::cli::args::{ContinueArgs, DebateArg, RunArgs};
use crate::cli::dialogue::Dialogue;
use crate::cli::input::{self, MIB};
use crate::cli::questions::GivenAnswers;
use crate::cli::session::debates;
use crate::cli::terminal::Terminal;
use crate::error::{Error, UserError};
use dialectic_config::capture_environment;
use dialectic_record::debate::Answerer;

use super::resume::{ResumeOrder, go_on};

#[derive(Debug, Args)]
pub(in crate::cli) struct AnswerArgs {
    #[command(flatten)]
    which: DebateArg,

    /// An answer, such as `q1="500 a second"`; `q1=` skips the question
    #[arg(value_name = "QUESTION=ANSWER")]
    answers: Vec<String>,

    /// The JSON file with the answers, such as {"q1": "500 a second", "q2": null}; `-` reads standard input
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,

    /// Skip all other questions and ask no further ones
    #[arg(long)]
    skip_rest: bool,

    /// Who wrote the answers; an agent's answers are marked as such in the record and reports
    #[arg(long, value_name = "WHO", value_enum, default_value_t = By::User)]
    by: By,

    #[command(flatten)]
    going_on: ContinueArgs,

    #[command(flatten)]
    pub(super) run: RunArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum By {
    /// A person
    User,
    /// A coding agent or other AI assistant
    Agent,
}

pub(in crate::cli) fn run(args: &AnswerArgs, terminal: &mut Terminal) -> Result<(), Error> {
    let entry = debates()?.find(&args.which.debate)?;
    let typed = read(args, terminal)?;
    let environment = capture_environment(args.run.env_file.as_deref())?;
    let can_ask = !args.run.detach && Dialogue::open().is_some();
    let order = ResumeOrder {
        environment: &environment,
        entry: &entry,
        is_agreed: false,
        finish: false,
        going_on: &args.going_on,
        run: &args.run,
        answers: Some(typed),
        asks_user: can_ask,
    };
    go_on(order, terminal)
}

fn read(args: &AnswerArgs, terminal: &mut Terminal) -> Result<GivenAnswers, UserError> {
    let mut answers = BTreeMap::new();
    let from_file = args.file.as_deref().map(|path| read_file(path, terminal)).transpose()?.unwrap_or_default();
    let typed = args.answers.iter().map(|text| {
        let (id, answer) = text.split_once('=').ok_or_else(|| {
            UserError::input(format!("`{text}` is not an answer: write the question's id, `=` and the answer"))
        })?;
        Ok((id.trim().to_owned(), answer.to_owned()))
    });
    for (id, answer) in typed.collect::<Result<Vec<_>, UserError>>()?.into_iter().chain(from_file) {
        if answers.insert(id.clone(), answer).is_some() {
            return Err(UserError::input(format!("duplicate answer to `{id}`")));
        }
    }
    if answers.is_empty() && !args.skip_rest {
        return Err(UserError::input("no answers given")
            .with_hint("for example: q1=\"500 a second\"; to skip all questions: --skip-rest"));
    }
    let by = match args.by {
        By::User => None,
        By::Agent => Some(Answerer::Agent),
    };
    Ok(GivenAnswers { answers, skip_rest: args.skip_rest, by })
}

fn read_file(path: &Path, terminal: &mut Terminal) -> Result<Vec<(String, String)>, UserError> {
    let bytes = input::read_file("the answers", path, MIB, terminal)?;
    let read: Result<BTreeMap<String, Option<String>>, _> = serde_json::from_slice(&bytes);
    let read = read.map_err(|source| {
        UserError::input(format!("cannot parse the answers in {}", path.display()))
            .with_hint("expected an object such as {\"q1\": \"500 a second\", \"q2\": null}")
            .with_source(source)
    })?;
    Ok(read.into_iter().map(|(id, answer)| (id, answer.unwrap_or_default())).collect())
}
