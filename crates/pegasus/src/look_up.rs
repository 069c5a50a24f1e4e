//! Look-ups in tables (PEGASUS, Fig. 6, steps 5 and 6), and all steps in one.

use hippocrene_ckks::{Ciphertext, Scale, Short};
use hippocrene_fhew::{FhewError, LookupTable, LookupTables, LweCiphertext};
use hippocrene_rlwe::Noise;

use crate::{
    Numbers, Pegasus, PegasusError, Tables,
    places::{bound_after_packing, unit_of},
    plan::scale_of_bits,
};

const OPERATION: &str = "look up numbers";

/// Precision in bits of the slope of the line that is added to tables (chosen). Its encoding has an
/// error of about `2^-SLOPE_BITS`.
const SLOPE_BITS: f64 = 22.0;
/// The smallest error of line and tables that is taken into account, relative to the bound of the
/// function (chosen): `2^-20`.
const MIN_RELATIVE_ERROR: f64 = 1.0 / 1048576.0;

/// Number of standard deviations of the index that numbers stay away from the ends of the domain
/// (chosen). Beyond the ends a table continues with the opposite sign.
pub(crate) const INDEX_DEVIATIONS: f64 = 6.0;

/// The largest integer factor for numbers that are multiplied to use more of the domain (chosen).
pub(crate) const MAX_FACTOR: i64 = 64;

/// The part of the error of a table's index that a noise estimate counts.
#[derive(Clone, Copy)]
pub(crate) enum IndexError {
    /// The error of the number and its rounding to an entry of the table.
    All,
    /// Only the rounding to an entry of the table. The caller counts the error of the number.
    Rounding,
    /// Neither.
    None,
}

impl Pegasus {
    /// Looks up `f` of every number, at `scale` for the modulus of the LWE ciphertexts.
    ///
    /// [`crate::PegasusPlan::table_scale`] returns the scale for results that are looked up again,
    /// and [`crate::PegasusPlan::repacking_scale`] the scale for results that are repacked. The
    /// bound of the result is the largest absolute value of an entry of the table.
    ///
    /// The domain of the table is `[-D, D)` for numbers at the scale `q/4D`. If their bound is much
    /// smaller, the numbers are multiplied by the largest integer with which the table still holds
    /// them. This makes entries narrower by that factor.
    ///
    /// **Error** (PEGASUS, formula 3): the error of the index times the steepest slope of the
    /// table, plus the errors of the rotation and of the switch back ([`Numbers::noise`]).
    ///
    /// # Errors
    /// Returns [`PegasusError::Domain`] if numbers may be so close to the ends of the domain that
    /// errors lead out of it. Returns an error if `f` has values that are not finite or do not fit
    /// the modulus, or if numbers have another key.
    pub fn look_up(
        &self,
        x: &Numbers,
        scale: Scale,
        f: impl Fn(f64) -> f64,
    ) -> Result<Numbers, PegasusError> {
        self.look_up_counting(x, scale, f, IndexError::All)
    }

    /// Does the same as [`Pegasus::look_up`] for a function that is constant around the numbers, or
    /// if the error of the index does not matter.
    pub(crate) fn look_up_steps(
        &self,
        x: &Numbers,
        scale: Scale,
        f: impl Fn(f64) -> f64,
    ) -> Result<Numbers, PegasusError> {
        self.look_up_counting(x, scale, f, IndexError::None)
    }

    /// Does the same as [`Pegasus::look_up`], with a noise estimate that counts this part of the
    /// error of the index.
    pub(crate) fn look_up_counting(
        &self,
        x: &Numbers,
        scale: Scale,
        f: impl Fn(f64) -> f64,
        index_error: IndexError,
    ) -> Result<Numbers, PegasusError> {
        let parameters = self.tables().parameters();
        let q = x.parameters().modulus();
        let (inputs, domain) = self.scaled_to_domain(x)?;
        let table = LookupTable::new(&parameters, domain, self.entry_scale(scale).to_f64(), &f)?;
        let bound = self.largest_entry(domain, &f);
        let items: Vec<(&LweCiphertext, &LookupTable)> =
            inputs.iter().map(|c| (c, &table)).collect();
        let noise = match index_error {
            IndexError::All => None,
            IndexError::Rounding => {
                Some(parameters.noise().plus(table.noise(parameters.index_noise(Noise::NONE, q))))
            }
            IndexError::None => Some(parameters.noise()),
        };
        Numbers::new(self.look_up_sums(&items, 1, noise)?, scale, bound)
    }

    /// Looks up `f(k, x)` for every `k` below `count` and every number `x`, at `scale`, by one
    /// rotation for each number. The functions are constant around the numbers. Results of the same
    /// `k` are adjacent.
    ///
    /// **Error:** that of a rotation times the steps of the functions ([`LookupTables`]), plus that
    /// of the switch.
    pub(crate) fn look_up_several_steps(
        &self,
        x: &Numbers,
        scale: Scale,
        count: usize,
        f: impl Fn(usize, f64) -> f64,
    ) -> Result<Numbers, PegasusError> {
        let parameters = self.tables().parameters();
        let (inputs, domain) = self.scaled_to_domain(x)?;
        let output = self.entry_scale(scale).to_f64();
        let tables = (0..count).map(|k| LookupTable::new(&parameters, domain, output, |x| f(k, x)));
        let tables = LookupTables::new(&parameters, &tables.collect::<Result<Vec<_>, _>>()?)?;
        let threads = self.plan().context().rlwe().threads();
        let values = self.tables().look_up_several_all(
            &inputs.iter().collect::<Vec<_>>(),
            &tables,
            threads,
        )?;
        let noises = tables.noises(&parameters);
        let mut all = Vec::with_capacity(count * x.len());
        for (k, noise) in noises.into_iter().enumerate() {
            all.extend(values.iter().map(|values| {
                let mut value = values[k].clone();
                value.set_noise(noise);
                value
            }));
        }
        let bound = (0..count).map(|k| self.largest_entry(domain, |x| f(k, x))).fold(0.0, f64::max);
        Numbers::new(self.back_to_lwe(all)?, scale, bound)
    }

    /// Returns the numbers times the largest integer with which the domain of a table still holds
    /// them, and that domain.
    fn scaled_to_domain(&self, x: &Numbers) -> Result<(Vec<LweCiphertext>, f64), PegasusError> {
        let parameters = self.tables().parameters();
        let (degree, q) = (parameters.ring().dimension(), x.parameters().modulus());
        let widest = x.largest_bound() / 2.0;
        let within = |factor: i64| {
            let domain = widest / factor as f64;
            let noise = x.noise().scaled((factor as f64).log2());
            let entry = 2.0 * domain / degree as f64;
            domain - INDEX_DEVIATIONS * parameters.index_noise(noise, q).log2_std().exp2() * entry
        };
        let mut factor = ((widest / x.bound()) as i64).clamp(1, MAX_FACTOR);
        while factor > 1 && x.bound() > within(factor) {
            factor -= 1;
        }
        if x.bound() > within(factor) {
            return Err(self.domain_error(x, widest, within(factor)));
        }
        let times = |c: &LweCiphertext| {
            let mut c = c.clone();
            c.scale_assign(factor);
            c
        };
        Ok((x.ciphertexts().iter().map(times).collect(), widest / factor as f64))
    }

    /// Returns the error for numbers whose bound exceeds `limit`. They are too large for a table up
    /// to `widest`, or their error needs the rest of it.
    fn domain_error(&self, x: &Numbers, widest: f64, limit: f64) -> PegasusError {
        let have = x.bound();
        if have > widest {
            return PegasusError::Domain { operation: OPERATION, have, limit };
        }
        let bits = x.scale().log2() - x.noise().log2_std();
        let what = format!(
            "values up to {} with {bits:.1} bits of precision: their error would lead out of the \
             table. Make them more precise, or declare a wider bound (with_bound).",
            Short(have)
        );
        PegasusError::Argument { operation: OPERATION, what }
    }

    /// Returns the largest absolute value of an entry of a table of `f`.
    fn largest_entry(&self, domain: f64, f: impl Fn(f64) -> f64) -> f64 {
        let half = self.tables().parameters().ring().dimension() as i64 / 2;
        (-half..half).map(|k| f(k as f64 * domain / half as f64).abs()).fold(0.0, f64::max)
    }

    /// Returns 1 for numbers from 0 on and 0 for negative ones, at `scale`.
    ///
    /// A sign is antiperiodic, so numbers may use nearly the whole circle. The domain of other
    /// tables is half of it. **Error:** that of rotation and switch, if a number differs from 0 by
    /// more than the error of the index.
    pub(crate) fn look_up_sign(&self, x: &Numbers, scale: Scale) -> Result<Numbers, PegasusError> {
        let parameters = self.tables().parameters();
        let table = LookupTable::new(
            &parameters,
            self.circle_domain(x)?,
            self.entry_scale(scale).to_f64(),
            half_sign,
        )?;
        let items: Vec<(&LweCiphertext, &LookupTable)> =
            x.ciphertexts().iter().map(|c| (c, &table)).collect();
        Numbers::new(self.look_up_sums(&items, 1, Some(parameters.noise()))?, scale, 0.5)?.plus(0.5)
    }

    /// Looks up [`Pegasus::look_up_sign`] at `scale` and `|x|/times` at `magnitude`, by one
    /// rotation.
    pub(crate) fn look_up_sign_and_magnitude(
        &self,
        x: &Numbers,
        scale: Scale,
        magnitude: Scale,
        times: i64,
    ) -> Result<(Numbers, Numbers), PegasusError> {
        let parameters = self.tables().parameters();
        let (domain, factor) = (self.circle_domain(x)?, times as f64);
        let tables = self.sign_and_magnitude(domain, scale, magnitude, factor)?;
        let inputs: Vec<&LweCiphertext> = x.ciphertexts().iter().collect();
        let threads = self.plan().context().rlwe().threads();
        let mut both = self.tables().look_up_several_all(&inputs, &tables, threads)?;
        let magnitudes = both.iter_mut().map(|values| values.swap_remove(1)).collect();
        let mut signs: Vec<LweCiphertext> =
            both.into_iter().map(|mut values| values.swap_remove(0)).collect();
        // The index is far from the step of the sign.
        let noise = tables.noises(&parameters)[0];
        signs.iter_mut().for_each(|c| c.set_noise(noise));
        let sign = Numbers::new(self.back_to_lwe(signs)?, scale, 0.5)?.plus(0.5)?;
        let largest = domain / factor;
        let below_largest = Numbers::new(self.back_to_lwe(magnitudes)?, magnitude, largest)?;
        Ok((sign, below_largest.with_bound(0.0)?.plus(largest)?))
    }

    /// Makes the two tables of [`Pegasus::look_up_sign_and_magnitude`]. The second one is that of
    /// `(|x| - domain)/times`.
    pub(crate) fn sign_and_magnitude(
        &self,
        domain: f64,
        scale: Scale,
        magnitude: Scale,
        times: f64,
    ) -> Result<LookupTables, PegasusError> {
        let parameters = self.tables().parameters();
        let sign =
            LookupTable::new(&parameters, domain, self.entry_scale(scale).to_f64(), half_sign)?;
        let other = self.entry_scale(magnitude).to_f64();
        let other = LookupTable::new(&parameters, domain, other, |x| (x.abs() - domain) / times)?;
        Ok(LookupTables::new(&parameters, &[sign, other])?)
    }

    /// Returns the domain of the table of an antiperiodic function of these numbers. The numbers
    /// may use twice the domain.
    pub(crate) fn circle_domain(&self, x: &Numbers) -> Result<f64, PegasusError> {
        let parameters = self.tables().parameters();
        let widest = x.largest_bound();
        let index = parameters.index_noise(x.noise(), x.parameters().modulus()).log2_std().exp2();
        let limit =
            widest * (1.0 - INDEX_DEVIATIONS * index / parameters.ring().dimension() as f64);
        if x.bound() > limit {
            return Err(self.domain_error(x, widest, limit));
        }
        Ok(widest / 2.0)
    }

    /// Returns the scale of the entries of a table, for values at `scale`.
    pub(crate) fn entry_scale(&self, scale: Scale) -> Scale {
        let (from, to) =
            (self.tables().parameters().ring().modulus(), self.back().parameters()[1].modulus());
        scale.times_integer(from).divided_by(to)
    }

    /// Looks up these tables at these ciphertexts, and returns the results under the LWE secret.
    /// Each `terms` successive results are added up. `noise` replaces the estimated noise before
    /// the switch to that secret, if it is known more precisely.
    pub(crate) fn look_up_sums(
        &self,
        items: &[(&LweCiphertext, &LookupTable)],
        terms: usize,
        noise: Option<Noise>,
    ) -> Result<Vec<LweCiphertext>, PegasusError> {
        let values = self.tables().look_up_all(items, self.plan().context().rlwe().threads())?;
        let sums = values
            .chunks_exact(terms)
            .map(|terms| {
                let mut sum = terms[0].clone();
                terms[1..].iter().try_for_each(|term| sum.add_assign(term))?;
                if let Some(noise) = noise {
                    sum.set_noise(noise);
                }
                Ok(sum)
            })
            .collect::<Result<_, FhewError>>()?;
        self.back_to_lwe(sums)
    }

    /// Switches values from the ring of tables back to the LWE secret.
    fn back_to_lwe(&self, values: Vec<LweCiphertext>) -> Result<Vec<LweCiphertext>, PegasusError> {
        let (back, threads) = (self.back(), self.plan().context().rlwe().threads());
        let lwe = back.parameters()[1].modulus();
        let mut values: Vec<Result<LweCiphertext, FhewError>> =
            values.into_iter().map(Ok).collect();
        threads.for_each_mut(&mut values, |_, value| {
            if let Ok(ciphertext) = &*value {
                *value = ciphertext.switch_modulus(lwe).and_then(|c| back.switch(&c));
            }
        });
        Ok(values.into_iter().collect::<Result<_, _>>()?)
    }

    /// Makes tables of `f` on `domain` for [`Pegasus::apply`], at most `max_look_ups` (1 to 4).
    ///
    /// More tables take longer and have a smaller error. A table is added only if it reduces the
    /// error enough. The error is stated before anything is computed ([`Tables::deviation`]).
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if the domain is not an interval or `f` is not finite on
    /// all of it.
    pub fn make_tables(
        &self,
        domain: (f64, f64),
        max_look_ups: usize,
        f: impl Fn(f64) -> f64,
    ) -> Result<Tables, PegasusError> {
        let parameters = self.tables().parameters();
        let margin = self.plan().literal().margin;
        Tables::new(&parameters, self.index_deviation(), margin, domain, max_look_ups, f)
    }

    /// Applies the function of `tables` to the numbers in these slots of `a`, which must be in the
    /// domain. Other slots may hold any values.
    ///
    /// In the result, slots that are not listed hold 0, up to the smallest power of two that holds
    /// all listed ones. The slots up to there repeat in the rest of the ciphertext, without the
    /// line and the middle of the function.
    ///
    /// It uses [`Pegasus::to_coefficients`], [`Pegasus::extract`], look-ups and
    /// [`Pegasus::repack`]. The line of the function ([`Tables`]) is computed from `a` itself.
    ///
    /// **Error:** [`Tables::deviation`], plus the effect of the error of `a` on the function
    /// ([`Tables::deviation_of`]).
    ///
    /// # Errors
    /// Returns the errors of these operations.
    pub fn apply(
        &self,
        a: &Ciphertext,
        tables: &Tables,
        slots: &[usize],
    ) -> Result<Ciphertext, PegasusError> {
        let (plan, e, (low, high)) = (self.plan(), self.evaluator(), tables.domain());
        let (slope, middle) = tables.line();
        let unit = match slope == 0.0 {
            true => 0,
            false => unit_of(
                (low, high),
                SLOPE_BITS,
                tables.deviation().max(MIN_RELATIVE_ERROR * tables.bound()),
            ),
        };
        let one = f64::from(unit).exp2();
        let (centre, half) = (low.midpoint(high) / one, (high - low) / 2.0 / one);
        let a = a.clone().in_unit(unit);
        let mut a = if centre == 0.0 { a } else { e.add_number(&a, -centre)? };
        // With this bound, numbers with their margin use half of the circle.
        a.set_bound(half * (1.0 + tables.margin()) / (1.0 + plan.literal().margin));
        let x = self.extract(&self.to_coefficients(&a)?, slots)?;
        let parameters = self.tables().parameters();
        let scale = plan.repacking_scale(tables.range())?;
        let output = self.entry_scale(scale).to_f64();
        let lookup_tables = tables.tables(&parameters, output)?;
        let mut inputs = Vec::with_capacity(x.len() * lookup_tables.len());
        for c in x.ciphertexts() {
            for (factor, table) in &lookup_tables {
                let mut c = c.clone();
                c.scale_assign(*factor);
                inputs.push((c, table));
            }
        }
        let items: Vec<(&LweCiphertext, &LookupTable)> =
            inputs.iter().map(|(c, table)| (c, *table)).collect();
        let rotations = parameters.noise().scaled(0.5 * (lookup_tables.len() as f64).log2());
        // The error of the numbers before extraction.
        let input_error =
            x.noise().less(self.extraction().noise()).scaled(-x.scale().log2()).log2_std().exp2();
        let deviations = [tables.deviation(), tables.deviation_of(input_error * one)];
        let noise =
            deviations.into_iter().fold(rotations, |sum, d| sum.plus(Noise::from_std(d * output)));
        let values = self.look_up_sums(&items, lookup_tables.len(), Some(noise))?;
        let y = Numbers::new(values, scale, tables.range())?;
        // Short results repeat, without the line and the middle.
        let mut result = self.add_at(&self.packed(&y, &a, slots)?, middle, slots)?;
        if slope != 0.0 {
            a.set_bound(half);
            let line = self.mul_at(
                &a,
                slope * one,
                scale_of_bits(plan.literal().output_scale_bits)?,
                slots,
            )?;
            let line = e.rescale(&line, result.scale())?;
            let (left, right) = e.align(&result, &line)?;
            result = e.add(&left, &right)?;
        }
        result.set_bound(bound_after_packing(
            tables.bound(),
            tables.range(),
            slots,
            result.slots(),
        ));
        Ok(result)
    }

    /// Applies `f` to the number in every slot of `a`. The numbers are in `[-B, B]` for the bound
    /// `B` of `a`. It is [`Pegasus::apply`] with one table.
    ///
    /// # Errors
    /// Returns the errors of [`Pegasus::make_tables`] and [`Pegasus::apply`].
    pub fn lut(&self, a: &Ciphertext, f: impl Fn(f64) -> f64) -> Result<Ciphertext, PegasusError> {
        let tables = self.make_tables((-a.bound(), a.bound()), 1, f)?;
        self.apply(a, &tables, &(0..a.slots()).collect::<Vec<_>>())
    }
}

pub(crate) fn half_sign(x: f64) -> f64 {
    if x < 0.0 { -0.5 } else { 0.5 }
}
