//! Texts that a new repository may begin with: ignore lists and licences.

/// A licence: what to put into `LICENSE`.
#[derive(Clone, Copy, Debug)]
pub struct License {
    /// What requests call it.
    pub key: &'static str,
    /// Its text, with `[year]` and `[fullname]` where they belong.
    pub body: &'static str,
}

const GITIGNORES: &[(&str, &str)] = &[
    ("Go", "*.exe\n*.test\n*.out\n/vendor/\n"),
    ("Node", "node_modules/\n*.log\n.env\ndist/\n"),
    ("Python", "__pycache__/\n*.py[cod]\n.venv/\nbuild/\ndist/\n*.egg-info/\n"),
    ("Rust", "target/\n**/*.rs.bk\n"),
];

const LICENSES: &[License] = &[License { key: "MIT", body: MIT }];

const MIT: &str = include_str!("templates/MIT.txt");

/// Names of all ignore lists.
pub fn gitignores() -> impl Iterator<Item = &'static str> {
    GITIGNORES.iter().map(|(name, _)| *name)
}

/// The ignore list called `name`.
pub fn gitignore(name: &str) -> Option<&'static str> {
    GITIGNORES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// All licences.
pub fn licenses() -> &'static [License] {
    LICENSES
}

/// The licence with this key, in any case.
pub fn license(key: &str) -> Option<&'static License> {
    LICENSES.iter().find(|license| license.key.eq_ignore_ascii_case(key))
}
