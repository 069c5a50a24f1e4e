//! The compact form in which many encrypted numbers are sent: half of each RLWE ciphertext is a
//! seed.

use hippocrene_ring::{SIGMA, Seed};
use hippocrene_rlwe::{Fingerprint, noise};
use zeroize::Zeroizing;

use super::{LweParameters, LweSecretKey, RlweCoefficients, secret::add};
use crate::{
    FhewError,
    samples::{SampleMaker, expand, rings},
};

/// Numbers encrypted in the coefficients of RLWE ciphertexts of degree `n`, in compact form.
///
/// Number `n i + k` is coefficient `k` of ciphertext `i`. One seed stands for all `c1`. The `c0`
/// are stored up to the last number, so each number needs `log2 q` bits. See [`RlweCoefficients`]
/// for an example.
#[derive(Debug, Clone)]
pub struct SeededCoefficients {
    parameters: LweParameters,
    seed: Seed,
    c0: Vec<u64>,
    key: Fingerprint,
}

impl LweSecretKey {
    /// Encrypts residues modulo `q` as coefficients of RLWE ciphertexts: `c0 + c1 s = m + e`.
    ///
    /// `s` is this secret as a polynomial. `q` is at most the modulus of this key's parameters. The
    /// error has the same width at every modulus, so a smaller modulus is more secure.
    ///
    /// # Errors
    /// - [`FhewError::Range`] if `q` is larger than the modulus of this key's parameters.
    /// - [`FhewError::Message`] if a message is not below `q`.
    /// - An error of the ring if `q` is neither a power of two nor a prime with transforms of
    ///   degree `n`.
    /// - An error of the operating system if it provides no entropy.
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
        // The sample hides the messages.
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
    /// Assembles encrypted numbers from their parts.
    ///
    /// # Errors
    /// [`FhewError::Range`] if a residue is not below `q`.
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

    /// Returns the ring degree, the modulus and the distribution of the secret.
    pub fn parameters(&self) -> LweParameters {
        self.parameters
    }

    /// Returns the seed of the `c1`.
    ///
    /// The `c1` of ciphertext `i` is the uniform polynomial of stream `i`. It is in the evaluation
    /// domain if the modulus is a prime, and in the coefficient domain if it is a power of two.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// Returns the stored coefficients of the `c0`, in `[0, q)`: one for each number.
    pub fn c0(&self) -> &[u64] {
        &self.c0
    }

    /// Returns the fingerprint of the secret key that decrypts them.
    pub fn key(&self) -> Fingerprint {
        self.key
    }

    /// Expands all RLWE ciphertexts.
    ///
    /// The coefficients of the last one beyond the numbers are meaningless.
    ///
    /// # Errors
    /// When the modulus is neither a power of two nor a prime with transforms of the ring degree.
    pub fn expand(&self) -> Result<Vec<RlweCoefficients>, FhewError> {
        self.expand_selected(0..self.c0.len().div_ceil(self.parameters.ring_degree()))
    }

    /// Expands the RLWE ciphertexts with these indices, which begin at 0.
    ///
    /// # Errors
    /// The same as [`SeededCoefficients::expand`], and [`FhewError::Range`] if an index is too
    /// large.
    pub fn expand_selected(
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
