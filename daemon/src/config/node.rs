//! The section `[node]`.

use super::reader::ConfigReader;

/// Longest name, bytes.
const NAME_MAX_BYTES: usize = 64;

/// `[node]`: this daemon among those that use the store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeConfig {
    /// `name`: the name that operators see. `None`: the host name.
    pub name: Option<String>,
}

impl NodeConfig {
    pub(super) fn read(&mut self, r: &mut ConfigReader<'_>) {
        r.parsed("node", "name", &mut self.name, |name: String| {
            let is_plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_graphic());
            if is_plain && name.len() <= NAME_MAX_BYTES {
                Ok(Some(name))
            } else {
                Err(format!("must be 1 to {NAME_MAX_BYTES} visible ASCII characters without spaces"))
            }
        });
    }

    /// Returns the name.
    pub fn name(&self) -> String {
        let host = || nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned();
        self.name.clone().unwrap_or_else(host)
    }
}
