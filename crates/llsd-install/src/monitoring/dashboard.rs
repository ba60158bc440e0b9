//! The dashboard as Grafana reads it, made from the table of panels.

use serde_json::{Value, json};

use super::panels::{Kind, Panel, ROWS, Row};

/// Grafana divides a page's width into so many columns.
const WIDTH: usize = 24;
const HEIGHT: usize = 8;
const NUMBER_HEIGHT: usize = 4;

/// The dashboard. Its source and the operator's namespace are chosen at its top.
pub fn dashboard() -> Value {
    let mut panels = Vec::new();
    let mut top = 0;
    for row in ROWS {
        panels.push(json!({
            "id": panels.len() + 1, "type": "row", "title": row.title, "collapsed": false, "panels": [],
            "gridPos": {"x": 0, "y": top, "w": WIDTH, "h": 1},
        }));
        top = placed(row, top + 1, &mut panels);
    }
    json!({
        "uid": "llama-stack-operator",
        "title": "Llama Stack operator",
        "tags": ["llama-stack"],
        "schemaVersion": 39,
        "editable": true,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [
            {"name": "source", "label": "Source", "type": "datasource", "query": "prometheus"},
            {
                "name": "namespace", "label": "Operator in", "type": "query",
                "datasource": source(), "query": "label_values(llsd_build_info, namespace)",
                "refresh": 2, "includeAll": true, "allValue": ".*", "multi": true,
                "current": {"text": "All", "value": "$__all"},
            },
        ]},
        "panels": panels,
    })
}

/// Adds the panels of a row, as many beside each other as have room; where the next row begins.
fn placed(row: &Row, top: usize, panels: &mut Vec<Value>) -> usize {
    let (mut x, mut y, mut height) = (0, top, 0);
    for panel in row.panels {
        let (width, tall) = match panel.kind {
            Kind::Number => (WIDTH / 6, NUMBER_HEIGHT),
            Kind::Lines | Kind::Stack => (WIDTH / 2, HEIGHT),
        };
        if x + width > WIDTH {
            (x, y) = (0, y + height);
        }
        height = tall;
        let place = json!({"x": x, "y": y, "w": width, "h": tall});
        panels.push(shown(panel, panels.len() + 1, &place));
        x += width;
    }
    y + height
}

fn shown(panel: &Panel, id: usize, place: &Value) -> Value {
    let targets: Vec<Value> = panel
        .queries
        .iter()
        .zip('A'..)
        .map(|((expression, legend), letter)| {
            json!({
                "refId": letter.to_string(), "datasource": source(), "expr": expression,
                "legendFormat": if legend.is_empty() { "__auto" } else { legend },
            })
        })
        .collect();
    let mut panel_json = json!({
        "id": id,
        "type": "timeseries",
        "title": panel.title,
        "datasource": source(),
        "gridPos": place,
        "targets": targets,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
    });
    match panel.kind {
        Kind::Number => panel_json["type"] = json!("stat"),
        Kind::Lines => {}
        Kind::Stack => {
            panel_json["fieldConfig"]["defaults"]["custom"] =
                json!({"fillOpacity": 30, "stacking": {"mode": "normal"}});
        }
    }
    panel_json
}

fn source() -> Value {
    json!({"type": "prometheus", "uid": "${source}"})
}
