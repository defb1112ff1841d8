//! Which files are not read even where reading is allowed.

/// Whether files, or directories, of that name commonly hold keys, tokens or passwords. The name is all that is judged:
/// a second name (hard link) that a secret was given by its owner is not seen through.
pub(super) fn may_hold_secrets(name: &str) -> bool {
    // Not every file system tells `.ENV` from `.env`.
    let name = name.to_lowercase();
    let is_one_of = |names: &[&str]| names.contains(&name.as_str());
    let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| name.starts_with(beginning));
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    is_one_of(&[
        ".envrc",
        ".netrc",
        "_netrc",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".my.cnf",
        ".htpasswd",
        ".git-credentials",
        ".dockercfg",
        ".vault-token",
        ".ssh",
        ".gnupg",
        ".aws",
        ".azure",
        ".kube",
    ]) || begins(&[".env.", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"])
        || ends(&[".env", ".pem", ".key", ".p12", ".pfx", ".p8", ".ppk", ".jks", ".keystore", ".kdbx"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_environment_files_are_known_by_name() {
        let names = [
            ".env",
            ".ENV",
            ".env.local",
            ".env.production",
            "prod.env",
            ".envrc",
            "server.pem",
            "Server.KEY",
            "id_rsa",
            "id_rsa.bak",
            "id_ed25519",
            "id_ed25519.pub",
            ".netrc",
            ".npmrc",
            ".git-credentials",
            "store.p12",
            ".ssh",
        ];
        for name in names {
            assert!(may_hold_secrets(name), "{name}");
        }
    }

    #[test]
    fn ordinary_names_are_not_taken_for_secrets() {
        for name in
            ["environment.md", "env", "keys.md", "monkey", "key", "rsa.rs", "pem.txt", ".github", "src", "a.enve"]
        {
            assert!(!may_hold_secrets(name), "{name}");
        }
    }
}
