//! Bits as separate real and imaginary parts, with capacity for one product, for use in linear
//! maps.

use super::{BitBootstrapper, BitCiphertext, BitPacking, ciphertext::error_of, gate::GateFunction};
use crate::{Ciphertext, CkksError};

const OPERATION: &str = "map bits";

/// The bits of one ciphertext in real slots. It holds one ciphertext for real packing, or one of
/// the real parts and one of the imaginary parts for complex packing. See
/// [`BitPlan`](super::BitPlan) for an example.
#[derive(Debug, Clone)]
pub struct BitParts {
    /// Real slots that hold the bits. Their errors are `error` plus the noise estimate.
    pub parts: Vec<Ciphertext>,
    /// Largest distance between a slot and the bit that it holds, without the noise.
    pub error: f64,
}

impl BitBootstrapper {
    /// Bootstraps `a` and returns its parts before they are cleaned, two products above
    /// [`BitPlan::output_modulus`](super::BitPlan::output_modulus). A linear map of them still
    /// leaves the capacity that a gate needs.
    ///
    /// # Errors
    /// Fails as [`BitBootstrapper::refresh`] does.
    pub fn parts(&self, a: &BitCiphertext) -> Result<BitParts, CkksError> {
        let angles = self.angles(&[a], 2)?;
        let parts = self.evaluate_gate_parts(&angles, GateFunction::REFRESH)?;
        Ok(BitParts { error: self.error_of_gate(&angles, GateFunction::REFRESH, 0.0), parts })
    }

    /// Combines parts into one ciphertext of bits at the scale of bits.
    ///
    /// The parts may have passed through a linear map that moves each slot to at most one place. If
    /// the plan cleans its results, the modulus is
    /// [`BitPlan::output_modulus`](super::BitPlan::output_modulus), as for those.
    ///
    /// # Errors
    /// Fails with [`CkksError::Argument`] if the bits would be too uncertain to decrypt or if the
    /// number of parts does not match the packing. Fails with [`CkksError::Capacity`] if too little
    /// capacity is left.
    pub fn of_parts(&self, parts: BitParts) -> Result<BitCiphertext, CkksError> {
        let (plan, e) = (self.plan(), self.evaluator());
        let BitParts { parts, error } = parts;
        let packing = plan.literal().packing;
        let out = match (packing, &parts[..]) {
            (BitPacking::Real, [all]) => all.clone(),
            (BitPacking::Complex, [real, imaginary]) => e.complex(real, imaginary)?,
            _ => {
                let what = format!("there are {} parts for {packing:?} slots", parts.len());
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
