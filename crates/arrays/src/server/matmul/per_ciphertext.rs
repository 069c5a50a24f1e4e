//! Products of plain matrices and arrays whose rows are whole ciphertexts.
//!
//! They are sums of ciphertexts times numbers. They need no encoded plaintext and no rotation, and
//! are rescaled once.

use crate::server::Server;
use crate::{Arithmetic, Array, Error, SlotContents};

impl Server {
    /// Returns `sum_j weight(i, j) a_j` over an axis of `a`, for all `i` below `rows`.
    ///
    /// The result is one multiplication deep. The axis must be the outermost one, and elements that
    /// differ along it alone must lie in different ciphertexts. The result is `None` if they do
    /// not, if no multiplication is left, or if ciphertexts cannot be multiplied by these numbers
    /// directly ([`Arithmetic::combination`]).
    pub(in crate::server) fn product_of_ciphertexts<F: Arithmetic>(
        &self,
        a: &Array<F>,
        axis: usize,
        rows: usize,
        weight: impl Fn(usize, usize) -> F::Number + Sync,
        operation: &'static str,
    ) -> Result<Option<Array<F>>, Error> {
        self.check(a, operation)?;
        let (shape, strides, slots) = (a.shape(), a.layout().strides(), a.layout().slots());
        let (length, stride) = (shape[axis], strides[axis]);
        let outermost = (0..shape.len()).all(|k| k == axis || shape[k] == 1 || strides[k] < stride);
        if length < 2
            || !stride.is_multiple_of(slots)
            || !outermost
            || !self.form_of(&[a]).has_products(self, a, 1)
        {
            return Ok(None);
        }
        let mut of_product = shape.to_vec();
        of_product[axis] = rows;
        let layout = a.layout().with_shape(of_product, strides.to_vec())?;
        let (each, form, inputs) = (stride / slots, self.form_of(&[a]), a.expanded(&self.session));
        let sum = |k: usize| {
            let (row, place) = (k / each, k % each);
            let term = |j: usize| inputs.get(j * each + place).map(|x| (&**x, weight(row, j)));
            let terms: Vec<(&F::Ciphertext, F::Number)> = (0..length).filter_map(term).collect();
            form.combination(self, &terms).map_err(|e| e.during(operation))
        };
        let sums = self.session.compute_each(layout.ciphertexts(), sum)?;
        let sums = sums.into_iter().collect::<Option<Vec<_>>>();
        Ok(sums.map(|sums| {
            Array::from_ciphertexts(layout, form, SlotContents::zero_if(a.is_clean()), sums)
        }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use hippocrene_ring::primes;
    use hippocrene_rlwe::{Parameters, ParametersLiteral, SecretDistribution, Sprout};

    use super::*;
    use crate::{ClientKey, Integers, KeyRequest, Numbers, Residues, Scheme, Settings};

    /// Returns a client and a server with ring degree `2^6` and no rotation keys. Insecure.
    fn insecure() -> (ClientKey, Server) {
        let degree = 1 << 6;
        let mut units = primes::ntt_primes(50, degree, 1, &[]).unwrap();
        units.extend(primes::ntt_primes(40, degree, 3, &[]).unwrap());
        let parameters = Parameters::new_insecure(ParametersLiteral {
            log_degree: 6,
            units,
            specials: primes::ntt_primes(49, degree, 2, &[]).unwrap(),
            sprout: Sprout::default(),
            gadget_rank: 2,
            secret: SecretDistribution::Ternary,
        });
        let integers = Integers { plain_modulus: 7681, scheme: Scheme::Bgv };
        let settings =
            Settings::at_scale(parameters.unwrap(), 40).unwrap().with_integers(integers).unwrap();
        let client = ClientKey::generate_with(settings, 1).unwrap();
        let server = Server::new(client.evaluation_keys(&KeyRequest::only([])).unwrap()).unwrap();
        (client, server)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn rows_of_whole_ciphertexts_are_combined(
            rows in 2usize..6,
            columns in prop::sample::select(vec![17usize, 32, 40, 64, 70]),
            of_product in 1usize..4,
            is_transposed in any::<bool>(),
            seed in 0usize..100,
        ) {
            let (client, server) = insecure();
            let number = |i: usize| ((i * 37 + seed * 101 + i * i) % 17) as f64 / 8.0 - 1.0;
            let x: Vec<f64> = (0..rows * columns).map(number).collect();
            let m: Vec<f64> = (0..of_product * rows).map(|i| number(i + 5)).collect();
            let weight = |i: usize, j: usize| m[i * rows + j];
            let array = client.encrypt(&x, &[rows, columns]).unwrap();
            let (a, axis) =
                if is_transposed { (server.transpose(&array).unwrap(), 1) } else { (array, 0) };
            let product =
                server.product_of_ciphertexts(&a, axis, of_product, weight, "multiply").unwrap();
            prop_assert!(product.is_some());
            let expected = |i: usize, c: usize| -> f64 {
                (0..rows).map(|j| weight(i, j) * x[j * columns + c]).sum()
            };
            let check = |product: &Array<Numbers>| {
                for (k, got) in client.decrypt(product).unwrap().into_iter().enumerate() {
                    let (i, c) = if is_transposed {
                        (k % of_product, k / of_product)
                    } else {
                        (k / columns, k % columns)
                    };
                    assert!((got - expected(i, c)).abs() < 1e-6, "{got}, not {}", expected(i, c));
                }
            };
            check(&product.unwrap());
            if is_transposed {
                let w: Vec<f64> = (0..rows * of_product)
                    .map(|k| weight(k % of_product, k / of_product))
                    .collect();
                check(&server.matmul_plain(&a, &w, of_product).unwrap());
                let first = server.dot_plain(&a, &m[..rows]).unwrap();
                assert_eq!(first.shape(), [columns]);
                for (c, got) in client.decrypt(&first).unwrap().into_iter().enumerate() {
                    assert!((got - expected(0, c)).abs() < 1e-6);
                }
            } else {
                check(&server.rmatmul_plain(&m, of_product, &a).unwrap());
            }
        }
    }

    /// NaN, rows that share a ciphertext, and integers are not combined. Other ways compute these
    /// products or refuse them.
    #[test]
    fn others_are_not_combined() {
        let (client, server) = insecure();
        let a = client.encrypt(&[0.5; 64], &[2, 32]).unwrap();
        let product = |weight: f64| {
            server.product_of_ciphertexts(&a, 0, 1, |_, _| weight, "multiply").unwrap()
        };
        assert!(product(2.0).is_some() && product(f64::NAN).is_none());
        let short = client.encrypt(&[0.5; 32], &[2, 16]).unwrap();
        assert!(
            server.product_of_ciphertexts(&short, 0, 1, |_, _| 1.0, "multiply").unwrap().is_none()
        );
        let integers: Array<Residues> = client.encrypt_integers(&[1; 128], &[2, 64]).unwrap();
        assert!(
            server.product_of_ciphertexts(&integers, 0, 1, |_, _| 1, "multiply").unwrap().is_none()
        );
    }
}
