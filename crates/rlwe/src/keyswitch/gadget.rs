//! The gadget: how a polynomial is decomposed into digits at one modulus.

use hippocrene_ring::{convert::BaseConverter, elementwise::Scalar, ntt::InverseFactor, sample::SIGMA};

use crate::{
    Context, Modulus,
    noise::{self, Noise},
};

/// The constants of the decomposition of polynomials modulo one `Q`.
#[derive(Debug)]
pub(crate) struct Decomposition {
    /// `PQ`.
    pub(crate) extended: Modulus,
    /// The digits that are left at this modulus.
    pub(crate) digits: Vec<Digit>,
    /// The noise of inner products of the digits with keys whose errors have the standard deviation [`SIGMA`].
    pub(crate) noise: Noise,
    /// For each limb of `Q`: the factor `(D/q)^{-1}` for its inverse transform, `D` the digit it belongs to.
    pub(crate) inputs: Vec<InverseFactor>,
    /// For each limb of `Q`: the product `P` of the specials.
    pub(crate) specials: Vec<Scalar>,
}

/// One digit: the residues modulo a divisor `D` of `Q`, extended to the other positions of `PQ`.
#[derive(Debug)]
pub(crate) struct Digit {
    /// The indices of its parts in switching keys.
    pub(crate) indices: Vec<usize>,
    /// `D`, which has its positions to itself.
    pub(crate) factors: Modulus,
    /// `PQ/D`: the other positions.
    pub(crate) others: Modulus,
    /// From the limbs of `D` to the others.
    pub(crate) converter: BaseConverter,
}

impl Decomposition {
    pub(crate) fn new(context: &Context, modulus: Modulus) -> Self {
        let parameters = context.parameters();
        let extended = modulus.lcm(parameters.specials());
        let digits: Vec<Digit> = parameters
            .merged_digits(modulus)
            .into_iter()
            .map(|(indices, factors)| {
                let others = extended.without(factors);
                let converter = BaseConverter::new(
                    &parameters.limb_moduli(factors),
                    &parameters.limb_moduli(others),
                    context.kernel(),
                );
                Digit { indices, factors, others, converter }
            })
            .collect();
        // Each part of a merged digit has a key with an error of its own.
        let sizes = digits.iter().flat_map(|digit| {
            let size = (parameters.log2(digit.factors), digit.factors.limb_count());
            digit.indices.iter().map(move |_| size)
        });
        let noise = noise::inner_product(context.degree(), SIGMA, sizes);
        let inputs = modulus
            .factors()
            .map(|position| {
                // Without specials there are no digits, and no factors for them.
                let digit = digits.iter().find(|digit| digit.factors.contains(position));
                let factor = digit.map_or(1, |d| d.converter.input_factor(d.factors.limb_of(position)));
                context.ring_at(modulus, position).ntt().inverse_factor(factor)
            })
            .collect();
        let specials = context
            .rings(modulus)
            .map(|ring| ring.scalar(parameters.residue(parameters.specials(), ring.modulus())))
            .collect();
        Decomposition { extended, digits, noise, inputs, specials }
    }
}
