//! Ranks of elements from one comparison of all pairs of them.

use hippocrene_ckks::{
    Short,
    circuits::comparison::{SignPlan, SignUse},
};
use hippocrene_rlwe::Noise;

use super::{
    EqualElements,
    blocks::{Blocks, PRODUCTS_AFTER_COMPARISON},
};
use crate::server::{
    Server,
    functions::comparison::{Comparison, DEFAULT_GAP, WIDER_GAPS},
    moves::broadcast::Copies,
};
use crate::{Capacity, EncryptedArray, Error, Interval, Layout, Numbers, SlotContents};

/// Largest error of a rank that is a result, without the noise. Chosen.
pub(super) const MAX_ERROR_OF_RANKS: f64 = 1.0 / 32.0;

/// Largest error of a rank that is compared with whole numbers. Chosen: a larger one allows a less
/// precise first comparison, and makes the gap of the second one narrower.
pub(super) const MAX_ERROR_OF_RANKS_WITHIN: f64 = 1.0 / 16.0;

/// Standard deviation of the noise of a rank. Chosen: a comparison with whole numbers tolerates a
/// little more.
pub(super) const NOISE_OF_RANKS: f64 = 1.0 / 768.0;

/// Moved elements have this many bits more precision than the comparison needs. Chosen.
const EXTRA_BITS_OF_MOVES: f64 = 4.0;

/// The layouts of an array whose lines along an axis are compared with themselves.
pub(super) struct Pairs {
    pub(super) axis: usize,
    /// The number of elements of a line.
    pub(super) length: usize,
    /// The number of rows that are compared. It is a power of two if all rows fit a ciphertext.
    pub(super) rows: usize,
    /// The distance of rows, in slots. It is a power of two.
    pub(super) stride: usize,
    pub(super) shape: Vec<usize>,
    strides: Vec<usize>,
    pub(super) slots: usize,
}

impl Pairs {
    pub(super) fn of(a: &EncryptedArray, axis: usize) -> Self {
        let (layout, length) = (a.layout(), a.shape()[axis]);
        let (slots, stride) = (layout.slots(), (layout.last() + 1).next_power_of_two());
        let padded = length.next_power_of_two();
        let rows = if stride * padded <= slots { padded } else { length };
        let (shape, strides) = (layout.shape().to_vec(), layout.strides().to_vec());
        Pairs { axis, length, rows, stride, shape, strides, slots }
    }

    /// Returns the number of times that all rows fit a ciphertext.
    pub(super) fn copies(&self) -> usize {
        (self.slots / (self.stride * self.rows).min(self.slots)).max(1)
    }

    /// Returns the layout of this many rows.
    pub(super) fn layout(&self, rows: usize) -> Result<Layout, Error> {
        let shape = [&[rows], &self.shape[..]].concat();
        Layout::new(shape, [&[self.stride], &self.strides[..]].concat(), self.slots)
    }

    /// Returns the layout of all rows with all of their copies.
    pub(super) fn layout_of_copies(&self) -> Result<Layout, Error> {
        let shape = [&[self.copies(), self.rows], &self.shape[..]].concat();
        let strides = [&[self.stride * self.rows, self.stride], &self.strides[..]].concat();
        Layout::new(shape, strides, self.slots)
    }

    /// True if ranks are repeated in all rows of all copies, and rows lie in one ciphertext.
    pub(super) fn repeats(&self, ranks: &EncryptedArray) -> bool {
        let periods = ranks.slot_contents().period();
        self.stride * self.rows <= self.slots
            && self.rows.is_power_of_two()
            && periods.is_some_and(|period| self.stride.is_multiple_of(period))
    }

    /// Returns the layout in which every element is in the row of its place.
    pub(super) fn layout_by_place(&self) -> Result<Layout, Error> {
        let mut shape = [&[self.length], &self.shape[..]].concat();
        shape[self.axis + 1] = 1;
        let strides = [&[self.strides[self.axis]], &self.strides[..]].concat();
        Layout::new(shape, strides, self.slots)
    }

    /// Returns the shift of each difference that makes it positive if the element of the row comes
    /// before the other.
    ///
    /// Rows without an element count as above all elements, up to the highest one.
    fn shifts(&self, equal: EqualElements, gap: f64, highest: f64) -> Vec<f64> {
        let shift = |row: usize, place: usize| {
            let is_before = match equal {
                EqualElements::Rising => row < place,
                EqualElements::Falling => row > place,
            };
            match row < self.length {
                true if is_before => gap,
                true => -gap,
                false => -gap - highest,
            }
        };
        let places: Vec<usize> = self.places().collect();
        let rows = (0..self.rows).flat_map(|row| places.iter().map(move |place| (row, *place)));
        rows.map(|(row, place)| shift(row, place)).collect()
    }

    /// Returns the bound of ranks and of their differences from whole numbers, in all slots.
    pub(super) fn bound_of_ranks(&self) -> f64 {
        // In slots without an element, all rows may count.
        self.rows as f64 + 2.0 * MAX_ERROR_OF_RANKS_WITHIN
    }

    /// Returns the place of each element in its line, in row-major order.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> + '_ {
        let (size, inner): (usize, usize) =
            (self.shape.iter().product(), self.shape[self.axis + 1..].iter().product());
        (0..size).map(move |i| i / inner % self.length)
    }
}

/// The ranks of elements, and how their pairs were laid out.
pub(super) struct Ranked {
    pub(super) ranks: EncryptedArray,
    pub(super) pairs: Pairs,
}

impl Server {
    /// Returns the ranks of all elements in their lines. Besides the noise, their error is at most
    /// `error`, which the estimate of their precision does not include.
    pub(super) fn ranks(
        &self,
        x: &EncryptedArray,
        axis: usize,
        equal: EqualElements,
        error: f64,
        operation: &'static str,
    ) -> Result<Ranked, Error> {
        let (pairs, form) = (Pairs::of(x, axis), self.form_of(&[x]));
        let blocks = Blocks::of(&pairs)?;
        // Blocks leave strays of other blocks beside their elements, whose bound may be far larger.
        let clean = blocks.is_some().then(|| self.cleaned(x)).transpose()?;
        let x = clean.as_ref().unwrap_or(x);
        let rows = blocks.as_ref().map_or(pairs.rows, Blocks::rows) as f64;
        // A rank is half the sum of this number of signs.
        let noise_std = 2.0 * NOISE_OF_RANKS / rows.sqrt();
        let (gap, plan) = self.half_gap(x, &form, 2.0 * error / rows, noise_std, operation)?;
        let extra_bits = blocks.as_ref().map_or(0.0, |blocks| blocks.bits_of_columns(x.bound()));
        let bits = plan.argument_precision() + EXTRA_BITS_OF_MOVES + extra_bits;
        let coarse = self.at_most_precision(bits, &form);
        let compared = |mut differences: EncryptedArray, shifts: &[f64], remaining_bits| {
            differences.set_bound(bound_of_differences(x));
            let copies = differences.size() / shifts.len();
            let mut shifted = self.add_plain(&differences, &shifts.repeat(copies)[..])?;
            shifted.set_bound(plan.literal().bound);
            let precision = Some(plan.literal().precision);
            let how = Comparison { gap: Some(gap), precision, ..Comparison::default() };
            self.steps(&shifted, how, Some(noise_std), remaining_bits, operation)
        };
        let mut ranks = match &blocks {
            Some(blocks) => {
                let shifts = blocks.shifts(equal, gap, (x.interval().low(), x.interval().high()));
                let differences = coarse.differences_of_blocks(x, blocks)?;
                let product_bits = form.computed_by(&coarse).product_bits(&coarse);
                let remaining_bits = PRODUCTS_AFTER_COMPARISON * product_bits + rows.log2();
                let before = compared(differences, &shifts, remaining_bits)?;
                self.ranks_of_blocks(&before, blocks)?
            }
            None => {
                let shifts = pairs.shifts(equal, gap, x.interval().high());
                let (differences, is_tiled) = coarse.differences_of_pairs(x, &pairs)?;
                let mut before = compared(differences, &shifts, 0.0)?;
                if is_tiled {
                    let period = Some(pairs.stride * pairs.rows);
                    before = before
                        .with_layout(pairs.layout(pairs.rows)?)
                        .with_slot_contents(SlotContents::repeating(period, false));
                }
                self.sum(&before, Some(0))?
            }
        };
        ranks.set_bound(pairs.bound_of_ranks());
        let most = pairs.length as f64 - 1.0 + error;
        let ranks =
            ranks.with_known_interval(Interval::new(-error, most).unwrap_or(Interval::EVERYTHING));
        Ok(Ranked { ranks, pairs })
    }

    /// Returns the differences of all elements from the element of each row, and whether copies of
    /// all rows fill the ciphertext.
    fn differences_of_pairs(
        &self,
        x: &EncryptedArray,
        pairs: &Pairs,
    ) -> Result<(EncryptedArray, bool), Error> {
        let row =
            self.repeated_as(&self.insert_axis(x, 0)?, &pairs.layout(pairs.rows)?, Copies::One)?;
        let by_place = x.clone().with_layout(pairs.layout_by_place()?);
        let mut column = self.repeated_as(&by_place, &pairs.layout(pairs.length)?, Copies::One)?;
        if pairs.rows > pairs.length {
            column = self.cleaned(&column)?.with_layout(pairs.layout(pairs.rows)?);
        }
        let tiled = match pairs.copies() {
            1 => None,
            _ => self.tiled(&row, pairs)?.zip(self.tiled(&column, pairs)?),
        };
        let is_tiled = tiled.is_some();
        let (row, column) = tiled.unwrap_or((row, column));
        Ok((self.sub(&row, &column)?, is_tiled))
    }

    /// Returns the rows with copies that fill the ciphertext, or `None` if slots without an element
    /// are neither zero nor copies.
    fn tiled(&self, rows: &EncryptedArray, pairs: &Pairs) -> Result<Option<EncryptedArray>, Error> {
        let all = pairs.layout_of_copies()?;
        let period = pairs.stride * pairs.rows;
        if rows.slot_contents().period().is_some_and(|own| period.is_multiple_of(own)) {
            return Ok(Some(rows.clone().with_layout(all)));
        }
        if !rows.is_clean() {
            return Ok(None);
        }
        self.repeated_as(&self.insert_axis(rows, 0)?, &all, Copies::One).map(Some)
    }

    /// Returns half the gap of a comparison of all pairs, and its plan, with an error of at most
    /// `error` for each pair, besides its noise.
    pub(super) fn half_gap(
        &self,
        x: &EncryptedArray,
        form: &Numbers,
        error: f64,
        noise_std: f64,
        operation: &'static str,
    ) -> Result<(f64, SignPlan), Error> {
        let bound = bound_of_differences(x);
        let precision = Some((-error.log2()).ceil().clamp(4.0, 40.0));
        // The error of a difference of two independent elements.
        let noise = Noise::from_log2_std(-x.precision_bits(&self.session));
        let have = -noise.plus(noise).log2_std() - 0.25;
        let default = |times: f64| times * DEFAULT_GAP / (1.0 - times * DEFAULT_GAP) * bound;
        let gaps = match self.policy.distance {
            Some(distance) => vec![(0.5 * distance).min(0.25 * bound)],
            None => [1.0].into_iter().chain(WIDER_GAPS).map(default).collect(),
        };
        let mut found = None;
        for gap in gaps {
            let how = Comparison { gap: Some(gap), precision, ..Comparison::default() };
            let used = SignUse { noise_std: Some(noise_std), ..SignUse::default() };
            let plan = self.plan_for(form, bound + gap, how, used, operation)?;
            let is_enough = plan.argument_precision() <= have;
            if !is_enough && let Some(distance) = self.policy.distance {
                let what = format!(
                    "values with a precision of {have:.1} bits cannot be told apart at the \
                     declared distance of {}, which takes {:.1} bits. Encrypt with a higher \
                     precision, or use keys with look-up tables.",
                    Short(distance),
                    plan.argument_precision()
                );
                return Err(Error::argument(operation, what));
            }
            found = Some((gap, plan));
            if is_enough {
                break;
            }
        }
        found.ok_or_else(|| Error::Internal("no gap of an order".into()))
    }

    /// Returns this server with a precision of at most `bits`.
    pub(super) fn at_most_precision(&self, bits: f64, form: &Numbers) -> Server {
        // If the parameters allow no such scale, the precision stays as it is.
        self.with_precision(bits.min(form.precision)).unwrap_or_else(|_| self.clone())
    }
}

/// Returns the bound of the differences of two elements, in all slots.
fn bound_of_differences(x: &EncryptedArray) -> f64 {
    match x.has_strays() {
        true => 2.0 * x.bound(),
        // Other slots hold the difference of an element and 0, or of two elements. The bound of
        // centred elements is at most the width.
        false => x.interval().width(),
    }
}
