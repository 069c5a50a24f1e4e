//! Gathering: elements are picked, put in another order or shape, and joined from several arrays.

use std::collections::BTreeMap;

use crate::server::{
    Server,
    moves::Moves,
    moves::several_steps::{MAX_DISTANCES_IN_ONE_STEP, MovePlan, products},
};
use crate::{Arithmetic, Array, Error, Interval, Layout, SlotContents, server::ResultUse};

const OPERATION: &str = "move elements";

/// If fewer than one element in this many is picked, positions are found one by one, by divisions.
const SPARSE_PICK: usize = 8;

impl Server {
    /// Gathers the elements at the places `sources` into an array of this shape, in row-major
    /// order.
    ///
    /// Places count in row-major order over all elements of `arrays`, one array after the other.
    /// Elements may be left out, or come several times. To apply a slice, transpose, reshape,
    /// concatenation or stack of numpy's, apply it to arrays of places and pass the result.
    ///
    /// The depth in multiplications depends on how the elements move:
    ///
    /// - 0, and no computation, if they can keep their slots. Examples are transposes, and slices
    ///   that begin at the first element and have steps that are powers of two.
    /// - 0, and one rotation of each ciphertext, if they all move alike within their ciphertexts.
    ///   Examples are other slices with such steps, rows, columns, and arrays put one after the
    ///   other.
    /// - 1 otherwise, with the exceptions below.
    /// - 2 if thousands of elements move by as many distances, two steps are much less work, and
    ///   capacity is left for a third multiplication.
    /// - 2 or 3 if elements are far apart with nothing between them, as sums and products with
    ///   matrices leave them, and capacity is left for one or two more multiplications.
    /// - 3 if thousands of elements move without any order, and capacity is left for three more
    ///   multiplications.
    ///
    /// The result is then laid out row by row, as a fresh array. If it is much less work, the axes
    /// keep the order that they had, as for a transpose that is also reversed or padded. Or arrays
    /// that are stacked keep their strides.
    ///
    /// # Errors
    /// - [`Error::Argument`] if there is no array, or a place does not exist.
    /// - [`Error::Shape`] if the number of sources differs from the number of elements of the
    ///   shape.
    /// - [`Error::MissingKey`] if rotation keys are missing.
    /// - [`Error::Capacity`] if a multiplication is needed and none is left.
    pub fn gather<F: Arithmetic>(
        &self,
        arrays: &[&Array<F>],
        shape: &[usize],
        sources: &[usize],
    ) -> Result<Array<F>, Error> {
        self.gather_padded(arrays, shape, &sources.iter().copied().map(Some).collect::<Vec<_>>())
    }

    /// As [`Server::gather`], with zeros where there is no source.
    ///
    /// No multiplication is needed if all elements of an array move alike and the slots around them
    /// are free. An example is padding an image whose rows are shorter than their stride, a power
    /// of two.
    ///
    /// # Errors
    /// As [`Server::gather`], and [`Error::Argument`] if no element has a source.
    pub fn gather_padded<F: Arithmetic>(
        &self,
        arrays: &[&Array<F>],
        shape: &[usize],
        sources: &[Option<usize>],
    ) -> Result<Array<F>, Error> {
        for array in arrays {
            self.check(array, OPERATION)?;
        }
        let from = places(arrays, sources)?;
        let gathered = self.gather_from(arrays, shape, &from)?;
        let used = arrays
            .iter()
            .enumerate()
            .filter(|(k, _)| from.iter().flatten().any(|(array, _)| array == k));
        let zero = from.contains(&None).then_some(Interval::point(0.0));
        let interval =
            used.map(|(_, array)| F::interval(array)).chain(zero).reduce(Interval::union);
        Ok(F::with_known_interval(gathered, interval.unwrap_or(Interval::EVERYTHING)))
    }

    /// As [`Server::gather_padded`], from these arrays and positions.
    fn gather_from<F: Arithmetic>(
        &self,
        arrays: &[&Array<F>],
        shape: &[usize],
        from: &[Option<(usize, usize)>],
    ) -> Result<Array<F>, Error> {
        let out = Layout::filled(shape, F::slots(&self.session), from.len(), OPERATION)?;
        let Some((first, _)) = from.iter().copied().flatten().next() else {
            return Err(Error::argument(OPERATION, "no place of an element: zeros take no moving"));
        };
        let place_in_first = |from: &Option<(usize, usize)>| {
            from.filter(|(array, _)| *array == first).map(|(_, position)| position)
        };
        if let Some(from) = from.iter().map(place_in_first).collect::<Option<Vec<_>>>()
            && let Some(view) = self.view(arrays[first], shape, &from)?
        {
            return Ok(view);
        }
        let moves_to = |out: &Layout| {
            let mut moves: BTreeMap<usize, Moves> = BTreeMap::new();
            for (to, from) in out.positions().zip(from) {
                let Some((k, from)) = *from else { continue };
                moves.entry(k).or_default().push((to, from));
            }
            moves
        };
        let shifts = |out: &Layout, moves: &BTreeMap<usize, Moves>| {
            moves.iter().all(|(k, moves)| shift_of(arrays[*k], out, moves).is_some())
        };
        let moves = moves_to(&out);
        if shape.len() <= 1 || shifts(&out, &moves) {
            return self.joined(arrays, out, moves, BTreeMap::new());
        }
        // Whole columns may follow one another just as rows do.
        let columns = out.with_shape(shape.to_vec(), columnwise(shape, out.slots())?)?;
        let by_columns = moves_to(&columns);
        if shifts(&columns, &by_columns) {
            return self.joined(arrays, columns, by_columns, BTreeMap::new());
        }
        if from.len() <= MAX_DISTANCES_IN_ONE_STEP {
            return self.joined(arrays, out, moves, BTreeMap::new());
        }
        let ways = self.ways(arrays, &moves)?;
        let products =
            |ways: &BTreeMap<usize, MovePlan>| ways.values().map(|way| way.products).sum::<usize>();
        let mut best = None;
        let orders = [Some(strides_like(from, shape, out.slots())?), stacked_strides(from, shape)];
        for strides in orders.into_iter().flatten() {
            let layout = out.with_shape(shape.to_vec(), strides).ok();
            let Some(layout) = layout.filter(|layout| !layout.is_packed()) else { continue };
            let moves = moves_to(&layout);
            let ways = self.ways(arrays, &moves)?;
            let least = best.as_ref().map_or(usize::MAX, |(_, _, ways)| products(ways));
            if products(&ways) < least {
                best = Some((layout, moves, ways));
            }
        }
        match best {
            Some((layout, in_order, ways_in_order))
                if 4 * products(&ways_in_order) < products(&ways) =>
            {
                self.joined(arrays, layout, in_order, ways_in_order)
            }
            _ => self.joined(arrays, out, moves, ways),
        }
    }

    /// Returns how the elements of each array are moved.
    fn ways<F: Arithmetic>(
        &self,
        arrays: &[&Array<F>],
        moves: &BTreeMap<usize, Moves>,
    ) -> Result<BTreeMap<usize, MovePlan>, Error> {
        moves
            .iter()
            .map(|(k, moves)| Ok((*k, self.move_plan(arrays[*k], moves, 0, OPERATION)?)))
            .collect()
    }

    /// Returns the number of products with plaintexts needed to move the elements of an array at
    /// these places to an array of this shape.
    ///
    /// The count stops at about the number that two steps need for each ciphertext. It is 0 if
    /// [`Server::gather`] needs no multiplication, or fails because none is left.
    ///
    /// # Errors
    /// As [`Server::gather`], except that no keys are needed.
    pub fn moving_products<F: Arithmetic>(
        &self,
        a: &Array<F>,
        shape: &[usize],
        sources: &[usize],
    ) -> Result<usize, Error> {
        self.check(a, OPERATION)?;
        let out = Layout::filled(shape, F::slots(&self.session), sources.len(), OPERATION)?;
        let sources: Vec<Option<usize>> = sources.iter().copied().map(Some).collect();
        let from: Vec<usize> =
            places(&[a], &sources)?.into_iter().flatten().map(|(_, position)| position).collect();
        if standing::<F>(shape, &from, out.slots()).is_some()
            || !self.form_of(&[a]).has_products(self, a, 1)
        {
            return Ok(0);
        }
        let columns = out.with_shape(shape.to_vec(), columnwise(shape, out.slots())?)?;
        let moves = |out: &Layout| -> Moves { out.positions().zip(from.iter().copied()).collect() };
        if [&out, &columns].into_iter().any(|out| shift_of(a, out, &moves(out)).is_some()) {
            return Ok(0);
        }
        Ok(products::<F>(
            out.slots(),
            moves(&out).into_iter(),
            2 * MAX_DISTANCES_IN_ONE_STEP * out.ciphertexts(),
        ))
    }

    /// Returns the elements at these positions if a layout describes them, after a rotation of all
    /// ciphertexts if necessary. Returns `None` otherwise.
    fn view<F: Arithmetic>(
        &self,
        a: &Array<F>,
        shape: &[usize],
        from: &[usize],
    ) -> Result<Option<Array<F>>, Error> {
        let slots = F::slots(&self.session);
        let Some(layout) = standing::<F>(shape, from, slots) else { return Ok(None) };
        let (offset, left) = (from[0], from[0] % slots);
        // Other elements of `a` may lie between those that are picked. Slots that repeat still
        // repeat.
        let contents = match a.slot_contents() {
            SlotContents::Zero if from.len() == a.size() => SlotContents::Zero,
            contents => SlotContents::repeating(contents.period(), false),
        };
        let view = a.part(offset / slots, layout, contents);
        if left == 0 {
            return Ok(Some(view));
        }
        self.map(&view, OPERATION, true, 0.0, |server, form, x| form.rotate(server, x, left as i64))
            .map(Some)
    }

    /// Joins the elements of several arrays, each moved to its places, in one array. `ways` holds
    /// the ways of moving that are known already.
    fn joined<F: Arithmetic>(
        &self,
        arrays: &[&Array<F>],
        out: Layout,
        moves: BTreeMap<usize, Moves>,
        mut ways: BTreeMap<usize, MovePlan>,
    ) -> Result<Array<F>, Error> {
        let form = self.form_of(&moves.keys().map(|k| arrays[*k]).collect::<Vec<_>>());
        let mut sums: Vec<Option<F::Ciphertext>> = vec![None; out.ciphertexts()];
        // A result with ciphertexts that are all padding needs a linear map, which makes all
        // ciphertexts.
        let mut with_elements = vec![false; out.ciphertexts()];
        moves.values().flatten().for_each(|(to, _)| with_elements[to / out.slots()] = true);
        let mut complete = with_elements.iter().all(|with| *with);
        for (k, moves) in moves {
            let shifted =
                if complete { self.shifted(&form, arrays[k], &out, &moves)? } else { None };
            let part = match shifted {
                Some(part) => part,
                None => {
                    let way = ways
                        .remove(&k)
                        .map_or_else(|| self.move_plan(arrays[k], &moves, 0, OPERATION), Ok)?;
                    let part = self.moved_by(
                        arrays[k],
                        out.clone(),
                        &moves,
                        &way,
                        ResultUse::Nothing,
                        OPERATION,
                    )?;
                    complete = true;
                    part.expanded(&self.session).into_iter().map(|c| Some(c.into_owned())).collect()
                }
            };
            for (sum, part) in sums.iter_mut().zip(part) {
                *sum = match (sum.take(), part) {
                    (Some(x), Some(y)) => {
                        Some(form.overlay(self, &x, &y).map_err(|e| e.during(OPERATION))?)
                    }
                    (x, y) => x.or(y),
                };
            }
        }
        let sums = sums
            .into_iter()
            .map(|sum| sum.expect("every ciphertext has elements, or comes of a linear map"));
        Ok(Array::from_ciphertexts(out, form, SlotContents::Zero, sums.collect()))
    }

    /// Rotates the ciphertexts of `a` and puts them in the places of ciphertexts of the result.
    ///
    /// Returns `None` if that does not bring all elements of `a` to where `moves` does and leave
    /// zeros in all other slots.
    fn shifted<F: Arithmetic>(
        &self,
        form: &F,
        a: &Array<F>,
        out: &Layout,
        moves: &[(usize, usize)],
    ) -> Result<Option<Vec<Option<F::Ciphertext>>>, Error> {
        let slots = out.slots();
        let Some(by) = shift_of(a, out, moves) else { return Ok(None) };
        let (ciphertexts, right) = (by / slots, by % slots);
        let inputs = a.expanded(&self.session);
        let rotated = self.session.compute_each(inputs.len(), |k| match right {
            0 => Ok(F::Ciphertext::clone(&inputs[k])),
            _ => form.rotate(self, &inputs[k], -(right as i64)).map_err(|e| e.during(OPERATION)),
        })?;
        let mut part = vec![None; out.ciphertexts()];
        part.iter_mut().skip(ciphertexts).zip(rotated).for_each(|(place, c)| *place = Some(c));
        Ok(Some(part))
    }
}

/// Returns the array and the position of each element of `sources`, which count over all arrays,
/// and `None` for an element without a source.
fn places<F: Arithmetic>(
    arrays: &[&Array<F>],
    sources: &[Option<usize>],
) -> Result<Vec<Option<(usize, usize)>>, Error> {
    let ends: Vec<usize> = arrays
        .iter()
        .scan(0, |end, array| {
            *end += array.size();
            Some(*end)
        })
        .collect();
    let total = ends.last().copied().unwrap_or(0);
    if let Some(have) = sources.iter().flatten().find(|source| **source >= total) {
        let what = format!("place {have} of {total} elements in {} arrays", arrays.len());
        return Err(Error::argument(OPERATION, what));
    }
    // If few of many elements are picked, each position is computed by itself.
    if SPARSE_PICK * sources.len() < total {
        let place = |source: usize| {
            let k = ends.partition_point(|end| *end <= source);
            (k, arrays[k].layout().position_of(source + arrays[k].size() - ends[k]))
        };
        return Ok(sources.iter().map(|source| source.map(place)).collect());
    }
    let all: Vec<(usize, usize)> = arrays
        .iter()
        .enumerate()
        .flat_map(|(k, array)| array.layout().positions().map(move |position| (k, position)))
        .collect();
    Ok(sources.iter().map(|source| source.map(|source| all[source])).collect())
}

/// Returns the layout that the elements at these positions have after a rotation of all
/// ciphertexts, if there is one and ciphertexts of this form can be rotated so.
fn standing<F: Arithmetic>(shape: &[usize], from: &[usize], slots: usize) -> Option<Layout> {
    let left = from[0] % slots;
    let layout = Layout::standing(shape, from, slots)?;
    let positions = || from.iter().map(|from| [from % slots, from % slots - left]);
    (left == 0 || F::rotates(slots, left) || stay_in_rows::<F>(slots, left, positions()))
        .then_some(layout)
}

/// True if a rotation by `by` slots brings every slot to where the move `[from, to]` does, although
/// each row rotates by itself.
fn stay_in_rows<F: Arithmetic>(
    slots: usize,
    by: usize,
    mut moves: impl Iterator<Item = [usize; 2]>,
) -> bool {
    let row = F::row(slots);
    by < row && moves.all(|[from, to]| from / row == to / row)
}

/// Returns the distance in slots, to the right, that all elements of `a` move by. Returns `None` if
/// their distances differ, if `moves` leaves out elements of `a`, or if other slots are not zero.
fn shift_of<F: Arithmetic>(a: &Array<F>, out: &Layout, moves: &[(usize, usize)]) -> Option<usize> {
    let slots = out.slots();
    let (to, from) = moves[0];
    let by = to.checked_sub(from)?;
    let right = by % slots;
    let alike = moves.iter().all(|(to, from)| from + by == *to && from % slots + right < slots);
    let positions = || moves.iter().map(|(_, from)| [from % slots, from % slots + right]);
    let rotates = || {
        right == 0
            || F::rotates(slots, slots - right)
            || stay_in_rows::<F>(slots, right, positions())
    };
    (a.is_clean() && alike && moves.len() == a.size() && rotates()).then_some(by)
}

/// Returns the strides of [`Layout::packed`] with the axes in reverse order.
fn columnwise(shape: &[usize], slots: usize) -> Result<Vec<usize>, Error> {
    in_order(shape, &(0..shape.len()).rev().collect::<Vec<_>>(), slots)
}

/// Returns the strides of [`Layout::packed`] with the axes in the order that the elements have now.
///
/// `from` holds the array and the position of each element. The axis whose nearest two elements are
/// farthest apart comes first.
fn strides_like(
    from: &[Option<(usize, usize)>],
    shape: &[usize],
    slots: usize,
) -> Result<Vec<usize>, Error> {
    let mut inner = 1;
    let mut nearest = vec![usize::MAX; shape.len()];
    for (nearest, length) in nearest.iter_mut().zip(shape).rev() {
        let pairs = from.iter().zip(&from[inner..]).enumerate();
        for (_, (one, next)) in pairs.filter(|(i, _)| i / inner % length + 1 < *length) {
            let (Some((array, here)), Some((other, there))) = (one, next) else { continue };
            if array == other && here != there {
                *nearest = here.abs_diff(*there).min(*nearest);
            }
        }
        inner *= length;
    }
    let mut order: Vec<usize> = (0..shape.len()).collect();
    order.sort_by_key(|axis| std::cmp::Reverse(nearest[*axis]));
    in_order(shape, &order, slots)
}

/// Returns strides with which the blocks along the first axis lie as the first block does now: side
/// by side in its gaps, or one after the other. It is `None` if the first block has zeros, or
/// elements of several arrays.
fn stacked_strides(from: &[Option<(usize, usize)>], shape: &[usize]) -> Option<Vec<usize>> {
    let size: usize = shape[1..].iter().product();
    let (array, start) = from[0]?;
    let place = |i: usize| from[i].filter(|(own, _)| *own == array).map(|(_, place)| place);
    let (mut inner, mut strides, mut last) = (size, vec![1], start);
    for length in &shape[1..] {
        inner /= length;
        let stride = if *length > 1 { place(inner)?.checked_sub(start)? } else { 1 };
        strides.push(stride);
        last += stride * (length - 1);
    }
    let long = strides[1..].iter().zip(&shape[1..]).filter(|(_, length)| **length > 1);
    let least = long.map(|(stride, _)| *stride).min()?;
    if shape[0].next_power_of_two() > least {
        strides[0] = (last - start + 1).next_power_of_two();
    }
    Some(strides)
}

/// Returns the strides of [`Layout::packed`] with the axes in this order.
pub(in crate::server) fn in_order(
    shape: &[usize],
    order: &[usize],
    slots: usize,
) -> Result<Vec<usize>, Error> {
    let ordered: Vec<usize> = order.iter().map(|axis| shape[*axis]).collect();
    let mut strides = vec![1; shape.len()];
    for (axis, stride) in order.iter().zip(Layout::packed(&ordered, slots)?.strides()) {
        strides[*axis] = *stride;
    }
    Ok(strides)
}
