//! Constants of operations, made on first use.

use hippocrene_ring::Kernel;

use crate::{
    Gadget, Modulus, Noise, Operations,
    cache::Cache,
    keyswitch::{SwitchOperands, decomposition::Decomposition},
    scaled_product::ScaledProduct,
    switch::SwitchPlan,
};

/// Caches of the constants that operations need, by moduli and gadgets.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    /// Modulus switches, by the moduli `Q` and `Q'` and the plaintext modulus.
    pub(crate) switches: Cache<(Modulus, Modulus, u64), SwitchPlan>,
    /// Decompositions, by the modulus of the polynomial and the gadget.
    pub(crate) decompositions: Cache<(Modulus, Gadget), Decomposition>,
    /// Primitives of key switches after the decomposition, by the moduli `Q` and `Q'`, the gadget,
    /// the operands and the kernel. Only dry runs count them.
    pub(crate) counts: Cache<(Modulus, Gadget, Modulus, SwitchOperands, Kernel), Operations>,
    /// Noise of inner products, by the modulus of the polynomial, the gadget and the modulus of the
    /// key.
    pub(crate) product_noise: Cache<(Modulus, Gadget, Modulus), Noise>,
    /// Scaled products, by the moduli of the factors and the plaintext modulus.
    pub(crate) scaled_products: Cache<(Modulus, Modulus, u64), ScaledProduct>,
}
