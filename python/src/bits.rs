//! Bits: the presets for them, and gates by name.

use hippocrene::{BitPlan, Error, Gate, Preset, Session, Settings};
use std::sync::{Arc, OnceLock};

/// The plan for encrypting a client's bits, made when it is first needed.
#[derive(Default)]
pub(crate) struct Plan(OnceLock<Arc<BitPlan>>);

impl Plan {
    /// The plan for the session's preset, which must be one for bits.
    pub(crate) fn of(
        &self,
        session: &Session,
        make: impl FnOnce(hippocrene::BitLiteral) -> Result<Arc<BitPlan>, Error>,
    ) -> Result<&BitPlan, Error> {
        if let Some(plan) = self.0.get() {
            return Ok(plan);
        }
        let plan = make(preset(session.settings())?.bits()?)?;
        Ok(self.0.get_or_init(|| plan))
    }
}

/// The preset of settings, which must be one for bits.
pub(crate) fn preset(settings: &Settings) -> Result<Preset, Error> {
    Preset::of_bits(settings).ok_or_else(|| {
        let what = "the parameters of these keys are no preset's for bits, as bits14 is";
        Error::Argument { operation: "compute on bits", what: what.to_owned() }
    })
}

/// The gate of this name.
pub(crate) fn gate(name: &str) -> Result<Gate, Error> {
    Gate::ALL.into_iter().find(|gate| gate.name() == name).ok_or_else(|| {
        let names = Gate::ALL.map(Gate::name).join(", ");
        let what = format!("there is no gate {name:?}; there are {names}");
        Error::Argument { operation: "gates", what }
    })
}
