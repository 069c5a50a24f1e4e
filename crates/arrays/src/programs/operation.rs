//! The operations that programs consist of, as data.

use hippocrene_bgv::Polynomial as IntegerPolynomial;
use hippocrene_ckks::{
    BigFloat,
    circuits::{Basis, Polynomial},
};
use hippocrene_pegasus::Function;
use hippocrene_rlwe::Gate;
use serde::{Deserialize, Serialize};

use super::{
    any::{AnyArray, AnyKind},
    graph::{self, Perform},
    loops::{LoopBody, entered},
    plain::{FromPlain, Plain, PlainNumber},
};
use crate::{
    Application, Arithmetic, Array, Bits, Comparison, EncryptedArray, Error, Interval, Layout,
    Numbers, Prepared, Residues, Server,
};

/// An operation of a server, with everything that it needs besides its encrypted operands.
///
/// Its result depends on nothing else. So an operation can be stored, and performed later by
/// another server.
///
/// ```
/// use hippocrene::{AnyArray, ClientKey, KeyRequest, Numbers, AnyKind, Operation, Preset, Server};
///
/// let client = ClientKey::generate(Preset::by_name("n13")?.settings()?)?;
/// let server = Server::new(client.evaluation_keys(&KeyRequest::only([]))?)?;
/// let x = AnyArray::from(client.encrypt(&[1.0, 2.0], &[2])?);
/// let sum = Operation::Add.perform(&server, &[&x, &x])?;
/// let sum = Numbers::of(&sum[0]).expect("a sum of numbers");
/// assert!((client.decrypt(sum)?[1] - 4.0).abs() < 1e-6);
/// # Ok::<(), hippocrene::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are explained with their variants")]
pub enum Operation {
    // Declarations
    /// Declares the precision of numbers, in bits after the binary point.
    WithPrecision(f64),
    /// Declares the interval of the elements.
    WithInterval { low: f64, high: f64 },
    /// Declares the error of numbers, in bits after the binary point.
    WithPrecisionBits(f64),
    /// Declares that elements are deviations of values up to `bound` from their mean.
    AsDeviations { bound: f64 },
    /// Declares that the elements of the first array are `factor` times variances of elements of
    /// the second one.
    AsVariances { factor: f64 },

    // Arithmetic
    /// The sum of two arrays.
    Add,
    /// The difference of two arrays.
    Sub,
    /// The product of two arrays, element by element.
    Mul,
    /// The sum of an array and plain numbers.
    AddPlain(Plain),
    /// The product of an array and plain numbers, element by element.
    MulPlain(Plain),
    /// The sum of each element and a number.
    AddNumber(PlainNumber),
    /// The product of each element and a number.
    MulNumber(PlainNumber),
    /// The product of each element and a number with more precision than doubles.
    MulBigNumber(BigFloat),
    /// Each element divided by a number.
    DivNumber(f64),
    /// The negative of each element.
    Negate,
    /// A power of each element.
    Pow { exponent: u32 },
    /// The complex conjugate of each element.
    Conjugate,
    /// The imaginary unit times each element.
    TimesI,
    /// The real part of each element.
    Real,
    /// The imaginary part of each element.
    Imaginary,

    // Products of vectors and matrices, and sums
    /// The product of two encrypted vectors or matrices.
    Dot,
    /// The product of an array and a plain vector.
    DotPlain(Plain),
    /// The product of an array and a plain matrix with this number of columns.
    MatmulPlain { matrix: Plain, columns: usize },
    /// The product of a plain matrix with this number of rows and an array.
    RmatmulPlain { matrix: Plain, rows: usize },
    /// The sum of the products of the first and the second array, of the third and the fourth, and
    /// so on.
    SumOfProducts,
    /// `length` elements of the convolution with a plain vector, starting with `first`.
    ConvolvePlain { kernel: Plain, first: usize, length: usize },
    /// The sum along an axis, or of all elements.
    Sum { axis: Option<usize> },
    /// The cumulative sums along an axis.
    CumSum { axis: usize },
    /// Sums of selected elements, each times a weight ([`Server::linear_combinations_within`]).
    /// There is no result if the sums need `most` products or more.
    LinearCombinations {
        shape: Vec<usize>,
        terms: usize,
        places: Vec<usize>,
        weights: Plain,
        most: usize,
        strides: Option<Vec<usize>>,
    },

    // Moves
    /// Rolls the elements along an axis, or all elements in row-major order.
    Roll { shift: i64, axis: Option<usize> },
    /// The transpose of a matrix.
    Transpose,
    /// The same elements in the layout of new arrays.
    Pack,
    /// The same elements in the layout with these strides.
    Relayout { strides: Vec<usize> },
    /// The elements at these places, which are counted through all arrays in order. `None` stands
    /// for a zero.
    Gather { shape: Vec<usize>, places: Vec<Option<usize>> },
    /// The same elements with another axis of length 1.
    InsertAxis { axis: usize },
    /// Repeats an array to another shape.
    BroadcastTo { shape: Vec<usize> },
    /// Repeats the first array, times a number, with the shape and the layout of the second one.
    BroadcastLike { factor: f64 },

    // Functions of elements
    /// Gives up capacity beyond this number of bits, so that operations take less time.
    Lower { capacity: f64 },
    /// Restores at least this many bits of capacity, or as many as possible.
    Bootstrap { capacity: Option<f64> },
    /// A polynomial with these coefficients, lowest degree first, in powers or in the Chebyshev
    /// polynomials of an interval.
    Polynomial { coefficients: Vec<f64>, chebyshev: Option<(f64, f64)> },
    /// A polynomial of integers with these coefficients, lowest degree first.
    IntegerPolynomial(Vec<i64>),
    /// The entry of a table of integers at each integer.
    IntegerTable(Vec<i64>),
    /// The entry of a table of numbers at each number, which is a place in the table.
    Entries { entries: Vec<f64>, precision: Option<f64> },
    /// 1 for integers that are 0, and 0 for others.
    IsZero,
    /// 1 for numbers within a distance from 0, and 0 for others.
    IsNearZero { within: f64 },
    /// A function of the sign of each number.
    OfSign { function: OfSign, how: Comparison },
    /// A function of the sign of the difference of two arrays.
    OfDifference { function: OfDifference, how: Comparison },
    /// A function that was prepared for the array.
    Apply(Box<Prepared>),
    /// A function by name ([`Function::by_name`]).
    ApplyNamed { name: String, how: Application },

    // Order
    /// Puts elements in order, along an axis or all of them.
    InOrder { function: InOrder, axis: Option<usize> },
    /// Quantiles along an axis or of all elements.
    Quantile { shares: Vec<f64>, axis: Option<usize> },
    /// The `k` largest elements along an axis or of all elements.
    TopK { k: usize, axis: Option<usize> },
    /// The largest element of each block of this size.
    MaxPool { size: usize },

    // Loops
    /// Applies a function this number of times. The first operands are the state, and the others
    /// are the same in all rounds.
    Repeat { body: LoopBody<Operation>, times: usize },
    /// The state at this place as a round of a loop finds it. It stands for that state while a loop
    /// is recorded, and occurs in no program.
    #[serde(skip)]
    EnterLoop { place: usize },

    // Gates
    /// Gates of the same arrays of bits, with a result for each of them.
    Gates(Vec<Gate>),
    /// A gate of an array of bits and plain bits.
    GatePlain { gate: Gate, bits: Vec<bool> },
    /// The complement of each bit.
    Complement,
}

/// A function of the sign of a number. See [`Operation`] for an example of operations.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
pub enum OfSign {
    /// -1, 0 or 1 ([`Server::sign`]).
    Sign,
    /// 1 for positive numbers, and 0 for negative ones ([`Server::positive`]).
    Positive,
    /// The number if it is positive, and 0 otherwise ([`Server::relu`]).
    Relu,
    /// The absolute value ([`Server::abs`]).
    Abs,
}

/// A function of two numbers that depends on which one is larger. See [`Operation`] for an example
/// of operations.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
pub enum OfDifference {
    /// 1 if the first number is larger, and 0 otherwise ([`Server::greater`]).
    Greater,
    /// 1 if the first number is smaller, and 0 otherwise ([`Server::less`]).
    Less,
    /// The larger number ([`Server::maximum`]).
    Maximum,
    /// The smaller number ([`Server::minimum`]).
    Minimum,
}

/// A function that puts elements in order. See [`Operation`] for an example of operations.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "lowercase")]
pub enum InOrder {
    /// The elements in ascending order ([`Server::sort`]).
    Sort,
    /// The places of the elements in ascending order ([`Server::argsort`]).
    Argsort,
    /// The place of each element in ascending order ([`Server::rank`]).
    Rank,
    /// The largest element ([`Server::largest`]).
    Max,
    /// The smallest element ([`Server::smallest`]).
    Min,
    /// The median ([`Server::median`]).
    Median,
    /// The place of the smallest element ([`Server::argmin`]).
    Argmin,
    /// The place of the largest element ([`Server::argmax`]).
    Argmax,
}

/// Evaluates an expression in which `F` is the kind of an array of numbers or integers, and wraps
/// its result. The names are those of the operands.
macro_rules! arithmetic {
    ($self:ident, $inputs:ident, [$($name:ident),+] => $computed:expr) => {
        if matches!($inputs.first(), Some(AnyArray::Integers(_))) {
            type F = Residues;
            let [$($name),+] = $self.operands::<F, _>($inputs)?;
            Ok(vec![F::into_any($computed?)])
        } else {
            type F = Numbers;
            let [$($name),+] = $self.operands::<F, _>($inputs)?;
            Ok(vec![F::into_any($computed?)])
        }
    };
}

/// The graph of a program.
pub(super) type Graph = graph::Graph<Operation>;
/// A step of a program.
pub(super) type Step = graph::Step<Operation>;

impl Perform for Operation {
    fn perform(&self, server: &Server, inputs: &[&AnyArray]) -> Result<Vec<AnyArray>, Error> {
        Operation::perform(self, server, inputs)
    }

    fn results(&self) -> usize {
        match self {
            Operation::Gates(gates) => gates.len(),
            Operation::Repeat { body, .. } => body.states(),
            _ => 1,
        }
    }

    fn looped(&self) -> Option<(&Graph, usize)> {
        match self {
            Operation::Repeat { body, times } => Some((&body.0, *times)),
            _ => None,
        }
    }
}

impl Operation {
    /// The name, in lower case with underscores. It is that of the function, if there are several.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::OfSign { function, .. } => function.into(),
            Operation::OfDifference { function, .. } => function.into(),
            Operation::InOrder { function, .. } => function.into(),
            Operation::ApplyNamed { name, .. } => {
                Function::by_name(name).map_or("apply_named", Function::name)
            }
            _ => self.into(),
        }
    }

    /// True for functions that are faster or more precise on narrow intervals: approximations,
    /// comparisons and orders.
    pub(super) fn is_function(&self) -> bool {
        matches!(
            self,
            Operation::Apply(_)
                | Operation::ApplyNamed { .. }
                | Operation::OfSign { .. }
                | Operation::OfDifference { .. }
                | Operation::InOrder { .. }
                | Operation::Quantile { .. }
                | Operation::TopK { .. }
                | Operation::MaxPool { .. }
        )
    }

    /// Performs the operation, and returns its results.
    ///
    /// # Errors
    /// [`Error::Argument`] if the number or the kind of the operands is wrong, and as the method of
    /// [`Server`] with the same name.
    pub fn perform(&self, server: &Server, inputs: &[&AnyArray]) -> Result<Vec<AnyArray>, Error> {
        let name = self.name();
        match self {
            Operation::Add => arithmetic!(self, inputs, [a, b] => server.add(a, b)),
            Operation::Sub => arithmetic!(self, inputs, [a, b] => server.sub(a, b)),
            Operation::Mul => arithmetic!(self, inputs, [a, b] => server.mul(a, b)),
            Operation::Dot => arithmetic!(self, inputs, [a, b] => server.dot(a, b)),
            Operation::Negate => arithmetic!(self, inputs, [a] => server.negate(a)),
            Operation::AddPlain(plain) => {
                arithmetic!(self, inputs, [a] => server.add_plain(a, F::of_plain(plain, name)?))
            }
            Operation::MulPlain(plain) => {
                arithmetic!(self, inputs, [a] => server.mul_plain(a, F::of_plain(plain, name)?))
            }
            Operation::AddNumber(number) => {
                arithmetic!(self, inputs, [a] => server.add_number(a, F::of_number(*number, name)?))
            }
            Operation::MulNumber(number) => {
                arithmetic!(self, inputs, [a] => server.mul_number(a, F::of_number(*number, name)?))
            }
            Operation::Pow { exponent } => {
                arithmetic!(self, inputs, [a] => server.pow(a, *exponent))
            }
            Operation::DotPlain(vector) => {
                arithmetic!(self, inputs, [a] => server.dot_plain(a, F::of_matrix(vector, name)?))
            }
            Operation::MatmulPlain { matrix, columns } => {
                arithmetic!(self, inputs, [a] => {
                    server.matmul_plain(a, F::of_matrix(matrix, name)?, *columns)
                })
            }
            Operation::RmatmulPlain { matrix, rows } => {
                arithmetic!(self, inputs, [a] => {
                    server.rmatmul_plain(F::of_matrix(matrix, name)?, *rows, a)
                })
            }
            Operation::ConvolvePlain { kernel, first, length } => {
                arithmetic!(self, inputs, [a] => {
                    server.convolve_plain(a, F::of_matrix(kernel, name)?, *first, *length)
                })
            }
            Operation::Sum { axis } => arithmetic!(self, inputs, [a] => server.sum(a, *axis)),
            Operation::CumSum { axis } => arithmetic!(self, inputs, [a] => server.cumsum(a, *axis)),
            Operation::Roll { shift, axis } => {
                arithmetic!(self, inputs, [a] => server.roll(a, *shift, *axis))
            }
            Operation::Transpose => arithmetic!(self, inputs, [a] => server.transpose(a)),
            Operation::InsertAxis { axis } => {
                arithmetic!(self, inputs, [a] => server.insert_axis(a, *axis))
            }
            Operation::BroadcastTo { shape } => {
                arithmetic!(self, inputs, [a] => server.broadcast_to(a, shape))
            }
            Operation::SumOfProducts => self.sum_of_products(server, inputs),
            Operation::LinearCombinations { .. } => self.linear_combinations(server, inputs),
            Operation::Pack => self.packed(server, inputs),
            Operation::Relayout { strides } => arithmetic!(self, inputs, [a] => {
                let slots = F::slots(server.session());
                server.relayout(a, Layout::new(a.shape().to_vec(), strides.clone(), slots)?)
            }),
            Operation::Gather { shape, places } => self.gathered(server, inputs, shape, places),
            Operation::WithInterval { low, high } => {
                let interval = Interval::finite(*low, *high)?;
                if let [AnyArray::Integers(a)] = inputs {
                    return Ok(vec![a.clone().with_interval(interval)?.into()]);
                }
                self.of_numbers(inputs, |[a]| server.declare_interval(a, interval))
            }
            Operation::IntegerPolynomial(coefficients) => self.of_integers(inputs, |[a]| {
                let p = IntegerPolynomial::new(a.form().plain_modulus, coefficients)?;
                server.polynomial(a, &p)
            }),
            Operation::IntegerTable(table) => self.of_integers(inputs, |[a]| {
                let p = IntegerPolynomial::of_entries(a.form().plain_modulus, table)?;
                server.polynomial(a, &p)
            }),
            Operation::IsZero => self.of_integers(inputs, |[a]| server.is_zero(a)),
            Operation::Repeat { body, times } => body.repeat(server, *times, inputs),
            Operation::EnterLoop { .. } => match inputs {
                [state] => Ok(vec![entered(server, state, None)?]),
                _ => Err(Error::argument(name, "a state is one array")),
            },
            Operation::Gates(gates) => self.gates(server, inputs, gates),
            Operation::GatePlain { gate, bits } => {
                let [a] = self.operands::<Bits, _>(inputs)?;
                Ok(vec![server.bits()?.gate_plain(*gate, a, bits)?.into()])
            }
            Operation::Complement => {
                let [a] = self.operands::<Bits, _>(inputs)?;
                Ok(vec![server.bits()?.not(a)?.into()])
            }
            Operation::AsVariances { factor } => self.of_numbers(inputs, |[a, values]| {
                Ok(a.clone().as_variances(values.interval(), *factor))
            }),
            Operation::BroadcastLike { factor } => self.of_numbers(inputs, |[a, other]| {
                let copies = server.broadcast_like(a, other, *factor)?;
                Ok(if a.size() == 1 { copies.as_mean() } else { copies })
            }),
            Operation::OfDifference { function, how } => {
                let compute = match function {
                    OfDifference::Greater => Server::greater,
                    OfDifference::Less => Server::less,
                    OfDifference::Maximum => Server::maximum,
                    OfDifference::Minimum => Server::minimum,
                };
                self.of_numbers(inputs, |[a, b]| compute(server, a, b, *how))
            }
            _ => self.of_numbers(inputs, |[a]| self.of_one(server, a)),
        }
    }

    /// Performs an operation of one array of numbers.
    fn of_one(&self, server: &Server, a: &EncryptedArray) -> Result<EncryptedArray, Error> {
        match self {
            Operation::WithPrecision(bits) => a.clone().with_precision(*bits, server.session()),
            Operation::WithPrecisionBits(bits) => server.declare_precision(a, *bits),
            Operation::AsDeviations { bound } => Ok(a.clone().as_deviations(*bound)),
            Operation::MulBigNumber(number) => server.mul_big_number(a, number),
            Operation::DivNumber(divisor) => server.div_number(a, *divisor),
            Operation::Conjugate => server.conjugate(a),
            Operation::TimesI => server.times_i(a),
            Operation::Real => server.real(a),
            Operation::Imaginary => server.imaginary(a),
            Operation::Lower { capacity } => server.lowered(a, *capacity),
            Operation::Bootstrap { capacity } => server.bootstrap_to(a, *capacity),
            Operation::Polynomial { coefficients, chebyshev } => {
                let chebyshev = chebyshev.map(|(low, high)| Basis::Chebyshev { low, high });
                let basis = chebyshev.unwrap_or(Basis::Monomial);
                server.polynomial(a, &Polynomial::new(basis, coefficients.to_vec())?)
            }
            Operation::Entries { entries, precision } => server.entries(a, entries, *precision),
            Operation::IsNearZero { within } => server.is_near_zero(a, *within),
            Operation::OfSign { function, how } => {
                let compute = match function {
                    OfSign::Sign => Server::sign,
                    OfSign::Positive => Server::positive,
                    OfSign::Relu => Server::relu,
                    OfSign::Abs => Server::abs,
                };
                compute(server, a, *how)
            }
            Operation::Apply(prepared) => server.apply_prepared(a, prepared),
            Operation::ApplyNamed { name, how } => {
                server.apply_named(a, Function::by_name(name)?, how.clone())
            }
            Operation::InOrder { function, axis } => {
                let compute = match function {
                    InOrder::Sort => Server::sort,
                    InOrder::Argsort => Server::argsort,
                    InOrder::Rank => Server::rank,
                    InOrder::Max => Server::largest,
                    InOrder::Min => Server::smallest,
                    InOrder::Median => Server::median,
                    InOrder::Argmin => Server::argmin,
                    InOrder::Argmax => Server::argmax,
                };
                compute(server, a, *axis)
            }
            Operation::Quantile { shares, axis } => server.quantile(a, shares, *axis),
            Operation::TopK { k, axis } => server.top_k(a, *k, *axis),
            Operation::MaxPool { size } => server.max_pool(a, *size),
            _ => Err(Error::Internal(format!("{} is no operation of one array", self.name()))),
        }
    }

    /// Returns the operands, which must be all of one kind.
    fn all<'i, F: AnyKind>(&self, inputs: &[&'i AnyArray]) -> Result<Vec<&'i Array<F>>, Error> {
        let refused = |any: &AnyArray| {
            let (have, need) = (any.holds(), F::HOLDS);
            let what = format!("this array holds encrypted {have}, and {need} are needed");
            Error::argument(self.name(), what)
        };
        inputs.iter().map(|any| F::of(any).ok_or_else(|| refused(any))).collect()
    }

    /// Returns a fixed number of operands.
    fn operands<'i, F: AnyKind, const COUNT: usize>(
        &self,
        inputs: &[&'i AnyArray],
    ) -> Result<[&'i Array<F>; COUNT], Error> {
        self.all(inputs)?.try_into().map_err(|all: Vec<_>| {
            let what =
                format!("there are {} encrypted operands, and {COUNT} are needed", all.len());
            Error::argument(self.name(), what)
        })
    }

    fn of_numbers<const COUNT: usize>(
        &self,
        inputs: &[&AnyArray],
        compute: impl FnOnce([&EncryptedArray; COUNT]) -> Result<EncryptedArray, Error>,
    ) -> Result<Vec<AnyArray>, Error> {
        Ok(vec![compute(self.operands(inputs)?)?.into()])
    }

    fn of_integers<const COUNT: usize>(
        &self,
        inputs: &[&AnyArray],
        compute: impl FnOnce([&Array<Residues>; COUNT]) -> Result<Array<Residues>, Error>,
    ) -> Result<Vec<AnyArray>, Error> {
        Ok(vec![compute(self.operands(inputs)?)?.into()])
    }

    fn sum_of_products(
        &self,
        server: &Server,
        inputs: &[&AnyArray],
    ) -> Result<Vec<AnyArray>, Error> {
        fn of<F: AnyKind + FromPlain>(
            server: &Server,
            arrays: &[&Array<F>],
        ) -> Result<Vec<AnyArray>, Error> {
            let (pairs, rest) = arrays.as_chunks();
            if !rest.is_empty() {
                return Err(Error::argument("sum_of_products", "the last array has no partner"));
            }
            let pairs: Vec<_> = pairs.iter().map(|[a, b]| (*a, *b)).collect();
            Ok(vec![server.sum_of_products(&pairs)?.into()])
        }
        match inputs.first() {
            Some(AnyArray::Integers(_)) => of::<Residues>(server, &self.all(inputs)?),
            _ => of::<Numbers>(server, &self.all(inputs)?),
        }
    }

    fn linear_combinations(
        &self,
        server: &Server,
        inputs: &[&AnyArray],
    ) -> Result<Vec<AnyArray>, Error> {
        fn of<F: AnyKind + FromPlain>(
            operation: &Operation,
            server: &Server,
            inputs: &[&AnyArray],
        ) -> Result<Vec<AnyArray>, Error> {
            let Operation::LinearCombinations { shape, terms, places, weights, most, strides } =
                operation
            else {
                return Err(Error::Internal("there are no linear combinations".into()));
            };
            let [a] = operation.operands::<F, _>(inputs)?;
            let weights = F::of_matrix(weights, operation.name())?;
            if places.len() != weights.len() {
                let what = format!("{} places have {} weights", places.len(), weights.len());
                return Err(Error::argument(operation.name(), what));
            }
            let entries = places.iter().copied().zip(weights.iter().copied());
            let found = server.linear_combinations_within(
                a,
                shape,
                *terms,
                entries,
                *most,
                strides.as_deref(),
            )?;
            Ok(found.into_iter().map(AnyArray::from).collect())
        }
        match inputs.first() {
            Some(AnyArray::Integers(_)) => of::<Residues>(self, server, inputs),
            _ => of::<Numbers>(self, server, inputs),
        }
    }

    fn packed(&self, server: &Server, inputs: &[&AnyArray]) -> Result<Vec<AnyArray>, Error> {
        if let [AnyArray::Bits(a)] = inputs {
            return Ok(vec![server.packed_bits(a)?.into()]);
        }
        arithmetic!(self, inputs, [a] => {
            server.relayout(a, Layout::packed(a.shape(), F::slots(server.session()))?)
        })
    }

    fn gathered(
        &self,
        server: &Server,
        inputs: &[&AnyArray],
        shape: &[usize],
        places: &[Option<usize>],
    ) -> Result<Vec<AnyArray>, Error> {
        Ok(vec![match inputs.first() {
            Some(AnyArray::Bits(_)) => {
                server.gather_bits(&self.all(inputs)?, shape, places)?.into()
            }
            Some(AnyArray::Integers(_)) => {
                server.gather_padded::<Residues>(&self.all(inputs)?, shape, places)?.into()
            }
            _ => server.gather_padded::<Numbers>(&self.all(inputs)?, shape, places)?.into(),
        }])
    }

    /// Computes gates. A single gate is computed by products if there is capacity, and several
    /// gates by one bootstrap.
    fn gates(
        &self,
        server: &Server,
        inputs: &[&AnyArray],
        gates: &[Gate],
    ) -> Result<Vec<AnyArray>, Error> {
        let alike = server.in_common_layout(&self.all(inputs)?)?;
        let inputs: Vec<_> = alike.iter().collect();
        let results = match gates {
            [gate] => vec![server.bits()?.gate(*gate, &inputs)?],
            _ => server.bits()?.gates(gates, &inputs)?,
        };
        Ok(results.into_iter().map(AnyArray::from).collect())
    }
}
