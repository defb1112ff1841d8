//! The known names of protocols and roles.

use std::path::Path;

use dialectic_record::prompt::Role;
use dialectic_record::protocol::PROTOCOLS;

use super::load::role_files;

pub(super) fn protocols() -> Vec<&'static str> {
    PROTOCOLS.iter().map(|protocol| protocol.name).collect()
}

/// The available roles: the built-in ones, and files next to a configuration.
pub fn role_names(base_dir: Option<&Path>) -> Vec<String> {
    let built_in = Role::built_in_names().into_iter().map(str::to_owned);
    built_in.chain(base_dir.map(role_files).unwrap_or_default()).collect()
}
