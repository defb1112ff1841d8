//! Files that models must not see even where reading is allowed, because they usually contain keys, tokens or
//! passwords. They are recognized by name and by the beginning of a private key.
//!
//! The lists err on the side of caution: a file that a model needs can be renamed, but a leaked key must be replaced.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

// A string of words is more readable than a long array.
const DIRECTORIES: &str = "\
    .ssh .gnupg .aws .azure .kube .oci .aliyun .gcloud .password-store .1password .vault .secrets .env.d";

const DIRECTORIES_IN: &[(&str, &str)] =
    &[(".config", "gcloud"), (".config", "gh"), (".config", "op"), (".config", "rclone"), (".svn", "auth")];

const NAMES: &str = "\
    .envrc .flaskenv .dev.vars .netrc _netrc .npmrc .yarnrc .yarnrc.yml .pypirc .pgpass pgpass.conf .my.cnf \
    .mylogin.cnf .htpasswd htpasswd .htdigest .git-credentials .gitconfig .dockercfg .dockerconfigjson \
    .vault-token .s3cfg .boto .passwd-s3fs .terraformrc terraform.rc credentials.tfrc.json terraform.tfstate \
    .databrickscfg .snowsql .sentryclirc .clasprc.json application_default_credentials.json kubeconfig \
    rclone.conf nuget.config wp-config.php local.settings.json settings-security.xml auth.json logins.json \
    key3.db key4.db cookies.sqlite cookies.txt wallet.dat secring.gpg shadow gshadow .token .secret .secrets \
    .vault_pass .vault-pass .vault_password";

const BEGINNINGS: &str = "\
    id_rsa id_dsa id_ecdsa id_ed25519 ssh_host_ client_secret";

const ENDINGS: &str = "\
    .pem .key .p12 .pfx .pkcs12 .p8 .ppk .jks .keystore .bks .kdb .kdbx .keytab .keychain .keychain-db .agekey \
    .ovpn .tfvars .tfvars.json .tfstate .kubeconfig .secret .secrets .token";

/// File stems that are secret without an extension, or with the extension of a data format. Source code and prose with
/// these names are harmless.
const STEMS: &str = "\
    secret secrets credential credentials password passwords token tokens access_token api_key api-key apikey \
    api_keys api-keys apikeys service-account service_account serviceaccount service-account-key \
    service_account_key";
const DATA: &str = "\
    json json5 yml yaml toml ini cfg conf config xml properties plist txt csv db sqlite dat enc env";

/// Names that are secret only below certain directories, because other directories commonly contain them too.
const NAMES_IN: &[(&str, &[&str])] = &[
    (".git", &["config", "config.worktree", "fetch_head"]),
    (".hg", &["hgrc"]),
    (".docker", &["config.json"]),
    (".m2", &["settings.xml"]),
    (".gradle", &["gradle.properties"]),
    (".bundle", &["config"]),
    (".config", &["hub", "hosts.yml"]),
];

const COPIES: &[&str] = &[
    "~", ".bak", ".backup", ".old", ".orig", ".save", ".saved", ".swp", ".swo", ".tmp", ".temp", ".copy", " copy",
    " - copy", ".dist", ".prev", ".rej", "#", "_bak", "_old", "-bak", "-old",
];

/// Whether a name in the path is that of a secret file or directory. Does not detect hard links with other names.
pub fn may_hold_secrets(path: &Path) -> bool {
    is_secret_place(path) || is_secret_file(path)
}

pub fn is_secret_file(path: &Path) -> bool {
    let name = path.file_name().map(lower);
    name.is_some_and(|name| is_environment_file(&name) || is_secret_name(&name, path))
}

pub fn is_secret_place(path: &Path) -> bool {
    let names: Vec<String> = path.iter().map(lower).collect();
    let is_pair = |pair: &[String]| matches!(pair, [outer, inner] if DIRECTORIES_IN.contains(&(outer, inner)));
    names.iter().any(|name| one_of(DIRECTORIES, name)) || names.windows(2).any(is_pair)
}

/// Whether the path leads into `.git`, which contains every text ever committed.
pub fn is_in_git(path: &Path) -> bool {
    path.iter().any(|name| lower(name) == ".git")
}

pub fn holds_private_key(text: &str) -> bool {
    let begins = |line: &str| {
        let label = line.trim().strip_prefix("-----BEGIN ").and_then(|rest| rest.strip_suffix("-----"));
        label.is_some_and(|label| label.ends_with("PRIVATE KEY") || label.ends_with("PRIVATE KEY BLOCK"))
            || line.starts_with("PuTTY-User-Key-File-")
            || line.starts_with("AGE-SECRET-KEY-1")
    };
    text.lines().any(begins) || holds_account_key(text)
}

/// Whether a PEM block follows `"private_key"`, however the JSON is laid out.
fn holds_account_key(text: &str) -> bool {
    text.match_indices("\"private_key\"").any(|(at, name)| {
        let value = text[at + name.len()..].trim_start().strip_prefix(':').map(str::trim_start);
        let value = value.and_then(|value| value.strip_prefix('"'));
        // Line breaks are escaped in JSON strings.
        value.is_some_and(|value| value.trim_start_matches(['\\', 'n', 'r', 't', ' ']).starts_with("-----BEGIN "))
    })
}

/// In bytes. Shorter values, such as `none` for a local server that accepts any key, may occur in texts by chance.
const SHORTEST_KEY: usize = 16;
/// The shortest prefix of a key, in bytes, that is hidden at the end of a truncated text.
const SHORTEST_PIECE: usize = 8;
const PLACEHOLDERS: &str = "\
    your-api your_api your-key your_key your-secret your_secret your-openai your_openai yourapikey yourkey \
    api-key-here api_key_here key-here key_here placeholder changeme change-me change_me change-this replace-me \
    replace_me replace-with replace_with replaceme insert-your insert_your example dummy not-needed not_needed \
    notneeded no-key-required no_key_required xxxxxxxx ........ ********";

/// The values of the user's keys, each with the name of its variable.
#[derive(Clone, Default)]
pub struct KnownKeys(Arc<[(String, SecretString)]>);

impl std::fmt::Debug for KnownKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(variable, _)| variable)).finish()
    }
}

impl KnownKeys {
    pub fn new(values: impl IntoIterator<Item = (String, SecretString)>) -> Self {
        let is_key = |value: &str| value.len() >= SHORTEST_KEY && !is_placeholder(value);
        let mut keys: Vec<_> = values.into_iter().filter(|(_, value)| is_key(value.expose_secret())).collect();
        // Longer keys first, because one key may contain another.
        keys.sort_by_key(|(_, value)| std::cmp::Reverse(value.expose_secret().len()));
        Self(keys.into())
    }

    /// The name of a variable whose value occurs in `text`.
    pub fn find(&self, text: &str) -> Option<&str> {
        let mut keys = self.0.iter();
        keys.find(|(_, value)| text.contains(value.expose_secret())).map(|(variable, _)| variable.as_str())
    }

    /// Replaces each key with a mark such as `[OPENAI_API_KEY redacted]`.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for (variable, value) in self.0.iter() {
            if text.contains(value.expose_secret()) {
                text = text.replace(value.expose_secret(), &redacted(variable)).into();
            }
        }
        text
    }

    /// Like [`redact`](Self::redact), for a truncated text, which may end within a key.
    pub fn redact_cut<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = self.redact(text);
        let piece = |value: &str| {
            let lengths = (SHORTEST_PIECE..value.len()).rev().filter(|length| value.is_char_boundary(*length));
            lengths.into_iter().find(|length| text.ends_with(&value[..*length]))
        };
        let found = self.0.iter().find_map(|(variable, value)| Some((variable, piece(value.expose_secret())?)));
        match found {
            Some((variable, length)) => format!("{}{}", &text[..text.len() - length], redacted(variable)).into(),
            None => text,
        }
    }
}

fn redacted(variable: &str) -> String {
    format!("[{variable} redacted]")
}

fn is_placeholder(value: &str) -> bool {
    let value = value.to_lowercase();
    let is_template = value.starts_with('<') && value.ends_with('>') || value.starts_with("${");
    is_template || words(PLACEHOLDERS).any(|word| value.contains(word))
}

/// Whether both paths lead to the same file. Follows symbolic links. On systems other than Unix, hard links are treated
/// as different files.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let number = |path: &Path| std::fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino())).ok();
        number(one).is_some_and(|one| Some(one) == number(other))
    }
    #[cfg(not(unix))]
    {
        one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
    }
}

fn words(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split_ascii_whitespace()
}

fn one_of(list: &'static str, name: &str) -> bool {
    words(list).any(|word| word == name)
}

/// Some file systems do not distinguish `.ENV` from `.env`.
fn lower(name: &OsStr) -> String {
    name.to_string_lossy().to_lowercase()
}

/// Matches any variant of `.env`, such as `.env~`, `.env.local`, `prod.env.bak` and `.env (copy)`, but not
/// `.environment`.
fn is_environment_file(name: &str) -> bool {
    let is_end = |rest: &str| !rest.starts_with(char::is_alphabetic);
    let rests = |part: &'static str| name.match_indices(part).map(move |(at, _)| &name[at + part.len()..]);
    rests(".env").chain(rests(".envrc")).any(is_end)
}

fn is_secret_name(name: &str, path: &Path) -> bool {
    let name = original(name);
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, extension),
        _ => (name, ""),
    };
    one_of(NAMES, name)
        || words(BEGINNINGS).any(|beginning| name.starts_with(beginning))
        || words(ENDINGS).any(|ending| name.ends_with(ending))
        || one_of(STEMS, stem.trim_start_matches('.')) && (extension.is_empty() || one_of(DATA, extension))
        || name.starts_with('.') && name.ends_with("_history")
        || NAMES_IN.iter().any(|(directory, names)| names.contains(&name) && is_below(path, directory))
}

/// Whether a directory in the path has a name that ends in `directory`. This includes bare repositories such as
/// `project.git`.
fn is_below(path: &Path, directory: &str) -> bool {
    path.parent().into_iter().flat_map(Path::iter).map(lower).any(|name| name.ends_with(directory))
}

fn original(name: &str) -> &str {
    let mut name = name.trim_start_matches('#');
    // Emacs names its lock files `.#name`, and Vim its swap files `.name.swp`.
    name = name.strip_prefix(".#").unwrap_or(name);
    if [".swp", ".swo"].iter().any(|ending| name.ends_with(ending)) {
        name = name.strip_prefix('.').unwrap_or(name);
    }
    loop {
        let shorter = COPIES.iter().find_map(|copy| name.strip_suffix(copy)).unwrap_or(name);
        let counted = shorter.trim_end_matches(|c: char| c.is_ascii_digit() || c == '~');
        let shorter = counted.strip_suffix('.').filter(|_| counted.len() < shorter.len()).unwrap_or(shorter).trim_end();
        if shorter == name || shorter.is_empty() {
            return name;
        }
        name = shorter;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_hold_secrets_are_known_by_name_and_place() {
        let paths = "
            .env, .ENV, .env.local, .env.production, prod.env, .env~, prod.env.bak, .env.bak.1, .env1,
            .env-old, .env_backup, .env (copy), .env - Copy, ..env.swp, .#.env, #.env#, .env.~1~,
            app/.env.test.local, .envrc, .envrc.bak, .flaskenv, server.pem, Server.KEY, server.key.bak,
            id_rsa, id_rsa.bak, id_ed25519, id_ed25519.pub, store.p12, release.keystore, AuthKey_1.p8,
            putty.ppk, vault.kdbx, etc/ssh/ssh_host_rsa_key, .netrc, _netrc, .netrc~, .npmrc, .yarnrc.yml,
            .pypirc, .pgpass, .git-credentials, credentials.json, Credentials.JSON, credentials.json.old,
            .cargo/credentials.toml, .cargo/credentials, .aws/credentials, secrets.yaml, config/secrets.yml,
            client_secret_1.json, service-account.json, application_default_credentials.json, token.json,
            passwords.txt, auth.json, terraform.tfstate, terraform.tfstate.backup, prod.auto.tfvars,
            kubeconfig, prod.kubeconfig, wp-config.php, .bash_history, .psql_history, etc/shadow,
            .git/config, sub/.git/config, .git/modules/sub/config, .git/config.bak, bare.git/config,
            .secrets/notes.md, .env.d/prod.txt, ops/.vault_pass, .SECRETS/x,
            .docker/config.json, .m2/settings.xml, .config/gh/hosts.yml, .config/gcloud/x, .ssh/config, .ssh,
            .SSH/known_hosts, .kube/config, .gnupg/x, .azure/x.json, .svn/auth/x";
        for path in paths.split(',').map(str::trim) {
            assert!(may_hold_secrets(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn ordinary_files_are_not_taken_for_secrets() {
        let paths = "
            environment.md, env, env.ts, .environment, a.enve, .envoy.yaml, vite-env.d.ts, keys.md, monkey,
            key, rsa.rs, pem.txt, .github/config.yml, .gitignore, src, config, config.json,
            src/credentials/mod.rs, credentials.rs, secrets.md, token.rs, tokens.py, password.go,
            settings.xml, docs/secret.md, history.md, .git/HEAD, git/config, config.toml, shadow.rs,
            docker/config.json, authors.json, old, ~, .bak";
        for path in paths.split(',').map(str::trim) {
            assert!(!may_hold_secrets(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn what_git_keeps_is_known_by_its_directory() {
        for (path, expected) in [
            (".git/HEAD", true),
            ("sub/.GIT/logs/HEAD", true),
            (".git", true),
            (".github/x", false),
            ("a.git/HEAD", false),
        ] {
            assert_eq!(is_in_git(Path::new(path)), expected, "{path}");
        }
    }

    fn keys(pairs: &[(&str, &str)]) -> KnownKeys {
        KnownKeys::new(pairs.iter().map(|(variable, value)| ((*variable).to_owned(), SecretString::from(*value))))
    }

    #[test]
    fn values_of_keys_are_redacted_and_placeholders_are_not() {
        let known =
            keys(&[("SHORT", "sk-1234567890ab"), ("A_KEY", "sk-1234567890abc"), ("B_KEY", "sk-1234567890abcdef-2")]);
        assert_eq!(known.redact("a sk-1234567890abcdef-2 b sk-1234567890abc"), "a [B_KEY redacted] b [A_KEY redacted]");
        assert_eq!(known.redact("sk-1234567890ab"), "sk-1234567890ab", "shorter than any key");
        assert_eq!(known.find("x sk-1234567890abc"), Some("A_KEY"));
        assert_eq!(known.redact_cut("cut in sk-1234567"), "cut in [B_KEY redacted]");
        assert_eq!(known.redact_cut("cut in sk-1"), "cut in sk-1");
        for placeholder in ["your-api-key-here", "sk-xxxxxxxxxxxxxxxx", "<put your key in here>", "changeme-changeme"] {
            assert_eq!(keys(&[("K", placeholder)]).find(placeholder), None, "{placeholder}");
        }
        assert!(!format!("{known:?}").contains("sk-"));
    }

    #[test]
    fn private_keys_are_known_by_their_first_line() {
        for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
            assert!(holds_private_key(&format!("notes\r\n-----BEGIN {label}-----\r\nMII\r\n")), "{label}");
        }
        assert!(holds_private_key("# created\nAGE-SECRET-KEY-1QQ\n"));
        for json in [
            r#"{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\nMII\n"}"#,
            "{\"private_key\"\n :\n \"\\n-----BEGIN RSA PRIVATE KEY-----\\nMII\"}",
        ] {
            assert!(holds_private_key(json), "{json}");
        }
        assert!(!holds_private_key(r#"{"private_key": "the path of a file that says -----BEGIN PRIVATE KEY-----"}"#));
        assert!(!holds_private_key("let begin = \"-----BEGIN PRIVATE KEY-----\";"));
        assert!(!holds_private_key("-----BEGIN CERTIFICATE-----\n-----BEGIN PUBLIC KEY-----\n"));
    }
}
