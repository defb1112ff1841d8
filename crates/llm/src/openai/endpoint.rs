//! A server: its address, the headers of its requests, and HTTP connections to all servers.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, Client, ClientBuilder, Url, redirect, retry};
use secrecy::{ExposeSecret, SecretString};

use dialectic_base::provider::ApiKind;

#[derive(Clone)]
pub struct Endpoint {
    pub name: Arc<str>,
    /// The base of the server's URLs, `http` or `https`, with or without a trailing slash.
    pub base_url: String,
    /// The key, sent as a bearer token. Surrounding whitespace is ignored, and an empty key is treated as absent.
    pub api_key: Option<SecretString>,
    pub headers: Vec<(String, SecretString)>,
    pub api: ApiKind,
    pub streams: bool,
    pub takes_schemas: bool,
}

/// Hides the key, header values, and the URL, which may contain a password.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Endpoint")
            .field("name", &self.name)
            .field("headers", &headers)
            .field("api", &self.api)
            .finish_non_exhaustive()
    }
}

/// Messages never contain secret values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error("the base URL of provider `{0}` must start with http:// or https:// followed by a host")]
    BaseUrl(Arc<str>),
    #[error("the API key for provider `{0}` contains characters that HTTP headers do not allow")]
    Key(Arc<str>),
    #[error("the header `{header}` of provider `{provider}` has an invalid name or value")]
    Header { provider: Arc<str>, header: String },
    /// The user's certificate file cannot be used. Using the system's certificates instead would fail later, with a
    /// misleading error.
    #[error("the certificate file `{}` (from {CERTIFICATE_FILE}) {problem}", path.display())]
    Certificates { path: PathBuf, problem: String },
}

/// Headers whose values are public and may appear in messages.
const LABELS: [&str; 2] = ["http-referer", "x-title"];

/// Shorter values are not secret (local servers accept keys such as `1` or `x`), and removing them would garble
/// messages.
const SHORTEST_SECRET: usize = 4;

/// A base URL that ends with one of these paths selects that API.
const PATHS: [(&str, ApiKind); 2] = [("/chat/completions", ApiKind::Chat), ("/responses", ApiKind::Responses)];

impl Endpoint {
    /// Removes an API's path from the end of the base URL, and selects that API unless the configuration selects one.
    pub(super) fn meant(mut self) -> Self {
        let url = self.base_url.trim().trim_end_matches('/');
        let meant = PATHS.into_iter().find_map(|(path, api)| Some((url.strip_suffix(path)?.to_owned(), api)));
        if let Some((base_url, api)) = meant {
            self.base_url = base_url;
            self.api = if self.api == ApiKind::Auto { api } else { self.api };
        }
        self
    }
}

/// The parts of a valid [`Endpoint`] that requests need.
pub(super) struct Address {
    /// The base of the server's URLs, without a query.
    pub(super) base: Url,
    query: Vec<(String, String)>,
    pub(super) headers: HeaderMap,
    pub(super) secrets: Vec<SecretString>,
}

impl Address {
    pub(super) fn new(endpoint: &Endpoint) -> Result<Self, EndpointError> {
        let provider = &endpoint.name;
        let mut base = Url::parse(endpoint.base_url.trim())
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| EndpointError::BaseUrl(Arc::clone(provider)))?;
        let query: Vec<(String, String)> = base.query_pairs().into_owned().collect();
        base.set_query(None);
        base.set_fragment(None);

        let mut secrets: Vec<SecretString> = [Some(base.username()), base.password()]
            .into_iter()
            .flatten()
            .chain(query.iter().filter(|(name, _)| names_secret(name)).map(|(_, value)| value.as_str()))
            .map(SecretString::from)
            .collect();
        let mut headers = HeaderMap::new();
        let key = endpoint.api_key.as_ref().map_or("", |key| key.expose_secret().trim());
        if !key.is_empty() {
            let value = sensitive(&format!("Bearer {key}")).ok_or_else(|| EndpointError::Key(provider.clone()))?;
            headers.insert(AUTHORIZATION, value);
            secrets.push(SecretString::from(key));
        }
        for (header, value) in &endpoint.headers {
            let value = value.expose_secret().trim();
            let (Ok(name), Some(sent)) = (HeaderName::try_from(header.as_str()), sensitive(value)) else {
                return Err(EndpointError::Header { provider: Arc::clone(provider), header: header.clone() });
            };
            if !LABELS.contains(&name.as_str()) {
                // A server that echoes the key may omit the scheme of `Bearer <key>`.
                secrets.extend(value.rsplit_once(' ').map(|(_, key)| SecretString::from(key)));
                secrets.push(SecretString::from(value));
            }
            headers.insert(name, sent);
        }
        secrets.retain(|secret| secret.expose_secret().len() >= SHORTEST_SECRET);
        // Longest first, since a secret may contain a shorter one.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.expose_secret().len()));
        Ok(Self { base, query, headers, secrets })
    }

    pub(super) fn redact(&self, text: &str) -> String {
        // Some servers escape slashes in JSON, and keys may contain slashes.
        let text = text.replace("\\/", "/");
        let text = self.secrets.iter().fold(text, |text, secret| text.replace(secret.expose_secret(), "[redacted]"));
        without_userinfo(&text)
    }

    pub(super) fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        url
    }

    pub(super) fn shown(&self, path: &str) -> String {
        self.redact(&format!("{}{}{path}", self.origin(), self.base.path().trim_end_matches('/')))
    }

    /// Nearly every server's base URL contains a version such as `v1`.
    pub(super) fn lacks_version(&self) -> bool {
        let is_version =
            |part: &str| part.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        !self.base.path().split('/').any(is_version)
    }

    pub(super) fn origin(&self) -> String {
        self.base.origin().ascii_serialization()
    }
}

/// Removes user names and passwords from URLs, since a gateway may quote the URL of its upstream server.
fn without_userinfo(text: &str) -> String {
    let mut parts = text.split("://");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push_str("://");
        let end = part.find(|c: char| c.is_whitespace() || "/?#\"'<>`\\".contains(c)).unwrap_or(part.len());
        let (authority, rest) = part.split_at(end);
        match authority.rsplit_once('@') {
            Some((_, server)) => shown.extend(["[redacted]@", server]),
            None => shown.push_str(authority),
        }
        shown.push_str(rest);
    }
    shown
}

fn names_secret(parameter: &str) -> bool {
    let parameter = parameter.to_lowercase();
    ["key", "token", "secret", "auth", "sig", "code", "password"].iter().any(|word| parameter.contains(word))
}

fn sensitive(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an idle connection is kept open.
const KEPT: Duration = Duration::from_secs(90);
/// Like [`KEPT`], under a cost limit. Many servers close idle connections after a few seconds. A request sent at that
/// moment fails, but must be charged as if it had been answered.
const KEPT_UNDER_LIMIT: Duration = Duration::from_secs(2);

/// The environment variable for a file of certificates that replace the system's.
pub const CERTIFICATE_FILE: &str = "SSL_CERT_FILE";

#[derive(Debug, thiserror::Error)]
#[error("cannot set up the HTTP client")]
pub struct HttpClientError(#[from] reqwest::Error);

/// Clones share their connections.
#[derive(Clone)]
pub struct HttpClient {
    direct: Client,
    /// `None` if the system has no proxies.
    proxied: Option<Client>,
    proxies: Arc<Matcher>,
    certificates: Result<(), EndpointError>,
}

/// Creates the client for all calls of the program.
///
/// It trusts the system's roots, or Mozilla's if the system has none, as in minimal containers. It does not follow
/// redirects, which could turn a call into a GET or send a key to another host. Only connecting has a time limit, since
/// the [`Caller`](crate::Caller) limits attempts.
///
/// `certificate_file` is the value of the environment variable [`CERTIFICATE_FILE`], which the TLS library reads
/// itself.
///
/// Loading the system's roots takes a few milliseconds.
///
/// # Errors
///
/// Returns an error if the TLS library or the system's proxy settings cannot be used.
pub fn http_client(certificate_file: Option<&Path>) -> Result<HttpClient, HttpClientError> {
    client_that_keeps(KEPT, certificate_file)
}

/// Creates the client for calls under a cost limit, which does not reuse a connection that was idle for 2 s.
///
/// # Errors
///
/// See [`http_client`].
pub fn http_client_under_limit(certificate_file: Option<&Path>) -> Result<HttpClient, HttpClientError> {
    client_that_keeps(KEPT_UNDER_LIMIT, certificate_file)
}

fn client_that_keeps(kept: Duration, certificate_file: Option<&Path>) -> Result<HttpClient, HttpClientError> {
    let certificates = certificate_file.map_or(Ok(()), check_certificates);
    let proxies = Matcher::from_system();
    let is_proxied = ["http://example.com", "https://example.com"]
        .iter()
        .any(|url| url.parse().is_ok_and(|url| proxies.intercept(&url).is_some()));
    Ok(HttpClient {
        direct: build(|builder| builder.pool_idle_timeout(kept).no_proxy())?,
        proxied: if is_proxied { Some(build(|builder| builder.pool_idle_timeout(kept))?) } else { None },
        proxies: Arc::new(proxies),
        certificates,
    })
}

impl HttpClient {
    /// Local servers are reached without a proxy, since a proxy would look for them on its own machine.
    pub fn client_for(&self, url: &Url) -> &Client {
        match (self.proxy_for(url), &self.proxied) {
            (Some(_), Some(proxied)) => proxied,
            (_, None) | (None, _) => &self.direct,
        }
    }

    /// The client for `url`, and the URL of the proxy without credentials, if a proxy is used.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL uses TLS, and the user's certificates cannot be read.
    pub(super) fn route(&self, url: &Url) -> Result<(Client, Option<String>), EndpointError> {
        if url.scheme() == "https" {
            self.certificates.clone()?;
        }
        Ok((self.client_for(url).clone(), self.proxy_for(url)))
    }

    fn proxy_for(&self, url: &Url) -> Option<String> {
        let target = url.as_str().parse().ok().filter(|_| self.proxied.is_some() && !is_on_this_machine(url))?;
        let proxy = self.proxies.intercept(&target)?;
        let (uri, port) = (proxy.uri(), proxy.uri().port_u16());
        let host = format!("{}://{}", uri.scheme_str().unwrap_or("http"), uri.host()?);
        Some(port.map_or_else(|| host.clone(), |port| format!("{host}:{port}")))
    }
}

pub(super) fn is_on_this_machine(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let is_local = |ip: std::net::IpAddr| ip.is_loopback() || ip.is_unspecified();
        host == "localhost" || host.ends_with(".localhost") || host.parse().is_ok_and(is_local)
    })
}

fn build(change: impl Fn(ClientBuilder) -> ClientBuilder) -> Result<Client, HttpClientError> {
    // Fails only if an earlier call installed the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match change(builder()).build() {
        Ok(client) => Ok(client),
        Err(_) => Ok(change(builder()).tls_certs_only(mozilla_roots()?).build()?),
    }
}

fn builder() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("dialectic/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(redirect::Policy::none())
        // By default, the client repeats requests that an HTTP/2 server rejected, and we could not charge them.
        .retry(retry::never())
}

fn mozilla_roots() -> Result<Vec<Certificate>, reqwest::Error> {
    webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().map(|der| Certificate::from_der(der)).collect()
}

fn check_certificates(path: &Path) -> Result<(), EndpointError> {
    let problem = match std::fs::read(path) {
        Err(error) => format!("cannot be read: {error}"),
        Ok(bytes) => match Certificate::from_pem_bundle(&bytes) {
            Ok(certificates) if !certificates.is_empty() => return Ok(()),
            Ok(_) | Err(_) => "contains no PEM certificate".to_owned(),
        },
    };
    Err(EndpointError::Certificates { path: path.to_owned(), problem })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    use super::*;

    fn endpoint(base_url: &str, key: &str) -> Endpoint {
        crate::fixture::endpoint(base_url, key, ApiKind::Auto)
    }

    #[test]
    fn slashes_and_queries_of_the_base_url_end_up_where_they_belong() {
        for (base, url) in [
            ("http://h/v1", "http://h/v1/responses"),
            ("http://h/v1/", "http://h/v1/responses"),
            (" http://h/v1//\n", "http://h/v1/responses"),
            ("http://h/v1/chat/completions", "http://h/v1/responses"),
            ("http://h/v1/responses/\n", "http://h/v1/responses"),
            ("http://h", "http://h/responses"),
            ("https://h:8443/openai/v1?api-version=preview#x", "https://h:8443/openai/v1/responses"),
        ] {
            let address = Address::new(&endpoint(base, "k").meant()).unwrap();
            let mut asked = address.url("/responses");
            asked.set_query(None);
            assert_eq!(asked.as_str(), url);
        }
        let address = Address::new(&endpoint("https://h/v1?api-version=preview", "k")).unwrap();
        assert_eq!(address.url("/responses").as_str(), "https://h/v1/responses?api-version=preview");
    }

    #[test]
    fn what_is_not_a_url_is_a_typed_error() {
        for base in ["", "localhost:11434/v1", "ftp://h/v1", "http://", "/v1"] {
            assert!(matches!(Address::new(&endpoint(base, "k")), Err(EndpointError::BaseUrl(_))), "{base:?}");
        }
    }

    #[test]
    fn white_space_around_the_key_is_dropped_and_inside_it_is_a_typed_error() {
        let address = Address::new(&endpoint("http://h", " sk-1\r\n")).unwrap();
        assert_eq!(address.headers[AUTHORIZATION], "Bearer sk-1");
        assert!(Address::new(&endpoint("http://h", "\n")).unwrap().headers.is_empty());
        let error = Address::new(&endpoint("http://h", "sk-geheim\nx")).err().unwrap();
        assert!(matches!(error, EndpointError::Key(_)));
        assert!(!format!("{error} {error:?}").contains("geheim"));
    }

    #[test]
    fn headers_are_checked_sent_and_kept_secret() {
        let mut with = endpoint("http://h", "sk-1");
        with.headers = vec![
            ("X-Key".to_owned(), SecretString::from("Token header-secret\n")),
            ("X-Title".to_owned(), SecretString::from("dialectic")),
        ];
        assert!(!format!("{with:?}").contains("header-secret"));
        let address = Address::new(&with).unwrap();
        assert_eq!(address.headers["x-key"], "Token header-secret");
        assert!(!format!("{:?}", address.headers).contains("header-secret"));
        assert_eq!(address.redact("sk-1, header-secret of dialectic"), "[redacted], [redacted] of dialectic");
        let url = "https://user-secret:pass-secret@h/v1?api-version=preview&subscription-key=query-secret";
        let address = Address::new(&endpoint(url, "k/ey+1")).unwrap();
        let said = r"user-secret pass-secret query-secret k\/ey+1 preview k";
        assert_eq!(address.redact(said), "[redacted] [redacted] [redacted] [redacted] preview k");
        let address = Address::new(&endpoint("http://h", "k")).unwrap();
        for (said, shown) in [
            ("502 from http://me:p@ss@vllm:8000/v1.", "502 from http://[redacted]@vllm:8000/v1."),
            ("\"http:\\/\\/me@h\" or redis://:x@h, a@b.c", "\"http://[redacted]@h\" or redis://[redacted]@h, a@b.c"),
            ("at https://h/@me?a=b@c and ://", "at https://h/@me?a=b@c and ://"),
        ] {
            assert_eq!(address.redact(said), shown);
        }
        for (name, value) in [("bad name", "v"), ("", "v"), ("x-a", "a\nb-secret")] {
            let mut bad = endpoint("http://h", "k");
            bad.headers = vec![(name.to_owned(), SecretString::from(value))];
            let error = Address::new(&bad).err().unwrap();
            assert!(matches!(error, EndpointError::Header { .. }), "{name:?}");
            assert!(!format!("{error:?}").contains("b-secret"));
        }
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for (base, expected) in [
            ("http://localhost:1/v1", true),
            ("http://127.0.0.1:1", true),
            ("http://[::1]:1", true),
            ("https://api.openai.com/v1", false),
            ("http://10.0.0.1", false),
        ] {
            assert_eq!(is_on_this_machine(&Address::new(&endpoint(base, "k")).unwrap().base), expected, "{base}");
        }
    }

    #[test]
    fn a_machine_without_roots_gets_a_client_too() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let roots = mozilla_roots().unwrap();
        assert!(roots.len() > 100);
        builder().tls_certs_only(roots).build().unwrap();
    }

    #[test]
    fn a_second_client_is_no_problem() {
        http_client(None).unwrap();
        http_client(None).unwrap();
    }

    fn behind(proxy: &str) -> HttpClient {
        let proxies = Matcher::builder().all(proxy).no("intranet.example").build();
        let client = http_client(None).unwrap();
        HttpClient { proxied: Some(client.direct.clone()), proxies: Arc::new(proxies), ..client }
    }

    #[test]
    fn what_is_on_this_machine_is_not_looked_for_behind_a_proxy() {
        let http = behind("http://user:geheim@proxy.example:3128");
        let proxy = |url: &str| http.proxy_for(&Url::parse(url).unwrap());
        for url in [
            "http://localhost:1/v1",
            "http://127.0.0.1/v1",
            "https://127.1.2.3/v1",
            "http://[::1]:8/v1",
            "http://0.0.0.0:8000",
            "http://llm.localhost/v1",
            "https://intranet.example/v1",
        ] {
            assert_eq!(proxy(url), None, "{url}");
        }
        for url in ["https://api.openai.com/v1", "http://10.0.0.1/v1"] {
            assert_eq!(proxy(url).as_deref(), Some("http://proxy.example:3128"), "{url}");
        }
    }

    #[test]
    fn a_certificate_file_that_cannot_be_used_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing.pem");
        let error = check_certificates(&missing).unwrap_err().to_string();
        assert!(error.contains("missing.pem` (from SSL_CERT_FILE) cannot be read: "), "{error}");
        for content in ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA"] {
            let broken = directory.path().join("broken.pem");
            std::fs::write(&broken, content).unwrap();
            let error = check_certificates(&broken).unwrap_err().to_string();
            assert!(error.ends_with("contains no PEM certificate"), "{content:?}: {error}");
        }
    }

    #[test]
    fn certificates_matter_to_servers_that_have_one() {
        let problem = EndpointError::Certificates { path: "x.pem".into(), problem: "cannot be read".to_owned() };
        let http = HttpClient { certificates: Err(problem.clone()), ..http_client(None).unwrap() };
        assert_eq!(http.route(&Url::parse("https://h/v1").unwrap()).err(), Some(problem));
        assert!(http.route(&Url::parse("http://h/v1").unwrap()).is_ok());
    }

    /// Rejects all requests, like an HTTP/2 server that has not processed them.
    async fn turn_away(mut connection: TcpStream, seen: UnboundedSender<()>) -> std::io::Result<()> {
        connection.read_exact(&mut [0; 24]).await?;
        // Empty SETTINGS.
        connection.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await?;
        loop {
            let mut head = [0; 9];
            connection.read_exact(&mut head).await?;
            let [a, b, c, kind, flags, stream @ ..] = head;
            let mut content = vec![0; u32::from_be_bytes([0, a, b, c]).try_into().unwrap()];
            connection.read_exact(&mut content).await?;
            match kind {
                // HEADERS, answered with RST_STREAM and REFUSED_STREAM.
                1 => {
                    seen.send(()).unwrap();
                    connection.write_all(&[&[0, 0, 4, 3, 0][..], &stream, &[0, 0, 0, 7]].concat()).await?;
                }
                // SETTINGS, which are acknowledged.
                4 if flags & 1 == 0 => connection.write_all(&[0, 0, 0, 4, 1, 0, 0, 0, 0]).await?,
                _ => {}
            }
        }
    }

    #[tokio::test]
    async fn what_an_http2_server_turns_away_is_not_sent_again_outside_the_books() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (seen, mut requests) = unbounded_channel();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(turn_away(connection, seen.clone()));
            }
        });
        let client = build(|builder| builder.http2_prior_knowledge().no_proxy()).unwrap();
        client.post(url).body("x").send().await.unwrap_err();
        assert_eq!(std::iter::from_fn(|| requests.try_recv().ok()).count(), 1);
    }
}
