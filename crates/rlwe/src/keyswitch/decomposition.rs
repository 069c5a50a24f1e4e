//! The constants of one gadget at one modulus.

use hippocrene_ring::{
    arith::{inv_mod, mul_mod},
    convert::BaseConverter,
    elementwise::Scalar,
    ntt::InverseFactor,
};

use super::{double::Double, gadget::Gadget};
use crate::{Context, Modulus, RlweError};

/// The constants of the decomposition of polynomials modulo one `Q` by one [`Gadget`].
#[derive(Debug)]
pub(crate) struct Decomposition {
    pub(crate) gadget: Gadget,
    /// `P'Q`.
    pub(crate) extended: Modulus,
    /// The digits that are left at this modulus.
    pub(crate) digits: Vec<Digit>,
    /// For each limb of `Q`: `(D/q)^{-1} P'/P` with `D` the digit it belongs to, for its inverse
    /// transform and on its own.
    pub(crate) inputs: Vec<(InverseFactor, Scalar)>,
    /// For each limb of `Q`: `P'/P`, by which the polynomial is multiplied; nothing if that is 1.
    pub(crate) factors: Option<Vec<Scalar>>,
    /// For each limb of `Q`: the special modulus `P'`.
    pub(crate) specials: Vec<Scalar>,
    /// What the double decomposition needs beside, if that is the method.
    pub(crate) double: Option<Double>,
}

/// One digit: the residues of `(P'/P) c` modulo a divisor `D` of `Q`, extended to the other
/// positions of `P'Q`.
#[derive(Debug)]
pub(crate) struct Digit {
    /// The components of the base key that it is multiplied by.
    pub(crate) blocks: Vec<usize>,
    /// The components of the coalesced key.
    pub(crate) groups: Vec<usize>,
    /// `D`, which has its positions to itself.
    pub(crate) factors: Modulus,
    /// `P'Q/D`: the other positions.
    pub(crate) others: Modulus,
    /// From the limbs of `D` to the others.
    pub(crate) converter: BaseConverter,
    /// How many of the digits before it have one limb, if it has one; if it has several, how many
    /// of these have several.
    rank: usize,
}

impl Digit {
    /// Whether `D` is one limb: then nothing is gained by converting it to several positions at
    /// once.
    pub(crate) fn has_one_limb(&self) -> bool {
        self.factors.limb_count() == 1
    }
}

impl Decomposition {
    /// How many digits have several limbs, which are extended to several positions at once.
    pub(crate) fn wide_digits(&self) -> usize {
        self.digits.iter().filter(|digit| !digit.has_one_limb()).count()
    }

    /// Limbs of scratch memory to extend the digits to so many positions: those with several limbs
    /// at all of these at once, those with one limb at one position after the other in the same
    /// place, which stays in the cache.
    pub(crate) fn scratch_limbs(&self, positions: usize) -> usize {
        let wide = self.wide_digits();
        wide * positions + self.digits.len() - wide
    }

    /// The limb of that memory that has the digit `d` at the `i`-th of so many positions.
    pub(crate) fn scratch_limb(&self, d: usize, positions: usize, i: usize) -> usize {
        let digit = &self.digits[d];
        match digit.has_one_limb() {
            true => self.wide_digits() * positions + digit.rank,
            false => digit.rank * positions + i,
        }
    }

    pub(crate) fn new(
        context: &Context,
        modulus: Modulus,
        gadget: Gadget,
    ) -> Result<Self, RlweError> {
        let parameters = context.parameters();
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
                    context.kernel(),
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
                let ring = context.ring_at(modulus, position);
                // Without specials there are no digits, and no factors for them.
                let digit = digits.iter().find(|digit| digit.factors.contains(position));
                let input =
                    digit.map_or(1, |d| d.converter.input_factor(d.factors.limb_of(position)));
                let input = mul_mod(input, factor(ring.modulus()), ring.modulus());
                (ring.ntt().inverse_factor(input), ring.scalar(input))
            })
            .collect();
        let scalars = |value: &dyn Fn(u64) -> u64| -> Vec<Scalar> {
            context.rings(modulus).map(|ring| ring.scalar(value(ring.modulus()))).collect()
        };
        let same = gadget.specials() == parameters.specials();
        Ok(Decomposition {
            gadget,
            extended,
            inputs,
            factors: (!same).then(|| scalars(&factor)),
            specials: scalars(&|q| parameters.residue(gadget.specials(), q)),
            double: Double::new(context, modulus, gadget, &digits)?,
            digits,
        })
    }
}
