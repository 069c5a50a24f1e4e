//! The primitives on ciphertexts of integers (BGV and BFV).

use std::borrow::Cow;

use hippocrene_bgv::{
    BgvError, Ciphertext, Evaluator, LinearTransform, Permutation, Plaintext, Polynomial,
    SeededCiphertext,
};
use hippocrene_ckks::Transfer;
use hippocrene_ring::automorphism::galois_element_of_conjugation;
use hippocrene_rlwe::{self as rlwe, Noise, SIGMA, noise::secret_key_encryption};

use crate::server::{
    Server,
    functions::{polynomial::PolynomialWay, power::by_squaring},
    linear::map_cache::Maps,
};
use crate::{
    Argument, Arithmetic, Capacity, CiphertextBody, Diagonals, Elements, Error, Extent,
    IntegerArray, Interval, Layout, LinearMaps, PlainNumbers, Polynomials, Residues, Session,
    SharedErrors,
};

impl Elements for Residues {
    type Ciphertext = Ciphertext;
    type Seeded = SeededCiphertext;
    /// The factor of the ciphertext's message.
    type Own = u64;

    fn fresh_noise() -> Noise {
        secret_key_encryption(SIGMA)
    }

    fn own(ciphertext: &CiphertextBody<Self>) -> u64 {
        match ciphertext {
            CiphertextBody::Full(c) => c.factor(),
            CiphertextBody::Seeded(_) => 1,
        }
    }

    fn full(
        &self,
        session: &Session,
        inner: rlwe::Ciphertext,
        factor: u64,
    ) -> Result<Ciphertext, Error> {
        let context = session.need_integers("read integers")?;
        Ok(Ciphertext::from_parts(context, inner, self.plain_modulus, factor)?)
    }

    fn seeded(
        &self,
        session: &Session,
        inner: rlwe::SeededCiphertext,
        _: u64,
    ) -> Result<SeededCiphertext, Error> {
        let context = session.need_integers("read integers")?;
        Ok(SeededCiphertext::from_parts(context, inner, self.plain_modulus)?)
    }

    fn inner(ciphertext: &Ciphertext) -> &rlwe::Ciphertext {
        ciphertext.inner()
    }

    fn inner_seeded(ciphertext: &SeededCiphertext) -> &rlwe::SeededCiphertext {
        ciphertext.inner()
    }

    fn expand(session: &Session, ciphertext: &SeededCiphertext) -> Ciphertext {
        ciphertext.expand_in(session.context().rlwe())
    }

    fn fits(&self, ciphertext: &CiphertextBody<Self>) -> bool {
        ciphertext.plain_modulus() == self.plain_modulus
    }

    fn without_interval(self) -> Self {
        Residues { interval: None, ..self }
    }
}

impl PlainNumbers for Residues {
    type Number = i64;
    type Plain<'v> = &'v [i64];
    const ONE: i64 = 1;

    fn plus(&self, x: i64, y: i64) -> i64 {
        // The sum is less than the plaintext modulus, which fits a signed word.
        (i128::from(x) + i128::from(y)).rem_euclid(i128::from(self.plain_modulus)) as i64
    }

    fn with_plain(self, _: &[i64]) -> Self {
        self
    }

    fn plain(numbers: &[i64]) -> &[i64] {
        numbers
    }

    fn count(plain: &[i64]) -> usize {
        plain.len()
    }

    fn bytes(number: i64) -> [u8; 8] {
        number.to_le_bytes()
    }

    fn is_exact(_: i64) -> bool {
        true
    }

    fn magnitude(_: i64) -> f64 {
        0.0
    }

    /// The interval is that of the representatives around zero, since plain integers count modulo
    /// `t` too.
    fn plain_interval(&self, plain: &[i64]) -> Interval {
        let intervals = plain.iter().map(|x| self.number_interval(*x));
        intervals.reduce(Interval::union).unwrap_or(Interval::EVERYTHING)
    }

    fn number_interval(&self, number: i64) -> Interval {
        let t = i128::from(self.plain_modulus);
        let residue = i128::from(number).rem_euclid(t);
        Interval::point(if residue > t / 2 { residue - t } else { residue } as f64)
    }

    fn interval(array: &IntegerArray) -> Interval {
        array.interval()
    }

    fn with_known_interval(array: IntegerArray, interval: Interval) -> IntegerArray {
        array.with_known_interval(interval)
    }

    fn tightened(array: crate::Array<Self>, _: f64) -> crate::Array<Self> {
        array
    }
}

impl Capacity for Residues {
    fn precision(&self) -> Option<f64> {
        None
    }

    fn join(&self, _: &Self) -> Self {
        self.without_interval()
    }

    fn computed_by(self, _: &Server) -> Self {
        self.without_interval()
    }

    fn know_no_more_than(&mut self, _: &Self) {}

    fn product_bits(&self, _: &Server) -> f64 {
        0.0
    }

    fn capacity_bits(_: &Session, _: &IntegerArray) -> f64 {
        f64::INFINITY
    }

    fn log2_bound(_: &IntegerArray) -> f64 {
        0.0
    }

    fn has_products(&self, server: &Server, a: &IntegerArray, count: usize) -> bool {
        // A product with a plaintext modulo `t` multiplies the noise by about `t sqrt(N)`. The sum
        // of the products needs a few bits more, and more than these if elements move by many
        // distances.
        let bits = (a.plain_modulus() as f64).log2()
            + 0.5 * f64::from(server.session.settings().parameters().log_degree())
            + 4.0;
        a.budget_bits(&server.session) > count as f64 * bits + 8.0
    }

    fn check_bootstrap(_: &Server, _: &IntegerArray) -> Result<(), Error> {
        Err(Error::argument("bootstrap", "arrays of integers are not bootstrapped"))
    }

    fn is_too_large(_: &Server, _: &IntegerArray) -> bool {
        false
    }

    fn bootstrapped(server: &Server, a: &IntegerArray) -> Result<IntegerArray, Error> {
        Self::check_bootstrap(server, a).map(|()| a.clone())
    }
}

impl SharedErrors for Residues {
    fn add_alike(
        &self,
        server: &Server,
        x: &Ciphertext,
        y: &Ciphertext,
    ) -> Result<Ciphertext, Error> {
        self.add(server, x, y)
    }

    fn overlay(
        &self,
        server: &Server,
        x: &Ciphertext,
        y: &Ciphertext,
    ) -> Result<Ciphertext, Error> {
        self.add(server, x, y)
    }

    fn overlay_copies(
        &self,
        server: &Server,
        x: &Ciphertext,
        y: &Ciphertext,
    ) -> Result<Ciphertext, Error> {
        self.add(server, x, y)
    }

    fn of_one_element(&self, x: Ciphertext) -> Ciphertext {
        x
    }

    fn of_copies(&self, x: Ciphertext, _: usize) -> Ciphertext {
        x
    }

    fn of_dependent(&self, sum: Ciphertext, _: &Ciphertext, _: &Ciphertext) -> Ciphertext {
        sum
    }

    fn of_vector(
        product: IntegerArray,
        _: &IntegerArray,
        _: &IntegerArray,
        _: usize,
    ) -> IntegerArray {
        product
    }

    fn of_product(
        product: IntegerArray,
        _: &IntegerArray,
        _: [usize; 2],
        _: impl IntoIterator<Item = (usize, usize, i64)>,
    ) -> IntegerArray {
        product
    }

    fn with_summands(&self, x: Ciphertext, _: usize, _: usize) -> Ciphertext {
        x
    }
}

impl LinearMaps for Residues {
    type Map = LinearTransform;

    /// True for multiples of half of the slots, which exchange the two rows or do nothing.
    fn rotates(slots: usize, left: usize) -> bool {
        left.is_multiple_of(slots / 2)
    }

    fn rotate(&self, server: &Server, x: &Ciphertext, left: i64) -> Result<Ciphertext, Error> {
        let slots = Self::slots(&server.session);
        match left.rem_euclid(slots as i64) as usize {
            0 => Ok(x.clone()),
            left if left == slots / 2 => Ok(evaluator(server)?.exchange_rows(x)?),
            _ => Ok(evaluator(server)?.rotate_rows(x, left)?),
        }
    }

    fn rotate_many(
        &self,
        server: &Server,
        x: &Ciphertext,
        left: &[i64],
    ) -> Result<Vec<Ciphertext>, Error> {
        Ok(evaluator(server)?.rotate_many(x, left)?)
    }

    fn rotation_count(server: &Server, x: &Ciphertext, left: i64) -> Option<usize> {
        let (slots, keys) = (Self::slots(&server.session), server.evaluator.keys());
        if left.rem_euclid(slots as i64) as usize == slots / 2 {
            return keys.has_galois(galois_element_of_conjugation(slots), x.modulus()).then_some(1);
        }
        keys.rotation_count(slots, slots / 2, left, x.modulus())
    }

    fn inner_sum(
        &self,
        server: &Server,
        x: &Ciphertext,
        stride: usize,
        count: usize,
    ) -> Result<Ciphertext, Error> {
        // As `hippocrene_bgv::Evaluator::inner_sum`, but over both rows.
        let beside = |x: &Ciphertext, y: &Ciphertext, k: u32| {
            self.add(server, x, &self.rotate(server, y, (stride << k) as i64)?)
        };
        let (mut power, mut sum): (_, Option<Ciphertext>) = (x.clone(), None);
        for k in 0..=count.ilog2() {
            if count >> k & 1 == 1 {
                sum = Some(match sum {
                    None => power.clone(),
                    Some(sum) => beside(&power, &sum, k)?,
                });
            }
            if k < count.ilog2() {
                power = beside(&power, &power, k)?;
            }
        }
        Ok(sum.unwrap_or(power))
    }

    /// The number is the rotation of the rows to the left. From half of the slots on, the rows are
    /// exchanged after it.
    fn diagonal(slots: usize, to: usize, from: usize) -> usize {
        let row = slots / 2;
        ((to ^ from) & row) + (from.wrapping_sub(to) & (row - 1))
    }

    fn map(
        server: &Server,
        diagonals: &Diagonals<Self>,
        kept: bool,
    ) -> Result<LinearTransform, Error> {
        let row = Self::slots(&server.session) / 2;
        let permutation =
            |diagonal| Permutation { exchanged: diagonal >= row, rotation: diagonal % row };
        let diagonals =
            diagonals.iter().map(|(diagonal, entries)| (permutation(*diagonal), entries.clone()));
        let map =
            LinearTransform::from_entries(evaluator(server)?.context(), &diagonals.collect())?;
        if !kept {
            map.set_memory(0);
        }
        Ok(map)
    }

    fn maps(server: &Server) -> &Maps<LinearTransform> {
        &server.maps.integers
    }

    fn map_bytes(map: &LinearTransform) -> usize {
        map.memory().0
    }

    /// The transform itself brings its operand to the best modulus.
    fn lowered<'a>(
        &self,
        _: &Server,
        x: &'a Ciphertext,
        _: Extent,
    ) -> Result<Cow<'a, Ciphertext>, Error> {
        Ok(Cow::Borrowed(x))
    }

    fn apply_each(
        &self,
        server: &Server,
        operands: &[&Ciphertext],
        map: &LinearTransform,
        _: Extent,
    ) -> Result<Vec<Ciphertext>, Error> {
        Ok(evaluator(server)?.linear_transforms(operands, map)?)
    }
}

impl Polynomials for Residues {
    type Polynomial = Polynomial;

    fn power(&self, server: &Server, x: &Ciphertext, n: u32) -> Result<Ciphertext, Error> {
        by_squaring(x, n, |x, y| self.mul(server, x, y))
    }

    fn polynomials(
        &self,
        server: &Server,
        x: &Ciphertext,
        polynomials: &[Polynomial],
    ) -> Result<Vec<Ciphertext>, Error> {
        let e = evaluator(server)?;
        polynomials.iter().map(|p| Ok(e.polynomial(x, p)?)).collect()
    }

    fn within_domain<'a>(
        _: &Server,
        a: &'a IntegerArray,
        p: &'a Polynomial,
    ) -> Result<Argument<'a, Residues>, Error> {
        Ok((Cow::Borrowed(a), Cow::Borrowed(p)))
    }

    fn polynomial_depth(p: &Polynomial) -> usize {
        (p.degree() + 1).next_power_of_two().ilog2() as usize
    }

    /// Integers are not bootstrapped.
    fn polynomial_by(
        _: &Server,
        _: &IntegerArray,
        _: &Polynomial,
        _: PolynomialWay,
    ) -> Result<Option<IntegerArray>, Error> {
        Ok(None)
    }

    fn without_constant(p: &Polynomial) -> Result<Option<(Polynomial, i64)>, Error> {
        let (rest, constant) = p.without_constant();
        Ok((constant != 0).then_some((rest, constant as i64)))
    }

    /// Nothing is known, since most polynomials of integers wrap around.
    fn range(_: &Polynomial, _: Interval) -> Interval {
        Interval::EVERYTHING
    }

    fn bounded_by(values: IntegerArray, _: &Polynomial, _: &IntegerArray) -> IntegerArray {
        values
    }
}

impl Arithmetic for Residues {
    fn slots(session: &Session) -> usize {
        2 * session.slots()
    }

    fn check(&self, server: &Server, operation: &'static str) -> Result<(), Error> {
        let context = server.session.need_integers(operation)?;
        let (left, right) = (context.plain_modulus(), self.plain_modulus);
        if left == right {
            return Ok(());
        }
        Err(BgvError::PlainModulusMismatch { operation, left, right }.into())
    }

    fn add(&self, server: &Server, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext, Error> {
        Ok(evaluator(server)?.add(x, y)?)
    }

    fn sub(&self, server: &Server, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext, Error> {
        Ok(evaluator(server)?.sub(x, y)?)
    }

    fn negate(&self, server: &Server, x: &Ciphertext) -> Result<Ciphertext, Error> {
        Ok(evaluator(server)?.negate(x)?)
    }

    fn mul(&self, server: &Server, x: &Ciphertext, y: &Ciphertext) -> Result<Ciphertext, Error> {
        Ok(evaluator(server)?.mul(x, y)?)
    }

    /// The product itself brings its factors to the best modulus.
    fn as_factors<'a>(
        &self,
        _: &Server,
        x: &'a Ciphertext,
        y: &'a Ciphertext,
    ) -> Result<[Cow<'a, Ciphertext>; 2], Error> {
        Ok([Cow::Borrowed(x), Cow::Borrowed(y)])
    }

    fn sum_of_products(
        &self,
        server: &Server,
        pairs: &[(&Ciphertext, &Ciphertext)],
    ) -> Option<Result<Ciphertext, Error>> {
        Some(evaluator(server).and_then(|evaluator| Ok(evaluator.sum_of_products(pairs)?)))
    }

    fn add_number(&self, server: &Server, x: &Ciphertext, c: i64) -> Result<Ciphertext, Error> {
        Ok(evaluator(server)?.add_integer(x, c)?)
    }

    fn mul_number(&self, server: &Server, x: &Ciphertext, c: i64) -> Result<Ciphertext, Error> {
        Ok(evaluator(server)?.mul_integer(x, c)?)
    }

    fn add_plain(
        &self,
        server: &Server,
        layout: &Layout,
        ciphertexts: &[Cow<'_, Ciphertext>],
        plain: &[i64],
    ) -> Result<Vec<Ciphertext>, Error> {
        with_plain(server, layout, ciphertexts, plain, Evaluator::add_plain)
    }

    fn mul_plain(
        &self,
        server: &Server,
        layout: &Layout,
        ciphertexts: &[Cow<'_, Ciphertext>],
        plain: &[i64],
    ) -> Result<Vec<Ciphertext>, Error> {
        with_plain(server, layout, ciphertexts, plain, Evaluator::mul_plain)
    }

    /// Returns `None`, since products with plaintexts are the only way for integers.
    fn combination(
        &self,
        _: &Server,
        _: &[(&Ciphertext, i64)],
    ) -> Result<Option<Ciphertext>, Error> {
        Ok(None)
    }

    fn transferred(
        &self,
        server: &Server,
        transfer: &Transfer,
        x: &Ciphertext,
    ) -> Result<Ciphertext, Error> {
        const OPERATION: &str = "transfer to the second key";
        self.check(server, OPERATION)?;
        let context = server.session.need_integers(OPERATION)?;
        Ok(context.transfer(transfer.first().rlwe(), x, transfer.key())?)
    }
}

/// Returns the evaluator of integers.
pub(in crate::server) fn evaluator(server: &Server) -> Result<&Evaluator, Error> {
    server.integers.as_ref().ok_or_else(|| {
        Error::argument(
            "compute on integers",
            "the settings of these keys have no plaintext modulus",
        )
    })
}

/// Applies `f` to each ciphertext and the plain integers of its slots.
fn with_plain(
    server: &Server,
    layout: &Layout,
    ciphertexts: &[Cow<'_, Ciphertext>],
    plain: &[i64],
    f: impl Fn(&Evaluator, &Ciphertext, &Plaintext) -> Result<Ciphertext, BgvError> + Sync,
) -> Result<Vec<Ciphertext>, Error> {
    let evaluator = evaluator(server)?;
    let (context, slots) = (evaluator.context(), layout.scatter(plain)?);
    let each = |i: usize| Ok(f(evaluator, &ciphertexts[i], &context.encode(&slots[i])?)?);
    server.session.compute_each(ciphertexts.len(), each)
}
