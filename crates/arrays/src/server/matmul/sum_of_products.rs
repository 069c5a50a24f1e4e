//! Sums of elementwise products of arrays.

use std::ops::Add;

use crate::server::Server;
use crate::{Arithmetic, Array, Computed, Error, Interval, SlotContents, format_shape};

const OPERATION: &str = "add products";

impl Server {
    /// Returns `sum_i a_i b_i`, element by element, over pairs of arrays.
    ///
    /// In each pair the shapes broadcast as numpy's do, and all products must have one shape.
    ///
    /// If all arrays have one layout, the sum is relinearised once. Each product but the first then
    /// costs hardly more than an addition, or about half a product with BFV. Otherwise the products
    /// are computed and added one by one. That is also done if an array can be bootstrapped, or if
    /// numbers differ in precision or in the number of products before.
    ///
    /// # Errors
    /// [`Error::Argument`] when there are no pairs, [`Error::Shape`] when shapes do not fit, and as
    /// [`Server::mul`].
    pub fn sum_of_products<F: Arithmetic>(
        &self,
        pairs: &[(&Array<F>, &Array<F>)],
    ) -> Result<Array<F>, Error> {
        let [(a, b), rest @ ..] = pairs else {
            return Err(Error::argument(OPERATION, "there are no products"));
        };
        for (a, b) in pairs {
            self.check_two(*a, *b, OPERATION)?;
        }
        if let Some(sum) = self.products_of_one_layout(pairs)? {
            let products = pairs.iter().map(|(a, b)| match a.is_same(b) {
                true => F::interval(a).power(2),
                false => F::interval(a) * F::interval(b),
            });
            return Ok(F::with_known_interval(
                sum,
                products.fold(Interval::point(0.0), Interval::add),
            ));
        }
        let product = |a, b| self.mul(a, b).map_err(|e| e.during(OPERATION));
        rest.iter().try_fold(product(a, b)?, |sum, (a, b)| {
            let product = product(a, b)?;
            if product.shape() == sum.shape() {
                return self.add(&sum, &product).map_err(|e| e.during(OPERATION));
            }
            let what = format!(
                "products of shapes {} and {}",
                format_shape(sum.shape()),
                format_shape(product.shape())
            );
            Err(Error::shape(OPERATION, what))
        })
    }

    /// Returns `sum_i x_i y_i` over one pair of ciphertexts or more, relinearised once if possible.
    pub(in crate::server) fn sum_of_pairs<F: Arithmetic>(
        &self,
        form: &F,
        pairs: &[(&F::Ciphertext, &F::Ciphertext)],
    ) -> Computed<F> {
        if let Some(sum) = form.sum_of_products(self, pairs) {
            return sum;
        }
        let [(x, y), rest @ ..] = pairs else {
            return Err(Error::argument(OPERATION, "there are no products"));
        };
        let add = |sum, (x, y): &(&_, &_)| form.add(self, &sum, &form.mul(self, x, y)?);
        rest.iter().try_fold(form.mul(self, x, y)?, add)
    }

    /// Returns the sum of the products with one relinearisation, or `None` if that is not possible.
    fn products_of_one_layout<F: Arithmetic>(
        &self,
        pairs: &[(&Array<F>, &Array<F>)],
    ) -> Result<Option<Array<F>>, Error> {
        let arrays: Vec<&Array<F>> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
        let layout = arrays[0].layout();
        let refreshes = |array: &&Array<F>| F::check_bootstrap(self, array).is_ok();
        if arrays.iter().any(|array| array.layout() != layout || refreshes(array)) {
            return Ok(None);
        }
        let form = self.form_of(&arrays);
        let inputs: Vec<_> = arrays.iter().map(|array| array.expanded(&self.session)).collect();
        let sum = |k: usize| {
            let each = pairs.iter().zip(inputs.chunks(2));
            let each = each.map(|((a, b), inputs)| {
                let x = inputs[0][k].as_ref();
                // The factors of a square are one reference, which costs less.
                (x, if a.is_same(b) { x } else { inputs[1][k].as_ref() })
            });
            let pairs: Vec<_> = each.collect();
            form.sum_of_products(self, &pairs).transpose()
        };
        let sums = self.session.compute_each(layout.ciphertexts(), sum);
        let sums = sums.map_err(|e| self.advised(e, &arrays).during(OPERATION))?;
        let Some(out) = sums.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
        let products = pairs.iter().map(|(a, b)| a.slot_contents().of_product(b.slot_contents()));
        let slots = products.reduce(SlotContents::of_sum).unwrap_or(SlotContents::Stray);
        Ok(Some(Array::from_ciphertexts(layout.clone(), form, slots, out)))
    }
}
