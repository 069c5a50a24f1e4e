//! The plans of the key switches of a preset: the index map of LAKS (4.3), for printing.

use hippocrene_arrays::Error;
use hippocrene_ring::Threads;
use hippocrene_rlwe::{Context, Gadget, Method, Modulus, Profile};
use serde::Serialize;

use super::Preset;

/// The planned key switches of a preset, from the modulus of fresh ciphertexts down.
///
/// # Examples
/// ```
/// let plan = hippocrene::Preset::by_name("n13")?.plan(None)?;
/// assert_eq!(plan.preset, "n13");
/// let [fresh, .., smallest] = &plan.moduli[..] else { unreachable!("there are several moduli") };
/// assert!(smallest.units == 1 && fresh.bits > smallest.bits);
/// assert!(fresh.milliseconds <= fresh.base_milliseconds);
/// # Ok::<_, hippocrene::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// The name of the preset.
    pub preset: &'static str,
    /// The kernel for which the key switches are planned.
    pub kernel: String,
    /// The plans, one for each modulus.
    pub moduli: Vec<Planned>,
}

/// The plan of a key switch at one modulus, with the result at the same modulus.
///
/// See [`Plan`] for an example.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Planned {
    /// The number of units of the modulus.
    pub units: usize,
    /// The number of limbs of the modulus: its units and the limbs of the sprout.
    pub limbs: usize,
    /// The size of the modulus, in bits.
    pub bits: f64,
    /// The number of blocks of the key that are coalesced into one digit.
    pub group: usize,
    /// The number of digits into which polynomials are decomposed.
    pub digits: usize,
    /// The number of limbs of the special modulus.
    pub special_limbs: usize,
    /// The number of groups into which the key is decomposed a second time; `None` for the single
    /// decomposition.
    pub double_groups: Option<usize>,
    /// The predicted time of the key switch on one thread, in milliseconds.
    pub milliseconds: f64,
    /// The predicted time with the unchanged gadget of the key, in milliseconds.
    pub base_milliseconds: f64,
}

impl Planned {
    fn new(context: &Context, modulus: Modulus) -> Result<Self, Error> {
        let (parameters, gadget) = (context.parameters(), context.gadget(modulus)?);
        let milliseconds =
            |gadget: Gadget| Ok::<f64, Error>(1e3 * context.predict(modulus, gadget, modulus)?);
        Ok(Planned {
            units: modulus.words().limb_count(),
            limbs: modulus.limb_count(),
            bits: parameters.log2(modulus),
            group: gadget.group(),
            digits: context.key_switch_operations(modulus, gadget, modulus)?.digits(),
            special_limbs: gadget.specials().limb_count(),
            double_groups: match gadget.method() {
                Method::Single => None,
                Method::Double { groups } => Some(groups),
            },
            milliseconds: milliseconds(gadget)?,
            base_milliseconds: milliseconds(parameters.base_gadget())?,
        })
    }
}

impl Preset {
    /// Plans the key switches of this preset with the costs of `profile`, or with typical costs.
    ///
    /// There is a plan for the modulus of fresh ciphertexts and for each product of the first
    /// units.
    ///
    /// # Errors
    /// As [`Preset::parameters`], and [`Error::System`] when the kernel named in
    /// `HIPPOCRENE_KERNEL` is not available.
    pub fn plan(&self, profile: Option<Profile>) -> Result<Plan, Error> {
        let parameters = self.parameters()?;
        let (fresh, units) = (self.fresh(&parameters), parameters.unit_count());
        let mut context = Context::new(parameters, Threads::single())?;
        if let Some(profile) = profile {
            context = context.with_profile(profile);
        }
        let below =
            (1..=units).rev().map(|l| Modulus::of_range(0..l)).filter(|modulus| *modulus != fresh);
        let moduli =
            std::iter::once(fresh).chain(below).map(|modulus| Planned::new(&context, modulus));
        Ok(Plan {
            preset: self.name,
            kernel: context.kernel().to_string(),
            moduli: moduli.collect::<Result<_, _>>()?,
        })
    }
}
