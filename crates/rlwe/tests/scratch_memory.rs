//! The scratch memory of key switches.

mod common;

use common::{insecure_sizes, keyswitch::Setup};
use hippocrene_ring::{Domain, Poly};
use hippocrene_rlwe::{Destination, SecretDistribution};

/// At `N = 2^16`, a key switch needs at most 64 MiB in addition to its input, its key and its
/// results. This holds for one digit with as large a special modulus and for four digits, in both
/// domains, with polynomials added to both parts.
#[test]
fn a_key_switch_takes_64_mebibytes_at_insecure_parameters() {
    for (units, specials, rank) in [(18, 18, 1), (28, 8, 4)] {
        let setup = Setup::new(insecure_sizes(
            16,
            &vec![48; units],
            &vec![48; specials],
            rank,
            SecretDistribution::Ternary,
        ));
        let context = &setup.context;
        let (top, gadget) = (context.parameters().top(), context.parameters().base_gadget());
        let added: [Poly; 2] = [1, 2].map(|seed| setup.uniform(top, seed));
        for domain in [Domain::Evaluation, Domain::Coefficient] {
            context.wipe_scratch();
            let destination = Destination { domain, ..Destination::new(top) };
            setup.switch(
                &setup.uniform(top, 3),
                top,
                gadget,
                [Some(&added[0]), Some(&added[1])],
                &destination,
            );
            let mebibytes = context.scratch_memory() as f64 / f64::from(1 << 20);
            assert!(
                (1.0..=64.0).contains(&mebibytes),
                "{units} + {specials}, {domain:?}: {mebibytes} MiB"
            );
        }
    }
}
