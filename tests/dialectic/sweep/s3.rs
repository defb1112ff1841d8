//! A server that speaks S3.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::support::Sandbox;

/// The server of `tests/sweep/s3_server.py`, with the Python in `S3_SERVER` (`.ci/run` installs one).
pub(super) struct S3Server {
    process: Child,
    port: u16,
}

impl S3Server {
    /// Starts it; `None` if this build has no S3, or this machine no server.
    pub(super) fn start() -> Option<Self> {
        if cfg!(not(feature = "s3")) {
            return None;
        }
        let Some(python) = std::env::var_os("S3_SERVER") else {
            assert!(std::env::var_os("CI").is_none(), "S3_SERVER is not set, and S3 was not tested");
            return None;
        };
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sweep/s3_server.py");
        let mut command = Command::new(python);
        let command = command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().expect("the server can be started");
        let mut port = String::new();
        BufReader::new(process.stdout.take().expect("it is piped")).read_line(&mut port).expect("it says its port");
        Some(Self { process, port: port.trim().parse().expect("a port is a number") })
    }

    /// Has the sandbox use it.
    pub(super) fn serve(&self, sandbox: Sandbox) -> Sandbox {
        sandbox
            .env("AWS_ENDPOINT_URL", &format!("http://127.0.0.1:{}", self.port))
            .env("AWS_ACCESS_KEY_ID", "a")
            .env("AWS_SECRET_ACCESS_KEY", "b")
            .env("AWS_REGION", "us-east-1")
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
