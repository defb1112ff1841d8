//! Enums with a name for each variant.

/// An enum whose variants have one name, on the wire and in messages. Adds `ALL`, in the order of its variants, and
/// `name`. It must derive `Serialize` or `Deserialize`.
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
            /// All variants in the order of their declaration.
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
