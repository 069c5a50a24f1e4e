//! The extraction of single numbers of small dimension from coefficients (PEGASUS, Fig. 6, steps 2
//! and 4).

use std::collections::BTreeMap;

use hippocrene_fhew::{FhewError, LweCiphertext, RlweCoefficients};

use crate::{Coefficients, Numbers, Pegasus, PegasusError, error::argument};

const OPERATION: &str = "extract numbers";

impl Pegasus {
    /// Extracts the numbers of these slots, in this order, under the LWE secret. They have
    /// dimension `n` and the modulus of the switching key to that secret.
    ///
    /// All slots whose coefficients have the same index modulo `N/n` share one key switch. It costs
    /// the same for `n/2` numbers as for one.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if there is no such slot or the list is empty, and an
    /// error if the coefficients are under another key.
    pub fn extract(&self, a: &Coefficients, slots: &[usize]) -> Result<Numbers, PegasusError> {
        if let Some(slot) = slots.iter().find(|slot| **slot >= a.slots()) {
            return argument(OPERATION, format!("there is no slot {slot} among {}", a.slots()));
        }
        let key = self.extraction();
        let (from, to) = (a.inner().parameters().modulus(), key.parameters()[1].modulus());
        let lowered = a.inner().switch_modulus(to)?;
        let places: Vec<usize> = slots.iter().map(|slot| a.place(*slot)).collect();
        let stride = key.stride();
        let mut classes: BTreeMap<usize, Option<Result<RlweCoefficients, FhewError>>> =
            places.iter().map(|place| (place % stride, None)).collect();
        let mut work: Vec<_> = classes.iter_mut().collect();
        self.plan().context().rlwe().threads().for_each_mut(&mut work, |_, (class, switched)| {
            **switched = Some(key.switch_coefficients(&lowered, **class));
        });
        let number = |place: &usize| -> Result<LweCiphertext, FhewError> {
            match &classes[&(place % stride)] {
                Some(Ok(switched)) => switched.extract(place / stride),
                Some(Err(error)) => Err(error.clone()),
                None => unreachable!("every class was switched"),
            }
        };
        let numbers = places.iter().map(number).collect::<Result<_, _>>()?;
        Numbers::new(numbers, a.scale().times_integer(to).divided_by(from), a.bound())
    }
}
