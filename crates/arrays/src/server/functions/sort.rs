//! Sorting, extremes and their indices, by look-ups of differences ([PEGASUS](hippocrene_pegasus)).
//!
//! Each operation works along an axis or on all elements. A *line* is the group of elements that
//! are compared with each other. A *place* is the index of an element in its line.

use hippocrene_ckks::{Ciphertext, Scale};
use hippocrene_pegasus::{Layout as Places, Numbers as Single, Pegasus, PegasusError};

use crate::server::{
    Server,
    functions::{
        comparison::centre,
        lines::{Lines, relabelled},
        order_by_pairs::{EqualElements, Ordered},
    },
};
use crate::{Array, EncryptedArray, Error, Layout, Numbers, SlotContents, format_shape};

/// Maximum length of a line whose places are computed.
///
/// In longer lines, places would have a standard deviation of half a place or more.
const MAX_PLACES: usize = 256;

impl Server {
    /// Sorts the elements in rising order along an axis, or all of them into an array of one axis.
    ///
    /// `axis` `None` sorts all elements. There are three ways:
    ///
    /// - By tables, if the server has look-up keys. A line of 16 elements needs 63 look-ups, and one
    ///   of 32 between one and two hundred ([`Pegasus::sort`]).
    /// - By comparing all pairs, if a distance of the elements is declared
    ///   ([`Server::with_distance`]).
    /// - By layers of comparators otherwise, 10 for 16 elements and 15 for 32.
    ///
    /// # Errors
    /// [`Error::Shape`] when there is no such axis; [`Error::NoKeys`] when the server has neither
    /// look-up keys nor bootstrapping keys, and capacity is too low; [`Error::Capacity`] when a
    /// bootstrap restores too little; [`Error::Argument`] when the array is complex or has no bound.
    pub fn sort(&self, a: &EncryptedArray, axis: Option<usize>) -> Result<EncryptedArray, Error> {
        let lines = Lines::of(a.shape(), axis, "sort")?;
        if lines.length == 1 {
            return self.insert_axis(&self.lines_of_one(a, &lines)?, axis.unwrap_or(0));
        }
        if let Some(filled) = self.filled(a, &lines.with(lines.length).0, lines.operation)? {
            return Ok(filled);
        }
        let ranks = Ordered::Elements((0..lines.length).collect());
        if let Some(sorted) = self.in_order_without_tables(a, &lines, &ranks)? {
            return lines.along(sorted);
        }
        self.in_order(a, &lines, lines.length, |pegasus, x| pegasus.sort(x, lines.length))
    }

    /// Returns the `k` largest elements along an axis, or of all elements, in rising order.
    ///
    /// The result of all elements has one axis ([`Pegasus::top_k`]).
    ///
    /// # Errors
    /// [`Error::Argument`] when `k` is 0 or larger than the number of elements in a line, and as
    /// [`Server::sort`].
    pub fn top_k(
        &self,
        a: &EncryptedArray,
        k: usize,
        axis: Option<usize>,
    ) -> Result<EncryptedArray, Error> {
        let lines = Lines::of(a.shape(), axis, "top_k")?;
        if !(1..=lines.length).contains(&k) {
            return Err(Error::argument(
                "top_k",
                format!(
                    "{k} of {} numbers are requested. Between 1 and the length of the axis are possible.",
                    lines.length
                ),
            ));
        }
        if lines.length == 1 {
            return self.insert_axis(&self.lines_of_one(a, &lines)?, axis.unwrap_or(0));
        }
        if let Some(filled) = self.filled(a, &lines.with(k).0, lines.operation)? {
            return Ok(filled);
        }
        let ranks = Ordered::Elements((lines.length - k..lines.length).collect());
        if let Some(sorted) = self.in_order_without_tables(a, &lines, &ranks)? {
            return lines.along(sorted);
        }
        self.in_order(a, &lines, k, |pegasus, x| pegasus.top_k(x, lines.length, k))
    }

    /// Returns the largest elements along an axis, or the largest of all elements.
    ///
    /// It needs `n - 1` look-ups for a line of `n` elements ([`Pegasus::largest`]), or `log2(n)`
    /// layers of comparators. [`Server::sort`] says which way is taken.
    ///
    /// # Errors
    /// As [`Server::sort`].
    pub fn largest(
        &self,
        a: &EncryptedArray,
        axis: Option<usize>,
    ) -> Result<EncryptedArray, Error> {
        let lines = Lines::of(a.shape(), axis, "max")?;
        if lines.length == 1 {
            return self.lines_of_one(a, &lines);
        }
        if let Some(filled) = self.filled(a, &lines.kept, lines.operation)? {
            return Ok(filled);
        }
        let last = Ordered::Elements(vec![lines.length - 1]);
        if let Some(largest) = self.in_order_without_tables(a, &lines, &last)? {
            return without_first_axis(largest);
        }
        self.of_lines(a, &lines, in_rounds(lines.length), |pegasus, x| {
            pegasus.largest(x, lines.length)
        })
    }

    /// Returns the smallest elements along an axis, or the smallest of all elements.
    ///
    /// The number of look-ups is that of [`Server::largest`].
    ///
    /// # Errors
    /// As [`Server::sort`].
    pub fn smallest(
        &self,
        a: &EncryptedArray,
        axis: Option<usize>,
    ) -> Result<EncryptedArray, Error> {
        let lines = Lines::of(a.shape(), axis, "min")?;
        if lines.length == 1 {
            return self.lines_of_one(a, &lines);
        }
        if let Some(filled) = self.filled(a, &lines.kept, lines.operation)? {
            return Ok(filled);
        }
        if let Some(smallest) =
            self.in_order_without_tables(a, &lines, &Ordered::Elements(vec![0]))?
        {
            return without_first_axis(smallest);
        }
        self.of_lines(a, &lines, in_rounds(lines.length), |pegasus, x| {
            pegasus.smallest(x, lines.length)
        })
    }

    /// Returns the places of the smallest elements along an axis, or of the smallest of all.
    ///
    /// Places count from 0. Without an axis, they count all elements in row-major order. A line of
    /// `n` elements needs `2n - 3` look-ups ([`Pegasus::argmin`]).
    ///
    /// Several elements may be nearer to the smallest than the error of the table index in a round
    /// of the tournament. The result is then the place of one of these.
    ///
    /// # Errors
    /// [`Error::Argument`] when a line has more than 256 elements, or when the elements are too
    /// imprecise for a tournament of this size; and as [`Server::sort`].
    pub fn argmin(&self, a: &EncryptedArray, axis: Option<usize>) -> Result<EncryptedArray, Error> {
        let lines = Lines::of(a.shape(), axis, "argmin")?;
        let first = Ordered::Places(vec![0], EqualElements::Rising);
        self.place(a, &lines, &first, Pegasus::argmin_digits)
    }

    /// Returns the places of the largest elements along an axis, or of the largest of all.
    ///
    /// Places and look-ups are counted as in [`Server::argmin`].
    ///
    /// # Errors
    /// As [`Server::argmin`].
    pub fn argmax(&self, a: &EncryptedArray, axis: Option<usize>) -> Result<EncryptedArray, Error> {
        let lines = Lines::of(a.shape(), axis, "argmax")?;
        // The first one of several largest elements has the highest rank.
        let last = Ordered::Places(vec![lines.length - 1], EqualElements::Falling);
        self.place(a, &lines, &last, Pegasus::argmax_digits)
    }

    /// Returns the place that `f` finds in every line, assembled from its digits.
    fn place(
        &self,
        a: &EncryptedArray,
        lines: &Lines,
        place: &Ordered,
        f: impl Fn(&Pegasus, &Single, usize, u32, Scale) -> Result<Vec<Single>, PegasusError>,
    ) -> Result<EncryptedArray, Error> {
        if lines.length == 1 || is_constant(a) {
            return self.first_places(a, lines);
        }
        if let Some(places) = self.in_order_without_tables(a, lines, place)? {
            return without_first_axis(places);
        }
        if lines.length > MAX_PLACES {
            let what = format!(
                "among {} numbers: at most {MAX_PLACES} places can be told apart. Reshape the \
                 numbers to several lines. Find the place in each line, along the axis, and then \
                 the line.",
                lines.length
            );
            return Err(Error::argument(lines.operation, what));
        }
        let bits = lines.digit_bits();
        let largest = lines.last().min(f64::from((1u32 << bits) - 1));
        let scale_of = |pegasus: &Pegasus| pegasus.plan().repacking_scale(largest);
        let wide = |pegasus: &Pegasus, a: &Ciphertext, slot: usize| {
            pegasus.tournament_bound_factor_of(a, slot, lines.length, scale_of(pegasus)?)
        };
        let a = &self.plus_constant(a, -centre(&[a]), lines.operation)?;
        self.of_elements(a, lines, wide, |server, pegasus, x, form| {
            let digits = f(pegasus, x, lines.length, bits, scale_of(pegasus)?)?;
            let mut place: Option<EncryptedArray> = None;
            for digit in digits.iter().rev() {
                let digit = server.repacked(pegasus, digit, &lines.kept, form)?;
                place = Some(match place {
                    Some(higher) => {
                        let scaled = server.mul_number(&higher, f64::from(1u32 << bits))?;
                        server.add(&scaled, &digit)?
                    }
                    None => digit,
                });
            }
            place.ok_or_else(|| Error::Internal("a place without digits".into()))
        })
    }

    /// Returns lines of one element without their axis.
    ///
    /// No look-up is needed.
    pub(in crate::server) fn lines_of_one(
        &self,
        a: &EncryptedArray,
        lines: &Lines,
    ) -> Result<EncryptedArray, Error> {
        self.check_real(a, lines.operation)?;
        self.sum(a, lines.axis).map_err(|e| e.during(lines.operation))
    }

    /// Returns an array of this shape filled with the only value that elements of `a` can have, or
    /// `None` if the elements may differ.
    ///
    /// If all elements are equal, nothing needs to be sorted or compared.
    pub(in crate::server) fn filled(
        &self,
        a: &EncryptedArray,
        shape: &[usize],
        operation: &'static str,
    ) -> Result<Option<EncryptedArray>, Error> {
        self.check_real(a, operation)?;
        if !is_constant(a) {
            return Ok(None);
        }
        let filled =
            self.zeros(a, shape).and_then(|zeros| self.add_number(&zeros, a.interval().low()));
        filled.map(Some).map_err(|e| e.during(operation))
    }

    /// Returns zeros in this shape, encrypted under the key of `a`.
    fn zeros(&self, a: &EncryptedArray, shape: &[usize]) -> Result<EncryptedArray, Error> {
        let layout = Layout::packed(shape, self.session.slots())?;
        let zeros = self.mul_number(a, 0.0)?;
        let one = zeros.expanded(&self.session)[0].clone().into_owned();
        let ciphertexts = vec![one; layout.ciphertexts()];
        Ok(Array::from_ciphertexts(layout, *zeros.form(), SlotContents::Zero, ciphertexts))
    }

    /// Returns the first place of every line, which is 0.
    fn first_places(&self, a: &EncryptedArray, lines: &Lines) -> Result<EncryptedArray, Error> {
        self.check_real(a, lines.operation)?;
        self.zeros(a, &lines.kept).map_err(|e| e.during(lines.operation))
    }

    /// Returns the places of the elements in rising order along an axis, counted from 0.
    ///
    /// The first result is the place of the smallest element, the second that of the next one, and
    /// so on. Without an axis, all elements are counted in row-major order and the result has one
    /// axis. A line of `n` elements needs `n (3n - 1)/2` look-ups ([`Pegasus::argsort`]).
    ///
    /// Every place appears exactly once. Elements are in order if they differ by more than
    /// [`Server::argsort_gap`]. Nearer ones may be in either order, and so may equal ones.
    ///
    /// # Errors
    /// [`Error::Argument`] when a line is so long that tables cannot tell ranks apart, and as
    /// [`Server::sort`].
    pub fn argsort(
        &self,
        a: &EncryptedArray,
        axis: Option<usize>,
    ) -> Result<EncryptedArray, Error> {
        let lines = Lines::of(a.shape(), axis, "argsort")?;
        if lines.length == 1 {
            return self.insert_axis(&self.first_places(a, &lines)?, axis.unwrap_or(0));
        }
        let (shape, next) = lines.with(lines.length);
        if is_constant(a) {
            let places: Vec<f64> = next.iter().map(|i| (i % lines.length) as f64).collect();
            let ordered =
                self.zeros(a, &shape).and_then(|zeros| self.add_plain(&zeros, &places[..]));
            return ordered.map_err(|e| e.during(lines.operation));
        }
        let places = Ordered::Places((0..lines.length).collect(), EqualElements::Rising);
        if let Some(places) = self.in_order_without_tables(a, &lines, &places)? {
            return lines.along(places);
        }
        let a = &self.plus_constant(a, -centre(&[a]), lines.operation)?;
        let off = (-a.precision_bits(&self.session)).exp2() / a.bound();
        let named = |error| match error {
            PegasusError::Argument { what, .. } => Error::argument(lines.operation, what),
            other => other.into(),
        };
        self.of_elements(
            a,
            &lines,
            |pegasus, _, _| Ok(pegasus.argsort_bound_factor(off)),
            |server, pegasus, x, form| {
                let middle = lines.last() / 2.0;
                let scale = pegasus.plan().repacking_scale(middle)?;
                let places =
                    pegasus.argsort(x, lines.length, scale).map_err(named)?.select(&next)?;
                server.add_number(&server.repacked(pegasus, &places, &shape, form)?, middle)
            },
        )
    }

    /// Returns the largest element of every window of `size`, or of `size` by `size` for two axes.
    ///
    /// The windows lie side by side without overlap ([`Pegasus::largest`]).
    ///
    /// # Errors
    /// [`Error::Shape`] when `size` does not divide the length of an axis or there are more than
    /// two axes, and as [`Server::sort`].
    pub fn max_pool(&self, a: &EncryptedArray, size: usize) -> Result<EncryptedArray, Error> {
        const OPERATION: &str = "max_pool";
        let shape = a.shape();
        let (rows, columns, down) = match *shape {
            [n] => (1, n, 1),
            [rows, columns] => (rows, columns, size),
            _ => {
                return Err(Error::shape(
                    OPERATION,
                    format!("one axis or two are pooled, not {shape}", shape = format_shape(shape)),
                ));
            }
        };
        if size == 0 || !rows.is_multiple_of(down) || !columns.is_multiple_of(size) {
            return Err(Error::shape(
                OPERATION,
                format!(
                    "windows of {size} do not fill the shape {shape}",
                    shape = format_shape(shape)
                ),
            ));
        }
        // The indices of the elements, window by window.
        let windows =
            (0..rows / down).flat_map(|i| (0..columns / size).map(move |j| (i * down, j * size)));
        let order = windows
            .flat_map(|(i, j)| {
                (i..i + down).flat_map(move |i| (j..j + size).map(move |j| i * columns + j))
            })
            .collect();
        if size == 1 {
            self.check_real(a, OPERATION)?;
            return Ok(a.clone());
        }
        let kept: Vec<usize> = shape.iter().map(|extent| extent / size).collect();
        if let Some(filled) = self.filled(a, &kept, OPERATION)? {
            return Ok(filled);
        }
        let lines =
            Lines { operation: OPERATION, length: down * size, order, kept, inner: 1, axis: None };
        if self.pegasus.is_none() {
            return without_first_axis(self.by_comparators(a, &lines, &[lines.length - 1])?);
        }
        self.of_lines(a, &lines, in_rounds(lines.length), |pegasus, x| {
            pegasus.largest(x, lines.length)
        })
    }

    /// Applies `f`, which sorts every line and keeps `k` numbers of it.
    ///
    /// The axis of the result has length `k`.
    fn in_order(
        &self,
        a: &EncryptedArray,
        lines: &Lines,
        k: usize,
        f: impl Fn(&Pegasus, &Single) -> Result<Single, PegasusError>,
    ) -> Result<EncryptedArray, Error> {
        let wide = |pegasus: &Pegasus, _: &_, _| {
            Ok(pegasus.sorting_bound_factor(Pegasus::sort_rounds(lines.length)))
        };
        let (shape, next) = lines.with(k);
        let (middle, interval) = (centre(&[a]), a.interval());
        let a = &self.plus_constant(a, -middle, lines.operation)?;
        let ordered = self.of_elements(a, lines, wide, |server, pegasus, x, form| {
            server.repacked(pegasus, &f(pegasus, x)?.select(&next)?, &shape, form)
        })?;
        Ok(self.plus_constant(&ordered, middle, lines.operation)?.with_known_interval(interval))
    }

    /// Applies `f`, which reduces every line to one number.
    ///
    /// The numbers are extracted as if their bound was larger by the factor `wide`.
    fn of_lines(
        &self,
        a: &EncryptedArray,
        lines: &Lines,
        wide: impl Fn(&Pegasus) -> f64,
        f: impl Fn(&Pegasus, &Single) -> Result<Single, PegasusError>,
    ) -> Result<EncryptedArray, Error> {
        let (middle, interval) = (centre(&[a]), a.interval());
        let result = self.of_elements(
            &self.plus_constant(a, -middle, lines.operation)?,
            lines,
            |pegasus, _, _| Ok(wide(pegasus)),
            |server, pegasus, x, form| server.repacked(pegasus, &f(pegasus, x)?, &lines.kept, form),
        )?;
        Ok(self.plus_constant(&result, middle, lines.operation)?.with_known_interval(interval))
    }

    /// Applies `f` to the elements as single numbers, line by line.
    ///
    /// The scale of the extracted numbers is chosen for the bound of the array times the factor
    /// that `wide` returns. `wide` gets the ciphertext that holds the first element and the slot of
    /// that element. `f` also gets the form of results.
    pub(in crate::server) fn of_elements(
        &self,
        a: &EncryptedArray,
        lines: &Lines,
        wide: impl Fn(&Pegasus, &Ciphertext, usize) -> Result<f64, PegasusError>,
        f: impl Fn(&Server, &Pegasus, &Single, Numbers) -> Result<EncryptedArray, Error>,
    ) -> Result<EncryptedArray, Error> {
        self.check_real(a, lines.operation)?;
        let form = self.form_of(&[a]);
        let pegasus = self.pegasus(lines.operation)?;
        let ordered = self.perform_checked([a], |[a]| {
            let first = a.layout().positions().next().unwrap_or(0);
            let (ciphertext, slot) = (first / a.layout().slots(), first % a.layout().slots());
            let mut one = Ciphertext::clone(&a.expanded(&self.session)[ciphertext]);
            one.set_bound(a.bound());
            let x = self.single(pegasus, a, wide(pegasus, &one, slot)? * a.bound())?;
            f(self, pegasus, &x.select(&lines.order)?, form)
        });
        ordered.map_err(|e| e.during(lines.operation))
    }

    /// Packs single numbers in row-major order into an array of this shape.
    pub(in crate::server) fn repacked(
        &self,
        pegasus: &Pegasus,
        y: &Single,
        shape: &[usize],
        form: Numbers,
    ) -> Result<EncryptedArray, Error> {
        let layout = Layout::packed(shape, self.session.slots())?;
        let positions: Vec<usize> = layout.positions().collect();
        let of_ciphertext = |k: usize| {
            let here = |position: &usize| position / layout.slots() == k;
            let chosen: Vec<usize> =
                (0..positions.len()).filter(|i| here(&positions[*i])).collect();
            let places: Vec<usize> =
                chosen.iter().map(|i| positions[*i] % layout.slots()).collect();
            let slots = places.iter().max().map_or(1, |last| (last + 1).next_power_of_two());
            Ok(pegasus.repack_repeated(
                &y.select(&chosen)?,
                &Places::new(slots, places)?,
                self.session.slots(),
            )?)
        };
        let ciphertexts =
            (0..layout.ciphertexts()).map(of_ciphertext).collect::<Result<_, Error>>()?;
        // If there are several ciphertexts, all but the last one are full.
        let period = (layout.ciphertexts() == 1).then(|| (layout.last() + 1).next_power_of_two());
        let slots = SlotContents::repeating(period, true);
        Ok(Array::from_ciphertexts(layout, form, slots, ciphertexts))
    }

    /// Extracts the elements as single numbers in row-major order, as if their bound was `bound`.
    fn single(&self, pegasus: &Pegasus, a: &EncryptedArray, bound: f64) -> Result<Single, Error> {
        let (slots, ciphertexts) = (a.layout().slots(), a.expanded(&self.session));
        let mut elements = vec![(Vec::new(), Vec::new()); ciphertexts.len()];
        for (element, position) in a.layout().positions().enumerate() {
            elements[position / slots].0.push(position % slots);
            elements[position / slots].1.push(element);
        }
        let (mut all, mut order): (Option<Single>, _) = (None, vec![0; a.size()]);
        for (c, (places, numbers)) in
            ciphertexts.iter().zip(&elements).filter(|(_, (places, _))| !places.is_empty())
        {
            let mut c = Ciphertext::clone(c);
            c.set_bound(bound);
            let x =
                pegasus.extract(&pegasus.to_coefficients(&c)?, places)?.with_bound(a.bound())?;
            let before = all.as_ref().map_or(0, Single::len);
            numbers.iter().enumerate().for_each(|(i, element)| order[*element] = before + i);
            all = Some(match all {
                Some(all) => all.concat(&x)?,
                None => x,
            });
        }
        match all {
            Some(all) => Ok(all.select(&order)?),
            None => Err(Error::Internal("an array without elements".into())),
        }
    }
}

/// Returns true if all elements of `a` are known to have the same value.
fn is_constant(a: &EncryptedArray) -> bool {
    a.interval().width() == 0.0
}

/// Returns the array without its first axis, which has length 1.
fn without_first_axis(a: EncryptedArray) -> Result<EncryptedArray, Error> {
    let (shape, strides) = (a.shape()[1..].to_vec(), a.layout().strides()[1..].to_vec());
    relabelled(a, shape, strides)
}

/// Returns the factor that widens the bound for extraction, for a tournament of `count` numbers.
fn in_rounds(count: usize) -> impl Fn(&Pegasus) -> f64 {
    let rounds = count.max(1).next_power_of_two().ilog2() as usize;
    move |pegasus| pegasus.sorting_bound_factor(rounds)
}
