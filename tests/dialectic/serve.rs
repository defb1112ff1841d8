//! `dialectic serve`: the debates in a browser, and the API for programs.

mod access;
mod api;
mod behind;
pub(crate) mod browser;
mod client;
mod events;
mod money;
mod steering;
