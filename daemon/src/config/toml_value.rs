//! Conversion of TOML values to Rust types, with error messages that name the expected type.

use std::path::PathBuf;

use toml::de::DeValue;

/// A type that values of the file are converted to.
pub(super) trait FromToml: Sized {
    /// Converts `value`. The error says which type was expected.
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String>;
}

impl FromToml for String {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        value.as_str().map(str::to_owned).ok_or_else(|| expected("a string in quotes", value))
    }
}

impl FromToml for PathBuf {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        String::from_toml(value).map(Self::from)
    }
}

impl FromToml for bool {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| expected("true or false", value))
    }
}

impl FromToml for u64 {
    fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
        let integer = value.as_integer().ok_or_else(|| expected("a whole number", value))?;
        if integer.as_str().starts_with('-') {
            return Err("expected a whole number that is not negative".into());
        }
        Self::from_str_radix(integer.as_str().trim_start_matches('+'), integer.radix())
            .map_err(|_| format!("is too large: expected a whole number of at most {}", Self::MAX))
    }
}

/// Implements [`FromToml`] for smaller integer types.
macro_rules! narrower {
    ($($number:ty),*) => {$(
        impl FromToml for $number {
            fn from_toml(value: &DeValue<'_>) -> Result<Self, String> {
                let wide = u64::from_toml(value)?;
                let too_large = |_| format!("is too large: expected a whole number of at most {}", Self::MAX);
                Self::try_from(wide).map_err(too_large)
            }
        }
    )*};
}

narrower!(u16, u32, usize);

fn expected(what: &str, found: &DeValue<'_>) -> String {
    let kind = match found {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or a time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    format!("expected {what}, found {kind}")
}

/// Returns the items of a list.
pub(super) fn items<'v, 't>(value: &'v DeValue<'t>) -> Result<&'v [toml::Spanned<DeValue<'t>>], String> {
    value.as_array().map(AsRef::as_ref).ok_or_else(|| expected("a list in brackets", value))
}
