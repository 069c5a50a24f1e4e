//! Convolutions with plain vectors.

use crate::server::Server;
use crate::{Arithmetic, Array, Error, Interval, Layout, format_shape};

const OPERATION: &str = "convolve";

impl Server {
    /// Convolves a vector with a plain one, and returns `length` elements from element `first` on.
    ///
    /// Element `i` of the convolution is `sum_j kernel_j a_(i - j)`, where `a` is 0 beyond its
    /// ends. It is computed as a product with a matrix that has as many diagonals as the kernel has
    /// elements. The result is one multiplication deep.
    ///
    /// # Errors
    /// [`Error::Shape`] when the array is not a vector, when the kernel is empty or `length` is 0,
    /// or when the range ends beyond the `n + m - 1` elements of the convolution of vectors of `n`
    /// and `m` elements. [`Error::Encode`] when a number is NaN, infinite or too large,
    /// [`Error::Capacity`] or [`Error::Budget`] when no multiplication is left, and
    /// [`Error::MissingKey`] when a rotation key is missing.
    pub fn convolve_plain<F: Arithmetic>(
        &self,
        a: &Array<F>,
        kernel: &[F::Number],
        first: usize,
        length: usize,
    ) -> Result<Array<F>, Error> {
        let fail = |what| Err(Error::shape(OPERATION, what));
        let ([n], [stride]) = (a.shape(), a.layout().strides()) else {
            return fail(format!("shape {} is that of no vector", format_shape(a.shape())));
        };
        let all = (n + kernel.len()).saturating_sub(1);
        if kernel.is_empty() || length == 0 || first.checked_add(length).is_none_or(|end| end > all)
        {
            let m = kernel.len();
            return fail(format!(
                "{length} elements from {first} on, of vectors of {n} and {m} elements"
            ));
        }
        let out = Layout::packed(&[length], F::slots(&self.session))?;
        let entries = (0..length).flat_map(|i| {
            // The j for which first + i - j lies between 0 and n - 1.
            let js = (first + i + 1).saturating_sub(*n)..kernel.len().min(first + i + 1);
            js.map(move |j| (i, (first + i - j) * stride, kernel[j]))
        });
        let entries = entries.filter(|entry| entry.2 != F::Number::default());
        let convolution = self.linear_map(a, out, entries, OPERATION)?;
        // Near the ends, some elements of the kernel meet no element of the vector. Their terms are
        // 0 there.
        let zero = Interval::point(0.0);
        let terms = kernel
            .iter()
            .map(|weight| zero.union(F::interval(a) * a.form().number_interval(*weight)));
        Ok(F::with_known_interval(convolution, terms.fold(zero, |sum, term| sum + term)))
    }
}
