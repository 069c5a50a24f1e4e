//! Encrypted arrays.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

use hippocrene_ckks::bootstrap::{SineErrors, SineUse};
use hippocrene_ring::Poly;
use hippocrene_rlwe::{self as rlwe, Fingerprint};

use crate::{
    CiphertextBody, Elements, Error, Layout, Padding, Session, SlotContents, terms::Terms,
};

/// Results of bootstraps of an array, set by the first operation that needs them, so that later
/// operations reuse them.
#[derive(Debug, Clone)]
struct Bootstrapped<C> {
    values: OnceLock<Vec<C>>,
    sines: OnceLock<KnownSines<C>>,
}

impl<C> Default for Bootstrapped<C> {
    fn default() -> Self {
        Bootstrapped { values: OnceLock::new(), sines: OnceLock::new() }
    }
}

/// Sines of the elements of an array, from a bootstrap.
#[derive(Debug, Clone)]
pub(crate) struct KnownSines<C> {
    /// The interval that the angle belongs to, and the use.
    pub(crate) request: ((f64, f64), SineUse),
    pub(crate) ciphertexts: Vec<C>,
    /// The sines are `sin(angle t)`, where `t` rises from -1 to 1 over the interval.
    pub(crate) angle: f64,
    /// The largest errors among all ciphertexts.
    pub(crate) errors: SineErrors,
}

/// An encrypted array: a shape, a layout, and ciphertexts that hold the elements in the slots that
/// the layout names.
///
/// `F` is the kind of the elements: numbers, integers or bits.
///
/// ```
/// # fn main() -> Result<(), hippocrene::Error> {
/// use hippocrene::{CiphertextBody, ClientKey, Preset};
///
/// let client = ClientKey::generate(Preset::by_name("n13")?.settings()?)?;
/// let x = client.encrypt(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
/// assert_eq!((x.shape(), x.size()), (&[2, 3][..], 6));
/// assert_eq!(x.layout().strides(), [4, 1]);
/// assert_eq!(x.key(), client.fingerprint());
/// assert!(matches!(x.bodies(), [CiphertextBody::Seeded(_)])); // one ciphertext, with a seed
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Array<F: Elements> {
    layout: Layout,
    form: F,
    /// The contents of the slots without an element.
    slots: SlotContents,
    bodies: Vec<CiphertextBody<F>>,
    /// The results of bootstraps. The clones of an array share this cell, and nothing else does.
    bootstrapped: Arc<Bootstrapped<F::Ciphertext>>,
    /// The summands, if this array is a sum.
    terms: Terms,
    /// The fingerprint of the notes of an interface, if the elements follow them.
    notes: Option<Fingerprint>,
}

impl<F: Elements> CiphertextBody<F> {
    /// Returns the full ciphertext, expanded from its seed if necessary.
    fn expand(&self, session: &Session) -> Cow<'_, F::Ciphertext> {
        match self {
            CiphertextBody::Full(c) => Cow::Borrowed(c),
            CiphertextBody::Seeded(c) => c.expand(session),
        }
    }

    fn key(&self) -> Fingerprint {
        match self {
            CiphertextBody::Full(c) => F::inner(c).key(),
            CiphertextBody::Seeded(c) => F::inner_seeded(c.seeded()).key(),
        }
    }

    fn parameters(&self) -> Fingerprint {
        match self {
            CiphertextBody::Full(c) => F::inner(c).parameters(),
            CiphertextBody::Seeded(c) => F::inner_seeded(c.seeded()).parameters(),
        }
    }

    /// True if both hold the same residues. Residues of different encryptions are never the same.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (CiphertextBody::Full(a), CiphertextBody::Full(b)) => a == b,
            (CiphertextBody::Seeded(_), CiphertextBody::Seeded(_)) => self.c0() == other.c0(),
            _ => false,
        }
    }

    /// Returns the first part of the ciphertext.
    pub(crate) fn c0(&self) -> &Poly {
        match self {
            CiphertextBody::Full(c) => F::inner(c).part(0),
            CiphertextBody::Seeded(c) => F::inner_seeded(c.seeded()).c0(),
        }
    }

    /// Returns the modulus of the ciphertext.
    pub fn modulus(&self) -> rlwe::Modulus {
        match self {
            CiphertextBody::Full(c) => F::inner(c).modulus(),
            CiphertextBody::Seeded(c) => F::inner_seeded(c.seeded()).modulus(),
        }
    }
}

impl<F: Elements> Array<F> {
    /// Puts an array together from its parts.
    ///
    /// Returns `None` unless there are as many ciphertexts as the layout needs, all of one key, one
    /// parameter set and this form. A layout whose number of slots differs from that of the
    /// ciphertexts is only refused where the array is used.
    pub fn from_parts(
        layout: Layout,
        form: F,
        slots: SlotContents,
        bodies: Vec<CiphertextBody<F>>,
    ) -> Option<Self> {
        let first = bodies.first()?;
        let fits = |b: &CiphertextBody<F>| {
            b.key() == first.key() && b.parameters() == first.parameters() && form.fits(b)
        };
        let alike = bodies.iter().all(fits) && bodies.len() == layout.ciphertexts();
        alike.then(|| Array::of_bodies(layout, form, slots, bodies))
    }

    pub(crate) fn from_ciphertexts(
        layout: Layout,
        form: F,
        slots: SlotContents,
        ciphertexts: Vec<F::Ciphertext>,
    ) -> Self {
        debug_assert_eq!(layout.ciphertexts(), ciphertexts.len());
        let bodies = ciphertexts.into_iter().map(CiphertextBody::Full).collect();
        Array::of_bodies(layout, form, slots, bodies)
    }

    fn of_bodies(
        layout: Layout,
        form: F,
        slots: SlotContents,
        bodies: Vec<CiphertextBody<F>>,
    ) -> Self {
        let (bootstrapped, terms) = (Arc::default(), Terms::default());
        Array { layout, form, slots, bodies, bootstrapped, terms, notes: None }
    }

    /// Returns the same array with another form.
    pub(crate) fn with_form(mut self, form: F) -> Self {
        self.form = form;
        self
    }

    /// Returns the shape.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Returns the number of elements.
    pub fn size(&self) -> usize {
        self.layout.size()
    }

    /// Returns the layout, which names the slot of each element.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the properties that all elements share.
    pub fn form(&self) -> &F {
        &self.form
    }

    pub(crate) fn form_mut(&mut self) -> &mut F {
        &mut self.form
    }

    /// Returns the contents of the slots without an element.
    pub fn slot_contents(&self) -> SlotContents {
        self.slots
    }

    /// True if all slots without an element are zero.
    pub fn is_clean(&self) -> bool {
        self.slots == SlotContents::Zero
    }

    /// True if some slot holds neither an element nor a copy of one. Slots with zeros count.
    pub(crate) fn has_others(&self) -> bool {
        let copies = |period| period == self.size() && self.layout.last() < period;
        !(self.layout.is_full() || self.slots.period().is_some_and(copies))
    }

    /// True if a product with one number may leave the slots without an element as they are.
    ///
    /// That is so if they are zero, if they repeat, or if there are none.
    pub(crate) fn is_regular(&self) -> bool {
        self.slots != SlotContents::Stray || self.layout.is_full()
    }

    /// True if there are stray slots: slots with something other than an element, a copy of one, or
    /// zero.
    pub fn has_strays(&self) -> bool {
        self.has_others()
            && !matches!(
                self.slots,
                SlotContents::Zero | SlotContents::Repeats { padding: Padding::Zero, .. }
            )
    }

    /// Returns the ciphertexts.
    pub fn bodies(&self) -> &[CiphertextBody<F>] {
        &self.bodies
    }

    pub(crate) fn bodies_mut(&mut self) -> &mut [CiphertextBody<F>] {
        self.bootstrapped = Arc::default();
        &mut self.bodies
    }

    /// Returns the fingerprint of the key that decrypts the array.
    pub fn key(&self) -> Fingerprint {
        self.bodies[0].key()
    }

    /// Returns the digest of the parameters of the array.
    pub fn parameters(&self) -> Fingerprint {
        self.bodies[0].parameters()
    }

    /// True if the parameters are those of the session.
    pub(crate) fn is_of(&self, session: &Session) -> bool {
        self.parameters() == session.context().parameters().digest()
    }

    /// True if the array belongs to a [`Simulation`](crate::Simulation) and so has no residues.
    pub fn is_simulated(&self) -> bool {
        self.bodies.iter().any(|body| body.c0().is_dry_run())
    }

    /// Checks that the array has residues, as writing it needs.
    ///
    /// # Errors
    /// [`Error::Argument`] if it has none.
    pub fn check_residues(&self, operation: &'static str) -> Result<(), Error> {
        match self.is_simulated() {
            false => Ok(()),
            true => Err(Error::argument(
                operation,
                "this is an array of a simulation, which has no residues",
            )),
        }
    }

    /// Returns the same ciphertexts with these contents declared for slots without an element.
    pub(crate) fn with_slot_contents(mut self, slots: SlotContents) -> Self {
        self.slots = slots;
        self
    }

    /// Returns copies of these arrays that remember bootstraps of their own. Arrays that share
    /// their ciphertexts still do.
    pub(crate) fn detached<const COUNT: usize>(arrays: [&Self; COUNT]) -> [Self; COUNT] {
        let mut cells: Vec<(&Self, Arc<Bootstrapped<_>>)> = Vec::new();
        arrays.map(|array| {
            let known = cells.iter().find(|(other, _)| array.has_ciphertexts_of(other));
            let bootstrapped = match known {
                Some((_, cell)) => Arc::clone(cell),
                None => {
                    let cell = Arc::new(Bootstrapped::clone(&array.bootstrapped));
                    cells.push((array, Arc::clone(&cell)));
                    cell
                }
            };
            Array { bootstrapped, ..array.clone() }
        })
    }

    /// Returns the same array, which shares its ciphertexts with `other` if these are equal.
    pub(crate) fn sharing_with(mut self, other: &Self) -> Self {
        self.bootstrapped = Arc::clone(&other.bootstrapped);
        self
    }

    /// Returns the ciphertexts after a bootstrap, if the array has been bootstrapped.
    pub(crate) fn known_refreshed(&self) -> Option<&[F::Ciphertext]> {
        self.bootstrapped.values.get().map(Vec::as_slice)
    }

    /// Returns the sines of the elements, if a bootstrap has computed them.
    pub(crate) fn known_sines(&self) -> Option<&KnownSines<F::Ciphertext>> {
        self.bootstrapped.sines.get()
    }

    /// True if a bootstrap has computed these sines of the elements.
    pub(crate) fn knows_sines(&self, request: ((f64, f64), SineUse)) -> bool {
        self.known_sines().is_some_and(|known| known.request == request)
    }

    /// Remembers sines of the elements, unless others are known.
    pub(crate) fn remember_sines(&self, sines: KnownSines<F::Ciphertext>) {
        let _known = self.bootstrapped.sines.set(sines);
    }

    /// True if both arrays share their ciphertexts, whatever their layouts are.
    pub(crate) fn has_ciphertexts_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.bootstrapped, &other.bootstrapped)
    }

    /// True if both arrays hold the same elements with the same errors, element by element.
    ///
    /// That is so for an array and its clones, and for arrays that were loaded from the same bytes.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        if self.layout != other.layout {
            return false;
        }
        let all_same = || {
            let mut pairs = self.bodies.iter().zip(&other.bodies);
            // Ciphertexts of a simulation have no residues, so all of them are equal.
            !self.is_simulated() && pairs.all(|(a, b)| a.is_same(b))
        };
        self.has_ciphertexts_of(other) || all_same()
    }

    /// Returns the summands of the array. An array that is not a sum is its own summand.
    pub(crate) fn terms(&self) -> &Terms {
        &self.terms
    }

    /// Returns the same array with `terms` as its summands.
    pub(crate) fn with_terms(mut self, terms: Terms) -> Self {
        self.terms = terms;
        self
    }

    /// Returns the fingerprint of the notes that the elements follow, if they follow any.
    ///
    /// Inputs of a model follow the notes on how to encode rows, and its results those on how to
    /// read them ([`crate::Notes`]). The results of all other operations follow none.
    pub fn notes(&self) -> Option<Fingerprint> {
        self.notes
    }

    /// Returns the same array, whose elements follow the notes with this fingerprint.
    pub fn with_notes(mut self, notes: Option<Fingerprint>) -> Self {
        self.notes = notes;
        self
    }

    /// Returns the same ciphertexts with another layout of as many ciphertexts.
    ///
    /// The interval is dropped, since other slots may be elements now.
    pub(crate) fn with_layout(mut self, layout: Layout) -> Self {
        debug_assert_eq!(layout.ciphertexts(), self.bodies.len());
        self.layout = layout;
        self.form = self.form.without_interval();
        self.notes = None;
        self
    }

    /// Returns the elements that `layout` names in the ciphertexts from number `first` on.
    ///
    /// The interval is dropped, since these may be other slots than the elements of this array.
    pub(crate) fn part(&self, first: usize, layout: Layout, slots: SlotContents) -> Self {
        let bodies = self.bodies[first..first + layout.ciphertexts()].to_vec();
        Array::of_bodies(layout, self.form.clone().without_interval(), slots, bodies)
    }

    /// Returns the same elements bootstrapped. Calls `bootstrap` only if this array has not been
    /// bootstrapped before.
    pub(crate) fn refreshed(
        &self,
        bootstrap: impl FnOnce() -> Result<Vec<F::Ciphertext>, Error>,
    ) -> Result<Self, Error> {
        let values = &self.bootstrapped.values;
        let ciphertexts = match values.get() {
            Some(known) => known,
            None => {
                let made = bootstrap()?;
                values.get_or_init(|| made)
            }
        };
        let (layout, form) = (self.layout.clone(), self.form.clone());
        let refreshed = Array::from_ciphertexts(layout, form, self.slots, ciphertexts.clone());
        Ok(refreshed.with_notes(self.notes))
    }

    /// Returns the full ciphertexts, expanded from their seeds if necessary.
    pub(crate) fn expanded(&self, session: &Session) -> Vec<Cow<'_, F::Ciphertext>> {
        let whole = |b: &CiphertextBody<F>| matches!(b, CiphertextBody::Full(_));
        if self.bodies.iter().all(whole) {
            return self.bodies.iter().map(|b| b.expand(session)).collect();
        }
        session
            .context()
            .rlwe()
            .threads()
            .map(self.bodies.len(), |i| self.bodies[i].expand(session))
    }
}
