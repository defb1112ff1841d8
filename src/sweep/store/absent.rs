//! A build without S3.

use dialectic_engine::access::Environment;

use crate::error::{Error, ErrorCategory, UserError};

use super::SharedStore;

fn missing() -> Error {
    UserError::of(ErrorCategory::Configuration, "this build has no `s3`")
        .with_hint("install with `--features s3`")
        .into()
}

#[expect(clippy::unused_async, reason = "as with the feature")]
pub(super) async fn open(_: &str, _: &Environment) -> Result<SharedStore, Error> {
    Err(missing())
}

pub(super) fn open_to_read(_: &str, _: &Environment) -> Result<SharedStore, Error> {
    Err(missing())
}

pub(super) fn is_lasting(_: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    false
}
