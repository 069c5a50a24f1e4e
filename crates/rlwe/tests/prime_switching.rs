//! Prime switching in a key switch (MG23 3.7): the division by `P'` also removes `mu` large primes
//! and brings in `kappa` small ones.

use crate::common::{insecure_sizes, keyswitch::Setup, log2_std};
use hippocrene_ring::{Domain, Poly};
use hippocrene_rlwe::{Destination, Modulus, SecretDistribution};

/// The number of small primes: `3 * 30 = 2 * 45` bits.
const KAPPA: usize = 3;
/// The number of large primes that the small ones replace.
const MU: usize = 2;
const LARGE_PRIMES: usize = 8;

/// Chains of small primes followed by large ones. They have the finest gadget, blocks of two, and
/// blocks of three, which the small primes fill.
fn chains() -> [Setup; 3] {
    let units: Vec<u32> = [30; KAPPA].into_iter().chain([45; LARGE_PRIMES]).collect();
    [(1, 11), (2, 5), (3, 4)].map(|(specials, rank)| {
        let specials = vec![46; specials];
        Setup::new(insecure_sizes(10, &units, &specials, rank, SecretDistribution::Ternary))
    })
}

/// The modulus with these numbers of small and large primes.
fn modulus(small: usize, large: usize) -> Modulus {
    Modulus::of_range(0..small).lcm(Modulus::of_range(KAPPA..KAPPA + large))
}

/// Moduli of large primes, each with the modulus after the switch.
fn swaps() -> impl Iterator<Item = (Modulus, Modulus)> {
    (MU + 1..=LARGE_PRIMES).map(|large| (modulus(0, large), modulus(KAPPA, large - MU)))
}

/// The fused switch equals the inner product modulo `P'Q` brought to `Q'` in one division, to the
/// last bit. Its error is as stated, even if small primes are in `P'`.
#[test]
fn swaps_are_one_division() {
    let mut grown = 0;
    for setup in chains() {
        let (context, parameters) = (&setup.context, setup.context.parameters());
        for (from, to) in swaps() {
            assert!((parameters.log2(from) - parameters.log2(to)).abs() < 1.0);
            let (c, x) = (setup.uniform(from, 1), setup.uniform(from, 2));
            for gadget in parameters.gadgets(from) {
                grown += usize::from(!gadget.specials().gcd(to).is_one());
                let destination = Destination::new(to);
                let fused = setup.switch(&c, from, gadget, [Some(&x), None], &destination);
                let wide = from.lcm(gadget.specials());
                let product =
                    setup.switch(&c, from, gadget, [Some(&x), None], &Destination::new(wide));
                for (fused, product) in fused.iter().zip(&product) {
                    let mut divided = context.zero(to, Domain::Evaluation);
                    context.switch_modulus(&mut divided, product, wide, to, 1).unwrap();
                    assert_eq!(*fused, divided, "{gadget:?} from {from:?}");
                }

                let out = setup.switch(&c, from, gadget, [None, None], &destination);
                let dropped = parameters.log2(from.without(to));
                let measured = log2_std(&setup.scaled_error(&c, from, to, &out)) - dropped;
                let stated = context.key_switch_noise_with(from, gadget, to).unwrap().log2_std();
                assert!(
                    (measured - stated).abs() < 1.5f64.log2(),
                    "{gadget:?}: 2^{measured}, stated 2^{stated}"
                );
            }
        }
    }
    assert!(grown > 0, "no special modulus had a small prime");
}

/// A switch takes `2 (mu + k)` inverse transforms in place of `2 k`, and `2 mu` fewer for the limbs
/// that stay. Each part of a result in the evaluation domain takes `kappa` more forward transforms,
/// and a result in coefficients none. A small prime that is in `P'` costs no more than a limb that
/// stays.
#[test]
fn swaps_take_the_transforms_of_the_paper() {
    for setup in chains() {
        let (context, parameters) = (&setup.context, setup.context.parameters());
        for (from, to) in swaps() {
            let [c, x, y] = [7, 8, 9].map(|seed| setup.uniform(from, seed));
            for gadget in parameters.gadgets(from) {
                let specials = gadget.specials();
                let expected =
                    setup.switch(&c, from, gadget, [Some(&x), Some(&y)], &Destination::new(to));
                let stays = setup.counted(&c, [&x, &y], from, from, gadget, 0).1;
                for choice in 0..16 {
                    let (mut out, took) = setup.counted(&c, [&x, &y], from, to, gadget, choice);
                    for out in &mut out {
                        context.to_evaluation(out, to);
                    }
                    assert_eq!(out, expected, "{gadget:?} from {from:?}, {choice:04b}");
                    let in_specials = specials.gcd(to).limb_count() as u64;
                    let new = KAPPA as u64 - in_specials;
                    let more = if choice >> 3 == 0 { 2 * new } else { 0 };
                    assert_eq!(
                        took,
                        stays + more,
                        "{gadget:?} from {from:?}, {choice:04b}, {in_specials} in P'"
                    );
                }
            }
        }
    }
}

impl Setup {
    /// Returns the result of a switch and the number of its transforms. Bits 0 to 3 of `choice`
    /// tell whether `c`, the first and the second added polynomial, and the result are in
    /// coefficients.
    fn counted(
        &self,
        c: &Poly,
        added: [&Poly; 2],
        from: Modulus,
        to: Modulus,
        gadget: hippocrene_rlwe::Gadget,
        choice: usize,
    ) -> ([Poly; 2], u64) {
        let context = &self.context;
        let [c, x, y] = [(0, c), (1, added[0]), (2, added[1])].map(|(bit, poly)| {
            let mut poly = poly.clone();
            if choice >> bit & 1 == 1 {
                context.to_coefficient(&mut poly, from);
            }
            poly
        });
        let domain = [Domain::Evaluation, Domain::Coefficient][choice >> 3];
        let before = context.transforms();
        let destination = Destination { domain, ..Destination::new(to) };
        let out = self.switch(&c, from, gadget, [Some(&x), Some(&y)], &destination);
        (out, context.transforms() - before)
    }
}
