//! The memory that a context reuses.

use hippocrene_ring::{scratch::ScratchPool, spare::SpareMemory};

use crate::{Parameters, dry_run::ledger::Ledger, keyswitch::key_store::KeyStore};

/// The maximum number of polynomials modulo `PQ_max` in the spare memory. A bootstrap uses about
/// this many.
const MAX_SPARE_POLYNOMIALS: usize = 32;

/// Memory that operations have used and keep for the next operation.
pub(crate) struct Memory {
    /// Polynomials that operations work in.
    pub(crate) scratch: ScratchPool,
    /// The memory of dropped ciphertexts, for new ones.
    pub(crate) spare: SpareMemory,
    /// Switching keys in the forms that gadgets need.
    pub(crate) keys: KeyStore,
}

impl Memory {
    /// Starts without any memory. In a dry run, `ledger` measures the scratch memory of a real run.
    pub(crate) fn new(parameters: &Parameters, ledger: Option<&Ledger>) -> Self {
        let degree = parameters.degree();
        let polynomial = parameters.full().limb_count() * degree * size_of::<u64>();
        Memory {
            scratch: ledger.map_or_else(|| ScratchPool::new(degree), |l| l.scratch(degree)),
            spare: SpareMemory::new(MAX_SPARE_POLYNOMIALS * polynomial),
            keys: KeyStore::default(),
        }
    }

    /// Wipes scratch and spare memory and gives it back.
    pub(crate) fn wipe_scratch(&self) {
        self.scratch.wipe_scratch();
        self.spare.wipe_scratch();
    }
}
