//! From files, environment and command line to settings.
