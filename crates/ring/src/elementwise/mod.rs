//! Operations on one limb: vectors of residues modulo one `q < 2^61`, odd or a power of two.
//!
//! Inputs and outputs are canonical, in `[0, q)`, unless an operation says otherwise. Slices of one
//! call have one length, a multiple of 8; an operation panics when they have not. **Lazily
//! reduced** inputs are those that [`crate::ntt::NttPlan::forward_lazy`] leaves: below `16q`, and
//! below `2^52` (IFMA, AVX2) or `2^63` (else).
//!
//! For odd `q`, products are taken position by position: of limbs in the evaluation domain, they
//! are products of polynomials. For powers of two, whose limbs hold coefficients in both domains,
//! they are products of polynomials themselves, of whole limbs.
//!
//! For odd `q`, each operation is written once, in [`ops`], over the few things that an arithmetic
//! offers, [`lanes::Lanes`]:
//!
//! | kernel | `q` | arithmetic | a product, per 8 residues |
//! |---|---|---|---|
//! | portable | below `2^61` | [`portable`]: 64 x 64 bits | 24 multiplications |
//! | AVX2 | `2^13` to `2^50` | [`avx2`]: doubles with fused multiply-add | 12 |
//! | AVX-512 | below `2^61` | [`word61`]: 32 x 32 bits | 8 |
//! | AVX-512 IFMA | `2^13` to `2^50` | [`ifma`]: 52 x 52 bits | 4 |
//!
//! What an operation costs stands with it, in vector instructions per 8 residues beyond loads and
//! stores, as IFMA / 61 bits. Modulo powers of two, linear operations cost 2 to 4, and products the
//! transforms that [`crate::power_of_two`] tells of.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod entry;
#[cfg(target_arch = "x86_64")]
mod ifma;
mod key;
mod lanes;
mod ops;
mod portable;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod word61;

use std::mem::MaybeUninit;

use crate::{
    Kernel,
    arith::{inv64, pow_mod},
    monomial::Monomial,
    power_of_two::PowerOfTwo,
    threads::Threads,
};
#[cfg(target_arch = "x86_64")]
use {avx2::F64, ifma::Ifma, word61::Word61};

use lanes::Lanes;
use portable::Portable;

pub use key::{KeyLimb, PutDigit};
pub use scalar::Scalar;

/// The operations modulo one `q`, with the constants they need.
#[derive(Debug, Clone)]
pub struct Elementwise {
    q: u64,
    /// `q^-1 mod 2^64`, of odd `q`.
    q_inverse: u64,
    /// The Montgomery factor of key residues; 1 of powers of two.
    key_factor: Scalar,
    arithmetic: Arithmetic,
}

/// What [`Elementwise::inner_product_beside`] adds to an inner product: each takes no pass of its
/// own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    /// A digit of the key, the `x` that it is multiplied by, lazily reduced, and by what `x` is
    /// multiplied first.
    pub scaled: Option<(usize, &'a [u64], &'a Scalar)>,
    /// For each of both sums what is added, lazily reduced, and by what it is multiplied.
    pub added: [Option<(&'a [u64], &'a Scalar)>; 2],
}

/// A term of [`Elementwise::sum_products`]: what both of a pair are multiplied by, and the pair.
pub type PairTerm<'a> = (&'a [u64], [&'a [u64]; 2]);

/// A term of [`Elementwise::inner_product_turned`]: digits of a key and what they are multiplied
/// by, and the monomial.
pub type Turned<'a> = (&'a [(usize, &'a [u64])], Monomial<'a>);

/// Variants with vectors exist only where the CPU has been found to have their instructions.
#[derive(Debug, Clone)]
enum Arithmetic {
    PowerOfTwo(PowerOfTwo),
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

    /// The `log2` of the Montgomery factor of key residues.
    fn montgomery_log2(&self) -> u32 {
        fn of<L: Lanes>(_: &L) -> u32 {
            L::KEY_WORD.montgomery_log2
        }
        match self {
            Arithmetic::PowerOfTwo(_) => 0,
            Arithmetic::Portable(l) => of(l),
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Avx2(l) => of(l),
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Avx512(l) => of(l),
            #[cfg(target_arch = "x86_64")]
            Arithmetic::IfmaBelow61(l) => of(l),
            #[cfg(target_arch = "x86_64")]
            Arithmetic::IfmaBelow50(l) => of(l),
            #[cfg(target_arch = "x86_64")]
            Arithmetic::IfmaBelow48(l) => of(l),
        }
    }
}

/// Calls an operation of [`ops`] on the arithmetic at hand. Of powers of two, `words` have the
/// linear ones, `products` the others.
macro_rules! run {
    ($elementwise:expr, $part:ident, $operation:ident($($argument:expr),*)) => {
        match &$elementwise.arithmetic {
            Arithmetic::PowerOfTwo(l) => l.$part.$operation($($argument),*),
            Arithmetic::Portable(l) => ops::$operation(*l, $($argument),*),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the variant exists only where the CPU has AVX2 and FMA.
            Arithmetic::Avx2(l) => unsafe { entry::avx2::$operation(l, $($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the variant exists only where the CPU has AVX-512 F, DQ, VL and BW.
            Arithmetic::Avx512(l) => unsafe { entry::avx512::$operation(l, $($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the variant exists only where the CPU has those, IFMA and VBMI.
            Arithmetic::IfmaBelow61(l) => unsafe { entry::avx512ifma::$operation(l, $($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Arithmetic::IfmaBelow50(l) => unsafe { entry::avx512ifma::$operation(l, $($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Arithmetic::IfmaBelow48(l) => unsafe { entry::avx512ifma::$operation(l, $($argument),*) },
        }
    };
}

impl Elementwise {
    /// For any odd `q` in `[3, 2^61)`. A kernel that this CPU cannot run gives way to the portable
    /// one.
    ///
    /// # Panics
    /// For any other `q`.
    pub fn new(q: u64, kernel: Kernel) -> Self {
        assert!(
            q % 2 == 1 && (3..1 << 61).contains(&q),
            "{q} is no odd modulus from 3 to 2^61 - 1"
        );
        let kernel = if kernel.is_supported() { kernel } else { Kernel::Portable };
        let (q_inverse, arithmetic) = (inv64(q), Arithmetic::new(q, kernel));
        let factor = pow_mod(2, u64::from(arithmetic.montgomery_log2()), q);
        Elementwise { q, q_inverse, key_factor: Scalar::new(factor, q, q_inverse), arithmetic }
    }

    /// For a power of two.
    pub(crate) fn power_of_two(arithmetic: PowerOfTwo) -> Self {
        let q = 1 << arithmetic.words.exponent();
        Elementwise {
            q,
            q_inverse: 0,
            key_factor: Scalar::new(1 % q, q, 0),
            arithmetic: Arithmetic::PowerOfTwo(arithmetic),
        }
    }

    /// The modulus.
    pub fn modulus(&self) -> u64 {
        self.q
    }

    /// The multiple of `q` below which lazily reduced inputs may lie: 16, or `floor(2^52 / q)`
    /// (IFMA, AVX2) or `floor(2^63 / q)` (else) where that is less.
    pub fn lazy_multiple(&self) -> u64 {
        match &self.arithmetic {
            Arithmetic::PowerOfTwo(_) => ((1 << 63) / self.q).min(16),
            Arithmetic::Portable(l) => l.lazy_multiple(),
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Avx2(l) => l.lazy_multiple(),
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Avx512(l) => l.lazy_multiple(),
            #[cfg(target_arch = "x86_64")]
            Arithmetic::IfmaBelow61(l) => l.lazy_multiple(),
            #[cfg(target_arch = "x86_64")]
            Arithmetic::IfmaBelow50(l) => l.lazy_multiple(),
            #[cfg(target_arch = "x86_64")]
            Arithmetic::IfmaBelow48(l) => l.lazy_multiple(),
        }
    }

    /// Prepares the constant `c` (reduced modulo `q` first). It serves every kernel.
    pub fn scalar(&self, c: u64) -> Scalar {
        Scalar::new(c % self.q, self.q, self.q_inverse)
    }

    /// `a = a + b`. 3 / 3.
    pub fn add_assign(&self, a: &mut [u64], b: &[u64]) {
        run!(self, words, add_assign(a, b));
    }

    /// `a = a + b`, of numbers in `[0, 2q)` and to one. 3 / 3.
    pub fn add_lazy_assign(&self, a: &mut [u64], b: &[u64]) {
        run!(self, words, add_lazy_assign(a, b));
    }

    /// `a = a - b`. 3 / 3.
    pub fn sub_assign(&self, a: &mut [u64], b: &[u64]) {
        run!(self, words, sub_assign(a, b));
    }

    /// `a = b - a`. 3 / 3.
    pub fn sub_from_assign(&self, a: &mut [u64], b: &[u64]) {
        run!(self, words, sub_from_assign(a, b));
    }

    /// `a = -a`. 3 / 3.
    pub fn neg_assign(&self, a: &mut [u64]) {
        run!(self, words, neg_assign(a));
    }

    /// `out = a + b`. 3 / 3.
    pub fn add(&self, out: &mut [u64], a: &[u64], b: &[u64]) {
        run!(self, words, add(out, a, b));
    }

    /// `out = a - b`. 3 / 3.
    pub fn sub(&self, out: &mut [u64], a: &[u64], b: &[u64]) {
        run!(self, words, sub(out, a, b));
    }

    /// `out = a b`. 10 (12 from `2^48` on) / 34.
    pub fn mul(&self, out: &mut [u64], a: &[u64], b: &[u64]) {
        run!(self, products, mul(out, a, b));
    }

    /// `a = a b`. As [`Elementwise::mul`].
    pub fn mul_assign(&self, a: &mut [u64], b: &[u64]) {
        run!(self, products, mul_assign(a, b));
    }

    /// `acc = acc + a b`. 12 / 35.
    pub fn mul_add_assign(&self, acc: &mut [u64], a: &[u64], b: &[u64]) {
        run!(self, products, mul_add_assign(acc, a, b));
    }

    /// `a = a s`, for `a` canonical or lazily reduced. 6 / 19.
    pub fn mul_scalar_assign(&self, a: &mut [u64], s: &Scalar) {
        run!(self, words, mul_scalar_assign(a, s));
    }

    /// `out = a s`, for `a` canonical or lazily reduced. 6 / 19.
    pub fn mul_scalar(&self, out: &mut [u64], a: &[u64], s: &Scalar) {
        run!(self, words, mul_scalar(out, a, s));
    }

    /// `acc = acc + a s`, for `a` canonical or lazily reduced. 9 / 22.
    pub fn mul_scalar_add_assign(&self, acc: &mut [u64], a: &[u64], s: &Scalar) {
        run!(self, words, mul_scalar_add_assign(acc, a, s));
    }

    /// `out = a + b s`, for `b` canonical or lazily reduced. 9 / 22.
    pub fn add_mul_scalar(&self, out: &mut [u64], a: &[u64], b: &[u64], s: &Scalar) {
        run!(self, words, add_mul_scalar(out, a, b, s));
    }

    /// `out = (a - b) s` for `a` in `[0, 2q)` and `b` lazily reduced. 10 / 21.
    pub fn sub_mul_scalar(&self, out: &mut [u64], a: &[u64], b: &[u64], s: &Scalar) {
        run!(self, words, sub_mul_scalar(out, a, b, s));
    }

    /// `a = (b - a) s` for `a` lazily reduced and `b` in `[0, 2q)`. 10 / 21.
    pub fn sub_from_mul_scalar_assign(&self, a: &mut [u64], b: &[u64], s: &Scalar) {
        run!(self, words, sub_from_mul_scalar_assign(a, b, s));
    }

    /// `a = floor((b - a mod 2^shift q) / 2^shift) s` modulo `q = 2^e`, for any words `a` and `b`;
    /// `e + shift <= 64`. It is the exact quotient where `2^shift` divides `b - a`: what ends the
    /// switch from a modulus with `2^(e + shift)` to one with `2^e`.
    ///
    /// # Panics
    /// When `q` is not a power of two, or `shift` is too large.
    pub fn sub_from_shift_mul_scalar_assign(
        &self,
        a: &mut [u64],
        b: &[u64],
        shift: u32,
        s: &Scalar,
    ) {
        match &self.arithmetic {
            Arithmetic::PowerOfTwo(l) => l.words.sub_from_shift_mul_scalar_assign(a, b, shift, s),
            _ => panic!("residues modulo {} are not shifted: it is no power of two", self.q),
        }
    }

    /// `a = a + c` in every position, for `c` in `[0, q)`. 3 / 3.
    pub fn add_scalar_assign(&self, a: &mut [u64], c: u64) {
        debug_assert!(c < self.q);
        run!(self, words, add_scalar_assign(a, c));
    }

    /// The product of two ciphertexts `(a0, a1)` and `(b0, b1)`: `c0 = a0 b0`, `c1 = a0 b1 + a1
    /// b0`, `c2 = a1 b1`. 34 / 122.
    #[allow(clippy::too_many_arguments)]
    pub fn tensor(
        &self,
        c0: &mut [u64],
        c1: &mut [u64],
        c2: &mut [u64],
        a0: &[u64],
        a1: &[u64],
        b0: &[u64],
        b1: &[u64],
    ) {
        run!(self, products, tensor(c0, c1, c2, a0, a1, b0, b1));
    }

    /// [`Elementwise::tensor`] of `(a0, a1)` with itself. 31 / 105.
    pub fn square(&self, c0: &mut [u64], c1: &mut [u64], c2: &mut [u64], a0: &[u64], a1: &[u64]) {
        run!(self, products, square(c0, c1, c2, a0, a1));
    }

    /// `out = a mod q` for any 64-bit integers `a`. 9 / 16.
    pub fn reduce(&self, out: &mut [u64], a: &[u64]) {
        run!(self, words, reduce(out, a));
    }

    /// `out = a mod q` for any signed 64-bit integers `a`. 13 / 20.
    pub fn from_signed(&self, out: &mut [u64], a: &[i64]) {
        run!(self, words, from_signed(out, a));
    }

    /// `out = v mod q` for `a` in `[0, from)` a residue of another modulus `from < 2^63` and `v`
    /// its representative in `[-from/2, from/2)`. 15 / 22.
    pub fn reduce_centred(&self, out: &mut [u64], a: &[u64], from: u64) {
        debug_assert!(from < 1 << 63);
        run!(self, words, reduce_centred(out, a, from));
    }

    /// Wipes the scratch memory of products, and gives it back.
    pub(crate) fn forget(&self) {
        if let Arithmetic::PowerOfTwo(l) = &self.arithmetic {
            l.products.forget();
        }
    }

    /// Prepares the pairs `(b_d, a_d)`, in the evaluation domain, for
    /// [`Elementwise::inner_product`] with the same kernel.
    ///
    /// # Panics
    /// When the polynomials differ in length, or do not fill the kernel's vectors (of 1, 4 or 8).
    pub fn prepare_key(&self, pairs: &[(&[u64], &[u64])]) -> KeyLimb {
        let length = pairs.first().map_or(0, |(b, _)| b.len());
        let all = |_, put: &mut PutDigit<'_>| {
            pairs.iter().enumerate().for_each(|(d, (b, a))| put(d, b, a));
        };
        KeyLimb::prepare(&[self], pairs.len(), length, &Threads::single(), all).swap_remove(0)
    }

    /// The shape of a key of `digits` pairs of `length` residues.
    pub(crate) fn key_shape(&self, digits: usize, length: usize) -> KeyLimb {
        fn of<L: Lanes>(_: &L, digits: usize, length: usize) -> KeyLimb {
            KeyLimb::shape::<L>(digits, length)
        }
        match &self.arithmetic {
            Arithmetic::PowerOfTwo(l) => l.products.key_shape(digits, length),
            Arithmetic::Portable(l) => of(l, digits, length),
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Avx2(l) => of(l, digits, length),
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Avx512(l) => of(l, digits, length),
            #[cfg(target_arch = "x86_64")]
            Arithmetic::IfmaBelow61(l) => of(l, digits, length),
            #[cfg(target_arch = "x86_64")]
            Arithmetic::IfmaBelow50(l) => of(l, digits, length),
            #[cfg(target_arch = "x86_64")]
            Arithmetic::IfmaBelow48(l) => of(l, digits, length),
        }
    }

    /// Writes the pair `(b, a)` of one digit to its place in `out`, the memory of a key of this
    /// shape: digit `d` of `digits`, each of `size` bytes in all parts.
    pub(crate) fn write_key_digit(
        &self,
        out: &mut [MaybeUninit<u8>],
        size: usize,
        [digits, d]: [usize; 2],
        b: &[u64],
        a: &[u64],
    ) {
        assert!(d < digits && out.len() == digits * size, "digit {d} of {digits}");
        if let Arithmetic::PowerOfTwo(l) = &self.arithmetic {
            return l.products.write_key_digit(out, [digits, d], b, a);
        }
        run!(self, products, pack_key(&mut out[d * size..(d + 1) * size], b, a, &self.key_factor));
    }

    /// The key whose digit `j` is the sum modulo `q` of the digits `groups[j]` of `key`: digits
    /// coalesced as in LAKS. What it gives in inner products is what all of its summands give, each
    /// multiplied by the digit, to the last bit. 3 for each digit of a group, and 1 to pack.
    ///
    /// # Panics
    /// When `q` is a power of two (the sum of several centred numbers modulo it would be too large
    /// for its products), a group is empty, the key lacks a digit, or another kernel prepared it.
    pub fn coalesce_key(&self, key: &KeyLimb, groups: &[&[usize]]) -> KeyLimb {
        KeyLimb::coalesce(&[(self, key)], groups, &Threads::single()).swap_remove(0)
    }

    /// The digits of [`Elementwise::coalesce_key`] as they are stored; all of `out` is written.
    fn coalesce_into(&self, out: &mut [MaybeUninit<u8>], key: &KeyLimb, groups: &[&[usize]]) {
        run!(self, products, coalesce_key(out, key, groups));
    }

    /// `acc0 = sum x b_d` and `acc1 = sum x a_d` over the pairs `(d, x)` of `digits`, each `x`
    /// lazily reduced. Up to 64 pairs (3 for AVX-512 without IFMA, 16 for the portable kernel)
    /// share one reduction; more are added up.
    ///
    /// Per pair: 4 (and 2 to unpack, below `2^48`) / 17 with IFMA, 26 without; and for the
    /// reductions together, with `t` pairs, 10 + 4 log2(t + 1) / 32 with IFMA, 64 without.
    ///
    /// # Panics
    /// When lengths differ, the key lacks a digit, or another kernel prepared it.
    pub fn inner_product(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        digits: &[(usize, &[u64])],
        key: &KeyLimb,
    ) {
        run!(self, products, inner_product(acc0, acc1, digits, key));
    }

    /// [`Elementwise::inner_product`] with more summands, of odd moduli: a multiple of a digit, and
    /// multiples of other limbs.
    ///
    /// Beside what the inner product takes: 11 / 51 with IFMA, 78 without, for the scaled digit,
    /// and 2 / 9, 13 for each limb that is added.
    ///
    /// # Panics
    /// As `inner_product`, and when the modulus is a power of two.
    pub fn inner_product_beside(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        digits: &[(usize, &[u64])],
        key: &KeyLimb,
        beside: &Beside<'_>,
    ) {
        run!(
            self,
            products,
            inner_product_beside(acc0, acc1, digits, key, beside, &self.key_factor)
        );
    }

    /// `acc0 = sum_j (X^e_j - 1) sum x b_d` and `acc1` with `a` likewise, for up to three pairs of
    /// digits and a monomial `X^e_j`; the inner sums are over the pairs `(d, x)` of the digits, as
    /// in [`Elementwise::inner_product`]. The key is read once, and nothing but the sums is
    /// written.
    ///
    /// Beside what the inner products take: 14 / 60 for each pair, for the values of the monomial
    /// and the products by them, and one more reduction.
    ///
    /// # Panics
    /// As `inner_product`, when there is no pair or more than three, a monomial is of another ring
    /// degree, or the modulus is a power of two.
    pub fn inner_product_turned(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        turned: &[Turned<'_>],
        key: &KeyLimb,
    ) {
        run!(self, products, inner_product_turned(acc0, acc1, turned, key, &self.key_factor));
    }

    /// `acc0 = sum x y0` and `acc1 = sum x y1` over the terms `(x, [y0, y1])`, reduced once for as
    /// many terms as in [`Elementwise::inner_product`]. `x` and `y` are in the form of
    /// [`Elementwise::lift`], which for odd `q` is that of residues below `q`.
    ///
    /// Per term: 4 / 17 with IFMA, 26 without; and for the reductions together, with `t` terms,
    /// 18 + 4 log2(t + 1) / 60 with IFMA, 100 without.
    ///
    /// # Panics
    /// When lengths differ.
    pub fn sum_products(&self, acc0: &mut [u64], acc1: &mut [u64], terms: &[PairTerm<'_>]) {
        run!(self, products, sum_products(acc0, acc1, terms, &self.key_factor));
    }

    /// [`Elementwise::sum_products`] for `x` whose values repeat: of every 64 positions all groups
    /// of 8 are alike, and the first of them stands in `x`, which has an eighth of the length. So
    /// are, in the evaluation domain, the limbs of polynomials in `X^8` ([`crate::ntt`]), lifted or
    /// not; they take an eighth of the memory.
    ///
    /// # Panics
    /// When lengths differ, or are no multiple of 64.
    pub fn sum_repeated_products(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        terms: &[PairTerm<'_>],
    ) {
        run!(self, products, sum_repeated_products(acc0, acc1, terms, &self.key_factor));
    }

    /// The Montgomery factor of key residues, modulo `q`.
    pub(crate) fn key_factor(&self) -> u64 {
        self.key_factor.value
    }

    /// How many limbs a digit takes in the form of [`Elementwise::lift`]: one for odd `q`, and
    /// modulo a power of two one for each prime that products are computed modulo.
    pub fn lifted_limbs(&self) -> usize {
        match &self.arithmetic {
            Arithmetic::PowerOfTwo(l) => l.products.lifted_limbs(),
            _ => 1,
        }
    }

    /// What limb `i` of a digit in the form of [`Elementwise::lift`] is modulo: `q` itself if it is
    /// odd, else the prime.
    ///
    /// # Panics
    /// When `i` is not below [`Elementwise::lifted_limbs`].
    pub fn lifted_modulus(&self, i: usize) -> u64 {
        match &self.arithmetic {
            Arithmetic::PowerOfTwo(l) => l.products.lifted_modulus(i),
            _ => {
                assert_eq!(i, 0, "digits modulo an odd number stay one limb");
                self.q
            }
        }
    }

    /// Bytes that each digit takes of a [`KeyLimb`] with residues modulo `q` of this kernel, for
    /// polynomials of `length` coefficients.
    pub fn key_bytes(&self, length: usize) -> usize {
        let bytes = match &self.arithmetic {
            Arithmetic::PowerOfTwo(l) => return l.products.key_bytes(),
            Arithmetic::Portable(_) => Portable::KEY_WORD.bytes,
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Avx2(_) => F64::KEY_WORD.bytes,
            #[cfg(target_arch = "x86_64")]
            Arithmetic::Avx512(_) => Word61::<false>::KEY_WORD.bytes,
            #[cfg(target_arch = "x86_64")]
            Arithmetic::IfmaBelow61(_) => Word61::<true>::KEY_WORD.bytes,
            #[cfg(target_arch = "x86_64")]
            Arithmetic::IfmaBelow50(_) => Ifma::<false>::KEY_WORD.bytes,
            #[cfg(target_arch = "x86_64")]
            Arithmetic::IfmaBelow48(_) => Ifma::<true>::KEY_WORD.bytes,
        };
        key::digit_bytes(length, bytes)
    }

    /// [`Elementwise::key_bytes`] modulo the odd number `q` with `kernel`, which this CPU need not
    /// have.
    pub fn key_bytes_by(kernel: Kernel, q: u64, length: usize) -> usize {
        let is_packed = kernel == Kernel::Avx512Ifma && q < 1 << 48;
        key::digit_bytes(length, if is_packed { 6 } else { 8 })
    }

    /// The moduli of the limbs of [`Elementwise::lift`] with `kernel`, which this CPU need not have.
    pub fn lifted_moduli_by(&self, kernel: Kernel) -> Vec<u64> {
        match &self.arithmetic {
            Arithmetic::PowerOfTwo(l) => l.products.lifted_moduli_by(kernel),
            _ => vec![self.q],
        }
    }

    /// Brings a digit to the form that inner products compute with, for one that takes part in
    /// many: modulo a power of two to its transforms; for odd `q` it is that form already.
    ///
    /// # Panics
    /// When `out` does not have [`Elementwise::lifted_limbs`] limbs of the length of `a`.
    pub fn lift(&self, out: &mut [u64], a: &[u64]) {
        match &self.arithmetic {
            Arithmetic::PowerOfTwo(l) => l.products.lift(out, a),
            _ => out.copy_from_slice(a),
        }
    }

    /// [`Elementwise::inner_product`] of digits in the form of [`Elementwise::lift`].
    ///
    /// # Panics
    /// As `inner_product`.
    pub fn inner_product_lifted(
        &self,
        acc0: &mut [u64],
        acc1: &mut [u64],
        digits: &[(usize, &[u64])],
        key: &KeyLimb,
    ) {
        match &self.arithmetic {
            Arithmetic::PowerOfTwo(l) => l.products.inner_product_lifted(acc0, acc1, digits, key),
            _ => self.inner_product(acc0, acc1, digits, key),
        }
    }
}
