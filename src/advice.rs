//! Assigns each error a category, which determines the exit code, and a hint for the user.

use rusqlite::ErrorCode;

use dialectic_config::evaluators::EvaluatorsError;
use dialectic_config::{ConfigError, EnvError, SyntaxFault, key_variables};
use dialectic_engine::access::{MissingKeys, ProviderAccessError, TrustError, VariableError};
use dialectic_engine::agent::PanelError;
use dialectic_engine::engine::{BudgetError, EngineError, FollowUpError, ForecastError, WindowError};
use dialectic_engine::git::GitError;
use dialectic_engine::runner::{AttachmentError, RunnerError, ServicesError, SpendingError};
use dialectic_llm::command::{ProgramFault, program_preset};
use dialectic_llm::openai::{ClientError, HttpClientError};
use dialectic_record::protocol::Unfit;
use dialectic_record::store::{JournalError, StateFileError, StoreError};

use crate::archive::ArchiveError;
use crate::error::{Diagnostic, ErrorCategory};
use crate::evaluation::SubjectError;
use crate::sweep::SegmentError;
use crate::sweep::plan::PlanError;
#[cfg(feature = "s3")]
use crate::sweep::store::S3Error;
use crate::sweep::store::StoreFault;
use crate::trace::TraceConfigError;

use ErrorCategory::{Arguments, Busy, Configuration, General, Provider};

type Advice = (ErrorCategory, Option<String>);

const USE_A_NEWER_VERSION: &str = "use the version that wrote the record, or a newer one";
const CHECK_DEBATES: &str = "debates are saved in `./debates` unless you configured another directory: make sure that \
                             the directory can be read and written";

fn advise(category: ErrorCategory, hint: impl Into<String>) -> Advice {
    (category, Some(hint.into()))
}

macro_rules! without_hint {
    ($($error:ty => $category:ident,)+) => {
        $(impl Diagnostic for $error {
            fn advice(&self) -> Advice {
                ($category, None)
            }
        })+
    };
}

without_hint! {
    PanelError => Configuration,
    EngineError => General,
    ForecastError => General,
    VariableError => Configuration,
    ClientError => Configuration,
    HttpClientError => General,
}

impl Diagnostic for ConfigError {
    fn advice(&self) -> Advice {
        let blame = match self {
            Self::Argument { .. } | Self::NeedsProvider { .. } | Self::ContextDir { .. } => Arguments,
            Self::Unreadable { .. }
            | Self::Missing(_)
            | Self::Untrusted { .. }
            | Self::Unmet(_)
            | Self::NoKey
            | Self::Directory(_)
            | Self::NotUtf8 { .. }
            | Self::Syntax { .. }
            | Self::WrongType { .. }
            | Self::Invalid { .. } => Configuration,
        };
        let hint = match self {
            Self::NeedsProvider { .. } => "write `provider/model`",
            Self::NoKey => {
                let hint = format!(
                    "set one of {} in the environment or a `.env` file; or rehearse with `--offline`, which needs no key; \
                     or run `dialectic init`. If `claude` or `codex` is installed, `-m claude` or `-m codex` needs no key",
                    key_variables().join(", ")
                );
                return advise(blame, hint);
            }
            Self::Directory(_) => "give the path of a JSON file, e.g. `./debate-config.json`",
            Self::NotUtf8 { fault, .. } => return advise(blame, fault.hint()),
            Self::Untrusted { path, .. } => {
                let path = path.display();
                let hint =
                    format!("if you trust the file, run `dialectic config trust {path}` once, or use --config {path}");
                return advise(blame, hint);
            }
            Self::Missing(_) => "check the path, or write a file with `dialectic config init <path>`",
            Self::Syntax { fault: SyntaxFault::Empty, .. } => "create a starter file with `dialectic config init`",
            Self::Syntax { fault: SyntaxFault::Comment, .. } => {
                "JSON has no comments; put remarks in keys named `$comment` or `//`, which are ignored"
            }
            Self::WrongType { expected, found, .. } if found == "a string" && expected == "a number" => {
                "write the number without quotes"
            }
            Self::WrongType { expected, found, .. } if found == "a string" && expected == "true or false" => {
                "write true or false without quotes"
            }
            Self::WrongType { .. } | Self::Invalid { .. } => {
                "`dialectic config schema` prints every key with its type; `dialectic config check` checks a file"
            }
            Self::Unreadable { .. }
            | Self::Unmet(_)
            | Self::Syntax { fault: SyntaxFault::Other(_), .. }
            | Self::Argument { .. }
            | Self::ContextDir { .. } => return (blame, None),
        };
        advise(blame, hint)
    }
}

impl Diagnostic for EvaluatorsError {
    // `Arguments`, not `Configuration`: the file is named on the command line.
    fn advice(&self) -> Advice {
        match self {
            // The usual hints suggest `dialectic config` commands, which do not handle an evaluators' file.
            Self::Missing(_)
            | Self::Nobody { .. }
            | Self::Config(
                ConfigError::WrongType { .. }
                | ConfigError::Invalid { .. }
                | ConfigError::Syntax { fault: SyntaxFault::Empty, .. },
            ) => advise(Arguments, "a minimal file is {\"agents\":[{\"id\":\"one\",\"model\":\"gpt-4.1\"}]}"),
            Self::Config(error) => (Arguments, error.hint()),
        }
    }
}

impl Diagnostic for EnvError {
    fn advice(&self) -> Advice {
        match self {
            Self::NotUtf8 { fault, .. } => advise(Arguments, fault.hint()),
            Self::Unreadable { .. } => (Arguments, None),
        }
    }
}

impl Diagnostic for RunnerError {
    fn advice(&self) -> Advice {
        match self {
            Self::Services(error) => error.advice(),
            Self::Unfit(error) => error.advice(),
            Self::Store(error) => error.advice(),
            Self::Engine(error) => error.advice(),
            Self::Forecast(error) => error.advice(),
            Self::Window(error) => error.advice(),
            Self::Trust(error) => error.advice(),
            Self::NotAnswerable { id, .. } => {
                advise(Arguments, format!("finish the debate first: dialectic resume {id}"))
            }
            Self::ReplyUnusable(_) => {
                advise(Arguments, "the request is still open: send the complete, corrected answer")
            }
            Self::Fork { .. } | Self::IsFinished { .. } | Self::NotResumable { .. } | Self::ReplyNotWanted => {
                (Arguments, None)
            }
        }
    }
}

impl Diagnostic for ServicesError {
    fn advice(&self) -> Advice {
        match self {
            Self::Keys(error) => error.advice(),
            Self::Environment(error) => error.advice(),
            Self::Endpoint(error) => error.advice(),
            Self::Client(error) => error.advice(),
            Self::Http(error) => error.advice(),
            Self::Budget(error) => error.advice(),
            Self::Panel(error) => error.advice(),
        }
    }
}

impl Diagnostic for AttachmentError {
    fn advice(&self) -> Advice {
        let hint = match self {
            Self::NotUtf8 { fault, .. } => return advise(Arguments, fault.hint()),
            Self::Empty(_) => "check the file, or the command whose output was piped in",
            Self::TooLong { .. } => "attach fewer or smaller files: every call sends all attachments",
            Self::SecretName(_) => {
                "it would be sent to every model and kept in the record; if it contains no secrets, attach a copy \
                 under another name"
            }
            Self::Secret { .. } => {
                "remove the secret first: attachments are sent to every model and kept in the record"
            }
        };
        advise(Arguments, hint)
    }
}

impl Diagnostic for SpendingError {
    fn advice(&self) -> Advice {
        match self {
            Self::Store(error) => error.advice(),
            Self::Damaged { .. } => advise(
                General,
                "restore the ledger from a backup, or delete it to start over without the costs of removed debates",
            ),
            Self::Newer { .. } => advise(General, "use the version that wrote the ledger, or a newer one"),
            Self::Held(_) => advise(Busy, "try again; if the lock persists, another dialectic process may be stuck"),
            Self::Unreadable { .. } | Self::Lock { .. } => {
                advise(General, "check that the path is a file that you can read and write")
            }
        }
    }
}

impl Diagnostic for FollowUpError {
    fn advice(&self) -> Advice {
        const SAVED: &str = "the question is saved; to get an answer, ask it again in the same words";
        match self {
            Self::TooMany(_) | Self::HostJudge => (Arguments, None),
            Self::TooDear { .. } => advise(Arguments, "set a limit for this question with --max-cost"),
            Self::NoCallLeft => advise(Arguments, "set a limit for this question with --max-calls"),
            Self::Failed { .. } => advise(Provider, SAVED),
            Self::Interrupted => advise(General, SAVED),
            Self::Engine(error) => error.advice(),
        }
    }
}

impl Diagnostic for BudgetError {
    fn advice(&self) -> Advice {
        match self {
            Self::Unpriced { .. } => advise(
                Configuration,
                "give each model a price under `prices` in the configuration (docs/configuration.md); for a saved \
                 debate, pass that configuration with --config",
            ),
            Self::Unbounded { .. } => advise(
                Configuration,
                "give the model's full name, set its `maxOutput` under `models` in the configuration, or limit the \
                 number of calls instead",
            ),
            Self::TooLow(purchase) if purchase.limit.usd.is_some_and(|limit| limit < purchase.one_round.usd) => advise(
                Arguments,
                "the limit must cover the maximum cost of a round: raise it, or use fewer agents or cheaper models",
            ),
            Self::TooLowToGoOn { .. } => advise(Arguments, "raise the limit, or continue without a new one"),
            Self::TooLow(_) => {
                advise(Arguments, "the limit must cover the calls of one round: raise it, or use fewer agents")
            }
        }
    }
}

impl Diagnostic for WindowError {
    fn advice(&self) -> Advice {
        let hint = match self {
            Self::Prompt { .. } => "use a model with a larger context window, or shorten the problem",
            Self::Problem { .. } => {
                "shorten the problem, give the agents a directory with --context instead, or use a model with a larger \
                 context window"
            }
        };
        let figure =
            "if the context window is wrong, correct it with `models.<name>.contextWindow` in the configuration";
        advise(Arguments, format!("{hint}; {figure}"))
    }
}

impl Diagnostic for MissingKeys {
    fn advice(&self) -> Advice {
        let names: Vec<String> = self.missing.iter().map(|key| format!("{}=...", key.variable)).collect();
        let hint = match &self.untrusted {
            Some(path) => {
                let path = path.display();
                format!(
                    "`{path}` is not trusted, so keys are sent only to the vendors' own hosts; if you trust it: \
                     dialectic config trust {path}"
                )
            }
            None => format!(
                "set {} in the environment or a `.env` file, or rehearse a new debate with `--offline`, which needs no key",
                names.join(" and ")
            ),
        };
        advise(Configuration, hint)
    }
}

impl Diagnostic for ProviderAccessError {
    fn advice(&self) -> Advice {
        let hint = match self {
            Self::Unknown(_) => Some(
                "a saved debate's providers come from your own configuration: specify the file that defines this \
                 provider (--config <path>), or trust it once (dialectic config trust <path>)"
                    .to_owned(),
            ),
            Self::Program { name, fault } => match fault {
                ProgramFault::Missing(_) => Some(format!(
                    "install the program, or set its path in `providers.{name}.argv` in your own configuration"
                )),
                ProgramFault::Unsafe { program, .. } | ProgramFault::NoSwitch { program, .. } => {
                    let tested = program_preset(program).map(|preset| preset.tested.join(", "));
                    tested
                        .map(|tested| format!("install a tested version of {program} ({tested}), or a newer dialectic"))
                }
                ProgramFault::Relative(_) | ProgramFault::NoVersion { .. } => None,
            },
            Self::BaseUrl { .. } | Self::UnsetVariable { .. } => None,
        };
        (Configuration, hint)
    }
}

impl Diagnostic for TrustError {
    fn advice(&self) -> Advice {
        match self {
            Self::Unreadable { .. } | Self::Path(_) => (Arguments, None),
            Self::NoHome | Self::Unrecorded { .. } => (General, None),
            Self::Command(_) | Self::Prompt(_) => {
                advise(Configuration, "pass the configuration that the debate was started with: --config <path>")
            }
            Self::Context(path) => advise(Configuration, format!("to allow access: --context {}", path.display())),
        }
    }
}

impl Diagnostic for Unfit {
    fn advice(&self) -> Advice {
        let option = match self.key {
            Some("agents") => ", or with --agents",
            Some("debate.rounds") => " (--rounds sets it)",
            Some("debate.terminationCondition") => " (--until sets it)",
            Some(_) | None => "",
        };
        advise(Arguments, format!("{}{option}", self.hint))
    }
}

impl Diagnostic for JournalError {
    fn advice(&self) -> Advice {
        match self {
            Self::Newer { .. } => advise(Arguments, USE_A_NEWER_VERSION),
            Self::EndMissing { .. } => advise(
                Arguments,
                "restore the whole journal, or remove the state file to continue from what is left of the journal",
            ),
            Self::Line { path, .. } | Self::Altered { path, .. } | Self::End { path, .. } => {
                let verify = format!("`dialectic verify {}` shows which parts are intact", path.display());
                advise(Arguments, format!("a damaged journal cannot be continued; {verify}"))
            }
            Self::NotAFile { .. } => advise(Arguments, "a debate's journal is its `.events.jsonl` file"),
            Self::Locked { path } => {
                let path = path.display();
                advise(Busy, format!("wait until the debate ends; `dialectic show {path}` shows its current state"))
            }
            Self::Open { .. }
            | Self::Read { .. }
            | Self::Displaced { .. }
            | Self::Changed { .. }
            | Self::Append { .. } => advise(General, CHECK_DEBATES),
        }
    }
}

impl Diagnostic for StateFileError {
    fn advice(&self) -> Advice {
        match self {
            Self::Newer { .. } => advise(Arguments, USE_A_NEWER_VERSION),
            Self::Invalid { .. } | Self::NotAFile { .. } => {
                advise(Arguments, "specify the `.json` file of a debate's record")
            }
            Self::Unreadable { .. } | Self::IsDirectory { .. } => (Arguments, None),
        }
    }
}

impl Diagnostic for StoreError {
    fn advice(&self) -> Advice {
        match self {
            Self::Journal(error) => error.advice(),
            Self::State(error) => error.advice(),
            Self::Directory { .. } | Self::List { .. } => advise(General, CHECK_DEBATES),
            Self::Read { .. } | Self::Write { .. } => {
                advise(General, "check permissions and free space, or use another file")
            }
            Self::Remove { .. } | Self::Fold { .. } => (General, None),
            Self::Replica { .. } => (Busy, None),
            Self::JournalGone { .. } => {
                advise(Arguments, "restore the journal; without it, the debate can only be read and evaluated")
            }
            Self::Ambiguous { .. } => advise(Arguments, "type more characters of the id"),
            Self::Unknown { .. } => advise(Arguments, "`dialectic list` shows the saved debates"),
            Self::NoJournal { .. }
            | Self::Pattern { .. }
            | Self::NoMatch { .. }
            | Self::Search { .. }
            | Self::Elsewhere { .. } => (Arguments, None),
        }
    }
}

impl Diagnostic for TraceConfigError {
    fn advice(&self) -> Advice {
        let hint = match self {
            Self::Missing(variables) => format!(
                "set {}=... in the environment or a `.env` file, or remove `trace` from the configuration",
                variables.join("=... and ")
            ),
            Self::Invalid { .. } => "docs/automation.md describes each variable".to_owned(),
        };
        advise(Configuration, hint)
    }
}

impl Diagnostic for SubjectError {
    fn advice(&self) -> Advice {
        let blame = match self {
            Self::Lacks { .. } | Self::NoneFinished { .. } => Arguments,
            Self::Prompt(_) => General,
        };
        advise(blame, "only a debate that ended with a solution can be evaluated")
    }
}

impl Diagnostic for SegmentError {
    fn advice(&self) -> Advice {
        match self {
            Self::Store(error) => error.advice(),
            Self::Damaged { .. } => {
                advise(Arguments, "restore the debate, or run the set with another store (--store)")
            }
            Self::OtherSet { .. } => {
                advise(Arguments, "use the plan that created the store, or choose another store with --store")
            }
        }
    }
}

impl Diagnostic for PlanError {
    fn advice(&self) -> Advice {
        match self {
            Self::Unreadable { .. } => (Arguments, None),
            Self::Line { .. } | Self::Empty { .. } => advise(
                Arguments,
                "create the plan with `dialectic sweep plan`, and do not edit it: its ids are hashes of its debates",
            ),
            Self::Prompts { .. } => {
                advise(Configuration, "run the set with the version that planned it, or plan the set again")
            }
            Self::Unpacked { .. } => advise(General, "check permissions and free space"),
        }
    }
}

impl Diagnostic for StoreFault {
    fn advice(&self) -> Advice {
        if self.is_lasting() {
            let hint = "check that the store exists and that you have read and write access; no stored data was lost";
            advise(Configuration, hint)
        } else {
            advise(Busy, "no stored data was lost; run the same command once the store works again")
        }
    }
}

#[cfg(feature = "s3")]
impl Diagnostic for S3Error {
    fn advice(&self) -> Advice {
        let hint = match self {
            Self::Settings { .. } => {
                "check the variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL"
            }
            Self::Endpoint { .. } => "set the variable to the server's URL, such as http://127.0.0.1:9000",
            Self::Overwrites { .. } => "use a server that supports this header (AWS, MinIO since 2024), or a directory",
        };
        advise(Configuration, hint)
    }
}

impl Diagnostic for ArchiveError {
    fn advice(&self) -> Advice {
        let is = |error: &rusqlite::Error, code| error.sqlite_error_code() == Some(code);
        match self {
            Self::Newer(path) => advise(
                General,
                format!("use the newer version, or remove {} to rebuild it from the debates", path.display()),
            ),
            Self::Unusable { source: error, .. } | Self::Failed(error) if is(error, ErrorCode::DatabaseBusy) => {
                advise(General, "another process is writing to the database; try again later")
            }
            Self::Unusable { path, .. } => advise(
                General,
                format!("if the database is damaged, remove {} to rebuild it from the debates", path.display()),
            ),
            Self::Failed(_) => (General, None),
            Self::Store(error) => (General, error.hint()),
        }
    }
}

impl Diagnostic for GitError {
    fn advice(&self) -> Advice {
        let hint = matches!(self, Self::NotStarted(_)).then(|| "install git, or pipe in a diff".to_owned());
        (General, hint)
    }
}

#[cfg(test)]
mod tests {
    use dialectic_config::{ConfigFiles, ConfigPath, Overrides};
    use dialectic_engine::access::Environment;

    use super::*;

    #[test]
    fn an_unusable_configuration_comes_with_what_to_write() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("c.json");
        let environment = Environment::default();
        for (text, expected) in [
            (" \n", "create a starter file with `dialectic config init`"),
            ("{ // three\n}", "JSON has no comments"),
            ("{\"agents\": [{\"temperature\": \"0.5\"}]}", "write the number without quotes"),
            ("{\"debate\": {\"includeFullHistory\": \"yes\"}}", "write true or false without quotes"),
            ("{\"agents\": {\"a\": 1}}", "`dialectic config schema` prints every key"),
        ] {
            std::fs::write(&path, text).unwrap();
            let files = ConfigFiles::new(ConfigPath::Named(path.clone()), &environment);
            let (blame, hint) = files.load(&Overrides::default()).unwrap_err().advice();
            assert_eq!(blame, Configuration, "{text}");
            assert!(hint.unwrap().starts_with(expected), "{text}");
        }
    }
}
