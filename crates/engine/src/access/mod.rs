//! Access to providers: addresses, headers and keys from settings and environment, and what each source of settings may
//! decide.
//!
//! Nothing here reads a configuration or the process's environment: both are arguments. Errors never contain secrets:
//! headers keep `${NAME}` until [`endpoint`](endpoint()) expands them for a client.

mod endpoint;
mod environment;
pub mod headers;
mod keys;
mod program;
mod trust;

pub use endpoint::{
    Outline, ProviderAccessError, elsewhere, endpoint, is_elsewhere, is_on_this_machine, provider_names,
    routed_providers, url_fault,
};
pub use environment::{Environment, LANGFUSE, TOKEN, VariableError};
pub use keys::{MissingKey, MissingKeys, key_variable, known_keys, missing_keys, missing_keys_of, secret_variables};
pub use program::{ProgramThere, is_program, located, preset_of, program, program_warnings, programs_there};
pub use trust::{PROMPT_FAULT, TrustError, Trusted, UserSettings, is_trusted, refused, stray_prompt, trust};
