//! The constants of one gadget at one modulus.

use hippocrene_ring::{
    arith::{inv_mod, mul_mod},
    convert::BaseConverter,
    elementwise::Scalar,
    ntt::InverseFactor,
};

use super::{digit::Digit, double::Double, gadget::Gadget};
use crate::{Modulus, RlweError, rings::Rings};

/// The constants of the decomposition of polynomials modulo one `Q` by one [`Gadget`].
#[derive(Debug)]
pub(crate) struct Decomposition {
    pub(crate) gadget: Gadget,
    /// The modulus `P'Q`.
    pub(crate) extended: Modulus,
    /// The digits at this modulus.
    pub(crate) digits: Vec<Digit>,
    /// For each limb of `Q`: `(D/q)^{-1} P'/P`, where `D` is its digit. One form is for the inverse
    /// transform, the other for a separate multiplication.
    pub(crate) inputs: Vec<(InverseFactor, Scalar)>,
    /// For each limb of `Q`: `P'/P`, the factor of the polynomial, or `None` if it is 1.
    pub(crate) factors: Option<Vec<Scalar>>,
    /// For each limb of `Q`: the special modulus `P'`.
    pub(crate) specials: Vec<Scalar>,
    /// The further constants of the double decomposition, if that is the method.
    pub(crate) double: Option<Double>,
}

impl Decomposition {
    /// The number of digits with several limbs, which are extended to several positions at once.
    pub(crate) fn wide_digits(&self) -> usize {
        self.digits.iter().filter(|digit| !digit.has_one_limb()).count()
    }

    /// The number of limbs of scratch memory that extending the digits to `positions` positions
    /// needs.
    ///
    /// A digit with several limbs is extended to all positions at once. A digit with one limb is
    /// extended to one position after the other in the same place, which stays in the cache.
    pub(crate) fn scratch_limbs(&self, positions: usize) -> usize {
        let wide = self.wide_digits();
        wide * positions + self.digits.len() - wide
    }

    /// The limb of that memory that holds digit `d` at the `i`-th of `positions` positions.
    pub(crate) fn scratch_limb(&self, d: usize, positions: usize, i: usize) -> usize {
        let digit = &self.digits[d];
        match digit.has_one_limb() {
            true => self.wide_digits() * positions + digit.rank,
            false => digit.rank * positions + i,
        }
    }

    /// Computes the constants for polynomials modulo `modulus` and `gadget`.
    pub(crate) fn new(rings: &Rings, modulus: Modulus, gadget: Gadget) -> Result<Self, RlweError> {
        let parameters = rings.parameters();
        let extended = modulus.lcm(gadget.specials());
        let groups: Vec<_> = parameters.groups(gadget.group()).collect();
        let mut ranks = [0; 2];
        let digits: Vec<Digit> = parameters
            .digit_shapes(modulus, gadget.group())
            .into_iter()
            .map(|shape| {
                let others = extended.without(shape.factors);
                let converter = BaseConverter::new(
                    &parameters.limb_moduli(shape.factors),
                    &parameters.limb_moduli(others),
                    rings.kernel(),
                );
                let blocks = shape.groups.iter().flat_map(|g| groups[*g].clone()).collect();
                let rank = &mut ranks[usize::from(shape.factors.limb_count() == 1)];
                *rank += 1;
                Digit {
                    blocks,
                    groups: shape.groups,
                    factors: shape.factors,
                    others,
                    converter,
                    rank: *rank - 1,
                }
            })
            .collect();
        let (grown, left_out) = (
            gadget.specials().without(parameters.specials()),
            parameters.specials().without(gadget.specials()),
        );
        let factor = |q: u64| {
            let inverse = inv_mod(parameters.residue(left_out, q), q);
            mul_mod(
                parameters.residue(grown, q),
                inverse.expect("specials are coprime to units and sprout"),
                q,
            )
        };
        let inputs = modulus
            .factors()
            .map(|position| {
                let ring = rings.at(modulus, position);
                // Without specials there are no digits, and no factors for them.
                let digit = digits.iter().find(|digit| digit.factors.contains(position));
                let input =
                    digit.map_or(1, |d| d.converter.input_factor(d.factors.limb_of(position)));
                let input = mul_mod(input, factor(ring.modulus()), ring.modulus());
                (ring.inverse_factor(input), ring.scalar(input))
            })
            .collect();
        let scalars = |value: &dyn Fn(u64) -> u64| -> Vec<Scalar> {
            rings.of(modulus).map(|ring| ring.scalar(value(ring.modulus()))).collect()
        };
        let same = gadget.specials() == parameters.specials();
        Ok(Decomposition {
            gadget,
            extended,
            inputs,
            factors: (!same).then(|| scalars(&factor)),
            specials: scalars(&|q| parameters.residue(gadget.specials(), q)),
            double: Double::new(rings, modulus, gadget, &digits)?,
            digits,
        })
    }
}
