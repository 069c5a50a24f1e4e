//! Operations on one parameter set, with keys, operands and buffers, to compare parameter sets.

use std::cell::RefCell;

use hippocrene_ring::{Domain, Poly, automorphism::galois_element_of_rotation};
use hippocrene_rlwe::{Ciphertext, Destination, Gadget, Modulus};

use crate::{
    Result,
    scheme::Scheme,
    session::{NamedWorks, Session},
};

/// One parameter set at one modulus. Its operations write into their own buffers.
pub struct Side {
    scheme: Scheme,
    from: Modulus,
    to: Modulus,
    a: Ciphertext,
    b: Ciphertext,
    product: Ciphertext,
    out: Ciphertext,
    switched: [Poly; 2],
}

/// An operation of a side.
pub type Operation = fn(&mut Side) -> Result<()>;

impl Side {
    /// Prepares fresh ciphertexts modulo `from`. Multiplications and rescales have results modulo
    /// `to`.
    ///
    /// # Errors
    /// When the moduli do not belong to this parameter set.
    pub fn new(scheme: Scheme, from: Modulus, to: Modulus) -> Result<Self> {
        let message = scheme.message(from);
        let (a, b) = (scheme.encrypt(&message, from)?, scheme.encrypt(&message, from)?);
        let (mut product, out) = (scheme.empty(), scheme.empty());
        scheme.context.tensor_into(&mut product, &a, &b)?;
        let switched = [(); 2].map(|()| scheme.context.zero(from, Domain::Evaluation));
        Ok(Side { scheme, from, to, a, b, product, out, switched })
    }

    /// As [`Side::new`] at the top modulus. Multiplications and rescales drop a unit.
    ///
    /// # Errors
    /// None that occur here.
    pub fn at_top(scheme: Scheme) -> Result<Self> {
        let (top, to) = (scheme.top(), scheme.below_top(1));
        Side::new(scheme, top, to)
    }

    /// Computes the product of two ciphertexts, which has three parts.
    ///
    /// # Errors
    /// None that occur here.
    pub fn tensor(&mut self) -> Result<()> {
        Ok(self.scheme.context.tensor_into(&mut self.product, &self.a, &self.b)?)
    }

    /// Relinearises the product at the same modulus.
    ///
    /// # Errors
    /// When there is no relinearisation key.
    pub fn key_switch(&mut self) -> Result<()> {
        let Scheme { context, keys, .. } = &self.scheme;
        Ok(context.relinearise_into(&mut self.out, &self.product, keys, self.from)?)
    }

    /// Relinearises with the digits and the special modulus of the parameter set at every modulus,
    /// as without level-aware gadgets.
    ///
    /// # Errors
    /// When there is no relinearisation key.
    pub fn key_switch_with_base_gadget(&mut self) -> Result<()> {
        let Scheme { context, keys, .. } = &self.scheme;
        let [c0, c1, c2] = [0, 1, 2].map(|k| self.product.part(k));
        let decomposed =
            context.decompose_with(c2, self.from, context.parameters().base_gadget())?;
        let [out0, out1] = &mut self.switched;
        let (key, destination) = (keys.relinearisation("measure")?, Destination::new(self.from));
        Ok(context.switch_keys_into(
            [out0, out1],
            &decomposed,
            key,
            [Some(c0), Some(c1)],
            &destination,
        )?)
    }

    /// Returns the number of limb transforms in a key switch, including those of products modulo a
    /// power of two.
    ///
    /// The first number is for the planned gadget, the second for the gadget of the parameter set.
    ///
    /// # Errors
    /// When the parameters have no key switching.
    pub fn transforms(&self) -> Result<[u64; 2]> {
        let context = &self.scheme.context;
        let count = |gadget: Gadget| -> Result<u64> {
            let all = context.key_switch_operations(self.from, gadget, self.from)?.total();
            Ok(all.forward + all.inverse)
        };
        Ok([count(context.gadget(self.from)?)?, count(context.parameters().base_gadget())?])
    }

    /// The number of limbs of the operands.
    pub fn limbs(&self) -> usize {
        self.from.limb_count()
    }

    /// Multiplies: tensor, relinearisation and rescale.
    ///
    /// # Errors
    /// When there is no relinearisation key.
    pub fn multiply(&mut self) -> Result<()> {
        let Scheme { context, keys, .. } = &self.scheme;
        Ok(context.multiply_into(&mut self.out, &self.a, &self.b, 1, keys, self.to)?)
    }

    /// Rotates by one slot.
    ///
    /// # Errors
    /// When there is no key for the rotation.
    pub fn rotate(&mut self) -> Result<()> {
        let Scheme { context, keys, .. } = &self.scheme;
        let element = galois_element_of_rotation(context.degree(), 1);
        Ok(context.apply_galois_into(&mut self.out, &self.a, element, keys)?)
    }

    /// Rescales to the modulus `to`.
    ///
    /// # Errors
    /// None that occur here.
    pub fn rescale(&mut self) -> Result<()> {
        Ok(self.scheme.context.switch_ciphertext_into(&mut self.out, &self.a, self.to)?)
    }

    /// Rescales by dividing by the last unit.
    ///
    /// # Errors
    /// When there is only one unit.
    pub fn drop_unit(&mut self) -> Result<()> {
        let units = self.from.words();
        let last = units.factors().next_back().ok_or("a modulus without a unit")?;
        let to = self.from.without(Modulus::of_factor(last));
        Ok(self.scheme.context.switch_ciphertext_into(&mut self.out, &self.a, to)?)
    }
}

/// Returns the milliseconds of each operation on each side, all of them sampled in turn.
///
/// # Errors
/// As the operations.
pub fn compare<const K: usize, const S: usize>(
    session: &mut Session,
    log_n: u32,
    sides: [Side; S],
    operations: [Operation; K],
) -> Result<[[f64; S]; K]> {
    let sides = sides.map(RefCell::new);
    let mut works = NamedWorks::default();
    for operation in operations {
        for side in &sides {
            works.add("", move || operation(&mut side.borrow_mut()));
        }
    }
    let mut times = session.time_named(log_n, works)?.into_iter().map(|(_, seconds)| 1e3 * seconds);
    let mut out = [[f64::NAN; S]; K];
    for (time, slot) in times.by_ref().zip(out.as_flattened_mut()) {
        *slot = time;
    }
    Ok(out)
}
