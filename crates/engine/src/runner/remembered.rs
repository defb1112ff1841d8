//! The prices that the user named, kept for records of their debates.
//!
//! Anyone can write a record, so its prices are not the user's (`access::Trust`). To resume a debate without naming its
//! configuration again, the prices that the user named at its start are saved next to the user's own configuration. A
//! record with these prices keeps them.

use std::fs::{OpenOptions, create_dir_all, read_to_string};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::access::{Environment, Trust};
use dialectic_base::money::Price;
use dialectic_record::debate::Settings;

/// The file, in the user's directory.
const FILE: &str = "named-prices.jsonl";

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Named {
    model: String,
    price: Price,
}

/// The prices that the user named in earlier runs. Unreadable lines are skipped.
pub fn remembered_prices(environment: &Environment) -> Vec<(String, Price)> {
    let Some(directory) = environment.user_directory() else { return Vec::new() };
    let text = read_to_string(directory.join(FILE)).unwrap_or_default();
    let named = text.lines().filter_map(|line| serde_json::from_str::<Named>(line).ok());
    named.map(|named| (named.model, named.price)).collect()
}

/// Prices of the user's that are saved when their debate begins.
pub(super) struct PricesToRemember {
    prices: Vec<(String, Price)>,
    directory: Option<PathBuf>,
}

impl PricesToRemember {
    /// The prices that the user named and no earlier run saved.
    pub(super) fn of(trust: &Trust, settings: &Settings, environment: &Environment) -> Self {
        let mut prices = trust.prices_to_remember(settings, environment);
        if !prices.is_empty() {
            let known = remembered_prices(environment);
            prices.retain(|one| !known.contains(one));
        }
        Self { prices, directory: environment.user_directory().map(Path::to_owned) }
    }

    /// Saves the prices. If this fails, the user must name them again to resume, as the error then says.
    pub(super) fn note(self) {
        let named = self.prices.into_iter().map(|(model, price)| Named { model, price });
        let lines: String =
            named.filter_map(|named| serde_json::to_string(&named).ok()).map(|line| line + "\n").collect();
        let Some(directory) = self.directory.filter(|_| !lines.is_empty()) else { return };
        let written = create_dir_all(&directory)
            .and_then(|()| OpenOptions::new().append(true).create(true).open(directory.join(FILE)))
            .and_then(|mut file| file.write_all(lines.as_bytes()));
        drop(written);
    }
}
