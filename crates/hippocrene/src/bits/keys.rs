//! What evaluation keys hold for bits.

use hippocrene_ckks::bits::BitLiteral;
use hippocrene_rlwe::{EncapsulationKeys, Parameters};

use crate::{
    Error, Session,
    bootstrapping::{check_encapsulation, sparse_parameters},
};

/// What evaluation keys hold for bits beside rotations, conjugation and relinearisation. No secret
/// inside.
#[derive(Debug, Clone)]
pub struct BitKeys {
    literal: BitLiteral,
    encapsulation: EncapsulationKeys,
    narrow: Parameters,
}

impl BitKeys {
    /// The keys of bootstraps made of this, with those of their sparse secret.
    ///
    /// # Errors
    /// [`Error::Parameters`] or [`Error::Security`] when there is no sparse secret with these
    /// parameters, [`Error::ParameterMismatch`] when the keys are of others.
    pub fn new(
        session: &Session,
        literal: BitLiteral,
        encapsulation: EncapsulationKeys,
    ) -> Result<Self, Error> {
        let narrow = Self::narrow_of(session.settings().parameters(), &literal)?;
        check_encapsulation(session, &narrow, &encapsulation, "put keys of bits together")?;
        Ok(BitKeys { literal, encapsulation, narrow })
    }

    /// The parameter set of the sparse secret, held to its limit where `parameters` are secure.
    pub(crate) fn narrow_of(
        parameters: &Parameters,
        literal: &BitLiteral,
    ) -> Result<Parameters, Error> {
        sparse_parameters(parameters, literal.base(parameters), literal.sparse_weight)
    }

    /// What a bootstrap is made of.
    pub fn literal(&self) -> &BitLiteral {
        &self.literal
    }

    /// The keys to the sparse secret and back.
    pub fn encapsulation(&self) -> &EncapsulationKeys {
        &self.encapsulation
    }

    /// The parameter set of the sparse secret.
    pub fn narrow(&self) -> &Parameters {
        &self.narrow
    }
}
