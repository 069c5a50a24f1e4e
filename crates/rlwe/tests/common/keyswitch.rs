//! The setup of the tests of key switches.

use hippocrene_ring::{
    Domain, Poly,
    automorphism::galois_element_of_rotation,
    sample::{Sampler, Seed},
};
use hippocrene_rlwe::{
    Ciphertext, Context, Destination, EvaluationKeys, Gadget, Modulus, Noise,
    PreparedEvaluationKeys, SecretKey, Sprout,
};
use num_bigint::BigInt;

use super::{centred, coefficients, insecure, insecure_grafted, number};

/// A context with one rotation key, which leads from `s` to `s' = s(X^(1/g))`.
pub struct Setup {
    pub context: Context,
    pub secret: SecretKey,
    pub keys: PreparedEvaluationKeys,
    pub element: usize,
}

impl Setup {
    pub fn new(context: Context) -> Self {
        let element = galois_element_of_rotation(context.degree(), 1);
        let secret = SecretKey::generate(&context).unwrap();
        let mut keys = EvaluationKeys::empty(&context, secret.fingerprint());
        keys.add_rotations(&context, &secret, [1]).unwrap();
        let keys = keys.prepare(&context).unwrap();
        Setup { context, secret, keys, element }
    }

    /// Simple chains with single units as blocks (the finest gadget) and with blocks of two units,
    /// and grafted chains.
    pub fn all() -> [Setup; 4] {
        let sprout = Sprout { two: 8, primes: vec![12289, 40961] };
        [
            insecure(10, 11, 1, 11),
            insecure(10, 11, 2, 6),
            insecure_grafted(10, 7, 1, 8, sprout.clone()),
            insecure_grafted(10, 8, 2, 4, sprout),
        ]
        .map(Setup::new)
    }

    /// The moduli of the first units, for grafted chains also with parts of the sprout.
    pub fn moduli(&self) -> Vec<Modulus> {
        let parameters = self.context.parameters();
        let (units, top) = (parameters.unit_count(), parameters.top());
        let mut moduli: Vec<Modulus> = (1..=units).map(|l| Modulus::of_range(0..l)).collect();
        if !top.sprout().is_one() {
            let parts = [Modulus::of_sprout(1, 0), Modulus::of_sprout(2, 5), top.sprout()];
            let more = moduli.iter().flat_map(|m| parts.map(|part| m.lcm(part)));
            moduli = moduli.iter().copied().chain(more).collect();
        }
        moduli
    }

    /// A polynomial that is uniform modulo `modulus`.
    pub fn uniform(&self, modulus: Modulus, seed: u8) -> Poly {
        let mut poly = self.context.zero(modulus, Domain::Evaluation);
        for (k, ring) in self.context.rings(modulus).enumerate() {
            let mut sampler = Sampler::new(&Seed::from_bytes([seed; 32]), k as u64);
            sampler.uniform(ring.modulus(), poly.limb_mut(k));
        }
        poly
    }

    /// Switches the keys of `c` with a gadget, and adds `added`.
    pub fn switch(
        &self,
        c: &Poly,
        modulus: Modulus,
        gadget: Gadget,
        added: [Option<&Poly>; 2],
        destination: &Destination<'_>,
    ) -> [Poly; 2] {
        let key = self.keys.galois(self.element).unwrap();
        let decomposed = self.context.decompose_with(c, modulus, gadget).unwrap();
        let mut out = [0, 1].map(|_| self.context.zero(destination.modulus, destination.domain));
        let [out0, out1] = &mut out;
        self.context.switch_keys_into([out0, out1], &decomposed, key, added, destination).unwrap();
        out
    }

    /// Returns the error of a switch that ends modulo `modulus` itself: `out0 + out1 s' - c s` in
    /// coefficients. The key leads from `s` to `s' = s(X^(1/g))`.
    pub fn error(&self, c: &Poly, modulus: Modulus, out: &[Poly; 2]) -> Vec<BigInt> {
        self.scaled_error(c, modulus, modulus, out)
    }

    /// Returns the error of a switch from `from = Q` to `to = Q'`, which is
    /// `out0 + out1 s' - (Q'/Q) c s`, times `Q/gcd(Q, Q')`.
    pub fn scaled_error(
        &self,
        c: &Poly,
        from: Modulus,
        to: Modulus,
        out: &[Poly; 2],
    ) -> Vec<BigInt> {
        let Setup { context, secret, element, .. } = self;
        let automorphism = context.automorphism(*element).unwrap();
        let rotated = |poly: &Poly, modulus: Modulus| {
            let mut out = context.zero(modulus, Domain::Evaluation);
            for (k, ring) in context.rings(modulus).enumerate() {
                ring.apply_automorphism(
                    &automorphism,
                    Domain::Evaluation,
                    out.limb_mut(k),
                    poly.limb(k),
                );
            }
            out
        };
        let decrypted = |parts: Vec<Poly>, modulus: Modulus| {
            let key = secret.fingerprint();
            let ciphertext =
                Ciphertext::from_parts(context, parts, modulus, Noise::NONE, key).unwrap();
            let mut poly = secret.decrypt(context, &ciphertext).unwrap();
            context.to_evaluation(&mut poly, modulus);
            poly
        };
        let expected = decrypted(vec![context.zero(from, Domain::Evaluation), c.clone()], from);
        let expected = coefficients(context, &rotated(&expected, from), from);
        let got = decrypted(out.iter().map(|part| rotated(part, to)).collect(), to);
        let (raise, divide) =
            (number(context, to.without(from)), number(context, from.without(to)));
        let modulus = &divide * number(context, to);
        let pairs = coefficients(context, &got, to).into_iter().zip(expected);
        pairs
            .map(|(got, expected)| centred(&(got * &divide - expected * &raise), &modulus))
            .collect()
    }
}
