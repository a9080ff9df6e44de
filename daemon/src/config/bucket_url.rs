//! The place of blobs in a bucket, `blobs.url`.

use std::fmt;

/// A bucket and the prefix of all its objects that belong to this daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketUrl {
    /// Name of the bucket.
    pub bucket: String,
    /// Parts of the prefix. Empty: the objects are at the top of the bucket.
    pub prefix: Vec<String>,
}

impl BucketUrl {
    /// Parses `s3://BUCKET/PREFIX`. The prefix may be empty or have several parts.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected = "expected a URL such as \"s3://bucket/prefix\"";
        let rest = text.strip_prefix("s3://").ok_or_else(|| format!("must begin with s3://; {expected}"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
        let starts_well = bucket.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        if !(3..=63).contains(&bucket.len()) || !starts_well || !bucket.chars().all(is_plain) {
            return Err("the name of the bucket must have 3 to 63 lower-case letters, digits, - and .".into());
        }
        let prefix = prefix.trim_end_matches('/');
        let parts: Vec<String> = prefix.split('/').filter(|_| !prefix.is_empty()).map(str::to_owned).collect();
        let is_valid = |part: &String| {
            let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
            !part.is_empty() && part != "." && part != ".." && part.bytes().all(plain)
        };
        if prefix.len() > 256 || !parts.iter().all(is_valid) {
            return Err("the prefix must have parts of letters, digits, -, _ and ., at most 256 bytes in total".into());
        }
        Ok(Self { bucket: bucket.to_owned(), prefix: parts })
    }
}

impl fmt::Display for BucketUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}", self.bucket)?;
        self.prefix.iter().try_for_each(|part| write!(f, "/{part}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_bucket_and_a_prefix_of_plain_characters() {
        for (text, expected) in [
            ("s3://builds", Ok("s3://builds")),
            ("s3://builds/", Ok("s3://builds")),
            ("s3://builds/ci/farrier_1/", Ok("s3://builds/ci/farrier_1")),
            ("https://builds/ci", Err("must begin with s3://")),
            ("builds", Err("must begin with s3://")),
            ("s3://", Err("name of the bucket")),
            ("s3://ab", Err("name of the bucket")),
            ("s3://Builds", Err("name of the bucket")),
            ("s3://key:s3cret@builds/x", Err("name of the bucket")),
            ("s3://builds//x", Err("prefix")),
            ("s3://builds/../x", Err("prefix")),
            ("s3://builds/a b", Err("prefix")),
            ("s3://builds/a?endpoint=x", Err("prefix")),
        ] {
            match (BucketUrl::parse(text), expected) {
                (Ok(url), Ok(shown)) => assert_eq!(url.to_string(), shown, "{text}"),
                (Err(reason), Err(part)) => assert!(reason.contains(part) && !reason.contains("s3cret"), "{reason}"),
                (result, _) => panic!("{text}: {result:?}"),
            }
        }
    }
}
