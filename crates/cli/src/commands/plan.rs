//! `hippocrene plan`.

use super::bootstrapping::Bootstrap;
use super::look_ups::LookedUp;
use crate::args::PlanArguments;
use crate::console::Console;
use crate::error::CliError;
use hippocrene::{
    BitPlan, Bootstrapping, BootstrappingDescription, LookUps, LookUpsDescription, Plan, Planned,
    Preset, Session, profile,
};
use serde::Serialize;
use std::fmt::{self, Display};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The plan and related descriptions.
#[derive(Debug, Serialize)]
struct Printed {
    #[serde(flatten)]
    plan: Plan,
    /// The file of the profile that was used, or `None` for typical figures.
    profile: Option<PathBuf>,
    /// The bootstrap of real arrays of values up to 1, if there is one.
    bootstrapping: Option<BootstrappingDescription>,
    /// log2 of the failure probability of a bootstrap of bits, if there is one.
    bits_log2_failure_probability: Option<f64>,
    /// Look-ups in the default tables, if the parameters have enough capacity for them.
    look_ups: Option<LookUpsDescription>,
}

impl Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { preset, kernel, moduli } = &self.plan;
        let by = match &self.profile {
            Some(path) => path.display().to_string(),
            None => "typical figures (hippocrene tune measures this machine)".to_owned(),
        };
        write!(
            f,
            "{preset}, kernel {kernel}, by {by}\n\n units  limbs    bits  blocks  digits  \
             specials    method     time    as is"
        )?;
        for row in moduli {
            let Planned { units, limbs, bits, group, digits, special_limbs, .. } = row;
            let method =
                row.double_groups.map_or("single".to_owned(), |groups| format!("double/{groups}"));
            write!(
                f,
                "\n{units:>6}{limbs:>7}{bits:>8.1}{group:>8}{digits:>8}{special_limbs:>10}\
                 {method:>10}{:>9}{:>9}",
                time(row.milliseconds),
                time(row.base_milliseconds)
            )?;
        }
        f.write_str(
            "\n\nlimbs     of the modulus: its units and its limbs of the sprout\nblocks    of the \
             key that make one digit\nspecials  limbs of the special modulus\nmethod    single \
             decomposition, or double with the number of groups of the second one\ntime      of a \
             key switch as predicted, in milliseconds; as is: with the unchanged gadget of the key",
        )?;
        if let Some(described) = &self.bootstrapping {
            write!(f, "\n\n{}", Bootstrap(described))?;
        }
        if let Some(log2) = self.bits_log2_failure_probability {
            write!(f, "\n\nbootstraps bits\n  failure     with probability 2^{log2:.0}")?;
        }
        match &self.look_ups {
            Some(described) => write!(f, "\n\n{}", LookedUp(described)),
            None => Ok(()),
        }
    }
}

/// Formats milliseconds with three digits.
fn time(milliseconds: f64) -> String {
    let decimals = (2.0 - milliseconds.log10().floor()).clamp(0.0, 4.0) as usize;
    format!("{milliseconds:.decimals$}")
}

pub(super) fn run(arguments: &PlanArguments, console: &mut Console<'_>) -> Result<(), CliError> {
    let preset = match Preset::by_name(&arguments.subject) {
        Err(_) if Path::new(&arguments.subject).exists() => {
            return super::program::plan(Path::new(&arguments.subject), console);
        }
        found => found?,
    };
    let installed = profile::installed()?;
    let plan = preset.plan(installed.clone())?;
    let used = installed.filter(|profile| profile.kernel().to_string() == plan.kernel);
    // Refused parameter sets have no settings, and many sets have no bootstrap.
    let session = preset.settings().and_then(|settings| Session::new(settings, 1)).ok();
    let describe = |session: &Session| Bootstrapping::default().describe(session).ok();
    let bits =
        |session: &Session| BitPlan::new(Arc::clone(session.context()), preset.bits().ok()?).ok();
    let printed = Printed {
        profile: used.and_then(|_| profile::path()),
        plan,
        bootstrapping: session.as_ref().and_then(describe),
        bits_log2_failure_probability: session
            .as_ref()
            .and_then(bits)
            .map(|bits| bits.log2_failure_probability()),
        look_ups: session.as_ref().and_then(|session| LookUps::default().describe(session).ok()),
    };
    console.result(&printed, &printed)
}
