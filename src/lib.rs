//! Language-model agents debate a problem, and a judge hands back one answer.
//!
//! This is the map of the library; `docs/architecture.md` walks through it. The program itself is [`cli::main`].
//!
//! | module | what it does |
//! | --- | --- |
//! | [`cli`] | arguments in, results and exit code out: parse, resolve, run, print; no logic of debates |
//! | [`display`] | shows a running debate: live block, plain lines, NDJSON, summary |
//! | [`report`] | what is written about a debate: Markdown and HTML, from one view of it |
//! | [`evaluation`] | has the solutions of saved debates scored, and writes the scores down |
//! | [`runner`] | the one door to a debate: start, resume or fork it, and get a handle to the run |
//! | [`serve`] | the debates in a browser, and an API for programs |
//! | [`engine`] | runs a debate by its protocol: starts the calls that are ready, records results, keeps the budget |
//! | [`agent`] | debaters and judge: from a step to a request, from a reply to a value |
//! | [`protocol`] | the declarations: stages, the calls of each, and where each leads; one file a protocol |
//! | [`archive`] | what past debates have shown: ratings of models, and a memory of what was decided |
//! | [`store`] | debates on disk: journal, state file, lock, finding one by its id |
//! | [`trace`] | sends the spans of a running debate to Langfuse or any OTLP collector |
//! | [`tools`] | what agents may look up while they write, and the sandbox around it |
//! | [`process`] | commands of the user's, run through the shell within bounds |
//! | [`prompt`] | the files of `prompts/`, and their rendering |
//! | [`llm`] | calls of models: providers, retry, time-out, price; the offline provider |
//! | [`access`] | how providers may be called: addresses, headers, keys, and at whose word |
//! | [`config`] | from file, environment and command line to settings |
//! | [`signals`] | hands the signals of a running debate to whoever watches, and waits for none of them |
//! | [`debate`] | the record: state, events, settings, and the one function that turns events into state |
//! | [`error`] | every way to end without success, and the one mapping to exit codes |
//! | [`diagnostic`] | what errors say of themselves beside their message: blame and hint, known to all |
//! | [`sanitize`] | text of any origin on its way to a terminal or a page, known to all |
//! | [`markdown`] | small operations on Markdown text, known to all |
//! | [`encoding`] | text files of the user's that may not be UTF-8, known to all |
//! | [`figures`] | numbers, durations and money as people read them, known to all |
//! | [`call`] | one paid call of a model: tokens, cost, attempts, known to all |
//! | [`key_path`] | the path of a value within a JSON document, known to all |
//! | [`money`] | amounts and prices, known to all |
//! | [`problem`] | what can be told of a problem without a model, known to all |
//! | [`provider`] | providers by name: the offline one, the default models, which API, known to all |
//! | [`severity`] | how grave an objection is, known to all |
//! | [`tool_call`] | calls of tools and their answers, known to all |
//! | [`secrets`] | which files are not shown to a model, known to all |
//!
//! A program that wants to run debates begins at [`runner`]; one that wants a protocol of its own, at [`protocol`].
//!
//! Who may know whom is a table in `docs/architecture.md`. In short: `cli` is a client of `runner`, which knows `engine`,
//! which knows `agent`, `protocol` and `store`; these know `llm`, `prompt`, `tools` and `config`; and all of them know
//! `debate`, which knows nobody. `display`, `report` and `trace` know the record and the signals, and no protocol. Below
//! `cli` and `display` nothing prints, ends the process or knows clap, and `config` alone reads the environment. `debate`
//! and `protocol` do no input or output.

pub mod access;
pub mod agent;
pub mod archive;
pub mod call;
pub mod cli;
pub mod config;
pub mod debate;
pub mod diagnostic;
pub mod display;
pub mod encoding;
pub mod engine;
pub mod error;
pub mod evaluation;
pub mod figures;
pub mod key_path;
pub mod llm;
pub mod markdown;
pub mod money;
pub mod problem;
pub mod process;
pub mod prompt;
pub mod protocol;
pub mod provider;
pub mod report;
pub mod runner;
pub mod sanitize;
pub mod secrets;
pub mod serve;
pub mod severity;
pub mod signals;
pub mod store;
pub mod tool_call;
pub mod tools;
pub mod trace;
