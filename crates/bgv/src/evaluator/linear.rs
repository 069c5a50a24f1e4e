//! Sums, and products with operands that are not encrypted.

use std::borrow::Cow;

use hippocrene_ring::arith::{inv_mod, mul_mod, signed_mod};
use hippocrene_rlwe::{self as rlwe, CombineInto, Noise};

use super::Evaluator;
use crate::{BgvError, Ciphertext, Plaintext, noise};

/// Standard deviation of the carry of a message that is multiplied by a constant, relative to the
/// norm of the constant. The message grows beyond `t/2` by a multiple of `t`, and the carry is that
/// multiple divided by `t`.
pub(crate) const CARRY_STD: f64 = noise::UNIFORM_FRACTION_STD;

impl Evaluator {
    /// Returns `a + b`, slot by slot.
    ///
    /// # Errors
    /// Returns an error if keys or parameters differ, and [`BgvError::Budget`] if the noise would
    /// be too large.
    pub fn add(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, BgvError> {
        self.combined(a, b, "add", rlwe::Context::add_into)
    }

    /// Returns `a - b`, slot by slot.
    ///
    /// # Errors
    /// The same as those of [`Evaluator::add`].
    pub fn sub(&self, a: &Ciphertext, b: &Ciphertext) -> Result<Ciphertext, BgvError> {
        self.combined(a, b, "subtract", rlwe::Context::sub_into)
    }

    /// Returns a sum or difference, computed in one pass over both operands.
    fn combined(
        &self,
        a: &Ciphertext,
        b: &Ciphertext,
        operation: &'static str,
        combine: CombineInto,
    ) -> Result<Ciphertext, BgvError> {
        let (a, b) = self.align(a, b, operation)?;
        let mut out = self.empty_like(&a);
        combine(self.context().rlwe(), out.inner_mut(), a.inner(), b.inner())?;
        out.inner_mut().set_noise(noise::sum_of_ciphertexts(a.inner().noise(), b.inner().noise()));
        self.check_budget(&out, b.budget_bits(self.context()), operation)?;
        Ok(out)
    }

    /// Returns a ciphertext without limbs that has the factor of `a`.
    fn empty_like(&self, a: &Ciphertext) -> Ciphertext {
        let mut out = Ciphertext::empty(self.context());
        out.set_factor(a.factor());
        out
    }

    /// Returns `-a`.
    ///
    /// # Errors
    /// Returns an error if `a` was made with other parameters.
    pub fn negate(&self, a: &Ciphertext) -> Result<Ciphertext, BgvError> {
        self.check(a, "negate")?;
        let mut out = self.empty_like(a);
        self.context().rlwe().negate_into(out.inner_mut(), a.inner())?;
        Ok(out)
    }

    /// Returns `a + p` for an encoded vector. The noise grows only by the carry of the sum of both
    /// messages beyond `t/2`.
    ///
    /// # Errors
    /// Returns an error if parameters or plaintext moduli differ, and [`BgvError::Budget`] if the
    /// noise would be too large.
    pub fn add_plain(&self, a: &Ciphertext, p: &Plaintext) -> Result<Ciphertext, BgvError> {
        const OPERATION: &str = "add a plaintext";
        self.check(a, OPERATION)?;
        let message = self.context().embed(p, a.factor(), a.modulus(), OPERATION)?;
        let mut out = self.empty_like(a);
        self.context().rlwe().add_plain_into(out.inner_mut(), a.inner(), &message)?;
        out.inner_mut().set_noise(noise::sum_of_ciphertexts(a.inner().noise(), Noise::NONE));
        self.check_budget(&out, a.budget_bits(self.context()), OPERATION)?;
        Ok(out)
    }

    /// Returns `a - p` for an encoded vector. The noise grows as in [`Evaluator::add_plain`].
    ///
    /// # Errors
    /// The same as those of [`Evaluator::add_plain`].
    pub fn sub_plain(&self, a: &Ciphertext, p: &Plaintext) -> Result<Ciphertext, BgvError> {
        const OPERATION: &str = "subtract a plaintext";
        self.check(a, OPERATION)?;
        let message = self.context().embed(p, a.factor(), a.modulus(), OPERATION)?;
        let mut out = self.empty_like(a);
        self.context().rlwe().sub_plain_into(out.inner_mut(), a.inner(), &message)?;
        out.inner_mut().set_noise(noise::sum_of_ciphertexts(a.inner().noise(), Noise::NONE));
        self.check_budget(&out, a.budget_bits(self.context()), OPERATION)?;
        Ok(out)
    }

    /// Returns `a p` for an encoded vector, slot by slot.
    ///
    /// The noise grows by the Euclidean norm of the coefficients of `p`, which is at most
    /// `t sqrt(N)/2`. It grows by more if it may contain `p` as a factor already: the `k`-th
    /// product with the same vector grows by `sqrt(k)` times the norm.
    ///
    /// # Errors
    /// Returns an error if parameters or plaintext moduli differ, and [`BgvError::Budget`] if the
    /// noise would be too large.
    pub fn mul_plain(&self, a: &Ciphertext, p: &Plaintext) -> Result<Ciphertext, BgvError> {
        const OPERATION: &str = "multiply by a plaintext";
        self.check(a, OPERATION)?;
        self.context().encoder().check(p, OPERATION)?;
        let rlwe = self.context().rlwe();
        let factor = rlwe.from_signed(p.coefficients(), a.modulus());
        let mut out = self.empty_like(a);
        rlwe.mul_plain_into(out.inner_mut(), a.inner(), &factor)?;
        out.inner_mut().set_noise(noise::times_plain(
            a.inner().noise(),
            p.coefficients(),
            self.floor(),
        ));
        self.check_budget(&out, a.budget_bits(self.context()), OPERATION)?;
        Ok(out)
    }

    /// Returns `a + c` for an integer `c` in every slot. The noise grows as in
    /// [`Evaluator::add_plain`].
    ///
    /// # Errors
    /// Returns an error if `a` was made with other parameters.
    pub fn add_integer(&self, a: &Ciphertext, c: i64) -> Result<Ciphertext, BgvError> {
        self.add_plain(a, &self.context().encoder().encode_coefficients(&[c])?)
    }

    /// Returns `c a` for an integer `c`.
    ///
    /// If `c` is a unit modulo `t`, it is divided out of the factor of the ciphertext. This costs
    /// neither time nor noise. Later sums of ciphertexts with different factors cost noise instead.
    /// If `c` is not a unit, the ciphertext is multiplied.
    ///
    /// # Errors
    /// Returns an error if `a` was made with other parameters, and [`BgvError::Budget`] if the
    /// noise would be too large.
    pub fn mul_integer(&self, a: &Ciphertext, c: i64) -> Result<Ciphertext, BgvError> {
        const OPERATION: &str = "multiply by an integer";
        self.check(a, OPERATION)?;
        let t = self.context().plain_modulus();
        let mut out = a.clone();
        match inv_mod(signed_mod(c, t), t) {
            Some(inverse) => out.set_factor(mul_mod(a.factor(), inverse, t)),
            None => self.multiply_residues(&mut out, centred(signed_mod(c, t), t))?,
        }
        self.check_budget(&out, a.budget_bits(self.context()), OPERATION)?;
        Ok(out)
    }

    /// Multiplies the residues of `a` by the integer `c`. The factor stays, so the message is
    /// multiplied.
    fn multiply_residues(&self, a: &mut Ciphertext, c: i64) -> Result<(), BgvError> {
        if c != 1 {
            self.context().rlwe().mul_constant_assign(a.inner_mut(), |q| signed_mod(c, q))?;
            let noise = noise::grown(a.inner().noise(), c.unsigned_abs() as f64);
            a.inner_mut().set_noise(noise);
        }
        Ok(())
    }

    /// Brings two ciphertexts to one modulus, the smaller of the two, and to one factor.
    ///
    /// With integers `x` and `y` such that `x g = y g'`, `a` is multiplied by `x` and `b` by `y`.
    /// The candidates are the pairs in the extended Euclidean algorithm on `g'/g` and `t`. The pair
    /// with the least noise of the sum is taken. A ciphertext of a larger modulus is multiplied
    /// before it is switched down, so its constant may be large.
    pub(crate) fn align<'a>(
        &self,
        a: &'a Ciphertext,
        b: &'a Ciphertext,
        operation: &'static str,
    ) -> Result<(Cow<'a, Ciphertext>, Cow<'a, Ciphertext>), BgvError> {
        self.check(a, operation)?;
        self.check(b, operation)?;
        let (context, t) = (self.context(), self.context().plain_modulus());
        let to = if context.log2(a.modulus()) <= context.log2(b.modulus()) {
            a.modulus()
        } else {
            b.modulus()
        };
        let pairs = match inv_mod(a.factor(), t) {
            Some(inverse) => pairs(mul_mod(b.factor(), inverse, t), t),
            None => {
                let what = format!("the factor {} is not a unit modulo {t}", a.factor());
                return Err(BgvError::Argument { operation, what });
            }
        };
        let noise = |c: &Ciphertext, x: i64| {
            noise::grown(c.inner().noise(), x.unsigned_abs() as f64)
                .scaled(context.log2(to) - context.log2(c.modulus()))
        };
        let cost = |(x, y): &(i64, i64)| noise::sum(noise(a, *x), noise(b, *y)).log2_std();
        let best = pairs.into_iter().min_by(|p, q| cost(p).total_cmp(&cost(q)));
        let (x, y) = best.unwrap_or((1, 1));
        Ok((self.multiplied(a, x, to)?, self.multiplied(b, y, to)?))
    }

    /// Returns `a` at the modulus `to`, with its residues and its factor multiplied by `x`. The
    /// message stays.
    pub(crate) fn multiplied<'a>(
        &self,
        a: &'a Ciphertext,
        x: i64,
        to: hippocrene_rlwe::Modulus,
    ) -> Result<Cow<'a, Ciphertext>, BgvError> {
        if x == 1 {
            return self.at_modulus(a, to);
        }
        let t = self.context().plain_modulus();
        let mut out = a.clone();
        self.multiply_residues(&mut out, x)?;
        out.set_factor(mul_mod(a.factor(), signed_mod(x, t), t));
        if out.modulus() != to {
            out = self.switch_modulus(&out, to)?;
        }
        Ok(Cow::Owned(out))
    }
}

/// Returns pairs `(x, y)` of units modulo `t` with `x = y r mod t` and `|x y| < t`. They are the
/// remainders and coefficients of the extended Euclidean algorithm on `t` and the unit `r`.
fn pairs(r: u64, t: u64) -> Vec<(i64, i64)> {
    let mut pairs = Vec::new();
    let ((mut x0, mut y0), (mut x, mut y)) = ((t as i64, 0i64), (r as i64, 1i64));
    while x != 0 {
        if inv_mod(signed_mod(x, t), t).is_some() {
            pairs.push((x, y));
        }
        let quotient = x0 / x;
        ((x0, y0), (x, y)) = ((x, y), (x0 - quotient * x, y0 - quotient * y));
    }
    pairs
}

fn centred(residue: u64, t: u64) -> i64 {
    hippocrene_ring::arith::centred(residue, t)
}
