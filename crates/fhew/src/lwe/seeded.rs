//! Many numbers as they are sent: coefficients of RLWE ciphertexts, of which half is a seed.

use hippocrene_ring::{SIGMA, Seed};
use hippocrene_rlwe::{Fingerprint, noise};
use zeroize::Zeroizing;

use super::{LweParameters, LweSecretKey, RlweCoefficients, secret::add};
use crate::{
    FhewError,
    samples::{SampleMaker, expand, rings},
};

/// Numbers in the coefficients of RLWE ciphertexts of degree `n`: number `n i + k` is coefficient
/// `k` of ciphertext `i`. The `c1` are a seed, and of the `c0` there are as many coefficients as
/// numbers: one takes `log2 q` bits.
#[derive(Debug, Clone)]
pub struct SeededCoefficients {
    parameters: LweParameters,
    seed: Seed,
    c0: Vec<u64>,
    key: Fingerprint,
}

impl LweSecretKey {
    /// Encrypts residues modulo `q`, which is at most the modulus of this key's parameters, as the
    /// coefficients of RLWE ciphertexts under this secret, as a polynomial: `c0 + c1 s = m + e`.
    /// The error is as wide at every modulus, so that a smaller one is the more secure.
    ///
    /// # Errors
    /// [`FhewError::Range`] when the modulus is larger, [`FhewError::Message`] when a message is no
    /// residue modulo it; when it is neither a power of two nor a prime that has transforms of
    /// degree `n`, or the operating system has no entropy.
    pub fn encrypt_coefficients(
        &self,
        q: u64,
        messages: &[u64],
    ) -> Result<SeededCoefficients, FhewError> {
        let limit = self.parameters().modulus();
        if q > limit {
            return Err(FhewError::Range {
                operation: OPERATION,
                what: "the modulus",
                have: q,
                limit,
            });
        }
        let parameters = self.parameters().with_modulus(q)?;
        if let Some(index) = messages.iter().position(|m| *m >= q) {
            return Err(FhewError::Message { operation: OPERATION, index, limit: q });
        }
        let maker = SampleMaker::new(self, &[q])?;
        let mut c0 = Vec::with_capacity(messages.len());
        // What hides the messages.
        let mut sample = Zeroizing::new(vec![0; parameters.ring_degree()]);
        for (i, messages) in messages.chunks(parameters.ring_degree()).enumerate() {
            maker.sample(i, &mut sample);
            maker.rings()[0].inverse(&mut sample);
            c0.extend(messages.iter().zip(sample.iter()).map(|(m, x)| add(*m, *x, q)));
        }
        Ok(SeededCoefficients {
            parameters,
            seed: maker.seed().clone(),
            c0,
            key: self.fingerprint(),
        })
    }
}

const OPERATION: &str = "encrypt coefficients";

impl SeededCoefficients {
    /// Puts them together from their parts.
    ///
    /// # Errors
    /// [`FhewError::Range`] when a residue is not below `q`.
    pub fn from_parts(
        parameters: LweParameters,
        seed: Seed,
        c0: Vec<u64>,
        key: Fingerprint,
    ) -> Result<Self, FhewError> {
        let limit = parameters.modulus();
        match c0.iter().copied().find(|x| *x >= limit) {
            Some(have) => {
                let operation = "put encrypted coefficients together";
                Err(FhewError::Range { operation, what: "a residue", have, limit })
            }
            None => Ok(SeededCoefficients { parameters, seed, c0, key }),
        }
    }

    /// Ring degree, modulus and secret.
    pub fn parameters(&self) -> LweParameters {
        self.parameters
    }

    /// The seed of the `c1`: ciphertext `i` has the uniform polynomial of stream `i`, in the
    /// evaluation domain (of coefficients, modulo a power of two).
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// The coefficients of the `c0` that there are, in `[0, q)`: one for each number.
    pub fn c0(&self) -> &[u64] {
        &self.c0
    }

    /// The fingerprint of the secret key.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// The RLWE ciphertexts. What coefficients the last one has beyond the numbers means nothing.
    ///
    /// # Errors
    /// When the modulus is neither a power of two nor a prime that has transforms of the ring
    /// degree.
    pub fn expand(&self) -> Result<Vec<RlweCoefficients>, FhewError> {
        self.expand_some(0..self.c0.len().div_ceil(self.parameters.ring_degree()))
    }

    /// Those of the RLWE ciphertexts that have these numbers, from 0 on.
    ///
    /// # Errors
    /// As [`SeededCoefficients::expand`], and [`FhewError::Range`] when there is no such
    /// ciphertext.
    pub fn expand_some(
        &self,
        numbers: impl IntoIterator<Item = usize>,
    ) -> Result<Vec<RlweCoefficients>, FhewError> {
        let degree = self.parameters.ring_degree();
        let rings = rings(degree, &[self.parameters.modulus()])?;
        let noise = noise::secret_key_encryption(SIGMA);
        let ciphertext = |i: usize| {
            let limit = self.c0.len().div_ceil(degree) as u64;
            let Some(c0) = self.c0.chunks(degree).nth(i) else {
                let (operation, what) =
                    ("expand encrypted coefficients", "the number of a ciphertext");
                return Err(FhewError::Range { operation, what, have: i as u64, limit });
            };
            let mut c1 = expand(&rings, &self.seed, i, 0);
            rings[0].inverse(&mut c1);
            let mut c0 = c0.to_vec();
            c0.resize(degree, 0);
            Ok(RlweCoefficients::new(self.parameters, c0, c1, noise, self.key))
        };
        numbers.into_iter().map(ciphertext).collect()
    }
}
