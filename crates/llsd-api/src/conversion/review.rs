//! A whole `ConversionReview`, bytes in and bytes out: the conversion webhook without its server.
//!
//! Objects are read, converted and written one after the other, so that a page of large ones costs
//! little more memory than its bytes. Whatever stands in `objects` gets an answer, in its place.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::deep::{self, MOST_VALUES, Reading, values};
use super::exchange::convert_reading;
use super::version::Version;
use crate::KIND as KIND_OF_OBJECTS;
use crate::review::{self, NoReview};

const API_VERSION: &str = "apiextensions.k8s.io/v1";
const KIND: &str = "ConversionReview";

#[derive(Deserialize)]
struct Request<'b> {
    uid: String,
    #[serde(rename = "desiredAPIVersion")]
    desired: String,
    #[serde(borrow, default)]
    objects: Option<Vec<&'b RawValue>>,
}

/// The answer to a review. Only what is no review has none.
pub fn answer(body: &[u8]) -> Result<Vec<u8>, NoReview> {
    let request: Request<'_> = review::request(body, API_VERSION, KIND)?;
    // What only one version has travels as escaped text, which is longer.
    let mut answer = Vec::with_capacity(body.len() + body.len() / 4);
    let begin = format!(r#"{{"apiVersion":"{API_VERSION}","kind":"{KIND}","response":{{"uid":"#);
    answer.extend_from_slice(begin.as_bytes());
    write(&mut answer, &request.uid);
    if let Some(version) = Version::from_api_version(&request.desired) {
        answer.extend_from_slice(br#","result":{"status":"Success"},"convertedObjects":["#);
        for (position, object) in request.objects.iter().flatten().enumerate() {
            if position > 0 {
                answer.push(b',');
            }
            write_converted(&mut answer, object.get(), version);
        }
        answer.push(b']');
    } else {
        let message = format!(
            "this operator converts to {} and {}, not to {}",
            Version::V1Alpha1.api_version(),
            Version::V1Alpha2.api_version(),
            request.desired,
        );
        answer.extend_from_slice(br#","result":{"status":"Failed","message":"#);
        write(&mut answer, &message);
        answer.push(b'}');
    }
    answer.extend_from_slice(b"}}");
    Ok(answer)
}

fn write(answer: &mut Vec<u8>, value: &(impl serde::Serialize + ?Sized)) {
    serde_json::to_writer(answer, value).expect("JSON can be written to memory");
}

/// Writes one object in the other version. What cannot be read is written as it is: the API server
/// cannot hold it either.
fn write_converted(answer: &mut Vec<u8>, object: &str, to: Version) {
    if values(object) > MOST_VALUES {
        let renamed = renamed(object, to);
        answer.extend_from_slice(renamed.as_deref().unwrap_or(object.as_bytes()));
        return;
    }
    let converted = match deep::reading(object) {
        Some(Reading::Usual) => converted(object, to, Reading::Usual),
        Some(Reading::Deep) => deep::on_a_large_stack(|| converted(object, to, Reading::Deep)),
        None => None,
    };
    answer.extend_from_slice(converted.as_deref().unwrap_or(object.as_bytes()));
}

/// An object that holds too many values to be read, as one of the other version with the fields that it has.
/// Admission refuses such objects; one that is stored all the same must not stop the lists of all others.
fn renamed(object: &str, to: Version) -> Option<Vec<u8>> {
    let mut fields: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(object).ok()?;
    let text = |field: &str| serde_json::from_str::<String>(fields.get(field)?.get()).ok();
    let is_ours = text("kind")? == KIND_OF_OBJECTS;
    Version::from_api_version(&text("apiVersion")?).filter(|_| is_ours)?;
    let version = serde_json::value::to_raw_value(to.api_version()).ok()?;
    fields.insert("apiVersion".into(), &version);
    serde_json::to_vec(&fields).ok()
}

fn converted(object: &str, to: Version, reading: Reading) -> Option<Vec<u8>> {
    let object = reading.deserialize(object).ok()?;
    let mut bytes = Vec::new();
    write(&mut bytes, &convert_reading(object, to, reading));
    Some(bytes)
}
