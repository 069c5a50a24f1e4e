//! The parts of slots one by one, with capacity for a product: what linear maps of bits take and
//! leave.

use super::{BitBootstrapper, BitCiphertext, BitPacking, ciphertext::error_of, gate::Reading};
use crate::{Ciphertext, CkksError};

const OPERATION: &str = "map bits";

/// The bits of one ciphertext in real slots: one ciphertext of them, or that of the real and that
/// of the imaginary parts.
#[derive(Debug, Clone)]
pub struct BitParts {
    /// Real slots that hold the bits with an error of `error` and what their noise estimate says.
    pub parts: Vec<Ciphertext>,
    /// How far a slot may be from its bit beside the noise.
    pub error: f64,
}

impl BitBootstrapper {
    /// The bits of `a` by a bootstrap that ends two products above
    /// [`BitPlan::output_modulus`](super::BitPlan::output_modulus): where results are cleaned,
    /// these are not. So a linear map of them leaves what a gate needs.
    ///
    /// # Errors
    /// As [`BitBootstrapper::refresh`].
    pub fn parts(&self, a: &BitCiphertext) -> Result<BitParts, CkksError> {
        let angles = self.angles(&[a], 2)?;
        let parts = self.read_parts(&angles, Reading::REFRESH)?;
        Ok(BitParts { error: self.error_of_reading(&angles, Reading::REFRESH, 0.0), parts })
    }

    /// Bits of parts, or of linear maps of parts that bring each slot to one place at most: at the
    /// scale of bits, and modulo [`BitPlan::output_modulus`](super::BitPlan::output_modulus) where
    /// results are cleaned, as those are.
    ///
    /// # Errors
    /// [`CkksError::Argument`] when the bits could not be told any more, or there are more or fewer
    /// parts than slots have; [`CkksError::Capacity`] when too little is left.
    pub fn of_parts(&self, parts: BitParts) -> Result<BitCiphertext, CkksError> {
        let (plan, e) = (self.plan(), self.evaluator());
        let BitParts { parts, error } = parts;
        let packing = plan.literal().packing;
        let out = match (packing, &parts[..]) {
            (BitPacking::Real, [all]) => all.clone(),
            (BitPacking::Complex, [real, imaginary]) => e.complex(real, imaginary)?,
            _ => {
                let what = format!("{} parts for {packing:?} slots", parts.len());
                return Err(CkksError::Argument { operation: OPERATION, what });
            }
        };
        let (to, scale) = (plan.output_modulus(), plan.bit_scale());
        let out =
            if plan.literal().clean { e.adjust(&out, to, scale)? } else { e.rescale(&out, scale)? };
        let error = error + error_of(&out);
        BitCiphertext::with_error(out, packing, error, OPERATION)
    }
}
