//! Lower bounds on the time of a key switch with words of 48 bits, if multiplications limit it.
//!
//! There are two bounds:
//!
//! - The counted floor counts multiplications of 512-bit vectors. A transform has 3 for 8
//!   butterflies, a base conversion 2 for 8 coefficients of a pair of limbs, and an inner product 4
//!   for 8 coefficients of a digit (both halves of 104 bits, for both parts of the key). Additions,
//!   corrections and memory count as free.
//! - The measured floor is the time of our transforms, conversions and products on data that stays
//!   in the cache.

use hippocrene_ring::{
    Kernel,
    convert::BaseConverter,
    elementwise::{Elementwise, KeyLimb},
    ntt::NttPlan,
    primes,
};

use crate::{Result, figures::PeerFigure, session::Session};

/// The shape of a key switch: the limbs of `Q` in each digit, and the limbs of `P`.
#[derive(Debug, Clone)]
pub struct Shape {
    /// log2 of the ring degree.
    pub log_n: u32,
    /// The number of limbs of each digit.
    pub digits: Vec<usize>,
    /// The number of limbs of the special modulus.
    pub specials: usize,
}

/// Cycles per millisecond of the machine for which the floors of the prototypes (`data/peers.json`)
/// were computed, with one multiplication per cycle.
const REFERENCE_CLOCK: f64 = 3.65e6;
/// The number of coefficients converted and multiplied together. They fit into the first-level
/// cache.
const TILE: usize = 256;
/// The number of limbs that one base conversion computes.
const TARGETS: usize = 4;
const WORD: u32 = 48;

impl Shape {
    fn units(&self) -> usize {
        self.digits.iter().sum()
    }

    /// The numbers of forward and inverse transforms of limbs, `(omega + 2)(l + k)` together.
    fn transforms(&self) -> [usize; 2] {
        let (q, p) = (self.units(), self.specials);
        [self.digits.iter().map(|digit| q + p - digit).sum::<usize>() + 2 * q, q + 2 * p]
    }

    /// The numbers of pairs of limbs in base conversions, up to `PQ` and down to `Q`.
    fn pairs(&self) -> [usize; 2] {
        let (q, p) = (self.units(), self.specials);
        [self.digits.iter().map(|digit| digit * (q + p - digit)).sum(), 2 * p * q]
    }

    /// The number of limbs of `PQ`.
    fn limbs(&self) -> usize {
        self.units() + self.specials
    }

    /// The number of multiplication instructions, each for 8 words.
    fn multiplications(&self) -> usize {
        let vectors = 1 << (self.log_n - 3);
        let butterflies = self.log_n as usize * vectors / 2;
        let transforms: usize = self.transforms().iter().sum();
        let pairs: usize = self.pairs().iter().sum();
        3 * butterflies * transforms + vectors * (2 * pairs + 4 * self.limbs() * self.digits.len())
    }

    /// The counted floor on the machine of the prototypes, which is scaled like their floors.
    pub fn counted(&self) -> PeerFigure {
        PeerFigure {
            peer: "multiplications alone, counted".into(),
            value: self.multiplications() as f64 / REFERENCE_CLOCK,
            unit: "ms".into(),
            log_n: self.log_n,
            source: "one multiplication of 512 bits in a cycle of 3.65 GHz, as the floors of the \
                     prototypes"
                .into(),
        }
    }

    /// Measures the floor in milliseconds.
    ///
    /// # Errors
    /// When there are not enough primes of 48 bits.
    pub fn measured(&self, session: &mut Session) -> Result<f64> {
        let kernel = session.kernel;
        let degree = 1 << self.log_n;
        let largest = self.digits.iter().copied().max().unwrap_or(0).max(self.specials);
        let moduli = primes::ntt_primes(WORD, degree, largest + TARGETS, &[])?;
        let q = moduli[0];
        let plan = NttPlan::new(q, degree, kernel)?;
        let limb = |length: usize| -> Vec<u64> { (0..length as u64).map(|i| i * i % q).collect() };
        let (mut a, mut b) = (limb(degree), limb(degree));
        let digit = self.digits.first().copied().unwrap_or(0);
        let mut up = Conversion::new(&moduli, digit, kernel);
        let mut down = Conversion::new(&moduli, self.specials, kernel);
        let elementwise = Elementwise::new(q, kernel);
        let tile = limb(TILE);
        let pairs: Vec<(&[u64], &[u64])> =
            self.digits.iter().map(|_| (&tile[..], &tile[..])).collect();
        let key = KeyLimb::of_pairs(&elementwise, &pairs);
        let digits: Vec<(usize, &[u64])> = (0..self.digits.len()).map(|d| (d, &tile[..])).collect();
        let [mut acc0, mut acc1] = [limb(TILE), limb(TILE)];
        let [forward, inverse, up, down, product] = session.time(
            self.log_n,
            [
                &mut || {
                    plan.forward(&mut a);
                    Ok(())
                },
                &mut || {
                    plan.inverse(&mut b);
                    Ok(())
                },
                &mut || up.run(),
                &mut || down.run(),
                &mut || {
                    elementwise.inner_product(&mut acc0, &mut acc1, &digits, &key);
                    Ok(())
                },
            ],
        )?;
        let tiles = (degree / TILE) as f64;
        let per_pair = |seconds: f64, inputs: usize| seconds * tiles / (inputs * TARGETS) as f64;
        let [forwards, inverses] = self.transforms().map(|n| n as f64);
        let [ups, downs] = self.pairs().map(|n| n as f64);
        let seconds = forwards * forward
            + inverses * inverse
            + ups * per_pair(up, digit)
            + downs * per_pair(down, self.specials)
            + self.limbs() as f64 * tiles * product;
        Ok(1e3 * seconds)
    }
}

/// A base conversion of one tile.
struct Conversion {
    converter: BaseConverter,
    inputs: Vec<Vec<u64>>,
    outputs: Vec<Vec<u64>>,
}

impl Conversion {
    /// Returns a conversion from the first `inputs` of the moduli to the last [`TARGETS`].
    fn new(moduli: &[u64], inputs: usize, kernel: Kernel) -> Self {
        let (from, to) = (&moduli[..inputs], &moduli[moduli.len() - TARGETS..]);
        Conversion {
            converter: BaseConverter::new(from, to, kernel),
            inputs: from.iter().map(|q| (0..TILE as u64).map(|i| i * i % q).collect()).collect(),
            outputs: vec![vec![0; TILE]; TARGETS],
        }
    }

    fn run(&mut self) -> Result<()> {
        let inputs: Vec<&[u64]> = self.inputs.iter().map(Vec::as_slice).collect();
        let mut outputs: Vec<&mut [u64]> = self.outputs.iter_mut().map(Vec::as_mut_slice).collect();
        self.converter.convert_exact(&mut outputs, &inputs);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_match_the_prototypes() {
        let shapes = [
            (16, vec![18], 18, 10.5),
            (16, vec![7; 3], 7, 11.6),
            (15, vec![4; 3], 4, 2.8),
            (14, vec![2; 3], 3, 0.67),
        ];
        for (log_n, digits, specials, milliseconds) in shapes {
            let shape = Shape { log_n, digits, specials };
            let transforms = (shape.digits.len() + 2) * shape.limbs();
            assert_eq!(shape.transforms().iter().sum::<usize>(), transforms);
            let floor = shape.counted().value;
            assert!((floor / milliseconds - 1.0).abs() < 0.03, "{floor} {milliseconds}");
        }
    }

    #[test]
    fn twice_the_work_takes_longer() {
        let mut session = Session::new().unwrap();
        let shape = Shape { log_n: 12, digits: vec![2, 2], specials: 2 };
        let small = shape.measured(&mut session).unwrap();
        let large = Shape { digits: vec![2; 6], ..shape }.measured(&mut session).unwrap();
        assert!(small > 0.0 && large > 2.0 * small, "{small} {large}");
    }
}
