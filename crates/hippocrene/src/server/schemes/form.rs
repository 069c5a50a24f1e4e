//! What the two forms of arrays of numbers compute on single ciphertexts.

use std::{borrow::Cow, collections::BTreeMap};

use hippocrene_ckks::Transfer;

use crate::{
    Array, Elements, Error, Interval, Layout, Session,
    server::{Server, linear::map_cache::Maps},
};

/// The two forms of arrays of numbers: [`Numbers`](crate::Numbers), real or complex (CKKS), and
/// [`Residues`](crate::Residues), integers modulo a plaintext modulus (BGV and BFV). What is
/// computed with them is written once, for both; this is where they differ. There are no other
/// forms.
///
/// Operations are methods of the form that their result has.
pub trait Form: Elements {
    /// A plain number.
    type Number: Copy + Default + PartialEq + Send + Sync;
    /// Plain numbers, one for each element.
    type Plain<'v>: Copy + Send + Sync;
    /// A linear map from slots to slots, ready to be applied.
    type Map: Send + Sync;
    /// A polynomial.
    type Polynomial: Clone + Sync;
    /// The number 1.
    const ONE: Self::Number;

    /// The sum of two plain numbers.
    fn plus(&self, x: Self::Number, y: Self::Number) -> Self::Number;

    /// Slots of one ciphertext.
    fn slots(session: &Session) -> usize;

    /// Checks that a server can compute on arrays of this form.
    ///
    /// # Errors
    /// When it has not what that takes.
    fn check(&self, server: &Server, operation: &'static str) -> Result<(), Error>;

    /// The form of what is computed from arrays of this form and of `other`.
    fn join(&self, other: &Self) -> Self;

    /// The form of what is computed from arrays of this form by this server.
    fn computed_by(self, server: &Server) -> Self;

    /// Takes away what is known of errors where nothing is known of those of an operand of this
    /// form.
    fn know_no_more_than(&mut self, operand: &Self);

    /// The form of what is computed from an array of this form and plain numbers.
    fn with_plain(self, plain: Self::Plain<'_>) -> Self;

    /// Plain numbers from a slice of them.
    fn plain(numbers: &[Self::Number]) -> Self::Plain<'_>;

    /// The interval of the elements; every number if nothing is known.
    fn interval(array: &Array<Self>) -> Interval;

    /// The same array, whose elements lie in `interval` too.
    fn within(array: Array<Self>, interval: Interval) -> Array<Self>;

    /// The interval of plain numbers; every number if they are complex or not finite.
    fn plain_interval(&self, plain: Self::Plain<'_>) -> Interval;

    /// The interval that holds one plain number.
    fn number_interval(&self, number: Self::Number) -> Interval;

    /// The absolute value of a plain number, where arrays have a bound; 0 where they have none.
    fn magnitude(number: Self::Number) -> f64;

    /// The array, no slot of which holds more than `bound`, where arrays have one.
    fn tightened(array: Array<Self>, bound: f64) -> Array<Self>;

    /// The precision that what is computed is to have, in bits after the binary point, where it is
    /// not exact.
    fn precision(&self) -> Option<f64>;

    /// How many plain numbers there are.
    fn count(plain: Self::Plain<'_>) -> usize;

    /// `x + y`.
    ///
    /// # Errors
    /// When the ciphertexts do not fit, or the result is too large or has too much noise. So it is
    /// for all that follow.
    fn add(&self, server: &Server, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Computed<Self>;

    /// `x + y` of parts of one array: what the errors of its elements have in common adds up.
    ///
    /// # Errors
    /// As [`Form::add`].
    fn add_alike(
        &self,
        server: &Server,
        x: &Self::Ciphertext,
        y: &Self::Ciphertext,
    ) -> Computed<Self>;

    /// A ciphertext whose elements are copies of one: they have one error.
    fn of_one_element(&self, x: Self::Ciphertext) -> Self::Ciphertext;

    /// `sum`, of `x` and `y` or of one and the negative of the other, whose errors may be one and
    /// the same.
    fn of_dependent(
        &self,
        sum: Self::Ciphertext,
        x: &Self::Ciphertext,
        y: &Self::Ciphertext,
    ) -> Self::Ciphertext;

    /// A ciphertext with `count` copies of each element: sums over the copies add up equal errors.
    fn of_copies(&self, x: Self::Ciphertext, count: usize) -> Self::Ciphertext;

    /// The product of an encrypted matrix and an encrypted vector, each element a sum of `inner`
    /// products with the same elements of the vector. The error of these is in all elements of the
    /// product.
    fn of_vector(
        product: Array<Self>,
        matrix: &Array<Self>,
        vector: &Array<Self>,
        inner: usize,
    ) -> Array<Self>;

    /// The product of a matrix and an array `a`, along any axis, with what the errors of its
    /// elements have in common. The matrix has so many rows and columns, and these entries with
    /// their row and column.
    fn of_product(
        product: Array<Self>,
        a: &Array<Self>,
        size: [usize; 2],
        entries: impl IntoIterator<Item = (usize, usize, Self::Number)>,
    ) -> Array<Self>;

    /// `x - y`.
    ///
    /// # Errors
    /// As [`Form::add`].
    fn sub(&self, server: &Server, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Computed<Self>;

    /// `x + y` where no slot of both is other than 0.
    ///
    /// # Errors
    /// As [`Form::add`].
    fn overlay(
        &self,
        server: &Server,
        x: &Self::Ciphertext,
        y: &Self::Ciphertext,
    ) -> Computed<Self>;

    /// [`Form::overlay`] of what is not added up later where `y` has copies of elements of `x`:
    /// each has the noise that it has, not that of all copies.
    ///
    /// # Errors
    /// As [`Form::add`].
    fn beside(&self, server: &Server, x: &Self::Ciphertext, y: &Self::Ciphertext)
    -> Computed<Self>;

    /// `-x`.
    ///
    /// # Errors
    /// As [`Form::add`].
    fn negate(&self, server: &Server, x: &Self::Ciphertext) -> Computed<Self>;

    /// `x y`; a square where both are one and the same.
    ///
    /// # Errors
    /// As [`Form::add`], and when the relinearisation key is missing.
    fn mul(&self, server: &Server, x: &Self::Ciphertext, y: &Self::Ciphertext) -> Computed<Self>;

    /// Two factors, brought to where their product costs least.
    ///
    /// # Errors
    /// As [`Form::add`].
    fn as_factors<'a>(
        &self,
        server: &Server,
        x: &'a Self::Ciphertext,
        y: &'a Self::Ciphertext,
    ) -> Result<[Cow<'a, Self::Ciphertext>; 2], Error>;

    /// `sum_i x_i y_i` over one pair or more, relinearised once; `None` where products have to be
    /// relinearised one by one.
    fn sum_of_products(
        &self,
        server: &Server,
        pairs: &[(&Self::Ciphertext, &Self::Ciphertext)],
    ) -> Option<Computed<Self>>;

    /// A sum of `all` summands of one bound, `some` of which at most are other than 0.
    fn with_summands(&self, x: Self::Ciphertext, some: usize, all: usize) -> Self::Ciphertext;

    /// `x + c` in every slot.
    ///
    /// # Errors
    /// As [`Form::add`].
    fn add_number(&self, server: &Server, x: &Self::Ciphertext, c: Self::Number) -> Computed<Self>;

    /// Whether elements times this number take less than times any other: it is exact.
    fn is_exact(c: Self::Number) -> bool;

    /// `c x`.
    ///
    /// # Errors
    /// As [`Form::add`].
    fn mul_number(&self, server: &Server, x: &Self::Ciphertext, c: Self::Number) -> Computed<Self>;

    /// The ciphertexts of an array, with plain numbers added where their layout puts them.
    ///
    /// # Errors
    /// As [`Form::add`], and when a number cannot be encoded.
    fn add_plain(
        &self,
        server: &Server,
        layout: &Layout,
        ciphertexts: &[Cow<'_, Self::Ciphertext>],
        plain: Self::Plain<'_>,
    ) -> Result<Vec<Self::Ciphertext>, Error>;

    /// The ciphertexts of an array, multiplied by plain numbers where their layout puts them, and
    /// by 0 elsewhere.
    ///
    /// # Errors
    /// As [`Form::add_plain`].
    fn mul_plain(
        &self,
        server: &Server,
        layout: &Layout,
        ciphertexts: &[Cow<'_, Self::Ciphertext>],
        plain: Self::Plain<'_>,
    ) -> Result<Vec<Self::Ciphertext>, Error>;

    /// `sum_i c_i x_i` over one ciphertext or more, as precise as products with plaintexts are;
    /// `None` where there is no way but these.
    ///
    /// # Errors
    /// As [`Form::add_plain`].
    fn combination(
        &self,
        server: &Server,
        terms: &[(&Self::Ciphertext, Self::Number)],
    ) -> Result<Option<Self::Ciphertext>, Error>;

    /// Whether a rotation of all slots by `left` is one of ciphertexts.
    fn rotates(slots: usize, left: usize) -> bool;

    /// How many slots turn round together: all, or where rotations are of rows ([`Form::rotates`])
    /// half of them.
    fn row(slots: usize) -> usize {
        if Self::rotates(slots, 1) { slots } else { slots / 2 }
    }

    /// All slots rotated by `left`, negative: to the right. Where [`Form::rotates`] does not hold,
    /// the rows of half of the slots rotate each by itself.
    ///
    /// # Errors
    /// As [`Form::add`], and when a rotation key is missing.
    fn rotate(&self, server: &Server, x: &Self::Ciphertext, left: i64) -> Computed<Self>;

    /// All slots, or where [`Form::rotates`] does not hold the rows of half of them, rotated by
    /// each of `left`, fewer than there are in a row: several rotations of one ciphertext cost less
    /// than one by one.
    ///
    /// # Errors
    /// As [`Form::rotate`].
    fn rotate_many(
        &self,
        server: &Server,
        x: &Self::Ciphertext,
        left: &[i64],
    ) -> Result<Vec<Self::Ciphertext>, Error>;

    /// How many key switches [`Form::rotate`] takes; `None` when keys are missing.
    fn rotation_count(server: &Server, x: &Self::Ciphertext, left: i64) -> Option<usize>;

    /// To every slot that stands at a multiple of `stride` (a power of two) times the least power
    /// of two from `count` on: the sum of the `count` slots from there on whose distance is
    /// `stride`, in `log2(count)` rotations and one more for each bit of `count` but the first. The
    /// other slots hold such sums too, of slots that come again at the end of a ciphertext (or a
    /// row of slots).
    ///
    /// # Errors
    /// As [`Form::rotate`].
    fn inner_sum(
        &self,
        server: &Server,
        x: &Self::Ciphertext,
        stride: usize,
        count: usize,
    ) -> Computed<Self>;

    /// The number of the automorphism that brings slot `from` to slot `to`.
    fn diagonal(slots: usize, to: usize, from: usize) -> usize;

    /// The linear map whose slot `to` is the sum of slots `from`, each multiplied by the number
    /// that the diagonal that leads from there has for `to`.
    ///
    /// Where nothing is to be `kept`, each limb of a diagonal is encoded where it is used.
    ///
    /// # Errors
    /// When a number cannot be encoded.
    fn map(server: &Server, diagonals: &Diagonals<Self>, kept: bool) -> Result<Self::Map, Error>;

    /// The maps that the server keeps.
    fn maps(server: &Server) -> &Maps<Self::Map>;

    /// Bytes of what of a map is encoded.
    fn map_bytes(map: &Self::Map) -> usize;

    /// A number, to the last bit.
    fn bytes(number: Self::Number) -> [u8; 8];

    /// A ciphertext that a linear map of this extent is applied to, brought to where that costs
    /// least.
    ///
    /// # Errors
    /// As [`Form::add`].
    fn lowered<'a>(
        &self,
        server: &Server,
        x: &'a Self::Ciphertext,
        extent: Extent,
    ) -> Result<Cow<'a, Self::Ciphertext>, Error>;

    /// A linear map, which is a part of one of this extent, applied to each of these ciphertexts:
    /// diagonals that are not kept are encoded once for many of them.
    ///
    /// # Errors
    /// As [`Form::rotate`].
    fn apply_each(
        &self,
        server: &Server,
        operands: &[&Self::Ciphertext],
        map: &Self::Map,
        extent: Extent,
    ) -> Result<Vec<Self::Ciphertext>, Error>;

    /// About how much capacity a product takes, in bits; 0 where that is not counted.
    fn product_bits(&self, server: &Server) -> f64;

    /// The capacity of an array, in bits; infinite where that is not counted.
    fn capacity_bits(session: &Session, a: &Array<Self>) -> f64;

    /// log2 of the bound of the elements, which takes as many bits of their capacity; 0 where there
    /// is none.
    fn log2_bound(a: &Array<Self>) -> f64;

    /// Whether the array can be multiplied by plain numbers so many times, one after the other, by
    /// estimate.
    fn has_products(&self, server: &Server, a: &Array<Self>, count: usize) -> bool;

    /// Checks that an array can be bootstrapped.
    ///
    /// # Errors
    /// When the server has no keys for it, or the array is not as they want it.
    fn check_bootstrap(server: &Server, a: &Array<Self>) -> Result<(), Error>;

    /// Whether the bound of an array is too large for the server's bootstraps, if it has such.
    fn is_too_large(server: &Server, a: &Array<Self>) -> bool;

    /// The array bootstrapped, once for all operations that need it.
    ///
    /// # Errors
    /// As [`Server::bootstrap`].
    fn bootstrapped(server: &Server, a: &Array<Self>) -> Result<Array<Self>, Error>;

    /// `x^n`, slot by slot, for `n >= 1`: `ceil(log2 n)` multiplications deep.
    ///
    /// # Errors
    /// As [`Form::mul`].
    fn power(&self, server: &Server, x: &Self::Ciphertext, n: u32) -> Computed<Self>;

    /// `p(x)`, slot by slot.
    ///
    /// # Errors
    /// As [`Form::mul`], and when the polynomial is not one for such ciphertexts.
    fn polynomial(
        &self,
        server: &Server,
        x: &Self::Ciphertext,
        p: &Self::Polynomial,
    ) -> Computed<Self>;

    /// What an array and a polynomial are brought to so that the polynomial is no larger where no
    /// element stands than it is at elements, and is computed in a unit in which it loses little.
    ///
    /// # Errors
    /// When no multiplication is left where one is needed.
    fn within_domain<'a>(
        server: &Server,
        a: &'a Array<Self>,
        p: &'a Self::Polynomial,
    ) -> Result<Argument<'a, Self>, Error>;

    /// How many multiplications deep a polynomial is.
    fn polynomial_depth(p: &Self::Polynomial) -> usize;

    /// A polynomial that takes more capacity than a bootstrap gives, in parts that are bootstrapped
    /// in between; nothing where there are no such.
    ///
    /// # Errors
    /// As [`Server::polynomial`].
    fn polynomial_in_parts(
        server: &Server,
        a: &Array<Self>,
        p: &Self::Polynomial,
    ) -> Result<Option<Array<Self>>, Error>;

    /// `p - p(0)` and `p(0)`, unless that is 0.
    ///
    /// # Errors
    /// When numbers grow too large.
    fn apart_from_constant(p: &Self::Polynomial) -> Result<Option<Apart<Self>>, Error>;

    /// An interval that holds all values of a polynomial on `interval`.
    fn range(p: &Self::Polynomial, interval: Interval) -> Interval;

    /// The values of a polynomial, with the bound that it says of those of `a`.
    fn bounded_by(values: Array<Self>, p: &Self::Polynomial, a: &Array<Self>) -> Array<Self>;

    /// A ciphertext of another key brought to this server's.
    ///
    /// # Errors
    /// When it is of a third key, or does not fit the parameter set of this server.
    fn transferred(
        &self,
        server: &Server,
        transfer: &Transfer,
        x: &Self::Ciphertext,
    ) -> Computed<Self>;
}

/// The diagonals of a linear map between two ciphertexts: by the number of the automorphism
/// ([`Form::diagonal`]), the numbers that are not 0, with the slots that they lead to, in ascending
/// order.
pub type Diagonals<F> = BTreeMap<usize, Vec<(u32, <F as Form>::Number)>>;

/// How large the numbers of a linear map are, and how many of them are added up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    /// A bound of the sums of absolute values along rows.
    pub norm: f64,
    /// The most diagonals whose products are added up.
    pub diagonals: usize,
    /// A bound of the sums of squares along rows.
    pub energy: f64,
    /// What is done to the results.
    pub after: After,
}

/// What is done to the results of a linear map, in each slot of which there is its rounding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum After {
    /// Nothing that is known.
    Nothing,
    /// Elements are added to so many slots that are zero, as copies are.
    Copies(usize),
    /// So many slots are added up.
    Sums(usize),
}

impl Extent {
    /// How many roundings are added up in the end, and by how much the variance of an argument's
    /// error counts there.
    pub(crate) fn added(&self) -> (usize, f64) {
        match self.after {
            After::Nothing => (1, self.energy),
            After::Copies(count) => (count, self.energy),
            After::Sums(count) => (count, self.energy * count as f64),
        }
    }
}

/// A ciphertext that was computed, or why it could not be.
pub type Computed<F> = Result<<F as Elements>::Ciphertext, Error>;

/// An array and a polynomial that is evaluated at it.
pub type Argument<'a, F> = (Cow<'a, Array<F>>, Cow<'a, <F as Form>::Polynomial>);

/// A polynomial without its value at zero, and that value.
pub type Apart<F> = (<F as Form>::Polynomial, <F as Form>::Number);
