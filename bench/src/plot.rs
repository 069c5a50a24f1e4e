//! Plots as PNG files, for tables whose paper has a figure. They bring their own font.

use std::{
    fs::File,
    io::BufWriter,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

use crate::{Result, number::round_to};

/// Charts, two in a row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plot {
    /// The charts.
    pub panels: Vec<Panel>,
}

/// One chart: curves over a common x-axis. Both axes are linear, and the y-axis starts at 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// The title above the chart.
    pub title: String,
    /// The label of the x-axis.
    pub x: String,
    /// The label of the y-axis.
    pub y: String,
    /// The curves with their names. The points are in the order of the x-axis.
    pub curves: Vec<(String, Vec<(f64, f64)>)>,
}

/// The file of a plot, which is opened before the measurements.
pub struct Canvas {
    path: PathBuf,
    file: File,
}

/// The width and height of one chart, in pixels.
const CHART: (usize, usize) = (800, 560);
const FAMILY: &str = "sans-serif";
const SMALL: u32 = 17;
const LARGE: u32 = 24;

impl Canvas {
    /// Opens the file.
    ///
    /// # Errors
    /// When the name does not end in `.png`, or the file cannot be written.
    pub fn create(path: &Path) -> Result<Self> {
        if path.extension().is_none_or(|extension| extension != "png") {
            return Err(
                format!("--plot {}: plots are PNG files, named *.png", path.display()).into()
            );
        }
        let file =
            File::create(path).map_err(|error| format!("--plot {}: {error}", path.display()))?;
        Ok(Canvas { path: path.to_path_buf(), file })
    }

    /// Draws `plot` into the file.
    ///
    /// # Errors
    /// When the plot has no points, or the file cannot be written.
    pub fn draw(self, plot: &Plot) -> Result<()> {
        let (size, pixels) = plot.render()?;
        let write = || -> std::result::Result<(), png::EncodingError> {
            let mut encoder = png::Encoder::new(BufWriter::new(self.file), size.0, size.1);
            encoder.set_color(png::ColorType::Rgb);
            encoder.set_depth(png::BitDepth::Eight);
            let mut writer = encoder.write_header()?;
            writer.write_image_data(&pixels)?;
            writer.finish()
        };
        write().map_err(|error| format!("--plot {}: {error}", self.path.display()).into())
    }
}

impl Plot {
    /// Returns the width, the height and the RGB bytes.
    fn render(&self) -> Result<((u32, u32), Vec<u8>)> {
        font()?;
        let columns = self.panels.len().min(2);
        let rows = self.panels.len().div_ceil(2);
        let (width, height) = (CHART.0 * columns, CHART.1 * rows);
        let size = (width as u32, height as u32);
        let mut pixels = vec![0; 3 * width * height];
        {
            let root = BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area();
            root.fill(&WHITE)?;
            for (panel, area) in self.panels.iter().zip(root.split_evenly((rows, columns))) {
                panel.draw(&area)?;
            }
            root.present()?;
        }
        Ok((size, pixels))
    }
}

impl Panel {
    fn draw(&self, area: &DrawingArea<BitMapBackend, plotters::coord::Shift>) -> Result<()> {
        let points = || self.curves.iter().flat_map(|(_, points)| points);
        let (left, right) = points()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(left, right), (x, _)| {
                (left.min(*x), right.max(*x))
            });
        let top = points().map(|(_, y)| *y).fold(0.0, f64::max);
        // This is also an error for NaN.
        if !(left < right && top > 0.0) {
            return Err(format!("there is nothing to plot in {:?}", self.title).into());
        }
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, (FAMILY, LARGE))
            .margin(16)
            .x_label_area_size(48)
            .y_label_area_size(72)
            .build_cartesian_2d(left..right, 0.0..1.05 * top)?;
        chart
            .configure_mesh()
            .x_desc(&self.x)
            .y_desc(&self.y)
            .label_style((FAMILY, SMALL))
            .axis_desc_style((FAMILY, SMALL))
            .light_line_style(TRANSPARENT)
            .x_label_formatter(&|x| round_to(*x, 6).to_string())
            .y_label_formatter(&|y| round_to(*y, 6).to_string())
            .draw()?;
        for (i, (name, points)) in self.curves.iter().enumerate() {
            let colour = Palette99::pick(i).to_rgba();
            chart
                .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))?
                .label(name)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 24, y)], colour.stroke_width(2))
                });
            chart
                .draw_series(points.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .legend_area_size(30)
            .background_style(WHITE.mix(0.8))
            .label_font((FAMILY, SMALL))
            .draw()?;
        Ok(())
    }
}

/// Registers the font with the plotting crate, once.
fn font() -> Result<()> {
    static DONE: OnceLock<bool> = OnceLock::new();
    let known =
        || register_font(FAMILY, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT).is_ok();
    match DONE.get_or_init(known) {
        true => Ok(()),
        false => Err("the font of the plots cannot be read".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(curves: Vec<(String, Vec<(f64, f64)>)>) -> Panel {
        Panel { title: "Title".into(), x: "level".into(), y: "ms".into(), curves }
    }

    #[test]
    fn curves_are_drawn_at_their_points() {
        let flat = |y: f64| vec![(4.0, y), (39.0, y)];
        let plot = Plot {
            panels: vec![panel(vec![("high".into(), flat(9.0)), ("low".into(), flat(3.0))])],
        };
        let ((width, height), pixels) = plot.render().unwrap();
        assert_eq!(
            ((width as usize, height as usize), pixels.len()),
            (CHART, 3 * CHART.0 * CHART.1)
        );
        // The rows of pixels that are mostly filled with the colour of a curve.
        let rows = |i: usize| -> Vec<usize> {
            let (r, g, b) = Palette99::pick(i).to_rgba().rgb();
            let filled =
                |row: &[u8]| row.chunks_exact(3).filter(|p| **p == [r, g, b]).count() > CHART.0 / 2;
            let rows = pixels.chunks_exact(3 * CHART.0).enumerate();
            rows.filter(|(_, row)| filled(row)).map(|(y, _)| y).collect()
        };
        let (high, low) = (rows(0), rows(1));
        assert!((1..=3).contains(&high.len()) && (1..=3).contains(&low.len()), "{high:?} {low:?}");
        // The y-axis ranges from 0 to 1.05 times the top, so 6 of 9.45 parts lie between the
        // curves.
        let axis = (CHART.1 - 48 - 16) as f64;
        let scale = (axis - high[0] as f64) / 9.0;
        assert!((scale * 6.0 - (low[0] - high[0]) as f64).abs() < 4.0, "{high:?} {low:?}");
    }

    #[test]
    fn files_are_png_and_checked_before_measuring() {
        let directory =
            std::env::temp_dir().join(format!("hippocrene-plot-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let refused = |path: &Path| Canvas::create(path).err().unwrap().to_string();
        assert!(refused(&directory.join("plot.svg")).contains("PNG"));
        assert!(refused(&directory.join("nowhere/plot.png")).contains("nowhere"));

        let path = directory.join("plot.png");
        let plot =
            Plot { panels: vec![panel(vec![("a".into(), vec![(0.0, 1.0), (1.0, 2.0)])]); 3] };
        Canvas::create(&path).unwrap().draw(&plot).unwrap();
        let decoder = png::Decoder::new(std::io::BufReader::new(File::open(&path).unwrap()));
        let reader = decoder.read_info().unwrap();
        let size = (reader.info().width as usize, reader.info().height as usize);
        assert_eq!(size, (2 * CHART.0, 2 * CHART.1));

        let empty = Canvas::create(&path).unwrap().draw(&Plot { panels: vec![panel(Vec::new())] });
        assert!(empty.unwrap_err().to_string().contains("nothing to plot"));
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
