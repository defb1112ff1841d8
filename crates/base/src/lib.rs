//! Types and helpers that all other crates share.
//!
//! | module | contents |
//! | --- | --- |
//! | [`call`] | a model call: its tokens, cost and attempts, and tool calls |
//! | [`encoding`] | text files and their encodings |
//! | [`figures`] | numbers, durations and money as people read them |
//! | [`key_path`] | the path of a value within a JSON document |
//! | [`markdown`] | embeds foreign text in Markdown |
//! | [`money`] | amounts of money, and limits |
//! | [`price`] | the prices of models |
//! | [`named!`] | enums with a name for each variant |
//! | [`problem`] | checks a problem's text and finds its requirements |
//! | [`provider`] | provider names, built-in providers and kinds of API |
//! | [`sanitize`] | cleans text for a terminal or a page |
//! | [`secrets`] | files that models must not see |

pub mod call;
pub mod encoding;
pub mod figures;
pub mod key_path;
pub mod markdown;
pub mod money;
pub mod price;
pub mod problem;
pub mod provider;
pub mod sanitize;
pub mod secrets;

/// Defines an enum whose variants have the same name on the wire and in messages. Adds `ALL`, in the order of the
/// variants, and `name`. The enum must derive `Serialize` or `Deserialize`.
#[macro_export]
macro_rules! named {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $enum:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$meta])*
        $visibility enum $enum {
            $($(#[$variant_meta])* #[serde(rename = $name)] $variant,)+
        }

        impl $enum {
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}
