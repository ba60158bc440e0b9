//! What a process took over time, as a picture: memory, and how many resources were Ready.

use std::fmt::Write;
use std::path::Path;

use anyhow::Context;

use crate::sample::Sample;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 300.0;
/// For the words around the curves.
const MARGIN: f64 = 60.0;

/// Draws into a file, whose folder is made where it is missing.
pub fn write(file: &Path, title: &str, samples: &[Sample]) -> anyhow::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(file, draw(title, samples))
        .with_context(|| format!("cannot write {}", file.display()))
}

/// An SVG that is read on a light and on a dark page.
fn draw(title: &str, samples: &[Sample]) -> String {
    let largest = |value: fn(&Sample) -> f64| samples.iter().map(value).fold(1.0, f64::max);
    let (time, memory) = (largest(|it| it.at), largest(|it| it.memory));
    let ready = largest(|it| it.ready as f64);
    let curve = |value: fn(&Sample) -> f64, most: f64| {
        let points = samples.iter().map(|it| {
            let x = MARGIN + it.at / time * (WIDTH - 2.0 * MARGIN);
            let y = HEIGHT - MARGIN - value(it) / most * (HEIGHT - 2.0 * MARGIN);
            format!("{x:.1},{y:.1}")
        });
        points.collect::<Vec<_>>().join(" ")
    };
    let bottom = HEIGHT - MARGIN;
    let right = WIDTH - MARGIN;
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13" fill="#777">
<text x="{MARGIN}" y="24" font-size="15">{title}</text>
<path d="M{MARGIN},{MARGIN} V{bottom} H{right}" fill="none" stroke="#999"/>
"##
    );
    let curves = [
        ("#c2410c", curve(|it| it.memory, memory), MARGIN, "start", format!("{memory:.0} MB")),
        ("#1d4ed8", curve(|it| it.ready as f64, ready), right, "end", format!("{ready:.0} Ready")),
    ];
    for (color, points, x, anchor, most) in curves {
        let top = MARGIN - 8.0;
        let _ = writeln!(
            svg,
            r#"<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.5"/>
<text x="{x}" y="{top}" fill="{color}" text-anchor="{anchor}">{most}</text>"#
        );
    }
    let below = bottom + 20.0;
    let _ = write!(
        svg,
        r#"<text x="{MARGIN}" y="{below}">0 s</text>
<text x="{right}" y="{below}" text-anchor="end">{time:.0} s</text>
</svg>
"#
    );
    svg
}
