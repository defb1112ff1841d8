//! The program as its users meet it: the real binary in a directory of its own, against a mock model server.
//!
//! One binary, so that the kit in `support` is compiled once. A file for each command or concern.

#![cfg(test)]

mod support;

mod fixtures;
mod kit;
mod state_fold;
mod trace;
