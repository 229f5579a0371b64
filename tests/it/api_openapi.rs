//! The description of the HTTP interface: fresh, complete, and with a role on every operation.

use std::path::Path;

/// The UI's client is generated from this file, so a stale one would let the two drift apart. Run the
/// tests with `QUORATE_BLESS=1` to write it anew.
#[test]
fn the_snapshot_is_fresh() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("web/openapi.json");
    let fresh = quorate::api::openapi::text();
    if std::env::var_os("QUORATE_BLESS").is_some() {
        std::fs::write(&file, &fresh).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept == fresh, "web/openapi.json is stale: run the tests with QUORATE_BLESS=1");
}

#[test]
fn every_operation_says_who_may_call_it_and_has_a_name_of_its_own() {
    let document = serde_json::to_value(quorate::api::openapi::document()).unwrap();
    let mut names = std::collections::HashSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let role = operation["x-role"].as_str();
            assert!(
                matches!(role, Some("none" | "viewer" | "editor" | "admin" | "agent")),
                "{method} {path} has role {role:?}"
            );
            let name = operation["operationId"].as_str().unwrap();
            assert!(names.insert(name.to_owned()), "{name} is there twice");
            assert!(
                operation["summary"].as_str().is_some_and(|s| !s.is_empty()),
                "{method} {path}"
            );
            assert!(operation["responses"]["4XX"].is_object(), "{method} {path}");
        }
    }
}
