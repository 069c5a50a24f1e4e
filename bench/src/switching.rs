//! One key switch for timing, in any combination of domains.

use std::rc::Rc;

use hippocrene_ring::{Domain, Poly, Seed};
use hippocrene_rlwe::{Destination, Gadget, Modulus, expand_uniform};

use crate::{Result, scheme::Scheme};

/// All combinations of the domains of input and output, over which MG23 averages.
pub const DOMAINS: [[Domain; 2]; 4] = [
    [Domain::Coefficient, Domain::Coefficient],
    [Domain::Coefficient, Domain::Evaluation],
    [Domain::Evaluation, Domain::Coefficient],
    [Domain::Evaluation, Domain::Evaluation],
];

/// The input of the key switch that ends a multiplication, as uniform polynomials modulo one `Q` in
/// both domains.
///
/// `c2` is switched, and `c0` and `c1` are added.
pub struct Parts {
    /// The modulus `Q`.
    pub modulus: Modulus,
    coefficients: [Poly; 3],
    values: [Poly; 3],
}

impl Parts {
    /// Generates fresh polynomials modulo `modulus`.
    ///
    /// # Errors
    /// When the system has no entropy.
    pub fn new(scheme: &Scheme, modulus: Modulus) -> Result<Self> {
        let (context, seed) = (&scheme.context, Seed::random()?);
        let values = [0, 1, 2].map(|stream| expand_uniform(context, &seed, stream, modulus));
        let coefficients = values.clone().map(|mut part| {
            context.to_coefficient(&mut part, modulus);
            part
        });
        Ok(Parts { modulus, coefficients, values })
    }

    /// Returns `c0`, `c1` and `c2` in `domain`.
    pub fn of(&self, domain: Domain) -> &[Poly; 3] {
        match domain {
            Domain::Coefficient => &self.coefficients,
            Domain::Evaluation => &self.values,
        }
    }
}

/// A key switch with the relinearisation key of a scheme, and the buffers for its result.
pub struct KeySwitch<'a> {
    scheme: &'a Scheme,
    parts: Rc<Parts>,
    gadget: Gadget,
    to: Modulus,
    out: [Poly; 2],
}

impl<'a> KeySwitch<'a> {
    /// Prepares a key switch from the modulus `from` to the modulus `to`.
    ///
    /// # Errors
    /// When the system has no entropy.
    pub fn new(scheme: &'a Scheme, gadget: Gadget, from: Modulus, to: Modulus) -> Result<Self> {
        Ok(Self::of(scheme, Rc::new(Parts::new(scheme, from)?), gadget, to))
    }

    /// As [`KeySwitch::new`] for these parts, which several key switches may share.
    pub fn of(scheme: &'a Scheme, parts: Rc<Parts>, gadget: Gadget, to: Modulus) -> Self {
        let out = [(); 2].map(|()| scheme.context.zero(to, Domain::Evaluation));
        KeySwitch { scheme, parts, gadget, to, out }
    }

    /// Switches from the domain `input` to the domain `output`.
    ///
    /// # Errors
    /// When the gadget does not fit the modulus.
    pub fn run(&mut self, [input, output]: [Domain; 2]) -> Result<()> {
        let Scheme { context, keys, .. } = self.scheme;
        let [c0, c1, c2] = self.parts.of(input);
        let decomposed = context.decompose_with(c2, self.parts.modulus, self.gadget)?;
        let [out0, out1] = &mut self.out;
        let destination = Destination { domain: output, ..Destination::new(self.to) };
        let key = keys.relinearisation("measure")?;
        Ok(context.switch_keys_into(
            [out0, out1],
            &decomposed,
            key,
            [Some(c0), Some(c1)],
            &destination,
        )?)
    }

    /// Switches in the evaluation domain, as products and rotations in CKKS do.
    ///
    /// # Errors
    /// As [`KeySwitch::run`].
    pub fn evaluate(&mut self) -> Result<()> {
        self.run([Domain::Evaluation; 2])
    }

    /// Switches once in each combination of domains.
    ///
    /// # Errors
    /// As [`KeySwitch::run`].
    pub fn all_domains(&mut self) -> Result<()> {
        DOMAINS.into_iter().try_for_each(|domains| self.run(domains))
    }

    /// The polynomials that are switched.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// The last result.
    pub fn result(&self) -> &[Poly; 2] {
        &self.out
    }
}
