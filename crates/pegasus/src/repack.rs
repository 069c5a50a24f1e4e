//! Repacking: LWE ciphertexts into slots (PEGASUS Fig. 5, Theorem 2).

use hippocrene_ckks::{Ciphertext, Values, circuits::FreshTransform};

use crate::{Layout, Numbers, Pegasus, PegasusError, error::argument, plan::power};

const OPERATION: &str = "repack numbers";

impl Pegasus {
    /// The numbers in the slots that `layout` says: [`Pegasus::partial_decryption`], and then
    /// [`Pegasus::reduce`].
    ///
    /// # Errors
    /// As these.
    pub fn repack(&self, x: &Numbers, layout: &Layout) -> Result<Ciphertext, PegasusError> {
        self.repack_repeated(x, layout, layout.slots())
    }

    /// [`Pegasus::repack`] as a ciphertext of so many slots, the layout's at least, in which its
    /// slots are repeated.
    ///
    /// # Errors
    /// [`PegasusError::Argument`] when there are fewer slots than the layout has, and as
    /// [`Pegasus::repack`].
    pub fn repack_repeated(
        &self,
        x: &Numbers,
        layout: &Layout,
        slots: usize,
    ) -> Result<Ciphertext, PegasusError> {
        if slots < layout.slots() {
            let what = format!("in {slots} slots, where the layout has {}", layout.slots());
            return argument(OPERATION, what);
        }
        let decrypted = self.partial_decryption(x, layout)?;
        self.reduce_repeated(x, &decrypted, slots)
    }

    /// `(A s + b)/(q k)` in the slots, `k` the reach of the reduction: `A` has the LWE ciphertexts'
    /// `a` in the rows that are their slots (rows of zeros for slots that no number goes to), and
    /// `s` comes encrypted in the repacking key.
    ///
    /// With `l` slots and dimension `n`, `A` is tiled to `max(l, n)` rows and has `min(l, n)`
    /// diagonals; where it is short, `n/l` sums of columns are added up in the end. Residues are
    /// taken as numbers in `[-1/2, 1/2]`; over `k` they are encoded at scale `D = 2^matrix_bits`,
    /// of which the rounding adds an error of standard deviation `k sqrt(h max(l, n)/12)/D` to what
    /// is `I + x/q` in a slot, for a secret of weight `h`.
    ///
    /// # Errors
    /// [`PegasusError::Argument`] when the layout is of another number of numbers or of more slots
    /// than `N/2`, or the numbers are of another key or dimension than the repacking key;
    /// [`PegasusError::Domain`] when they may be larger than the reduction allows.
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
        let share = x.len() as f64 / slots as f64;
        let transform = FreshTransform {
            slots: rows,
            count: slots.min(n),
            baby: literal.baby,
            diagonal: &diagonal,
            // Uniform in [-1/2, 1/2), where there is one.
            magnitude: (share / 12.0).sqrt() / literal.reduction.reach(),
            operand: (literal.lwe().secret_weight() / n as f64).sqrt(),
            bound: 1.0,
            scale: power(literal.matrix_bits)?,
            memory: literal.memory,
        };
        let mut sum =
            e.fresh_linear_transform(self.repacking(), &transform, power(literal.scale_bits)?)?;
        let mut step = slots;
        while step < n {
            sum = self.sum_of_columns(&sum, step)?;
            step *= 2;
        }
        let context = plan.context();
        let mut sum = sum.with_slots(context, slots)?;
        sum.set_bound(1.0);
        // In a simulation numbers are all in their `b`
        // ([`hippocrene_fhew::RlweCoefficients::hollow`]).
        sum.set_known_values(Values::Real(&[]));
        let b: Vec<f64> = numbers
            .iter()
            .map(|k| k.map_or(0.0, |k| centred(x.ciphertexts()[k].b(), q) * unit))
            .collect();
        let b = context.encode(Values::Real(&b), slots, sum.scale(), sum.modulus())?;
        let mut out = e.add_plain(&sum, &b)?;
        out.set_bound(1.0);
        Ok(out)
    }

    /// What is in slots `i` and `i + step`, added up.
    fn sum_of_columns(&self, a: &Ciphertext, step: usize) -> Result<Ciphertext, PegasusError> {
        let e = self.evaluator();
        let rotated = e.rotate(a, step as i64)?;
        let mut inner = a.inner().clone();
        e.context().rlwe().add_assign(&mut inner, rotated.inner())?;
        // Every other coefficient is doubled, and what is between them is of no account; the
        // rotation adds some noise of its own.
        inner.set_noise(a.inner().noise().scaled(0.5 * 3f64.log2()).plus(rotated.inner().noise()));
        Ok(Ciphertext::from_parts(e.context(), inner, a.scale(), a.slots(), a.bound())?)
    }

    fn check(&self, x: &Numbers, layout: &Layout) -> Result<(), PegasusError> {
        let literal = self.plan().literal();
        let (have, need) = (x.parameters().dimension(), literal.lwe().dimension());
        let most = self.plan().context().max_slots();
        let what = if layout.places().len() != x.len() {
            format!(
                "the layout has places for {} numbers, there are {}",
                layout.places().len(),
                x.len()
            )
        } else if layout.slots() > most {
            format!("{} slots are laid out, there are {most}", layout.slots())
        } else if have != need {
            format!("LWE ciphertexts of dimension {have}, {need} was planned")
        } else if x.key() != self.lwe_key() {
            format!(
                "the numbers are under the key {}, the repacking key has {}",
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

/// The representative of a residue in `[-q/2, q/2]`.
fn centred(x: u64, q: u64) -> f64 {
    if x > q / 2 { -((q - x) as f64) } else { x as f64 }
}
