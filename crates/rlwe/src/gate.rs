//! Functions of bits by name, whatever the scheme that computes them.

/// A symmetric function of two or three bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Gate {
    /// All are 1.
    And,
    /// One is 1 at least.
    Or,
    /// An odd number is 1.
    Xor,
    /// One is 0 at least.
    Nand,
    /// All are 0.
    Nor,
    /// An even number is 1.
    Xnor,
    /// Two or three of three are 1.
    Majority,
}

impl Gate {
    /// All gates.
    pub const ALL: [Gate; 7] =
        [Gate::And, Gate::Or, Gate::Xor, Gate::Nand, Gate::Nor, Gate::Xnor, Gate::Majority];

    /// Its name: `and`, `majority`.
    pub fn name(self) -> &'static str {
        match self {
            Gate::And => "and",
            Gate::Or => "or",
            Gate::Xor => "xor",
            Gate::Nand => "nand",
            Gate::Nor => "nor",
            Gate::Xnor => "xnor",
            Gate::Majority => "majority",
        }
    }

    /// The value for so many bits of which `ones` are 1, `ones <= count`.
    pub fn value(self, ones: usize, count: usize) -> bool {
        match self {
            Gate::And => ones == count,
            Gate::Or => ones > 0,
            Gate::Xor => !ones.is_multiple_of(2),
            Gate::Nand => ones < count,
            Gate::Nor => ones == 0,
            Gate::Xnor => ones.is_multiple_of(2),
            Gate::Majority => 2 * ones > count,
        }
    }
}
