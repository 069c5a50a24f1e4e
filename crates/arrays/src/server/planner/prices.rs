//! Prices of primitives. They compare the ways to move and to multiply elements.
//!
//! A move can be split in two at hundreds of distances. A dry run of each split would take too
//! long. So their primitives are counted, and the counts are multiplied by these prices.

use hippocrene_ring::Domain;
use hippocrene_rlwe::{self as rlwe, Ciphertext, Modulus, PreparedEvaluationKeys, RlweError};

use crate::server::{Server, planner::choose::locked};
use crate::{Arithmetic, Array, Error};

/// Maximum number of slots for the products of elements of two encrypted matrices, which are
/// several gigabytes of ciphertexts.
pub(in crate::server) const MAX_SLOTS_OF_PRODUCTS: usize = 1 << 24;

/// Any Galois element: key switches of all of them take the same time.
const GALOIS_ELEMENT: usize = 5;

/// Prices of primitives on one ciphertext.
///
/// The unit is the price of one product of a ciphertext with a plaintext, including the encoding of
/// the plaintext. A dry run of the primitives measures the prices with the profile of
/// [`Server::dry_run`], so they are the same on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) struct Prices {
    /// A rotation on its own.
    pub rotation: usize,
    /// A rotation that shares the decomposition of its ciphertext with other rotations.
    pub hoisted_rotation: usize,
    /// A product of two ciphertexts without relinearisation.
    pub tensor: usize,
    /// A linear map from one ciphertext to another, without its rotations and products: a
    /// decomposition and a rescaling.
    pub map: usize,
    /// One more ciphertext in a result. Later operations are assumed to spend a product of two
    /// ciphertexts on it.
    pub ciphertext: usize,
}

impl Prices {
    /// Measures the prices modulo `modulus` on `dry`, the server of a dry run.
    pub(in crate::server) fn measured(dry: &Server, modulus: Modulus) -> Result<Self, RlweError> {
        let context = dry.session.context().rlwe();
        let keys = PreparedEvaluationKeys::all_for_dry_run(context, dry.key)?;
        let zero = |parts: usize| {
            let polys = (0..parts).map(|_| context.zero(modulus, Domain::Evaluation)).collect();
            let noise = rlwe::Noise::NONE;
            Ciphertext::from_parts(context, polys, modulus, noise, dry.key)
        };
        let (x, message) = (zero(2)?, context.zero(modulus, Domain::Evaluation));
        let (mut out, mut sum) = (zero(2)?, zero(2)?);
        let seconds = || context.read_tally(rlwe::Tally::seconds);
        let mut last = seconds();
        let mut since_last = || {
            let now = seconds();
            now - std::mem::replace(&mut last, now)
        };
        context.record_encoding(modulus.lcm(context.parameters().specials()), 1, 1);
        context.mul_plain_add_assign(&mut sum, &x, &message)?;
        let product = since_last();
        context.apply_galois_into(&mut out, &x, GALOIS_ELEMENT, &keys)?;
        let rotation = since_last();
        let hoisted = context.hoist(&x)?;
        let decomposition = since_last();
        context.apply_galois_hoisted_into(&mut out, &x, &hoisted, GALOIS_ELEMENT, &keys)?;
        let hoisted_rotation = since_last();
        context.tensor_into(&mut out, &x, &x)?;
        let tensor = since_last();
        let last_factor = modulus.words().factors().next_back();
        let rescaled = last_factor
            .map(|i| modulus.without(Modulus::of_factor(i)))
            .filter(|rescaled| rescaled.limb_count() > 0)
            .unwrap_or(modulus);
        context.switch_ciphertext_into(&mut out, &x, rescaled)?;
        let rescaling = since_last();
        let in_products = |seconds: f64| (seconds / product).round().max(1.0) as usize;
        Ok(Prices {
            rotation: in_products(rotation),
            hoisted_rotation: in_products(hoisted_rotation),
            tensor: in_products(tensor),
            map: in_products(decomposition + rescaling),
            ciphertext: in_products(tensor + rotation + rescaling),
        })
    }
}

impl Server {
    /// Returns the prices of primitives on the ciphertexts of an array.
    pub(in crate::server) fn prices<F: Arithmetic>(&self, a: &Array<F>) -> Result<Prices, Error> {
        let modulus = a.bodies()[0].modulus();
        let known = |all: &[(Modulus, Prices)]| all.iter().find(|one| one.0 == modulus).copied();
        let mut all = locked(&self.prices);
        if let Some((_, prices)) = known(&all) {
            return Ok(prices);
        }
        let prices = Prices::measured(&self.dry_run()?, modulus)?;
        all.push((modulus, prices));
        Ok(prices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientKey, KeyRequest, Settings};

    #[test]
    fn a_rotation_is_worth_a_few_encoded_products_and_less_if_it_is_hoisted() {
        let (degree, primes) = (1 << 13, hippocrene_ring::primes::ntt_primes);
        let parameters = rlwe::Parameters::new_insecure(rlwe::ParametersLiteral {
            log_degree: 13,
            units: primes(45, degree, 6, &[]).unwrap(),
            specials: primes(49, degree, 2, &[]).unwrap(),
            sprout: rlwe::Sprout::default(),
            gadget_rank: 4,
            secret: rlwe::SecretDistribution::Ternary,
        });
        let settings = Settings::at_scale(parameters.unwrap(), 40).unwrap();
        let client = ClientKey::generate_with(settings, 1).unwrap();
        let server = Server::new(client.evaluation_keys(&KeyRequest::only([])).unwrap()).unwrap();
        let prices = server.prices(&client.encrypt(&[0.5; 64], &[2, 32]).unwrap()).unwrap();
        assert!((3..=12).contains(&prices.rotation), "{prices:?}");
        assert!(prices.hoisted_rotation < prices.rotation && prices.rotation < prices.ciphertext);
    }
}
