//! A reader written from `docs/reference/wire-format.md` alone.
//!
//! It uses nothing of the library that wrote the files, and has its own ChaCha20 and CRC-32.

mod cbor;

pub use cbor::Cbor;
use num_complex::Complex64;

pub fn number(bytes: &mut &[u8], length: usize) -> u128 {
    let (now, rest) = bytes.split_at(length);
    *bytes = rest;
    now.iter().rev().fold(0, |x, b| x << 8 | u128::from(*b))
}

pub fn float(bytes: &mut &[u8]) -> f64 {
    f64::from_bits(number(bytes, 8) as u64)
}

pub fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (now, rest) = bytes.split_at(length);
    *bytes = rest;
    now
}

pub fn crc32(bytes: impl Iterator<Item = u8>) -> u32 {
    let divided = |byte: u32| {
        (0..8).fold(byte, |c, _| if c & 1 == 1 { c >> 1 ^ 0xedb8_8320 } else { c >> 1 })
    };
    let table: Vec<u32> = (0..256).map(divided).collect();
    !bytes.fold(!0u32, |crc, b| crc >> 8 ^ table[(crc as u8 ^ b) as usize])
}

pub fn fingerprint(context: &str, data: &[u8]) -> Vec<u8> {
    blake3::derive_key(context, data)[..16].to_vec()
}

/// Returns the keystream as 64-bit words.
pub fn chacha20(seed: &[u8], nonce: u64) -> impl Iterator<Item = u64> {
    chacha20_from(seed, nonce, 0)
}

/// Returns the keystream as 64-bit words, beginning with block `first`.
pub fn chacha20_from(seed: &[u8], nonce: u64, first: u64) -> impl Iterator<Item = u64> {
    let mut start = [0u32; 16];
    for (i, c) in b"expand 32-byte k".chunks(4).chain(seed.chunks(4)).enumerate() {
        start[i] = u32::from_le_bytes(c.try_into().unwrap());
    }
    (start[14], start[15]) = (nonce as u32, (nonce >> 32) as u32);
    (first..).flat_map(move |block| {
        (start[12], start[13]) = (block as u32, (block >> 32) as u32);
        let mut x = start;
        for _ in 0..10 {
            let columns = (0..4).map(|i| [i, i + 4, i + 8, i + 12]);
            let diagonals = (0..4).map(|i| [i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4]);
            for [a, b, c, d] in columns.chain(diagonals) {
                for (to, from, turned, by) in
                    [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)]
                {
                    x[to] = x[to].wrapping_add(x[from]);
                    x[turned] = (x[turned] ^ x[to]).rotate_left(by);
                }
            }
        }
        let words: Vec<u32> = x.iter().zip(start).map(|(x, s)| x.wrapping_add(s)).collect();
        words.chunks(2).map(|w| u64::from(w[0]) | u64::from(w[1]) << 32).collect::<Vec<_>>()
    })
}

pub fn mul(a: u64, b: u64, q: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q)) as u64
}

pub fn pow(mut base: u64, mut exponent: u64, q: u64) -> u64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = mul(result, base, q);
        }
        base = mul(base, base, q);
        exponent >>= 1;
    }
    result
}

/// Returns the smallest `w` for which `q` is at most `2^w`.
pub fn bit_length(q: u64) -> usize {
    64 - (q - 1).leading_zeros() as usize
}

/// Reads and checks the scheme and the plaintext modulus of settings.
pub fn integers_of(bytes: &mut &[u8]) {
    let (scheme, t) = (number(bytes, 4), number(bytes, 8));
    assert!((scheme, t) == (1, u128::from(PLAIN_MODULUS)) || (scheme, t) == (0, 0));
}

/// The plaintext modulus of the files.
pub const PLAIN_MODULUS: u64 = 65_537;

/// A polynomial, as one limb of values for each factor of its modulus.
pub type Limbs = Vec<Vec<u64>>;

/// A modulus, as positions, odd primes of the sprout, and exponent of two.
pub type Modulus = (u128, u64, u32);

pub fn modulus(bytes: &mut &[u8]) -> Modulus {
    (number(bytes, 16), number(bytes, 1) as u64, number(bytes, 1) as u32)
}

pub struct Set {
    pub degree: u64,
    pub units: usize,
    /// Units and specials.
    pub factors: Vec<u64>,
    /// The odd primes of the sprout.
    pub odd: Vec<u64>,
    /// The exponent of two in the sprout.
    pub two: u32,
    pub rank: usize,
    pub precision: f64,
}

impl Set {
    pub fn read(bytes: &mut &[u8]) -> (Self, Vec<u8>) {
        let named = [(); 7].map(|()| number(bytes, 4) as u64);
        let [log_degree, units, specials, rank, secret, two, odd] = named;
        assert!(number(bytes, 4) <= u128::from(two));
        let precision = float(bytes);
        integers_of(bytes);
        let mut factors: Vec<u64> =
            (0..units + specials + odd).map(|_| number(bytes, 8) as u64).collect();
        let named: Vec<u8> = named.iter().chain(&factors).flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(secret, 0);
        let odd = factors.split_off((units + specials) as usize);
        let (units, rank) = (units as usize, rank as usize);
        let set =
            Set { degree: 1 << log_degree, units, factors, odd, two: two as u32, rank, precision };
        (set, fingerprint("hippocrene 2026-11 parameter set", &named))
    }

    /// Returns the odd primes whose bits in `mask` are set.
    pub fn chosen(&self, mask: u64) -> Vec<u64> {
        self.odd.iter().enumerate().filter(|(j, _)| mask >> j & 1 == 1).map(|(_, r)| *r).collect()
    }

    /// Returns the factor at this position of a modulus, with the odd primes of `mask` and the
    /// power of two `2^two`.
    pub fn factor(&self, position: usize, mask: u64, two: u32) -> u64 {
        match position {
            126 => self.chosen(mask).iter().product(),
            127 => 1 << two,
            _ => self.factors[position],
        }
    }

    /// Returns the bytes of a polynomial in a file of keys.
    pub fn poly_bytes(&self, (positions, mask, two): Modulus) -> usize {
        let factors =
            (0..128).filter(|i| positions >> i & 1 == 1).map(|i| self.factor(i, mask, two));
        factors.map(|factor| self.degree as usize * bit_length(factor) / 8).sum()
    }

    /// Returns the modulus with the whole sprout instead of a part of it.
    pub fn with_whole_sprout(&self, (positions, ..): Modulus) -> Modulus {
        (positions, (1 << self.odd.len()) - 1, self.two)
    }

    /// Returns the positions of each group of factors of `Q`.
    pub fn groups(&self) -> Vec<u128> {
        let sprout = f64::from(self.two) + self.odd.iter().map(|r| (*r as f64).log2()).sum::<f64>();
        let units = (0..self.units).map(|i| (1u128 << i, (self.factors[i] as f64).log2()));
        let all: Vec<(u128, f64)> =
            [(3 << 126, sprout)].into_iter().filter(|(_, bits)| *bits > 0.0).chain(units).collect();
        let groups = |c: f64| {
            let mut groups: Vec<(u128, f64)> = Vec::new();
            for (positions, bits) in &all {
                match groups.last_mut().filter(|group| group.1 + bits < c + 0.5) {
                    Some(group) => *group = (group.0 | positions, group.1 + bits),
                    None => groups.push((*positions, *bits)),
                }
            }
            groups
        };
        let groups =
            (1..).map(|c| groups(f64::from(c))).find(|groups| groups.len() <= self.rank).unwrap();
        groups.into_iter().map(|group| group.0).collect()
    }

    /// Returns the bytes of a switching key with this modulus.
    ///
    /// It is a seed, and one polynomial for each group of factors of `Q` that shares a factor with
    /// the modulus.
    pub fn key_bytes(&self, modulus: Modulus) -> usize {
        let groups = self.groups().into_iter().filter(|group| group & modulus.0 != 0);
        32 + groups.count() * self.poly_bytes(modulus)
    }

    /// Returns the power of psi at the position `t` of an evaluation.
    pub fn exponent(&self, t: u64) -> u64 {
        let k = if self.degree < 64 { t } else { t / 64 * 64 + t % 8 * 8 + t / 8 % 8 };
        2 * (k.reverse_bits() >> (64 - self.degree.trailing_zeros())) + 1
    }

    pub fn psi(&self, q: u64) -> u64 {
        let candidates = (2..).map(|g| pow(g, (q - 1) / (2 * self.degree), q));
        candidates.into_iter().find(|psi| pow(*psi, self.degree, q) == q - 1).unwrap()
    }

    /// Returns `psi^0` to `psi^(2N - 1)`.
    fn powers(&self, q: u64) -> Vec<u64> {
        let psi = self.psi(q);
        std::iter::successors(Some(1), |x| Some(mul(*x, psi, q)))
            .take(2 * self.degree as usize)
            .collect()
    }

    pub fn values(&self, coefficients: &[i64], q: u64) -> Vec<u64> {
        let powers = self.powers(q);
        let value = |t| {
            let x = powers[self.exponent(t) as usize];
            let residues = coefficients.iter().map(|c| c.rem_euclid(q as i64) as u64);
            residues.rev().fold(0, |y, c| (mul(y, x, q) + c) % q)
        };
        (0..self.degree).map(value).collect()
    }

    /// Returns the coefficients, centred around zero.
    pub fn coefficients(&self, values: &[u64], q: u64) -> Vec<i64> {
        let (powers, full) = (self.powers(q), 2 * self.degree);
        let exponents: Vec<u64> = (0..self.degree).map(|t| self.exponent(t)).collect();
        let inverse = pow(self.degree, q - 2, q);
        let coefficient = |j| {
            let sum = values.iter().zip(&exponents).fold(0, |sum, (v, e)| {
                (sum + mul(*v, powers[((full - e) * j % full) as usize], q)) % q
            });
            centred(mul(sum, inverse, q), q)
        };
        (0..self.degree).map(coefficient).collect()
    }

    pub fn unpack(&self, bytes: &mut &[u8], width: usize, q: u64) -> Vec<u64> {
        let limb = take(bytes, self.degree as usize * width / 8);
        let bit = |k: usize| u64::from(limb[k / 8] >> (k % 8) & 1);
        let residue = |i| (0..width).map(|k| bit(i * width + k) << k).sum();
        let limb: Vec<u64> = (0..self.degree as usize).map(residue).collect();
        assert!(limb.iter().all(|x| *x < q));
        limb
    }

    /// Reads a polynomial of a key file, modulo the first `count` factors.
    pub fn polynomial(&self, bytes: &mut &[u8], count: usize) -> Limbs {
        self.factors[..count].iter().map(|q| self.unpack(bytes, bit_length(*q), *q)).collect()
    }

    pub fn expand(&self, seed: &[u8], stream: u64, position: usize, q: u64) -> Vec<u64> {
        self.expand_nonce(seed, 256 * stream + position as u64, q)
    }

    pub fn expand_nonce(&self, seed: &[u8], nonce: u64, q: u64) -> Vec<u64> {
        let candidates = chacha20(seed, nonce).map(|w| w % (1 << bit_length(q)));
        candidates.filter(|c| *c < q).take(self.degree as usize).collect()
    }

    /// Returns the centred coefficients of `times (c_0 + c_1 s + ..)`.
    ///
    /// There is one list for each prime, and for the power of two, of the factor at this position.
    pub fn message(
        &self,
        c: &[&Vec<u64>],
        s: &[i64],
        position: usize,
        (mask, q): (u64, u64),
        times: u64,
    ) -> Vec<(u64, Vec<i64>)> {
        if position == 127 {
            let zero = vec![0; s.len()];
            let m = c.iter().rev().fold(zero, |m, part| multiply_add_two(part, &m, s));
            return vec![(q, m.iter().map(|x| centred(x.wrapping_mul(times) % q, q)).collect())];
        }
        let primes = if position == 126 { self.chosen(mask) } else { vec![q] };
        let modulo = |q: u64| {
            let (values, zero) = (self.values(s, q), vec![0; s.len()]);
            let reduced = |part: &Vec<u64>| part.iter().map(|x| x % q).collect::<Vec<_>>();
            let m =
                c.iter().rev().fold(zero, |m, part| multiply_add(&reduced(part), &m, &values, q));
            let m: Vec<u64> = m.iter().map(|x| mul(*x, times % q, q)).collect();
            (q, self.coefficients(&m, q))
        };
        primes.into_iter().map(modulo).collect()
    }

    /// Returns the secret to which the key of this Galois element switches: the inverse
    /// automorphism of `s`.
    pub fn rotated(&self, s: &[i64], element: u64) -> Vec<i64> {
        let inverse = (1..2 * self.degree).find(|i| i * element % (2 * self.degree) == 1).unwrap();
        let mut target = vec![0; s.len()];
        for (j, s) in s.iter().enumerate() {
            let power = j as u64 * inverse % (2 * self.degree);
            target[(power % self.degree) as usize] = if power < self.degree { *s } else { -s };
        }
        target
    }

    /// Returns the binary secret of a seed.
    pub fn bits(&self, seed: &[u8]) -> Vec<i64> {
        let words = chacha20(seed, 0).take(self.degree.div_ceil(64) as usize);
        words
            .flat_map(|word| (0..64).map(move |k| (word >> k & 1) as i64))
            .take(self.degree as usize)
            .collect()
    }

    pub fn secret(&self, seed: &[u8]) -> Vec<i64> {
        let (degree, mut s) = (self.degree as usize, Vec::new());
        for mut word in chacha20(seed, 0) {
            for _ in 0..32.min(degree - s.len()) {
                match word & 3 {
                    3 => {}
                    pair => s.push(pair as i64 - 1),
                }
                word >>= 2;
            }
            if s.len() == degree {
                break;
            }
        }
        s
    }
}

/// Returns `x + y z`, modulo `q`.
pub fn multiply_add(x: &[u64], y: &[u64], z: &[u64], q: u64) -> Vec<u64> {
    x.iter().zip(y).zip(z).map(|((x, y), z)| (x + mul(*y, *z, q)) % q).collect()
}

/// Returns `x + y s` of coefficients, modulo `X^N + 1` and `2^64`.
pub fn multiply_add_two(x: &[u64], y: &[u64], s: &[i64]) -> Vec<u64> {
    let (n, mut out) = (x.len(), x.to_vec());
    for (i, y) in y.iter().enumerate() {
        for (j, s) in s.iter().enumerate() {
            let product = y.wrapping_mul(if i + j < n { *s } else { -s } as u64);
            out[(i + j) % n] = out[(i + j) % n].wrapping_add(product);
        }
    }
    out
}

pub fn centred(x: u64, q: u64) -> i64 {
    if x > q / 2 { x as i64 - q as i64 } else { x as i64 }
}

/// Returns kind, digest, key and payload of a file, after checking its checksum and length.
pub fn open(file: &[u8]) -> (u8, &[u8], &[u8], &[u8]) {
    assert_eq!(file[..10], *b"\x89HPCR\r\n\x1a\x01\x00");
    assert_eq!(file[11], u8::from([2, 9, 17].contains(&file[10])));
    let all = file[..12].iter().chain(&file[16..]).copied();
    assert_eq!(number(&mut &file[12..16], 4) as u32, crc32(all));
    assert_eq!(number(&mut &file[48..56], 8) as usize, file.len() - 56);
    (file[10], &file[16..32], &file[32..48], &file[56..])
}

/// Reads settings and secret coefficients from the file of a secret key.
pub fn read_secret(file: &[u8]) -> (Set, Vec<i64>) {
    let (kind, digest, key, mut payload) = open(file);
    let (set, computed) = Set::read(&mut payload);
    assert_eq!((kind, digest, payload.len()), (2, &computed[..], 32));
    assert_eq!(key, fingerprint("hippocrene 2026-11 secret key fingerprint", payload));
    let s = set.secret(payload);
    (set, s)
}

/// The message of a ciphertext.
///
/// Its coefficients are centred around zero, and small enough to be the same modulo each factor.
pub struct Message {
    pub coefficients: Vec<i64>,
    pub factors: Vec<u64>,
    /// The odd primes and the exponent of two of its modulus.
    pub sprout: (u64, u32),
    /// The rest of the ciphertext's head, after the noise.
    pub own: Vec<u8>,
}

impl Message {
    /// Returns the values of the slots, times the scale.
    pub fn values(&self, degree: u64) -> Vec<Complex64> {
        let value = |j: u64| {
            let power = (0..j).fold(1, |p, _| p * 5 % (2 * degree));
            let x = Complex64::cis(std::f64::consts::PI * power as f64 / degree as f64);
            self.coefficients.iter().rev().fold(Complex64::ZERO, |y, c| y * x + *c as f64)
        };
        (0..degree / 2).map(value).collect()
    }
}

/// The contents of an array's file.
pub struct Read {
    pub kind: u8,
    /// The flags. The lowest bit is the flag of the form.
    pub flags: u128,
    pub field: [u8; 8],
    /// The interval of the elements, where the file states one.
    pub interval: Option<(f64, f64)>,
    /// The fingerprint of the notes that the elements follow, where the file has one.
    pub notes: Option<Vec<u8>>,
    pub slots: usize,
    /// Lengths and strides.
    pub axes: Vec<(usize, usize)>,
    /// The messages of the ciphertexts, each multiplied by `times`.
    pub messages: Vec<Message>,
}

/// Reads an array. The head of each ciphertext ends in `own` bytes, and the messages are multiplied
/// by `times`.
pub fn read_array(file: &[u8], set: &Set, s: &[i64], own: usize, times: u64) -> Read {
    let (kind, _, _, mut rest) = open(file);
    let (flags, axes) = (number(&mut rest, 4), number(&mut rest, 4));
    let (slots, count) = (number(&mut rest, 8) as usize, number(&mut rest, 8) as usize);
    let field = take(&mut rest, 8).try_into().unwrap();
    let interval = (flags & 8 != 0).then(|| (float(&mut rest), float(&mut rest)));
    assert!(interval.is_none_or(|(low, high)| low <= high && low.is_finite() && high.is_finite()));
    let notes = (flags & 32 != 0).then(|| take(&mut rest, 16).to_vec());
    let axes: Vec<(usize, usize)> =
        (0..axes).map(|_| (number(&mut rest, 8) as usize, number(&mut rest, 8) as usize)).collect();
    let heads: Vec<_> = (0..count)
        .map(|_| {
            let modulus = number(&mut rest, 16);
            let (mask, two) = (number(&mut rest, 1) as u64, number(&mut rest, 1) as u32);
            assert_eq!((modulus >> 126 & 1 == 1, modulus >> 127 == 1), (mask != 0, two != 0));
            let (parts, noise) = (number(&mut rest, 4), float(&mut rest));
            assert!(noise.abs() < 40.0);
            if flags & 4 != 0 {
                let (zeros, common) = (float(&mut rest), float(&mut rest));
                assert!(zeros.abs() <= 4096.0 && (-4096.0..=noise).contains(&common));
            }
            (modulus, mask, two, parts, take(&mut rest, own))
        })
        .collect();
    let all = heads.iter().fold(0, |all, head| all | head.0);
    let widths: Vec<usize> = (0..128)
        .map(|i| if all >> i & 1 == 1 { number(&mut rest, 1) as usize } else { 0 })
        .collect();
    let mut messages = Vec::new();
    for (modulus, mask, two, parts, own) in heads {
        let positions: Vec<usize> = (0..128).filter(|i| modulus >> i & 1 == 1).collect();
        let factors: Vec<u64> = positions.iter().map(|i| set.factor(*i, mask, two)).collect();
        let at = || positions.iter().zip(&factors);
        let seed = (parts == 1).then(|| take(&mut rest, 32));
        let mut read =
            || -> Limbs { at().map(|(i, q)| set.unpack(&mut rest, widths[*i], *q)).collect() };
        let mut c: Vec<Limbs> = (0..parts).map(|_| read()).collect();
        if let Some(seed) = seed {
            c.push(at().map(|(i, q)| set.expand(seed, 0, *i, *q)).collect());
        }
        // The message is small, so every limb must hold the same one.
        let limb = |(k, (position, q)): (usize, (&usize, &u64))| {
            let parts: Vec<&Vec<u64>> = c.iter().map(|part| &part[k]).collect();
            set.message(&parts, s, *position, (mask, *q), times)
        };
        let limbs: Vec<(u64, Vec<i64>)> = at().enumerate().flat_map(limb).collect();
        let coefficients = limbs[0].1.clone();
        // The message fits into the first unit, which has 48 bits, but not into every other factor.
        for (q, other) in &limbs {
            assert!(coefficients.iter().zip(other).all(|(a, b)| (a - b) % *q as i64 == 0));
        }
        messages.push(Message { coefficients, factors, sprout: (mask, two), own: own.to_vec() });
    }
    assert!(rest.is_empty());
    Read { kind, flags, field, interval, notes, slots, axes, messages }
}

/// Returns the shape, and the elements in row-major order, from the values of all slots.
pub fn elements<T: Copy>(axes: &[(usize, usize)], plain: &[T]) -> (Vec<usize>, Vec<T>) {
    let shape: Vec<usize> = axes.iter().map(|a| a.0).collect();
    let position = |mut index: usize| {
        axes.iter().rev().fold(0, |p, (length, stride)| {
            let i = index % length;
            index /= length;
            p + i * stride
        })
    };
    let elements = (0..shape.iter().product()).map(|index| plain[position(index)]).collect();
    (shape, elements)
}

/// Returns shape and elements from the file of an array of numbers.
pub fn decrypt(file: &[u8], set: &Set, s: &[i64]) -> (Vec<usize>, Vec<f64>) {
    let Read { kind, flags, field, interval, slots, axes, messages, .. } =
        read_array(file, set, s, 28, 1);
    assert_eq!((kind, flags & 1, slots as u64), (5, 0, set.degree / 2));
    assert_eq!(f64::from_le_bytes(field), set.precision);
    let mut plain = Vec::new();
    for message in messages {
        let mut own = &message.own[..];
        let (mantissa, exponent) = (number(&mut own, 16), number(&mut own, 4) as u32 as i32);
        assert!(float(&mut own) > 0.0);
        let scale = mantissa as f64 * f64::from(exponent).exp2();
        plain.extend(message.values(set.degree).iter().map(|value| value.re / scale));
    }
    let (shape, values) = elements(&axes, &plain);
    if let Some((low, high)) = interval {
        assert!(values.iter().all(|x| low - 1e-3 <= *x && *x <= high + 1e-3), "{low} to {high}");
    }
    (shape, values)
}

/// Returns shape and elements from the file of an array of integers.
pub fn decrypt_integers(file: &[u8], set: &Set, s: &[i64]) -> (Vec<usize>, Vec<i64>) {
    let t = PLAIN_MODULUS;
    let Read { kind, flags, field, interval, slots, axes, messages, .. } =
        read_array(file, set, s, 8, t);
    assert_eq!(flags & 1, 0);
    assert_eq!((kind, slots as u64, u64::from_le_bytes(field)), (7, set.degree, t));
    let psi = set.psi(t);
    let mut plain = Vec::new();
    for message in messages {
        let factor = number(&mut &message.own[..], 8) as u64;
        let modulus = message.factors.iter().fold(1, |product, q| mul(product, q % t, t));
        let inverse = pow(t - mul(modulus, factor, t), t - 2, t);
        let residue = |c: &i64| mul(c.rem_euclid(t as i64) as u64, inverse, t);
        let residues: Vec<u64> = message.coefficients.iter().map(residue).collect();
        for j in 0..set.degree {
            let power = (0..j % (set.degree / 2)).fold(1, |p, _| p * 5 % (2 * set.degree));
            let power = if j < set.degree / 2 { power } else { 2 * set.degree - power };
            let x = pow(psi, power, t);
            plain.push(residues.iter().rev().fold(0, |y, c| (mul(y, x, t) + c) % t) as i64);
        }
    }
    let (shape, values) = elements(&axes, &plain);
    if let Some((low, high)) = interval {
        let signed = |x: i64| if low < 0.0 && x > t as i64 / 2 { x - t as i64 } else { x } as f64;
        assert!(values.iter().all(|x| (low..=high).contains(&signed(*x))), "{low} to {high}");
    }
    (shape, values)
}

/// Returns shape and elements from the file of an array of bits.
pub fn decrypt_bits(file: &[u8], set: &Set, s: &[i64]) -> (Vec<usize>, Vec<bool>) {
    let Read { kind, flags, field, interval, slots, axes, messages, .. } =
        read_array(file, set, s, 20, 1);
    assert_eq!(interval, None);
    let parts = 1 + (flags & 1) as u64;
    assert_eq!((kind, field, slots as u64), (8, [0; 8], parts * set.degree / 2));
    let mut plain = Vec::new();
    for message in messages {
        let mut own = &message.own[..];
        let (mantissa, exponent) = (number(&mut own, 16), number(&mut own, 4) as u32 as i32);
        let half = mantissa as f64 * f64::from(exponent).exp2() / 2.0;
        let values = message.values(set.degree);
        plain.extend(values.iter().map(|z| z.re > half));
        if parts == 2 {
            plain.extend(values.iter().map(|z| z.im > half));
        }
    }
    elements(&axes, &plain)
}

/// Returns the largest prime below `2^bits` that is 1 modulo `2n`.
pub fn prime(bits: u32, n: u64) -> u64 {
    let is_prime = |q: u64| (2..).take_while(|d| d * d <= q).all(|d| !q.is_multiple_of(d));
    (0..).map(|k| (1 << bits) - 2 * n * k + 1).find(|q| *q < 1 << bits && is_prime(*q)).unwrap()
}

/// Returns a ring of this degree modulo one prime.
pub fn ring(degree: u64, q: u64) -> Set {
    Set { degree, units: 1, factors: vec![q], odd: Vec::new(), two: 0, rank: 1, precision: 0.0 }
}
