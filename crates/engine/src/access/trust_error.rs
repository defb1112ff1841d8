//! The errors of [`Trust`](super::stranger::Trust).

use std::path::{Path, PathBuf};

use dialectic_base::diagnostic::{Diagnostic, ErrorCategory, Remedy};
use dialectic_record::debate::AgentId;

use super::stranger::Author;

/// A found file would send or read data that it does not own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// A key would go to a server that the user did not choose.
    #[error(
        "{variable} would go to {host}, because the found file `{}` says so",
        file(author).display()
    )]
    Key {
        /// The environment variable.
        variable: String,
        /// Scheme, host and port.
        host: String,
        /// The author of the address.
        author: Author,
    },
    /// A header would contain an environment variable that is not its provider's key.
    #[error(
        "{variable} would go into the header `{header}` of the provider `{provider}`, because the found \
             file `{}` says so",
        file(author).display()
    )]
    Header {
        /// The environment variable.
        variable: String,
        header: String,
        provider: String,
        /// The author of the header.
        author: Author,
    },
    /// A model would receive a prompt file from outside the directory.
    #[error(
        "the prompt file `{}` of {agent} {fault}, and the found file `{}` names it",
        path.display(),
        file(author).display()
    )]
    Prompt {
        /// The file, with links resolved.
        path: PathBuf,
        /// The agent with the prompt.
        agent: AgentId,
        /// Why the file is not read.
        fault: PromptFault,
        /// The author of the setting.
        author: Author,
    },
    /// A found file redefines a program of the user's.
    #[error(
        "the found file `{}` redefines the provider `{provider}`, which is a program",
        file(author).display()
    )]
    Program {
        provider: String,
        /// The author of the entry.
        author: Author,
    },
    /// Tools would read a directory that the user did not name.
    #[error("tools would read `{}`, because the found file `{}` says so", path.display(), file(author).display())]
    Context {
        path: PathBuf,
        /// The author of the setting.
        author: Author,
    },
}

/// Why a prompt file is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PromptFault {
    /// It is elsewhere, or a link leads elsewhere.
    #[error("is outside the directory")]
    Outside,
    /// The name suggests secrets.
    #[error("may hold secrets")]
    Secret,
}

fn file(author: &Author) -> &Path {
    author.file().unwrap_or(Path::new(""))
}

impl Diagnostic for TrustError {
    fn blame(&self) -> ErrorCategory {
        ErrorCategory::Configuration
    }

    // How the user can allow it.
    fn hint(&self) -> Option<String> {
        let (Self::Key { author, .. }
        | Self::Header { author, .. }
        | Self::Prompt { author, .. }
        | Self::Program { author, .. }
        | Self::Context { author, .. }) = self;
        let hint = match (self, author) {
            (Self::Context { .. }, _) => "to use it, name the directory",
            (_, Author::EnvFile(_) | Author::Config(_)) => "if you trust that file, name it",
            (_, Author::Record(_) | Author::User) => {
                "if you trust the record, name the configuration that started the debate"
            }
        };
        Some(hint.to_owned())
    }

    fn remedy(&self) -> Option<Remedy> {
        let (Self::Key { author, .. }
        | Self::Header { author, .. }
        | Self::Prompt { author, .. }
        | Self::Program { author, .. }
        | Self::Context { author, .. }) = self;
        Some(match (self, author) {
            (Self::Context { path, .. }, _) => Remedy::NameContext(path.clone()),
            (_, Author::EnvFile(path)) => Remedy::NameEnvFile(path.to_path_buf()),
            (_, Author::Config(path)) => Remedy::NameConfig(path.to_path_buf()),
            (_, Author::Record(_) | Author::User) => Remedy::NameConfigOfRecord,
        })
    }
}
