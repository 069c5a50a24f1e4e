//! The arguments of the command.

use crate::arrays::{Column, Format, Table};
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use hippocrene::{Interval, LookUps};
use std::path::PathBuf;
use std::str::FromStr;

const EXIT_STATUS: &str = "\
Exit status: 0 done; 1 refused for what the files hold (wrong key, not enough capacity, values that cannot be encrypted);
2 wrong arguments (unknown, out of range, or not for these parameters); 3 a file cannot be read or written;
4 a file holds something else than is needed.

A command that is stopped while it writes FILE can leave a part of it beside, in .FILE.PROCESS.NUMBER.part. It can be deleted,
and on Linux the next command that writes FILE does so, ten minutes later or more.";

/// Encrypt arrays of numbers, and read results computed on them.
#[derive(Debug, Parser)]
#[command(name = "hippocrene", version, propagate_version = true, after_help = EXIT_STATUS)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Print one JSON object, also for errors (those to standard error).
    #[arg(long, global = true)]
    pub json: bool,
    /// Threads to compute on.
    #[arg(long, global = true, default_value_t = 1, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: u16,
    /// Show no progress.
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a client's secret key, and the keys it gives to others.
    ///
    /// Writes three files: client.key, the secret, readable by its owner only; public.key, with
    /// which others encrypt; evaluation.keys, with which a server computes. With --from it makes
    /// the latter two of a secret key that there is.
    Keygen(Box<Keygen>),
    /// Make a second secret key for a client, whose evaluation keys are smaller, and the key that
    /// leads to it.
    ///
    /// Writes three files: client.key, the second secret, with which results are decrypted,
    /// readable by its owner only; evaluation.keys, with which a server computes; transfer.key,
    /// with which it brings what was encrypted under the first key to the second.
    Second(Second),
    /// Encrypt a file of numbers (.csv or .npy).
    Encrypt(Encrypt),
    /// Decrypt to a file of numbers (.csv or .npy).
    ///
    /// Comma-separated values have the digits that are right by the precision of the array; .npy
    /// has doubles.
    ///
    /// The last bits of the numbers are noise that depends on the secret key: give them to others
    /// only when decrypted with --for-sharing.
    Decrypt(Decrypt),
    /// Tell what a file is: its kind, parameters, key, shape, capacity, precision and size.
    Inspect(Inspect),
    /// List the presets, the parameter sets that keygen knows.
    Presets,
    /// Tell how key switches are planned: the digits at each modulus, and the time that is
    /// predicted.
    ///
    /// From one key the fastest decomposition is chosen at each modulus, by what `hippocrene tune`
    /// has measured.
    Plan(PlanArguments),
    /// Measure what operations cost on this machine, for the planning of key switches; it takes a
    /// few seconds.
    ///
    /// The profile is written to the folder of your settings (hippocrene/profile.json in
    /// $XDG_CONFIG_HOME or ~/.config), where every program finds it that uses the library, or to
    /// the file that the environment variable HIPPOCRENE_PROFILE names.
    Tune(Tune),
}

/// Arguments of `keygen`.
#[derive(Debug, Args)]
pub struct Keygen {
    /// Make public.key and evaluation.keys of this secret key, a client.key, which is left as it
    /// is.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["preset", "precision", "scheme", "plain_modulus"])]
    pub from: Option<PathBuf>,
    /// Parameters, by name (see `hippocrene presets`).
    #[arg(long, short, default_value = "n14")]
    pub preset: String,
    /// How precise results are to be where nothing else is said, in bits after the binary point (by
    /// default, 32 for parameters that let one choose). Every multiplication takes about as many
    /// bits of capacity, and some 15 more.
    #[arg(long, value_name = "BITS", allow_negative_numbers = true)]
    pub precision: Option<f64>,
    /// What is computed on: numbers (ckks), or integers modulo the plain modulus, exactly (bgv,
    /// bfv).
    #[arg(long, value_enum, default_value_t)]
    pub scheme: Scheme,
    /// What integers are computed modulo: a prime that is 1 modulo twice the ring degree (by
    /// default 65537, or 786433 from the ring degree 2^16).
    #[arg(long, value_name = "PRIME")]
    pub plain_modulus: Option<u64>,
    /// Folder for the keys; it is made when it does not exist.
    #[arg(long, short, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Limit the evaluation keys to rotations by these numbers of places, divided by commas:
    /// `--rotations=` to none (by default, any number).
    #[arg(long, value_name = "PLACES", allow_negative_numbers = true)]
    pub rotations: Option<Vec<Rotations>>,
    /// Make the key with which complex numbers are conjugated, too.
    #[arg(long)]
    pub conjugation: bool,
    /// Make keys with which the server looks up functions of numbers in tables (lut12 where no name
    /// is given). For presets of the ring degree 2^15 or more; the keys take gigabytes.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = LookUps::NAMES[1], value_name = "TABLES",
        value_parser = PossibleValuesParser::new(LookUps::NAMES))]
    pub tables: Option<String>,
    /// How much capacity results of tables are to have, in bits (by default, 30: about one product;
    /// with --bootstrapping what a bootstrap takes, where there is room).
    #[arg(long, value_name = "BITS", requires = "tables", allow_negative_numbers = true)]
    pub tables_capacity: Option<f64>,
    /// Make keys with which the server bootstraps arrays: where an operation lacks capacity, it
    /// gives it back. For presets of the ring degree 2^15 or more; the keys take gigabytes.
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "real", value_name = "ARRAYS")]
    pub bootstrapping: Option<Bootstrapped>,
    /// What no number exceeds that is bootstrapped, in absolute value (by default, 1); larger ones
    /// lose precision.
    #[arg(long, value_name = "NUMBER", requires = "bootstrapping", allow_negative_numbers = true)]
    pub bootstrapping_bound: Option<f64>,
    /// How many slots of a ciphertext are bootstrapped, a power of two (by default, all): the
    /// fewer, the faster it is, for arrays that fit in.
    #[arg(long, value_name = "SLOTS", requires = "bootstrapping")]
    pub bootstrapping_slots: Option<usize>,
    /// How precise a bootstrap is to be, in bits after the binary point (by default, as the
    /// results, or as much as one bootstrap has; more is reached by several).
    #[arg(long, value_name = "BITS", requires = "bootstrapping", allow_negative_numbers = true)]
    pub bootstrapping_precision: Option<f64>,
    /// Replace keys that are there. What was encrypted with a secret key that is replaced can no
    /// longer be read.
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `second`.
#[derive(Debug, Args)]
pub struct Second {
    /// The first secret key: client.key. Its arrays of numbers and of integers are taken by the
    /// second one; those of bits are not.
    #[arg(long, short, value_name = "FILE")]
    pub key: PathBuf,
    /// How much capacity the server needs, in bits; where the key is for integers, how many bits of
    /// noise budget. The fewer, the smaller the set of moduli, and as a rule the keys.
    #[arg(long, short, value_name = "BITS", allow_negative_numbers = true)]
    pub capacity: f64,
    /// Folder for the keys; it is made when it does not exist.
    #[arg(long, short, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Limit the evaluation keys to rotations by these numbers of places, divided by commas:
    /// `--rotations=` to none (by default, any number).
    #[arg(long, value_name = "PLACES", allow_negative_numbers = true)]
    pub rotations: Option<Vec<Rotations>>,
    /// Replace keys that are there. What was encrypted with them can then no longer be read.
    #[arg(long)]
    pub force: bool,
}

/// Numbers of places that are rotated by, as they are said: divided by commas, and none where
/// nothing is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotations(Vec<i64>);

impl Rotations {
    /// All that are said.
    pub fn together(said: Option<&[Self]>) -> Option<Vec<i64>> {
        Some(said?.iter().flat_map(|rotations| rotations.0.iter().copied()).collect())
    }
}

impl FromStr for Rotations {
    type Err = String;

    fn from_str(said: &str) -> Result<Self, String> {
        if said.trim().is_empty() {
            return Ok(Self(Vec::new()));
        }
        let places = |one: &str| {
            one.trim().parse().map_err(|e| format!("{one:?} is no number of places: {e}"))
        };
        said.split(',').map(places).collect::<Result<_, _>>().map(Self)
    }
}

/// What keys are for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Scheme {
    /// Real and complex numbers.
    #[default]
    Ckks,
    /// Integers, with the cheaper products.
    Bgv,
    /// Integers.
    Bfv,
}

/// Which arrays are bootstrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Bootstrapped {
    /// Real ones.
    Real,
    /// Complex ones too, which takes twice as long.
    Complex,
}

/// Arguments of `encrypt`.
#[derive(Debug, Args)]
pub struct Encrypt {
    /// The key: client.key or public.key.
    #[arg(long, short, value_name = "FILE")]
    pub key: PathBuf,
    /// The numbers; - is standard input, whose --format has to be said.
    pub input: PathBuf,
    /// Where to write the encrypted array; - is standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// The interval that all numbers lie in, checked and then visible to everybody. By default its
    /// bound is the largest absolute value, rounded up to a power of two, and it ends at 0 if no
    /// number is negative.
    #[arg(long, value_name = "LOW,HIGH", allow_hyphen_values = true, conflicts_with = "bound", value_parser = interval)]
    pub interval: Option<Interval>,
    /// Short for --interval=-BOUND,BOUND.
    #[arg(long, value_name = "BOUND", allow_negative_numbers = true)]
    pub bound: Option<f64>,
    /// Reduce integers that do not fit the plain modulus. By default they are an error.
    #[arg(long)]
    pub wrap: bool,
    /// How precise the numbers and what is computed from them are to be, in bits after the binary
    /// point (by default, what keygen was told).
    #[arg(long, value_name = "BITS", allow_negative_numbers = true)]
    pub precision: Option<f64>,
    /// Format of the numbers (by default, told by the ending of the name).
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// The first line of comma-separated values holds the names of the columns. By default it does
    /// if every cell is a name of its own and the lines below hold only numbers. Any other first
    /// line that may be names is an error until you give --header or --no-header.
    #[arg(long, conflicts_with = "no_header")]
    pub header: bool,
    /// The first line of comma-separated values holds values.
    #[arg(long)]
    pub no_header: bool,
    /// The first column is data, although it looks like a row index, such as pandas writes.
    #[arg(long, conflicts_with_all = ["index", "columns"])]
    pub no_index: bool,
    /// Which columns there are.
    #[command(flatten)]
    pub columns: ColumnArguments,
}

impl Encrypt {
    /// How a file of comma-separated values is read.
    pub fn table(&self) -> Table {
        let either = |yes: bool, no: bool| if yes || no { Some(yes) } else { None };
        Table {
            header: either(self.header, self.no_header),
            index: either(self.columns.index, self.no_index),
            ..self.columns.table()
        }
    }
}

/// Which columns of a file of comma-separated values are read.
#[derive(Debug, Args)]
pub struct ColumnArguments {
    /// Leave out the first column of comma-separated values, a row index such as pandas writes.
    #[arg(long, conflicts_with = "columns")]
    pub index: bool,
    /// The character between columns of comma-separated values, if it is no comma: such as ';', or
    /// '\t' for tabs.
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    pub delimiter: Option<u8>,
    /// The columns of comma-separated values to use, in this order (by default, all): their names
    /// in the first line, or their places, from 1. A whole number is a place.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub columns: Option<Vec<Column>>,
}

impl ColumnArguments {
    /// A table with these columns.
    pub fn table(&self) -> Table {
        let index = if self.index { Some(true) } else { None };
        Table { header: None, index, delimiter: self.delimiter, columns: self.columns.clone() }
    }

    /// True if nothing is said of the columns.
    pub fn is_empty(&self) -> bool {
        !self.index && self.delimiter.is_none() && self.columns.is_none()
    }
}

/// Reads an interval such as `-1,2.5`.
fn interval(text: &str) -> Result<Interval, String> {
    let ends = text.split_once(',').and_then(|(low, high)| {
        Some((low.trim().parse::<f64>().ok()?, high.trim().parse::<f64>().ok()?))
    });
    let (low, high) = ends.ok_or("two numbers with a comma between are needed, such as 0,120")?;
    Interval::finite(low, high).map_err(|error| error.to_string())
}

/// What divides columns.
fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "\\t" | "tab" => Ok(b'\t'),
        _ => match *text.as_bytes() {
            [byte]
                if byte == b'\t'
                    || byte == b' '
                    || byte.is_ascii_punctuation() && !b"\"+-.".contains(&byte) =>
            {
                Ok(byte)
            }
            _ => Err(
                "one ASCII character is needed that is in no number, such as ';', or \\t for tabs"
                    .to_owned(),
            ),
        },
    }
}

/// Arguments of `decrypt`.
#[derive(Debug, Args)]
pub struct Decrypt {
    /// The secret key: client.key.
    #[arg(long, short, value_name = "FILE")]
    pub key: PathBuf,
    /// The encrypted array; - is standard input.
    pub input: PathBuf,
    /// Where to write the numbers (by default, and where it is -, to standard output as
    /// comma-separated values).
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Format of the numbers (by default, told by the ending of the name).
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Write the names of the columns in the first line, as they are in the first line of this file
    /// of comma-separated values, such as the one that was encrypted. Encrypted arrays hold no
    /// names. Give the same --columns, --index and --delimiter as to encrypt.
    #[arg(long, value_name = "FILE")]
    pub header_from: Option<PathBuf>,
    /// Which columns of that file there are.
    #[command(flatten)]
    pub columns: ColumnArguments,
    /// Write integers around zero, instead of from 0 up to the plain modulus.
    #[arg(long)]
    pub signed: bool,
    /// Add noise that hides what the error tells about the key, so that the numbers can be
    /// published. It is 2^BITS times the error, and costs as many bits of precision; when no number
    /// is given, it is as much as leaves 8 bits of precision after the binary point, 20 to 40 bits.
    #[arg(long, value_name = "BITS", num_args = 0..=1, require_equals = true)]
    pub for_sharing: Option<Option<u32>>,
}

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct Inspect {
    /// Files that Hippocrene wrote; - is standard input.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
}

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub struct PlanArguments {
    /// Parameters, by name (see `hippocrene presets`).
    pub preset: String,
}

/// Arguments of `tune`.
#[derive(Debug, Args)]
pub struct Tune {
    /// Another file for the profile. It is used where HIPPOCRENE_PROFILE names it.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_tree_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn rotations_may_be_negative_or_none() {
        let parse = |rotations: &str| {
            let arguments =
                Arguments::try_parse_from(["hippocrene", "keygen", "-o", "keys", rotations]);
            match arguments.expect("arguments").command {
                Command::Keygen(keygen) => Rotations::together(keygen.rotations.as_deref()),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(parse("--rotations=1,-2,4"), Some(vec![1, -2, 4]));
        assert_eq!(parse("--rotations="), Some(vec![]));
        assert_eq!(parse("--json"), None);
        assert_eq!(
            "1,,2".parse::<Rotations>().unwrap_err(),
            "\"\" is no number of places: cannot parse integer from empty string"
        );
    }

    #[test]
    fn columns_and_what_divides_them() {
        let parse = |delimiter: &str| {
            let encrypt = [
                "hippocrene",
                "encrypt",
                "-k",
                "key",
                "in.csv",
                "-o",
                "out",
                "--columns=2, blood pressure",
            ];
            let arguments =
                Arguments::try_parse_from(encrypt.into_iter().chain(["--delimiter", delimiter]));
            match arguments.map(|arguments| arguments.command) {
                Ok(Command::Encrypt(encrypt)) => {
                    Ok((encrypt.columns.delimiter, encrypt.columns.columns))
                }
                Ok(other) => panic!("{other:?}"),
                Err(error) => Err(error.to_string()),
            }
        };
        let columns = vec![Column::Place(2), Column::Name("blood pressure".to_owned())];
        for (said, delimiter) in
            [(";", b';'), ("\\t", b'\t'), ("\t", b'\t'), ("tab", b'\t'), ("|", b'|')]
        {
            assert_eq!(parse(said), Ok((Some(delimiter), Some(columns.clone()))), "{said}");
        }
        for said in ["", ";;", "1", "e", ".", "-", "\"", "\n", "\u{a7}"] {
            assert!(parse(said).unwrap_err().contains("one ASCII character is needed"), "{said:?}");
        }
    }

    #[test]
    fn headers_and_indices_are_said_one_way() {
        let table = |flags: &[&str]| {
            let encrypt = ["hippocrene", "encrypt", "-k", "key", "in.csv", "-o", "out"];
            match Arguments::try_parse_from(encrypt.iter().chain(flags))
                .map(|arguments| arguments.command)
            {
                Ok(Command::Encrypt(encrypt)) => {
                    Ok((encrypt.table().header, encrypt.table().index))
                }
                Ok(other) => panic!("{other:?}"),
                Err(error) => Err(error.to_string()),
            }
        };
        assert_eq!(table(&[]), Ok((None, None)));
        assert_eq!(table(&["--header", "--index"]), Ok((Some(true), Some(true))));
        assert_eq!(table(&["--no-header", "--no-index"]), Ok((Some(false), Some(false))));
        for both in
            [["--header", "--no-header"], ["--index", "--no-index"], ["--index", "--columns=1"]]
        {
            assert!(table(&both).unwrap_err().contains("cannot be used with"), "{both:?}");
        }
    }

    #[test]
    fn threads_are_1_to_1024() {
        assert!(
            Arguments::try_parse_from(["hippocrene", "presets", "--threads", "60000"]).is_err()
        );
        assert!(Arguments::try_parse_from(["hippocrene", "presets", "--threads", "0"]).is_err());
        assert!(Arguments::try_parse_from(["hippocrene", "presets", "--threads", "2"]).is_ok());
    }
}
