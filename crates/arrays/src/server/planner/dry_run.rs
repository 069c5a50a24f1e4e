//! Dry runs, which predict the result of an operation without computing it.

use std::{borrow::Cow, sync::Arc};

use hippocrene_bgv as bgv;
use hippocrene_ckks::Evaluator;
use hippocrene_ring::Domain;
use hippocrene_rlwe as rlwe;

use crate::server::{
    Server,
    planner::choose::{Decisions, locked},
};
use crate::{Array, CiphertextBody, Elements, Error, array::KnownSines};

const OPERATION: &str = "dry run";

impl Server {
    /// Returns a server that computes without residues, with keys for the same rotations and
    /// bootstraps as this one.
    ///
    /// Arrays for it come from [`Server::stand_in`]. Its results have the precision, the capacity
    /// and the bound that this server's results have. It shares the tables of this server, and has
    /// no look-up tables and no bits. Each call returns a server with a record of its own.
    ///
    /// It plans key switches, and predicts times, by [`rlwe::Profile::reference`]. So decisions by
    /// its results are the same on every machine.
    ///
    /// # Errors
    /// [`Error::Internal`] in case of a bug.
    pub fn dry_run(&self) -> Result<Server, Error> {
        let session = self.session.dry_run_beside();
        let context = session.context();
        let keys = Arc::new(self.evaluator.keys().without_residues(context.rlwe())?);
        let evaluator = Evaluator::new(Arc::clone(context), Arc::clone(&keys));
        let integers = session.integers().zip(self.scheme()).map(|(context, scheme)| {
            bgv::Evaluator::new(Arc::clone(context), keys).with_scheme(scheme)
        });
        let bootstraps = self.bootstraps.as_ref().map(|own| own.dry_run_beside(&evaluator));
        Ok(Server {
            integers,
            bootstraps: bootstraps.transpose()?.map(Arc::new),
            evaluator,
            session,
            key: self.key,
            policy: self.policy,
            transfer: None,
            pegasus: None,
            bits: None,
            k_means: None,
            slot_circuit: Arc::default(),
            maps: Arc::default(),
            dry: Arc::default(),
            plan_cache: Arc::default(),
            prices: Arc::clone(&self.prices),
            decisions: Decisions::Tried(Arc::default()),
        })
    }

    /// Returns the decision of `decide`, which gets the server for dry runs.
    pub(in crate::server) fn decided<T>(
        &self,
        decide: impl FnOnce(&Server) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut dry = locked(&self.dry);
        let dry = match &*dry {
            Some(dry) => dry,
            None => dry.insert(Box::new(self.dry_run()?)),
        };
        let scheme = |evaluator: bgv::Evaluator| match self.scheme() {
            Some(scheme) => evaluator.with_scheme(scheme),
            None => evaluator,
        };
        let integers = dry.integers.clone().map(scheme);
        decide(&Server { policy: self.policy, integers, ..Server::clone(dry) })
    }

    /// Returns an array without residues for this server that equals `a` in everything else.
    ///
    /// This server must be a [`Server::dry_run`] with the parameters of `a`.
    ///
    /// # Errors
    /// If the properties of `a` do not fit the parameters of this server.
    pub fn stand_in<F: Elements>(&self, a: &Array<F>) -> Result<Array<F>, Error> {
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
            .map(|array| array.with_terms(a.terms().clone()))
            .ok_or_else(|| Error::Internal(format!("{OPERATION}: an array of no ciphertexts")))
    }

    /// Returns stand-ins for these arrays ([`Server::stand_in`]).
    ///
    /// If two arrays have equal ciphertexts, their stand-ins share one set of ciphertexts. If an
    /// array remembers the results of bootstraps, so does its stand-in.
    pub(in crate::server) fn stand_ins<F: Elements, const COUNT: usize>(
        &self,
        arrays: [&Array<F>; COUNT],
    ) -> Result<[Array<F>; COUNT], Error> {
        let mut made: Vec<Array<F>> = Vec::with_capacity(COUNT);
        for array in arrays {
            let stand_in = self.stand_in(array)?;
            let equal = |other: &&Array<F>| array.has_ciphertexts_of(other) || array.is_same(other);
            let stand_in = match arrays[..made.len()].iter().position(equal) {
                Some(place) => stand_in.sharing_with(&made[place]),
                None => stand_in,
            };
            let without_residues = |known: &[F::Ciphertext]| {
                let (layout, form) = (array.layout().clone(), array.form().clone());
                let known =
                    Array::from_ciphertexts(layout, form, array.slot_contents(), known.to_vec());
                let full = self.stand_in(&known)?;
                let full = full.expanded(&self.session).into_iter().map(Cow::into_owned);
                Ok::<Vec<_>, Error>(full.collect())
            };
            if let Some(known) = array.known_refreshed() {
                stand_in.refreshed(|| without_residues(known))?;
            }
            if let Some(known) = array.known_sines() {
                let ciphertexts = without_residues(&known.ciphertexts)?;
                stand_in.remember_sines(KnownSines { ciphertexts, ..*known });
            }
            made.push(stand_in);
        }
        made.try_into()
            .map_err(|_| Error::Internal(format!("{OPERATION}: another number of arrays")))
    }
}

#[cfg(test)]
mod tests {
    use hippocrene_ring::Threads;
    use hippocrene_rlwe::{Context, Profile};

    use super::*;
    use crate::{
        ClientKey, EncryptedArray, EvaluationKeys, KeyRequest, Session, settings::tests::grafted,
    };

    /// A machine whose transforms are ten times as slow as those of `profile`.
    fn with_slow_transforms(profile: &Profile) -> Profile {
        let mut stored = serde_json::to_value(profile).unwrap();
        for limbs in stored["limbs"].as_array_mut().unwrap() {
            for name in ["forward", "inverse", "inverse_of_sum"] {
                let cost = limbs["cached"][name].as_f64().unwrap();
                limbs["cached"][name] = (10.0 * cost).into();
            }
        }
        serde_json::from_value(stored).unwrap()
    }

    #[test]
    fn machines_with_other_profiles_decide_alike() {
        let settings = grafted(14, &[40; 5], &[48; 3]);
        let parameters = settings.parameters().clone();
        let machine = |slow: bool| {
            let rlwe = Context::new(parameters.clone(), Threads::single()).unwrap();
            let profile = rlwe.profile().clone();
            let own = if slow { with_slow_transforms(&profile) } else { profile };
            Session::with_context(settings.clone(), rlwe.with_profile(own)).unwrap()
        };
        let (fast, slow) = (machine(false), machine(true));
        let client = ClientKey::in_session(fast.clone()).unwrap();
        let keys = client.evaluation_keys(&KeyRequest::default()).unwrap();
        let x = client.encrypt(&[0.5, 0.25, -1.0], &[3]).unwrap();
        let run = |session: &Session| {
            let keys = EvaluationKeys::new(session.clone(), keys.inner().clone());
            let server = Server::new(&keys).unwrap();
            let compute = |server: &Server, x: &EncryptedArray| {
                server.mul(&server.roll(x, -1, None).unwrap(), x).unwrap()
            };
            let dry = server.dry_run().unwrap();
            let decided = compute(&dry, &dry.stand_in(&x).unwrap());
            let rlwe = dry.session().context().rlwe();
            let top = parameters.top();
            let own = session.context().rlwe();
            let seconds = own.predict(top, parameters.base_gadget(), top).unwrap();
            let real = compute(&server, &x);
            assert_eq!(real.layout(), decided.layout());
            assert_eq!(real.capacity_bits(session), decided.capacity_bits(dry.session()));
            let estimates: Vec<_> = decided.estimates().collect();
            (rlwe.tally(), estimates, real.capacity_bits(session), seconds)
        };
        let (a, b) = (run(&fast), run(&slow));
        assert!(b.3 > 2.0 * a.3, "the machines differ");
        assert_eq!((a.0, a.1, a.2), (b.0, b.1, b.2));
    }
}
