//! The moduli that are converted from, with the constants that are independent of the target.

use crate::{
    Kernel,
    arith::{inv_mod, mul_mod},
    elementwise::{Elementwise, Scalar},
};

/// One modulus `q` of the source.
#[derive(Debug, Clone)]
pub(super) struct Input {
    /// The modulus.
    pub q: u64,
    /// `floor(q/2)`.
    pub half: u64,
    /// `1/q`, rounded.
    pub reciprocal: f64,
    /// `(D/q)^{-1} mod q`.
    pub factor: u64,
    /// The factor, prepared for a kernel. It is `None` for even `q`, which kernels do not support.
    prepared: Option<(Elementwise, Scalar)>,
}

impl Input {
    /// Multiplies a limb by the factor.
    pub fn scale(&self, limb: &mut [u64]) {
        match &self.prepared {
            Some((elementwise, factor)) => elementwise.mul_scalar_assign(limb, factor),
            None => limb.iter_mut().for_each(|x| *x = mul_mod(*x, self.factor, self.q)),
        }
    }
}

/// The moduli `q_0 .. q_{l-1}` and their product `D`.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub inputs: Vec<Input>,
}

impl Source {
    pub fn new(moduli: &[u64], kernel: Kernel) -> Self {
        let inputs = moduli
            .iter()
            .enumerate()
            .map(|(i, &q)| {
                assert!((2..1 << 61).contains(&q), "the modulus {q} is not in [2, 2^61)");
                let factor =
                    inv_mod(others(moduli, i, q), q).expect("two moduli of a basis share a factor");
                let prepared = (q % 2 == 1).then(|| {
                    let elementwise = Elementwise::new(q, kernel);
                    let factor = elementwise.scalar(factor);
                    (elementwise, factor)
                });
                Input { q, half: q / 2, reciprocal: 1.0 / q as f64, factor, prepared }
            })
            .collect();
        Source { inputs }
    }

    /// Returns `c D/q_i mod p` for every `i`, for the target `(p, c)`.
    pub fn weights(&self, (p, c): (u64, u64)) -> impl Iterator<Item = u64> {
        let moduli: Vec<u64> = self.inputs.iter().map(|input| input.q).collect();
        (0..moduli.len()).map(move |i| mul_mod(others(&moduli, i, p), c, p))
    }

    /// Returns `-c D mod p`.
    pub fn negative_product(&self, (p, c): (u64, u64)) -> u64 {
        self.inputs.iter().fold((p - c) % p, |acc, input| mul_mod(acc, input.q % p, p))
    }

    /// Returns `-c sum_i floor(q_i/2) (D/q_i) mod p`, which undoes the shift that centres the
    /// inputs.
    pub fn offset(&self, (p, c): (u64, u64)) -> u64 {
        let weights = self.weights((p, c)).zip(&self.inputs);
        let terms = weights.map(|(w, input)| u128::from(mul_mod(w, input.half % p, p)));
        (u128::from(p) - terms.sum::<u128>() % u128::from(p)) as u64 % p
    }
}

/// Returns the product of all `moduli` except that with index `i`, modulo `m`.
fn others(moduli: &[u64], i: usize, m: u64) -> u64 {
    moduli
        .iter()
        .enumerate()
        .filter(|(k, _)| *k != i)
        .fold(1 % m, |acc, (_, q)| mul_mod(acc, q % m, m))
}
