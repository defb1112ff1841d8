//! Enums whose variants have a name each.

/// An enum whose variants have one name, on the wire and in messages. Gives it `ALL`, in the order of its variants, and
/// `name`. It has to derive `Serialize` or `Deserialize`.
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
            /// All of them, in the order of their declaration.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name on the wire and in messages.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}
