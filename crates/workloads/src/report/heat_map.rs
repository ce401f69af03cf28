//! Cells by two dimensions as SVG: green up to 1, red from a bound on.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Ratios by row and column; a cell may be empty.
#[derive(Clone, Debug)]
pub struct HeatMap {
    /// Above.
    pub title: String,
    /// Below.
    pub x: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Names and cells of the rows.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
    /// From here on a cell is red; at 1 it is green.
    pub bad: f64,
}

const LEFT: i32 = 260;
const TOP: i32 = 50;
const WIDTH: i32 = 80;
const HEIGHT: i32 = 26;

type Failure = Box<dyn std::error::Error>;

impl HeatMap {
    /// Writes it.
    pub fn write(&self, file: &Path) -> Result<(), Failure> {
        let width = LEFT + WIDTH * self.columns.len() as i32 + 20;
        let height = TOP + HEIGHT * (self.rows.len() as i32 + 2) + 10;
        let root = SVGBackend::new(file, (width as u32, height as u32)).into_drawing_area();
        root.fill(&WHITE)?;
        let text = |text: &str, at: (i32, i32), h, size: i32| {
            let style = TextStyle::from(("sans-serif", size)).pos(Pos::new(h, VPos::Center));
            root.draw(&Text::new(text.to_owned(), at, style))
        };
        text(&self.title, (width / 2, TOP / 2), HPos::Center, 18)?;
        for (number, (name, cells)) in self.rows.iter().enumerate() {
            let top = TOP + HEIGHT * number as i32;
            text(name, (LEFT - 8, top + HEIGHT / 2), HPos::Right, 13)?;
            for (column, ratio) in cells.iter().enumerate() {
                let Some(ratio) = *ratio else { continue };
                let left = LEFT + WIDTH * column as i32;
                let corners = [(left + 1, top + 1), (left + WIDTH - 1, top + HEIGHT - 1)];
                root.draw(&Rectangle::new(corners, self.colour(ratio).filled()))?;
                let middle = (left + WIDTH / 2, top + HEIGHT / 2);
                text(&format!("{ratio:.2}"), middle, HPos::Center, 13)?;
            }
        }
        let below = TOP + HEIGHT * self.rows.len() as i32 + HEIGHT / 2;
        for (column, name) in self.columns.iter().enumerate() {
            let middle = LEFT + WIDTH * column as i32 + WIDTH / 2;
            text(name, (middle, below), HPos::Center, 13)?;
        }
        let middle = LEFT + WIDTH * self.columns.len() as i32 / 2;
        text(&self.x, (middle, below + HEIGHT), HPos::Center, 13)?;
        root.present()?;
        Ok(())
    }

    /// From green over yellow to red.
    fn colour(&self, ratio: f64) -> RGBColor {
        let share = ((ratio - 1.0) / (self.bad - 1.0)).clamp(0.0, 1.0);
        let (good, middle, bad) = ((166, 217, 106), (255, 255, 191), (244, 109, 67));
        let (from, to, part) = if share < 0.5 {
            (good, middle, 2.0 * share)
        } else {
            (middle, bad, 2.0 * share - 1.0)
        };
        let between = |a: i32, b: i32| (f64::from(a) + part * f64::from(b - a)).round() as u8;
        RGBColor(between(from.0, to.0), between(from.1, to.1), between(from.2, to.2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_run_from_green_to_red() {
        let map = HeatMap {
            title: String::new(),
            x: String::new(),
            columns: Vec::new(),
            rows: Vec::new(),
            bad: 1.2,
        };
        assert_eq!(map.colour(0.9), RGBColor(166, 217, 106));
        assert_eq!(map.colour(1.1), RGBColor(255, 255, 191));
        assert_eq!(map.colour(7.0), RGBColor(244, 109, 67));
    }
}
