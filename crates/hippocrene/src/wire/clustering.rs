//! Files of points that are being clustered.
//!
//! They hold a shape, the number of iterations, and complete array files one after the other.

use hippocrene_arrays::{Clustering, EncryptedArray, Error, Numbers, Origin, Session, Shape};
use hippocrene_rlwe::Fingerprint;

use super::{
    FormatError, Kind, Limits, Stored,
    array::ArrayHead,
    cursor::Cursor,
    fields::unusable,
    header::Header,
    look_ups::{read_shape, write_shape},
    stored::{Input, Output},
};

/// Bytes before the arrays: shape, flags, the number of iterations, and the origin.
const HEAD_BYTES: usize = 56;
/// The flags of a file with an assignment, with points, and for comparisons in slots.
const ASSIGNED: u32 = 1;
const POINTS: u32 = 2;
const FOR_SLOTS: u32 = 4;

/// The description of the bytes of a [`Clustering`] ([`describe_clustering`]).
///
/// # Examples
/// ```
/// use hippocrene::{ClientKey, LookUps, Preset, Shape, Stored, wire::describe_clustering};
///
/// let client = ClientKey::generate(Preset::by_name("n15")?.settings()?)?;
/// let shape = Shape::new(3, 1, 2)?; // three points of dimension 1, in two clusters
/// let request = LookUps { clusters: Some(shape), ..LookUps::default() };
/// let points = client.encrypt_points(&request, &[0.0, 1.0, 9.0], &[0.0, 9.0])?;
/// let description = describe_clustering(&points.to_bytes())?;
/// assert_eq!((description.shape, description.count), (shape, 3));
/// assert!(description.has_points && description.iteration == 0);
/// # Ok::<_, hippocrene::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusteringDescription {
    /// The number of points, their dimension and the number of clusters.
    pub shape: Shape,
    /// The number of points that are included or were assigned.
    ///
    /// It equals the shape's, or is smaller for new points.
    pub count: usize,
    /// The number of iterations so far.
    pub iteration: u64,
    /// True if the points are included.
    pub has_points: bool,
    /// The points and the start that the clusters were made from. For new points, the clusters to
    /// assign them to.
    pub origin: Option<Origin>,
}

/// The fields before the arrays.
#[derive(Debug)]
pub(super) struct ClusteringHead {
    shape: Shape,
    flags: u32,
    iteration: u64,
    origin: Option<Origin>,
}

/// Reads a digest, or `None` if all its bytes are zero.
fn read_digest(cursor: &mut Cursor<'_>) -> Result<Option<Fingerprint>, FormatError> {
    let bytes: [u8; 16] = cursor.array()?;
    Ok((bytes != [0; 16]).then(|| Fingerprint::from_bytes(bytes)))
}

impl ClusteringHead {
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, FormatError> {
        cursor.enter("clusters");
        let shape = read_shape(cursor)?;
        let flags = cursor.u32()?;
        if flags & !(ASSIGNED | POINTS | FOR_SLOTS) != 0 {
            return Err(FormatError::field("the flags of clusters", flags, "0 to 7"));
        }
        let iteration = cursor.u64()?;
        let origin = match (read_digest(cursor)?, read_digest(cursor)?) {
            (Some(points), start) => Some(Origin { points, start }),
            (None, None) => None,
            (None, Some(start)) => {
                return Err(FormatError::field(
                    "the digest of the start",
                    start,
                    "zeros without one of points",
                ));
            }
        };
        Ok(ClusteringHead { shape, flags, iteration, origin })
    }
}

/// Reads the next array file, which is preceded by its length.
pub(super) fn next_array<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], FormatError> {
    cursor.enter("an array of clusters");
    let length = cursor.u64()?;
    if length > cursor.left() {
        return Err(FormatError::Truncated {
            what: "an array of clusters",
            have: cursor.left(),
            need: length,
        });
    }
    cursor.take(length as usize)
}

/// Describes the bytes of a [`Clustering`].
///
/// # Errors
/// [`Error::Format`] when the bytes are not a clustering.
pub fn describe_clustering(bytes: &[u8]) -> Result<ClusteringDescription, Error> {
    let (_, payload) = Header::open_as(bytes, Kind::Clustering)?;
    let mut cursor = Cursor::new(payload, "clusters");
    let ClusteringHead { shape, flags, iteration, origin } = ClusteringHead::read(&mut cursor)?;
    let mut count = shape.points();
    if flags & (ASSIGNED | POINTS) != 0 {
        // The rows of the third array, the assignment or the points, are counted.
        next_array(&mut cursor)?;
        next_array(&mut cursor)?;
        let (_, array) = Header::open_as(next_array(&mut cursor)?, Kind::Array)?;
        let head = ArrayHead::<Numbers>::read(&mut Cursor::new(array, "array"))?;
        count = head.layout.shape().first().copied().unwrap_or(0);
    }
    Ok(ClusteringDescription { shape, count, iteration, has_points: flags & POINTS != 0, origin })
}

impl Stored for Clustering {
    const KIND: Kind = Kind::Clustering;
    type Bytes = Vec<u8>;
    type With<'a> = &'a Session;

    fn encode<E>(&self, out: &mut Output<'_, E>) -> Result<(), E> {
        let arrays: Vec<Vec<u8>> = self.arrays().map(EncryptedArray::to_bytes).collect();
        let payload = HEAD_BYTES + arrays.iter().map(|array| 8 + array.len()).sum::<usize>();
        let head = out.begin(Self::KIND, self.parameters(), Some(self.key()), payload as u64);
        write_shape(head, self.shape());
        let flag = |is: bool, flag: u32| if is { flag } else { 0 };
        let flags = flag(self.has_assignment(), ASSIGNED)
            | flag(self.has_points(), POINTS)
            | flag(self.is_for_slots(), FOR_SLOTS);
        head.extend(flags.to_le_bytes());
        head.extend(self.iteration().to_le_bytes());
        let digests = [
            self.origin().map(|origin| origin.points),
            self.origin().and_then(|origin| origin.start),
        ];
        for digest in digests {
            head.extend(digest.map_or([0; 16], |digest| *digest.as_bytes()));
        }
        for array in arrays {
            out.pass_on()?;
            out.bytes.extend((array.len() as u64).to_le_bytes());
            out.bytes.extend(array);
        }
        Ok(())
    }

    fn decode(input: &mut Input<'_>, session: &Session) -> Result<Self, Error> {
        input.check_parameters(session)?;
        let (cursor, key) = (&mut input.cursor, input.header.key);
        let head = ClusteringHead::read(cursor)?;
        let limits = Limits { max_work: input.limits.max_work, ..Limits::default() };
        let mut next = || EncryptedArray::from_bytes_within(next_array(cursor)?, session, &limits);
        let (frame, centroids) = (next()?, next()?);
        let assigned = if head.flags & ASSIGNED != 0 { Some(next()?) } else { None };
        let points = if head.flags & POINTS != 0 { Some(next()?) } else { None };
        cursor.enter("clusters");
        if centroids.key() != key {
            let need = format!("{key}, that of the file");
            return Err(FormatError::field("the key of centroids", centroids.key(), need).into());
        }
        let arrays = [frame, centroids];
        let read = Clustering::from_parts(head.shape, head.iteration, arrays, assigned, points)
            .map_err(|error| unusable("the arrays of clusters", error))?;
        Ok(read.with_origin(head.origin).for_slots(head.flags & FOR_SLOTS != 0))
    }

    fn check_stored(&self) -> Result<(), Error> {
        self.arrays().try_for_each(EncryptedArray::check_stored)
    }
}
