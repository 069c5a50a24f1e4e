//! Sizes: how the key is cut, and how many primes the shared basis needs.

use arrayvec::ArrayVec;

use crate::{
    Modulus, Parameters,
    keyswitch::gadget::{Gadget, Method},
    modulus::MAX_LIMBS,
};

/// The primes of the shared basis have so many bits: those that all kernels are fastest for.
pub(super) const PRIME_BITS: u32 = 48;

/// An upper bound of the primes of the shared basis.
pub(in crate::keyswitch) const LARGEST_PRIME: u64 = (1 << PRIME_BITS) - 1;

/// A lower bound of log2 of the largest primes of [`PRIME_BITS`] bits.
const PRIME_LOG2: f64 = 47.99;

/// By so many bits sums stay below half of the shared basis: far more than what exact base
/// conversion wants of it (`l (l + 7) 2^-54` of it for `l` limbs), what digits may exceed one half
/// by for the same reason, and what logarithms are rounded by.
const MARGIN: f64 = 1e-6;

/// What operations on limbs take, in transforms: the product of a digit and a component of the key,
/// which is read from memory, and a pair of limbs of base conversion (measured at `N = 2^15` with
/// IFMA).
const PRODUCT: f64 = 0.4;
const PAIR: f64 = 0.07;

/// A smaller key is offered too if it costs no more than this times the least.
const SMALLER: f64 = 1.1;

/// What a double decomposition at one modulus computes with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DoubleShape {
    /// How many primes of the shared basis are needed, `r`.
    pub(crate) primes: usize,
    /// The groups of the key that `P'Q` shares a factor with: the number of each, and that factor.
    pub(crate) groups: Vec<(usize, Modulus)>,
}

impl DoubleShape {
    /// In how many of [`runs`] the limbs of `modulus` are converted from the shared basis.
    pub(in crate::keyswitch) fn run_count(&self, modulus: Modulus, size: usize) -> usize {
        let group = |position| self.groups.iter().position(|(_, group)| group.contains(position));
        runs(modulus, size, group).len()
    }
}

/// The limbs of `modulus` in runs of neighbours that are in one group, or none, of at most `size`
/// limbs and of about one length: how many limbs each has.
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
    /// The gadgets at `modulus` with the double decomposition: for each of [`Parameters::gadgets`]
    /// with as many groups as cost least at `Q_max`, with transforms, products and base conversion
    /// weighed as they were measured (MG23 4.4), and with the fewest that cost up to a tenth more,
    /// for which keys are smaller. The number of groups is not fitted to the modulus, so that one
    /// key serves all moduli.
    pub fn double_gadgets(&self, modulus: Modulus) -> Vec<Gadget> {
        let gadgets = self.gadgets(modulus).into_iter();
        let with = |gadget: Gadget| {
            let choices = self.double_choices(gadget.group()).into_iter();
            choices.map(move |groups| gadget.with_method(Method::Double { groups }))
        };
        gadgets.flat_map(with).collect()
    }

    /// The numbers of groups that are offered for gadgets with `group` blocks in each component.
    fn double_choices(&self, group: usize) -> Vec<usize> {
        let digits = self.digit_shapes(self.top(), group).len() as f64;
        let limbs = self.full().limb_count();
        let cost = |groups: usize| {
            let primes = self.key_primes(group, groups);
            let count = groups as f64;
            let each = digits + 2.0 * count + PRODUCT * digits * count + PAIR * 3.0 * limbs as f64;
            (primes <= MAX_LIMBS).then_some((groups, each * primes as f64))
        };
        let choices: Vec<(usize, f64)> = (1..=limbs).filter_map(cost).collect();
        let Some(best) = choices.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else {
            return Vec::new();
        };
        let smaller = choices.iter().find(|choice| choice.1 <= best.1 * SMALLER);
        let mut offered: Vec<usize> =
            [smaller, Some(best)].into_iter().flatten().map(|c| c.0).collect();
        offered.dedup();
        offered
    }

    /// `PQ_max` cut into at most `groups` groups of neighbours in `[specials, sprout, units]` of
    /// about as many bits each: the second decomposition of keys. It is the same for all moduli.
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

    /// How many primes the product `E` of the shared basis needs, for sums of `pairs` products of a
    /// digit below `2^digit` and a residue below `2^group`, both centred: `pairs N (2^digit / 2)
    /// (2^group / 2) < E/2`.
    fn primes(&self, pairs: usize, digit: f64, group: f64) -> usize {
        let bits = (pairs.max(1) as f64).log2() + f64::from(self.log_degree()) + digit + group
            - 1.0
            + MARGIN;
        (bits / PRIME_LOG2).ceil() as usize
    }

    /// How many primes are enough at every modulus, and for the key.
    pub(super) fn key_primes(&self, group: usize, groups: usize) -> usize {
        let wholes = || self.groups(group).map(|blocks| self.product_of_blocks(blocks));
        let digit = wholes().map(|whole| self.log2(whole)).fold(0.0, f64::max);
        let largest = self.key_groups(groups).into_iter().map(|g| self.log2(g)).fold(0.0, f64::max);
        self.primes(wholes().count(), digit + MARGIN, largest)
    }

    /// What a gadget computes with at `modulus`; nothing if its method is the single decomposition
    /// or has a number of groups that cannot be.
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
        let wanted = |(i, group): (usize, &Modulus)| (i, group.gcd(extended));
        let groups: Vec<(usize, Modulus)> =
            cut.iter().enumerate().map(wanted).filter(|(_, factors)| !factors.is_one()).collect();
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
