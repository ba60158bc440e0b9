//! What the doctor asks the API server, in a few words.

use http::Request;
use kube::Client;
use serde_json::Value;

use crate::operator::controller::state::safe_message;

/// An object, or nothing where there is none.
pub(super) async fn get(client: &Client, path: &str) -> kube::Result<Option<Value>> {
    let request = Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    match client.request(request).await {
        Ok(found) => Ok(Some(found)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

/// The answer to an object that is sent to a collection.
pub(super) async fn post(client: &Client, path: &str, object: &Value) -> kube::Result<Value> {
    let request = Request::post(path).header("Content-Type", "application/json");
    let request = request.body(object.to_string().into_bytes()).map_err(kube::Error::HttpError)?;
    client.request(request).await
}

/// An error in the API server's words.
pub(super) fn words(error: &kube::Error) -> String {
    safe_message(error)
}
