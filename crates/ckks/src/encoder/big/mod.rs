//! Encoding and decoding of vectors of [`crate::BigFloat`].
//!
//! The special FFT runs in fixed point here, on integers of two to five words, as many as make
//! plaintexts exact to the unit. A transform adds and multiplies numbers of similar size, and their
//! absolute error matters, so exponents would not help. The library's numbers would be slow because
//! each has its own memory on the heap. At ring degree 2^14, the transform needs 213 thousand
//! products and as many sums. Each takes a few nanoseconds here. Numbers of the library's type
//! appear only in the input and the output.
//!
//! All computations use integer arithmetic, so the same vector gives the same plaintext everywhere.

mod decode;
mod encode;
mod fft;
mod fixed;
mod roots;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use fft::Fft;
use roots::Circle;

use crate::BigFloat;

/// The largest number of words of a number.
const MAX_WORDS: u32 = 5;

/// The tables for one ring degree. Each is computed when it is first used.
#[derive(Debug)]
pub(super) struct Tables {
    log_slots: u32,
    exponents: OnceLock<Vec<u32>>,
    two: OnceLock<Circle<2>>,
    three: OnceLock<Circle<3>>,
    four: OnceLock<Circle<4>>,
    five: OnceLock<Circle<5>>,
}

impl Tables {
    /// Creates tables for up to `2^log_slots` slots, with `log_slots >= 1`.
    pub(super) fn new(log_slots: u32) -> Self {
        Tables {
            log_slots,
            exponents: OnceLock::new(),
            two: OnceLock::new(),
            three: OnceLock::new(),
            four: OnceLock::new(),
            five: OnceLock::new(),
        }
    }

    /// Returns `(cos, sin)` of `2 pi t / 2^log_order`, to 320 bits and times `2^shift`.
    /// `2^log_order` is at most twice the ring degree.
    pub(super) fn root(&self, t: u32, log_order: u32, shift: i32) -> (BigFloat, BigFloat) {
        let circle = self.five.get_or_init(|| Circle::new(self.log_slots + 2));
        let number = |negative: bool, words: &[u64], exponent: i64| {
            BigFloat::from_words(negative, words, exponent + i64::from(shift))
                .expect("it is at most 1")
        };
        let quarter = 1 << self.log_slots;
        let t = t << (self.log_slots + 2 - log_order);
        if t.is_multiple_of(quarter) {
            let whole = |x: i32| number(x < 0, &[x.unsigned_abs().into()], 0);
            let (cos, sin) = [(1, 0), (0, 1), (-1, 0), (0, -1)][(t / quarter % 4) as usize];
            return (whole(cos), whole(sin));
        }
        let root = circle.point(t % (4 * quarter));
        let fraction = |negative, words: &[u64]| number(negative, words, -64 * words.len() as i64);
        (fraction(root.cos_negative, root.cos), fraction(root.sin_negative, root.sin))
    }

    /// Returns the transform for numbers of `W` words.
    fn fft<'a, const W: usize>(&'a self, circle: &'a OnceLock<Circle<W>>) -> Fft<'a, W> {
        Fft {
            circle: circle.get_or_init(|| Circle::new(self.log_slots + 2)),
            exponents: self.exponents.get_or_init(|| roots::exponents(self.log_slots)),
        }
    }
}

/// Returns the number of words for numbers of `bits` bits: at least 2 and at most [`MAX_WORDS`].
fn words_for(bits: i64) -> u32 {
    ((bits.saturating_add(63)) / 64).clamp(2, i64::from(MAX_WORDS)) as u32
}

/// Evaluates the last argument with the transform for that number of words.
macro_rules! with_words {
    ($tables:expr, $words:expr, |$fft:ident| $run:expr) => {{
        let tables: &super::Tables = $tables;
        match $words {
            ..=2 => {
                let $fft = tables.fft(&tables.two);
                $run
            }
            3 => {
                let $fft = tables.fft(&tables.three);
                $run
            }
            4 => {
                let $fft = tables.fft(&tables.four);
                $run
            }
            _ => {
                let $fft = tables.fft(&tables.five);
                $run
            }
        }
    }};
}
use with_words;
