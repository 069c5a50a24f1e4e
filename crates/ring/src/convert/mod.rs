//! Base conversion: residues of a number modulo some moduli, from its residues modulo others.
//!
//! For moduli `q_0 .. q_{l-1}` with product `D`, `x = sum_i y_i (D/q_i) mod D` with `y_i = x_i (D/q_i)^{-1} mod q_i`
//! (Chinese remainder theorem). Callers fold the factor `(D/q_i)^{-1}` into the transform that goes before.

use crate::{
    Kernel,
    arith::{add_mod, inv_mod, mul_mod, neg_mod},
};

/// Converts from the moduli `q_0 .. q_{l-1}` to the moduli `p_0 .. p_{k-1}`.
#[derive(Debug, Clone)]
pub struct BaseConverter {
    from: Vec<u64>,
    to: Vec<u64>,
    /// `(D/q_i)^{-1} mod q_i`.
    factors: Vec<u64>,
    /// `D/q_i mod p_j` at `[j][i]`.
    weights: Vec<Vec<u64>>,
    /// `D mod p_j`.
    products: Vec<u64>,
    /// `-sum_i floor(q_i/2) (D/q_i) mod p_j`.
    offsets: Vec<u64>,
}

impl BaseConverter {
    /// The moduli of `from` are pairwise coprime; all are in `[2, 2^61)`.
    ///
    /// # Panics
    /// When two moduli of `from` share a factor.
    pub fn new(from: &[u64], to: &[u64], kernel: Kernel) -> Self {
        let _ = kernel;
        let others = |i: usize, m: u64| {
            from.iter().enumerate().filter(|(k, _)| *k != i).fold(1 % m, |acc, (_, q)| mul_mod(acc, q % m, m))
        };
        let factors = (0..from.len())
            .map(|i| inv_mod(others(i, from[i]), from[i]).expect("the moduli of a basis are coprime"))
            .collect();
        let weights: Vec<Vec<u64>> =
            to.iter().map(|&p| (0..from.len()).map(|i| others(i, p)).collect()).collect();
        let products = to.iter().map(|&p| from.iter().fold(1 % p, |acc, q| mul_mod(acc, q % p, p))).collect();
        let offsets = to
            .iter()
            .zip(&weights)
            .map(|(&p, w)| {
                let sum =
                    w.iter().zip(from).fold(0, |acc, (w, q)| add_mod(acc, mul_mod(*w, (q / 2) % p, p), p));
                neg_mod(sum, p)
            })
            .collect();
        BaseConverter { from: from.to_vec(), to: to.to_vec(), factors, weights, products, offsets }
    }

    /// `(D/q_i)^{-1} mod q_i`: the factor by which limb `i` has to be multiplied before it is converted.
    pub fn input_factor(&self, i: usize) -> u64 {
        self.factors[i]
    }

    /// Multiplies each limb by its [`BaseConverter::input_factor`].
    pub fn scale_inputs(&self, x: &mut [&mut [u64]]) {
        for (i, limb) in x.iter_mut().enumerate() {
            limb.iter_mut().for_each(|x| *x = mul_mod(*x, self.factors[i], self.from[i]));
        }
    }

    /// The fast conversion. From `y_i` in `[0, q_i)` (already multiplied by the input factors) to `out_j` in `[0, 2 p_j)`,
    /// congruent modulo `p_j` to `x + u D` with `|u| <= l/2`: the sum of the centred `y_i` times `D/q_i`, without the final
    /// reduction modulo `D`. For uniform `x` it has mean 0 and variance `l D^2 / 12`.
    pub fn convert(&self, out: &mut [&mut [u64]], y: &[&[u64]]) {
        for (j, out) in out.iter_mut().enumerate() {
            let p = self.to[j];
            for (at, o) in out.iter_mut().enumerate() {
                *o = y.iter().enumerate().fold(self.offsets[j], |acc, (i, y)| {
                    let shifted = add_mod(y[at], self.from[i] / 2, self.from[i]);
                    add_mod(acc, mul_mod(shifted, self.weights[j][i], p), p)
                });
            }
        }
    }

    /// The exact conversion. From `y_i` in `[0, q_i)` (already multiplied by the input factors) to `out_j` in `[0, 2 p_j)`,
    /// congruent modulo `p_j` to the representative of `x` in `[-D/2, D/2)`. The quotient by `D` is found in floating point:
    /// it is off by one only where `x/D` is within `l 2^-51` of one half.
    pub fn convert_exact(&self, out: &mut [&mut [u64]], y: &[&[u64]]) {
        let n = y.first().map_or(0, |y| y.len());
        for at in 0..n {
            let sum: f64 = y.iter().zip(&self.from).map(|(y, &q)| y[at] as f64 / q as f64).sum();
            let quotient = sum.round() as u64;
            for (j, out) in out.iter_mut().enumerate() {
                let p = self.to[j];
                let value = y
                    .iter()
                    .zip(&self.weights[j])
                    .fold(0, |acc, (y, w)| add_mod(acc, mul_mod(y[at], *w, p), p));
                out[at] = add_mod(value, neg_mod(mul_mod(quotient, self.products[j], p), p), p);
            }
        }
    }
}
