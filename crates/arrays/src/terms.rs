//! The summands of an array, tracked to find errors that two arrays share.

use std::{cmp::Ordering, sync::Arc};

/// Maximum number of terms that are told apart. Chosen; a sum of this many arrays takes minutes.
const MAX_TERMS: usize = 4096;

/// The summands of an array, each of them times a number.
///
/// Two arrays with a term in common share a part of their errors, which adds up when they are
/// added. An array that is not a sum has itself as its only term. Terms are not written to files.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    /// Sorted by address. An address is unique for as long as its term is held.
    terms: Arc<Vec<Arc<()>>>,
    /// True if there are terms beyond the maximum, which are not listed.
    more: bool,
}

impl Default for Terms {
    fn default() -> Self {
        Terms { terms: Arc::new(vec![Arc::default()]), more: false }
    }
}

impl Terms {
    /// True if both may have a term in common.
    pub(crate) fn meet(&self, other: &Terms) -> bool {
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            match Arc::as_ptr(a).cmp(&Arc::as_ptr(b)) {
                Ordering::Less => drop(left.next()),
                Ordering::Greater => drop(right.next()),
                Ordering::Equal => return true,
            }
        }
        self.more || other.more
    }

    /// Returns the terms of a sum of both.
    #[must_use]
    pub(crate) fn join(&self, other: &Terms) -> Terms {
        let mut terms: Vec<Arc<()>> =
            self.terms.iter().chain(other.terms.iter()).cloned().collect();
        terms.sort_unstable_by_key(Arc::as_ptr);
        terms.dedup_by(|a, b| Arc::ptr_eq(a, b));
        let more = self.more || other.more || terms.len() > MAX_TERMS;
        terms.truncate(MAX_TERMS);
        Terms { terms: Arc::new(terms), more }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_meet_their_terms_and_no_others() {
        let [a, b, c] = [Terms::default(), Terms::default(), Terms::default()];
        assert!(a.meet(&a.clone()) && !a.meet(&b));
        let sum = a.join(&b);
        assert!(sum.meet(&a) && b.meet(&sum) && !sum.meet(&c) && sum.join(&a).meet(&sum));
        assert_eq!(sum.join(&a).terms.len(), 2);
        let many = (0..MAX_TERMS).fold(a.clone(), |sum, _| sum.join(&Terms::default()));
        assert!(many.more && many.meet(&c) && c.meet(&many));
    }
}
