//! Files of keys.

use std::collections::BTreeMap;

use hippocrene_arrays::{ClientKey, Error, EvaluationKeys, PublicKey, Session, TransferKey};
use hippocrene_ring::sample::Seed;
use hippocrene_rlwe::{self as rlwe, Fingerprint, Modulus, Parameters, SwitchingKey};
use zeroize::Zeroizing;

use super::{
    FormatError, Kind, Stored,
    bit_keys::{bit_keys_bytes, read_bit_keys, write_bit_keys},
    bootstrapping::{bootstrapping_bytes, read_bootstrapping, write_bootstrapping},
    cursor::Cursor,
    inspect::inspect_keys,
    look_ups::{LookUpHead, look_up_bytes, write_look_ups},
    memory,
    poly::Widths,
    stored::{Input, Output},
    switching_keys::{
        MODULUS_BYTES, SEED_BYTES, read_key_modulus, read_switching_key, switching_key_bytes,
        write_modulus, write_switching_key,
    },
};

/// The flag of files with a relinearisation key.
const RELINEARISATION: u32 = 1;
/// The flag of files with keys for bootstrapping.
const BOOTSTRAPPING: u32 = 2;
/// The flag of files with keys for look-up tables.
const LOOK_UPS: u32 = 4;
/// The flag of files with keys for bits.
const BITS: u32 = 8;

/// Reads a secret seed and wipes its buffer.
fn secret_seed(cursor: &mut Cursor<'_>) -> Result<Seed, FormatError> {
    let bytes = Zeroizing::new(cursor.array()?);
    Ok(Seed::from_bytes(*bytes))
}

impl Stored for ClientKey {
    const KIND: Kind = Kind::SecretKey;
    type Bytes = Zeroizing<Vec<u8>>;
    type With<'a> = usize;

    fn encode<E>(&self, out: &mut Output<'_, E>) -> Result<(), E> {
        let payload = SEED_BYTES as u64;
        let out = out.begin_key(Self::KIND, self.session(), self.fingerprint(), payload);
        out.extend(self.seed().as_bytes());
        Ok(())
    }

    fn decode(input: &mut Input<'_>, threads: usize) -> Result<Self, Error> {
        let (settings, owner, cursor) = (input.settings()?, input.header.key, &mut input.cursor);
        cursor.enter("seed");
        cursor.expect_left(SEED_BYTES as u64)?;
        let key = ClientKey::from_seed(settings, secret_seed(cursor)?, threads)?;
        if key.fingerprint() != owner {
            return Err(FormatError::Key { have: owner, need: key.fingerprint() }.into());
        }
        Ok(key)
    }
}

impl Stored for PublicKey {
    const KIND: Kind = Kind::PublicKey;
    type Bytes = Vec<u8>;
    type With<'a> = usize;

    fn encode<E>(&self, out: &mut Output<'_, E>) -> Result<(), E> {
        let (parameters, inner) = (self.session().settings().parameters(), self.inner());
        let payload = public_key_bytes(parameters);
        let out = out.begin_key(Self::KIND, self.session(), self.key(), payload);
        out.extend(inner.seed().as_bytes());
        Widths::of_moduli(parameters).write_poly(out, inner.b(), parameters.top());
        Ok(())
    }

    fn decode(input: &mut Input<'_>, threads: usize) -> Result<Self, Error> {
        let (settings, owner, cursor) = (input.settings()?, input.header.key, &mut input.cursor);
        cursor.enter("public key");
        cursor.expect_left(public_key_bytes(settings.parameters()))?;
        let session = Session::new(settings, threads)?;
        let context = session.context().rlwe();
        let seed = Seed::from_bytes(cursor.array()?);
        let (widths, top) = (Widths::of_moduli(context.parameters()), context.parameters().top());
        let b = widths.read_poly(cursor, context, top, "public key")?;
        let inner = rlwe::PublicKey::from_parts(context, owner, seed, b)?;
        Ok(PublicKey::new(session, inner))
    }
}

impl Stored for EvaluationKeys {
    const KIND: Kind = Kind::EvaluationKeys;
    type Bytes = Vec<u8>;
    type With<'a> = usize;

    fn encode<E>(&self, out: &mut Output<'_, E>) -> Result<(), E> {
        let (contents, keys) = (KeyContents::of(self), self.inner());
        let parameters = self.session().settings().parameters();
        let own = self.bootstrapping().map_or(0, |own| bootstrapping_bytes(own, parameters))
            + self.look_ups().map_or(0, |own| look_up_bytes(own, parameters))
            + self.bits().map_or(0, |own| bit_keys_bytes(own, parameters));
        let payload = contents.head_bytes() + contents.keys_bytes(parameters) + own;
        contents.write(out.begin_key(Self::KIND, self.session(), self.key(), payload));
        for key in keys.relinearisation().into_iter().chain(keys.galois().values()) {
            out.pass_on()?;
            write_switching_key(&mut out.bytes, key, parameters);
        }
        if let Some(own) = self.look_ups() {
            write_look_ups(out, own, parameters)?;
        }
        if let Some(own) = self.bootstrapping() {
            write_bootstrapping(&mut out.bytes, own, parameters);
        }
        if let Some(own) = self.bits() {
            write_bit_keys(&mut out.bytes, own, parameters);
        }
        Ok(())
    }

    fn decode(input: &mut Input<'_>, threads: usize) -> Result<Self, Error> {
        let (settings, owner, cursor) = (input.settings()?, input.header.key, &mut input.cursor);
        let contents = KeyContents::read(cursor, settings.parameters())?;
        // The heads of all further parts are checked too before memory for any key is allocated.
        inspect_keys(&contents, &mut cursor.clone(), settings.parameters())?;
        let session = Session::new(settings, threads)?;
        let context = session.context().rlwe();
        let read = |cursor: &mut Cursor<'_>, modulus, what| {
            read_switching_key(cursor, context, modulus, what)
        };
        let relinearisation = contents
            .relinearisation
            .map(|modulus| read(cursor, modulus, "relinearisation key"))
            .transpose()?;
        let parameters = session.settings().parameters();
        let parts = contents
            .galois
            .iter()
            .map(|(_, modulus)| cursor.part(switching_key_bytes(parameters, *modulus)));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let galois = session.try_each(parts.len(), |i| {
            let (element, modulus) = contents.galois[i];
            Ok((element as usize, read(&mut parts[i].clone(), modulus, "Galois key")?))
        });
        let galois = BTreeMap::from_iter(galois?);
        let inner = rlwe::EvaluationKeys::from_parts(context, owner, relinearisation, galois)?;
        let look_ups = match contents.look_ups {
            true => {
                let head = LookUpHead::read(cursor, session.settings().parameters())?;
                cursor.expect(
                    head.body_bytes(session.settings().parameters()),
                    contents.follows_look_ups(),
                )?;
                Some(head.read_keys(cursor, &session, owner)?)
            }
            false => None,
        };
        let own = match contents.bootstrapping {
            true => Some(read_bootstrapping(cursor, &session, owner, contents.bits)?),
            false => None,
        };
        let bits = match contents.bits {
            true => Some(read_bit_keys(cursor, &session, owner)?),
            false => None,
        };
        let mut keys = EvaluationKeys::new(session, inner);
        if let Some(own) = own {
            keys = keys.with_bootstrapping(own);
        }
        if let Some(look_ups) = look_ups {
            keys = keys.with_look_ups(look_ups);
        }
        if let Some(bits) = bits {
            keys = keys.with_bits(bits);
        }
        Ok(keys)
    }
}

impl Stored for TransferKey {
    const KIND: Kind = Kind::TransferKey;
    type Bytes = Vec<u8>;
    type With<'a> = usize;

    fn encode<E>(&self, out: &mut Output<'_, E>) -> Result<(), E> {
        let parameters = self.session().settings().parameters();
        let payload = TransferHead::BYTES + switching_key_bytes(parameters, parameters.full());
        let out = out.begin_key(Self::KIND, self.session(), self.key(), payload);
        out.extend(self.inner().second().as_bytes());
        out.extend(self.second().as_bytes());
        write_switching_key(out, self.inner().key(), parameters);
        Ok(())
    }

    fn decode(input: &mut Input<'_>, threads: usize) -> Result<Self, Error> {
        let (settings, owner, cursor) = (input.settings()?, input.header.key, &mut input.cursor);
        let head = TransferHead::read(cursor, settings.parameters())?;
        let session = Session::new(settings, threads)?;
        let parameters = session.settings().parameters();
        let key = read_switching_key(
            cursor,
            session.context().rlwe(),
            parameters.full(),
            "transfer key",
        )?;
        let inner = rlwe::TransferKey::from_parts(head.parameters, owner, head.key, key);
        Ok(TransferKey::new(session, inner))
    }
}

/// The destination of a transfer key.
#[derive(Debug)]
pub(super) struct TransferHead {
    /// The digest of the second parameter set.
    pub(super) parameters: Fingerprint,
    /// The fingerprint of the second secret key.
    pub(super) key: Fingerprint,
}

impl TransferHead {
    const BYTES: u64 = 32;

    /// Reads the destination, and checks that the remaining bytes are exactly the key.
    pub(super) fn read(
        cursor: &mut Cursor<'_>,
        parameters: &Parameters,
    ) -> Result<Self, FormatError> {
        cursor.enter("transfer key");
        let [digest, key] = [cursor.array()?, cursor.array()?].map(Fingerprint::from_bytes);
        cursor.expect_left(switching_key_bytes(parameters, parameters.full()))?;
        Ok(TransferHead { parameters: digest, key })
    }
}

/// Bytes of a public key after the settings.
pub(super) fn public_key_bytes(parameters: &Parameters) -> u64 {
    SEED_BYTES as u64
        + Widths::of_moduli(parameters).poly_bytes(parameters.degree(), parameters.top())
}

/// The keys in a file of evaluation keys, and their moduli.
#[derive(Debug)]
pub(super) struct KeyContents {
    pub(super) relinearisation: Option<Modulus>,
    /// By Galois element, in ascending order.
    pub(super) galois: Vec<(u32, Modulus)>,
    /// True if keys for look-up tables follow.
    pub(super) look_ups: bool,
    /// True if keys for a bootstrap follow.
    pub(super) bootstrapping: bool,
    /// True if keys for bits follow.
    pub(super) bits: bool,
}

impl KeyContents {
    fn of(keys: &EvaluationKeys) -> Self {
        let inner = keys.inner();
        KeyContents {
            relinearisation: inner.relinearisation().map(SwitchingKey::modulus),
            galois: inner.galois().iter().map(|(g, key)| (*g as u32, key.modulus())).collect(),
            look_ups: keys.look_ups().is_some(),
            bootstrapping: keys.bootstrapping().is_some(),
            bits: keys.bits().is_some(),
        }
    }

    /// The moduli of the keys, in the order of the keys.
    fn moduli(&self) -> impl Iterator<Item = Modulus> {
        self.relinearisation.into_iter().chain(self.galois.iter().map(|(_, modulus)| *modulus))
    }

    fn head_bytes(&self) -> u64 {
        8 + 4 * self.galois.len() as u64 + MODULUS_BYTES * self.moduli().count() as u64
    }

    /// Bytes of memory that the relinearisation and Galois keys take.
    pub(super) fn memory(&self, parameters: &Parameters) -> u64 {
        self.moduli().map(|modulus| memory::of_switching_key(parameters, modulus)).sum()
    }

    /// Bytes of the relinearisation and Galois keys in the file.
    pub(super) fn keys_bytes(&self, parameters: &Parameters) -> u64 {
        self.moduli().map(|modulus| switching_key_bytes(parameters, modulus)).sum()
    }

    fn write(&self, out: &mut Vec<u8>) {
        let relinearisation = if self.relinearisation.is_some() { RELINEARISATION } else { 0 };
        let bootstrapping = if self.bootstrapping { BOOTSTRAPPING } else { 0 };
        let look_ups = if self.look_ups { LOOK_UPS } else { 0 };
        let bits = if self.bits { BITS } else { 0 };
        out.extend((relinearisation | bootstrapping | look_ups | bits).to_le_bytes());
        out.extend((self.galois.len() as u32).to_le_bytes());
        for (element, _) in &self.galois {
            out.extend(element.to_le_bytes());
        }
        for modulus in self.moduli() {
            write_modulus(out, modulus);
        }
    }

    /// Reads the list of keys, and checks that the remaining bytes match it.
    pub(super) fn read(
        cursor: &mut Cursor<'_>,
        parameters: &Parameters,
    ) -> Result<Self, FormatError> {
        cursor.enter("evaluation keys");
        let flags = cursor.u32()?;
        if flags > RELINEARISATION | BOOTSTRAPPING | LOOK_UPS | BITS {
            return Err(FormatError::field("the flags of evaluation keys", flags, "0 to 15"));
        }
        // There are N - 1 odd numbers between 1 and 2N.
        let (count, most) = (cursor.u32()?, parameters.degree() as u32 - 1);
        if count > most {
            return Err(FormatError::field(
                "the number of Galois keys",
                count,
                format!("at most {most}"),
            ));
        }
        let elements = cursor.take(4 * count as usize)?;
        let elements: Vec<u32> =
            elements.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
        let limit = 2 * parameters.degree() as u32;
        let mut least = 3;
        for &element in &elements {
            if !(least..limit).contains(&element) || element.is_multiple_of(2) {
                let need = format!("an odd number from {least} to {}", limit - 1);
                return Err(FormatError::field("a Galois element", element, need));
            }
            least = element + 2;
        }
        const KEY: &str = "the modulus of a key";
        let relinearisation = match flags & RELINEARISATION {
            0 => None,
            _ => Some(read_key_modulus(cursor, parameters, KEY)?),
        };
        let galois = elements
            .into_iter()
            .map(|element| Ok((element, read_key_modulus(cursor, parameters, KEY)?)));
        let galois = galois.collect::<Result<_, FormatError>>()?;
        let [bootstrapping, look_ups, bits] =
            [BOOTSTRAPPING, LOOK_UPS, BITS].map(|flag| flags & flag != 0);
        let contents = KeyContents { relinearisation, galois, look_ups, bootstrapping, bits };
        cursor.expect(contents.keys_bytes(parameters), contents.has_more())?;
        Ok(contents)
    }

    /// True if more follows the relinearisation and Galois keys.
    pub(super) fn has_more(&self) -> bool {
        self.look_ups || self.follows_look_ups()
    }

    /// True if more follows the keys for look-up tables.
    pub(super) fn follows_look_ups(&self) -> bool {
        self.bootstrapping || self.bits
    }
}
