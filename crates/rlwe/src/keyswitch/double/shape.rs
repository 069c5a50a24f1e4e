//! The sizes of a double decomposition: the groups of the key, and the number of primes of the
//! shared basis.

use arrayvec::ArrayVec;

use crate::{
    Modulus, Parameters,
    keyswitch::gadget::{Gadget, Method},
    modulus::MAX_LIMBS,
};

/// The number of bits of the primes of the shared basis. All kernels are fastest for 48 bits.
pub(super) const PRIME_BITS: u32 = 48;

/// An upper bound of the primes of the shared basis.
pub(in crate::keyswitch) const LARGEST_PRIME: u64 = (1 << PRIME_BITS) - 1;

/// A lower bound of log2 of the largest primes of [`PRIME_BITS`] bits.
const MIN_PRIME_LOG2: f64 = 47.99;

/// The number of bits by which sums stay below half of the shared basis. This is far more than each
/// of these effects: exact base conversion needs `l (l + 7) 2^-54` of the basis for `l` limbs,
/// digits may exceed one half by as little, and logarithms are rounded.
const SUM_MARGIN_BITS: f64 = 1e-6;

/// The cost of the product of a digit and a component of the key, which is read from memory, in
/// transforms. Measured at `N = 2^15` with IFMA.
const PRODUCT_COST_IN_TRANSFORMS: f64 = 0.4;
/// The cost of a pair of limbs of base conversion, in transforms. Measured at `N = 2^15` with IFMA.
const CONVERSION_PAIR_COST_IN_TRANSFORMS: f64 = 0.07;

/// The maximum factor by which a smaller key may cost more than the cheapest one, to be considered
/// too. Chosen.
const MAX_COST_FACTOR_FOR_SMALLER_KEY: f64 = 1.1;

/// The sizes of a double decomposition at one modulus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DoubleShape {
    /// The number `r` of primes of the shared basis that are needed.
    pub(crate) primes: usize,
    /// The groups of the key that share a factor with `P'Q`: the index of each group, and the
    /// common factor.
    pub(crate) groups: Vec<(usize, Modulus)>,
}

impl DoubleShape {
    /// The number of [`runs`] in which the limbs of `modulus` are converted from the shared basis.
    pub(in crate::keyswitch) fn run_count(&self, modulus: Modulus, size: usize) -> usize {
        let group = |position| self.groups.iter().position(|(_, group)| group.contains(position));
        runs(modulus, size, group).len()
    }
}

/// Splits the limbs of `modulus` into runs and returns the number of limbs of each.
///
/// A run consists of up to `size` neighbours that are in the same group, or in no group. The runs
/// of one group have about the same length.
pub(super) fn runs(
    modulus: Modulus,
    size: usize,
    group: impl Fn(usize) -> Option<usize>,
) -> ArrayVec<usize, MAX_LIMBS> {
    let groups: ArrayVec<Option<usize>, MAX_LIMBS> = modulus.factors().map(group).collect();
    let split = |neighbours: &[Option<usize>]| {
        let (limbs, count) = (neighbours.len(), neighbours.len().div_ceil(size));
        (0..count).map(move |i| (i + 1) * limbs / count - i * limbs / count)
    };
    groups.chunk_by(|a, b| a == b).flat_map(split).collect()
}

impl Parameters {
    /// Returns the gadgets at `modulus` with the double decomposition.
    ///
    /// For each of [`Parameters::gadgets`] there are up to two numbers of groups. The first is the
    /// one that costs least at `Q_max`, where transforms, products and base conversions have their
    /// measured weights (MG23 4.4). The second is the smallest one that costs at most 10 % more,
    /// because it makes keys smaller. The number of groups does not depend on the modulus, so that
    /// one key serves all moduli.
    pub fn double_gadgets(&self, modulus: Modulus) -> Vec<Gadget> {
        let gadgets = self.gadgets(modulus).into_iter();
        let with = |gadget: Gadget| {
            let choices = self.double_choices(gadget.group()).into_iter();
            choices.map(move |groups| gadget.with_method(Method::Double { groups }))
        };
        gadgets.flat_map(with).collect()
    }

    /// Returns the numbers of groups that the planner considers for gadgets with `group` blocks in
    /// each component.
    fn double_choices(&self, group: usize) -> Vec<usize> {
        let digits = self.digit_shapes(self.top(), group).len() as f64;
        let limbs = self.full().limb_count();
        let cost = |groups: usize| {
            let primes = self.key_primes(group, groups);
            let count = groups as f64;
            let each = digits
                + 2.0 * count
                + PRODUCT_COST_IN_TRANSFORMS * digits * count
                + CONVERSION_PAIR_COST_IN_TRANSFORMS * 3.0 * limbs as f64;
            (primes <= MAX_LIMBS).then_some((groups, each * primes as f64))
        };
        let choices: Vec<(usize, f64)> = (1..=limbs).filter_map(cost).collect();
        let Some(best) = choices.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else {
            return Vec::new();
        };
        let smaller =
            choices.iter().find(|choice| choice.1 <= best.1 * MAX_COST_FACTOR_FOR_SMALLER_KEY);
        let mut offered: Vec<usize> =
            [smaller, Some(best)].into_iter().flatten().map(|c| c.0).collect();
        offered.dedup();
        offered
    }

    /// Cuts `PQ_max` into at most `groups` groups of neighbours in `[specials, sprout, units]`,
    /// with about the same number of bits each.
    ///
    /// This is the second decomposition of keys. It is the same for all moduli.
    pub(super) fn key_groups(&self, groups: usize) -> Vec<Modulus> {
        let sprout = self.top().sprout();
        let sprout = [Modulus::of_sprout(sprout.odd(), 0), Modulus::of_sprout(0, sprout.two())];
        let units = (0..self.unit_count()).map(Modulus::of_factor);
        let factors = self.specials().factors().map(Modulus::of_factor).chain(sprout).chain(units);
        let total = self.log2(self.full());
        let mut cut = vec![Modulus::ONE; groups];
        let mut before = 0.0;
        for factor in factors {
            let bits = self.log2(factor);
            let middle = (before + bits / 2.0) / total * groups as f64;
            let place = (middle as usize).min(groups.saturating_sub(1));
            if let Some(group) = cut.get_mut(place) {
                *group = group.lcm(factor);
            }
            before += bits;
        }
        cut.retain(|group| !group.is_one());
        cut
    }

    /// Returns the number of primes that the product `E` of the shared basis needs.
    ///
    /// Each sum has `pairs` products of a digit below `2^digit` and a residue below `2^group`, both
    /// centred. So `pairs N (2^digit / 2) (2^group / 2) < E/2` must hold.
    fn primes(&self, pairs: usize, digit: f64, group: f64) -> usize {
        let bits = (pairs.max(1) as f64).log2() + f64::from(self.log_degree()) + digit + group
            - 1.0
            + SUM_MARGIN_BITS;
        (bits / MIN_PRIME_LOG2).ceil() as usize
    }

    /// Returns the number of primes that are enough at every modulus, which is also the number of
    /// primes of the key.
    pub(super) fn key_primes(&self, group: usize, groups: usize) -> usize {
        let wholes = || self.groups(group).map(|blocks| self.product_of_blocks(blocks));
        let digit = wholes().map(|whole| self.log2(whole)).fold(0.0, f64::max);
        let largest = self.key_groups(groups).into_iter().map(|g| self.log2(g)).fold(0.0, f64::max);
        self.primes(wholes().count(), digit + SUM_MARGIN_BITS, largest)
    }

    /// Returns the sizes for a gadget at `modulus`, or `None` if its method is the single
    /// decomposition or if its number of groups is impossible.
    pub(crate) fn double_shape(&self, modulus: Modulus, gadget: Gadget) -> Option<DoubleShape> {
        let Method::Double { groups } = gadget.method() else { return None };
        if groups == 0
            || groups > self.full().limb_count()
            || self.key_primes(gadget.group(), groups) > MAX_LIMBS
        {
            return None;
        }
        let extended = modulus.lcm(gadget.specials());
        let cut = self.key_groups(groups);
        let with_common_factor = |(i, group): (usize, &Modulus)| (i, group.gcd(extended));
        let groups: Vec<(usize, Modulus)> = cut
            .iter()
            .enumerate()
            .map(with_common_factor)
            .filter(|(_, factors)| !factors.is_one())
            .collect();
        let largest = groups.iter().map(|(i, _)| self.log2(cut[*i])).fold(0.0, f64::max);
        let digits = self.digit_shapes(modulus, gadget.group());
        let pairs = digits.iter().map(|digit| digit.groups.len()).sum();
        let digit = digits.iter().map(|digit| self.log2(digit.factors)).fold(0.0, f64::max);
        Some(DoubleShape { primes: self.primes(pairs, digit, largest), groups })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_of_one_group_and_about_one_length() {
        // Units 0 to 3 are in no group, 4 to 8 in the first, 9 to 11 in the second.
        let group =
            |position: usize| [4..9, 9..12].iter().position(|group| group.contains(&position));
        let lengths = |range, size| runs(Modulus::of_range(range), size, group).to_vec();
        assert_eq!(lengths(0..12, 8), [4, 5, 3]);
        assert_eq!(lengths(0..12, 4), [4, 2, 3, 3]);
        assert_eq!(lengths(2..10, 1), [1; 8]);
        assert!(lengths(0..0, 4).is_empty());
    }
}
