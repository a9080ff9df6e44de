//! Reproducible random choices.

/// A small pseudo-random number generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator that starts with `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The seed from the environment variable `name`, or a random one if it is not set.
    pub fn seed(name: &str) -> u64 {
        let given = std::env::var(name).ok().map(|text| text.parse().expect("a number"));
        given.unwrap_or_else(|| u64::from_le_bytes(*uuid::Uuid::new_v4().as_bytes().first_chunk().expect("8 bytes")))
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).expect("below a size")
    }

    /// Returns true with a probability of 1 in `times`.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Returns one of `choices`.
    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// `length` bytes.
    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length + 8);
        while bytes.len() < length {
            bytes.extend_from_slice(&self.next().to_le_bytes());
        }
        bytes.truncate(length);
        bytes
    }

    /// Puts `items` in random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// A new generator, seeded from this one, for another task.
    pub fn fork(&mut self) -> Self {
        Self(self.next())
    }
}
