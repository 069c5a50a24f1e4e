//! The stored form of profiles: an object of serde's data model, for JSON.

use hippocrene_ring::Kernel;
use serde::{Deserialize, Serialize};

use super::{
    COST_COUNT, Costs, DEGREE_COUNT, LOG_DEGREES, LimbCosts, MIN_LOG_DEGREE, MemoryCosts, Profile,
    Table, WordSize,
};
use crate::RlweError;

/// The version of the stored form. Other versions are refused.
const VERSION: u32 = 1;

/// A table whose costs are filled in later.
const NO_COSTS: Table = {
    let none = LimbCosts::of([0.0; COST_COUNT]);
    [[Costs { cached: none, memory: none }; WordSize::ALL.len()]; DEGREE_COUNT]
};

/// A profile as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stored {
    version: u32,
    kernel: String,
    memory: MemoryCosts,
    limbs: Vec<Entry>,
}

/// The costs of one ring degree and class of moduli.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    log_degree: u32,
    modulus_bits: u32,
    cached: LimbCosts,
    memory: LimbCosts,
}

impl From<Profile> for Stored {
    fn from(profile: Profile) -> Self {
        let entries = LOG_DEGREES.flat_map(|log_degree| {
            WordSize::ALL.map(|size| Entry {
                log_degree,
                modulus_bits: size.bits(),
                cached: profile.limb(log_degree, size, 0.0),
                memory: profile.limb(log_degree, size, 1.0),
            })
        });
        Stored {
            version: VERSION,
            kernel: profile.kernel.to_string(),
            memory: profile.memory,
            limbs: entries.collect(),
        }
    }
}

impl TryFrom<Stored> for Profile {
    type Error = RlweError;

    fn try_from(stored: Stored) -> Result<Self, RlweError> {
        let fail = |what: String| Err(RlweError::Profile { what });
        if stored.version != VERSION {
            return fail(format!(
                "version is {}; this library reads version {VERSION}",
                stored.version
            ));
        }
        // A profile of a kernel that this CPU lacks is valid. It is only not used.
        let Some(kernel) =
            Kernel::ALL.into_iter().find(|kernel| kernel.to_string() == stored.kernel)
        else {
            let names = Kernel::ALL.map(|kernel| kernel.to_string()).join(", ");
            return fail(format!("kernel is {:?}; there are {names}", stored.kernel));
        };
        let mut found = [[None; WordSize::ALL.len()]; DEGREE_COUNT];
        for (i, Entry { log_degree, modulus_bits, cached, memory }) in
            stored.limbs.into_iter().enumerate()
        {
            let place =
                format!("limbs[{i}] (log_degree {log_degree}, modulus_bits {modulus_bits})");
            let size = WordSize::ALL.into_iter().find(|size| size.bits() == modulus_bits);
            let (true, Some(size)) = (LOG_DEGREES.contains(&log_degree), size) else {
                let (smallest, largest) = (LOG_DEGREES.start(), LOG_DEGREES.end());
                return fail(format!(
                    "{place}: log_degree must be {smallest} to {largest}, modulus_bits 48, 50 or 61"
                ));
            };
            let entry: &mut Option<Costs> =
                &mut found[(log_degree - MIN_LOG_DEGREE) as usize][size as usize];
            if entry.replace(Costs { cached, memory }).is_some() {
                return fail(format!("{place} appears twice"));
            }
        }
        let mut limbs = NO_COSTS;
        for (log_degree, (limbs, found)) in LOG_DEGREES.zip(limbs.iter_mut().zip(found)) {
            for (size, (limb, found)) in WordSize::ALL.into_iter().zip(limbs.iter_mut().zip(found))
            {
                match found {
                    Some(costs) => *limb = costs,
                    None => {
                        let bits = size.bits();
                        return fail(format!(
                            "limbs has no entry of log_degree {log_degree}, modulus_bits {bits}"
                        ));
                    }
                }
            }
        }
        Profile::new(kernel, stored.memory, limbs)
    }
}
