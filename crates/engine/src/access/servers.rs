//! Which server a URL names: a built-in provider's, one on this machine, or another.

use reqwest::Url;

use dialectic_base::money::Price;
use dialectic_base::provider::{PRESETS, Preset};
use dialectic_llm::models::built_in_price;

/// Whether a variable holds the key of a built-in provider that is not the one at `url`.
pub(super) fn is_key_of_another(variable: &str, url: &Url) -> bool {
    let owner = |preset: &&Preset| preset.api_key_env == Some(variable);
    PRESETS.iter().any(|preset| owner(&preset)) && !preset_at(url).any(|preset| owner(&preset))
}

/// The built-in providers with this server.
pub(super) fn preset_at(url: &Url) -> impl Iterator<Item = &'static Preset> {
    let origin = url.origin();
    PRESETS.iter().filter(move |preset| Url::parse(preset.base_url).is_ok_and(|known| known.origin() == origin))
}

/// The list price of a model on a built-in provider's server, under any name. Local models have none: a local server
/// that takes a key may forward requests.
pub(super) fn list_price(url: &Url, model: &str) -> Option<Price> {
    let is_here = |preset: &&Preset| Url::parse(preset.base_url).is_ok_and(|known| known.host_str() == url.host_str());
    let mut presets = PRESETS.iter().filter(|preset| preset.api_key_env.is_some()).filter(is_here);
    presets.find_map(|preset| built_in_price(preset.name, model))
}

/// Whether the URL's server is on this machine.
pub fn is_on_this_machine(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| is_loopback(&url))
}

/// Whether the server is on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
    })
}

/// Scheme, host and port.
pub(super) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known_by_its_addresses() {
        for (url, expected) in [
            ("http://localhost:1/v1", true),
            ("http://LOCALHOST/v1", true),
            ("http://127.0.0.1", true),
            ("http://127.1:1", true),
            ("http://127.200.3.4:1", true),
            ("http://[::1]:1", true),
            ("http://0.0.0.0:1", false),
            ("http://10.0.0.1", false),
            ("http://[::ffff:10.0.0.1]", false),
            ("http://localhost.example", false),
            ("http://127.0.0.1.example", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
