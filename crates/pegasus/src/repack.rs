//! Repacking of LWE ciphertexts into slots (PEGASUS, Fig. 5, Theorem 2).

use hippocrene_ckks::{Ciphertext, Values, circuits::OneTimeTransform};

use crate::{Layout, Numbers, Pegasus, PegasusError, error::argument, plan::scale_of_bits};

const OPERATION: &str = "repack numbers";

impl Pegasus {
    /// Repacks numbers into the slots of `layout`, by [`Pegasus::partial_decryption`] and
    /// [`Pegasus::reduce`].
    ///
    /// # Errors
    /// Returns the errors of these two.
    pub fn repack(&self, x: &Numbers, layout: &Layout) -> Result<Ciphertext, PegasusError> {
        self.repack_repeated(x, layout, layout.slots())
    }

    /// Repacks numbers like [`Pegasus::repack`] into a ciphertext of `slots` slots, where the slots
    /// of the layout repeat.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if there are fewer slots than the layout has, and the
    /// errors of [`Pegasus::repack`].
    pub fn repack_repeated(
        &self,
        x: &Numbers,
        layout: &Layout,
        slots: usize,
    ) -> Result<Ciphertext, PegasusError> {
        if slots < layout.slots() {
            let what = format!("there are {slots} slots, but the layout has {}", layout.slots());
            return argument(OPERATION, what);
        }
        let decrypted = self.partial_decryption(x, layout)?;
        self.reduce_repeated(x, &decrypted, slots)
    }

    /// Computes `(A s + b)/(q k)` in the slots, where `k` is the reach of the reduction.
    ///
    /// Row `i` of `A` is the `a` of the LWE ciphertext that goes to slot `i`, or zeros if no number
    /// goes there. The repacking key holds `s` encrypted.
    ///
    /// With `l` slots and dimension `n`, `A` is tiled to `max(l, n)` rows and has `min(l, n)`
    /// diagonals. If `l < n`, the `n/l` sums of columns are added up in the end. Residues are
    /// divided by `q`, as numbers in `[-1/2, 1/2]`. They are divided by `k` and encoded at scale
    /// `D = 2^matrix_bits`. For a secret of weight `h`, this rounding adds an error of standard
    /// deviation `k sqrt(h max(l, n)/12)/D` to the value `I + x/q` of a slot.
    ///
    /// # Errors
    /// Returns [`PegasusError::Argument`] if the layout is for another number of numbers or has
    /// more than `N/2` slots, or if the numbers have another key or dimension than the repacking
    /// key. Returns [`PegasusError::Domain`] if they may be larger than the reduction allows.
    pub fn partial_decryption(
        &self,
        x: &Numbers,
        layout: &Layout,
    ) -> Result<Ciphertext, PegasusError> {
        self.check(x, layout)?;
        let (plan, e) = (self.plan(), self.evaluator());
        let literal = plan.literal();
        let (n, slots) = (literal.lwe().dimension(), layout.slots());
        let (rows, q) = (slots.max(n), x.parameters().modulus());
        let unit = 1.0 / (q as f64 * literal.reduction.reach());
        let numbers = layout.numbers();
        let diagonal = |r: usize, out: &mut [f64]| {
            for (i, out) in out.iter_mut().enumerate() {
                *out = numbers[i & (slots - 1)]
                    .map_or(0.0, |k| centred(x.ciphertexts()[k].a()[(i + r) & (n - 1)], q) * unit);
            }
        };
        let filled_fraction = x.len() as f64 / slots as f64;
        let transform = OneTimeTransform {
            slots: rows,
            count: slots.min(n),
            baby: literal.baby,
            diagonal: &diagonal,
            // Residues are uniform in [-1/2, 1/2) in rows that have a number.
            magnitude: (filled_fraction / 12.0).sqrt() / literal.reduction.reach(),
            operand: (literal.lwe().secret_weight() / n as f64).sqrt(),
            bound: 1.0,
            scale: scale_of_bits(literal.matrix_bits)?,
            memory: literal.memory,
        };
        let mut sum = e.fresh_linear_transform(
            self.repacking(),
            &transform,
            scale_of_bits(literal.scale_bits)?,
        )?;
        let mut step = slots;
        while step < n {
            sum = self.sum_of_columns(&sum, step)?;
            step *= 2;
        }
        let context = plan.context();
        let mut sum = sum.with_slots(context, slots)?;
        sum.set_bound(1.0);
        // In a dry run the `a` are 0, and the numbers are in the `b`
        // ([`hippocrene_fhew::RlweCoefficients::dry_run`]).
        sum.set_tracked_values(Values::Real(&[]));
        let b: Vec<f64> = numbers
            .iter()
            .map(|k| k.map_or(0.0, |k| centred(x.ciphertexts()[k].b(), q) * unit))
            .collect();
        let b = context.encode(Values::Real(&b), slots, sum.scale(), sum.modulus())?;
        let mut out = e.add_plain(&sum, &b)?;
        out.set_bound(1.0);
        Ok(out)
    }

    /// Returns the sums of slots `i` and `i + step`.
    fn sum_of_columns(&self, a: &Ciphertext, step: usize) -> Result<Ciphertext, PegasusError> {
        let e = self.evaluator();
        let rotated = e.rotate(a, step as i64)?;
        let mut inner = a.inner().clone();
        e.context().rlwe().add_assign(&mut inner, rotated.inner())?;
        // Every other coefficient is doubled, and the coefficients in between do not matter. The
        // rotation adds noise of its own.
        inner.set_noise(a.inner().noise().scaled(0.5 * 3f64.log2()).plus(rotated.inner().noise()));
        Ok(Ciphertext::from_parts(e.context(), inner, a.scale(), a.slots(), a.bound())?)
    }

    fn check(&self, x: &Numbers, layout: &Layout) -> Result<(), PegasusError> {
        let literal = self.plan().literal();
        let (have, need) = (x.parameters().dimension(), literal.lwe().dimension());
        let max_slots = self.plan().context().max_slots();
        let what = if layout.places().len() != x.len() {
            format!(
                "the layout has places for {} numbers, but there are {}",
                layout.places().len(),
                x.len()
            )
        } else if layout.slots() > max_slots {
            format!("the layout has {} slots, but there are {max_slots}", layout.slots())
        } else if have != need {
            format!("the LWE ciphertexts have dimension {have}, but {need} was planned")
        } else if x.key() != self.lwe_key() {
            format!(
                "the numbers are under the key {}, but the repacking key has {}",
                x.key(),
                self.lwe_key()
            )
        } else {
            let limit = 2.0 * literal.reduction.epsilon() * x.largest_bound();
            if x.bound() > limit * (1.0 + 1e-9) {
                return Err(PegasusError::Domain { operation: OPERATION, have: x.bound(), limit });
            }
            return Ok(());
        };
        argument(OPERATION, what)
    }
}

/// Returns the representative of a residue in `[-q/2, q/2]`.
fn centred(x: u64, q: u64) -> f64 {
    if x > q / 2 { -((q - x) as f64) } else { x as f64 }
}
