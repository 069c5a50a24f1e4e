//! Coalesced keys: the components of each group of blocks added up (LAKS' `Expand`).

use std::{ops::Range, sync::Arc};

use hippocrene_ring::{ResidueRing, elementwise::KeyLimb};

use super::{
    components::Components,
    gadget::{Gadget, Method},
    key_store::ExpandedKey,
};
use crate::{Context, Modulus, PreparedSwitchingKey};

impl ExpandedKey {
    /// Adds up the components of `key` in groups of `group` blocks.
    fn coalesced(context: &Context, key: &PreparedSwitchingKey, group: usize) -> Self {
        let existing =
            |blocks: Range<usize>| blocks.filter_map(|b| key.components().index(b)).collect();
        let groups: Vec<Vec<usize>> = context.parameters().groups(group).map(existing).collect();
        let groups: Vec<&[usize]> =
            groups.iter().map(Vec::as_slice).filter(|group| !group.is_empty()).collect();
        let limbs: Vec<(&ResidueRing, &KeyLimb)> = expanded_modulus(key.modulus())
            .factors()
            .map(|position| (context.ring_at(key.modulus(), position), key.limb(position)))
            .collect();
        let limbs = KeyLimb::coalesce(&limbs, &groups, context.threads());
        ExpandedKey { limbs, components: expanded_components(context, key.modulus(), group) }
    }
}

/// The bytes of a key modulo `key` with the coalesced components of a gadget.
pub(super) fn bytes(context: &Context, key: Modulus, gadget: Gadget) -> usize {
    let limb = |p: usize| context.ring_at(key, p).key_bytes(context.degree());
    expanded_components(context, key, gadget.group()).count()
        * expanded_modulus(key).factors().map(limb).sum::<usize>()
}

/// The positions of an expanded key that is modulo `key`.
fn expanded_modulus(key: Modulus) -> Modulus {
    key.words().lcm(Modulus::of_sprout(key.odd(), 0))
}

fn expanded_components(context: &Context, key: Modulus, group: usize) -> Components {
    let parameters = context.parameters();
    Components::of(key, parameters.groups(group).map(|blocks| parameters.product_of_blocks(blocks)))
}

impl Context {
    /// Sets the limit, in bytes, of the coalesced and doubly decomposed keys of this context.
    ///
    /// The limit does not include the keys themselves. It is within the budget of the process
    /// ([`crate::set_cache_budget`]). Keys beyond the limit are dropped at once, the least recently
    /// used first. A new key in another form may replace those that were not used since it was last
    /// requested. As long as there is no memory for it, key switches do without it.
    ///
    /// With a limit of 0 no such keys are kept. Each key switch then adds up components itself, and
    /// the single decomposition replaces the double one. Results do not depend on the limit.
    pub fn set_key_memory(&self, bytes: usize) {
        self.memory.keys.set_limit(bytes);
    }

    /// The bytes of coalesced and doubly decomposed keys in memory, and their limit.
    pub fn key_memory(&self) -> (usize, usize) {
        self.memory.keys.memory()
    }

    /// Returns `key` with the coalesced components of a gadget, if there is memory for it.
    pub(crate) fn expanded_key(
        &self,
        key: &PreparedSwitchingKey,
        gadget: Gadget,
    ) -> Option<Arc<ExpandedKey>> {
        let bytes = bytes(self, key.modulus(), gadget);
        let gadget = gadget.with_method(Method::Single);
        self.stored_key(key, gadget, bytes, || ExpandedKey::coalesced(self, key, gadget.group()))
    }

    /// Returns the form of `key` that a gadget needs. It has `bytes` bytes. It is the stored form,
    /// or a new one if there is memory for it.
    pub(crate) fn stored_key(
        &self,
        key: &PreparedSwitchingKey,
        gadget: Gadget,
        bytes: usize,
        make: impl FnOnce() -> ExpandedKey,
    ) -> Option<Arc<ExpandedKey>> {
        if self.is_dry_run() {
            return None;
        }
        self.memory.keys.get_or_insert(key.identity(), gadget, bytes, make)
    }
}
