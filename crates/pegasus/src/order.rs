//! Order among single numbers: comparison, maximum, minimum, sorting, and which is the least
//! (PEGASUS V.A).
//!
//! All of these look differences up, so that numbers have to be at a scale at which those fit: such
//! that twice their bound is that of a table ([`crate::PegasusPlan::table_scale`]), or four times,
//! or what [`Pegasus::order_bound`] says, if the results are to be repacked as they are.

use std::ops::Range;

use hippocrene_ckks::Scale;
use hippocrene_rlwe::Noise;

use crate::{
    Numbers, Pegasus, PegasusError,
    error::argument,
    look_up::{DEVIATIONS, MOST_TIMES, Off},
    sign,
    tournament::{at, rounds as rounds_of},
};

impl Pegasus {
    /// 1 where `x_i > y_i` and 0 where `x_i < y_i`, at `scale`. **Error:** that of rotation and
    /// switch, where the two are farther apart than the index of a table is off by; nearer, the
    /// result may be either, and where they are equal, 1/2.
    ///
    /// # Errors
    /// As [`Numbers::sub`] and [`Pegasus::look_up`].
    pub fn greater(&self, x: &Numbers, y: &Numbers, scale: Scale) -> Result<Numbers, PegasusError> {
        self.step(&x.sub(y)?, scale)
    }

    /// 1 above 0, 0 below, 1/2 at 0.
    fn step(&self, x: &Numbers, scale: Scale) -> Result<Numbers, PegasusError> {
        self.look_up_steps(x, scale, |x| if x == 0.0 { 0.5 } else { f64::from(x > 0.0) })
    }

    /// The smaller and the larger of `x_i` and `y_i`, by one look-up: with `r = relu(x - y)` they
    /// are `x - r` and `y + r`. Their sum is that of `x_i` and `y_i` to the bit. **Error:** that of
    /// the rounded index of a table on `[-2B, 2B]`, where `x_i > y_i`, and that of rotation and
    /// switch, beside that of the one that it is: what the numbers are off by goes through the
    /// table and is taken away again. The estimate is that of `x_i > y_i`, the worst.
    ///
    /// # Errors
    /// As [`Numbers::sub`] and [`Pegasus::look_up`].
    pub fn min_max(&self, x: &Numbers, y: &Numbers) -> Result<(Numbers, Numbers), PegasusError> {
        let bound = x.bound().max(y.bound());
        let difference = x.sub(y)?;
        let r = self
            .look_up_counting(&difference, x.scale(), |x| x.max(0.0), Off::Rounding)?
            .with_bound(2.0 * bound)?;
        // Each is one of the two.
        let off = |i: usize| {
            let [x, y] = [x, y].map(|numbers| numbers.ciphertexts()[i].noise());
            Noise::from_log2_std(x.log2_std().max(y.log2_std())).plus(r.ciphertexts()[i].noise())
        };
        let both = (x.sub(&r)?.with_noises(off), y.add(&r)?.with_noises(off));
        Ok((both.0.with_bound(bound)?, both.1.with_bound(bound)?))
    }

    /// The bound to extract numbers with that are put in order in so many rounds, over their own:
    /// that for which tables on half of the circle at twice the scale hold the differences of
    /// numbers that are off by as much as they are before the last round. It is about 4; with less,
    /// rounds have tables on twice the domain and are off by twice as much.
    pub fn order_bound(&self, rounds: usize) -> f64 {
        let parameters = self.tables().parameters();
        // Of half of the domain.
        let index = parameters.index_noise(Noise::NONE, self.plan().literal().lwe().modulus());
        let rounding = 2.0 * index.log2_std().exp2() / parameters.ring().dimension() as f64;
        // Of both numbers in every round before the last, and of the last, and a little for what
        // else they are off by.
        let off = 1.1 * DEVIATIONS * rounding * (2.0 * rounds.max(1) as f64 - 1.0).sqrt();
        4.0 / (1.0 - off.min(0.5)) / (1.0 + self.plan().literal().margin)
    }

    /// How many rounds [`Pegasus::sort`] has for so many numbers.
    pub fn sort_rounds(count: usize) -> usize {
        rounds(count).len()
    }

    /// The largest of every `size` numbers that follow one another, as max-pooling has it: `size -
    /// 1` look-ups for each, in `log2(size)` rounds. **Error:** that of [`Pegasus::min_max`], once
    /// for every round.
    ///
    /// # Errors
    /// [`PegasusError::Argument`] when the numbers are not so many times `size`, and as
    /// [`Pegasus::min_max`].
    pub fn largest(&self, x: &Numbers, size: usize) -> Result<Numbers, PegasusError> {
        self.of_groups(x, size, |pairs| pairs.1)
    }

    /// The smallest of every `size` numbers: as [`Pegasus::largest`].
    ///
    /// # Errors
    /// As [`Pegasus::largest`].
    pub fn smallest(&self, x: &Numbers, size: usize) -> Result<Numbers, PegasusError> {
        self.of_groups(x, size, |pairs| pairs.0)
    }

    fn of_groups(
        &self,
        x: &Numbers,
        size: usize,
        keep: impl Fn((Numbers, Numbers)) -> Numbers,
    ) -> Result<Numbers, PegasusError> {
        let groups = groups_of(x, size, "the largest or smallest of groups")?;
        // Those of all groups at one place stand together: `size` times `groups`.
        let mut left = size;
        let mut all =
            x.select(&(0..x.len()).map(|i| i % groups * size + i / groups).collect::<Vec<_>>())?;
        while left > 1 {
            let part = |range: Range<usize>| all.select(&range.collect::<Vec<_>>());
            let half = left / 2 * groups;
            let kept = keep(self.min_max(&part(0..half)?, &part(half..2 * half)?)?);
            all = if left % 2 == 1 { kept.concat(&part(2 * half..all.len())?)? } else { kept };
            left = left.div_ceil(2);
        }
        Ok(all)
    }

    /// Every `size` numbers that follow one another in rising order, by Batcher's odd-even merge
    /// sort: for 16 of them 63 look-ups in 10 rounds. **Error:** that of [`Pegasus::min_max`], once
    /// for every round at most.
    ///
    /// # Errors
    /// As [`Pegasus::largest`].
    pub fn sort(&self, x: &Numbers, size: usize) -> Result<Numbers, PegasusError> {
        let groups = groups_of(x, size, "sort numbers")?;
        let mut sorted = x.clone();
        for round in rounds(size) {
            let of_group =
                |group: usize| round.iter().map(move |(i, j)| (group * size + i, group * size + j));
            let pairs: Vec<(usize, usize)> = (0..groups).flat_map(of_group).collect();
            let (low, high): (Vec<usize>, Vec<usize>) = pairs.iter().copied().unzip();
            let (least, largest) = self.min_max(&sorted.select(&low)?, &sorted.select(&high)?)?;
            // All of them, and where in this list each is now.
            let mut places: Vec<usize> = (0..x.len()).collect();
            for (i, (low, high)) in pairs.iter().enumerate() {
                places[*low] = x.len() + i;
                places[*high] = x.len() + pairs.len() + i;
            }
            sorted = sorted.concat(&least)?.concat(&largest)?.select(&places)?;
        }
        Ok(sorted)
    }

    /// The `k` largest of every `size` numbers, in rising order: [`Pegasus::sort`] and a selection.
    ///
    /// # Errors
    /// [`PegasusError::Argument`] when there are not as many or none is wanted, and as
    /// [`Pegasus::sort`].
    pub fn top_k(&self, x: &Numbers, size: usize, k: usize) -> Result<Numbers, PegasusError> {
        if !(1..=size).contains(&k) {
            return argument("the largest numbers", format!("{k} of {size} numbers"));
        }
        let sorted = self.sort(x, size)?;
        sorted.select(&(0..x.len()).filter(|i| i % size >= size - k).collect::<Vec<_>>())
    }

    /// For every number how many others among the `size` of its group come before it: a permutation
    /// of `0..size`, up to the error of rotations and switches. It takes `size (size - 1)/2`
    /// look-ups for each group.
    ///
    /// Numbers farther apart than [`Pegasus::order_gap`] are in order. Nearer ones may be in either
    /// order, but each rank appears exactly once. Numbers that are rounded to the same index keep
    /// the order of their places.
    ///
    /// The result is at [`crate::PegasusPlan::table_scale`] of `size`.
    ///
    /// # Errors
    /// [`PegasusError::Argument`] if groups are of one number, and as [`Pegasus::largest`] and
    /// [`Pegasus::look_up`].
    pub fn ranks(&self, x: &Numbers, size: usize) -> Result<Numbers, PegasusError> {
        self.ranks_of(x, size, "rank numbers")
    }

    /// [`Pegasus::ranks`] for an operation of this name.
    ///
    /// Each number is rounded once to the grid of `2N` indices on which rotations work, and rounded
    /// numbers are subtracted. Rotations round nothing then: every comparison sees the exact
    /// difference of two indices, so that all comparisons agree with one total order, by the index
    /// and then the place. If each difference was rounded on its own, three comparisons of near
    /// numbers could form a cycle.
    fn ranks_of(
        &self,
        x: &Numbers,
        size: usize,
        operation: &'static str,
    ) -> Result<Numbers, PegasusError> {
        let groups = groups_of(x, size, operation)?;
        if size == 1 {
            return argument(operation, "there is one only".into());
        }
        let x = self.on_the_grid(x)?;
        let (later, earlier) = pairs(groups, size);
        let difference = x.select(&later)?.sub(&x.select(&earlier)?)?;
        // 1 at a difference of 0 too, where the later number counts as the larger one.
        let after = self.look_up_sign(&difference, self.plan().table_scale(size as f64)?)?;
        self.wins(&after, size)
    }

    /// The numbers modulo `2N`, each rounded as the modulus switch at the start of a rotation does.
    /// They are multiplied by the largest integer first with which their differences fit the
    /// circle.
    fn on_the_grid(&self, x: &Numbers) -> Result<Numbers, PegasusError> {
        let factor = self.grid_factor(x);
        let x = x.clone().times_integer(factor)?.over(factor as f64)?;
        let (entries, q) =
            (2 * self.tables().parameters().ring().dimension() as u64, x.parameters().modulus());
        let rounded =
            x.ciphertexts().iter().map(|c| c.switch_modulus(entries)).collect::<Result<_, _>>()?;
        Numbers::new(rounded, x.scale().times_integer(entries).divided_by(q), x.bound())
    }

    /// The largest integer by which numbers may be multiplied such that their differences fit the
    /// circle.
    fn grid_factor(&self, x: &Numbers) -> i64 {
        let (parameters, q) = (self.tables().parameters(), x.parameters().modulus());
        let fits = |factor: &i64| {
            let index = parameters.index_noise(x.noise().scaled((*factor as f64).log2()), q);
            let off = DEVIATIONS * index.plus(index).log2_std().exp2()
                / parameters.ring().dimension() as f64;
            2.0 * x.bound() * *factor as f64 <= x.largest_bound() * (1.0 - off)
        };
        (2..=MOST_TIMES).take_while(fits).last().unwrap_or(1)
    }

    /// How many others of its group every number is greater than, from the comparisons `greater` of
    /// [`pairs`].
    fn wins(&self, greater: &Numbers, size: usize) -> Result<Numbers, PegasusError> {
        let less = greater.clone().times_integer(-1)?.plus(1.0)?;
        let both = greater.clone().concat(&less)?.with_bound(1.0)?;
        let (left, right) = pairs(greater.len() / (size * (size - 1) / 2), size);
        // What of all these says that a number is the larger one.
        let mut wins =
            vec![Vec::with_capacity(size - 1); size * greater.len() / (size * (size - 1) / 2)];
        for (k, (left, right)) in left.into_iter().zip(right).enumerate() {
            wins[left].push(k);
            wins[right].push(greater.len() + k);
        }
        let term = |k: usize| both.select(&wins.iter().map(|places| places[k]).collect::<Vec<_>>());
        (1..size - 1).try_fold(term(0)?, |sum, k| sum.add(&term(k)?))
    }

    /// 1 for the largest number of every `size` and 0 for all others, at `scale`, by a tournament
    /// of `2 size - 3` look-ups for each group. One number of every group has the 1: where several
    /// are nearer to the largest than the index of a table is off by in a round, one of these.
    /// Differences have to fit ([`Pegasus::place_bound`]).
    ///
    /// # Errors
    /// [`PegasusError::Argument`] when groups are of one number, or so large that sums of bits are
    /// not told apart, and as [`Pegasus::largest`].
    pub fn is_largest(
        &self,
        x: &Numbers,
        size: usize,
        scale: Scale,
    ) -> Result<Numbers, PegasusError> {
        self.is_smallest(&x.clone().times_integer(-1)?, size, scale)
    }

    /// 1 for the smallest number of every `size` and 0 for all others: as [`Pegasus::is_largest`].
    ///
    /// # Errors
    /// As [`Pegasus::is_largest`].
    pub fn is_smallest(
        &self,
        x: &Numbers,
        size: usize,
        scale: Scale,
    ) -> Result<Numbers, PegasusError> {
        let (bits, groups) = (self.levels(x, size, scale)?.swap_remove(0), x.len() / size);
        bits.select(&(0..x.len()).map(|i| i % size * groups + i / size).collect::<Vec<_>>())
    }

    /// Ranks among `size` numbers as they are looked up: in `[-(size - 1)/2, (size - 1)/2]`, and
    /// half a place is allowed for.
    fn centred(&self, ranks: Numbers, size: usize) -> Result<Numbers, PegasusError> {
        let n = size as f64;
        let centred = ranks.plus(-(n - 1.0) / 2.0)?.with_bound(n / 2.0)?;
        self.check_ranks(size, centred.noise())?;
        Ok(centred)
    }

    /// The places in rising order of every `size` numbers, counted from the middle one, at `scale`:
    /// that of the smallest, that of the next one, and so on, 0 to `size - 1` less `(size - 1)/2`.
    /// Every place appears exactly once. Numbers farther apart than [`Pegasus::order_gap`] are in
    /// order; nearer ones may be in either order ([`Pegasus::ranks`]).
    ///
    /// It takes `size (size + 1)/2` look-ups for each group: the comparisons of [`Pegasus::ranks`],
    /// and one for each number, which finds the rank at which the number stands. **Error:** that of
    /// a rotation for several tables, once for each number.
    ///
    /// # Errors
    /// [`PegasusError::Argument`] if groups are of one number, or so large that a table does not
    /// tell ranks apart, if the scale does not hold so many places, and as [`Pegasus::largest`].
    pub fn argsort(&self, x: &Numbers, size: usize, scale: Scale) -> Result<Numbers, PegasusError> {
        const OPERATION: &str = "sort places";
        let groups = groups_of(x, size, OPERATION)?;
        if size > 1 {
            self.check_ranks(size, self.rank_noise(size))?;
        }
        let ranks = self.centred(self.ranks_of(x, size, OPERATION)?, size)?;
        // Of every rank the terms that are not 0, of which one counts.
        let middle = (size - 1) as f64 / 2.0;
        let of_place = |place: usize| {
            let numbers = ranks.select(&(place..x.len()).step_by(size).collect::<Vec<_>>())?;
            let at = |rank: usize, x: f64| (place as f64 - middle) * is_rank(x, rank, size);
            self.look_up_several_steps(&numbers, scale, size, at)?.with_bound(0.0)
        };
        let by_rank = (1..size).try_fold(of_place(0)?, |sum, place| sum.add(&of_place(place)?))?;
        let order: Vec<usize> = (0..x.len()).map(|i| i % size * groups + i / size).collect();
        by_rank.select(&order)?.with_bound(middle)
    }

    /// Two numbers farther apart than this are in order in [`Pegasus::argsort`] and
    /// [`Pegasus::ranks`]: seven deviations of the difference of two indices, each of which is
    /// rounded.
    pub fn order_gap(&self, x: &Numbers) -> f64 {
        let parameters = self.tables().parameters();
        let factor = self.grid_factor(x) as f64;
        let index =
            parameters.index_noise(x.noise().scaled(factor.log2()), x.parameters().modulus());
        let difference = index.plus(index).log2_std().exp2();
        sign::CERTAIN * difference * x.largest_bound()
            / factor
            / parameters.ring().dimension() as f64
    }

    /// The factor of the bound to extract numbers with whose places are sorted. `off` is the
    /// deviation of their error over their bound. With it, differences take all of the circle. It
    /// is about 1 for precise numbers.
    pub fn argsort_bound(&self, off: f64) -> f64 {
        let parameters = self.tables().parameters();
        let modulus = self.plan().literal().lwe().modulus();
        let index = parameters.index_noise(self.extraction().noise(), modulus);
        let difference = index.plus(index).log2_std().exp2();
        let rounding = DEVIATIONS * difference / parameters.ring().dimension() as f64;
        // The error of differences, over twice the bound; and a little for the other errors.
        let beyond = DEVIATIONS * off / 2f64.sqrt();
        1.01 * (1.0 + beyond) / (1.0 - rounding.min(0.5)) / (1.0 + self.plan().literal().margin)
    }

    /// The noise of ranks among so many numbers: of one look-up for each other number.
    fn rank_noise(&self, count: usize) -> Noise {
        self.number_noise().scaled(0.5 * (count as f64 - 1.0).log2())
    }

    /// Checks that the ranks of so many numbers, which are off by so much, are told apart.
    fn check_ranks(&self, count: usize, noise: Noise) -> Result<(), PegasusError> {
        let parameters = self.tables().parameters();
        let told_apart = |count: usize, noise: Noise| {
            let index = parameters.index_noise(noise, self.back().parameters()[1].modulus());
            let off = index.log2_std().exp2() * count as f64 / parameters.ring().dimension() as f64;
            CERTAIN * off <= 0.5
        };
        if !told_apart(count, noise) {
            let most =
                (2..count).take_while(|n| told_apart(*n, self.rank_noise(*n))).last().unwrap_or(1);
            let what = format!(
                "among {count} numbers: with these tables the ranks of {most} are told apart"
            );
            return argument("sort places", what);
        }
        Ok(())
    }

    /// The place of the largest number of every `size`, from 0, at `scale`: as
    /// [`Pegasus::is_largest`].
    ///
    /// # Errors
    /// As [`Pegasus::is_largest`], and when the scale does not hold so many places.
    pub fn argmax(&self, x: &Numbers, size: usize, scale: Scale) -> Result<Numbers, PegasusError> {
        self.argmin(&x.clone().times_integer(-1)?, size, scale)
    }

    /// The place of the smallest number: as [`Pegasus::argmax`].
    ///
    /// # Errors
    /// As [`Pegasus::argmax`].
    pub fn argmin(&self, x: &Numbers, size: usize, scale: Scale) -> Result<Numbers, PegasusError> {
        Ok(self.argmin_digits(x, size, rounds_of(size).max(1), scale)?.swap_remove(0))
    }

    /// The digits of so many bits of [`Pegasus::argmin`], the least significant one first: what
    /// bits are off by goes by the largest digit then, and not by the largest place.
    ///
    /// # Errors
    /// As [`Pegasus::argmin`], and when digits have no bits.
    pub fn argmin_digits(
        &self,
        x: &Numbers,
        size: usize,
        bits: u32,
        scale: Scale,
    ) -> Result<Vec<Numbers>, PegasusError> {
        if !(1..=32).contains(&bits) {
            return argument("find a place", format!("in digits of {bits} bits"));
        }
        let (levels, groups) = (self.levels(x, size, scale)?, x.len() / size);
        let none = levels[0].select(&at(0..1, groups))?.times_integer(0)?;
        let most = size - 1;
        levels
            .chunks(bits as usize)
            .enumerate()
            .map(|(digit, levels)| {
                let mut sum = none.clone();
                // Bit k of the place is that of the second ones of two in level k.
                for (k, level) in levels.iter().enumerate() {
                    for second in (1..level.len() / groups).step_by(2) {
                        let bit =
                            level.select(&at(second..second + 1, groups))?.times_integer(1 << k)?;
                        sum = sum.with_bound(0.0)?.add(&bit)?;
                    }
                }
                let above = most >> (digit * bits as usize);
                sum.with_bound(above.min((1 << levels.len()) - 1) as f64)
            })
            .collect()
    }

    /// [`Pegasus::argmin_digits`] of the place of the largest number.
    ///
    /// # Errors
    /// As there.
    pub fn argmax_digits(
        &self,
        x: &Numbers,
        size: usize,
        bits: u32,
        scale: Scale,
    ) -> Result<Vec<Numbers>, PegasusError> {
        self.argmin_digits(&x.clone().times_integer(-1)?, size, bits, scale)
    }

    /// The levels of a tournament of every `size` numbers: one at least.
    fn levels(&self, x: &Numbers, size: usize, scale: Scale) -> Result<Vec<Numbers>, PegasusError> {
        let groups = groups_of(x, size, "find the smallest or largest")?;
        let by_place: Vec<usize> = (0..x.len()).map(|i| i % groups * size + i / groups).collect();
        self.tournament(&x.select(&by_place)?, size, 2.0 * x.bound(), scale)
    }
}

/// How many deviations half a rank has to be.
const CERTAIN: f64 = 5.0;

/// 1 where a centred rank ([`Pegasus::centred`]) is this one of `size`, and 0 elsewhere.
fn is_rank(x: f64, rank: usize, size: usize) -> f64 {
    f64::from((x - (rank as f64 - (size as f64 - 1.0) / 2.0)).abs() < 0.5)
}

/// All pairs of numbers in every group of `size`, group by group: the later ones, and the earlier
/// ones.
fn pairs(groups: usize, size: usize) -> (Vec<usize>, Vec<usize>) {
    let of_group = |group: usize| {
        (0..size).flat_map(move |i| (0..i).map(move |j| (group * size + i, group * size + j)))
    };
    (0..groups).flat_map(of_group).unzip()
}

/// How many groups of `size` numbers there are.
fn groups_of(x: &Numbers, size: usize, operation: &'static str) -> Result<usize, PegasusError> {
    if size == 0 || !x.len().is_multiple_of(size) {
        return argument(operation, format!("{} numbers in groups of {size}", x.len()));
    }
    Ok(x.len() / size)
}

/// Batcher's odd-even merge sort (Knuth, The Art of Computer Programming 3, 5.2.2, Algorithm M):
/// rounds of pairs of places that are put in order.
fn rounds(n: usize) -> Vec<Vec<(usize, usize)>> {
    let mut rounds = Vec::new();
    let mut p = 1;
    while p < n {
        let mut k = p;
        while k >= 1 {
            let starts = (k % p..n.saturating_sub(k)).step_by(2 * k);
            let pairs = starts.flat_map(|j| (j..(j + k).min(n - k)).map(move |i| (i, i + k)));
            rounds.push(pairs.filter(|(i, j)| i / (2 * p) == j / (2 * p)).collect());
            k /= 2;
        }
        p *= 2;
    }
    rounds.retain(|round: &Vec<_>| !round.is_empty());
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the principle of zeros and ones.
    #[test]
    fn networks_sort() {
        for n in 1..=12usize {
            let rounds = rounds(n);
            for bits in 0..1u32 << n {
                let mut x: Vec<u32> = (0..n).map(|i| bits >> i & 1).collect();
                for (i, j) in rounds.iter().flatten() {
                    let pair = (x[*i], x[*j]);
                    (x[*i], x[*j]) = (pair.0.min(pair.1), pair.0.max(pair.1));
                }
                assert!(x.is_sorted(), "{n}: {bits:b}");
            }
            for round in rounds {
                let mut places: Vec<usize> = round.iter().flat_map(|(i, j)| [*i, *j]).collect();
                places.sort_unstable();
                places.dedup();
                assert_eq!(places.len(), 2 * round.len());
            }
        }
        let count = rounds(16);
        assert_eq!((count.len(), count.iter().map(Vec::len).sum::<usize>()), (10, 63));
    }
}
