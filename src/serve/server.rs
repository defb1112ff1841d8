//! Binds, runs and shuts down the server.

use std::future::IntoFuture as _;
use std::net::{IpAddr, SocketAddr, TcpListener as StdListener};
use std::sync::Arc;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt as _;
use axum::{Router, middleware};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use dialectic_record::ids::DebateId;

use crate::error::{ErrorCategory, UserError};

use super::access::{Access, LEAST_TOKEN, authority, guard, random};
use super::app::App;
use super::operations::api;
use super::page;
use super::problem::{Kind, ProblemDetails};
use super::registry::RunRegistry;
use super::settings::DebateInputs;

/// A server that has bound its address.
pub struct Server {
    app: Arc<App>,
    listener: StdListener,
    url: String,
    /// The token in the printed address, which works once.
    one_time: String,
    /// The token for API clients, and for signing in from other browsers.
    pub token: String,
}

fn not_started(source: std::io::Error) -> UserError {
    UserError::of(ErrorCategory::General, "cannot start").with_source(source)
}

impl Server {
    /// Binds the address and prepares the server, which runs at most `max_running` debates at a time. Port 0 picks a
    /// free port. `notices` receives messages for the user.
    ///
    /// # Errors
    ///
    /// Returns an error if the address cannot be used, if the token is too short, or if the address is reachable from
    /// other machines and the token or a cost limit is missing.
    pub fn bind(
        host: &str,
        port: u16,
        max_running: usize,
        inputs: DebateInputs,
        notices: mpsc::UnboundedSender<String>,
    ) -> Result<Self, UserError> {
        let token = inputs.environment.token();
        let ip = if host == "localhost" { Ok(IpAddr::from([127, 0, 0, 1])) } else { host.parse::<IpAddr>() };
        let no_address = || UserError::input(format!("--host must be an IP address or localhost, not `{host}`"));
        let ip = ip.map_err(|_| no_address())?;
        if token.is_some_and(|token| token.chars().count() < LEAST_TOKEN) {
            let message =
                format!("the token in DIALECTIC_TOKEN is too short: it needs at least {LEAST_TOKEN} characters");
            return Err(UserError::input(message).with_hint("create one with: openssl rand -hex 16"));
        }
        if !ip.is_loopback() {
            let required = [
                ("the token DIALECTIC_TOKEN", token.is_some()),
                ("the limit --max-cost", inputs.max_cost.is_some()),
                ("the limit --max-cost-per-day", inputs.max_cost_per_day.is_some()),
            ];
            if let Some((missing, _)) = required.into_iter().find(|(_, is_there)| !is_there) {
                let message = format!("{host} is reachable from other machines, but {missing} is missing");
                return Err(UserError::input(message).with_hint(
                    "set DIALECTIC_TOKEN, --max-cost and --max-cost-per-day: anyone with access can spend your money",
                ));
            }
            drop(notices.send("the traffic is not encrypted: put a TLS proxy in front of this server".to_owned()));
        }
        let wanted = SocketAddr::new(ip, port);
        let listen = |source: std::io::Error| {
            UserError::of(ErrorCategory::General, format!("cannot listen on {wanted}"))
                .with_hint("choose another port with --port; 0 picks a free one")
                .with_source(source)
        };
        let listener = StdListener::bind(wanted).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let (one_time, token) = (random(), token.map_or_else(random, str::to_owned));
        let shown = if ip.is_unspecified() { "localhost" } else { host };
        let url = format!("http://{}", authority(shown, address.port()));
        let access = Access::new(address, host, &one_time, &token);
        let runs = RunRegistry::open(max_running, notices).map_err(not_started)?;
        let app = Arc::new(App::new(access, runs, inputs));
        Ok(Self { app, listener, url, one_time, token })
    }

    /// The address of a page, with the one-time token.
    pub fn address_of(&self, path: &str) -> String {
        format!("{}{path}?token={}", self.url, self.one_time)
    }

    pub fn runs(&self) -> Arc<RunRegistry> {
        Arc::clone(&self.app.runs)
    }

    /// Serves requests until `until` resolves. Then pauses and saves the running debates and waits for hooks, for a
    /// limited time or until `hurry` resolves. Returns the debates that were running.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime cannot use the bound socket.
    pub async fn run(
        self,
        until: impl Future<Output = ()>,
        hurry: impl Future<Output = ()>,
    ) -> Result<Vec<DebateId>, UserError> {
        let Self { app, listener, .. } = self;
        let listener = TcpListener::from_std(listener).map_err(not_started)?;
        // Disable Nagle's algorithm, which would delay streamed words. This fails only if the connection is gone.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        tokio::select! {
            served = axum::serve(listener, router(&app)).into_future() => served.map_err(not_started)?,
            () = until => {}
        }
        let paused = app.runs.close(hurry).await;
        app.closing.cancel();
        Ok(paused)
    }
}

fn router(app: &Arc<App>) -> Router {
    let guarded = middleware::from_fn_with_state(Arc::clone(&app.access), guard);
    api()
        .merge(page::routes())
        .fallback(missing)
        .method_not_allowed_fallback(not_allowed)
        .layer(guarded)
        .with_state(Arc::clone(app))
}

async fn missing(request: Request) -> Response {
    if request.uri().path().starts_with("/api/") {
        return ProblemDetails::new(StatusCode::NOT_FOUND, Kind::NotFound, "this path does not exist").into_response();
    }
    page::missing()
}

async fn not_allowed() -> ProblemDetails {
    ProblemDetails::new(StatusCode::METHOD_NOT_ALLOWED, Kind::Validation, "the path does not support this method")
}
