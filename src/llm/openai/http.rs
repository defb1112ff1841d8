//! The HTTP client that all providers share.

use std::time::Duration;

use reqwest::{Certificate, Client, ClientBuilder, redirect};

/// A server that takes longer to accept a connection is not reachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The HTTP client could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client cannot be set up")]
pub struct HttpClientError(#[from] reqwest::Error);

/// The client for all calls of the program; clones share its connections.
///
/// It trusts the system's roots, and Mozilla's where the system has none, as in bare containers. It follows no
/// redirects: they would turn a call into a GET, or carry a key to another host. There is no time-out but for
/// connecting, since an attempt as a whole is limited by the [`Caller`](crate::llm::Caller).
///
/// Loads the system's roots, which takes some milliseconds: not for programs that call nobody.
///
/// # Errors
/// When the TLS library or the system's proxy settings do not allow a client.
pub fn http_client() -> Result<Client, HttpClientError> {
    // Installed already: by an earlier call, and it is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match builder().build() {
        Ok(client) => Ok(client),
        Err(_) => Ok(builder().tls_certs_only(mozilla_roots()?).build()?),
    }
}

fn builder() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("dialectic/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(redirect::Policy::none())
}

fn mozilla_roots() -> Result<Vec<Certificate>, reqwest::Error> {
    webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().map(|der| Certificate::from_der(der)).collect()
}

#[cfg(test)]
mod tests {
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
        http_client().unwrap();
        http_client().unwrap();
    }
}
