//! A reader of the part of CBOR (RFC 8949) that the wire format names: definite lengths only.

use super::{number, take};

/// An item of CBOR.
#[derive(Debug, Clone, PartialEq)]
pub enum Cbor {
    Integer(i128),
    Float(f64),
    Text(String),
    Bool(bool),
    Null,
    List(Vec<Cbor>),
    /// The entries of a map in their order.
    Map(Vec<(String, Cbor)>),
}

impl Cbor {
    /// Reads one item, whose numbers have the highest byte first.
    pub fn read(bytes: &mut &[u8]) -> Self {
        let first = number(bytes, 1) as u8;
        let (kind, short) = (first >> 5, first & 31);
        if kind == 7 {
            return Self::simple(short, bytes);
        }
        let value = match short {
            0..24 => u128::from(short),
            24..28 => big_endian(bytes, 1 << (short - 24)),
            _ => panic!("indefinite length"),
        };
        match kind {
            0 => Cbor::Integer(value as i128),
            1 => Cbor::Integer(-1 - value as i128),
            3 => {
                let text = take(bytes, value as usize).to_vec();
                Cbor::Text(String::from_utf8(text).unwrap())
            }
            4 => Cbor::List((0..value).map(|_| Cbor::read(bytes)).collect()),
            5 => Cbor::Map((0..value).map(|_| (Cbor::text_of(bytes), Cbor::read(bytes))).collect()),
            _ => panic!("type {kind} is not in the wire format"),
        }
    }

    fn simple(short: u8, bytes: &mut &[u8]) -> Self {
        match short {
            20 | 21 => Cbor::Bool(short == 21),
            22 => Cbor::Null,
            25 => Cbor::Float(half(big_endian(bytes, 2) as u16)),
            26 => Cbor::Float(f64::from(f32::from_bits(big_endian(bytes, 4) as u32))),
            27 => Cbor::Float(f64::from_bits(big_endian(bytes, 8) as u64)),
            _ => panic!("simple value {short} is not in the wire format"),
        }
    }

    fn text_of(bytes: &mut &[u8]) -> String {
        match Cbor::read(bytes) {
            Cbor::Text(text) => text,
            other => panic!("{other:?} is no name"),
        }
    }

    /// The entry of a map.
    pub fn get(&self, name: &str) -> &Cbor {
        let Cbor::Map(entries) = self else { panic!("{self:?} is no map") };
        let found = entries.iter().find(|(own, _)| own == name);
        &found.unwrap_or_else(|| panic!("no field {name} in {self:?}")).1
    }

    /// The names of a map in their order.
    pub fn names(&self) -> Vec<&str> {
        let Cbor::Map(entries) = self else { panic!("{self:?} is no map") };
        entries.iter().map(|(name, _)| name.as_str()).collect()
    }

    pub fn list(&self) -> &[Cbor] {
        let Cbor::List(items) = self else { panic!("{self:?} is no list") };
        items
    }

    pub fn integer(&self) -> i64 {
        let Cbor::Integer(value) = self else { panic!("{self:?} is no integer") };
        *value as i64
    }

    pub fn integers(&self) -> Vec<i64> {
        self.list().iter().map(Cbor::integer).collect()
    }

    pub fn text(&self) -> &str {
        let Cbor::Text(text) = self else { panic!("{self:?} is no text") };
        text
    }

    /// The name and the contents of a case.
    pub fn case(&self) -> (&str, &Cbor) {
        match self {
            Cbor::Text(name) => (name, &Cbor::Null),
            Cbor::Map(entries) if entries.len() == 1 => (&entries[0].0, &entries[0].1),
            other => panic!("{other:?} is no case"),
        }
    }
}

fn big_endian(bytes: &mut &[u8], length: usize) -> u128 {
    take(bytes, length).iter().fold(0, |x, byte| x << 8 | u128::from(*byte))
}

/// A float of 16 bits.
fn half(bits: u16) -> f64 {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + mantissa) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}
