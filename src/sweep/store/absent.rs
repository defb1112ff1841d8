//! A build without S3.

use dialectic_engine::access::Environment;

use crate::error::Error;
use crate::features::MissingFeature;

use super::SharedStore;

#[expect(clippy::unused_async, reason = "as with the feature")]
pub(super) async fn open(_: &str, _: &Environment) -> Result<SharedStore, Error> {
    Err(MissingFeature::S3.into())
}

pub(super) fn open_to_read(_: &str, _: &Environment) -> Result<SharedStore, Error> {
    Err(MissingFeature::S3.into())
}

pub(super) fn is_lasting(_: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    false
}
