//! The arguments of the command.

use crate::arrays::{Column, Format, Table};
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use hippocrene::{ClientKey, Interval, LookUps};
use std::path::PathBuf;
use std::str::FromStr;

const EXIT_STATUS: &str = "\
Exit status: 0 done; 1 refused because of the files' contents (wrong key, not enough capacity, \
values that cannot be encrypted);
2 wrong arguments (unknown, out of range, or not for these parameters); \
3 a file cannot be read or written;
4 a file has other contents than needed.

A command that is stopped while it writes FILE can leave a partial file \
.FILE.PROCESS.NUMBER.part in the same folder. You can
delete it. On Linux, the next command that writes FILE after ten minutes deletes it.";

/// Encrypt arrays of numbers, and read results computed on them.
#[derive(Debug, Parser)]
#[command(name = "hippocrene", version, propagate_version = true, after_help = EXIT_STATUS)]
pub struct Arguments {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
    /// Print one JSON object, also for errors (those to standard error).
    #[arg(long, global = true)]
    pub json: bool,
    /// Threads to compute on.
    #[arg(long, global = true, default_value_t = 1, value_name = "NUMBER",
        value_parser = clap::value_parser!(u16).range(1..=1024))]
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
    /// the latter two from an existing secret key.
    Keygen(Box<Keygen>),
    /// Make a second secret key for a client, whose evaluation keys are smaller, and the key that
    /// converts arrays to it.
    ///
    /// Writes three files: client.key, the second secret, with which results are decrypted,
    /// readable by its owner only; evaluation.keys, with which a server computes; transfer.key,
    /// with which it converts arrays of the first key to the second.
    Second(Second),
    /// Encrypt a file of numbers (.csv or .npy).
    Encrypt(Encrypt),
    /// Decrypt to a file of numbers (.csv or .npy).
    ///
    /// Comma-separated values contain the digits that are correct at the precision of the array.
    /// Files of .npy contain doubles.
    ///
    /// The last bits of the numbers are noise that depends on the secret key: give them to others
    /// only when decrypted with --for-sharing.
    Decrypt(Decrypt),
    /// Describe a file: its kind, parameters, key, shape, capacity, precision and size.
    Inspect(Inspect),
    /// List the presets, the parameter sets that keygen knows.
    Presets,
    /// Show the plan of a program: its steps, time, memory, error and keys. For a preset, show the
    /// plan of its key switches.
    ///
    /// Predicted times follow from the measurements of `hippocrene tune`. The plan of a preset shows
    /// the digits of a key switch at each modulus, where the fastest decomposition of the key is
    /// chosen.
    Plan(PlanArguments),
    /// Run a program that `hippocrene.compile` saved.
    ///
    /// With --keys, the inputs are encrypted arrays, as a server gets them, and so are the results.
    /// Without --keys, the inputs are files of numbers (.csv or .npy). The command then makes keys
    /// for this run only, encrypts, runs and decrypts, to try a program out.
    Run(Run),
    /// Measure the cost of operations on this machine, to plan key switches. It takes a few
    /// seconds.
    ///
    /// The profile is written to the folder of your settings (hippocrene/profile.json in
    /// $XDG_CONFIG_HOME or ~/.config), where every program that uses the library finds it. If the
    /// environment variable HIPPOCRENE_PROFILE names a file, the profile is written there instead.
    Tune(Tune),
}

/// Arguments of `keygen`.
#[derive(Debug, Args)]
pub struct Keygen {
    /// Make public.key and evaluation.keys from this secret key, a client.key, which stays as it
    /// is.
    #[arg(long, value_name = "FILE",
        conflicts_with_all = ["preset", "precision", "scheme", "plain_modulus"])]
    pub from: Option<PathBuf>,
    /// Make the keys that this program uses, and no others. FILE is the program or its interface.
    #[arg(long = "for", value_name = "FILE", conflicts_with_all = ["preset", "precision", "scheme",
        "plain_modulus", "rotations", "conjugation", "tables", "bootstrapping"])]
    pub program: Option<PathBuf>,
    /// Parameters, by name (see `hippocrene presets`).
    #[arg(long, short, default_value = "n14")]
    pub preset: String,
    /// Default precision of results, in bits after the binary point (by default, 32 for parameters
    /// that allow a choice). Every multiplication costs this number of bits of capacity, plus about
    /// 15 more.
    #[arg(long, value_name = "BITS", allow_negative_numbers = true)]
    pub precision: Option<f64>,
    /// Type of the values: numbers (ckks), or exact integers modulo the plain modulus (bgv, bfv).
    #[arg(long, value_enum, default_value_t)]
    pub scheme: Scheme,
    /// Modulus of integers: a prime that is 1 modulo twice the ring degree (by default 65537, or
    /// 786433 from the ring degree 2^16).
    #[arg(long, value_name = "PRIME")]
    pub plain_modulus: Option<u64>,
    /// Folder for the keys; it is made if it does not exist. Keys in it are only replaced with
    /// --force.
    #[arg(long, short, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Limit the evaluation keys to rotations by these numbers of places, separated by commas.
    /// `--rotations=` allows none (by default, any number).
    #[arg(long, value_name = "PLACES", allow_negative_numbers = true)]
    pub rotations: Option<Vec<Rotations>>,
    /// Also make the key that conjugates complex numbers.
    #[arg(long)]
    pub conjugation: bool,
    /// Make keys with which the server looks up functions of numbers in tables (lut12 if no name is
    /// given). For the presets n15, n16s, n16, n17s and n17; the keys take gigabytes.
    #[arg(long, num_args = 0..=1, require_equals = true,
        default_missing_value = LookUps::NAMES[1], value_name = "TABLES",
        value_parser = PossibleValuesParser::new(LookUps::NAMES))]
    pub tables: Option<String>,
    /// Capacity of results of tables, in bits (by default, 30, about one product; with
    /// --bootstrapping the capacity that a bootstrap needs, if it fits).
    #[arg(long, value_name = "BITS", requires = "tables", allow_negative_numbers = true)]
    pub tables_capacity: Option<f64>,
    /// Make keys with which the server bootstraps arrays, which restores capacity when an operation
    /// lacks it. For the presets n15s, n15, n16s, n16, n17s and n17; the keys take half
    /// a gigabyte for n15, and gigabytes from n16s on.
    #[arg(long)]
    pub bootstrapping: bool,
    /// Largest absolute value of numbers to bootstrap (by default, 1). Larger ones lose precision.
    #[arg(long, value_name = "NUMBER", requires = "bootstrapping", allow_negative_numbers = true)]
    pub bootstrapping_bound: Option<f64>,
    /// Number of slots of a ciphertext that are bootstrapped, a power of two (by default, all).
    /// Fewer slots are faster, for arrays that fit.
    #[arg(long, value_name = "SLOTS", requires = "bootstrapping")]
    pub bootstrapping_slots: Option<usize>,
    /// Precision of a bootstrap, in bits after the binary point (by default, that of the results,
    /// or that of one bootstrap if it is lower). Several bootstraps reach a higher precision.
    #[arg(long, value_name = "BITS", requires = "bootstrapping", allow_negative_numbers = true)]
    pub bootstrapping_precision: Option<f64>,
    /// Replace existing keys. Arrays encrypted with a replaced secret key can no longer be
    /// decrypted.
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `second`.
#[derive(Debug, Args)]
pub struct Second {
    /// The first secret key: client.key. Its arrays of numbers and of integers can be brought to
    /// the second key; those of bits cannot.
    #[arg(long, short, value_name = "FILE")]
    pub key: PathBuf,
    /// Capacity that the server needs, in bits; for integers, bits of noise budget. A smaller
    /// capacity makes the set of moduli smaller, and usually the keys.
    #[arg(long, short, value_name = "BITS", allow_negative_numbers = true)]
    pub capacity: f64,
    /// Folder for the keys; it is made if it does not exist.
    #[arg(long, short, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Limit the evaluation keys to rotations by these numbers of places, separated by commas.
    /// `--rotations=` allows none (by default, any number).
    #[arg(long, value_name = "PLACES", allow_negative_numbers = true)]
    pub rotations: Option<Vec<Rotations>>,
    /// Replace existing keys. Arrays encrypted with them can then no longer be decrypted.
    #[arg(long)]
    pub force: bool,
}

/// The value of one `--rotations`: numbers of places, separated by commas. An empty value means
/// none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotations(Vec<i64>);

impl Rotations {
    /// The places of all `--rotations` together, or `None` if the option is absent.
    pub fn together(options: Option<&[Self]>) -> Option<Vec<i64>> {
        Some(options?.iter().flat_map(|rotations| rotations.0.iter().copied()).collect())
    }
}

impl FromStr for Rotations {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self(Vec::new()));
        }
        let places = |one: &str| {
            one.trim().parse().map_err(|e| format!("{one:?} is not a number of places: {e}"))
        };
        text.split(',').map(places).collect::<Result<_, _>>().map(Self)
    }
}

/// The scheme of keys.
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

/// Arguments of `encrypt`.
#[derive(Debug, Args)]
pub struct Encrypt {
    /// The key: client.key or public.key.
    #[arg(long, short, value_name = "FILE")]
    pub key: PathBuf,
    /// The numbers; - is standard input, which needs --format.
    pub input: PathBuf,
    /// Where to write the encrypted array; - is standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Encrypt an input of this program: with its interval and its precision, in its shape. FILE is
    /// the program or its interface.
    #[arg(long = "for", value_name = "FILE",
        conflicts_with_all = ["interval", "bound", "precision", "wrap"])]
    pub program: Option<PathBuf>,
    /// The name of the input of the program, if it takes several.
    #[arg(long = "as", value_name = "NAME", requires = "program")]
    pub input_name: Option<String>,
    /// The interval that contains all numbers. It is checked, and then visible to everybody. By
    /// default its bound is the largest absolute value, rounded up to a power of two, and it ends
    /// at 0 if no number is negative.
    #[arg(long, value_name = "LOW,HIGH", allow_hyphen_values = true, conflicts_with = "bound",
        value_parser = interval)]
    pub interval: Option<Interval>,
    /// Short for --interval=-BOUND,BOUND.
    #[arg(long, value_name = "BOUND", allow_negative_numbers = true)]
    pub bound: Option<f64>,
    /// Reduce integers that do not fit the plain modulus. By default they are an error.
    #[arg(long)]
    pub wrap: bool,
    /// Precision of the numbers and of results computed from them, in bits after the binary point
    /// (by default, the precision given to keygen).
    #[arg(long, value_name = "BITS", allow_negative_numbers = true)]
    pub precision: Option<f64>,
    /// Format of the numbers (by default, from the ending of the file name).
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// How comma-separated values are read.
    #[command(flatten)]
    pub table: TableArguments,
}

/// How a file of comma-separated values is read.
#[derive(Debug, Args)]
pub struct TableArguments {
    /// The first line of comma-separated values holds the names of the columns. By default it does
    /// if every cell is a unique name and the lines below hold only numbers. Any other first
    /// line that may be names is an error until you give --header or --no-header.
    #[arg(long, conflicts_with = "no_header")]
    pub header: bool,
    /// The first line of comma-separated values holds values.
    #[arg(long)]
    pub no_header: bool,
    /// The first column is data, although it looks like a row index, such as pandas writes.
    #[arg(long, conflicts_with_all = ["index", "columns"])]
    pub no_index: bool,
    /// Columns to read.
    #[command(flatten)]
    pub columns: ColumnArguments,
}

impl TableArguments {
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

/// The columns of a file of comma-separated values that are read.
#[derive(Debug, Args)]
pub struct ColumnArguments {
    /// Leave out the first column of comma-separated values, a row index such as pandas writes.
    #[arg(long, conflicts_with = "columns")]
    pub index: bool,
    /// The character between columns of comma-separated values if it is not a comma, such as ';',
    /// or '\t' for tabs.
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

    /// True if no option about columns is given.
    pub fn is_empty(&self) -> bool {
        !self.index && self.delimiter.is_none() && self.columns.is_none()
    }
}

/// Reads an interval such as `-1,2.5`.
fn interval(text: &str) -> Result<Interval, String> {
    let ends = text.split_once(',').and_then(|(low, high)| {
        Some((low.trim().parse::<f64>().ok()?, high.trim().parse::<f64>().ok()?))
    });
    let (low, high) = ends.ok_or("two numbers separated by a comma are needed, such as 0,120")?;
    Interval::finite(low, high).map_err(|error| error.to_string())
}

/// Reads the character between columns.
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
                "one ASCII character that does not occur in numbers is needed, such as ';', or \\t \
                 for tabs"
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
    /// Where to write the numbers. By default, and for -, comma-separated values go to standard
    /// output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The program that computed the array, or its interface. The scores of a classifier become a
    /// column with the header class, and its probabilities get the classes as header. A result of a
    /// model with other classes is refused.
    #[arg(long = "for", value_name = "FILE",
        conflicts_with_all = ["header_from", "signed", "for_sharing"])]
    pub program: Option<PathBuf>,
    /// Format of the numbers (by default, from the ending of the file name).
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Write the names of the columns in the first line. They are taken from the first line of this
    /// file of comma-separated values, such as the one that was encrypted. Encrypted arrays hold no
    /// names. Give the same --columns, --index and --delimiter as to encrypt.
    #[arg(long, value_name = "FILE")]
    pub header_from: Option<PathBuf>,
    /// Columns of that file.
    #[command(flatten)]
    pub columns: ColumnArguments,
    /// Write integers around zero, instead of from 0 up to the plain modulus.
    #[arg(long)]
    pub signed: bool,
    /// Add noise that hides the information about the key in the error, so that the numbers can be
    /// published. The noise is 2^BITS times the error, and costs about BITS bits of precision.
    /// BITS is at least 20. Without a number, it is chosen from 20 to 40 to leave 8 bits of
    /// precision after the binary point.
    #[arg(long, value_name = "BITS", num_args = 0..=1, require_equals = true,
        value_parser = clap::value_parser!(u32).range(i64::from(ClientKey::MIN_SHARING_BITS)..))]
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
    /// The file of a program, or the name of a preset (see `hippocrene presets`).
    #[arg(value_name = "PROGRAM|PRESET")]
    pub subject: String,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct Run {
    /// The program, which Program.save wrote in Python.
    pub program: PathBuf,
    /// A file for each input of the program, in order.
    #[arg(required = true)]
    pub inputs: Vec<PathBuf>,
    /// A file of plain numbers for a parameter of the program. Give it once for each parameter.
    #[arg(long, short, value_name = "NAME=FILE")]
    pub parameter: Vec<String>,
    /// The evaluation keys of the client, to run on encrypted inputs.
    #[arg(long, short, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// The file for a result. Give it once for each result of the program. Without --keys, a single
    /// result goes to standard output by default, as comma-separated values.
    #[arg(long, short, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// Write integers around zero instead of integers from 0.
    #[arg(long, conflicts_with = "keys")]
    pub signed: bool,
    /// How comma-separated values are read.
    #[command(flatten)]
    pub table: TableArguments,
}

/// Arguments of `tune`.
#[derive(Debug, Args)]
pub struct Tune {
    /// Another file for the profile. It is used if HIPPOCRENE_PROFILE names it.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent() {
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
            "\"\" is not a number of places: cannot parse integer from empty string"
        );
    }

    #[test]
    fn columns_and_delimiters_are_parsed() {
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
                    Ok((encrypt.table.columns.delimiter, encrypt.table.columns.columns))
                }
                Ok(other) => panic!("{other:?}"),
                Err(error) => Err(error.to_string()),
            }
        };
        let columns = vec![Column::Place(2), Column::Name("blood pressure".to_owned())];
        for (text, delimiter) in
            [(";", b';'), ("\\t", b'\t'), ("\t", b'\t'), ("tab", b'\t'), ("|", b'|')]
        {
            assert_eq!(parse(text), Ok((Some(delimiter), Some(columns.clone()))), "{text}");
        }
        for text in ["", ";;", "1", "e", ".", "-", "\"", "\n", "\u{a7}"] {
            assert!(parse(text).unwrap_err().contains("one ASCII character that"), "{text:?}");
        }
    }

    #[test]
    fn header_and_index_options_exclude_each_other() {
        let table = |flags: &[&str]| {
            let encrypt = ["hippocrene", "encrypt", "-k", "key", "in.csv", "-o", "out"];
            match Arguments::try_parse_from(encrypt.iter().chain(flags))
                .map(|arguments| arguments.command)
            {
                Ok(Command::Encrypt(encrypt)) => {
                    Ok((encrypt.table.table().header, encrypt.table.table().index))
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
