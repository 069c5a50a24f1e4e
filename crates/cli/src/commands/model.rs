//! Programs that are models: how rows are encoded and how results are read, by the notes of their
//! interface (`docs/reference/wire-format.md`).

use crate::arrays::{Array, Contents, Format, Number, Table};
use crate::console::count;
use crate::error::CliError;
use hippocrene::{Interface, Notes, format_shape};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use std::path::Path;

/// Encoded values may exceed 1 by this much, from rounding (chosen, as in Python).
const ROUNDING: f64 = 1.0 / (1u64 << 40) as f64;

/// Rounds a number to six digits, for errors.
fn shown(number: f64) -> f64 {
    format!("{number:.5e}").parse().unwrap_or(number)
}

/// How the rows of a model are encoded.
#[derive(Debug, Deserialize)]
pub(super) struct Columns {
    feature_names: Option<Vec<String>>,
    centres: Vec<f64>,
    half_widths: Vec<f64>,
}

impl Columns {
    /// Reads the notes of an interface on its inputs. It is `None` if the program is no model.
    ///
    /// # Errors
    /// [`CliError::Data`] if the notes are not those of a model.
    pub(super) fn of(interface: &Interface, path: &Path) -> Result<Option<Self>, CliError> {
        let columns: Option<Self> = read(&interface.notes().inputs, path)?;
        let fits = |columns: &Self| {
            let count = columns.centres.len();
            let named = columns.feature_names.as_ref().is_none_or(|names| names.len() == count);
            let numbers = columns.centres.iter().chain(&columns.half_widths);
            named
                && columns.half_widths.len() == count
                && numbers.clone().all(|number| number.is_finite())
                && columns.half_widths.iter().all(|half_width| *half_width > 0.0)
        };
        match columns {
            Some(columns) if !fits(&columns) => Err(no_model(path, "columns without intervals")),
            columns => Ok(columns),
        }
    }

    /// Reads rows from a file and maps each column from its interval to -1 to 1.
    ///
    /// Columns are found by their names if the file and the model have names.
    ///
    /// # Errors
    /// As [`Array::read`], and [`CliError::Data`] if the columns are not those of the model or a
    /// value is outside of its interval.
    pub(super) fn encode(
        &self,
        path: &Path,
        format: Format,
        table: &Table,
    ) -> Result<Array, CliError> {
        let names = self.feature_names.as_deref().unwrap_or_default();
        let Contents { numbers: mut rows, names: header } =
            Array::<f64>::read_named(path, format, table, names)?;
        let data = |reason: String| CliError::Data { path: path.to_owned(), reason };
        let width = self.centres.len();
        if rows.shape.len() != 2 || rows.shape[1] != width {
            return Err(data(format!(
                "these are numbers of shape {}, and the model takes rows of {}. Give the columns \
                 that it was fitted to.",
                format_shape(&rows.shape),
                count(width, "column")
            )));
        }
        self.check_header(&header, table).map_err(data)?;
        for (i, value) in rows.values.iter_mut().enumerate() {
            let (row, column) = (i / width, i % width);
            let (centre, half_width) = (self.centres[column], self.half_widths[column]);
            let encoded = (*value - centre) / half_width;
            if encoded.is_nan() || encoded.abs() > 1.0 + ROUNDING {
                let name = names.get(column).map_or_else(String::new, |name| format!(" ({name})"));
                return Err(data(format!(
                    "{value} in row {}, column {}{name} of the model is outside of {} to {}, \
                     the interval that it was converted for. Leave such rows out, or ask for a \
                     model with a larger margin.",
                    row + 1,
                    column + 1,
                    shown(centre - half_width),
                    shown(centre + half_width),
                )));
            }
            *value = encoded.clamp(-1.0, 1.0);
        }
        Ok(rows)
    }

    /// Checks the names of the columns that were read, if the file has names.
    fn check_header(&self, header: &[String], table: &Table) -> Result<(), String> {
        match self.feature_names.as_deref() {
            Some(names) if !header.is_empty() && header != names => Err(format!(
                "--columns chooses {}, and the model takes {}. Leave out --columns: columns are \
                 found by their names.",
                header.join(", "),
                names.join(", ")
            )),
            None if !header.is_empty() && table.columns.is_none() => {
                Err("the file names its columns, and the model was converted without names. Give \
                     --columns with all columns in the order that the model was fitted to, or \
                     convert the model with like= a data frame."
                    .to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// The notes of a model on its results.
#[derive(Debug, Deserialize)]
struct ResultNotes {
    classes: Option<Vec<Value>>,
    result: String,
}

/// The classes of a classifier.
#[derive(Debug)]
pub(super) struct Classes(Vec<Value>);

/// The meaning of the results of a program.
#[derive(Debug)]
pub(super) enum Meaning {
    /// Numbers.
    Plain,
    /// Scores of the classes.
    Scores(Classes),
    /// Probabilities of the classes, one column for each.
    Probabilities(Classes),
}

impl Meaning {
    /// Reads the notes of an interface on its results.
    ///
    /// # Errors
    /// [`CliError::Data`] if the notes are not those of a model.
    pub(super) fn of(interface: &Interface, path: &Path) -> Result<Self, CliError> {
        let notes: Option<ResultNotes> = read(&interface.notes().results, path)?;
        let Some(ResultNotes { classes: Some(classes), result }) = notes else {
            return Ok(Meaning::Plain);
        };
        let is_class = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
        if !classes.iter().all(is_class) {
            return Err(no_model(path, "classes that are neither text, numbers nor booleans"));
        }
        Ok(match &*result {
            "scores" => Meaning::Scores(Classes(classes)),
            "predict_proba" => Meaning::Probabilities(Classes(classes)),
            _ => Meaning::Plain,
        })
    }

    /// The classes that the results are scores of, or `None` for other results.
    pub(super) fn classes(&self) -> Option<&Classes> {
        match self {
            Meaning::Scores(classes) => Some(classes),
            _ => None,
        }
    }

    /// The names of the columns. It is empty for results that have none.
    pub(super) fn header(&self) -> Vec<String> {
        match self {
            Meaning::Probabilities(Classes(classes)) if classes.iter().all(Value::is_string) => {
                names(classes)
            }
            // A line of numbers would look like a row.
            Meaning::Probabilities(Classes(classes)) => {
                names(classes).into_iter().map(|name| format!("class {name}")).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Classes {
    /// Checks that a format can hold the classes.
    ///
    /// # Errors
    /// [`CliError::Usage`] if it cannot.
    pub(super) fn check_format(&self, format: Format) -> Result<(), CliError> {
        let shape = vec![self.0.len()];
        class_bytes(&Array { shape, values: self.0.clone() }, format).map(drop)
    }

    /// Returns the class of each row.
    ///
    /// One score for a row belongs to the second of two classes. Of several, the largest wins.
    ///
    /// # Errors
    /// [`CliError::Usage`] if there are other numbers of scores.
    pub(super) fn of_scores(&self, scores: &Array) -> Result<Array<Value>, CliError> {
        let best: Vec<usize> = match scores.shape[..] {
            [_] if self.0.len() == 2 => {
                scores.values.iter().map(|score| usize::from(*score > 0.0)).collect()
            }
            [_, width] if width == self.0.len() => {
                scores.values.chunks(width).map(largest).collect()
            }
            _ => {
                return Err(CliError::Usage(format!(
                    "--for: the array has the shape {}, and the model has {} classes. \
                     Give the program that computed the array, or leave out --for.",
                    format_shape(&scores.shape),
                    self.0.len()
                )));
            }
        };
        let values = best.into_iter().map(|class| self.0[class].clone()).collect();
        Ok(Array { shape: vec![scores.shape[0]], values })
    }
}

/// Returns the columns and the classes of a model, as far as its notes name them.
pub(super) fn described(notes: &Notes) -> Vec<(&'static str, String)> {
    let columns = serde_json::from_str::<Columns>(&notes.inputs).ok();
    let columns = columns.and_then(|columns| columns.feature_names);
    let classes = serde_json::from_str::<ResultNotes>(&notes.results).ok();
    let classes = classes.and_then(|notes| notes.classes).map(|classes| names(&classes));
    let listed = [("columns", columns), ("classes", classes)].into_iter();
    // Texts of strangers stay on their line.
    let line = |names: Vec<String>| names.join(", ").replace(char::is_control, " ");
    listed.filter_map(|(what, names)| Some((what, line(names?)))).collect()
}

/// The names of classes.
fn names(classes: &[Value]) -> Vec<String> {
    let name = |class: &Value| class.as_str().map_or_else(|| class.to_string(), str::to_owned);
    classes.iter().map(name).collect()
}

/// Formats classes as a file. Those in `.npy` are integers, floats or booleans.
///
/// # Errors
/// [`CliError::Usage`] if the format cannot hold them.
pub(super) fn class_bytes(classes: &Array<Value>, format: Format) -> Result<Vec<u8>, CliError> {
    fn all<T: Number>(classes: &Array<Value>, of: fn(&Value) -> Option<T>) -> Option<Array<T>> {
        let values: Option<Vec<T>> = classes.values.iter().map(of).collect();
        Some(Array { shape: classes.shape.clone(), values: values? })
    }
    if format == Format::Csv {
        return classes.to_csv(&["class".to_owned()]);
    }
    if let Some(integers) = all(classes, Value::as_i64) {
        return integers.to_bytes(format, &[]);
    }
    if let Some(floats) = all(classes, Value::as_f64) {
        return floats.to_bytes(format, &[]);
    }
    match all(classes, Value::as_bool) {
        Some(booleans) => booleans.to_bytes(format, &[]),
        None => Err(CliError::Usage(
            "the classes are text, which .npy does not hold. Write them as .csv.".to_owned(),
        )),
    }
}

/// The place of the first largest score.
fn largest(scores: &[f64]) -> usize {
    let best = |best: usize, i: usize| if scores[i] > scores[best] { i } else { best };
    (0..scores.len()).fold(0, best)
}

/// Reads notes, which are an object of JSON or empty.
fn read<T: DeserializeOwned>(notes: &str, path: &Path) -> Result<Option<T>, CliError> {
    match notes.is_empty() {
        true => Ok(None),
        false => serde_json::from_str(notes)
            .map(Some)
            .map_err(|error| no_model(path, &error.to_string())),
    }
}

fn no_model(path: &Path, why: &str) -> CliError {
    let reason = format!("the notes of this interface describe no model: {why}");
    CliError::Data { path: path.to_owned(), reason }
}
