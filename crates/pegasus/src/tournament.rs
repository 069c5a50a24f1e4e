//! Which of several numbers is the smallest, for many groups of them at once, by a tournament.
//! Whatever comparisons are off by, one of every group wins.
//!
//! Of two numbers, `|x - y|` and the sign of `x - y` are looked up with one rotation. Both are
//! antiperiodic functions of the residue but for a constant, so that differences take all of the
//! circle, at twice the resolution of other tables. `x + y - |x - y|` is twice the smaller one and
//! goes on to the next round. In the end the bits are multiplied along the tree: "is the smallest
//! of all" and "the first one of the two is smaller" are 1 if their sum is 2, which one look-up
//! says for the first one, and what is left is the second one. With `K` numbers this takes `K - 1`
//! look-ups of signs, of which `K - 2` have the magnitudes with them, and `K - 2` of products:
//! `2K - 3` (PEGASUS has about `2K`).

use hippocrene_ckks::{Ciphertext, Scale};
use hippocrene_rlwe::Noise;

use crate::{Numbers, Pegasus, PegasusError, error::argument, look_up::DEVIATIONS};

const OPERATION: &str = "find the smallest or largest";

/// How many deviations of the index a sum of two bits has to be from what it is told from.
const CERTAIN: f64 = 5.0;

impl Pegasus {
    /// Bits at `scale` that say which of `count` numbers is the smallest, for every level of the
    /// tree: first those of the numbers, then those of the smaller ones of two, and so on until two
    /// are left. Those at one place in all groups stand together, in the argument as in the
    /// results; of a group they add up to 1 in every level. Numbers of one group differ by `spread`
    /// at most; nothing else need be known of how large they are.
    ///
    /// Of two that are nearer to each other than the index is off by either wins; the first one
    /// does where nothing is.
    pub(crate) fn tournament(
        &self,
        x: &Numbers,
        count: usize,
        spread: f64,
        scale: Scale,
    ) -> Result<Vec<Numbers>, PegasusError> {
        if count < 2 {
            return argument(
                OPERATION,
                format!("{count} numbers: there have to be two to compare"),
            );
        }
        let single = self.tables().parameters().noise();
        let (from, to) = (self.tables().parameters().ring(), self.back().parameters()[1]);
        let bit = single.scaled(to.log2_modulus() - from.log2_modulus()).plus(self.back().noise());
        // Before all of these look-ups, those that are too many whatever else they are off by.
        self.check_bits(count, scale, bit)?;
        let groups = x.len() / count;
        let mut first_wins = Vec::new();
        let mut standing = x.clone().with_bound(0.0)?;
        let mut spread = spread;
        while standing.len() > groups {
            let left = standing.len() / groups;
            let side = |side: usize| standing.select(&at((side..left / 2 * 2).step_by(2), groups));
            let (first, second) = (side(0)?, side(1)?);
            let (wins, twice) = self.smaller(&first, &second, spread, scale, left > 2)?;
            first_wins.push(wins);
            let Some(twice) = twice else { break };
            standing = match left % 2 {
                0 => twice,
                _ => {
                    let last = standing.select(&at(left - 1..left, groups))?;
                    twice.concat(&last.times_integer(2)?)?
                }
            };
            spread *= 2.0;
        }
        let noisiest =
            first_wins.iter().map(|wins| wins.noise().log2_std()).fold(f64::NEG_INFINITY, f64::max);
        self.check_bits(count, scale, Noise::from_log2_std(noisiest))?;
        self.along(&first_wins, count, groups)
    }

    /// The bound to extract numbers with among `size` of which a tournament finds the smallest or
    /// largest, over their own: with it differences of numbers that are extracted with this noise
    /// fit the circle in the last round. It is about half the number of them. Bits are to be at
    /// `scale`.
    ///
    /// What numbers are off by is followed as the tournament itself does. In the round with `t =
    /// 2^j` rounds' doublings still to come, differences `d = y - x` are looked up as `t d`, and
    /// numbers go on as `x + y - |d|`, of which the parts are taken to be off independently: by
    /// `e^2` each, and `|d|` by that of the index of the table, over `t`, and of rotation and
    /// switch. All of `e` doubles from round to round, what numbers were off by when they were
    /// extracted too: of slots to coefficients, of which there is more the larger the ring, and of
    /// the key switch.
    ///
    /// # Errors
    /// [`PegasusError::Argument`] when there are so many that they are off by more than half of a
    /// table then.
    pub fn place_bound(
        &self,
        size: usize,
        extracted: Noise,
        scale: Scale,
    ) -> Result<f64, PegasusError> {
        let (parameters, back) = (self.tables().parameters(), self.back());
        let (ring, lwe) = (parameters.ring(), back.parameters()[1]);
        let (q, degree) = (self.plan().literal().lwe().modulus(), ring.dimension() as f64);
        // Numbers in units of residues: half of the circle is a domain.
        let (domain, unit) = (q as f64 / 4.0, Scale::power_of_two(0));
        let last = rounds(size).max(1) - 1;
        let mut off = extracted;
        for doublings in (1..=last).rev() {
            let times = f64::from(doublings).exp2();
            let difference = off.plus(off);
            let index = parameters.index_noise(difference.scaled(f64::from(doublings)), q);
            let entry = (2.0 * domain / degree / times).log2();
            let tables = self.sign_and_magnitude(domain, scale, unit, times)?;
            let rotation = tables.noises(&parameters)[1];
            let looked_up =
                rotation.scaled(lwe.log2_modulus() - ring.log2_modulus()).plus(back.noise());
            off = difference.plus(index.scaled(entry)).plus(looked_up);
        }
        let index = parameters.index_noise(off.plus(off), q).log2_std().exp2();
        let share = DEVIATIONS * index / degree;
        if share > 0.5 {
            let what = format!(
                "among {size} numbers: what they are off by takes {share:.2} of a table in the last round, of which half is too much: take fewer at a time, or numbers that are more precise beside their bound"
            );
            return argument(OPERATION, what);
        }
        // A thousandth is for what is rounded.
        let wide = 1.001 / (1.0 - share);
        Ok(f64::from(last).exp2() * wide / (1.0 + self.plan().literal().margin))
    }

    /// [`Pegasus::place_bound`] of the numbers in the slots of `a`: by the noise that the one in
    /// this slot is extracted with.
    ///
    /// # Errors
    /// As [`Pegasus::to_coefficients`], [`Pegasus::extract`] and [`Pegasus::place_bound`].
    pub fn place_bound_of(
        &self,
        a: &Ciphertext,
        slot: usize,
        size: usize,
        scale: Scale,
    ) -> Result<f64, PegasusError> {
        let least = self.place_bound(size, self.extraction().noise(), scale)?;
        let mut wide = a.clone();
        wide.set_bound(least * a.bound());
        let one = self.extract(&self.to_coefficients(&wide)?, &[slot])?;
        // The wider they are extracted, the less it is.
        Ok(least.max(self.place_bound(size, one.noise(), scale)?))
    }

    /// Whether `x_i <= y_i`, and, except in the last round, `2 min(x_i, y_i)`.
    fn smaller(
        &self,
        x: &Numbers,
        y: &Numbers,
        spread: f64,
        bits: Scale,
        goes_on: bool,
    ) -> Result<(Numbers, Option<Numbers>), PegasusError> {
        let difference = y.sub(x)?;
        let times = self.times_on_the_circle(&difference, spread);
        let wide = difference.times_integer(times)?.with_bound(spread * times as f64)?;
        if !goes_on {
            return Ok((self.look_up_sign(&wide, bits)?, None));
        }
        let (first_wins, magnitude) =
            self.look_up_sign_and_magnitude(&wide, bits, x.scale(), times)?;
        Ok((first_wins, Some(x.add(y)?.sub(&magnitude.with_bound(0.0)?)?)))
    }

    /// The largest integer that numbers up to `bound` can be multiplied by, so that they take no
    /// more than the circle.
    fn times_on_the_circle(&self, x: &Numbers, bound: f64) -> i64 {
        let parameters = self.tables().parameters();
        let (q, degree) = (x.parameters().modulus(), parameters.ring().dimension() as f64);
        let fits = |times: &i64| {
            let noise = x.noise().scaled((*times as f64).log2());
            let off = DEVIATIONS * parameters.index_noise(noise, q).log2_std().exp2() / degree;
            bound * *times as f64 <= x.largest_bound() * (1.0 - off)
        };
        let most = (x.largest_bound() / bound).min(1024.0) as i64;
        (2..=most).rev().find(fits).unwrap_or(1)
    }

    /// From who wins in every round, the first one of two or the second one, to who wins in all,
    /// from the root to the leaves.
    fn along(
        &self,
        first_wins: &[Numbers],
        count: usize,
        groups: usize,
    ) -> Result<Vec<Numbers>, PegasusError> {
        let mut levels: Vec<Numbers> = Vec::new();
        for (round, wins) in first_wins.iter().enumerate().rev() {
            let (left, pairs) = (count.div_ceil(1 << round), wins.len() / groups);
            // Those of the pairs, and the one that had no other.
            let (first, second, last) = match levels.last() {
                None => (wins.clone(), wins.clone().times_integer(-1)?.plus(1.0)?, None),
                Some(chosen) => {
                    let of_pairs = chosen.select(&at(0..pairs, groups))?;
                    let both = self.both(&of_pairs, wins)?;
                    let last =
                        (left > 2 * pairs).then(|| chosen.select(&at(pairs..pairs + 1, groups)));
                    (both.clone(), of_pairs.sub(&both)?, last.transpose()?)
                }
            };
            let mut all = first.with_bound(1.0)?.concat(&second.with_bound(1.0)?)?;
            if let Some(last) = last {
                all = all.concat(&last)?;
            }
            let places = (0..left).map(|i| if i < 2 * pairs { i % 2 * pairs + i / 2 } else { i });
            levels.push(all.select(&at(places, groups))?);
        }
        levels.reverse();
        Ok(levels)
    }

    /// 1 where both bits are 1, and 0 elsewhere.
    fn both(&self, x: &Numbers, y: &Numbers) -> Result<Numbers, PegasusError> {
        let loose = |x: &Numbers| x.clone().with_bound(0.0);
        let sum = loose(x)?.add(&loose(y)?)?.with_bound(0.0)?.plus(-1.5)?.with_bound(1.5)?;
        // Most of the circle.
        let times = (sum.largest_bound() / 2.0) as i64;
        self.look_up_sign(&sum.times_integer(times.max(1))?, x.scale())
    }

    /// Checks that bits of so much noise, and those left of others in as many rounds as there are,
    /// are told apart at this scale.
    fn check_bits(&self, count: usize, scale: Scale, noise: Noise) -> Result<(), PegasusError> {
        if count < 3 {
            return Ok(());
        }
        let parameters = self.tables().parameters();
        let q = self.back().parameters()[1].modulus();
        // Half of the circle over a bit.
        let half = q as f64 / 2.0 / scale.to_f64();
        let times = (half / 2.0).floor().max(1.0);
        let sum = noise.scaled(times.log2() + 0.5 * f64::from(rounds(count)).log2());
        let index = parameters.index_noise(sum, q).log2_std().exp2();
        let off = CERTAIN * index * half / (times * parameters.ring().dimension() as f64);
        if off > 0.5 {
            let what = format!(
                "among {count} numbers: at this scale bits are told apart that differ by {:.2}, not by 1; of places, whose scale is the larger the fewer there are, about {} are possible",
                2.0 * off,
                (count as f64 * 0.5 / off) as usize
            );
            return argument(OPERATION, what);
        }
        Ok(())
    }
}

/// How many rounds the tournament of so many numbers has.
pub(crate) fn rounds(count: usize) -> u32 {
    count.next_power_of_two().ilog2()
}

/// Where the numbers at these places are, of which those at one place in all groups stand together.
pub(crate) fn at(places: impl Iterator<Item = usize>, groups: usize) -> Vec<usize> {
    places.flat_map(|place| place * groups..(place + 1) * groups).collect()
}
