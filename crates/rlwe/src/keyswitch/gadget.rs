//! The gadget: how a polynomial is decomposed into digits at one modulus.

use hippocrene_ring::{arith::mul_mod, convert::BaseConverter, elementwise::Scalar, ntt::InverseFactor};

use crate::{Context, Modulus};

/// The constants of the decomposition of polynomials modulo one `Q`.
#[derive(Debug)]
pub(crate) struct Decomposition {
    /// The digits that are left at this modulus.
    pub(crate) digits: Vec<Digit>,
    /// For each limb of `Q`: the factor `(D/q)^{-1}` for its inverse transform, `D` the digit it belongs to.
    pub(crate) inputs: Vec<InverseFactor>,
    /// For each limb of `Q`: the product `P` of the specials.
    pub(crate) specials: Vec<Scalar>,
}

/// One digit: the residues modulo a divisor `D` of `Q`, extended to the other factors of `PQ`.
#[derive(Debug)]
pub(crate) struct Digit {
    /// Its index in switching keys.
    pub(crate) index: usize,
    /// `D`.
    pub(crate) factors: Modulus,
    /// The other factors of `PQ`.
    pub(crate) others: Modulus,
    /// From the factors of `D` to the others.
    pub(crate) converter: BaseConverter,
}

impl Decomposition {
    pub(crate) fn new(context: &Context, modulus: Modulus) -> Self {
        let parameters = context.parameters();
        let extended = modulus.lcm(parameters.specials());
        let digits: Vec<Digit> = parameters
            .digits(modulus)
            .map(|(index, factors)| {
                let others = extended.without(factors);
                let converter = BaseConverter::new(
                    &parameters.limb_moduli(factors),
                    &parameters.limb_moduli(others),
                    context.kernel(),
                );
                Digit { index, factors, others, converter }
            })
            .collect();
        let inputs = modulus
            .factors()
            .map(|i| {
                let digit = digits.iter().find(|d| d.factors.contains(i)).expect("digits cover the modulus");
                let factor = digit.converter.input_factor(digit.factors.limb_of(i));
                context.ring(i).ntt().inverse_factor(factor)
            })
            .collect();
        let specials = context
            .rings(modulus)
            .map(|ring| {
                let q = ring.modulus();
                let factors = parameters.specials().factors();
                ring.scalar(factors.fold(1, |p, i| mul_mod(p, parameters.factor(i) % q, q)))
            })
            .collect();
        Decomposition { digits, inputs, specials }
    }
}
