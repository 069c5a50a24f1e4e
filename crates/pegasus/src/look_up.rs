//! Tables (PEGASUS Fig. 6, steps 5 and 6), and all steps in one.

use hippocrene_ckks::{Ciphertext, Scale};
use hippocrene_fhew::{FhewError, LookupTable, LweCiphertext};

use crate::{Layout, Numbers, Pegasus, PegasusError, error::argument};

const OPERATION: &str = "look up numbers";

/// Numbers stay so many deviations of the index away from the ends of the domain, beyond which a table goes on with the other sign.
const DEVIATIONS: f64 = 6.0;

impl Pegasus {
    /// `f` of every number, at `scale`, which is for the modulus of the LWE ciphertexts ([`crate::PegasusPlan::table_scale`] for numbers that are looked up again,
    /// [`crate::PegasusPlan::repacking_scale`] for those that are repacked). The bound of the result is that of the entries of the table.
    ///
    /// The domain of the table is `[-D, D)` for numbers at the scale `q/4D`. **Error** (PEGASUS, formula 3): that of the index times the steepest slope of the table,
    /// and that of the rotation and of the switch back ([`Numbers::noise`]).
    ///
    /// # Errors
    /// [`PegasusError::Domain`] when numbers may be so near the ends of the domain that errors lead out of it; when `f` has values that are not finite or do
    /// not fit the modulus, or numbers are of another key.
    pub fn look_up(
        &self,
        x: &Numbers,
        scale: Scale,
        f: impl Fn(f64) -> f64,
    ) -> Result<Numbers, PegasusError> {
        let (tables, back) = (self.tables(), self.back());
        let parameters = tables.parameters();
        let (degree, q) = (parameters.ring().dimension(), x.parameters().modulus());
        let domain = x.largest_bound() / 2.0;
        let entry = 2.0 * domain / degree as f64;
        let index = parameters.index_noise(x.noise(), q).log2_std().exp2();
        let limit = domain - DEVIATIONS * index * entry;
        if x.bound() > limit {
            return Err(PegasusError::Domain { operation: OPERATION, have: x.bound(), limit });
        }
        let lwe = back.parameters()[1].modulus();
        let output = scale.times_integer(parameters.ring().modulus()).divided_by(lwe);
        let table = LookupTable::new(&parameters, domain, output.to_f64(), &f)?;
        let half = degree as i64 / 2;
        let bound = (-half..half).map(|k| f(k as f64 * entry).abs()).fold(0.0, f64::max);
        let threads = self.plan().context().rlwe().threads();
        let items: Vec<(&LweCiphertext, &LookupTable)> =
            x.ciphertexts().iter().map(|c| (c, &table)).collect();
        let mut values: Vec<Result<LweCiphertext, FhewError>> =
            tables.look_up_all(&items, threads)?.into_iter().map(Ok).collect();
        threads.for_each_mut(&mut values, |_, value| {
            if let Ok(ciphertext) = &*value {
                *value = ciphertext.switch_modulus(lwe).and_then(|c| back.switch(&c));
            }
        });
        Numbers::new(values.into_iter().collect::<Result<_, _>>()?, scale, bound)
    }

    /// `f` of the number in every slot of `a`, whose bound says what `f` is asked for: by [`Pegasus::to_coefficients`], [`Pegasus::extract`], [`Pegasus::look_up`] and
    /// [`Pegasus::repack`]. What lies in the middle of the values of `f` is added in the end, so that tables hold half as much.
    ///
    /// # Errors
    /// As these.
    pub fn lut(&self, a: &Ciphertext, f: impl Fn(f64) -> f64) -> Result<Ciphertext, PegasusError> {
        let (plan, bound) = (self.plan(), a.bound());
        let coefficients = self.to_coefficients(a)?;
        let x = self.extract(&coefficients, &(0..a.slots()).collect::<Vec<_>>())?;
        // The entries of the table, of which those beyond the bound are as at the bound.
        let half = plan.literal().tables.ring().dimension() as i64 / 2;
        let entry = x.largest_bound() / (2 * half) as f64;
        let values = (-half..half).map(|k| f((k as f64 * entry).clamp(-bound, bound)));
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), y| (l.min(y), h.max(y)));
        let (middle, half) = ((low + high) / 2.0, (high - low) / 2.0);
        if !(middle.is_finite() && half.is_finite()) {
            return argument(OPERATION, format!("the function is not finite within {bound}"));
        }
        let scale = plan.repacking_scale(if half > 0.0 { half } else { 1.0 })?;
        let y = self.look_up(&x, scale, |x| f(x.clamp(-bound, bound)) - middle)?;
        let packed = self.repack(&y, &Layout::in_order(a.slots()))?;
        Ok(self.evaluator().add_number(&packed, middle)?)
    }
}
