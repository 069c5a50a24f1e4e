//! Rows, ratios and targets, as JSON and as text.

use std::fmt;

use serde::Serialize;

use crate::{
    Result,
    figures::{PaperFigure, PeerFigure},
    live::LiveFigure,
    number::{round_to, significant},
    tables::Table,
    yardstick::Yardstick,
};

/// One measurement, with the figure that it is compared with.
#[derive(Debug, Clone)]
pub struct Row {
    name: String,
    value: f64,
    unit: &'static str,
    better: Better,
    against: Option<Against>,
    paper: Option<PaperFigure>,
    target: Option<f64>,
}

/// The direction in which a figure is better.
#[derive(Debug, Clone, Copy)]
enum Better {
    Less,
    More,
}

/// The figure that a measurement is compared with.
#[derive(Debug, Clone)]
enum Against {
    /// A figure measured in this run, in the unit of the row.
    Here(Compared),
    /// A peer's figure on the reference machine.
    Peer(PeerFigure),
    /// A paper's figure on the paper's machine.
    Paper(PaperFigure),
}

impl Row {
    /// Returns a measurement for which less is better.
    ///
    /// It may be a time (`us`, `ms`, `s`), a size (`MB`) or the logarithm of an error (`log2`). For
    /// an error, the ratio is that of the errors themselves.
    pub fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Row {
            name: name.into(),
            value,
            unit,
            better: Better::Less,
            against: None,
            paper: None,
            target: None,
        }
    }

    /// Returns a measurement for which more is better, such as a precision (`bits`) or a speed-up
    /// (`x`).
    pub fn more_is_better(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Row { better: Better::More, ..Row::new(name, value, unit) }
    }

    /// Returns a row without a figure, whose text gives the reason.
    pub fn missing(why: impl Into<String>) -> Self {
        Row::new(why, f64::NAN, "")
    }

    /// Returns the rows of a computation, or one with the reason if the library refuses it.
    ///
    /// # Errors
    /// Any error but a refused argument and missing capacity.
    pub fn or_refusal(name: &str, rows: Result<Vec<Row>>) -> Result<Vec<Row>> {
        rows.or_else(|error| match error.downcast_ref::<hippocrene::Error>() {
            Some(hippocrene::Error::Argument { .. } | hippocrene::Error::Capacity { .. }) => {
                Ok(vec![Row::missing(format!("{name}: refused ({error})"))])
            }
            _ => Err(error),
        })
    }

    /// Compares with a figure measured in this run, in the same unit.
    pub fn against(mut self, name: impl Into<String>, value: f64) -> Self {
        let source = "measured in this run".into();
        self.against = Some(Against::Here(Compared { name: name.into(), value, source }));
        self
    }

    /// Compares with a peer's time measured in this run.
    pub fn against_live(mut self, figure: LiveFigure) -> Self {
        let value = convert(figure.milliseconds, "ms", self.unit);
        self.against =
            Some(Against::Here(Compared { name: figure.peer, value, source: figure.source }));
        self
    }

    /// Compares with a peer's figure on the reference machine. A time is scaled by the yardstick.
    pub fn against_peer(mut self, figure: PeerFigure) -> Self {
        self.against = Some(Against::Peer(figure));
        self
    }

    /// Adds the figure of a paper.
    pub fn paper(mut self, figure: Option<PaperFigure>) -> Self {
        self.paper = figure;
        self
    }

    /// Compares with the figure of a paper, unscaled. A time is that of the paper's machine.
    pub fn against_paper(mut self, figure: Option<PaperFigure>) -> Self {
        self.against = figure.clone().map(Against::Paper);
        self.paper(figure)
    }

    /// Sets the target: the factor by which the measurement has to be better than the compared
    /// figure.
    pub fn target(mut self, ratio: Option<f64>) -> Self {
        self.target = ratio;
        self
    }

    fn line(self, yardstick: &Yardstick) -> Line {
        let against = self.against.map(|against| match against {
            Against::Here(other) => other,
            Against::Peer(figure) => figure.compared(self.unit, yardstick),
            Against::Paper(figure) => figure.compared(self.unit),
        });
        let ratio = against.as_ref().map(|other| match (self.better, self.unit) {
            (Better::Less, "log2") => (other.value - self.value).exp2(),
            (Better::Less, _) => other.value / self.value,
            (Better::More, _) => self.value / other.value,
        });
        let met = self.target.zip(ratio).map(|(target, ratio)| ratio >= target);
        Line {
            row: self.name,
            value: round_to(self.value, 5),
            unit: self.unit,
            against: against.map(Compared::rounded),
            ratio: ratio.map(|ratio| round_to(ratio, 4)),
            paper: self.paper.map(|figure| figure.compared(self.unit).rounded()),
            target: self.target,
            met,
        }
    }
}

/// Returns the seconds in a unit of time, or `None` for other units.
fn seconds(unit: &str) -> Option<f64> {
    match unit {
        "us" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        _ => None,
    }
}

/// Converts `value` between units. Times are converted. Other units must be equal, or the result is
/// NaN.
fn convert(value: f64, from: &str, to: &str) -> f64 {
    match (seconds(from), seconds(to)) {
        (Some(a), Some(b)) => value * a / b,
        (None, None) if from == to => value,
        _ => f64::NAN,
    }
}

impl PeerFigure {
    fn compared(self, unit: &str, yardstick: &Yardstick) -> Compared {
        let there = convert(self.value, &self.unit, unit);
        let (value, how) = if seconds(unit).is_some() {
            let factor = yardstick.factor(self.log_n);
            let how = format!("{} {} there, x {}", self.value, self.unit, significant(factor, 3));
            (there * factor, how)
        } else {
            (there, "as measured there".into())
        };
        Compared { name: self.peer, value, source: format!("{how}; {}", self.source) }
    }
}

impl PaperFigure {
    fn compared(self, unit: &str) -> Compared {
        Compared {
            name: self.paper,
            value: convert(self.value, &self.unit, unit),
            source: self.source,
        }
    }
}

/// A figure that a measurement is compared with, in the measurement's unit.
#[derive(Debug, Clone, Serialize)]
struct Compared {
    name: String,
    value: f64,
    source: String,
}

impl Compared {
    fn rounded(self) -> Self {
        Compared { value: round_to(self.value, 5), ..self }
    }
}

/// One row as it is printed.
#[derive(Debug, Clone, Serialize)]
struct Line {
    row: String,
    value: f64,
    unit: &'static str,
    against: Option<Compared>,
    ratio: Option<f64>,
    paper: Option<Compared>,
    target: Option<f64>,
    met: Option<bool>,
}

/// A finished table. `Display` prints it as text, without the heading that was printed before the
/// run.
#[derive(Debug, Serialize)]
pub struct Report {
    table: &'static str,
    cpu: String,
    kernel: String,
    threads: usize,
    yardstick: Yardstick,
    rows: Vec<Line>,
}

impl Report {
    /// Makes the report from `rows` and the yardstick's times of the same run.
    pub fn new(
        table: &'static str,
        cpu: String,
        kernel: String,
        threads: usize,
        yardstick: Yardstick,
        rows: Vec<Row>,
    ) -> Self {
        let rows = rows.into_iter().map(|row| row.line(&yardstick)).collect();
        Report { table, cpu, kernel, threads, yardstick, rows }
    }
}

/// The heading of a table as text: its purpose, memory, time and machine.
pub fn heading(table: &Table, cpu: &str, core: usize) -> String {
    format!(
        "{}: {}\nmemory {}, time {}; {cpu}, one thread, pinned to core {core}",
        table.name, table.about, table.memory, table.time
    )
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "kernel {}; yardstick {}\n", self.kernel, self.yardstick.in_words())?;
        let titles = ["", "ours", "", "against", "", "ratio", "target", "met", "paper", ""];
        let mut cells = vec![titles.map(String::from)];
        let (figures, missing): (Vec<&Line>, Vec<&Line>) =
            self.rows.iter().partition(|row| row.value.is_finite());
        cells.extend(figures.into_iter().map(Line::cells));
        let width =
            |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..titles.len()).map(width).collect();
        for row in &cells {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                let numeric = matches!(column, 1 | 4 | 5 | 6 | 8);
                line += &if numeric {
                    format!("{cell:>width$}  ")
                } else {
                    format!("{cell:<width$}  ")
                };
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        missing.into_iter().try_for_each(|row| writeln!(f, "\n{}", row.row))?;
        let judged: Vec<bool> = self.rows.iter().filter_map(|row| row.met).collect();
        if !judged.is_empty() {
            let met = judged.iter().filter(|met| **met).count();
            writeln!(f, "\n{met} of {} targets met", judged.len())?;
        }
        Ok(())
    }
}

impl Line {
    fn cells(&self) -> [String; 10] {
        let number = |x: Option<f64>| x.map_or(String::new(), |x| significant(x, 3));
        // Moduli have hundreds of bits, and each bit counts. Counts are integers.
        let in_unit = |x: f64| match self.unit {
            "" if x.fract() == 0.0 => format!("{x}"),
            "bits" => significant(x, 4),
            _ => significant(x, 3),
        };
        let name = |c: &Option<Compared>| c.as_ref().map_or(String::new(), |c| c.name.clone());
        let value = |c: &Option<Compared>| c.as_ref().map_or(String::new(), |c| in_unit(c.value));
        [
            self.row.clone(),
            in_unit(self.value),
            self.unit.to_string(),
            name(&self.against),
            value(&self.against),
            number(self.ratio),
            number(self.target),
            self.met.map_or("", |met| if met { "yes" } else { "no" }).to_string(),
            value(&self.paper),
            name(&self.paper),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        figures::{Papers, Peers},
        yardstick::tests::slow_machine,
    };

    fn report() -> Report {
        let peers = Peers::load().unwrap();
        let papers = Papers::load().unwrap();
        let lattigo = |operation| peers.all("she14", operation).swap_remove(0);
        let operation = "multiply + relinearise + rescale";
        let rows = vec![
            Row::new(operation, 4.46, "ms")
                .against_peer(lattigo(operation))
                .paper(papers.find("simSHE14", operation))
                .target(Some(7.0)),
            Row::new("relinearisation key", 5.25, "MB")
                .against_peer(lattigo("relinearisation key")),
            Row::new("transform", 20.0, "us").against("tfhe-ntt 0.7.1", 34.0).target(Some(1.75)),
            Row::new("something new", 0.1234567, "s"),
            Row::more_is_better("precision", 24.0, "bits")
                .against("simple", 20.0)
                .target(Some(1.0)),
            Row::new("encryption", 10.0, "ms").against_paper(papers.find("simSHE14", operation)),
            Row::missing("the wheel is not there"),
        ];
        Report::new("she", "a CPU".into(), "avx512ifma".into(), 1, slow_machine(), rows)
    }

    #[test]
    fn ratios_are_above_one_if_ours_is_better() {
        let json = serde_json::to_value(report()).unwrap();
        let rows = json["rows"].as_array().unwrap();
        // Lattigo has 22.3 ms on the reference machine, and twice that here.
        assert_eq!(rows[0]["against"]["value"], 44.6);
        assert_eq!((&rows[0]["ratio"], &rows[0]["met"]), (&10.0.into(), &true.into()));
        // Sizes do not depend on the machine.
        assert_eq!((&rows[1]["ratio"], &rows[1]["met"]), (&2.0.into(), &serde_json::Value::Null));
        assert_eq!((&rows[2]["ratio"], &rows[2]["met"]), (&1.7.into(), &false.into()));
        assert!(rows[3]["against"].is_null() && rows[3]["ratio"].is_null());
        assert_eq!((&rows[4]["ratio"], &rows[4]["met"]), (&1.2.into(), &true.into()));
        // The paper's 41.61 ms are not scaled.
        assert_eq!((&rows[5]["against"], &rows[5]["ratio"]), (&rows[5]["paper"], &4.161.into()));
        assert!(rows[6]["value"].is_null());
    }

    #[test]
    fn json_has_the_documented_keys() {
        let json = serde_json::to_value(report()).unwrap();
        let keys = |value: &serde_json::Value| -> Vec<String> {
            value.as_object().unwrap().keys().cloned().collect()
        };
        assert_eq!(keys(&json), ["cpu", "kernel", "rows", "table", "threads", "yardstick"]);
        for row in json["rows"].as_array().unwrap() {
            assert_eq!(
                keys(row),
                ["against", "met", "paper", "ratio", "row", "target", "unit", "value"]
            );
        }
        assert_eq!(json["rows"][0]["paper"]["value"], 41.61);
        assert!(
            json["rows"][0]["against"]["source"]
                .as_str()
                .unwrap()
                .contains("22.3 ms there, x 2.00")
        );
    }

    #[test]
    fn text_is_aligned_and_counts_the_targets() {
        let words = report().to_string();
        let lines: Vec<&str> = words.lines().collect();
        let at = lines[2].find("ratio").unwrap() + "ratio".len();
        for (line, ratio) in [(lines[3], "10.0"), (lines[4], "2.00"), (lines[5], "1.70")] {
            assert!(line[..at].ends_with(ratio), "{line}");
        }
        assert!(words.starts_with("kernel avx512ifma; yardstick tfhe-ntt 0.7.1"));
        assert!(words.ends_with("\n\nthe wheel is not there\n\n2 of 3 targets met\n"), "{words}");
    }

    #[test]
    fn live_figures_are_not_scaled() {
        let figure = LiveFigure { peer: "wheel".into(), milliseconds: 5.0, source: "here".into() };
        let line = Row::new("rotate", 500.0, "us").against_live(figure).line(&slow_machine());
        assert_eq!((line.against.unwrap().value, line.ratio), (5000.0, Some(10.0)));
    }

    #[test]
    fn ratios_of_errors_are_not_those_of_their_logarithms() {
        let ratio = |ours| {
            Row::new("error", ours, "log2").against("other", -14.5).line(&slow_machine()).ratio
        };
        assert_eq!((ratio(-16.5), ratio(-12.5)), (Some(4.0), Some(0.25)));
    }

    #[test]
    fn units_of_time_are_converted_and_others_are_not_mixed() {
        assert_eq!(convert(1.5, "s", "ms"), 1500.0);
        assert_eq!(convert(7.0, "MB", "MB"), 7.0);
        assert!(convert(7.0, "MB", "ms").is_nan() && convert(7.0, "MB", "GiB").is_nan());
    }
}
