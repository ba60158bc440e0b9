//! The dashboard as a picture, drawn from what a real Prometheus answers: docs/images/dashboard.svg.

use std::fmt::Write;

use llsd_testkit::Prometheus;
use serde_json::Value;

/// Pixels of Grafana's columns and rows.
const COLUMN: f64 = 48.0;
const ROW: f64 = 27.0;
const GAP: f64 = 6.0;
/// Of a panel, for its title above and its legend below.
const TITLE: f64 = 26.0;
const LEGEND: f64 = 24.0;
const POINTS: f64 = 160.0;
const COLOURS: [&str; 7] =
    ["#3b7dd8", "#2e9e5b", "#d8833b", "#8a5cd1", "#c74a4a", "#2a9d9d", "#8a7a2e"];

/// A line: its name, and its values by time.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

/// A panel of the dashboard and its lines.
struct Panel<'a> {
    about: &'a Value,
    lines: Vec<Line>,
}

/// The dashboard over the time from `start` to `end`; rows in which nothing ever happened are left out.
pub(super) async fn drawn(
    dashboard: &Value,
    prometheus: &Prometheus,
    start: f64,
    end: f64,
) -> String {
    let mut rows: Vec<(&Value, Vec<Panel>)> = Vec::new();
    for about in dashboard["panels"].as_array().unwrap() {
        if about["type"] == "row" {
            rows.push((about, Vec::new()));
        } else {
            let lines = lines(about, prometheus, start, end).await;
            rows.last_mut().unwrap().1.push(Panel { about, lines });
        }
    }
    let happened = |panel: &Panel| {
        panel.lines.iter().flat_map(|line| &line.points).any(|(_, value)| *value != 0.0)
    };
    rows.retain(|(_, panels)| panels.iter().any(happened));

    let mut drawing = String::new();
    let mut top = GAP;
    for (row, panels) in rows {
        let first = grid(row, "y");
        let title = row["title"].as_str().unwrap();
        let _ = write!(
            drawing,
            r##"<text x="{GAP}" y="{:.0}" font-size="15" font-weight="600" fill="#333">{title}</text>"##,
            top + 18.0
        );
        let mut bottom = first + 1.0;
        for panel in &panels {
            let (x, y) =
                (grid(panel.about, "x") * COLUMN, top + (grid(panel.about, "y") - first) * ROW);
            let size = (grid(panel.about, "w") * COLUMN - GAP, grid(panel.about, "h") * ROW - GAP);
            let _ = write!(drawing, r#"<g transform="translate({:.0} {y:.0})">"#, x + GAP);
            panel.draw(&mut drawing, size, (start, end));
            drawing.push_str("</g>\n");
            bottom = bottom.max(grid(panel.about, "y") + grid(panel.about, "h"));
        }
        top += (bottom - first) * ROW + GAP;
    }
    let width = 24.0 * COLUMN + GAP;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {top}\" font-family=\"sans-serif\">\n\
         <rect width=\"{width}\" height=\"{top}\" fill=\"#f4f5f7\"/>\n{drawing}</svg>\n"
    )
}

fn grid(about: &Value, what: &str) -> f64 {
    about["gridPos"][what].as_f64().unwrap()
}

async fn lines(about: &Value, prometheus: &Prometheus, start: f64, end: f64) -> Vec<Line> {
    let mut lines = Vec::new();
    for target in about["targets"].as_array().unwrap() {
        let query = target["expr"].as_str().unwrap().replace("$namespace", ".*");
        let found = prometheus.range(&query, start, end, (end - start) / POINTS).await.unwrap();
        for series in found {
            let mut name =
                target["legendFormat"].as_str().unwrap().replace("{{pod}}", "{{instance}}");
            for (label, value) in series["metric"].as_object().into_iter().flatten() {
                name =
                    name.replace(&format!("{{{{{label}}}}}"), value.as_str().unwrap_or_default());
            }
            let point =
                |point: &Value| Some((point[0].as_f64()?, point[1].as_str()?.parse().ok()?));
            let points = series["values"].as_array().into_iter().flatten().filter_map(point);
            lines.push(Line {
                name,
                points: points.filter(|(_, value): &(f64, f64)| value.is_finite()).collect(),
            });
        }
    }
    lines
}

impl Panel<'_> {
    fn draw(&self, drawing: &mut String, (width, height): (f64, f64), time: (f64, f64)) {
        let title = self.about["title"].as_str().unwrap();
        let unit = self.about["fieldConfig"]["defaults"]["unit"].as_str().unwrap();
        let _ = write!(
            drawing,
            r##"<rect width="{width:.0}" height="{height:.0}" rx="4" fill="#fff" stroke="#d8dade"/><text x="10" y="18" font-size="13" fill="#333">{title}</text>"##
        );
        if self.about["type"] == "stat" {
            let last = self.lines.first().and_then(|line| line.points.last());
            let shown = last.map_or("–".to_owned(), |(_, value)| in_unit(*value, unit));
            let _ = write!(
                drawing,
                r##"<text x="{:.0}" y="{:.0}" font-size="34" text-anchor="middle" fill="#2e6b3f">{shown}</text>"##,
                width / 2.0,
                height * 0.75
            );
            return;
        }
        let stacked = !self.about["fieldConfig"]["defaults"]["custom"]["stacking"].is_null();
        self.draw_lines(drawing, (width, height), time, stacked, unit);
        let mut x = 10.0;
        for (line, colour) in self.named_lines().zip(COLOURS) {
            let room = 22.0
                + 6.2 * f64::from(u16::try_from(line.name.chars().count()).unwrap_or(u16::MAX));
            if x + room > width {
                break;
            }
            let y = height - 9.0;
            let _ = write!(
                drawing,
                r##"<rect x="{x:.0}" y="{:.0}" width="10" height="3" fill="{colour}"/><text x="{:.0}" y="{y:.0}" font-size="11" fill="#555">{}</text>"##,
                y - 5.0,
                x + 14.0,
                line.name
            );
            x += room;
        }
    }

    /// Lines that were ever more than nothing, as many as there are colours.
    fn named_lines(&self) -> impl Iterator<Item = &Line> {
        let ever = |line: &&Line| line.points.iter().any(|(_, value)| *value > 0.0);
        self.lines.iter().filter(ever).take(COLOURS.len())
    }

    fn draw_lines(
        &self,
        drawing: &mut String,
        (width, height): (f64, f64),
        (start, end): (f64, f64),
        stacked: bool,
        unit: &str,
    ) {
        let (left, right, top, bottom) = (58.0, width - 12.0, TITLE + 6.0, height - LEGEND - 4.0);
        let below = |line: usize, at: f64| -> f64 {
            let lower = self.named_lines().take(if stacked { line } else { 0 });
            lower
                .flat_map(|line| &line.points)
                .filter(|(time, _)| (*time - at).abs() < 1e-6)
                .map(|(_, v)| v)
                .sum()
        };
        let sums: Vec<Vec<(f64, f64, f64)>> = self
            .named_lines()
            .enumerate()
            .map(|(at, line)| {
                let points = line.points.iter();
                points
                    .map(|(time, value)| (*time, below(at, *time), below(at, *time) + value))
                    .collect()
            })
            .collect();
        let most = sums.iter().flatten().map(|(_, _, upper)| *upper).fold(0.0, f64::max);
        let most = if most > 0.0 { most * 1.1 } else { 1.0 };
        for part in [0.0, 0.5, 1.0] {
            let y = bottom - (bottom - top) * part;
            let _ = write!(
                drawing,
                r##"<line x1="{left}" x2="{right:.0}" y1="{y:.0}" y2="{y:.0}" stroke="#e6e8eb"/><text x="{:.0}" y="{:.0}" font-size="11" text-anchor="end" fill="#777">{}</text>"##,
                left - 6.0,
                y + 4.0,
                in_unit(most * part, unit)
            );
        }
        let at = |time: f64, value: f64| {
            let x = left + (right - left) * (time - start) / (end - start);
            format!("{x:.1},{:.1}", bottom - (bottom - top) * value / most)
        };
        for (points, colour) in sums.iter().zip(COLOURS) {
            let upper: Vec<String> =
                points.iter().map(|(time, _, upper)| at(*time, *upper)).collect();
            if stacked {
                let lower = points.iter().rev().map(|(time, lower, _)| at(*time, *lower));
                let around: Vec<String> = upper.iter().cloned().chain(lower).collect();
                let _ = write!(
                    drawing,
                    r#"<polygon points="{}" fill="{colour}" fill-opacity="0.3"/>"#,
                    around.join(" ")
                );
            }
            let _ = write!(
                drawing,
                r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="1.5"/>"#,
                upper.join(" ")
            );
        }
    }
}

fn in_unit(value: f64, unit: &str) -> String {
    let plain = |value: f64| match value {
        _ if value.fract() < 1e-9 || value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    };
    match unit {
        "bytes" => format!("{} MB", plain(value / 1e6)),
        "s" if value > 0.0 && value < 1.0 => format!("{} ms", plain(value * 1e3)),
        "s" => format!("{} s", plain(value)),
        "reqps" => format!("{}/s", plain(value)),
        _ => plain(value),
    }
}
