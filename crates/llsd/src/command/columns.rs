//! Rows of cells as lines of text, in columns as wide as what stands in them.

/// One line a row; what ends a line with nothing in it is left out.
pub(super) fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths);
        let padded: Vec<String> = cells.map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", padded.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// A row of texts.
pub(super) fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let rows =
            [row(["NAME", "IMAGE", ""]), row(["a", "r/ü:1", "notes"]), row(["longer", "b", ""])];
        assert_eq!(aligned(&rows), "NAME    IMAGE\na       r/ü:1  notes\nlonger  b\n");
    }
}
