//! Spans as OTLP's JSON, which every receiver over HTTP takes beside its binary form.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::span::{Attribute, EndedSpan};

/// OTLP's numbers: a span inside of one program, and a status that is an error.
const INTERNAL: u8 = 1;
const ERROR: u8 = 2;

/// One request with these spans.
pub(super) fn request(instance: &str, spans: &[EndedSpan]) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let about =
        [("service.name", "llsd"), ("service.version", version), ("service.instance.id", instance)];
    let about = about.map(|(key, value)| attribute(key, &Attribute::Text(value.to_owned())));
    let spans: Vec<Value> = spans.iter().map(span).collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": about},
        "scopeSpans": [{"scope": {"name": "llsd", "version": version}, "spans": spans}],
    }]})
}

fn span(ended: &EndedSpan) -> Value {
    let attributes: Vec<Value> =
        ended.attributes.iter().map(|(key, value)| attribute(key, value)).collect();
    let mut span = json!({
        "traceId": format!("{:032x}", ended.trace),
        "spanId": format!("{:016x}", ended.id),
        "name": ended.name,
        "kind": INTERNAL,
        "startTimeUnixNano": nanoseconds(ended.began),
        "endTimeUnixNano": nanoseconds(ended.over),
        "attributes": attributes,
    });
    if let Some(parent) = ended.parent {
        span["parentSpanId"] = json!(format!("{parent:016x}"));
    }
    if ended.is_error {
        span["status"] = json!({"code": ERROR});
    }
    span
}

/// Whole numbers of 64 bits are texts in OTLP's JSON.
fn attribute(key: &str, value: &Attribute) -> Value {
    let value = match value {
        Attribute::Text(text) => json!({"stringValue": text}),
        Attribute::Number(number) => json!({"intValue": number.to_string()}),
    };
    json!({"key": key, "value": value})
}

fn nanoseconds(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_span_is_as_otlp_has_it() {
        let began = UNIX_EPOCH + Duration::from_secs(1);
        let ended = EndedSpan {
            trace: 0xab,
            id: 0xcd,
            parent: Some(0xef),
            name: "request",
            began,
            over: began + Duration::from_millis(2),
            attributes: vec![
                ("verb", Attribute::Text("get".into())),
                ("code", Attribute::Number(200)),
            ],
            is_error: true,
        };
        assert_eq!(
            span(&ended),
            json!({
                "traceId": "000000000000000000000000000000ab",
                "spanId": "00000000000000cd",
                "name": "request",
                "kind": 1,
                "startTimeUnixNano": "1000000000",
                "endTimeUnixNano": "1002000000",
                "attributes": [
                    {"key": "verb", "value": {"stringValue": "get"}},
                    {"key": "code", "value": {"intValue": "200"}},
                ],
                "parentSpanId": "00000000000000ef",
                "status": {"code": 2},
            })
        );
    }
}
