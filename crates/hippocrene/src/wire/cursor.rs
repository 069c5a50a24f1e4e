//! Reading fields one after the other.

use super::FormatError;

/// Bytes that have not been read yet, and the name of the part they belong to, for errors.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    what: &'static str,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Cursor { rest: bytes, what }
    }

    /// Sets the name of the part that is read from now on, for errors.
    pub(super) fn enter(&mut self, what: &'static str) {
        self.what = what;
    }

    /// The number of bytes left.
    pub(super) fn left(&self) -> u64 {
        self.rest.len() as u64
    }

    /// The next `count` bytes.
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], FormatError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(FormatError::Truncated {
            what: self.what,
            have: self.rest.len() as u64,
            need: count as u64,
        })?;
        self.rest = rest;
        Ok(taken)
    }

    /// Splits off the next `count` bytes as a cursor of their own, so that threads can read in
    /// parallel.
    pub(super) fn part(&mut self, count: u64) -> Result<Cursor<'a>, FormatError> {
        let what = self.what;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        Ok(Cursor { rest: self.take(count)?, what })
    }

    pub(super) fn array<const COUNT: usize>(&mut self) -> Result<[u8; COUNT], FormatError> {
        let mut out = [0; COUNT];
        out.copy_from_slice(self.take(COUNT)?);
        Ok(out)
    }

    pub(super) fn u16(&mut self) -> Result<u16, FormatError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32, FormatError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn i32(&mut self) -> Result<i32, FormatError> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, FormatError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(super) fn u128(&mut self) -> Result<u128, FormatError> {
        Ok(u128::from_le_bytes(self.array()?))
    }

    pub(super) fn f64(&mut self) -> Result<f64, FormatError> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// Checks that more than `need` bytes are left.
    pub(super) fn expect_more(&self, need: u64) -> Result<(), FormatError> {
        let (what, have) = (self.what, self.left());
        if have > need {
            Ok(())
        } else {
            Err(FormatError::Truncated { what, have, need: need.saturating_add(1) })
        }
    }

    /// Calls [`Cursor::expect_more`] if `more` follows, else [`Cursor::expect_left`].
    pub(super) fn expect(&self, need: u64, more: bool) -> Result<(), FormatError> {
        if more { self.expect_more(need) } else { self.expect_left(need) }
    }

    /// Checks that exactly `need` bytes are left.
    pub(super) fn expect_left(&self, need: u64) -> Result<(), FormatError> {
        let (what, have) = (self.what, self.left());
        match have.cmp(&need) {
            std::cmp::Ordering::Less => Err(FormatError::Truncated { what, have, need }),
            std::cmp::Ordering::Equal => Ok(()),
            std::cmp::Ordering::Greater => Err(FormatError::Trailing { what, have, need }),
        }
    }
}
