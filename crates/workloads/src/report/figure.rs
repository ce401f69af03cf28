//! Line charts as SVG.

use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

/// One system's line.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its label.
    pub label: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
}

impl Line {
    /// Adds a point to the line of that label, which begins with it where there is none yet.
    pub fn extend(lines: &mut Vec<Line>, label: &str, point: (f64, f64)) {
        match lines.iter_mut().find(|line| line.label == label) {
            Some(line) => line.points.push(point),
            None => lines.push(Line { label: label.to_owned(), points: vec![point] }),
        }
    }
}

/// A chart with one line per system.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Above the chart.
    pub title: String,
    /// Below.
    pub x: String,
    /// Left.
    pub y: String,
    /// Both axes logarithmic.
    pub logarithmic: bool,
    /// The lines.
    pub lines: Vec<Line>,
    /// Below the title: who is missing, and why.
    pub notes: Vec<String>,
}

const WIDTH: u32 = 800;
const LEGEND: u32 = 260;
const HEIGHT: u32 = 500;
/// Of one line of notes.
const NOTE: u32 = 18;

const COLOURS: [RGBColor; 10] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(44, 160, 44),
    RGBColor(148, 103, 189),
    RGBColor(255, 127, 14),
    RGBColor(23, 190, 207),
    RGBColor(140, 86, 75),
    RGBColor(227, 119, 194),
    RGBColor(127, 127, 127),
    RGBColor(188, 189, 34),
];

type Failure = Box<dyn std::error::Error>;

impl Figure {
    /// Writes it.
    pub fn write(&self, file: &Path) -> Result<(), Failure> {
        let size = (WIDTH + LEGEND, HEIGHT + NOTE * self.notes.len() as u32);
        let whole = SVGBackend::new(file, size).into_drawing_area();
        whole.fill(&WHITE)?;
        let (above, below) = whole.split_vertically(HEIGHT);
        let (root, beside) = above.split_horizontally(WIDTH);
        self.write_notes(&below)?;
        self.write_legend(&beside)?;
        let points = || self.lines.iter().flat_map(|line| &line.points).filter(|p| self.shows(p));
        let x_max = points().map(|p| p.0).fold(1.0, f64::max) * 1.05;
        let y_max = points().map(|p| p.1).fold(0.0, f64::max) * 1.1;
        let mut builder = ChartBuilder::on(&root);
        builder.caption(&self.title, ("sans-serif", 20)).margin(12);
        builder.x_label_area_size(40).y_label_area_size(70);
        if self.logarithmic {
            let low =
                |value: fn(&(f64, f64)) -> f64| points().map(value).fold(f64::MAX, f64::min) / 1.2;
            let (x_low, y_low) = (low(|p| p.0), low(|p| p.1));
            let axes = ((x_low..x_max).log_scale(), (y_low..y_max).log_scale());
            let mut chart = builder.build_cartesian_2d(axes.0, axes.1)?;
            self.draw(&mut chart)?;
        } else {
            let mut chart = builder.build_cartesian_2d(0.0..x_max, 0.0..y_max)?;
            self.draw(&mut chart)?;
        }
        whole.present()?;
        Ok(())
    }

    /// Beside the chart: within it, it would hide lines.
    fn write_legend(&self, beside: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Failure> {
        for (number, (line, colour)) in self.coloured().enumerate() {
            let top = 40 + (NOTE * number as u32) as i32;
            let stroke = ShapeStyle::from(colour).stroke_width(2);
            beside.draw(&PathElement::new([(4, top + 6), (24, top + 6)], stroke))?;
            beside.draw(&Text::new(line.label.clone(), (30, top), ("sans-serif", 14)))?;
        }
        Ok(())
    }

    fn coloured(&self) -> impl Iterator<Item = (&Line, &'static RGBColor)> {
        self.lines.iter().zip(COLOURS.iter().cycle())
    }

    fn write_notes(&self, below: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Failure> {
        for (number, note) in self.notes.iter().enumerate() {
            let at = (12, (NOTE * number as u32) as i32);
            below.draw(&Text::new(note.clone(), at, ("sans-serif", 13)))?;
        }
        Ok(())
    }

    /// Nothing was served where a response time is not finite; a logarithmic axis has no zero.
    fn shows(&self, point: &(f64, f64)) -> bool {
        let finite = point.0.is_finite() && point.1.is_finite();
        finite && (!self.logarithmic || (point.0 > 0.0 && point.1 > 0.0))
    }

    fn draw<'a, X, Y>(
        &self,
        chart: &mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>,
    ) -> Result<(), Failure>
    where
        X: Ranged<ValueType = f64> + plotters::coord::ranged1d::ValueFormatter<f64>,
        Y: Ranged<ValueType = f64> + plotters::coord::ranged1d::ValueFormatter<f64>,
    {
        chart.configure_mesh().x_desc(&self.x).y_desc(&self.y).light_line_style(WHITE).draw()?;
        for (line, colour) in self.coloured() {
            let style = ShapeStyle::from(colour).stroke_width(2);
            let kept: Vec<(f64, f64)> =
                line.points.iter().copied().filter(|point| self.shows(point)).collect();
            chart.draw_series(kept.iter().map(|&point| Circle::new(point, 3, colour.filled())))?;
            chart.draw_series(LineSeries::new(kept, style))?;
        }
        Ok(())
    }
}
