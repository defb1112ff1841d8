//! The client against a server of its own.
