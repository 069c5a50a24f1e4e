//! Gadgets: how one key serves key switches at every modulus.

use std::ops::Range;

use hippocrene_ring::sample::SIGMA;

use super::components::Components;
use crate::{
    Modulus, Parameters, RlweError,
    noise::{self, Noise},
};

/// A gadget: how polynomials modulo one `Q` are decomposed, and the special modulus of their
/// products with a switching key.
///
/// This is the gadget toolkit of LAKS, chosen by the evaluator ([`Parameters::gadget`]).
///
/// The base key has one component for each block of `Q_max` ([`Parameters::digits`]). The sum of
/// the components of some blocks is a component for the product of these blocks (LAKS 3.2). Larger
/// digits need a larger special modulus. Factors of `PQ_max` that `Q` does not have can be used for
/// it at no cost (LAKS 4.2).
///
/// See [`Operations`](crate::Operations) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gadget {
    group: usize,
    specials: Modulus,
    method: Method,
}

/// The method by which the inner products of digits with a key are computed. The results of both
/// methods are equal to the last bit.
///
/// See [`Operations`](crate::Operations) for an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Modulo each factor of `P'Q` (the single decomposition).
    Single,
    /// Over the integers, with the residues of the key modulo groups of factors of `PQ_max`. This
    /// is the double decomposition (Kim, Lee, Seo and Song, ePrint 2023/413; MG23 4). With many
    /// digits it needs fewer transforms, but larger keys, which are made on first use.
    Double {
        /// The number of groups of `PQ_max`, MG23's `omega~`: from 1 to the number of its limbs.
        groups: usize,
    },
}

impl Gadget {
    /// The number of blocks of the base key in each component, which is LAKS' digit length `r` in
    /// blocks. A block that is the sprout alone is never combined with others.
    pub fn group(&self) -> usize {
        self.group
    }

    /// The special modulus `P'`, a product of specials and of units that `Q` does not have.
    pub fn specials(&self) -> Modulus {
        self.specials
    }

    /// The method by which inner products with the key are computed.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Returns the gadget with the same digits and special modulus, and another method.
    #[must_use]
    pub fn with_method(self, method: Method) -> Self {
        Gadget { method, ..self }
    }
}

/// One digit of a gadget at a modulus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DigitShape {
    /// The groups of blocks whose components multiply the digit.
    pub(crate) groups: Vec<usize>,
    /// The divisor of `Q` that the digit is modulo.
    pub(crate) factors: Modulus,
}

/// The number of bits by which the noise of a gadget may exceed the maximum, since primes of one
/// size differ. Chosen.
const NOISE_TOLERANCE_BITS: f64 = 0.1;

impl Parameters {
    /// The gadget of the unchanged base key, with single blocks as components and all specials.
    pub fn base_gadget(&self) -> Gadget {
        Gadget { group: 1, specials: self.specials(), method: Method::Single }
    }

    /// The maximum noise that a key switch may add before the final rounding, at any modulus and
    /// with any gadget.
    ///
    /// This is the noise of the base gadget at `Q_max` if its digits, of `l` limbs each, were
    /// extended by fast base conversion (HK20). Their variance would then be `l D^2 / 12`. In fact,
    /// digits are extended exactly. The difference allows larger digits at other moduli.
    pub fn largest_switching_noise(&self) -> Noise {
        let digits = self.digits(self.top());
        let digits = digits.map(|(_, d)| self.log2(d) + 0.5 * (d.limb_count() as f64).log2());
        noise::inner_product(self.degree(), SIGMA, digits).scaled(-self.log2(self.specials()))
    }

    /// Returns the gadget at `modulus` with `group` blocks of the base key in each component, if
    /// there is one.
    ///
    /// Its special modulus is the smallest whose noise does not exceed
    /// [`Parameters::largest_switching_noise`]. It consists of specials and, if these are not
    /// enough, of units from the last one on. These units are neither in `modulus` nor in a group
    /// of blocks that shares a factor with it, so that the component of that group is 0 modulo
    /// `P'`. The method is the single decomposition.
    pub fn gadget(&self, modulus: Modulus, group: usize) -> Option<Gadget> {
        self.gadget_within(modulus, group, self.full())
    }

    /// Returns the gadget of [`Parameters::gadget`] for a key modulo `key`, a multiple of
    /// `modulus`. Its special modulus consists of factors of `key`.
    pub fn gadget_within(&self, modulus: Modulus, group: usize, key: Modulus) -> Option<Gadget> {
        if group == 0 || !modulus.divides(key) {
            return None;
        }
        let overlapping = self.groups(group).map(|blocks| self.product_of_blocks(blocks));
        let overlapping = overlapping
            .filter(|whole| !whole.gcd(modulus).is_one())
            .fold(Modulus::ONE, Modulus::lcm);
        let free = Modulus::of_range(0..self.unit_count()).without(overlapping).gcd(key);
        let noise = self.gadget_noise(modulus, group, self.full());
        let limit = self.largest_switching_noise().log2_std() + NOISE_TOLERANCE_BITS;
        let mut specials = Modulus::ONE;
        for position in self.specials().gcd(key).factors().chain(free.factors().rev()) {
            specials = specials.lcm(Modulus::of_factor(position));
            if noise.scaled(-self.log2(specials)).log2_std() <= limit {
                return Some(Gadget { group, specials, method: Method::Single });
            }
        }
        None
    }

    /// Returns the gadgets at `modulus` that the planner considers.
    ///
    /// Their groups have 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, .. blocks, which is a power of two
    /// times 1, 3 or 5, or all blocks. A gadget with the same digits and special modulus as one
    /// with smaller groups is left out. The keys expanded for all of these sizes together need
    /// about twice the memory of the base key.
    pub fn gadgets(&self, modulus: Modulus) -> Vec<Gadget> {
        self.gadgets_within(modulus, self.full())
    }

    /// Returns the gadgets of [`Parameters::gadgets`] for a key modulo `key`.
    pub fn gadgets_within(&self, modulus: Modulus, key: Modulus) -> Vec<Gadget> {
        let mut gadgets: Vec<Gadget> = self
            .group_sizes()
            .filter_map(|group| self.gadget_within(modulus, group, key))
            .collect();
        let digits = |gadget: &Gadget| {
            self.digit_shapes(modulus, gadget.group).into_iter().map(|shape| shape.factors)
        };
        gadgets.dedup_by(|b, a| a.specials == b.specials && digits(a).eq(digits(b)));
        gadgets
    }

    /// The sizes of groups that the planner considers.
    fn group_sizes(&self) -> impl Iterator<Item = usize> {
        let count = self.digits(self.top()).count();
        let offered = move |size: &usize| {
            matches!(size >> size.trailing_zeros(), 1 | 3 | 5) || *size == count
        };
        (1..=count).filter(offered)
    }

    /// The modulus `P'Q` of a key for ciphertexts modulo `modulus = Q` and its divisors.
    ///
    /// `P'` has the fewest specials for which, at all these moduli, the number of digits is minimal
    /// and the noise does not exceed [`Parameters::largest_switching_noise`]. Near `Q_max` these
    /// are all specials. For smaller moduli fewer are enough, because no digit is larger than `Q`.
    ///
    /// # Panics
    /// Panics if `modulus` does not divide `PQ_max`.
    pub fn key_modulus(&self, modulus: Modulus) -> Modulus {
        let limit = self.largest_switching_noise().log2_std() + NOISE_TOLERANCE_BITS;
        let choices = self.group_sizes().filter_map(|group| {
            let wholes =
                self.groups(group).map(|blocks| (blocks.len(), self.product_of_blocks(blocks)));
            let cap = wholes.clone().map(|(_, whole)| self.log2(whole)).fold(0.0, f64::max);
            let overlapping = wholes.filter(|(_, whole)| !whole.gcd(modulus).is_one());
            // At some divisor every digit may be as large as `cap`, because the remaining parts of
            // groups are merged.
            let components = overlapping.map(|(blocks, _)| blocks).sum();
            let digits = std::iter::repeat_n(cap.min(self.log2(modulus)), components);
            let noise = noise::inner_product(self.degree(), SIGMA, digits);
            let enough =
                |specials: &Modulus| noise.scaled(-self.log2(*specials)).log2_std() <= limit;
            let (first, max_specials) = (self.unit_count(), self.specials().limb_count());
            let specials =
                (1..=max_specials).map(|n| Modulus::of_range(first..first + n)).find(enough)?;
            Some((self.digit_shapes(modulus, group).len(), specials))
        });
        let best = choices.min_by_key(|(digits, specials)| (*digits, specials.limb_count()));
        modulus.lcm(best.map_or(self.specials(), |(_, specials)| specials))
    }

    /// Checks that keys modulo `modulus` are possible. It must divide `PQ_max` and share factors
    /// with `Q_max` and with the specials.
    ///
    /// # Errors
    /// Returns [`RlweError::Modulus`] if it does not.
    pub fn check_key_modulus(&self, modulus: Modulus) -> Result<(), RlweError> {
        let none = |of: Modulus| of.gcd(modulus).is_one();
        if !modulus.divides(self.full()) || none(self.top()) || none(self.specials()) {
            let need = "a divisor of PQ_max with factors of Q_max and of the specials is needed";
            return Err(RlweError::Modulus {
                operation: "make keys",
                have: modulus.limb_count(),
                need,
            });
        }
        Ok(())
    }

    /// The blocks for which keys modulo `modulus` have components.
    pub(crate) fn key_components(&self, modulus: Modulus) -> Components {
        Components::of(modulus, (0..self.digits(self.top()).count()).map(|d| self.block(d)))
    }

    /// True if keys can be switched at `modulus` with this gadget. Its special modulus must consist
    /// of specials and of units that the rule of [`Parameters::gadget`] leaves free, and must be
    /// large enough for the noise.
    pub(crate) fn has_gadget(&self, modulus: Modulus, gadget: Gadget) -> bool {
        let key = modulus.lcm(gadget.specials);
        let single = gadget.with_method(Method::Single);
        single == self.base_gadget()
            || self.gadget_within(modulus, gadget.group, key) == Some(single)
    }

    /// The blocks of each component of the gadgets with `group` blocks in a component.
    pub(crate) fn groups(&self, group: usize) -> impl Iterator<Item = Range<usize>> + Clone {
        let count = self.digits(self.top()).count();
        let alone = usize::from(self.block(0).words().is_one()).min(count);
        let rest = (alone..count)
            .step_by(group.max(1))
            .map(move |first| first..(first + group).min(count));
        (alone > 0).then_some(0..alone).into_iter().chain(rest)
    }

    /// The product of these blocks.
    pub(crate) fn product_of_blocks(&self, blocks: Range<usize>) -> Modulus {
        blocks.map(|block| self.block(block)).fold(Modulus::ONE, Modulus::lcm)
    }

    /// The digits of the gadgets with `group` blocks in each component, at `modulus`.
    ///
    /// Groups that share only some of their factors with `modulus` are merged, as long as the
    /// product is not larger than the largest group. Each of these parts is merged with the first
    /// digit that has room for it. The merged digit is then multiplied by the component of each of
    /// its groups. If `modulus` has a small divisor of the sprout, the sprout's digit is usually
    /// merged with that of the last units.
    pub(crate) fn digit_shapes(&self, modulus: Modulus, group: usize) -> Vec<DigitShape> {
        let wholes = || self.groups(group).map(|blocks| self.product_of_blocks(blocks));
        let cap = wholes().map(|whole| self.log2(whole)).fold(0.0, f64::max) + 1e-6;
        let mut shapes: Vec<DigitShape> = Vec::new();
        for (index, factors) in wholes().map(|whole| whole.gcd(modulus)).enumerate() {
            if factors.is_one() {
                continue;
            }
            let fits = |shape: &&mut DigitShape| self.log2(shape.factors.lcm(factors)) <= cap;
            match shapes.iter_mut().find(fits) {
                Some(shape) => {
                    shape.groups.push(index);
                    shape.factors = shape.factors.lcm(factors);
                }
                None => shapes.push(DigitShape { groups: vec![index], factors }),
            }
        }
        shapes
    }

    /// Returns the noise of inner products of digits with a key modulo `key`, before the division
    /// by `P'`.
    ///
    /// The errors of the components of all blocks of a group add up (LAKS 4.3). There is a
    /// component for each block that shares a factor with `key`.
    pub(crate) fn gadget_noise(&self, modulus: Modulus, group: usize, key: Modulus) -> Noise {
        let has_component = |block: &usize| !self.block(*block).gcd(key).is_one();
        let blocks: Vec<usize> =
            self.groups(group).map(|blocks| blocks.filter(has_component).count()).collect();
        let shapes = self.digit_shapes(modulus, group);
        let digits = shapes.iter().flat_map(|shape| {
            let size = self.log2(shape.factors);
            let components: usize = shape.groups.iter().map(|g| blocks[*g]).sum();
            std::iter::repeat_n(size, components)
        });
        noise::inner_product(self.degree(), SIGMA, digits)
    }
}
