//! The part of evaluation keys that is for bits.

use hippocrene_ckks::bits::BitLiteral;
use hippocrene_rlwe::{EncapsulationKeys, Parameters};

use crate::{
    Error, Session,
    bootstrapping::{check_encapsulation, sparse_parameters},
};

/// The keys of bits, except for rotations, conjugation and relinearisation.
///
/// They hold no secret.
///
/// See [`ClientKey::bit_plan`](crate::ClientKey::bit_plan) for an example.
#[derive(Debug, Clone)]
pub struct BitKeys {
    literal: BitLiteral,
    encapsulation: EncapsulationKeys,
    sparse_parameters: Parameters,
}

impl BitKeys {
    /// Combines the literal of a bootstrap of bits with the keys of its sparse secret.
    ///
    /// # Errors
    /// [`Error::Parameters`] or [`Error::Security`] when these parameters allow no sparse secret.
    /// [`Error::ParameterMismatch`] when the keys have other parameters.
    pub fn new(
        session: &Session,
        literal: BitLiteral,
        encapsulation: EncapsulationKeys,
    ) -> Result<Self, Error> {
        let sparse_parameters =
            Self::sparse_parameters_of(session.settings().parameters(), &literal)?;
        check_encapsulation(
            session,
            &sparse_parameters,
            &encapsulation,
            "put keys of bits together",
        )?;
        Ok(BitKeys { literal, encapsulation, sparse_parameters })
    }

    /// The parameter set of the sparse secret, with a security check if `parameters` are secure.
    ///
    /// # Errors
    /// [`Error::Parameters`] or [`Error::Security`] when these parameters allow no sparse secret.
    pub fn sparse_parameters_of(
        parameters: &Parameters,
        literal: &BitLiteral,
    ) -> Result<Parameters, Error> {
        sparse_parameters(parameters, literal.base(parameters), literal.sparse_weight)
    }

    /// The literal from which the bootstrap is planned.
    pub fn literal(&self) -> &BitLiteral {
        &self.literal
    }

    /// The keys to the sparse secret and back.
    pub fn encapsulation(&self) -> &EncapsulationKeys {
        &self.encapsulation
    }

    /// The parameter set of the sparse secret.
    pub fn sparse_parameters(&self) -> &Parameters {
        &self.sparse_parameters
    }
}
