//! The shared HTTP connections: certificates, proxies, and connection reuse.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Certificate, Client, ClientBuilder, Url, redirect, retry};

/// The time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an idle connection is kept.
const KEPT: Duration = Duration::from_secs(90);
/// Like [`KEPT`], under a cost limit. Many servers close idle connections after some seconds, and a request sent at
/// that moment is charged as if it had been answered.
const KEPT_UNDER_LIMIT: Duration = Duration::from_secs(2);

/// The variable that names a certificate file to replace the system's.
pub const CERTIFICATE_FILE: &str = "SSL_CERT_FILE";

/// The HTTP client could not be created.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client cannot be set up")]
pub struct HttpClientError(#[from] reqwest::Error);

/// The user's certificate file cannot be used. Using the system's instead would fail later with a misleading reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the certificate file `{}`, which {CERTIFICATE_FILE} names, {problem}", path.display())]
pub struct CertificateFileError {
    path: PathBuf,
    problem: String,
}

/// Connections to servers; clones share them.
#[derive(Clone)]
pub struct HttpClient {
    direct: Client,
    /// Uses the system's proxies, if any.
    proxied: Option<Client>,
    proxies: Arc<Matcher>,
    certificates: Result<(), CertificateFileError>,
}

/// Creates the client for all calls of the program.
///
/// It trusts the system's roots, or Mozilla's if the system has none, as in bare containers. It follows no redirects,
/// which could turn a call into a GET or send a key to another host. Only connecting has a time limit, since the
/// [`Caller`](crate::Caller) limits attempts.
///
/// `certificate_file` is the value of the process's variable [`CERTIFICATE_FILE`], which the TLS library reads itself.
///
/// Loading the system's roots takes some milliseconds.
///
/// # Errors
/// The TLS library or the system's proxy settings prevent it.
pub fn http_client(certificate_file: Option<&Path>) -> Result<HttpClient, HttpClientError> {
    client_that_keeps(KEPT, certificate_file)
}

/// Creates the client for calls under a cost limit: it does not reuse a connection that was idle for 2 s.
///
/// # Errors
/// As for [`http_client`].
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
    /// The client for `url`. Local servers are reached without a proxy, since a proxy would search its own machine.
    pub fn client_for(&self, url: &Url) -> &Client {
        match (self.proxy_for(url), &self.proxied) {
            (Some(_), Some(proxied)) => proxied,
            (_, None) | (None, _) => &self.direct,
        }
    }

    /// The client for `url`, and its proxy, without user and password.
    ///
    /// # Errors
    /// It uses TLS, and the user's certificates cannot be read.
    pub(super) fn route(&self, url: &Url) -> Result<(Client, Option<String>), CertificateFileError> {
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

/// Whether a URL's host is this machine.
pub(super) fn is_on_this_machine(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let is_local = |ip: std::net::IpAddr| ip.is_loopback() || ip.is_unspecified();
        host == "localhost" || host.ends_with(".localhost") || host.parse().is_ok_and(is_local)
    })
}

fn build(change: impl Fn(ClientBuilder) -> ClientBuilder) -> Result<Client, HttpClientError> {
    // An earlier call already installed the same provider.
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
        // The client would repeat requests that an HTTP/2 server turned away, without charging them.
        .retry(retry::never())
}

fn mozilla_roots() -> Result<Vec<Certificate>, reqwest::Error> {
    webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().map(|der| Certificate::from_der(der)).collect()
}

fn check_certificates(path: &Path) -> Result<(), CertificateFileError> {
    let problem = match std::fs::read(path) {
        Err(error) => format!("cannot be read: {error}"),
        Ok(bytes) => match Certificate::from_pem_bundle(&bytes) {
            Ok(certificates) if !certificates.is_empty() => return Ok(()),
            Ok(_) | Err(_) => "contains no PEM certificate".to_owned(),
        },
    };
    Err(CertificateFileError { path: path.to_owned(), problem })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    use super::*;

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
        assert!(error.contains("missing.pem`, which SSL_CERT_FILE names, cannot be read: "), "{error}");
        for content in ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA"] {
            let broken = directory.path().join("broken.pem");
            std::fs::write(&broken, content).unwrap();
            let error = check_certificates(&broken).unwrap_err().to_string();
            assert!(error.ends_with("contains no PEM certificate"), "{content:?}: {error}");
        }
    }

    #[test]
    fn certificates_matter_to_servers_that_have_one() {
        let problem = CertificateFileError { path: "x.pem".into(), problem: "cannot be read".to_owned() };
        let http = HttpClient { certificates: Err(problem.clone()), ..http_client(None).unwrap() };
        assert_eq!(http.route(&Url::parse("https://h/v1").unwrap()).err(), Some(problem));
        assert!(http.route(&Url::parse("http://h/v1").unwrap()).is_ok());
    }

    /// Turns all requests away, like an HTTP/2 server that has not processed them.
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
                // HEADERS, answered by RST_STREAM with REFUSED_STREAM.
                1 => {
                    seen.send(()).unwrap();
                    connection.write_all(&[&[0, 0, 4, 3, 0][..], &stream, &[0, 0, 0, 7]].concat()).await?;
                }
                // SETTINGS, acknowledged.
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
