//! Rows as columns of text, as wide as what stands in them; the last one gets the room that is left.

use super::rows::Row;

/// What rows can be sorted by, in the order of columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Column {
    #[default]
    Namespace,
    Name,
    Phase,
    Pods,
    Rollout,
    Requests,
    Age,
    Problem,
}

impl Column {
    pub(super) const ALL: [Self; 8] = [
        Self::Namespace,
        Self::Name,
        Self::Phase,
        Self::Pods,
        Self::Rollout,
        Self::Requests,
        Self::Age,
        Self::Problem,
    ];

    /// Those that are shown: requests only where somebody counts them.
    pub(super) fn shown(with_requests: bool) -> Vec<Self> {
        Self::ALL.into_iter().filter(|column| with_requests || *column != Self::Requests).collect()
    }

    /// The one behind it, of `columns`.
    pub(super) fn next(self, columns: &[Self]) -> Self {
        let at = columns.iter().position(|column| *column == self).unwrap_or_default();
        columns[(at + 1) % columns.len()]
    }

    fn title(self) -> &'static str {
        match self {
            Self::Namespace => "NAMESPACE",
            Self::Name => "NAME",
            Self::Phase => "PHASE",
            Self::Pods => "PODS",
            Self::Rollout => "ROLLOUT",
            Self::Requests => "REQUESTS/S",
            Self::Age => "AGE",
            Self::Problem => "PROBLEM",
        }
    }

    fn cell(self, row: &Row) -> String {
        match self {
            Self::Namespace => row.namespace.clone(),
            Self::Name => row.name.clone(),
            Self::Phase => row.phase.clone(),
            Self::Pods => format!("{}/{}", row.pods.0, row.pods.1),
            Self::Rollout => row.rollout.clone(),
            Self::Requests => row.requests.map_or("–".into(), |rate| format!("{rate:.1}")),
            Self::Age => row.age(),
            Self::Problem => row.problem.clone(),
        }
    }
}

/// Those that hold `filter` anywhere, in order; of equal ones the names decide.
pub(super) fn chosen(rows: &[Row], filter: &str, by: Column, reversed: bool) -> Vec<Row> {
    let filter = filter.to_lowercase();
    let holds = |row: &&Row| {
        Column::ALL.iter().any(|column| column.cell(row).to_lowercase().contains(&filter))
    };
    let mut rows: Vec<Row> = rows.iter().filter(holds).cloned().collect();
    rows.sort_by(|one, other| {
        let order = match by {
            Column::Pods => one.pods.cmp(&other.pods),
            Column::Age => one.age.cmp(&other.age),
            // The busiest first.
            Column::Requests => {
                let key = |row: &Row| row.requests.unwrap_or(-1.0);
                key(other).total_cmp(&key(one))
            }
            // Those with a problem first.
            Column::Problem => {
                let key = |row: &Row| (row.problem.is_empty(), row.problem.clone());
                key(one).cmp(&key(other))
            }
            Column::Namespace | Column::Name | Column::Phase | Column::Rollout => {
                by.cell(one).cmp(&by.cell(other))
            }
        };
        let order = if reversed { order.reverse() } else { order };
        order.then_with(|| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)))
    });
    rows
}

/// The titles, and a line for each row, none wider than `width`. The column that sorts has a mark.
pub(super) fn lines(
    rows: &[Row],
    columns: &[Column],
    sorted: Option<(Column, bool)>,
    width: usize,
) -> Vec<String> {
    let title = |column: Column| match sorted {
        Some((by, reversed)) if by == column => {
            format!("{}{}", column.title(), if reversed { "▼" } else { "▲" })
        }
        _ => column.title().to_owned(),
    };
    let mut cells: Vec<Vec<String>> = vec![columns.iter().map(|column| title(*column)).collect()];
    cells.extend(rows.iter().map(|row| columns.iter().map(|column| column.cell(row)).collect()));
    let widths: Vec<usize> = (0..columns.len())
        .map(|at| cells.iter().map(|line| line[at].chars().count()).max().unwrap_or_default())
        .collect();
    cells.iter().map(|line| cut(&joined(line, &widths), width)).collect()
}

fn joined(cells: &[String], widths: &[usize]) -> String {
    let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
    padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

pub(super) fn cut(text: &str, width: usize) -> String {
    // What a status says is somebody's text: nothing in it moves the cursor.
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() <= width {
        return text;
    }
    let mut shown: String = text.chars().take(width.saturating_sub(1)).collect();
    shown.push('…');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(namespace: &str, name: &str, phase: &str, age: i64, problem: &str) -> Row {
        Row {
            namespace: namespace.into(),
            name: name.into(),
            phase: phase.into(),
            pods: (1, 1),
            rollout: "complete".into(),
            requests: (name == "granite").then_some(12.34),
            age,
            problem: problem.into(),
        }
    }

    fn rows() -> Vec<Row> {
        vec![
            row("team-b", "llama", "Ready", 300, ""),
            row("team-a", "mistral", "Failed", 60, "spec.providers: no \u{1b}[31mred"),
            row("team-a", "granite", "Ready", 7300, ""),
        ]
    }

    fn names(rows: &[Row]) -> Vec<&str> {
        rows.iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn rows_are_sorted_by_any_column_and_filtered_by_any_text() {
        let by = |column, reversed| names(&chosen(&rows(), "", column, reversed)).join(" ");
        assert_eq!(by(Column::Namespace, false), "granite mistral llama");
        assert_eq!(by(Column::Name, true), "mistral llama granite");
        assert_eq!(by(Column::Age, false), "mistral llama granite");
        assert_eq!(by(Column::Problem, false), "mistral granite llama");
        assert_eq!(by(Column::Requests, false), "granite mistral llama");
        assert_eq!(names(&chosen(&rows(), "READY", Column::Age, false)), ["llama", "granite"]);
        assert_eq!(names(&chosen(&rows(), "spec.prov", Column::Age, false)), ["mistral"]);
    }

    #[test]
    fn columns_are_as_wide_as_what_stands_in_them_and_lines_as_the_terminal() {
        let rows = chosen(&rows(), "", Column::Name, false);
        let sorted = Some((Column::Name, false));
        let counted = lines(&rows, &Column::shown(true), sorted, 90);
        assert_eq!(counted[1], "team-a     granite  Ready   1/1   complete  12.3        2h");
        let lines = lines(&rows, &Column::shown(false), sorted, 70);
        assert_eq!(lines[0], "NAMESPACE  NAME▲    PHASE   PODS  ROLLOUT   AGE  PROBLEM");
        assert_eq!(lines[1], "team-a     granite  Ready   1/1   complete  2h");
        assert!(lines[3].ends_with('…') && lines[3].chars().count() == 70, "{}", lines[3]);
        assert!(!lines.concat().contains('\u{1b}'), "nobody's text moves the cursor");
    }
}
