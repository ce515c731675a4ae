//! Numbers by chance that come again.

/// Draws the same numbers again from the same seed (splitmix64, Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// Begins at the seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Another one, of whose draws this one's do not depend.
    pub fn fork(&mut self) -> Self {
        Self(self.draw())
    }

    /// A number below the limit, which is not zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.draw() % limit
    }

    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
