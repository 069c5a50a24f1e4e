//! Products with plain matrices, dot products, rolls and transposes.

use std::{cmp::Reverse, iter::repeat_n};

use crate::server::{
    Server,
    linear::combinations::rounded,
    moves::broadcast::Copies,
    moves::gather::in_order,
    moves::several_steps::{MAX_DISTANCES_IN_ONE_STEP, products},
};
use crate::{
    Arithmetic, Array, Error, Interval, Layout, SlotContents, format_shape, server::ResultUse,
};

/// Maximum length of a row that is multiplied by diagonals, which leave zeros in stray slots. A
/// longer row is multiplied by one product.
const SHORT_ROW: usize = 64;

/// Sums in groups must cut the number of products with plaintexts at least by this factor.
const MIN_SAVING_OF_GROUPS: usize = 2;
/// Maximum number of products of two numbers in a matrix product that is searched for groups.
const MAX_PRODUCTS_SEARCHED: usize = 1 << 22;

impl Server {
    /// Returns `a @ w` for an encrypted array of shape `(.., k)` and a plain matrix `(k, columns)`.
    ///
    /// The matrix is in row-major order. The result has shape `(.., columns)` and is one
    /// multiplication deep.
    ///
    /// # Errors
    /// [`Error::Shape`] when the shapes do not fit, [`Error::Encode`] when a number is NaN,
    /// infinite or too large, [`Error::MissingKey`] when rotation keys are missing, and
    /// [`Error::Capacity`] or [`Error::Budget`] when no multiplication is left.
    pub fn matmul_plain<F: Arithmetic>(
        &self,
        a: &Array<F>,
        w: &[F::Number],
        columns: usize,
    ) -> Result<Array<F>, Error> {
        const OPERATION: &str = "matrix product";
        let (rows, k) = self.inner_axis(a, OPERATION)?;
        let right = [other_length(w.len(), columns, OPERATION)?, columns];
        if right[0] != k {
            return Err(Error::shape(OPERATION, not_aligned(a.shape(), &right)));
        }
        let product = self.product_by_rows(a, w, [rows, k, columns], OPERATION)?;
        let entries = w.iter().enumerate().map(|(i, weight)| (i % columns, i / columns, *weight));
        let interval =
            interval_of_rows(a, columns, entries.clone().map(|(row, _, weight)| (row, weight)));
        Ok(F::with_known_interval(F::of_product(product, a, [columns, k], entries), interval))
    }

    /// Computes [`Server::matmul_plain`] for `rows` rows of `k` numbers.
    fn product_by_rows<F: Arithmetic>(
        &self,
        a: &Array<F>,
        w: &[F::Number],
        [rows, k, columns]: [usize; 3],
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        let axis = a.shape().len() - 1;
        let mut shape = a.shape().to_vec();
        shape[axis] = columns;
        if rows == 1 && axis > 0 {
            // A single row is multiplied as a vector.
            let row = a.layout().with_shape(vec![k], vec![a.layout().strides()[axis]])?;
            let row = a.clone().with_layout(row);
            let product = self.product_by_rows(&row, w, [1, k, columns], operation)?;
            let mut strides = vec![1; axis];
            strides.extend(product.layout().strides());
            let layout = product.layout().with_shape(shape, strides)?;
            return Ok(product.with_layout(layout));
        }
        let weight = |i: usize, j: usize| w[j * columns + i];
        if let Some(product) = self.product_of_ciphertexts(a, axis, columns, weight, operation)? {
            return Ok(product);
        }
        if columns == 1 {
            // One product and a few rotations suffice.
            let sum = self.weighted_sum(a, &tiled(w, rows), axis, operation)?;
            let mut strides = sum.layout().strides().to_vec();
            strides.push(1);
            let layout = sum.layout().with_shape(shape, strides)?;
            return Ok(sum.with_layout(layout));
        }
        if axis == 0 {
            let product = self.narrow_product(a, columns, |i, j| w[j * columns + i], operation)?;
            if let Some(product) = product {
                return Ok(product);
            }
        }
        let layout = match Layout::new(
            shape.clone(),
            a.layout().strides().to_vec(),
            F::slots(&self.session),
        ) {
            Ok(layout) => layout,
            Err(_) => {
                let product =
                    self.wide_product(a, axis, columns, |i, j| w[j * columns + i], operation)?;
                if let Some(product) = product {
                    return Ok(product);
                }
                Layout::packed(&shape, F::slots(&self.session))?
            }
        };
        let (to, from): (Vec<usize>, Vec<usize>) =
            (layout.positions().collect(), a.layout().positions().collect());
        let entries = (0..rows).flat_map(|row| {
            let (to, from) = (&to[row * columns..], &from[row * k..]);
            (0..columns)
                .flat_map(move |j| (0..k).map(move |i| (to[j], from[i], w[i * columns + j])))
        });
        if rows * columns * k <= MAX_PRODUCTS_SEARCHED {
            let pairs = entries.clone().map(|(to, from, _)| (to, from));
            let diagonals = products::<F>(F::slots(&self.session), pairs, usize::MAX);
            if diagonals > MAX_DISTANCES_IN_ONE_STEP {
                let elements = (0..rows).flat_map(|row| (0..columns).map(move |j| (row, j)));
                let places = elements
                    .flat_map(|(row, j)| (0..k).map(move |i| (row * k + i, w[i * columns + j])));
                let sums =
                    self.sums_within(a, &shape, k, places, diagonals / MIN_SAVING_OF_GROUPS, None);
                if let Some(sums) = sums.map_err(|e| e.during(operation))? {
                    return Ok(sums);
                }
            }
        }
        self.linear_map(a, layout, entries.filter(|e| e.2 != F::Number::default()), operation)
    }

    /// Returns `a @ w` for an encrypted array of shape `(.., k)` and a plain vector of length `k`.
    ///
    /// The result has shape `(..)` and is one multiplication deep.
    ///
    /// # Errors
    /// As [`Server::matmul_plain`].
    pub fn dot_plain<F: Arithmetic>(
        &self,
        a: &Array<F>,
        w: &[F::Number],
    ) -> Result<Array<F>, Error> {
        const OPERATION: &str = "dot product";
        let (rows, k) = self.inner_axis(a, OPERATION)?;
        if w.len() != k {
            return Err(Error::shape(OPERATION, not_aligned(a.shape(), &[w.len()])));
        }
        let axis = a.shape().len() - 1;
        let interval = interval_of_rows(a, 1, w.iter().map(|weight| (0, *weight)));
        if let Some(product) = self.product_of_ciphertexts(a, axis, 1, |_, j| w[j], OPERATION)? {
            let (shape, strides) =
                (product.shape()[..axis].to_vec(), product.layout().strides()[..axis].to_vec());
            let layout = product.layout().with_shape(shape, strides)?;
            return Ok(F::with_known_interval(product.with_layout(layout), interval));
        }
        Ok(F::with_known_interval(
            self.weighted_sum(a, &tiled(w, rows), axis, OPERATION)?,
            interval,
        ))
    }

    /// Returns the sum along `axis` of the elements of `a` times plain numbers.
    ///
    /// `weights` has a number for each element of `a`, in row-major order. Elements at the same
    /// place along that axis have the same number.
    fn weighted_sum<F: Arithmetic>(
        &self,
        a: &Array<F>,
        weights: &[F::Number],
        axis: usize,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        let positions: Vec<usize> = a.layout().positions().collect();
        let entries = positions.iter().zip(weights).map(|(p, weight)| (*p, *p, *weight));
        let after = ResultUse::Sums(a.shape()[axis]);
        let products = self.linear_map_before(a, a.layout().clone(), entries, after, operation)?;
        let sums = self.sum(&products, Some(axis)).map_err(|e| e.during(operation))?;
        let all: f64 = weights.iter().map(|w| F::magnitude(*w)).sum();
        let largest = all / (a.size() / a.shape()[axis]) as f64;
        Ok(F::tightened(sums, F::log2_bound(a).exp2() * largest * rounded(weights.len())))
    }

    /// Returns `m @ a` for a plain matrix of shape `(rows, n)` and an encrypted array `(n, ..)`.
    ///
    /// The matrix is in row-major order. The result has shape `(rows, ..)` and is one
    /// multiplication deep.
    ///
    /// # Errors
    /// As [`Server::matmul_plain`].
    pub fn rmatmul_plain<F: Arithmetic>(
        &self,
        m: &[F::Number],
        rows: usize,
        a: &Array<F>,
    ) -> Result<Array<F>, Error> {
        const OPERATION: &str = "matrix product";
        let n = *a
            .shape()
            .first()
            .ok_or_else(|| Error::shape(OPERATION, "the encrypted array has no axis"))?;
        let left = [rows, other_length(m.len(), rows, OPERATION)?];
        if left[1] != n {
            return Err(Error::shape(OPERATION, not_aligned(&left, a.shape())));
        }
        let product = self.product_by_columns(m, [rows, n], a, OPERATION)?;
        let entries = m.iter().enumerate().map(|(i, weight)| (i / n, i % n, *weight));
        let interval =
            interval_of_rows(a, rows, entries.clone().map(|(row, _, weight)| (row, weight)));
        Ok(F::with_known_interval(F::of_product(product, a, [rows, n], entries), interval))
    }

    /// Computes [`Server::rmatmul_plain`] for `rows` rows of `n` numbers.
    fn product_by_columns<F: Arithmetic>(
        &self,
        m: &[F::Number],
        [rows, n]: [usize; 2],
        a: &Array<F>,
        operation: &'static str,
    ) -> Result<Array<F>, Error> {
        if let Some(product) =
            self.product_of_ciphertexts(a, 0, rows, |i, j| m[i * n + j], operation)?
        {
            return Ok(product);
        }
        let rest = a.size() / n;
        if rows == 1 && n > SHORT_ROW {
            let weights: Vec<_> = m.iter().flat_map(|w| repeat_n(*w, rest)).collect();
            let sum = self.weighted_sum(a, &weights, 0, operation)?;
            return self.insert_axis(&sum, 0);
        }
        if a.shape().len() == 2 && !a.layout().is_packed() {
            // m @ x.T is (x @ m.T).T, and the rows of x are laid out side by side.
            let turned = self.transpose(a)?;
            if turned.layout().is_packed() {
                let columns: Vec<_> =
                    (0..n).flat_map(|j| (0..rows).map(move |i| m[i * n + j])).collect();
                return self.transpose(&self.matmul_plain(&turned, &columns, rows)?);
            }
        }
        if let Some(product) = self.narrow_product(a, rows, |i, j| m[i * n + j], operation)? {
            return Ok(product);
        }
        let mut shape = a.shape().to_vec();
        shape[0] = rows;
        let layout = match Layout::new(
            shape.clone(),
            a.layout().strides().to_vec(),
            F::slots(&self.session),
        ) {
            Ok(layout) => layout,
            Err(_) => {
                let product = self.wide_product(a, 0, rows, |i, j| m[i * n + j], operation)?;
                if let Some(product) = product {
                    return Ok(product);
                }
                packed_like(a.layout(), shape)?
            }
        };
        let (to, from): (Vec<usize>, Vec<usize>) =
            (layout.positions().collect(), a.layout().positions().collect());
        let entries = (0..rows).flat_map(|i| {
            let (to, from) = (&to, &from);
            (0..n).flat_map(move |j| {
                (0..rest).map(move |c| (to[i * rest + c], from[j * rest + c], m[i * n + j]))
            })
        });
        self.linear_map(a, layout, entries.filter(|e| e.2 != F::Number::default()), operation)
    }

    /// Returns the dot product of two encrypted vectors, or a product with an encrypted matrix.
    ///
    /// Either operand or both may be matrices. The products of the ciphertexts of long vectors are
    /// added up before one relinearisation ([`Arithmetic::sum_of_products`]).
    ///
    /// Two matrices of shapes `(n, k)` and `(k, m)` are repeated to `n m k` slots, which needs
    /// another multiplication if they do not have that layout already. If it is less work, they are
    /// brought to tiles and `k` rotations of these are multiplied, or they are multiplied diagonal
    /// by diagonal. Both are two multiplications deep.
    ///
    /// # Errors
    /// [`Error::Shape`] when an operand is neither a vector nor a matrix, when the axes that are
    /// summed over differ in length, or when each way to multiply two matrices needs more than 2^24
    /// slots.
    pub fn dot<F: Arithmetic>(&self, a: &Array<F>, b: &Array<F>) -> Result<Array<F>, Error> {
        const OPERATION: &str = "dot product";
        let fits = match (a.shape(), b.shape()) {
            ([n], [m]) | ([_, n], [m]) | ([n] | [_, n], [m, _]) => n == m,
            _ => false,
        };
        if !fits {
            return Err(Error::shape(OPERATION, not_aligned(a.shape(), b.shape())));
        }
        self.check(a, OPERATION)?;
        self.check(b, OPERATION)?;
        let summed = |products: Result<Array<F>, Error>, axis| self.sum(&products?, axis);
        let by_vector = |matrix: &Array<F>, vector: &Array<F>| {
            // Each sum uses one copy of each element.
            let copies = self.repeated_as(vector, matrix.layout(), Copies::One)?;
            let products = self.mul(matrix, &copies);
            Ok(F::of_vector(summed(products, Some(1))?, matrix, vector, vector.size()))
        };
        let product = match (a.shape(), b.shape()) {
            ([_, _], [_, _]) => self.matrix_product(a, b),
            ([_, _], _) => by_vector(a, b),
            (_, [_, _]) => self.transpose(b).and_then(|b| by_vector(&b, a)),
            _ => match self.dot_of_ciphertexts(a, b)? {
                Some(sum) => self.sum(&sum, None),
                None => summed(self.mul(a, b), None),
            },
        };
        let product = product.map_err(|e| self.advised(e.during(OPERATION), &[a, b]))?;
        let count = a.shape()[a.shape().len() - 1];
        let products = match a.shape().len() == 1 && a.is_same(b) {
            true => F::interval(a).power(2),
            false => F::interval(a) * F::interval(b),
        };
        Ok(F::with_known_interval(product, products.times_count(count)))
    }

    /// Returns the sum of the products of the ciphertexts of two vectors, with an element for each
    /// slot.
    ///
    /// The result is `None` unless the vectors have one packed layout of several ciphertexts, and
    /// the stray slots of one are zero. It is also `None` if one of them can be bootstrapped, or if
    /// their products cannot be relinearised at once.
    fn dot_of_ciphertexts<F: Arithmetic>(
        &self,
        a: &Array<F>,
        b: &Array<F>,
    ) -> Result<Option<Array<F>>, Error> {
        const OPERATION: &str = "dot product";
        // All ciphertexts but the last are full. Beyond the end of the last one, one of the factors
        // is 0.
        let fits =
            a.layout() == b.layout() && a.layout().ciphertexts() > 1 && a.layout().strides() == [1];
        let refreshes = |x| F::check_bootstrap(self, x).is_ok();
        if !fits || !(a.is_clean() || b.is_clean()) || refreshes(a) || refreshes(b) {
            return Ok(None);
        }
        let slots = F::slots(&self.session);
        let (form, layout) = (self.form_of(&[a, b]), Layout::packed(&[slots], slots)?);
        let left = a.expanded(&self.session);
        let right = (!a.is_same(b)).then(|| b.expanded(&self.session));
        // The factors of a square are one reference, which costs less.
        let right = right.as_ref().unwrap_or(&left);
        let pairs: Vec<_> = left.iter().zip(right).map(|(x, y)| (x.as_ref(), y.as_ref())).collect();
        let sum = form.sum_of_products(self, &pairs).transpose();
        let sum = sum.map_err(|e| self.advised(e, &[a, b]).during(OPERATION))?;
        Ok(sum.map(|sum| Array::from_ciphertexts(layout, form, SlotContents::Zero, vec![sum])))
    }

    /// Moves the elements by `shift` in row-major order (`axis` is `None`) or along an axis.
    ///
    /// Elements that leave at the end come in again at the start, as in numpy's `roll`. No
    /// multiplication is needed if a rotation of one ciphertext suffices. Otherwise the result is
    /// one multiplication deep.
    ///
    /// # Errors
    /// [`Error::Shape`] when there is no such axis, and [`Error::MissingKey`] when rotation keys
    /// are missing.
    pub fn roll<F: Arithmetic>(
        &self,
        a: &Array<F>,
        shift: i64,
        axis: Option<usize>,
    ) -> Result<Array<F>, Error> {
        const OPERATION: &str = "roll";
        self.check(a, OPERATION)?;
        if let Some(axis) = axis.filter(|x| *x >= a.shape().len()) {
            return Err(Error::shape(
                OPERATION,
                format!("there is no axis {axis} in shape {}", format_shape(a.shape())),
            ));
        }
        let layout = a.layout();
        let right = shift.rem_euclid(layout.slots() as i64);
        if layout.ciphertexts() == 1
            && layout.is_full()
            && (axis.is_none() || a.shape().len() == 1)
            && is_row_major(layout)
            && F::rotates(layout.slots(), right as usize)
        {
            let rolled = self
                .map(a, OPERATION, true, 0.0, |server, form, x| form.rotate(server, x, -right))?;
            return Ok(F::with_known_interval(rolled, F::interval(a)));
        }
        // The number of elements along the axis, and their distance in row-major order.
        let (length, inner) = match axis {
            None => (a.size(), 1),
            Some(x) => (a.shape()[x], a.shape()[x + 1..].iter().product()),
        };
        let positions: Vec<usize> = layout.positions().collect();
        let by = shift.rem_euclid(length as i64) as usize;
        let entries = (0..a.size()).map(|e| {
            let along = e / inner % length;
            let target = e + ((along + by) % length) * inner - along * inner;
            (positions[target], positions[e], F::ONE)
        });
        let rolled = self.linear_map(a, layout.clone(), entries, OPERATION)?;
        Ok(F::with_known_interval(rolled, F::interval(a)))
    }

    /// Returns the array with its axes in reverse order. Nothing is computed.
    ///
    /// # Errors
    /// Never for arrays of this library.
    pub fn transpose<F: Arithmetic>(&self, a: &Array<F>) -> Result<Array<F>, Error> {
        let reversed = |v: &[usize]| v.iter().rev().copied().collect::<Vec<_>>();
        let layout = a.layout().with_shape(reversed(a.shape()), reversed(a.layout().strides()))?;
        Ok(F::with_known_interval(a.clone().with_layout(layout), F::interval(a)))
    }

    /// Returns the array with another axis of length 1 before axis `axis`. Nothing is computed.
    ///
    /// This is numpy's `expand_dims`.
    ///
    /// # Errors
    /// [`Error::Shape`] when `axis` is larger than the number of axes.
    pub fn insert_axis<F: Arithmetic>(&self, a: &Array<F>, axis: usize) -> Result<Array<F>, Error> {
        let (mut shape, mut strides) = (a.shape().to_vec(), a.layout().strides().to_vec());
        if axis > shape.len() {
            return Err(Error::shape(
                "insert an axis",
                format!("there is no place {axis} in shape {shape}", shape = format_shape(&shape)),
            ));
        }
        shape.insert(axis, 1);
        strides.insert(axis, 1);
        let layout = a.layout().with_shape(shape, strides)?;
        Ok(F::with_known_interval(a.clone().with_layout(layout), F::interval(a)))
    }

    /// Returns the number of rows along the last axis of `a`, and their length.
    ///
    /// # Errors
    /// [`Error::Shape`] when there is no axis.
    fn inner_axis<F: Arithmetic>(
        &self,
        a: &Array<F>,
        operation: &'static str,
    ) -> Result<(usize, usize), Error> {
        self.check(a, operation)?;
        match a.shape().last() {
            Some(&k) => Ok((a.size() / k, k)),
            None => Err(Error::shape(operation, "the encrypted array has no axis")),
        }
    }
}

/// Returns the length of one axis of a matrix of `count` numbers, given that of the other.
fn other_length(count: usize, length: usize, operation: &'static str) -> Result<usize, Error> {
    match count.checked_rem(length) {
        Some(0) => Ok(count / length),
        _ => {
            let what = format!("{count} numbers do not fill a matrix with an axis of {length}");
            Err(Error::shape(operation, what))
        }
    }
}

/// Describes shapes between which there is no product of matrices.
fn not_aligned(left: &[usize], right: &[usize]) -> String {
    let shapes = format!("shapes {} and {} do not fit", format_shape(left), format_shape(right));
    match (left.last(), right.first()) {
        (Some(n), Some(m)) if n != m => format!(
            "{shapes}: the last axis of the first has {n} elements, and the first axis of the \
             second {m}. They have to be equal: transpose an operand if its axes are in the other \
             order."
        ),
        _ => format!("{shapes}: vectors and matrices are needed"),
    }
}

/// Returns the interval of the product of a plain matrix and the array `a`.
///
/// `entries` has the numbers of the `rows` rows of the matrix, each with its row.
fn interval_of_rows<F: Arithmetic>(
    a: &Array<F>,
    rows: usize,
    entries: impl Iterator<Item = (usize, F::Number)>,
) -> Interval {
    let mut sums = vec![Interval::point(0.0); rows];
    for (row, weight) in entries {
        sums[row] = sums[row] + F::interval(a) * a.form().number_interval(weight);
    }
    sums.into_iter().reduce(Interval::union).unwrap_or(Interval::EVERYTHING)
}

/// Returns the layout of a fresh array of this shape, with the axes in the order of `layout`.
fn packed_like(layout: &Layout, shape: Vec<usize>) -> Result<Layout, Error> {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    order.sort_by_key(|axis| Reverse(layout.strides()[*axis]));
    let strides = in_order(&shape, &order, layout.slots())?;
    Layout::new(shape, strides, layout.slots())
}

/// Returns `w` repeated once for each row.
fn tiled<T: Copy>(w: &[T], rows: usize) -> Vec<T> {
    repeat_n(w, rows).flatten().copied().collect()
}

/// Returns true if the elements lie one after the other, in row-major order without padding.
fn is_row_major(layout: &Layout) -> bool {
    let mut stride = 1;
    layout.shape().iter().zip(layout.strides()).rev().all(|(n, s)| {
        let here = *s == stride || *n == 1;
        stride *= n;
        here
    })
}
