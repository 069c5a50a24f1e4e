//! Operations on one limb, a vector of residues modulo one odd `q < 2^61`.
//!
//! Inputs and outputs are canonical, in `[0, q)`, unless an operation states otherwise. All slices
//! of a call have the same length, a multiple of 8. Operations panic otherwise. **Lazily reduced**
//! inputs are the outputs of [`crate::ntt::NttPlan::forward_lazy`]. They are below `16q`, and below
//! `2^52` (IFMA, AVX2) or `2^63` (other kernels).
//!
//! Products are computed position by position. In the evaluation domain, they are products of
//! polynomials.
//!
//! Each operation is written once, in [`ops`], in terms of the small trait [`lanes::Lanes`], which
//! each arithmetic implements:
//!
//!
//! | kernel | `q` | arithmetic | multiplications in a product, per 8 residues |
//! |---|---|---|---|
//! | portable | below `2^61` | [`portable`]: 64 x 64 bits | 24 |
//! | AVX2 | `2^13` to `2^50` | [`avx2`]: doubles with fused multiply-add | 12 |
//! | AVX-512 | below `2^61` | [`word61`]: 32 x 32 bits | 8 |
//! | AVX-512 IFMA | `2^13` to `2^50` | [`ifma`]: 52 x 52 bits | 4 |
//!
//! The documentation of each operation states its **cost**: the number of vector instructions per 8
//! residues, without loads and stores. A cost of "6 / 19" is 6 with IFMA below `2^50`, and 19 for
//! moduli of up to 61 bits.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod entry;
#[cfg(target_arch = "x86_64")]
mod ifma;
mod key;
mod lanes;
mod operations;
mod ops;
mod portable;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod word61;

use crate::{
    Kernel,
    arith::{inv64, pow_mod},
    monomial::Monomial,
};
#[cfg(target_arch = "x86_64")]
use {avx2::F64, ifma::Ifma, word61::Word61};

pub(crate) use key::digit_bytes;
use lanes::{KeyWord, Lanes};
use portable::Portable;

pub(crate) use operations::operations;

pub use key::{DigitWriter, KeyLimb, KeyRing};
pub use scalar::Scalar;

/// The operations modulo one `q`, with their constants.
///
/// ```
/// use hippocrene_ring::{Kernel, elementwise::Elementwise};
///
/// let arithmetic = Elementwise::new(97, Kernel::detect()?);
/// let (mut a, b) = ([90; 8], [50; 8]);
/// arithmetic.mul_assign(&mut a, &b);
/// assert_eq!(a, [90 * 50 % 97; 8]);
/// arithmetic.mul_scalar_assign(&mut a, &arithmetic.scalar(2));
/// assert_eq!(a, [90 * 50 * 2 % 97; 8]);
/// # Ok::<(), hippocrene_ring::RingError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Elementwise {
    pub(crate) q: u64,
    /// `q^-1 mod 2^64`.
    q_inverse: u64,
    /// The Montgomery factor of key residues.
    key_factor: Scalar,
    arithmetic: Arithmetic,
}

/// The summands that [`Elementwise::inner_product_plus`] adds to an inner product, without a
/// further pass over memory.
///
/// ```
/// use hippocrene_ring::elementwise::{ExtraSummands, Elementwise, KeyLimb};
/// use hippocrene_ring::Kernel;
///
/// let arithmetic = Elementwise::new(97, Kernel::detect()?);
/// let (x, b, a) = ([2; 16], [3; 16], [5; 16]);
/// let key = KeyLimb::of_pairs(&arithmetic, &[(&b, &a)]);
/// let (y, seven) = ([10; 16], arithmetic.scalar(7));
/// let beside = ExtraSummands { added: [Some((&y, &seven)), None], ..ExtraSummands::default() };
/// let (mut sum0, mut sum1) = ([0; 16], [0; 16]);
/// arithmetic.inner_product_plus(&mut sum0, &mut sum1, &[(0, &x)], &key, &beside);
/// assert_eq!((sum0[0], sum1[0]), ((2 * 3 + 7 * 10) % 97, 2 * 5));
/// # Ok::<(), hippocrene_ring::RingError>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct ExtraSummands<'a> {
    /// A digit of the key, its lazily reduced multiplier `x`, and a constant that `x` is multiplied
    /// by first.
    pub scaled: Option<(usize, &'a [u64], &'a Scalar)>,
    /// The lazily reduced limb that is added to each of the two sums, and its constant factor.
    pub added: [Option<(&'a [u64], &'a Scalar)>; 2],
}

/// A term of [`Elementwise::sum_products`]: the common factor, and the pair that it multiplies.
///
/// ```
/// use hippocrene_ring::{Kernel, elementwise::Elementwise};
///
/// let arithmetic = Elementwise::new(97, Kernel::detect()?);
/// let (x, y0, y1) = ([2; 8], [3; 8], [5; 8]);
/// let (mut sum0, mut sum1) = ([0; 8], [0; 8]);
/// arithmetic.sum_products(&mut sum0, &mut sum1, &[(&x, [&y0, &y1]), (&x, [&y1, &y1])]);
/// assert_eq!((sum0[0], sum1[0]), (2 * 3 + 2 * 5, 2 * 5 + 2 * 5));
/// # Ok::<(), hippocrene_ring::RingError>(())
/// ```
pub type PairTerm<'a> = (&'a [u64], [&'a [u64]; 2]);

/// A term of [`Elementwise::inner_product_times_monomials`]: digits of a key with their
/// multipliers, and the monomial.
///
/// See [`crate::monomial::Monomials`] for an example.
pub type MonomialTerm<'a> = (&'a [(usize, &'a [u64])], Monomial<'a>);

/// A variant with vectors exists only after the CPU has been found to support its instructions.
#[derive(Debug, Clone)]
enum Arithmetic {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Avx2(F64),
    #[cfg(target_arch = "x86_64")]
    Avx512(Word61<false>),
    #[cfg(target_arch = "x86_64")]
    IfmaBelow61(Word61<true>),
    #[cfg(target_arch = "x86_64")]
    IfmaBelow50(Ifma<false>),
    #[cfg(target_arch = "x86_64")]
    IfmaBelow48(Ifma<true>),
}

/// Evaluates an expression for the arithmetic in use.
macro_rules! with_lanes {
    ($arithmetic:expr, $l:ident => $value:expr) => {
        match $arithmetic {
            Arithmetic::Portable($l) => $value,
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Avx2($l) => $value,
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Avx512($l) => $value,
            #[cfg(target_arch = "x86_64")]
            Arithmetic::IfmaBelow61($l) => $value,
            #[cfg(target_arch = "x86_64")]
            Arithmetic::IfmaBelow50($l) => $value,
            #[cfg(target_arch = "x86_64")]
            Arithmetic::IfmaBelow48($l) => $value,
        }
    };
}

impl Arithmetic {
    fn new(q: u64, kernel: Kernel) -> Self {
        match kernel {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 | Kernel::Avx512 if F64::supports(q) => Arithmetic::Avx2(F64::new(q)),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512Ifma if Ifma::<true>::supports(q) => {
                Arithmetic::IfmaBelow48(Ifma::new(q))
            }
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512Ifma if Ifma::<false>::supports(q) => {
                Arithmetic::IfmaBelow50(Ifma::new(q))
            }
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512Ifma if q >= 1 << 50 => Arithmetic::IfmaBelow61(Word61::new(q)),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512Ifma | Kernel::Avx512 => Arithmetic::Avx512(Word61::new(q)),
            _ => Arithmetic::Portable(Portable::new(q)),
        }
    }

    /// Returns the storage form of key residues.
    fn key_word(&self) -> KeyWord {
        fn of<L: Lanes>(_: &L) -> KeyWord {
            L::KEY_WORD
        }
        with_lanes!(self, l => of(l))
    }
}

/// Calls an operation of [`ops`] on the arithmetic in use.
macro_rules! run {
    ($elementwise:expr, $operation:ident($($argument:expr),*)) => {
        match &$elementwise.arithmetic {
            Arithmetic::Portable(l) => ops::$operation(*l, $($argument),*),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the variant exists only where the CPU has AVX2 and FMA.
            Arithmetic::Avx2(l) => unsafe { entry::avx2::$operation(l, $($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the variant exists only where the CPU has AVX-512 F, DQ, VL and BW.
            Arithmetic::Avx512(l) => unsafe { entry::avx512::$operation(l, $($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the variant exists only where the CPU has those, IFMA and VBMI.
            Arithmetic::IfmaBelow61(l) => unsafe {
                entry::avx512ifma::$operation(l, $($argument),*)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the same as above.
            Arithmetic::IfmaBelow50(l) => unsafe {
                entry::avx512ifma::$operation(l, $($argument),*)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the same as above.
            Arithmetic::IfmaBelow48(l) => unsafe {
                entry::avx512ifma::$operation(l, $($argument),*)
            },
        }
    };
}

/// Defines the methods of [`mod@operations`]. Each calls the operation of the same name.
macro_rules! methods {
    ($($group:ident {
        $($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*);)*
    })*) => {
        $($(
            $(#[$doc])*
            #[allow(clippy::too_many_arguments)]
            pub fn $name(&self, $($argument: $type),*) {
                run!(self, $name($($argument),*));
            }
        )*)*
    };
}

impl Elementwise {
    /// Makes the operations modulo an odd `q` in `[3, 2^61)`.
    ///
    /// The portable kernel replaces one that this CPU cannot run.
    ///
    /// # Panics
    /// If `q` is even or out of range.
    pub fn new(q: u64, kernel: Kernel) -> Self {
        assert!(
            q % 2 == 1 && (3..1 << 61).contains(&q),
            "{q} is not an odd modulus from 3 to 2^61 - 1"
        );
        let kernel = if kernel.is_supported() { kernel } else { Kernel::Portable };
        let (q_inverse, arithmetic) = (inv64(q), Arithmetic::new(q, kernel));
        let factor = pow_mod(2, u64::from(arithmetic.key_word().montgomery_log2), q);
        Elementwise { q, q_inverse, key_factor: Scalar::new(factor, q, q_inverse), arithmetic }
    }

    /// Returns the modulus.
    pub fn modulus(&self) -> u64 {
        self.q
    }

    /// Returns the exclusive bound of lazily reduced inputs, as a multiple of `q`.
    ///
    /// It is 16, or `floor(2^52 / q)` (IFMA, AVX2) or `floor(2^63 / q)` (other kernels) if that is
    /// less.
    pub fn lazy_multiple(&self) -> u64 {
        with_lanes!(&self.arithmetic, l => l.lazy_multiple())
    }

    /// Prepares the constant `c`, reduced modulo `q`. The result works with every kernel.
    pub fn scalar(&self, c: u64) -> Scalar {
        Scalar::new(c % self.q, self.q, self.q_inverse)
    }

    operations!(methods!());

    /// Computes [`Elementwise::inner_product`] plus a multiple of a digit and multiples of other
    /// limbs.
    ///
    /// The cost beyond that of the inner product is 11 / 51 with IFMA and 78 without for the scaled
    /// digit, and 2 / 9 with IFMA and 13 without for each added limb.
    ///
    /// # Panics
    /// The same as `inner_product`.
    pub fn inner_product_plus(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        digits: &[(usize, &[u64])],
        key: &KeyLimb,
        beside: &ExtraSummands<'_>,
    ) {
        run!(self, inner_product_plus(acc0, acc1, digits, key, beside, &self.key_factor));
    }

    /// Computes `acc0 = sum_j (X^e_j - 1) sum x b_d`, and `acc1` in the same way with `a_d`.
    ///
    /// There are up to three pairs of digits and a monomial `X^e_j`. The inner sums are over the
    /// pairs `(d, x)` of the digits, as in [`Elementwise::inner_product`]. The key is read once,
    /// and only the sums are written.
    ///
    /// The cost beyond that of the inner products is 14 / 60 for each pair, for the values of the
    /// monomial and the products with them, and one more reduction.
    ///
    /// # Panics
    /// The same as `inner_product`. Also if there is no pair or more than three, or a monomial has
    /// another ring degree.
    pub fn inner_product_times_monomials(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        turned: &[MonomialTerm<'_>],
        key: &KeyLimb,
    ) {
        run!(self, inner_product_times_monomials(acc0, acc1, turned, key, &self.key_factor));
    }

    /// Sets `acc0 = sum x y0` and `acc1 = sum x y1` over the terms `(x, [y0, y1])`.
    ///
    /// As many terms share one reduction as in [`Elementwise::inner_product`]. The cost per term is
    /// 4 / 17 with IFMA and 26 without. The cost of all reductions together, with `t` terms, is
    /// `18 + 4 log2(t + 1)` / 60 with IFMA and 100 without.
    ///
    /// # Panics
    /// If lengths differ.
    pub fn sum_products(&self, acc0: &mut [u64], acc1: &mut [u64], terms: &[PairTerm<'_>]) {
        run!(self, sum_products(acc0, acc1, terms, &self.key_factor));
    }

    /// Computes [`Elementwise::sum_products`] for `x` whose values repeat.
    ///
    /// In every 64 positions, all groups of 8 values are equal. `x` holds only the first group, so
    /// it has an eighth of the length and of the memory. Limbs of polynomials in `X^8` have this
    /// form in the evaluation domain ([`crate::ntt`]).
    ///
    /// # Panics
    /// If lengths differ, or are not multiples of 64.
    pub fn sum_repeated_products(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        terms: &[PairTerm<'_>],
    ) {
        run!(self, sum_repeated_products(acc0, acc1, terms, &self.key_factor));
    }

    /// Returns the Montgomery factor of key residues, modulo `q`.
    pub(crate) fn key_factor(&self) -> u64 {
        self.key_factor.value
    }

    /// Returns the bytes of each digit of a [`KeyLimb`] with residues modulo `q` in the form of
    /// this kernel, for polynomials of `length` coefficients.
    pub fn key_bytes(&self, length: usize) -> usize {
        digit_bytes(length, self.arithmetic.key_word().bytes)
    }
}

impl KeyRing for Elementwise {
    fn key_shape(&self, digits: usize, length: usize) -> KeyLimb {
        fn of<L: Lanes>(_: &L, digits: usize, length: usize) -> KeyLimb {
            KeyLimb::shape::<L>(digits, length)
        }
        with_lanes!(&self.arithmetic, l => of(l, digits, length))
    }

    fn write_key_digit(&self, out: &mut [u8], [digits, d]: [usize; 2], b: &[u64], a: &[u64]) {
        let size = out.len() / digits;
        run!(self, pack_key(&mut out[d * size..(d + 1) * size], b, a, &self.key_factor));
    }

    fn coalesce_into(&self, out: &mut [u8], key: &KeyLimb, groups: &[&[usize]]) {
        run!(self, coalesce_key(out, key, groups));
    }
}
