//! Replaces traces in a build without them.

#![expect(clippy::needless_pass_by_value, reason = "the signatures are those of the traces")]

use std::convert::Infallible;

use reqwest::Url;

use crate::features::MissingFeature;
use dialectic_engine::access::Environment;
use dialectic_record::debate::{Debate, Signal, TraceTarget};

/// The destination of traces, which does not exist.
pub enum TraceDestination {}

impl TraceDestination {
    /// Refuses any destination.
    ///
    /// # Errors
    /// Always.
    pub fn of(_: TraceTarget, _: &Environment) -> Result<Self, MissingFeature> {
        Err(MissingFeature::Trace)
    }

    /// The address.
    pub fn url(&self) -> &Url {
        match *self {}
    }
}

/// The trace of a run, which does not exist.
pub enum Tracer {}

impl Drop for Tracer {
    fn drop(&mut self) {
        match *self {}
    }
}

impl Tracer {
    /// Starts a trace.
    ///
    /// # Errors
    /// Never.
    pub fn start(to: TraceDestination, _: reqwest::Client, _: Debate, _: &str) -> Result<Self, Infallible> {
        match to {}
    }

    /// Adds a signal.
    pub fn see(&mut self, _: &Signal) {
        match *self {}
    }

    /// Ends the trace.
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
