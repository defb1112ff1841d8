//! Access control: checks the host and origin of requests, and the client's cookie or token. A browser gets its cookie
//! by opening the printed address, whose token works once, or by signing in with the server's token.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use rand::RngExt;
use sha2::{Digest, Sha256};

use dialectic_base::encoding::hexadecimal;

use super::problem::{Kind, ProblemDetails};

/// The header that protects against CSRF. Requests that change something must have it unless they send the token;
/// browsers do not let forms or scripts of other sites send it.
pub(super) const OWN_HEADER: &str = "x-dialectic";
/// The minimum length of a token in characters. Shorter tokens could be guessed.
pub(super) const LEAST_TOKEN: usize = 16;
/// The content security policy of responses that do not set their own.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                           worker-src 'self'; frame-src 'self'; form-action 'none'; base-uri 'none'; \
                           frame-ancestors 'none'";

/// A secret stored as a digest, so that the time of a comparison reveals nothing about the secret.
#[derive(Clone, PartialEq, Eq)]
struct Secret([u8; 32]);

impl Secret {
    fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }
}

pub(super) struct Access {
    /// Accepted values of the `Host` header, in lower case.
    hosts: Vec<String>,
    /// Accepted values of the `Origin` header, in lower case.
    origins: Vec<String>,
    /// The token in the printed address; `None` once it has been used.
    one_time: Mutex<Option<Secret>>,
    token: Secret,
    cookie: Secret,
    pub(super) set_cookie: String,
    cookie_name: String,
}

impl Access {
    /// `one_time` is the token in the printed address; API clients send `token`.
    pub(super) fn new(at: SocketAddr, host: &str, one_time: &str, token: &str) -> Self {
        let hosts: Vec<String> =
            [host, "localhost", "127.0.0.1", "[::1]"].iter().map(|host| authority(host, at.port())).collect();
        // Derived from the token, so that a browser stays signed in if the server restarts with the same token.
        let value = hexadecimal(&Sha256::digest(format!("the cookie of {token}").as_bytes()));
        // Browsers share cookies between ports, so each server needs its own cookie name.
        let cookie_name = format!("dialectic-{}", at.port());
        Self {
            origins: hosts.iter().map(|host| format!("http://{host}")).collect(),
            hosts,
            one_time: Mutex::new(Some(Secret::of(one_time))),
            token: Secret::of(token),
            cookie: Secret::of(&value),
            set_cookie: format!("{cookie_name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000"),
            cookie_name,
        }
    }

    pub(super) fn redeem(&self, given: &str) -> bool {
        let mut one_time = self.one_time.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = one_time.as_ref() == Some(&Secret::of(given));
        if fits {
            *one_time = None;
        }
        fits
    }

    pub(super) fn is_token(&self, given: &str) -> bool {
        Secret::of(given) == self.token
    }

    pub(super) fn has_cookie(&self, headers: &HeaderMap) -> bool {
        let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut cookies = all.flat_map(|value| value.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
        cookies.any(|(name, value)| name == self.cookie_name && Secret::of(value) == self.cookie)
    }

    fn has_token(&self, headers: &HeaderMap) -> bool {
        let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = value.and_then(|value| value.split_once(' '));
        given.is_some_and(|(scheme, token)| scheme.eq_ignore_ascii_case("bearer") && self.is_token(token.trim()))
    }

    /// Checks that the request is addressed to this server, which prevents DNS rebinding. Rejects requests with a
    /// foreign `Origin`, and API requests from other sites.
    fn check_sender(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), ProblemDetails> {
        let host =
            headers.get(header::HOST).and_then(|host| host.to_str().ok()).or(uri.authority().map(Authority::as_str));
        if !host.is_some_and(|host| self.hosts.contains(&host.to_lowercase())) {
            let detail = "the request's `Host` header does not match this server";
            let hint = "use the URL that the server printed; a reverse proxy must set `Host` to this server's host and remove `Origin`";
            return Err(ProblemDetails::new(StatusCode::MISDIRECTED_REQUEST, Kind::Access, detail).hint(hint));
        }
        let origin = headers.get(header::ORIGIN);
        let is_own =
            |origin: &HeaderValue| origin.to_str().is_ok_and(|origin| self.origins.contains(&origin.to_lowercase()));
        if origin.is_some_and(|origin| !is_own(origin)) {
            return Err(refused("cross-site requests are not allowed"));
        }
        let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
        let is_foreign = site.is_some_and(|site| !matches!(site, "same-origin" | "none"));
        if is_foreign && uri.path().starts_with("/api/") {
            return Err(refused("cross-site requests are not allowed"));
        }
        Ok(())
    }

    fn check_asker(&self, method: &Method, headers: &HeaderMap, path: &str) -> Result<(), ProblemDetails> {
        let changes = !matches!(*method, Method::GET | Method::HEAD);
        // Forms of other sites cannot send `Authorization`, so a request with that header does not need `X-Dialectic`.
        if self.has_token(headers) {
            return Ok(());
        }
        if changes && !headers.contains_key(OWN_HEADER) {
            return Err(refused("this request needs the header `X-Dialectic`"));
        }
        if !path.starts_with("/api/") || PUBLIC.contains(&path) || self.has_cookie(headers) {
            return Ok(());
        }
        let problem =
            ProblemDetails::new(StatusCode::UNAUTHORIZED, Kind::Access, "the request has no valid token or cookie");
        Err(problem.hint("send `Authorization: Bearer <token>`, or first open the URL that `dialectic serve` printed"))
    }
}

/// Paths that need no token or cookie, because clients use them before they have one.
const PUBLIC: [&str; 2] = ["/api/v1/openapi.json", "/api/v1/session"];

fn refused(detail: &str) -> ProblemDetails {
    ProblemDetails::new(StatusCode::FORBIDDEN, Kind::Access, detail)
}

pub(super) async fn guard(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    // Container health checks may use any host name.
    if request.uri().path() == "/healthz" {
        return next.run(request).await;
    }
    let checked = access
        .check_sender(request.headers(), request.uri())
        .and_then(|()| access.check_asker(request.method(), request.headers(), request.uri().path()));
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    let always = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in always {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(PAGE_POLICY));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// The host and port as a browser sends them in the `Host` header.
pub(super) fn authority(host: &str, port: u16) -> String {
    let host = match host.parse::<IpAddr>() {
        Ok(IpAddr::V6(ip)) => format!("[{ip}]"),
        _ => host.to_lowercase(),
    };
    if port == 80 { host } else { format!("{host}:{port}") }
}

pub(super) fn random() -> String {
    hexadecimal(&rand::rng().random::<[u8; 16]>())
}
