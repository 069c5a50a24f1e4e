//! Multi-precision interpolation, from values at nodes to coefficients in the Chebyshev basis.

use crate::{big_float::Inner, double_double::DoubleDouble};

/// Returns `x` with `bits` bits.
pub(super) fn many_bits(x: f64, bits: usize) -> Inner {
    // Every finite value is exact.
    Inner::try_from(x).unwrap_or(Inner::ZERO).with_precision(bits).value()
}

/// Returns the coefficients, in the Chebyshev basis of `[-reach, reach]`, of the polynomial that
/// takes `values` at `nodes`, which are all different.
///
/// It computes Newton's divided differences and applies Horner's rule to them, where `y T_k(y) =
/// (T_(k+1)(y) + T_(k-1)(y)) / 2`. Nodes that are close together lose many bits, so `values` and
/// `bits` need that much additional precision.
pub(super) fn interpolate(
    nodes: &[f64],
    values: Vec<Inner>,
    reach: f64,
    bits: usize,
) -> Vec<Inner> {
    let nodes: Vec<Inner> = nodes.iter().map(|x| many_bits(*x, bits)).collect();
    let mut differences = values;
    for k in 1..nodes.len() {
        for i in (k..nodes.len()).rev() {
            differences[i] = (&differences[i] - &differences[i - 1]) / (&nodes[i] - &nodes[i - k]);
        }
    }
    let half = many_bits(0.5 * reach, bits);
    let mut out: Vec<Inner> = Vec::with_capacity(nodes.len());
    for (node, difference) in nodes.iter().zip(differences).rev() {
        let mut next = vec![many_bits(0.0, bits); out.len() + 1];
        for (k, c) in out.iter().enumerate() {
            next[k] -= c * node;
            let product = c * &half;
            if k == 0 {
                next[1] += &product;
                next[1] += product;
            } else {
                next[k - 1] += &product;
                next[k + 1] += product;
            }
        }
        next[0] += difference;
        out = next;
    }
    out
}

/// Returns the value at `y` in `[-1, 1]` of a sum of Chebyshev polynomials (Clenshaw).
pub(super) fn evaluate(coefficients: &[Inner], y: &Inner, bits: usize) -> Inner {
    let twice = y * many_bits(2.0, bits);
    let (mut b1, mut b2) = (many_bits(0.0, bits), many_bits(0.0, bits));
    for c in coefficients[1..].iter().rev() {
        let next = &twice * &b1 - b2 + c;
        b2 = std::mem::replace(&mut b1, next);
    }
    y * b1 - b2 + &coefficients[0]
}

/// Like [`evaluate`], in numbers of 106 bits. With coefficients `c_0 .. c_n`, the error of the
/// result is at most `n^2 sum |c_i| 2^-100`.
pub(super) fn evaluate_in_pairs(coefficients: &[DoubleDouble], y: DoubleDouble) -> DoubleDouble {
    let twice = y.add(y);
    let (mut b1, mut b2) = (DoubleDouble::from(0.0), DoubleDouble::from(0.0));
    for c in coefficients[1..].iter().rev() {
        let next = twice.mul(b1).sub(b2).add(*c);
        (b1, b2) = (next, b1);
    }
    y.mul(b1).sub(b2).add(coefficients[0])
}
