//! Remarks about a store's name, for the user to read once.

/// A remark about a store's name that isn't an error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A tuning name of Tokyo Cabinet that is known and means nothing here.
    Ignored {
        /// The name, as it was written.
        name: String,
        /// The value, as it was written.
        value: String,
    },
}

impl std::fmt::Display for Notice {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Notice::Ignored { name, value } => {
                write!(out, "{name}={value} is Tokyo Cabinet's and has no effect here")
            }
        }
    }
}
