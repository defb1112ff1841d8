//! A build without S3.

use dialectic_base::diagnostic::{Diagnostic, ErrorCategory};
use dialectic_engine::access::Environment;

use crate::error::Error;

use super::SharedStore;

/// A store in S3 needs a build with it.
#[derive(Debug, thiserror::Error)]
#[error("this build has no `s3`")]
struct MissingS3;

impl Diagnostic for MissingS3 {
    fn blame(&self) -> ErrorCategory {
        ErrorCategory::Configuration
    }

    fn hint(&self) -> Option<String> {
        Some("install with `--features s3`".to_owned())
    }
}

#[expect(clippy::unused_async, reason = "as with the feature")]
pub(super) async fn open(_: &str, _: &Environment) -> Result<SharedStore, Error> {
    Err(MissingS3.into())
}

pub(super) fn open_to_read(_: &str, _: &Environment) -> Result<SharedStore, Error> {
    Err(MissingS3.into())
}

pub(super) fn is_lasting(_: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    false
}
