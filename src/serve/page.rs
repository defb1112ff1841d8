//! The pages: HTML frames for the compiled-in scripts and styles. The scripts insert all debate data as text, so that
//! nothing written by models or users is parsed as markup.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use maud::{DOCTYPE, Markup, html};
use sha2::{Digest, Sha256};

use dialectic_base::encoding::hexadecimal;

use super::app::App;

/// Name, media type and content. The files refer to each other by name.
const ASSETS: [(&str, &str, &str); 14] = [
    ("page.css", CSS, include_str!("../../assets/page.css")),
    ("page.js", SCRIPT, include_str!("../../assets/page.js")),
    ("dom.js", SCRIPT, include_str!("../../assets/dom.js")),
    ("list.js", SCRIPT, include_str!("../../assets/list.js")),
    ("form.js", SCRIPT, include_str!("../../assets/form.js")),
    ("debate.js", SCRIPT, include_str!("../../assets/debate.js")),
    ("contest.js", SCRIPT, include_str!("../../assets/contest.js")),
    ("panel.js", SCRIPT, include_str!("../../assets/panel.js")),
    ("model.js", SCRIPT, include_str!("../../assets/model.js")),
    ("graph.js", SCRIPT, include_str!("../../assets/graph.js")),
    ("markdown.js", SCRIPT, include_str!("../../assets/markdown.js")),
    ("worker.js", SCRIPT, include_str!("../../assets/worker.js")),
    ("sign-in.js", SCRIPT, include_str!("../../assets/sign-in.js")),
    ("icon.svg", "image/svg+xml", include_str!("../../assets/icon.svg")),
];
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// A digest of the assets, which is part of their addresses, so that browsers can cache them forever.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let digest = ASSETS.iter().fold(Sha256::new(), |digest, (_, _, text)| digest.chain_update(text)).finalize();
    hexadecimal(&digest[..6])
});

fn address(name: &str) -> String {
    format!("/assets/{}/{name}", *VERSION)
}

pub(super) fn routes() -> Router<Arc<App>> {
    let pages = ["/", "/new", "/debates/{id}"];
    let router = pages.into_iter().fold(Router::new(), |router, path| router.route(path, get(page)));
    router.route("/assets/{version}/{name}", get(asset))
}

async fn asset(Path((version, name)): Path<(String, String)>) -> Response {
    let Some((_, kind, text)) = ASSETS.iter().find(|(known, ..)| *known == name).filter(|_| version == *VERSION) else {
        return missing();
    };
    let headers = [(header::CONTENT_TYPE, *kind), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
    (headers, *text).into_response()
}

async fn page(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    uri: Uri,
    Query(mut query): Query<HashMap<String, String>>,
) -> Response {
    let here = uri.path().to_owned();
    let is_in = app.access.has_cookie(&headers);
    match query.remove("token") {
        None if is_in => shell().into_response(),
        // Redirect, so that the token does not stay in the browser's history.
        Some(_) if is_in => Redirect::to(&here).into_response(),
        Some(token) if app.access.redeem(&token) => {
            let cookie = [(header::SET_COOKIE, app.access.set_cookie.as_str())];
            // Browsers do not send a new `SameSite=Strict` cookie when they follow a redirect that began on another
            // site or in a local file. They do send it when a page from this server refreshes itself.
            let is_from_elsewhere = headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site");
            if is_from_elsewhere {
                (cookie, Html(onward(&here).into_string())).into_response()
            } else {
                (cookie, Redirect::to(&here)).into_response()
            }
        }
        used => (StatusCode::FORBIDDEN, sign_in(used.is_some())).into_response(),
    }
}

fn onward(path: &str) -> Markup {
    html! {
        (DOCTYPE)
        meta charset="utf-8";
        meta http-equiv="refresh" content={ "0; url=" (path) };
        title { "dialectic" }
    }
}

pub(super) fn missing() -> Response {
    let page = frame(
        "Not found",
        &html! {},
        &html! {
            main.plain { h1 { "This page does not exist" } p { a href="/" { "Back to the debates" } } }
        },
    );
    (StatusCode::NOT_FOUND, page).into_response()
}

fn frame(title: &str, scripts: &Markup, body: &Markup) -> Html<String> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="icon" href=(address("icon.svg")) type="image/svg+xml";
                link rel="stylesheet" href=(address("page.css"));
                (scripts)
            }
            body { (body) }
        }
    };
    Html(page.into_string())
}

fn shell() -> Html<String> {
    frame(
        "dialectic",
        &html! { script type="module" src=(address("page.js")) {} },
        &html! {
            header.top {
                a.skip href="#main" { "Skip to content" }
                div.top-line {
                    a.brand href="/" { img src=(address("icon.svg")) alt="" width="24" height="24"; "dialectic" }
                    nav aria-label="Main" {
                        a href="/" data-nav="list" { "Debates" }
                        a.button.primary href="/new" data-nav="new" { "New debate" }
                    }
                }
                div #offline .lost role="status" hidden { "Lost the connection to the server. Reconnecting…" }
                div #said .visually-hidden role="status" aria-live="polite" {}
            }
            main #main tabindex="-1" {}
            noscript { p.plain { "This page needs JavaScript. `dialectic list` and `dialectic show` work without \
                it." } }
        },
    )
}

/// `is_used` is true if the opened address contained a token that is not valid, usually because it was already used.
fn sign_in(is_used: bool) -> Html<String> {
    frame(
        "Sign in · dialectic",
        &html! { script type="module" src=(address("sign-in.js")) {} },
        &html! {
            main.plain {
                h1 { "Sign in to dialectic" }
                @if is_used {
                    p { "The address that you opened works only once and has already been used." }
                } @else {
                    p { "Open the address that the server printed at startup. It signs in one browser." }
                }
                p {
                    "In another browser, enter the server's token: the value of " code { "DIALECTIC_TOKEN" } " in its \
                        environment, or the token that it printed. You can also restart the server to get a new address."
                }
                form #sign-in {
                    label for="token" { "Token" }
                    input #token type="password" autocomplete="current-password" required;
                    button.primary type="submit" { "Sign in" }
                    p #wrong .problem role="alert" hidden {}
                }
            }
        },
    )
}
