//! Access to providers: addresses, headers and keys from settings and environment, and what each source of settings may
//! decide.
//!
//! Nothing here reads a configuration or the process's environment: both are arguments. Errors never contain secrets:
//! headers keep `${NAME}` until [`endpoint`](endpoint()) expands them for a client.

mod endpoint;
mod environment;
mod program;
mod trust;

pub use endpoint::{
    MissingKey, MissingKeys, Outline, ProviderAccessError, elsewhere, endpoint, header_fault, is_elsewhere,
    is_on_this_machine, is_program, is_variable_name, key_variable, known_keys, missing_keys, missing_keys_of,
    provider_names, routed_providers, secret_variables, url_fault,
};
pub use environment::{Environment, LANGFUSE, TOKEN, VariableError};
pub use program::{ProgramThere, located, preset_of, program, program_warnings, programs_there};
pub use trust::{PROMPT_FAULT, TrustError, Trusted, UserSettings, is_trusted, refused, stray_prompt, trust};
