//! Broadcasting: arrays repeated to larger shapes.
//!
//! Copies of elements within a ciphertext are sums of rotations, which need no multiplication. The
//! slots that the copies go to must be zero. That holds if the existing axes have the strides of
//! the larger array already and no sum has left other numbers between the elements. Sums over whole
//! ciphertexts leave a copy of every element everywhere, and broadcasting them needs no computation
//! at all.
//!
//! In all other cases elements have to be picked out one by one, which in slots means to multiply
//! by zeros and ones. Each element is moved to its first place, and copied from there.

use std::borrow::Cow;

use crate::server::{
    Server,
    moves::Moves,
    moves::several_steps::{MAX_DISTANCES_IN_ONE_STEP, PRODUCTS_LEFT},
    planner::choose::{Candidate, MARGIN_BITS},
};
use crate::{Arithmetic, Array, Error, Layout, SlotContents, format_shape, server::ResultUse};

const OPERATION: &str = "broadcast";

/// How copies of elements are used, which decides how their errors count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::server) enum Copies {
    /// In any way. Copies may be added up, and so may their equal errors.
    Any,
    /// In sums that use one copy of each element only.
    One,
}

/// Two arrays, of one layout or to be brought to one.
type Both<'a, F> = (Cow<'a, Array<F>>, Cow<'a, Array<F>>);

/// How the copies of an array fill a larger one.
struct Repetition {
    /// Axes that are new or grow from length 1: stride and length, shortest stride first.
    axes: Vec<(usize, usize)>,
    /// For each ciphertext of the result, the ciphertext of the array that its elements come from,
    /// if it holds any.
    sources: Vec<Option<usize>>,
}

impl Repetition {
    /// Returns the number of ciphertexts of the result that are copies of ciphertext `source`.
    fn times(&self, source: usize) -> usize {
        self.sources.iter().filter(|one| **one == Some(source)).count()
    }

    /// Returns the number of copies of every element within one ciphertext.
    fn copies(&self, slots: usize) -> usize {
        let within = self.axes.iter().filter(|(stride, _)| *stride < slots);
        within.map(|(stride, length)| (*length).min(slots / stride)).product()
    }
}

impl Server {
    /// Repeats the array to a larger shape, as numpy's `broadcast_to`.
    ///
    /// It is one multiplication deep, unless rotations suffice. They do for fresh arrays, for
    /// products and for sums over whole ciphertexts, if their axes have the strides of a fresh
    /// array of the larger shape. If a multiplication would move elements by hundreds of distances,
    /// they keep their places instead, and whole copies of the array follow one another.
    ///
    /// # Errors
    /// [`Error::Shape`] if the shapes do not fit, and [`Error::Capacity`] if no multiplication is
    /// left.
    pub fn broadcast_to<F: Arithmetic>(
        &self,
        a: &Array<F>,
        shape: &[usize],
    ) -> Result<Array<F>, Error> {
        self.check(a, "broadcast")?;
        if a.shape() == shape {
            return Ok(a.clone());
        }
        let mut layout = self.repeated_layout(a, shape)?;
        if common_shape(a.shape(), shape).as_deref() == Some(shape) && !repeats_freely(a, &layout) {
            let copies = copied_layout(a, shape, F::slots(&self.session))?;
            if repeats_freely(a, &copies) && copies.ciphertexts() <= layout.ciphertexts() {
                layout = copies;
            }
        }
        Ok(F::with_known_interval(self.broadcast_as(a, layout)?, F::interval(a)))
    }

    /// Chooses the layout in which `a` is repeated to this shape.
    ///
    /// It is the layout of a fresh array if moving the elements there needs few products with
    /// plaintexts, or fewer than the ciphertexts that it saves are worth. Otherwise it is the
    /// layout in which whole copies of the array follow one another.
    fn repeated_layout<F: Arithmetic>(
        &self,
        a: &Array<F>,
        shape: &[usize],
    ) -> Result<Layout, Error> {
        let packed = Layout::packed(shape, F::slots(&self.session))?;
        if common_shape(a.shape(), shape).as_deref() != Some(shape) {
            return Ok(packed);
        }
        let (_, moves) = first_moves(a.layout(), &packed)?;
        if moves.len() <= MAX_DISTANCES_IN_ONE_STEP || repetition(a.layout(), &packed).is_some() {
            return Ok(packed);
        }
        let (way, copies) = (
            self.move_plan(a, &moves, 0, OPERATION)?,
            copied_layout(a, shape, F::slots(&self.session))?,
        );
        let spared = copies.ciphertexts().saturating_sub(packed.ciphertexts());
        let room =
            || self.form_of(&[a]).has_products(self, a, way.before.len() + 1 + PRODUCTS_LEFT);
        let worth = way.products <= MAX_DISTANCES_IN_ONE_STEP
            || (way.products < self.prices(a)?.ciphertext.saturating_mul(spared) && room());
        Ok(if worth { packed } else { copies })
    }

    /// Checks both operands, and that their shapes broadcast together.
    pub(in crate::server) fn check_two<F: Arithmetic>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
        operation: &'static str,
    ) -> Result<(), Error> {
        self.check(a, operation)?;
        self.check(b, operation)?;
        shape_of_both(a, b, operation).map(drop)
    }

    /// Returns both arrays in one shape and one layout.
    pub(in crate::server) fn broadcast<'a, F: Arithmetic>(
        &self,
        a: &'a Array<F>,
        b: &'a Array<F>,
        operation: &'static str,
    ) -> Result<Both<'a, F>, Error> {
        let layout = self.layout_of_both(a, b, operation)?;
        let stands = |x: &'a Array<F>| match *x.layout() == *layout {
            true => Ok(Cow::Borrowed(x)),
            false => self.broadcast_as(x, layout.clone().into_owned()).map(Cow::Owned),
        };
        Ok((stands(a)?, stands(b)?))
    }

    /// Returns the layout that both arrays are brought to. It is that of the first array that has
    /// the common shape already.
    fn layout_of_both<'a, F: Arithmetic>(
        &self,
        a: &'a Array<F>,
        b: &'a Array<F>,
        operation: &'static str,
    ) -> Result<Cow<'a, Layout>, Error> {
        let shape = shape_of_both(a, b, operation)?;
        Ok(match [a, b].into_iter().find(|x| x.shape() == shape) {
            Some(x) => Cow::Borrowed(x.layout()),
            // The longer one keeps its places.
            None => {
                Cow::Owned(self.repeated_layout(if a.size() < b.size() { b } else { a }, &shape)?)
            }
        })
    }

    /// Repeats the array to the shape of `layout`, with its elements in that layout.
    pub(in crate::server) fn broadcast_as<F: Arithmetic>(
        &self,
        a: &Array<F>,
        layout: Layout,
    ) -> Result<Array<F>, Error> {
        self.broadcast_for(a, layout, Copies::Any)
    }

    /// As [`Server::broadcast_as`], for copies that are used as `copies_for` says.
    pub(in crate::server) fn broadcast_for<F: Arithmetic>(
        &self,
        a: &Array<F>,
        layout: Layout,
        copies_for: Copies,
    ) -> Result<Array<F>, Error> {
        if *a.layout() == layout {
            return Ok(a.clone());
        }
        if common_shape(a.shape(), layout.shape()).as_deref() != Some(layout.shape()) {
            let what = format!(
                "shape {} does not broadcast to {}",
                format_shape(a.shape()),
                format_shape(layout.shape())
            );
            return Err(Error::shape(OPERATION, what));
        }
        if let Some(repetition) = repetition(a.layout(), &layout) {
            let (inputs, form) = (a.expanded(&self.session), self.form_of(&[a]));
            let is_of_one = a.size() == 1 && layout.size() > 1;
            // Copies of one element share one error. Sums over copies of several elements add up
            // equal errors too.
            let copied = |c: &F::Ciphertext, count: usize| match (is_of_one, copies_for) {
                (true, _) => form.of_one_element(c.clone()),
                (false, Copies::Any) => form.of_copies(c.clone(), count),
                (false, Copies::One) => c.clone(),
            };
            let pick = |copies: Vec<F::Ciphertext>, within: usize| {
                let picked = repetition.sources.iter().map(|source| match source {
                    Some(source) => {
                        Ok(copied(&copies[*source], within * repetition.times(*source)))
                    }
                    None => form.mul_number(self, &copies[0], F::Number::default()),
                });
                picked.collect::<Result<Vec<_>, Error>>().map_err(|e| e.during(OPERATION))
            };
            let period = a.slot_contents().period();
            if period.is_some_and(|period| repetition.axes.iter().all(|(s, _)| s % period == 0)) {
                let within = repetition.copies(layout.slots());
                let out = pick(inputs.into_iter().map(Cow::into_owned).collect(), within)?;
                let slots = SlotContents::repeating(period, false);
                return Ok(Array::from_ciphertexts(layout, form, slots, out));
            }
            // Whole ciphertexts are repeated together with any stray slots.
            if a.is_clean() || repetition.axes.iter().all(|(stride, _)| *stride >= layout.slots()) {
                let for_one = if is_of_one { Copies::One } else { copies_for };
                let repeated =
                    |i: usize| self.repeated(&form, &inputs[i], &repetition.axes, for_one);
                let out = self
                    .session
                    .compute_each(inputs.len(), repeated)
                    .map_err(|e| e.during(OPERATION))?;
                // A ciphertext holds all copies that are wanted, or as many as fit.
                let slots = F::slots(&self.session);
                let fills = |(stride, length): &(usize, usize)| {
                    stride * length <= slots || (stride * length).is_multiple_of(slots)
                };
                let clean = a.is_clean() && repetition.axes.iter().all(fills);
                let out = pick(out, 1)?;
                let slots = SlotContents::zero_if(clean);
                return Ok(Array::from_ciphertexts(layout, form, slots, out));
            }
        }
        // Each element moves to its first place, and is copied from there.
        let (first, moves) = first_moves(a.layout(), &layout)?;
        let operation = if a.shape() == layout.shape() { "move elements" } else { OPERATION };
        let copies =
            repetition(&first, &layout).map_or(1, |repetition| repetition.copies(layout.slots()));
        let moved = self.moved(a, first, &moves, ResultUse::Copies(copies), operation)?;
        self.broadcast_for(&moved, layout, copies_for)
    }

    /// Multiplies an array by a number and repeats it to the shape and the layout of `other`.
    ///
    /// If stray slots have to be set to zero, the same product does both. It is rounded as finely
    /// as the number of copies requires.
    ///
    /// # Errors
    /// As [`Server::broadcast_to`] and [`Server::mul_number`].
    pub fn broadcast_like<F: Arithmetic>(
        &self,
        a: &Array<F>,
        other: &Array<F>,
        factor: F::Number,
    ) -> Result<Array<F>, Error> {
        self.check_two(a, other, OPERATION)?;
        let layout = other.layout();
        let (first, moves) = first_moves(a.layout(), layout)?;
        if repeats_freely(a, layout) || moves.iter().any(|(to, from)| to != from) {
            return self.repeated_as(&self.mul_number(a, factor)?, layout, Copies::Any);
        }
        let copies =
            repetition(&first, layout).map_or(1, |repetition| repetition.copies(layout.slots()));
        let multiplied = Candidate::new("multiply and repeat", |server: &Server, [a]: [_; 1]| {
            let entries = moves.iter().map(|(to, from)| (*to, *from, factor));
            let after = ResultUse::Copies(copies);
            let one = server.linear_map_before(a, first.clone(), entries, after, OPERATION)?;
            server.broadcast_for(&one, layout.clone(), Copies::Any)
        });
        let growth = F::magnitude(factor).max(1.0).log2();
        let most_bits = self.form_of(&[a]).product_bits(self) + growth + MARGIN_BITS;
        self.perform(OPERATION, [a], most_bits, &[multiplied])
    }

    /// Repeats an array to `layout`. Bootstraps it first if it lacks capacity.
    pub(in crate::server) fn repeated_as<F: Arithmetic>(
        &self,
        a: &Array<F>,
        layout: &Layout,
        copies_for: Copies,
    ) -> Result<Array<F>, Error> {
        let bits = match repeats_freely(a, layout) {
            true => 0.0,
            false => self.form_of(&[a]).product_bits(self),
        };
        let repeated = Candidate::new("repeat", |server: &Server, [a]: [_; 1]| {
            server.broadcast_for(a, layout.clone(), copies_for)
        });
        self.perform(OPERATION, [a], bits + MARGIN_BITS, &[repeated])
    }

    /// Moves the elements of an array to another layout.
    ///
    /// It is free if the elements are there already. Otherwise it is one multiplication deep, or
    /// two or three if that is much less work.
    ///
    /// # Errors
    /// [`Error::Shape`] if the shape differs, if the layout does not have the number of slots of
    /// the ciphertexts, or if it takes more than `2^24` slots and more than 16 for each element.
    /// [`Error::Capacity`] if no multiplication is left.
    pub fn relayout<F: Arithmetic>(&self, a: &Array<F>, layout: Layout) -> Result<Array<F>, Error> {
        const OPERATION: &str = "move elements";
        self.check(a, OPERATION)?;
        if layout.shape() != a.shape() {
            let what =
                format!("shape {} to {}", format_shape(a.shape()), format_shape(layout.shape()));
            return Err(Error::shape(OPERATION, what));
        }
        self.check_layout::<F>(&layout, OPERATION)?;
        Ok(F::with_known_interval(self.broadcast_as(a, layout)?, F::interval(a)))
    }

    /// Fills new axes within a ciphertext with copies of its elements. The slots of the copies must
    /// be zero.
    ///
    /// An axis gets as many copies as it is long, or as fit into the ciphertext. The places of an
    /// axis, padded to a power of two, lie within one row of slots or fill both rows.
    ///
    /// The copies come from the first one by rotations to the right. Or the ciphertext is first
    /// rotated to the place of the last copy, and they come by rotations to the left. The way with
    /// fewer key switches is taken, which depends on the keys that the server has.
    pub(in crate::server) fn repeated<F: Arithmetic>(
        &self,
        form: &F,
        c: &F::Ciphertext,
        axes: &[(usize, usize)],
        copies_for: Copies,
    ) -> Result<F::Ciphertext, Error> {
        let slots = F::slots(&self.session);
        let row = F::row(slots);
        let mut out = Cow::Borrowed(c);
        for &(stride, length) in axes.iter().filter(|(stride, _)| *stride < slots) {
            let count = length.min(slots / stride);
            // Rotations to the left stay within their row.
            let within = count * stride <= row;
            // An axis that fills a whole row ends where it begins.
            let last = if count * stride == row { 0 } else { stride * (count - 1) };
            let (stride, last) = (stride as i64, last as i64);
            let right = copying_steps(-stride, count);
            let left = copying_steps(stride, count).chain([-last]);
            let fewer = self.key_switches::<F>(&out, left) < self.key_switches::<F>(&out, right);
            out = Cow::Owned(if fewer && within {
                self.copies(form, &form.rotate(self, &out, -last)?, stride, count, copies_for)?
            } else {
                self.copies(form, &out, -stride, count, copies_for)?
            });
        }
        Ok(out.into_owned())
    }

    /// Returns the number of key switches of these rotations, or `usize::MAX` if keys are missing.
    fn key_switches<F: Arithmetic>(
        &self,
        c: &F::Ciphertext,
        steps: impl Iterator<Item = i64>,
    ) -> usize {
        steps
            .map(|left| F::rotation_count(self, c, left))
            .sum::<Option<usize>>()
            .unwrap_or(usize::MAX)
    }

    /// Adds up `count` copies of a ciphertext, rotated to the left by 0, `left`, `2 left` and so
    /// on.
    fn copies<F: Arithmetic>(
        &self,
        form: &F,
        c: &F::Ciphertext,
        left: i64,
        count: usize,
        copies_for: Copies,
    ) -> Result<F::Ciphertext, Error> {
        let beside = |x: &F::Ciphertext, y: &F::Ciphertext, step: i64| {
            let y = form.rotate(self, y, step)?;
            match copies_for {
                Copies::Any => form.overlay(self, x, &y),
                Copies::One => form.overlay_copies(self, x, &y),
            }
        };
        // Doubling gives a power of two of copies. The copies for the lower bits of the count are
        // placed next to them.
        let mut copies = Cow::Borrowed(c);
        let mut lower: Option<F::Ciphertext> = None;
        for k in 0..=count.ilog2() {
            if count >> k & 1 == 1 {
                lower = Some(match &lower {
                    None => copies.as_ref().clone(),
                    Some(lower) => beside(&copies, lower, left << k)?,
                });
            }
            if k < count.ilog2() {
                copies = Cow::Owned(beside(&copies, &copies, left << k)?);
            }
        }
        Ok(lower.unwrap_or_else(|| copies.into_owned()))
    }
}

/// Returns the rotations of [`Server::copies`].
fn copying_steps(left: i64, count: usize) -> impl Iterator<Item = i64> {
    let doubled = 0..count.ilog2();
    let beside = (count.trailing_zeros() + 1..=count.ilog2()).filter(move |k| count >> k & 1 == 1);
    doubled.chain(beside).map(move |k| left << k)
}

/// Returns the layout in which whole copies of the array follow one another.
fn copied_layout<F: Arithmetic>(
    a: &Array<F>,
    shape: &[usize],
    slots: usize,
) -> Result<Layout, Error> {
    let mut next = (a.layout().last() + 1).next_power_of_two();
    let missing = shape.len() - a.shape().len();
    let mut strides = [&vec![1; missing], a.layout().strides()].concat();
    for (axis, stride) in strides.iter_mut().enumerate().rev() {
        if shape[axis] > axis.checked_sub(missing).map_or(1, |i| a.shape()[i]) {
            *stride = next;
            next = next.saturating_mul(shape[axis].next_power_of_two());
        }
    }
    Layout::new(shape.to_vec(), strides, slots)
}

/// True if the array repeats to this layout without a multiplication.
///
/// That holds if the copies exist already, or if they go to slots that are zero or to other
/// ciphertexts.
fn repeats_freely<F: Arithmetic>(a: &Array<F>, layout: &Layout) -> bool {
    let Some(repetition) = repetition(a.layout(), layout) else { return false };
    let period = a.slot_contents().period();
    let far = |stride: usize| period.is_some_and(|period| stride.is_multiple_of(period));
    a.is_clean()
        || repetition.axes.iter().all(|(stride, _)| far(*stride))
        || repetition.axes.iter().all(|(stride, _)| *stride >= layout.slots())
}

/// Returns the shape that both arrays broadcast to.
pub(in crate::server) fn shape_of_both<F: Arithmetic>(
    a: &Array<F>,
    b: &Array<F>,
    operation: &'static str,
) -> Result<Vec<usize>, Error> {
    common_shape(a.shape(), b.shape()).ok_or_else(|| {
        let lengths = |x: &Array<F>| x.shape().iter().rev().copied().collect::<Vec<_>>();
        let (left, right) = (lengths(a), lengths(b));
        let differ = |(x, y): (&usize, &usize)| x != y && *x != 1 && *y != 1;
        let axis = left.iter().zip(&right).position(differ).unwrap_or(0);
        let what = format!(
            "shapes {} and {} do not broadcast together: axis -{} has {} and {} elements. Lengths \
             have to be equal or 1, from the last axis on.",
            format_shape(a.shape()),
            format_shape(b.shape()),
            axis + 1,
            left[axis],
            right[axis]
        );
        Error::shape(operation, what)
    })
}

/// Returns the shape that both shapes broadcast to by numpy's rules, or `None` if they do not fit.
fn common_shape(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let axes = a.len().max(b.len());
    let length = |shape: &[usize], axis: usize| {
        (axis + shape.len()).checked_sub(axes).map_or(1, |i| shape[i])
    };
    (0..axes)
        .map(|axis| match (length(a, axis), length(b, axis)) {
            (x, y) if x == y || y == 1 => Some(x),
            (1, y) => Some(y),
            _ => None,
        })
        .collect()
}

/// Describes how copies of an array of layout `from` fill one of layout `to`, to whose shape it
/// broadcasts. Returns `None` if an existing axis has another stride there.
fn repetition(from: &Layout, to: &Layout) -> Option<Repetition> {
    let missing = to.shape().len() - from.shape().len();
    let mut axes = Vec::new();
    for (axis, (&length, &stride)) in to.shape().iter().zip(to.strides()).enumerate() {
        match axis.checked_sub(missing).map(|i| (from.shape()[i], from.strides()[i])) {
            Some((here, _)) if here == length && length == 1 => {}
            Some((here, there)) if here == length && there == stride => {}
            Some((here, _)) if here == length => return None,
            _ if length > 1 => axes.push((stride, length)),
            _ => {}
        }
    }
    axes.sort_unstable();
    let mut sources_of = vec![None; to.ciphertexts()];
    for (position, source) in to.positions().zip(sources(from, to.shape())) {
        sources_of[position / to.slots()] = Some(source / from.slots());
    }
    Some(Repetition { axes, sources: sources_of })
}

/// Returns the layout of the first copy of each element within `to`, and the moves that bring the
/// elements of an array of layout `from` there. Repeated axes have length 1 in that layout.
fn first_moves(from: &Layout, to: &Layout) -> Result<(Layout, Moves), Error> {
    let missing = to.shape().len() - from.shape().len();
    let shape = [&vec![1; missing], from.shape()].concat();
    let first = Layout::new(shape, to.strides().to_vec(), to.slots())?;
    let moves = first.positions().zip(sources(from, first.shape())).collect();
    Ok((first, moves))
}

/// Returns, for each element of the larger shape `to` in row-major order, the position of its
/// source in an array of layout `from`.
fn sources(from: &Layout, to: &[usize]) -> Vec<usize> {
    let missing = to.len() - from.shape().len();
    let mut positions = vec![0];
    for (axis, &length) in to.iter().enumerate() {
        let stride = match axis.checked_sub(missing) {
            Some(i) if from.shape()[i] > 1 => from.strides()[i],
            _ => 0,
        };
        positions =
            positions.iter().flat_map(|p| (0..length).map(move |i| p + i * stride)).collect();
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_broadcast_as_numpys() {
        assert_eq!(common_shape(&[3, 1], &[4]), Some(vec![3, 4]));
        assert_eq!(common_shape(&[], &[2, 1]), Some(vec![2, 1]));
        assert_eq!(common_shape(&[5, 2], &[2, 5, 1]), Some(vec![2, 5, 2]));
        assert_eq!(common_shape(&[3], &[4]), None);
        let column = Layout::new(vec![3, 1], vec![4, 1], 16).unwrap();
        assert_eq!(sources(&column, &[2, 3, 2]), [0, 0, 4, 4, 8, 8, 0, 0, 4, 4, 8, 8]);
    }
}
