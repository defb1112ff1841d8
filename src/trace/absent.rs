//! In place of the traces in a build without them.

#![expect(clippy::needless_pass_by_value, reason = "the signatures are those of the traces")]

use std::convert::Infallible;

use reqwest::Url;

use crate::features::MissingFeature;
use dialectic_engine::access::Environment;
use dialectic_record::debate::{Debate, Signal, TraceTarget};

/// Where traces go: there is no such place.
pub enum TraceDestination {}

impl TraceDestination {
    /// Refuses to send any.
    ///
    /// # Errors
    /// Always.
    pub fn of(_: TraceTarget, _: &Environment) -> Result<Self, MissingFeature> {
        Err(MissingFeature::Trace)
    }

    /// Its address.
    pub fn url(&self) -> &Url {
        match *self {}
    }
}

/// The trace of a run: there is none.
pub enum Tracer {}

impl Drop for Tracer {
    fn drop(&mut self) {
        match *self {}
    }
}

impl Tracer {
    /// Begins one.
    ///
    /// # Errors
    /// Never.
    pub fn start(to: TraceDestination, _: reqwest::Client, _: Debate, _: &str) -> Result<Self, Infallible> {
        match to {}
    }

    /// Takes in a signal.
    pub fn see(&mut self, _: &Signal) {
        match *self {}
    }

    /// Ends it.
    pub fn close(&mut self) {
        match *self {}
    }

    /// Waits until it is sent.
    ///
    /// # Errors
    /// Never.
    pub fn finish(self) -> Result<(), Infallible> {
        match self {}
    }
}
