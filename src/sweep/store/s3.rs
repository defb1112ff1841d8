//! A store on S3, from AWS or a compatible vendor.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use dialectic_engine::access::{Environment, url_fault};
use dialectic_llm::openai::{HttpClient, http_client};
use futures_util::future::{BoxFuture, ready};
use futures_util::stream::TryStreamExt as _;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::{
    HttpClient as StoreClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, ObjectStoreExt as _, PutMode, PutOptions, PutPayload, RetryConfig};

use crate::error::Error;

use super::{Creation, Name, S3, SharedStore, Store, StoreFault, check, is_part, not_a_store};

/// The environment variables with the store's address and credentials.
const VARIABLES: [&str; 20] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ENDPOINT_URL_STS",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_REQUEST_PAYER",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_SERVER_SIDE_ENCRYPTION",
    "AWS_SSE_BUCKET_KEY_ENABLED",
    "AWS_SSE_CUSTOMER_KEY_BASE64",
    "AWS_SSE_KMS_KEY_ID",
    "AWS_VIRTUAL_HOSTED_STYLE_REQUEST",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
];

/// The time limit of one attempt to transfer a small object.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(15);
/// The time limit of an attempt grows by one second per this many bytes of the object.
const BYTES_A_SECOND: u64 = 64 * 1024;
/// The maximum number of attempts at a request.
const ATTEMPTS: u32 = 4;
/// The pause after the first failed attempt. It doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// The name of an object that tests whether the server refuses to overwrite objects.
const PROBE: &str = "probe";

#[derive(Debug)]
struct S3Store {
    client: AmazonS3,
    prefix: Path,
    place: String,
}

/// `address` is `bucket/prefix`. Fails if the server overwrites objects.
pub(super) async fn open(address: &str, environment: &Environment) -> Result<SharedStore, Error> {
    let store = connect(address, environment)?;
    if !store.creates_once().await? {
        return Err(S3Error::Overwrites { place: store.place }.into());
    }
    Ok(Arc::new(store))
}

pub(super) fn open_to_read(address: &str, environment: &Environment) -> Result<SharedStore, Error> {
    Ok(Arc::new(connect(address, environment)?))
}

fn connect(address: &str, environment: &Environment) -> Result<S3Store, Error> {
    let place = format!("{S3}{address}");
    let (bucket, prefix) = address.split_once('/').unwrap_or((address, ""));
    let prefix = prefix.trim_end_matches('/');
    if !is_part(bucket) || !(prefix.is_empty() || prefix.split('/').all(is_part)) {
        return Err(not_a_store(&place).into());
    }
    let refused = |source| S3Error::Settings { place: place.clone(), source };
    let mut builder = AmazonS3Builder::new()
        .with_http_connector(Connector(http_client(environment.certificate_file())?))
        // This module retries requests itself, to limit the time of each attempt and to find out whether an attempt
        // with a lost answer succeeded.
        .with_retry(RetryConfig { max_retries: 0, ..RetryConfig::default() });
    for variable in VARIABLES {
        // `get` ignores variables from untrusted files, which must not decide where a set is stored.
        let Some(value) = environment.get(variable) else { continue };
        if variable.starts_with("AWS_ENDPOINT_URL") && url_fault(value).is_some() {
            return Err(S3Error::Endpoint { variable }.into());
        }
        let key: AmazonS3ConfigKey = variable.to_ascii_lowercase().parse().map_err(refused)?;
        builder = builder.with_config(key, value);
    }
    let client = builder.with_bucket_name(bucket).build().map_err(refused)?;
    Ok(S3Store { client, prefix: Path::from(prefix), place })
}

impl S3Store {
    /// Whether the server supports `If-None-Match: *`. A server that ignores it overwrites objects, and two workers
    /// would pay for the same debate.
    async fn creates_once(&self) -> Result<bool, StoreFault> {
        const FIRST: &[u8] = b"an object is created once\n";
        const SECOND: &[u8] = b"an object was overwritten\n";
        if self.get(PROBE).await?.is_none() {
            self.create(PROBE, FIRST).await?;
        }
        Ok(self.create(PROBE, SECOND).await? == Creation::Taken)
    }

    fn path(&self, name: &Name) -> io::Result<Path> {
        check(name)?;
        Ok(self.prefix.parts().chain(Path::from(name).parts()).collect())
    }

    async fn put_new(&self, name: &Name, bytes: &[u8]) -> Result<Creation, Fault> {
        let path = self.path(name)?;
        let mut pause = FIRST_PAUSE;
        let mut attempt = 1;
        loop {
            let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
            let put = self.client.put_opts(&path, PutPayload::from(bytes.to_owned()), options);
            let failure = match within(time_for(bytes.len()), put).await {
                Ok(_) => return Ok(Creation::Acknowledged),
                Err(failure) if is_lasting(&*failure) => return Err(failure),
                Err(failure) => failure,
            };
            // The name is taken, another attempt is in progress, or an answer was lost: compare the bytes.
            match self.fetch(&path).await? {
                Some(there) => return Ok(if there == bytes { Creation::Acknowledged } else { Creation::Taken }),
                None if attempt == ATTEMPTS => return Err(failure),
                None => {}
            }
            tokio::time::sleep(pause).await;
            (attempt, pause) = (attempt + 1, pause * 2);
        }
    }

    async fn fetch(&self, path: &Path) -> Result<Option<Vec<u8>>, Fault> {
        let read = || async {
            let found = match limited(self.client.get(path)).await {
                Ok(found) => found,
                Err(failure) => match failure.downcast_ref() {
                    Some(object_store::Error::NotFound { .. }) => return Ok(None),
                    _ => return Err(failure),
                },
            };
            // The time limit applies to each part, not to the whole object.
            let (mut bytes, mut parts) = (Vec::new(), found.into_stream());
            while let Some(part) = limited(parts.try_next()).await? {
                bytes.extend_from_slice(&part);
            }
            Ok(Some(bytes))
        };
        repeated(read).await
    }

    async fn names(&self, prefix: &Name) -> Result<Vec<String>, Fault> {
        let path = if prefix.is_empty() { self.prefix.clone() } else { self.path(prefix)? };
        let found = repeated(|| limited(self.client.list_with_delimiter(Some(&path)))).await?;
        let objects = found.objects.iter().map(|object| &object.location);
        let names = objects.chain(&found.common_prefixes).filter_map(Path::filename);
        let mut names: Vec<String> = names.filter(|name| is_part(name)).map(str::to_owned).collect();
        names.retain(|name| !(prefix.is_empty() && name == PROBE));
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    fn fault(&self, doing: &'static str, name: &Name) -> impl FnOnce(Fault) -> StoreFault {
        let (name, place) = (name.to_owned(), self.place());
        move |source| StoreFault { doing, name, place, source }
    }
}

impl Store for S3Store {
    fn create<'a>(&'a self, name: &'a Name, bytes: &'a [u8]) -> BoxFuture<'a, Result<Creation, StoreFault>> {
        Box::pin(async move { self.put_new(name, bytes).await.map_err(self.fault("create", name)) })
    }

    fn get<'a>(&'a self, name: &'a Name) -> BoxFuture<'a, Result<Option<Vec<u8>>, StoreFault>> {
        Box::pin(async move {
            let read = async { self.fetch(&self.path(name)?).await };
            read.await.map_err(self.fault("read", name))
        })
    }

    fn list<'a>(&'a self, prefix: &'a Name) -> BoxFuture<'a, Result<Vec<String>, StoreFault>> {
        Box::pin(async move { self.names(prefix).await.map_err(self.fault("list", prefix)) })
    }

    fn place(&self) -> String {
        self.place.clone()
    }
}

type Fault = Box<dyn StdError + Send + Sync>;

fn time_for(bytes: usize) -> Duration {
    ATTEMPT_TIMEOUT + Duration::from_secs(bytes as u64 / BYTES_A_SECOND)
}

async fn limited<T>(attempt: impl Future<Output = object_store::Result<T>>) -> Result<T, Fault> {
    within(ATTEMPT_TIMEOUT, attempt).await
}

async fn within<T>(time: Duration, attempt: impl Future<Output = object_store::Result<T>>) -> Result<T, Fault> {
    match tokio::time::timeout(time, attempt).await {
        Ok(ended) => Ok(ended?),
        Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
    }
}

/// Repeats `attempt`, which must be idempotent, after an error that may be temporary.
async fn repeated<T, F: Future<Output = Result<T, Fault>>>(attempt: impl Fn() -> F) -> Result<T, Fault> {
    let mut pause = FIRST_PAUSE;
    for _ in 1..ATTEMPTS {
        match attempt().await {
            Err(failure) if !is_lasting(&*failure) => {}
            ended => return ended,
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
    attempt().await
}

pub(super) fn is_lasting(failure: &(dyn StdError + Send + Sync + 'static)) -> bool {
    use object_store::Error::{InvalidPath, NotFound, NotImplemented, NotSupported, PermissionDenied, Unauthenticated};
    matches!(
        failure.downcast_ref(),
        Some(
            NotFound { .. }
                | NotImplemented { .. }
                | NotSupported { .. }
                | PermissionDenied { .. }
                | Unauthenticated { .. }
                | InvalidPath { .. }
        )
    )
}

/// Lets the store use the program's HTTP client, with the same certificates, proxies and TLS.
#[derive(Clone)]
struct Connector(HttpClient);

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Connector")
    }
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<StoreClient> {
        Ok(StoreClient::new(self.clone()))
    }
}

impl HttpService for Connector {
    fn call<'a, 'f>(&'a self, request: HttpRequest) -> BoxFuture<'f, Result<HttpResponse, HttpError>>
    where
        'a: 'f,
        Self: 'f,
    {
        match request.uri().to_string().parse() {
            Ok(url) => self.0.client_for(&url).call(request),
            Err(error) => Box::pin(ready(Err(HttpError::new(HttpErrorKind::Unknown, error)))),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum S3Error {
    /// A variable is missing or has a wrong value.
    #[error("cannot set up access to the store {place}")]
    Settings { place: String, source: object_store::Error },
    #[error("{variable} is not a URL")]
    Endpoint { variable: &'static str },
    #[error("the S3 server at {place} overwrites existing objects: it ignores `If-None-Match: *`")]
    Overwrites { place: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_time_for_its_size() {
        assert_eq!(time_for(100), Duration::from_secs(15));
        // At a megabit a second.
        let megabytes = 20;
        assert!(time_for(megabytes * 1_000_000) > Duration::from_secs(8 * megabytes as u64));
    }
}
