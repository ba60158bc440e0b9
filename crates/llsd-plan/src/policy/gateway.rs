//! The caller that a gateway names in headers.

use std::collections::BTreeMap;

use llsd_api::v1alpha2::GatewayHeadersSpec;
use serde_json::{Map, Value};

use super::caller::{Attributes, Caller, Stranger};
use super::tenant::tenant;

/// Headers are found whatever their case; an empty one is none.
struct Headers(BTreeMap<String, String>);

impl Headers {
    fn get(&self, name: &str) -> Option<&str> {
        let value = self.0.get(&name.to_lowercase()).map(String::as_str);
        value.filter(|value| !value.is_empty())
    }
}

pub(super) fn caller(
    gateway: &GatewayHeadersSpec,
    told: &Map<String, Value>,
) -> Result<Caller, Stranger> {
    let headers = told.iter().map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        (name.to_lowercase(), text)
    });
    let headers = Headers(headers.collect());
    let principal = headers.get(&gateway.principal_header);
    let principal = principal.ok_or_else(|| {
        Stranger::refused(format!("there is no header {}", gateway.principal_header))
    })?;
    let mut attributes = described(gateway, &headers)?;
    for (name, attribute) in gateway.attribute_headers.iter().flatten() {
        if let Some(text) = headers.get(name) {
            let values = match serde_json::from_str(text) {
                Ok(value) => as_python_writes(&value)?,
                Err(_) => vec![text.to_owned()],
            };
            attributes.entry(attribute.clone()).or_default().extend(values);
        }
    }
    let name = gateway.tenant_header.as_ref().and_then(|header| headers.get(header));
    Ok(Caller { principal: principal.to_owned(), attributes, tenant: tenant(name)? })
}

/// All attributes at once, as JSON in one header.
fn described(gateway: &GatewayHeadersSpec, headers: &Headers) -> Result<Attributes, Stranger> {
    let header = gateway.attributes_header.as_ref().and_then(|header| headers.get(header));
    let Some(text) = header else { return Ok(Attributes::new()) };
    let Ok(Value::Object(all)) = serde_json::from_str(text) else {
        return Err(Stranger::refused("the header with the attributes is no JSON object"));
    };
    all.iter().map(|(name, value)| Ok((name.clone(), as_python_writes(value)?))).collect()
}

/// The texts of a list, or of one value, as Python turns them into texts.
fn as_python_writes(value: &Value) -> Result<Vec<String>, Stranger> {
    let one = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        Value::Bool(true) => Ok("True".to_owned()),
        Value::Bool(false) => Ok("False".to_owned()),
        Value::Null => Ok("None".to_owned()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Ok(number.to_string()),
        other => Err(Stranger::Undecided(format!("how the server writes {other} as a text"))),
    };
    match value {
        Value::Array(list) => list.iter().map(one).collect(),
        value => Ok(vec![one(value)?]),
    }
}
