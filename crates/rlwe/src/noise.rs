//! Estimates of noise: average case, as the standard deviation of one coefficient.

/// The standard deviation of the coefficients of an error polynomial, as its logarithm. Errors of
/// different sources are taken as independent, so that variances add.
///
/// Where a message fills some of the slots only, and is zero in the others, the error of those
/// others may be smaller by far, as it is after a linear map that leads to few slots. The noise
/// then is that of an error which is everywhere as large as in the slots of the message, and beside
/// it stands what it would be were it everywhere as in the others ([`Noise::in_zeros`]).
///
/// The errors of slots need not be independent of each other: those of averages are nearly one and
/// the same. A part of the error is the same in all slots of the message ([`Noise::common`]), which
/// sums over slots and linear maps make grow otherwise than the rest.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Noise {
    log2_std: f64,
    log2_in_zeros: f64,
    log2_common: f64,
}

impl Noise {
    /// No noise at all.
    pub const NONE: Noise = Noise::from_log2_std(f64::NEG_INFINITY);

    /// Noise of the given standard deviation.
    pub fn from_std(std: f64) -> Self {
        Noise::from_log2_std(log2(std))
    }

    /// Noise of the given log2 of the standard deviation.
    pub const fn from_log2_std(log2_std: f64) -> Self {
        Noise { log2_std, log2_in_zeros: log2_std, log2_common: f64::NEG_INFINITY }
    }

    /// log2 of the standard deviation of one coefficient, in bits.
    pub fn log2_std(self) -> f64 {
        self.log2_std
    }

    /// The noise of an error that is everywhere as in the slots where the message is zero.
    #[must_use]
    pub fn in_zeros(self) -> Noise {
        Noise::from_log2_std(self.log2_in_zeros)
    }

    /// The same noise, where the message is zero that of `zeros` there.
    #[must_use]
    pub fn with_in_zeros(self, zeros: Noise) -> Noise {
        Noise { log2_in_zeros: zeros.log2_in_zeros, ..self }
    }

    /// The noise of an error that is nothing where the message is zero, as after a product with
    /// zeros there.
    #[must_use]
    pub fn without_zeros(self) -> Noise {
        Noise { log2_in_zeros: f64::NEG_INFINITY, ..self }
    }

    /// The noise of an error that is as large where the message is zero as elsewhere.
    #[must_use]
    pub fn everywhere(self) -> Noise {
        Noise { log2_in_zeros: self.log2_std, ..self }
    }

    /// The part of the error that is the same in all slots of the message, beyond what independent
    /// errors have of that by chance. Where the message is zero it is nothing.
    #[must_use]
    pub fn common(self) -> Noise {
        Noise { log2_in_zeros: f64::NEG_INFINITY, log2_std: self.log2_common, ..self }
    }

    /// [`Noise::common`] over all of the error, as a ratio of standard deviations.
    pub fn common_share(self) -> f64 {
        match self.log2_std.is_finite() {
            true => (self.log2_common - self.log2_std).exp2(),
            false => 0.0,
        }
    }

    /// The rest of the error, independent of [`Noise::common`].
    #[must_use]
    pub fn apart(self) -> Noise {
        Noise { log2_common: f64::NEG_INFINITY, ..self.less(self.common()) }
    }

    /// The noise of what is left of an error in the slots of the message when an independent part
    /// is taken away: none where that is no smaller.
    #[must_use]
    pub fn less(self, part: Noise) -> Noise {
        Noise { log2_std: log2_of_difference(self.log2_std, part.log2_std), ..self }
    }

    /// The same noise, of which as much as `part`, or all where it is less, is the same in all
    /// slots of the message.
    #[must_use]
    pub fn with_common(self, part: Noise) -> Noise {
        Noise { log2_common: part.log2_std.min(self.log2_std), ..self }
    }

    /// The sum of two independent errors.
    #[must_use]
    pub fn plus(self, other: Noise) -> Noise {
        Noise {
            log2_std: log2_of_sum(self.log2_std, other.log2_std),
            log2_in_zeros: log2_of_sum(self.log2_in_zeros, other.log2_in_zeros),
            log2_common: log2_of_sum(self.log2_common, other.log2_common),
        }
    }

    /// The sum of two errors that may be one and the same: their sizes add.
    #[must_use]
    pub fn plus_equal(self, other: Noise) -> Noise {
        let add = |a: f64, b: f64| match a.max(b) {
            high if high.is_finite() => high + log2(1.0 + (a.min(b) - high).exp2()),
            high => high,
        };
        Noise {
            log2_std: add(self.log2_std, other.log2_std),
            log2_in_zeros: add(self.log2_in_zeros, other.log2_in_zeros),
            log2_common: add(self.log2_common, other.log2_common),
        }
    }

    /// The sum of errors of two parts of one message, such as slots and others of them: what is the
    /// same in all slots is so in both, and adds up; the rest is independent.
    #[must_use]
    pub fn plus_alike(self, other: Noise) -> Noise {
        let common = Noise::alike(&[(self.common(), false), (other.common(), false)]);
        self.apart().plus(other.apart()).plus(common)
    }

    /// The sum of errors that are one and the same but for their size and their sign, negative or
    /// not: all of it is the same in all slots.
    pub fn alike(terms: &[(Noise, bool)]) -> Noise {
        let largest =
            terms.iter().map(|(noise, _)| noise.log2_std).fold(f64::NEG_INFINITY, f64::max);
        if largest.is_infinite() {
            return Noise::from_log2_std(largest);
        }
        let size = |(noise, negative): &(Noise, bool)| {
            let size = (noise.log2_std - largest).exp2();
            if *negative { -size } else { size }
        };
        let sum = Noise::from_log2_std(largest + log2(terms.iter().map(size).sum::<f64>().abs()));
        sum.with_common(sum).without_zeros()
    }

    /// The sum of two independent errors of messages of which one at least is zero in every slot:
    /// the more of what comes to the slots of the first message and of the second.
    #[must_use]
    pub fn beside(self, other: Noise) -> Noise {
        let here = log2_of_sum(self.log2_std, other.log2_in_zeros);
        let there = log2_of_sum(self.log2_in_zeros, other.log2_std);
        let log2_common = self.log2_common.max(other.log2_common);
        Noise { log2_std: here.max(there), log2_common, ..self.plus(other) }
    }

    /// The error of a sum over slots of which this share hold the message, and the others zero,
    /// where this is the error of a sum over as many that all hold it.
    #[must_use]
    pub fn of_share(self, share: f64) -> Noise {
        let (here, zeros) = (0.5 * log2(share), 0.5 * log2(1.0 - share));
        let apart = log2_of_sum(self.apart().log2_std + here, self.log2_in_zeros + zeros);
        Noise { log2_std: apart, ..self.apart() }.plus(self.common().scaled(log2(share)))
    }

    /// The error times a number whose absolute value has logarithm `log2`.
    #[must_use]
    pub fn scaled(self, log2: f64) -> Noise {
        Noise {
            log2_std: self.log2_std + log2,
            log2_in_zeros: self.log2_in_zeros + log2,
            log2_common: self.log2_common + log2,
        }
    }

    /// The error times an independent polynomial of ring degree `degree` whose coefficients have
    /// root mean square `2^log2_rms`: each coefficient of the product is a sum of `N` independent
    /// products.
    #[must_use]
    pub fn times_polynomial(self, degree: usize, log2_rms: f64) -> Noise {
        self.scaled(log2_rms + 0.5 * (degree as f64).log2())
    }
}

/// `log2 x` of a size. That of 0 is infinite, and is no division by zero to the floating-point
/// unit, whose flags numpy reports in whatever it computes next.
pub fn log2(x: f64) -> f64 {
    if x == 0.0 { f64::NEG_INFINITY } else { x.log2() }
}

/// The logarithm of the standard deviation of the sum of two independent errors, of those of the
/// two.
fn log2_of_sum(a: f64, b: f64) -> f64 {
    let (high, low) = if a >= b { (a, b) } else { (b, a) };
    match low == f64::NEG_INFINITY || high == f64::INFINITY {
        true => high,
        false => high + 0.5 * (2.0 * (low - high)).exp2().ln_1p() / std::f64::consts::LN_2,
    }
}

/// The logarithm of the standard deviation of what is left of an error of which an independent part
/// is taken away: nothing where that is no smaller.
fn log2_of_difference(whole: f64, part: f64) -> f64 {
    if part == f64::NEG_INFINITY {
        return whole;
    }
    let share = (2.0 * (part - whole)).exp2();
    if share < 1.0 {
        whole + 0.5 * (-share).ln_1p() / std::f64::consts::LN_2
    } else {
        f64::NEG_INFINITY
    }
}

/// The rounding error of a modulus switch of the parts `(c0, c1)` or `(c0, c1, c2)`: each part is
/// off by a uniform number in `[-1/2, 1/2)`; `c1`'s error is multiplied by a secret `s` of squared
/// norm `weight`, `c2`'s by `s^2`, of expected squared norm `2 weight^2` (a coefficient of `s^2` is
/// a sum over unordered pairs `s_i s_j`, each taken twice). Variance `(1 + weight + 2 weight^2) /
/// 12`, the last term for three parts only.
pub fn rounding(weight: f64, parts: usize) -> Noise {
    let square = if parts > 2 { 2.0 * weight * weight } else { 0.0 };
    Noise::from_std(((1.0 + weight + square) / 12.0).sqrt())
}

/// Encryption under the secret key: the error itself, of standard deviation `sigma`.
pub fn secret_key_encryption(sigma: f64) -> Noise {
    Noise::from_std(sigma)
}

/// Encryption under a public key `(b, a)`, `b = -a s + e`: the error is `v e + e0 + e1 s` with `v`
/// uniform ternary (variance 2/3), so its variance is `sigma^2 (2N/3 + 1 + weight)`.
pub fn public_key_encryption(degree: usize, sigma: f64, weight: f64) -> Noise {
    Noise::from_std(sigma * (degree as f64 * 2.0 / 3.0 + 1.0 + weight).sqrt())
}

/// The inner product of digits with a switching key, before the division by `P`: each digit is
/// uniform in `[-D/2, D/2)` (variance `D^2 / 12`), times a key error of standard deviation `sigma`.
/// `digits` holds `log2 D`.
pub fn inner_product(degree: usize, sigma: f64, digits: impl IntoIterator<Item = f64>) -> Noise {
    let error = Noise::from_std(sigma);
    digits
        .into_iter()
        .map(|log2_d| error.times_polynomial(degree, log2_d - 0.5 * 12f64.log2()))
        .fold(Noise::NONE, Noise::plus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variances_add() {
        let sum = Noise::from_std(3.0).plus(Noise::from_std(4.0));
        assert!((sum.log2_std() - 5f64.log2()).abs() < 1e-12);
        assert_eq!(Noise::NONE.plus(Noise::NONE), Noise::NONE);
        assert_eq!(Noise::from_std(2.0).plus(Noise::NONE), Noise::from_std(2.0));
        let huge = Noise::from_log2_std(1500.0);
        assert!((huge.plus(huge).log2_std() - 1500.5).abs() < 1e-12);
    }

    #[test]
    fn what_stands_beside_zeros_has_the_noise_of_these_added() {
        let close =
            |a: Noise, std: f64| assert!((a.log2_std() - std.log2()).abs() < 1e-12, "{a:?} {std}");
        // An error of 12 where the message is, with one of 4 everywhere; and one of 3.
        let (a, b) = (
            Noise::from_std(12.0).without_zeros().plus(Noise::from_std(4.0)),
            Noise::from_std(3.0),
        );
        for sum in [a.beside(b), b.beside(a)] {
            close(sum, 13.0);
            close(sum.in_zeros(), 5.0);
        }
        close(a.beside(a), (160.0f64 + 16.0).sqrt());
        close(a.plus(a), 320f64.sqrt());
        close(b.beside(b), 18f64.sqrt());
        close(a.scaled(1.0).in_zeros(), 8.0);
        assert_eq!(a.everywhere(), Noise::from_log2_std(a.log2_std()));
        // Of four slots, one of which holds the message.
        close(a.scaled(1.0).of_share(0.25), (160.0f64 + 3.0 * 16.0).sqrt());
        assert_eq!(a.of_share(1.0), a);
        assert_eq!(Noise::from_std(2.0).without_zeros().in_zeros(), Noise::NONE);
    }

    #[test]
    fn what_slots_have_in_common_adds_up() {
        let close = |a: Noise, std: f64, common: f64| {
            for (have, want) in [(a, std), (a.common(), common)] {
                let (have, want) = (have.log2_std(), want.log2());
                assert!(have == want || (have - want).abs() < 1e-12, "{a:?} {std} {common}");
            }
        };
        // An error of 5, of which 3 is the same everywhere.
        let (a, b) = (Noise::from_std(5.0).with_common(Noise::from_std(3.0)), Noise::from_std(6.0));
        close(a.apart(), 4.0, 0.0);
        close(a.apart().plus(a.common()), 5.0, 3.0);
        close(a.plus(a), 50f64.sqrt(), 18f64.sqrt());
        close(a.plus_alike(a), (32.0 + 36.0f64).sqrt(), 6.0);
        close(a.plus_equal(a), 10.0, 6.0);
        close(a.plus_equal(b), 11.0, 3.0);
        assert_eq!(Noise::NONE.plus_equal(Noise::NONE), Noise::NONE);
        close(a.plus_alike(b), 61f64.sqrt(), 3.0);
        assert_eq!(b.plus_alike(b), b.plus(b));
        close(a.scaled(1.0), 10.0, 6.0);
        close(a.beside(a.scaled(1.0)), 125f64.sqrt(), 6.0);
        // All of four slots that are added up, or one of them with errors of 5 in the others.
        let all = (0..2).fold(a, |sum, _| sum.plus_alike(sum));
        close(all, (64.0 + 144.0f64).sqrt(), 12.0);
        close(all.of_share(1.0), (64.0 + 144.0f64).sqrt(), 12.0);
        close(all.of_share(0.25), (16.0 + 9.0 + 75.0f64).sqrt(), 3.0);
        close(Noise::alike(&[(a.common(), false), (b, true), (a.common(), false)]), 0.0, 0.0);
        close(Noise::alike(&[(a.common(), false), (b, true)]), 3.0, 3.0);
        assert_eq!(Noise::alike(&[(Noise::NONE, true)]), Noise::NONE);
        // No more than there is.
        close(b.with_common(a.scaled(4.0)), 6.0, 6.0);
        close(b.with_common(b).apart(), 0.0, 0.0);
        close(b.with_common(b).plus_alike(b.with_common(b)), 12.0, 12.0);
    }
}
