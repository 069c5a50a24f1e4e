//! Two parameter sets, operation by operation: keys, operands and room for results of each.

use std::cell::RefCell;

use hippocrene_ring::{Domain, Poly, automorphism::galois_element_of_rotation};
use hippocrene_rlwe::{Ciphertext, Destination, Gadget, Modulus};

use crate::{
    Result,
    scheme::Scheme,
    session::{NamedWorks, Session},
};

/// One parameter set at one modulus. The operations write into room of their own.
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
    /// Fresh ciphertexts modulo `from`; multiplications and rescales end modulo `to`.
    ///
    /// # Errors
    /// When the moduli are not of this parameter set.
    pub fn new(scheme: Scheme, from: Modulus, to: Modulus) -> Result<Self> {
        let message = scheme.message(from);
        let (a, b) = (scheme.encrypt(&message, from)?, scheme.encrypt(&message, from)?);
        let (mut product, out) = (scheme.empty(), scheme.empty());
        scheme.context.tensor_into(&mut product, &a, &b)?;
        let switched = [(); 2].map(|()| scheme.context.zero(from, Domain::Evaluation));
        Ok(Side { scheme, from, to, a, b, product, out, switched })
    }

    /// [`Side::new`] at the top modulus; multiplications and rescales drop a unit.
    ///
    /// # Errors
    /// None that occur here.
    pub fn at_top(scheme: Scheme) -> Result<Self> {
        let (top, to) = (scheme.top(), scheme.below_top(1));
        Side::new(scheme, top, to)
    }

    /// The product of two ciphertexts, of three parts.
    ///
    /// # Errors
    /// None that occur here.
    pub fn tensor(&mut self) -> Result<()> {
        Ok(self.scheme.context.tensor_into(&mut self.product, &self.a, &self.b)?)
    }

    /// The product brought back to two parts, at the same modulus.
    ///
    /// # Errors
    /// When there is no relinearisation key.
    pub fn key_switch(&mut self) -> Result<()> {
        let Scheme { context, keys, .. } = &self.scheme;
        Ok(context.relinearise_into(&mut self.out, &self.product, keys, self.from)?)
    }

    /// The same with the digits and the special modulus of the parameter set, whatever the modulus:
    /// as it is done without level-aware gadgets.
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

    /// How many transforms of limbs key switches take, those of products modulo a power of two
    /// included: with the planned gadget and with that of the parameter set.
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

    /// How many limbs the operands have.
    pub fn limbs(&self) -> usize {
        self.from.limb_count()
    }

    /// Tensor, relinearisation and rescale.
    ///
    /// # Errors
    /// When there is no relinearisation key.
    pub fn multiply(&mut self) -> Result<()> {
        let Scheme { context, keys, .. } = &self.scheme;
        Ok(context.multiply_into(&mut self.out, &self.a, &self.b, 1, keys, self.to)?)
    }

    /// A rotation by one slot.
    ///
    /// # Errors
    /// When there is no key for it.
    pub fn rotate(&mut self) -> Result<()> {
        let Scheme { context, keys, .. } = &self.scheme;
        let element = galois_element_of_rotation(context.degree(), 1);
        Ok(context.apply_galois_into(&mut self.out, &self.a, element, keys)?)
    }

    /// A rescale.
    ///
    /// # Errors
    /// None that occur here.
    pub fn rescale(&mut self) -> Result<()> {
        Ok(self.scheme.context.switch_ciphertext_into(&mut self.out, &self.a, self.to)?)
    }

    /// A plain rescale: the last unit is divided away.
    ///
    /// # Errors
    /// When there is one unit alone.
    pub fn drop_unit(&mut self) -> Result<()> {
        let units = self.from.words();
        let last = units.factors().next_back().ok_or("a modulus without a unit")?;
        let to = self.from.without(Modulus::of_factor(last));
        Ok(self.scheme.context.switch_ciphertext_into(&mut self.out, &self.a, to)?)
    }
}

/// Milliseconds of every operation on every side, all of them sampled in turn.
///
/// # Errors
/// Those of the operations.
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
