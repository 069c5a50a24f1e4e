//! Average-case estimates of noise, as the standard deviation of one coefficient.

/// The estimated noise of a ciphertext: the standard deviation of the coefficients of its error
/// polynomial, as log2.
///
/// Errors of different sources are assumed to be independent, so their variances add.
///
/// **Zeros.** If a message fills only some of the slots and is zero in the others, the error of the
/// others may be much smaller. This is so after a linear map to few slots. The noise then holds two
/// standard deviations. The first is that of an error which is everywhere as large as in the slots
/// of the message. The second is that of an error which is everywhere as large as in the other
/// slots ([`Noise::in_zeros`]).
///
/// **Common errors.** The errors of different slots need not be independent. For example, those of
/// averages are nearly the same. A part of the error is the same in all slots of the message
/// ([`Noise::common`]). Sums over slots and linear maps make it grow differently from the rest.
///
/// ```
/// use hippocrene_rlwe::Noise;
///
/// let sum = Noise::from_std(3.0).plus(Noise::from_std(4.0));
/// assert!((sum.log2_std() - 5f64.log2()).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Noise {
    log2_std: f64,
    log2_in_zeros: f64,
    log2_common: f64,
}

impl Noise {
    /// No noise at all.
    pub const NONE: Noise = Noise::from_log2_std(f64::NEG_INFINITY);

    /// Noise of standard deviation `std`.
    pub fn from_std(std: f64) -> Self {
        Noise::from_log2_std(log2(std))
    }

    /// Noise of standard deviation `2^log2_std`.
    pub const fn from_log2_std(log2_std: f64) -> Self {
        Noise { log2_std, log2_in_zeros: log2_std, log2_common: f64::NEG_INFINITY }
    }

    /// log2 of the standard deviation of one coefficient.
    pub fn log2_std(self) -> f64 {
        self.log2_std
    }

    /// The noise of an error that is everywhere as large as where the message is zero.
    #[must_use]
    pub fn in_zeros(self) -> Noise {
        Noise::from_log2_std(self.log2_in_zeros)
    }

    /// Replaces the noise where the message is zero by that of `zeros`.
    #[must_use]
    pub fn with_in_zeros(self, zeros: Noise) -> Noise {
        Noise { log2_in_zeros: zeros.log2_in_zeros, ..self }
    }

    /// The same noise with no error where the message is zero, as after a product with zeros there.
    #[must_use]
    pub fn without_zeros(self) -> Noise {
        Noise { log2_in_zeros: f64::NEG_INFINITY, ..self }
    }

    /// The noise of an error that is as large where the message is zero as elsewhere.
    #[must_use]
    pub fn also_in_zeros(self) -> Noise {
        Noise { log2_in_zeros: self.log2_std, ..self }
    }

    /// The part of the error that is the same in all slots of the message. Independent errors have
    /// none, even if some agree by chance.
    ///
    /// It is zero where the message is zero.
    #[must_use]
    pub fn common(self) -> Noise {
        Noise { log2_in_zeros: f64::NEG_INFINITY, log2_std: self.log2_common, ..self }
    }

    /// The ratio of the standard deviations of [`Noise::common`] and of the whole error.
    pub fn common_share(self) -> f64 {
        match self.log2_std.is_finite() {
            true => (self.log2_common - self.log2_std).exp2(),
            false => 0.0,
        }
    }

    /// The rest of the error, which is independent of [`Noise::common`].
    #[must_use]
    pub fn independent_part(self) -> Noise {
        Noise { log2_common: f64::NEG_INFINITY, ..self.less(self.common()) }
    }

    /// The noise that is left in the slots of the message after an independent part is removed, or
    /// none if the part is at least as large.
    #[must_use]
    pub fn less(self, part: Noise) -> Noise {
        Noise { log2_std: log2_of_difference(self.log2_std, part.log2_std), ..self }
    }

    /// Returns the same noise with a part that is the same in all slots of the message.
    ///
    /// This part is as large as `part`, but not larger than the whole error.
    #[must_use]
    pub fn with_common(self, part: Noise) -> Noise {
        Noise { log2_common: part.log2_std.min(self.log2_std), ..self }
    }

    /// The noise of the sum of two independent errors.
    #[must_use]
    pub fn plus(self, other: Noise) -> Noise {
        Noise {
            log2_std: log2_of_sum(self.log2_std, other.log2_std),
            log2_in_zeros: log2_of_sum(self.log2_in_zeros, other.log2_in_zeros),
            log2_common: log2_of_sum(self.log2_common, other.log2_common),
        }
    }

    /// The noise of the sum of two errors that may be equal. Their standard deviations add.
    #[must_use]
    pub fn plus_correlated(self, other: Noise) -> Noise {
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

    /// The noise of the sum of errors of two parts of one message, such as some slots and other
    /// slots.
    ///
    /// The part that is the same in all slots is the same in both, so its standard deviations add.
    /// The rests are independent.
    #[must_use]
    pub fn plus_of_same_message(self, other: Noise) -> Noise {
        let common = Noise::sum_of_proportional(&[(self.common(), false), (other.common(), false)]);
        self.independent_part().plus(other.independent_part()).plus(common)
    }

    /// The noise of the sum of errors that are equal except for their size and sign.
    ///
    /// A term with `true` has a negative sign. The whole sum is the same in all slots.
    pub fn sum_of_proportional(terms: &[(Noise, bool)]) -> Noise {
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

    /// The noise of the sum of two messages with independent errors, if in every slot at least one
    /// of the messages is zero.
    ///
    /// It is the larger one of the noises in the slots of the first and of the second message.
    #[must_use]
    pub fn plus_disjoint(self, other: Noise) -> Noise {
        let in_first = log2_of_sum(self.log2_std, other.log2_in_zeros);
        let in_second = log2_of_sum(self.log2_in_zeros, other.log2_std);
        let log2_common = self.log2_common.max(other.log2_common);
        Noise { log2_std: in_first.max(in_second), log2_common, ..self.plus(other) }
    }

    /// The noise of a sum over slots of which only the part `share` holds the message.
    ///
    /// `self` is the noise of a sum over the same number of slots that all hold the message. The
    /// other slots are zero.
    #[must_use]
    pub fn for_filled_share(self, share: f64) -> Noise {
        let (message, zeros) = (0.5 * log2(share), 0.5 * log2(1.0 - share));
        let apart =
            log2_of_sum(self.independent_part().log2_std + message, self.log2_in_zeros + zeros);
        Noise { log2_std: apart, ..self.independent_part() }.plus(self.common().scaled(log2(share)))
    }

    /// The noise of the error times a number whose absolute value is `2^log2`.
    #[must_use]
    pub fn scaled(self, log2: f64) -> Noise {
        Noise {
            log2_std: self.log2_std + log2,
            log2_in_zeros: self.log2_in_zeros + log2,
            log2_common: self.log2_common + log2,
        }
    }

    /// The noise of the error times an independent polynomial of ring degree `degree = N`, whose
    /// coefficients have root mean square `2^log2_rms`.
    ///
    /// Each coefficient of the product is a sum of `N` independent products.
    #[must_use]
    pub fn times_polynomial(self, degree: usize, log2_rms: f64) -> Noise {
        self.scaled(log2_rms + 0.5 * (degree as f64).log2())
    }
}

/// Returns `log2 x` for a size `x`, which is minus infinity for 0.
///
/// For 0 it avoids the floating-point flag of a division by zero, which numpy would report in its
/// next computation.
pub fn log2(x: f64) -> f64 {
    if x == 0.0 { f64::NEG_INFINITY } else { x.log2() }
}

/// log2 of the standard deviation of the sum of two independent errors. The arguments are log2 of
/// their standard deviations.
fn log2_of_sum(a: f64, b: f64) -> f64 {
    let (high, low) = if a >= b { (a, b) } else { (b, a) };
    match low == f64::NEG_INFINITY || high == f64::INFINITY {
        true => high,
        false => high + 0.5 * (2.0 * (low - high)).exp2().ln_1p() / std::f64::consts::LN_2,
    }
}

/// log2 of the standard deviation that is left after an independent part is removed, or minus
/// infinity if the part is at least as large.
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

/// The rounding error of a modulus switch of the parts `(c0, c1)` or `(c0, c1, c2)`.
///
/// The error of each part is uniform in `[-1/2, 1/2)`. That of `c1` is multiplied by a secret `s`
/// of squared norm `weight`. That of `c2` is multiplied by `s^2`, whose expected squared norm is
/// `2 weight^2`, because a coefficient of `s^2` is a sum over unordered pairs `s_i s_j`, each
/// counted twice. The variance is `(1 + weight + 2 weight^2) / 12`, with the last term for three
/// parts only.
pub fn rounding(weight: f64, parts: usize) -> Noise {
    let square = if parts > 2 { 2.0 * weight * weight } else { 0.0 };
    Noise::from_std(((1.0 + weight + square) / 12.0).sqrt())
}

/// The noise of an encryption under the secret key, which is the error itself, of standard
/// deviation `sigma`.
pub fn secret_key_encryption(sigma: f64) -> Noise {
    Noise::from_std(sigma)
}

/// The noise of an encryption under a public key `(b, a)` with `b = -a s + e`.
///
/// The error is `v e + e0 + e1 s` with a uniform ternary `v` of variance 2/3. So its variance is
/// `sigma^2 (2N/3 + 1 + weight)`.
pub fn public_key_encryption(degree: usize, sigma: f64, weight: f64) -> Noise {
    Noise::from_std(sigma * (degree as f64 * 2.0 / 3.0 + 1.0 + weight).sqrt())
}

/// The noise of the inner product of digits with a switching key, before the division by `P`.
///
/// Each digit is uniform in `[-D/2, D/2)`, of variance `D^2 / 12`, and is multiplied by a key error
/// of standard deviation `sigma`. `digits` holds `log2 D` for each digit.
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
    fn errors_beside_zeros_add() {
        let close =
            |a: Noise, std: f64| assert!((a.log2_std() - std.log2()).abs() < 1e-12, "{a:?} {std}");
        // An error of 12 where the message is and of 4 everywhere; and an error of 3.
        let (a, b) = (
            Noise::from_std(12.0).without_zeros().plus(Noise::from_std(4.0)),
            Noise::from_std(3.0),
        );
        for sum in [a.plus_disjoint(b), b.plus_disjoint(a)] {
            close(sum, 13.0);
            close(sum.in_zeros(), 5.0);
        }
        close(a.plus_disjoint(a), (160.0f64 + 16.0).sqrt());
        close(a.plus(a), 320f64.sqrt());
        close(b.plus_disjoint(b), 18f64.sqrt());
        close(a.scaled(1.0).in_zeros(), 8.0);
        assert_eq!(a.also_in_zeros(), Noise::from_log2_std(a.log2_std()));
        // One of four slots holds the message.
        close(a.scaled(1.0).for_filled_share(0.25), (160.0f64 + 3.0 * 16.0).sqrt());
        assert_eq!(a.for_filled_share(1.0), a);
        assert_eq!(Noise::from_std(2.0).without_zeros().in_zeros(), Noise::NONE);
    }

    #[test]
    fn errors_common_to_all_slots_add_up() {
        let close = |a: Noise, std: f64, common: f64| {
            for (have, want) in [(a, std), (a.common(), common)] {
                let (have, want) = (have.log2_std(), want.log2());
                assert!(have == want || (have - want).abs() < 1e-12, "{a:?} {std} {common}");
            }
        };
        // An error of 5, of which a part of 3 is the same everywhere.
        let (a, b) = (Noise::from_std(5.0).with_common(Noise::from_std(3.0)), Noise::from_std(6.0));
        close(a.independent_part(), 4.0, 0.0);
        close(a.independent_part().plus(a.common()), 5.0, 3.0);
        close(a.plus(a), 50f64.sqrt(), 18f64.sqrt());
        close(a.plus_of_same_message(a), (32.0 + 36.0f64).sqrt(), 6.0);
        close(a.plus_correlated(a), 10.0, 6.0);
        close(a.plus_correlated(b), 11.0, 3.0);
        assert_eq!(Noise::NONE.plus_correlated(Noise::NONE), Noise::NONE);
        close(a.plus_of_same_message(b), 61f64.sqrt(), 3.0);
        assert_eq!(b.plus_of_same_message(b), b.plus(b));
        close(a.scaled(1.0), 10.0, 6.0);
        close(a.plus_disjoint(a.scaled(1.0)), 125f64.sqrt(), 6.0);
        // All of four slots are added, or one of them with errors of 5 in the others.
        let all = (0..2).fold(a, |sum, _| sum.plus_of_same_message(sum));
        close(all, (64.0 + 144.0f64).sqrt(), 12.0);
        close(all.for_filled_share(1.0), (64.0 + 144.0f64).sqrt(), 12.0);
        close(all.for_filled_share(0.25), (16.0 + 9.0 + 75.0f64).sqrt(), 3.0);
        close(
            Noise::sum_of_proportional(&[(a.common(), false), (b, true), (a.common(), false)]),
            0.0,
            0.0,
        );
        close(Noise::sum_of_proportional(&[(a.common(), false), (b, true)]), 3.0, 3.0);
        assert_eq!(Noise::sum_of_proportional(&[(Noise::NONE, true)]), Noise::NONE);
        // The common part is not larger than the whole.
        close(b.with_common(a.scaled(4.0)), 6.0, 6.0);
        close(b.with_common(b).independent_part(), 0.0, 0.0);
        close(b.with_common(b).plus_of_same_message(b.with_common(b)), 12.0, 12.0);
    }
}
