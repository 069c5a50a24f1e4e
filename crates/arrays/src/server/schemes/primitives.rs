//! The primitives on single ciphertexts in which arrays of numbers and arrays of integers differ.

use std::{borrow::Cow, collections::BTreeMap};

use hippocrene_ckks::Transfer;

use crate::{
    Array, Elements, Error, Interval, Layout, Session,
    server::{Server, functions::polynomial::PolynomialWay, linear::map_cache::Maps},
};

/// Plain numbers, and the intervals that hold the elements of arrays.
///
/// See [`Arithmetic`] for an example.
pub trait PlainNumbers: Elements {
    /// A plain number.
    type Number: Copy + Default + PartialEq + Send + Sync;
    /// Plain numbers, one for each element.
    type Plain<'v>: Copy + Send + Sync;
    /// The number 1.
    const ONE: Self::Number;

    /// Returns the sum of two plain numbers.
    fn plus(&self, x: Self::Number, y: Self::Number) -> Self::Number;

    /// Returns the form of results computed from an array of this form and plain numbers.
    fn with_plain(self, plain: Self::Plain<'_>) -> Self;

    /// Returns plain numbers from a slice of them.
    fn plain(numbers: &[Self::Number]) -> Self::Plain<'_>;

    /// Returns the number of plain numbers.
    fn count(plain: Self::Plain<'_>) -> usize;

    /// Returns the exact bits of a number.
    fn bytes(number: Self::Number) -> [u8; 8];

    /// True if this factor is exact, so that a product with it needs less capacity than one with
    /// other numbers.
    fn is_exact(c: Self::Number) -> bool;

    /// Returns the absolute value of a plain number, or 0 for a form whose arrays have no bound.
    fn magnitude(number: Self::Number) -> f64;

    /// Returns the interval of plain numbers; every number if they are complex or not finite.
    fn plain_interval(&self, plain: Self::Plain<'_>) -> Interval;

    /// Returns the interval that holds one plain number.
    fn number_interval(&self, number: Self::Number) -> Interval;

    /// Returns the interval of the elements; every number if nothing is known.
    fn interval(array: &Array<Self>) -> Interval;

    /// Returns the same array with its interval reduced to the part within `interval`.
    fn with_known_interval(array: Array<Self>, interval: Interval) -> Array<Self>;

    /// Returns the array with this bound on all of its slots, if arrays of this form have one and
    /// it is tighter than the present one.
    fn tightened(array: Array<Self>, bound: f64) -> Array<Self>;
}

/// The precision and the capacity of arrays, and their bootstraps.
///
/// See [`Arithmetic`] for an example.
pub trait Capacity: Elements {
    /// Returns the precision that results are to have, in bits after the binary point, or `None` if
    /// they are exact.
    fn precision(&self) -> Option<f64>;

    /// Returns the form of results computed from arrays of this form and of `other`.
    fn join(&self, other: &Self) -> Self;

    /// Returns the form of results that this server computes from arrays of this form.
    fn computed_by(self, server: &Server) -> Self;

    /// Marks the error as unknown if that of an operand of the form `operand` is.
    fn know_no_more_than(&mut self, operand: &Self);

    /// Returns about how many bits of capacity a product uses; 0 for a form that does not count
    /// capacity.
    fn product_bits(&self, server: &Server) -> f64;

    /// Returns the capacity of an array in bits; infinite for a form that does not count it.
    fn capacity_bits(session: &Session, a: &Array<Self>) -> f64;

    /// Returns log2 of the bound of the elements, which is the number of bits of capacity that it
    /// uses; 0 for a form without bounds.
    fn log2_bound(a: &Array<Self>) -> f64;

    /// Returns an estimate of whether the array can be multiplied by plain numbers `count` times in
    /// a row.
    fn has_products(&self, server: &Server, a: &Array<Self>, count: usize) -> bool;

    /// Checks that an array can be bootstrapped.
    ///
    /// # Errors
    /// If the server has no keys for it, or the array does not meet their requirements.
    fn check_bootstrap(server: &Server, a: &Array<Self>) -> Result<(), Error>;

    /// True if the server has bootstraps and the bound of the array is too large for them.
    fn is_too_large(server: &Server, a: &Array<Self>) -> bool;

    /// Returns the bootstrapped array, which is computed once for all operations that need it.
    ///
    /// # Errors
    /// As [`Server::bootstrap`].
    fn bootstrapped(server: &Server, a: &Array<Self>) -> Result<Array<Self>, Error>;
}

/// Operations that know which errors several elements share, and so state the right error.
///
/// See [`Arithmetic`] for an example.
pub trait SharedErrors: PlainNumbers {
    /// Computes `x + y` for two parts of one array. The error that their elements share adds up.
    ///
    /// # Errors
    /// As [`Arithmetic::add`].
    fn add_alike(
        &self,
        server: &Server,
        x: &Self::Ciphertext,
        y: &Self::Ciphertext,
    ) -> Computed<Self>;

    /// Computes `x + y` for ciphertexts without a slot in which both differ from 0.
    ///
    /// # Errors
    /// As [`Arithmetic::add`].
    fn overlay(
        &self,
        server: &Server,
        x: &Self::Ciphertext,
        y: &Self::Ciphertext,
    ) -> Computed<Self>;

    /// Computes `x + y` as [`SharedErrors::overlay`] does, if `y` holds copies of elements of `x`
    /// and no later sum adds an element and its copy. The noise of the result is then that of a
    /// single copy.
    ///
    /// # Errors
    /// As [`Arithmetic::add`].
    fn overlay_copies(
        &self,
        server: &Server,
        x: &Self::Ciphertext,
        y: &Self::Ciphertext,
    ) -> Computed<Self>;

    /// Declares that all elements of a ciphertext are copies of one, and so share one error.
    fn of_one_element(&self, x: Self::Ciphertext) -> Self::Ciphertext;

    /// Declares that a ciphertext holds `count` copies of each element. Sums over the copies add up
    /// equal errors.
    fn of_copies(&self, x: Self::Ciphertext, count: usize) -> Self::Ciphertext;

    /// Corrects the stated error of `sum`, which is `x + y` or `x - y`, for operands whose errors
    /// may be equal instead of independent.
    fn of_dependent(
        &self,
        sum: Self::Ciphertext,
        x: &Self::Ciphertext,
        y: &Self::Ciphertext,
    ) -> Self::Ciphertext;

    /// Corrects the stated error of the product of an encrypted matrix and an encrypted vector.
    ///
    /// Each element is a sum of `inner` products with the same elements of the vector, so the
    /// errors of these elements are in all elements of the product.
    fn of_vector(
        product: Array<Self>,
        matrix: &Array<Self>,
        vector: &Array<Self>,
        inner: usize,
    ) -> Array<Self>;

    /// Corrects the stated error of the product of a matrix and an array `a`, along any axis,
    /// including the error that the elements of the product share.
    ///
    /// `size` holds the number of rows and columns of the matrix. `entries` holds its entries with
    /// their row and column.
    fn of_product(
        product: Array<Self>,
        a: &Array<Self>,
        size: [usize; 2],
        entries: impl IntoIterator<Item = (usize, usize, Self::Number)>,
    ) -> Array<Self>;

    /// Corrects the stated bound and error of a sum of `all` summands of one bound, if at most
    /// `some` of them differ from 0.
    fn with_summands(&self, x: Self::Ciphertext, some: usize, all: usize) -> Self::Ciphertext;
}

/// Rotations of slots, and linear maps from slots to slots.
///
/// See [`Arithmetic`] for an example.
pub trait LinearMaps: PlainNumbers {
    /// A linear map from slots to slots, ready to be applied.
    type Map: Send + Sync;

    /// True if a single automorphism of ciphertexts rotates all slots by `left`.
    fn rotates(slots: usize, left: usize) -> bool;

    /// Returns the number of slots that rotate together: all of them, or half of them if rotations
    /// act on rows ([`LinearMaps::rotates`]).
    fn row(slots: usize) -> usize {
        if Self::rotates(slots, 1) { slots } else { slots / 2 }
    }

    /// Rotates all slots to the left by `left`, or to the right if it is negative.
    ///
    /// If [`LinearMaps::rotates`] does not hold, each row, half of the slots, rotates by itself.
    ///
    /// # Errors
    /// As [`Arithmetic::add`], and if a rotation key is missing.
    fn rotate(&self, server: &Server, x: &Self::Ciphertext, left: i64) -> Computed<Self>;

    /// Rotates a ciphertext by each of `left`, all less than the length of a row. This costs less
    /// than one rotation after the other.
    ///
    /// If [`LinearMaps::rotates`] does not hold, each row, half of the slots, rotates by itself.
    ///
    /// # Errors
    /// As [`LinearMaps::rotate`].
    fn rotate_many(
        &self,
        server: &Server,
        x: &Self::Ciphertext,
        left: &[i64],
    ) -> Result<Vec<Self::Ciphertext>, Error>;

    /// Returns the number of key switches of [`LinearMaps::rotate`], or `None` if keys are missing.
    fn rotation_count(server: &Server, x: &Self::Ciphertext, left: i64) -> Option<usize>;

    /// Adds up `count` slots at a distance of `stride`, a power of two.
    ///
    /// Let `span` be `stride` times the least power of two that is at least `count`. A slot at a
    /// multiple of `span` receives the sum of the `count` slots that begin there. Other slots hold
    /// such sums too, of slots that wrap around at the end of a ciphertext (or of a row of slots).
    /// It needs `log2(count)` rotations, rounded down, and one more for each bit of `count` that is
    /// set, beyond the first.
    ///
    /// # Errors
    /// As [`LinearMaps::rotate`].
    fn inner_sum(
        &self,
        server: &Server,
        x: &Self::Ciphertext,
        stride: usize,
        count: usize,
    ) -> Computed<Self>;

    /// Returns the number of the automorphism that brings slot `from` to slot `to`.
    fn diagonal(slots: usize, to: usize, from: usize) -> usize;

    /// Makes the linear map with these diagonals: slot `to` of the result is a sum of slots `from`,
    /// each multiplied by the number for `to` in the diagonal that leads there.
    ///
    /// If the map is not to be `kept`, the limbs of its diagonals are encoded one by one when they
    /// are used.
    ///
    /// # Errors
    /// If a number cannot be encoded.
    fn map(server: &Server, diagonals: &Diagonals<Self>, kept: bool) -> Result<Self::Map, Error>;

    /// Returns the maps that the server caches.
    fn maps(server: &Server) -> &Maps<Self::Map>;

    /// Returns the bytes of the encoded parts of a map.
    fn map_bytes(map: &Self::Map) -> usize;

    /// Brings a ciphertext to the scale and modulus at which a linear map of this extent costs
    /// least.
    ///
    /// # Errors
    /// As [`Arithmetic::add`].
    fn lowered<'a>(
        &self,
        server: &Server,
        x: &'a Self::Ciphertext,
        extent: Extent,
    ) -> Result<Cow<'a, Self::Ciphertext>, Error>;

    /// Applies a linear map to each of these ciphertexts.
    ///
    /// `map` may be a part of a larger map, and `extent` is that of the larger one. If the encoded
    /// diagonals are not kept, each one is encoded once and applied to many ciphertexts.
    ///
    /// # Errors
    /// As [`LinearMaps::rotate`].
    fn apply_each(
        &self,
        server: &Server,
        operands: &[&Self::Ciphertext],
        map: &Self::Map,
        extent: Extent,
    ) -> Result<Vec<Self::Ciphertext>, Error>;
}

/// Powers and polynomials, slot by slot.
///
/// See [`Arithmetic`] for an example.
pub trait Polynomials: PlainNumbers {
    /// A polynomial.
    type Polynomial: Clone + Sync;

    /// Computes `x^n`, slot by slot, for `n >= 1`. It is `ceil(log2 n)` multiplications deep.
    ///
    /// # Errors
    /// As [`Arithmetic::mul`].
    fn power(&self, server: &Server, x: &Self::Ciphertext, n: u32) -> Computed<Self>;

    /// Evaluates `p(x)`, slot by slot, for each of several polynomials of one basis.
    ///
    /// # Errors
    /// As [`Arithmetic::mul`], and if a polynomial does not fit such ciphertexts.
    fn polynomials(
        &self,
        server: &Server,
        x: &Self::Ciphertext,
        polynomials: &[Self::Polynomial],
    ) -> Result<Vec<Self::Ciphertext>, Error>;

    /// Prepares an array and a polynomial for evaluation.
    ///
    /// Afterwards the values of the polynomial are no larger in slots without an element than in
    /// those with one. The polynomial is evaluated in a unit in which it loses little precision.
    ///
    /// # Errors
    /// If a multiplication is needed and none is left.
    fn within_domain<'a>(
        server: &Server,
        a: &'a Array<Self>,
        p: &'a Self::Polynomial,
    ) -> Result<Argument<'a, Self>, Error>;

    /// Returns the depth of a polynomial in multiplications.
    fn polynomial_depth(p: &Self::Polynomial) -> usize;

    /// Evaluates a polynomial with bootstraps. Returns `None` if this form has no bootstraps, or if
    /// they leave too little capacity for this way.
    ///
    /// # Errors
    /// As [`Server::polynomial`].
    fn polynomial_by(
        server: &Server,
        a: &Array<Self>,
        p: &Self::Polynomial,
        way: PolynomialWay,
    ) -> Result<Option<Array<Self>>, Error>;

    /// Splits a polynomial `p` into `p - p(0)` and `p(0)`, or returns `None` if `p(0)` is 0.
    ///
    /// # Errors
    /// If numbers grow too large.
    fn without_constant(p: &Self::Polynomial) -> Result<Option<Apart<Self>>, Error>;

    /// Returns an interval that holds all values of a polynomial on `interval`.
    fn range(p: &Self::Polynomial, interval: Interval) -> Interval;

    /// Returns the values of a polynomial with the bound that follows from the bound of `a`.
    fn bounded_by(values: Array<Self>, p: &Self::Polynomial, a: &Array<Self>) -> Array<Self>;
}

/// The arithmetic of one form of arrays: [`Numbers`](crate::Numbers), real or complex (CKKS), or
/// [`Residues`](crate::Residues), integers modulo a plaintext modulus (BGV and BFV).
///
/// Operations on arrays are written once, for both forms. This trait and those that it builds on
/// hold the primitives in which the two differ. There are no other forms. Primitives are methods of
/// the form that their result has.
///
/// ```
/// use hippocrene::{
///     Arithmetic, Array, ClientKey, Error, Integers, KeyRequest, Preset, Scheme, Server,
/// };
///
/// fn sum_of_squares<F: Arithmetic>(server: &Server, x: &Array<F>) -> Result<Array<F>, Error> {
///     server.sum(&server.mul(x, x)?, None)
/// }
///
/// let integers = Integers { scheme: Scheme::Bgv, plain_modulus: 65537 };
/// let settings = Preset::by_name("n13")?.settings()?.with_integers(integers)?;
/// let client = ClientKey::generate(settings)?;
/// let server = Server::new(client.evaluation_keys(&KeyRequest::only([1]))?)?;
///
/// let numbers = sum_of_squares(&server, &client.encrypt(&[0.5, 1.5], &[2])?)?;
/// assert!((client.decrypt(&numbers)?[0] - 2.5).abs() < 1e-6);
/// let integers = sum_of_squares(&server, &client.encrypt_integers(&[3, 4], &[2])?)?;
/// assert_eq!(client.decrypt_integers(&integers)?, [25]);
/// # Ok::<(), Error>(())
/// ```
pub trait Arithmetic: Capacity + SharedErrors + LinearMaps + Polynomials {
    /// Returns the number of slots of one ciphertext.
    fn slots(session: &Session) -> usize;

    /// Checks that a server can compute on arrays of this form.
    ///
    /// # Errors
    /// If its settings lack what this form needs.
    fn check(&self, server: &Server, operation: &'static str) -> Result<(), Error>;

    /// Computes `x + y`.
    ///
    /// # Errors
    /// If the ciphertexts do not fit, or the result is too large or too noisy. The same holds for
    /// all primitives that follow.
    fn add(&self, server: &Server, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Computed<Self>;

    /// Computes `x - y`.
    ///
    /// # Errors
    /// As [`Arithmetic::add`].
    fn sub(&self, server: &Server, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Computed<Self>;

    /// Computes `-x`.
    ///
    /// # Errors
    /// As [`Arithmetic::add`].
    fn negate(&self, server: &Server, x: &Self::Ciphertext) -> Computed<Self>;

    /// Computes `x y`, as a square if both are the same ciphertext.
    ///
    /// # Errors
    /// As [`Arithmetic::add`], and if the relinearisation key is missing.
    fn mul(&self, server: &Server, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Computed<Self>;

    /// Brings two factors to the modulus and the scale at which their product costs least.
    ///
    /// # Errors
    /// As [`Arithmetic::add`].
    fn as_factors<'a>(
        &self,
        server: &Server,
        x: &'a Self::Ciphertext,
        y: &'a Self::Ciphertext,
    ) -> Result<[Cow<'a, Self::Ciphertext>; 2], Error>;

    /// Computes `sum_i x_i y_i` over one pair or more with a single relinearisation.
    ///
    /// Returns `None` if the products have to be relinearised one by one.
    fn sum_of_products(
        &self,
        server: &Server,
        pairs: &[(&Self::Ciphertext, &Self::Ciphertext)],
    ) -> Option<Computed<Self>>;

    /// Computes `x + c` in every slot.
    ///
    /// # Errors
    /// As [`Arithmetic::add`].
    fn add_number(&self, server: &Server, x: &Self::Ciphertext, c: Self::Number) -> Computed<Self>;

    /// Computes `c x`.
    ///
    /// # Errors
    /// As [`Arithmetic::add`].
    fn mul_number(&self, server: &Server, x: &Self::Ciphertext, c: Self::Number) -> Computed<Self>;

    /// Adds plain numbers to the ciphertexts of an array, in the slots that the layout names.
    ///
    /// # Errors
    /// As [`Arithmetic::add`], and if a number cannot be encoded.
    fn add_plain(
        &self,
        server: &Server,
        layout: &Layout,
        ciphertexts: &[Cow<'_, Self::Ciphertext>],
        plain: Self::Plain<'_>,
    ) -> Result<Vec<Self::Ciphertext>, Error>;

    /// Multiplies the ciphertexts of an array by plain numbers in the slots that the layout names,
    /// and by 0 in all other slots.
    ///
    /// # Errors
    /// As [`Arithmetic::add_plain`].
    fn mul_plain(
        &self,
        server: &Server,
        layout: &Layout,
        ciphertexts: &[Cow<'_, Self::Ciphertext>],
        plain: Self::Plain<'_>,
    ) -> Result<Vec<Self::Ciphertext>, Error>;

    /// Computes `sum_i c_i x_i` over one ciphertext or more, as precisely as products with
    /// plaintexts.
    ///
    /// Returns `None` if only such products can compute it.
    ///
    /// # Errors
    /// As [`Arithmetic::add_plain`].
    fn combination(
        &self,
        server: &Server,
        terms: &[(&Self::Ciphertext, Self::Number)],
    ) -> Result<Option<Self::Ciphertext>, Error>;

    /// Brings a ciphertext of another key to the key of this server.
    ///
    /// # Errors
    /// If it is of a third key, or does not fit the parameter set of this server.
    fn transferred(
        &self,
        server: &Server,
        transfer: &Transfer,
        x: &Self::Ciphertext,
    ) -> Computed<Self>;
}

/// The diagonals of a linear map between two ciphertexts, by the number of their automorphism
/// ([`LinearMaps::diagonal`]).
///
/// A diagonal holds its numbers that are not 0, each with the slot that it leads to, in ascending
/// order of slots.
pub type Diagonals<F> = BTreeMap<usize, Vec<(u32, <F as PlainNumbers>::Number)>>;

/// The size of the numbers of a linear map, and how many of them are added up.
///
/// Only [`LinearMaps`] uses it. See [`Arithmetic`] for an example of these traits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    /// A bound on the sum of absolute values along any row.
    pub norm: f64,
    /// Maximum number of diagonals whose products are added up.
    pub diagonals: usize,
    /// A bound on the sum of squares along any row.
    pub energy: f64,
    /// How the results are used.
    pub after: ResultUse,
}

/// How the results of a linear map are used, which decides how the rounding errors of their slots
/// add up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ResultUse {
    /// In ways that are not known.
    Nothing,
    /// This many copies of each element are made, by adding rotated ciphertexts whose other slots
    /// are zero.
    Copies(usize),
    /// This many slots are added up.
    Sums(usize),
}

impl Extent {
    /// Returns the number of rounding errors that are added up in the end, and the factor by which
    /// the variance of the argument's error grows.
    pub(crate) fn added(&self) -> (usize, f64) {
        match self.after {
            ResultUse::Nothing => (1, self.energy),
            ResultUse::Copies(count) => (count, self.energy),
            ResultUse::Sums(count) => (count, self.energy * count as f64),
        }
    }
}

/// A computed ciphertext, or the reason why it could not be computed.
pub type Computed<F> = Result<<F as Elements>::Ciphertext, Error>;

/// An array, and a polynomial that is evaluated at it.
pub type Argument<'a, F> = (Cow<'a, Array<F>>, Cow<'a, <F as Polynomials>::Polynomial>);

/// A polynomial without its value at zero, and that value.
pub type Apart<F> = (<F as Polynomials>::Polynomial, <F as PlainNumbers>::Number);
