//! Encrypted arrays.

use std::{
    borrow::Cow,
    sync::{Arc, OnceLock},
};

use hippocrene_rlwe::{self as rlwe, Fingerprint};

use crate::{
    CiphertextBody, Elements, Error, Layout, Padding, Session, SlotContents, terms::Terms,
};

/// An encrypted array: a shape, and ciphertexts that hold the elements in the slots that the layout
/// names. What the elements are is said by `F`.
#[derive(Debug, Clone)]
pub struct Array<F: Elements> {
    layout: Layout,
    form: F,
    /// What the slots hold that hold no element.
    slots: SlotContents,
    bodies: Vec<CiphertextBody<F>>,
    /// The same elements bootstrapped, once an operation has needed that: it may not be the only
    /// one.
    refreshed: Arc<OnceLock<Vec<F::Ciphertext>>>,
    /// The arrays that it is a sum of.
    terms: Terms,
}

impl<F: Elements> CiphertextBody<F> {
    /// The whole ciphertext.
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

    /// The modulus.
    pub(crate) fn modulus(&self) -> rlwe::Modulus {
        match self {
            CiphertextBody::Full(c) => F::inner(c).modulus(),
            CiphertextBody::Seeded(c) => F::inner_seeded(c.seeded()).modulus(),
        }
    }
}

impl<F: Elements> Array<F> {
    /// Puts an array together: as many ciphertexts as the layout has, of one key, one parameter set
    /// and this form. `None` when they are not. A layout of another number of slots than they have
    /// is refused where the array is used.
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
        alike.then_some(Array {
            layout,
            form,
            slots,
            bodies,
            refreshed: Arc::default(),
            terms: Terms::default(),
        })
    }

    pub(crate) fn from_ciphertexts(
        layout: Layout,
        form: F,
        slots: SlotContents,
        ciphertexts: Vec<F::Ciphertext>,
    ) -> Self {
        debug_assert_eq!(layout.ciphertexts(), ciphertexts.len());
        let bodies = ciphertexts.into_iter().map(CiphertextBody::Full).collect();
        Array { layout, form, slots, bodies, refreshed: Arc::default(), terms: Terms::default() }
    }

    /// The same of another form.
    pub(crate) fn with_form(mut self, form: F) -> Self {
        self.form = form;
        self
    }

    /// The shape.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// How many elements there are.
    pub fn size(&self) -> usize {
        self.layout.size()
    }

    /// Where the elements stand.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What holds for all elements alike.
    pub fn form(&self) -> &F {
        &self.form
    }

    pub(crate) fn form_mut(&mut self) -> &mut F {
        &mut self.form
    }

    /// What the slots hold that hold no element.
    pub fn slot_contents(&self) -> SlotContents {
        self.slots
    }

    /// Whether the slots that hold no element are zero.
    pub fn is_clean(&self) -> bool {
        self.slots == SlotContents::Zero
    }

    /// Whether there are slots with something else than an element or a copy of one.
    pub(crate) fn has_others(&self) -> bool {
        let copies = |period| period == self.size() && self.layout.last() < period;
        !(self.layout.is_full() || self.slots.period().is_some_and(copies))
    }

    /// Whether a product with one number may leave slots without an element as they are: they hold
    /// 0, there are none, or they repeat.
    pub(crate) fn is_regular(&self) -> bool {
        self.slots != SlotContents::Stray || self.layout.is_full()
    }

    /// Whether there are slots with something else than an element, a copy of one, or 0.
    pub fn has_strays(&self) -> bool {
        self.has_others()
            && !matches!(
                self.slots,
                SlotContents::Zero | SlotContents::Repeats { padding: Padding::Zero, .. }
            )
    }

    /// The ciphertexts.
    pub fn bodies(&self) -> &[CiphertextBody<F>] {
        &self.bodies
    }

    pub(crate) fn bodies_mut(&mut self) -> &mut [CiphertextBody<F>] {
        self.refreshed = Arc::default();
        &mut self.bodies
    }

    /// The fingerprint of the key that decrypts it.
    pub fn key(&self) -> Fingerprint {
        self.bodies[0].key()
    }

    /// The digest of its parameters.
    pub fn parameters(&self) -> Fingerprint {
        self.bodies[0].parameters()
    }

    /// Whether its parameters are those of the session.
    pub(crate) fn is_of(&self, session: &Session) -> bool {
        self.parameters() == session.context().parameters().digest()
    }

    /// Whether it is one of a [`Simulation`](crate::Simulation), without residues.
    pub fn is_simulated(&self) -> bool {
        self.bodies.iter().any(|body| match body {
            CiphertextBody::Full(c) => F::inner(c).part(0).is_hollow(),
            CiphertextBody::Seeded(c) => F::inner_seeded(c.seeded()).c0().is_hollow(),
        })
    }

    /// Checks that it has residues to be written.
    ///
    /// # Errors
    /// [`Error::Argument`] when it has none.
    pub fn check_residues(&self, operation: &'static str) -> Result<(), Error> {
        match self.is_simulated() {
            false => Ok(()),
            true => Err(Error::argument(
                operation,
                "this is an array of a simulation, which has no residues",
            )),
        }
    }

    /// The same ciphertexts, of which this is known of slots that hold no element.
    pub(crate) fn with_slot_contents(mut self, slots: SlotContents) -> Self {
        self.slots = slots;
        self
    }

    /// Whether these are the ciphertexts of the other array, seen with the same layout or another.
    pub(crate) fn has_ciphertexts_of(&self, other: &Self) -> bool {
        // Clones of an array share this, and nothing else does.
        Arc::ptr_eq(&self.refreshed, &other.refreshed)
    }

    /// The arrays that it is a sum of.
    pub(crate) fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The array as a sum of these.
    pub(crate) fn with_terms(mut self, terms: Terms) -> Self {
        self.terms = terms;
        self
    }

    /// The same ciphertexts seen with another layout of the same ciphertext count. Of the interval
    /// nothing is known then, since other slots may be elements.
    pub(crate) fn with_layout(mut self, layout: Layout) -> Self {
        debug_assert_eq!(layout.ciphertexts(), self.bodies.len());
        self.layout = layout;
        self.form = self.form.without_interval();
        self
    }

    /// The elements that a layout names in the ciphertexts from number `first` on. Of their
    /// interval nothing is known, since they may be other slots than the elements of this array.
    pub(crate) fn part(&self, first: usize, layout: Layout, slots: SlotContents) -> Self {
        let bodies = self.bodies[first..first + layout.ciphertexts()].to_vec();
        let form = self.form.clone().without_interval();
        Array { layout, form, slots, bodies, refreshed: Arc::default(), terms: Terms::default() }
    }

    /// The same elements bootstrapped, by `bootstrap` if they have not been yet.
    pub(crate) fn refreshed(
        &self,
        bootstrap: impl FnOnce() -> Result<Vec<F::Ciphertext>, Error>,
    ) -> Result<Self, Error> {
        let ciphertexts = match self.refreshed.get() {
            Some(known) => known,
            None => {
                let made = bootstrap()?;
                self.refreshed.get_or_init(|| made)
            }
        };
        let (layout, form) = (self.layout.clone(), self.form.clone());
        Ok(Array::from_ciphertexts(layout, form, self.slots, ciphertexts.clone()))
    }

    /// The whole ciphertexts.
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
