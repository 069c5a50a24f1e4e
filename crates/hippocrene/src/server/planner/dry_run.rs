//! Dry runs, which predict the result of an operation without computing it.

use std::sync::Arc;

use hippocrene_bgv as bgv;
use hippocrene_ckks::Evaluator;
use hippocrene_ring::Domain;
use hippocrene_rlwe as rlwe;

use crate::server::{Server, planner::policy::Policy};
use crate::{Array, CiphertextBody, Error, wire::FileForm};

const OPERATION: &str = "dry run";

impl Server {
    /// Returns a server that computes without residues, with keys for the same rotations and
    /// bootstraps as this one.
    ///
    /// Arrays for it come from [`Server::stand_in`]. Its results have the precision, the capacity
    /// and the bound that this server's results have. It is made once, shares the tables of this
    /// server, and has no look-up tables and no bits.
    ///
    /// It plans key switches, and predicts times, by [`rlwe::Profile::reference`]. So decisions by
    /// its results are the same on every machine.
    ///
    /// # Errors
    /// [`Error::Internal`] in case of a bug.
    pub fn dry_run(&self) -> Result<Server, Error> {
        let dry = match self.dry.get() {
            Some(dry) => dry,
            None => {
                let made = self.without_residues()?;
                self.dry.get_or_init(|| Box::new(made))
            }
        };
        let integers =
            dry.integers.clone().zip(self.scheme()).map(|(e, scheme)| e.with_scheme(scheme));
        Ok(Server { policy: self.policy, integers, ..Server::clone(dry) })
    }

    fn without_residues(&self) -> Result<Server, Error> {
        let session = self.session.dry_run_beside();
        let context = session.context();
        let keys = Arc::new(self.evaluator.keys().without_residues(context.rlwe())?);
        let evaluator = Evaluator::new(Arc::clone(context), Arc::clone(&keys));
        let integers =
            session.integers().map(|context| bgv::Evaluator::new(Arc::clone(context), keys));
        let bootstraps = self.bootstraps.as_ref().map(|own| own.dry_run_beside(&evaluator));
        Ok(Server {
            integers,
            bootstraps: bootstraps.transpose()?.map(Arc::new),
            evaluator,
            session,
            key: self.key,
            policy: Policy::default(),
            transfer: None,
            pegasus: None,
            bits: None,
            k_means: None,
            plans: Arc::clone(&self.plans),
            maps: Arc::default(),
            dry: Arc::default(),
        })
    }

    /// Returns an array without residues for this server that equals `a` in everything else.
    ///
    /// This server must be a [`Server::dry_run`] with the parameters of `a`.
    ///
    /// # Errors
    /// If the properties of `a` do not fit the parameters of this server.
    pub fn stand_in<F: FileForm>(&self, a: &Array<F>) -> Result<Array<F>, Error> {
        let context = self.session.context().rlwe();
        let without_residues = |body: &CiphertextBody<F>| {
            let (noise, parts) = match body {
                CiphertextBody::Full(c) => (F::inner(c).noise(), F::inner(c).parts().len()),
                CiphertextBody::Seeded(_) => (F::fresh_noise(), 2),
            };
            let modulus = body.modulus();
            let parts = (0..parts).map(|_| context.zero(modulus, Domain::Evaluation)).collect();
            let inner = rlwe::Ciphertext::from_parts(context, parts, modulus, noise, self.key)?;
            Ok(CiphertextBody::Full(a.form().full(&self.session, inner, F::own(body))?))
        };
        let bodies = a.bodies().iter().map(without_residues).collect::<Result<Vec<_>, Error>>()?;
        Array::from_parts(a.layout().clone(), a.form().clone(), a.slot_contents(), bodies)
            .ok_or_else(|| Error::Internal(format!("{OPERATION}: an array of no ciphertexts")))
    }
}
