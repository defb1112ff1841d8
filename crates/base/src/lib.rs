//! What everything else knows, and what knows nothing: amounts and prices, calls and their tokens, calls of tools, figures
//! and text as people read them, which files hold secrets, and what errors say of themselves.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`call`] | one paid call of a model: tokens, cost, attempts |
//! | [`diagnostic`] | what errors say beside their message: blame and hint |
//! | [`encoding`] | text files that may not be UTF-8 |
//! | [`figures`] | numbers, durations and money as people read them |
//! | [`key_path`] | the path of a value within a JSON document |
//! | [`markdown`] | small operations on Markdown text |
//! | [`money`] | amounts and prices |
//! | [`named!`] | enums whose variants have a name each |
//! | [`problem`] | what can be told of a problem without a model |
//! | [`provider`] | providers by name: the offline one, the default models, which API |
//! | [`sanitize`] | text of any origin on its way to a terminal or a page |
//! | [`secrets`] | which files are not shown to a model |
//! | [`severity`] | how grave an objection is |
//! | [`tool_call`] | calls of tools and their answers |

pub mod call;
pub mod diagnostic;
pub mod encoding;
pub mod figures;
pub mod key_path;
pub mod markdown;
pub mod money;
mod named;
pub mod problem;
pub mod program;
pub mod provider;
pub mod sanitize;
pub mod secrets;
pub mod severity;
pub mod tool_call;
