//! Polynomials as packed limbs, one after the other.

use std::sync::OnceLock;

use hippocrene_ring::{Domain, Poly};
use hippocrene_rlwe::{Context, Modulus, Parameters};

use super::{
    FormatError,
    cursor::Cursor,
    packing::{pack, packed_bytes, unpack, width},
};

/// The largest of `N` uniform residues modulo `q` has at most this many bits less than `q - 1`.
///
/// The probability of an exception is at most `4^-N`.
const UNIFORM_SLACK: u32 = 2;

/// The number of bits of a residue at each position of a modulus.
#[derive(Debug, Clone)]
pub(super) struct Widths {
    factors: Modulus,
    /// In ascending order of the positions.
    widths: Vec<u8>,
}

impl Widths {
    /// The widths of the largest possible residues at each position of `PQ_max`.
    pub(super) fn of_moduli(parameters: &Parameters) -> Self {
        Self::of_modulus(parameters, parameters.full())
    }

    /// The widths of the largest possible residues at each position of `factors`.
    pub(super) fn of_modulus(parameters: &Parameters, factors: Modulus) -> Self {
        let widths = parameters.limb_moduli(factors).into_iter().map(|q| width(q - 1) as u8);
        Widths { factors, widths: widths.collect() }
    }

    /// The widths of the largest actual residues of the given polynomials at each position.
    pub(super) fn of_polys<'a>(polys: impl Iterator<Item = (Modulus, &'a Poly)> + Clone) -> Self {
        let factors = polys.clone().fold(Modulus::ONE, |all, (modulus, _)| all.lcm(modulus));
        let mut widths = vec![1u8; factors.limb_count()];
        for (modulus, poly) in polys {
            for (limb, factor) in poly.limbs().zip(modulus.factors()) {
                let bits = width(limb.iter().fold(0, |all, x| all | *x)) as u8;
                let entry = &mut widths[factors.limb_of(factor)];
                *entry = bits.max(*entry);
            }
        }
        Widths { factors, widths }
    }

    /// Reads the widths at the positions of `factors`, one byte each.
    pub(super) fn read(cursor: &mut Cursor<'_>, factors: Modulus) -> Result<Self, FormatError> {
        let widths = cursor.take(factors.limb_count())?.to_vec();
        match widths.iter().find(|w| !(1..=61).contains(*w)) {
            Some(w) => Err(FormatError::field("the bits of a residue", w, "1 to 61")),
            None => Ok(Widths { factors, widths }),
        }
    }

    /// The widths as bytes.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.widths
    }

    /// Checks that no width is larger than its modulus needs. All positions must exist in these
    /// parameters.
    pub(super) fn check(&self, parameters: &Parameters) -> Result<(), FormatError> {
        for (have, q) in self.widths.iter().zip(parameters.limb_moduli(self.factors)) {
            let need = width(q - 1);
            if u32::from(*have) > need {
                return Err(FormatError::field(
                    "the bits of a residue",
                    have,
                    format!("at most {need} for {q}"),
                ));
            }
        }
        Ok(())
    }

    /// Checks that the widths are not much smaller than those of uniform residues modulo `modulus`.
    ///
    /// The seeded half of a fresh ciphertext is uniform. This check prevents a short file from
    /// taking much memory.
    pub(super) fn check_uniform(
        &self,
        parameters: &Parameters,
        modulus: Modulus,
    ) -> Result<(), FormatError> {
        for (factor, q) in modulus.factors().zip(parameters.limb_moduli(modulus)) {
            let (have, least) = (self.of(factor), width(q - 1).saturating_sub(UNIFORM_SLACK));
            if have < least {
                let need = format!("at least {least} for {q}, where ciphertexts have seeds");
                return Err(FormatError::field("the bits of a residue", have, need));
            }
        }
        Ok(())
    }

    fn of(&self, factor: usize) -> u32 {
        u32::from(self.widths[self.factors.limb_of(factor)])
    }

    /// Bytes of a polynomial modulo `modulus`.
    pub(super) fn poly_bytes(&self, degree: usize, modulus: Modulus) -> u64 {
        modulus.factors().map(|i| packed_bytes(self.of(i), degree) as u64).sum()
    }

    /// Appends a polynomial modulo `modulus`.
    pub(super) fn write_poly(&self, out: &mut Vec<u8>, poly: &Poly, modulus: Modulus) {
        debug_assert!(
            poly.domain() == Domain::Evaluation && poly.limb_count() == modulus.limb_count()
        );
        for (limb, factor) in poly.limbs().zip(modulus.factors()) {
            pack(out, limb, self.of(factor));
        }
    }

    /// Reads a polynomial modulo `modulus`, and checks that every residue is below the modulus of
    /// its limb.
    pub(super) fn read_poly(
        &self,
        cursor: &mut Cursor<'_>,
        context: &Context,
        modulus: Modulus,
        what: &'static str,
    ) -> Result<Poly, FormatError> {
        let moduli = context.parameters().limb_moduli(modulus);
        cursor.enter(what);
        let mut limbs = Vec::with_capacity(moduli.len());
        for factor in modulus.factors() {
            let width = self.of(factor);
            limbs.push((width, cursor.take(packed_bytes(width, context.degree()))?));
        }
        let mut poly = context.zero(modulus, Domain::Evaluation);
        let bad = OnceLock::new();
        poly.for_each_limb(context.threads(), |limb, out| {
            let (bound, (width, packed)) = (moduli[limb], limbs[limb]);
            unpack(out, packed, width);
            // A negative difference sets the highest bit, which is quick to test. Only an invalid
            // file needs the position.
            if out.iter().fold(0, |all, x| all | (bound - 1).wrapping_sub(*x)) >> 63 == 1
                && let Some(position) = out.iter().position(|x| *x >= bound)
            {
                bad.get_or_init(|| FormatError::Residue {
                    what,
                    limb,
                    position,
                    value: out[position],
                    modulus: bound,
                });
            }
        });
        match bad.into_inner() {
            Some(error) => Err(error),
            None => Ok(poly),
        }
    }
}
