fn main() {
    let mut a = vec![llsd_api::crd::manifest()];
    a.extend(llsd_api::policy::manifests());
    println!("{}", serde_json::json!({"apiVersion":"v1","kind":"List","items":a}));
}
