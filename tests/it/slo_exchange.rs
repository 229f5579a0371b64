//! SLOs that leave as OpenSLO and come back the same; what is refused, and what is left out.

use axum::{
    body::Body,
    http::{Method, Request},
};
use quorate::api::auth::Role;
use serde_json::{Value, json};

use crate::support::{
    api::{Answer, key_of, text},
    slo::Scene,
};

async fn import(scene: &Scene, query: &str, yaml: &str) -> Answer {
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("/api/v1/slos/import{query}"))
        .header("authorization", format!("Bearer {}", key_of(Role::Editor)))
        .header("content-type", "application/yaml")
        .body(Body::from(yaml.to_owned()))
        .unwrap();
    scene.api.send(request).await
}

async fn all_text(scene: &Scene) -> String {
    let answer = scene.api.get("slos.openslo.yaml").await;
    assert_eq!(answer.headers["content-type"], "application/yaml; charset=utf-8");
    text(&answer.is(200))
}

/// Everything that is told of the SLOs but what is given out here, by name.
async fn listed(scene: &Scene) -> Vec<Value> {
    let mut items =
        scene.api.get("slos?limit=500").await.is(200)["items"].as_array().unwrap().clone();
    for item in &mut items {
        for own in ["id", "now", "created_at", "updated_at", "revision", "definition_revision"] {
            item.as_object_mut().unwrap().remove(own);
        }
    }
    items.sort_by_key(|item| text(&item["name"]));
    items
}

/// One of each kind.
async fn many(scene: &mut Scene) -> usize {
    let api = &scene.api;
    for name in ["eu", "us", "ap"] {
        api.post("locations", json!({ "name": name })).await.is(201);
    }
    let channel =
        json!({"name": "On call", "kind": "webhook", "config": {"url": "https://hook.example/x"}});
    api.post("channels", channel).await.is(201);
    for (name, policy) in [
        ("shop: \"front\" {{x}}", json!({})),
        ("api", json!({"quorum": {"mode": "at_least", "k": 2}, "fail_after": 1})),
        ("- yes", json!({"quorum": {"mode": "percent", "percent": 60}})),
    ] {
        let check = json!({"kind": "http", "url": "https://target.example/"});
        let body = json!({"name": name, "check": check, "policy": policy, "interval_s": 30});
        api.post("monitors", body).await.is(201);
    }
    api.post("fleets", json!({"name": "Shop fleet", "expected": 2})).await.is(201);
    let rolling = json!({"kind": "rolling", "duration": "30d"});
    let month = json!({"kind": "calendar", "duration": "1M", "timezone": "Europe/Berlin", "anchor": "2026-01-15"});
    let slos = [
        json!({"name": "Plain", "monitor": "api", "target_ppb": 999_000_000, "window": rolling}),
        json!({"name": "1e3", "service": "Läden & Co", "owner": "~", "description": "line one\nline: two",
            "labels": {"team": "shop", "n": "01"}, "monitor": "shop: \"front\" {{x}}", "target_ppb": 995_000_001,
            "window": month, "unknown_policy": "down", "maintenance_policy": "count_as_up", "partial_weight_ppm": 250_000,
            "coverage_min": 0.1234567, "decimals": 5, "channels": ["On call"],
            "rules": [{"name": "own", "severity": "ticket", "long_s": 5400.5, "short_s": 90, "budget_fraction": 0.0333, "min_bad": 7}]}),
        json!({"name": "No rules", "monitor": "- yes", "sli": "probe_ratio", "weight": "location_mean",
            "target_ppb": 990_000_000, "window": {"kind": "rolling", "duration": "7d", "timezone": "Asia/Tokyo"}, "rules": []}),
        json!({"name": "Quick", "monitor": "api", "sli": "latency", "threshold_us": 250_500, "denominator": "all",
            "target_ppb": 950_000_000, "window": {"kind": "calendar", "duration": "1Q"}, "channels": []}),
        json!({"name": "Together", "composite": "all_down", "members": ["- yes", "api"], "target_ppb": 999_500_000, "window": rolling}),
        json!({"name": "Requests", "fleet": "Shop fleet", "monitor": "api", "fallback": "monitor", "min_requests": 33,
            "target_ppb": 999_000_000, "window": rolling}),
        json!({"name": "Requests alone", "fleet": "Shop fleet", "target_ppb": 999_000_000, "window": rolling}),
    ];
    for slo in &slos {
        api.post("slos", slo.clone()).await.is(201);
    }
    slos.len()
}

#[tokio::test]
async fn what_was_exported_comes_back_the_same() {
    let mut scene = Scene::new().await;
    let count = many(&mut scene).await;
    let (before, exported) = (listed(&scene).await, all_text(&scene).await);
    assert_eq!(before.len(), count);
    assert!(!exported.contains("Left out"), "{exported}");
    let taken =
        import(&scene, "", &exported).await.refuses(422, "documents[0].metadata.displayName");
    assert!(taken.contains("replace=true"), "{taken}");
    let same = import(&scene, "?replace=true", &exported).await.is(200);
    let done = |answer: &Value| -> Vec<String> {
        answer["items"].as_array().unwrap().iter().map(|item| text(&item["done"])).collect()
    };
    assert_eq!(done(&same), vec!["unchanged"; count], "{same}");
    assert_eq!((&same["warnings"], &same["left_out"]), (&json!([]), &json!([])));

    let ids = scene.api.get("slos?limit=500").await.is(200);
    for slo in ids["items"].as_array().unwrap() {
        let one = scene.api.get(&format!("slos/{}/openslo", text(&slo["id"]))).await.is(200);
        assert!(exported.contains(&text(&one)), "{one}");
        scene.api.delete(&format!("slos/{}", text(&slo["id"]))).await.is(204);
    }
    let tried = import(&scene, "?dry_run=true", &exported).await.is(200);
    assert_eq!(
        (done(&tried), &tried["dry_run"]),
        (vec!["created".to_owned(); count], &json!(true))
    );
    assert!(tried["items"].as_array().unwrap().iter().all(|item| item["id"].is_null()));
    assert_eq!(listed(&scene).await, Vec::<Value>::new(), "a dry run stores nothing");
    let made = import(&scene, "", &exported).await.is(200);
    assert_eq!(done(&made), vec!["created"; count]);
    assert_eq!(listed(&scene).await, before);
    assert_eq!(all_text(&scene).await, exported);

    // Somebody edits the file: one is changed, the rest stays.
    let edited = exported.replace("0.995000001", "0.99");
    let changed = import(&scene, "?replace=true", &edited).await.is(200);
    assert_eq!(done(&changed).iter().filter(|word| *word == "changed").count(), 1, "{changed}");
    let found = scene.api.get("slos?search=1e3").await.is(200);
    assert_eq!(found["items"][0]["target_ppb"], 990_000_000);
    assert_eq!(found["items"][0]["definition_revision"], 2);
}

#[tokio::test]
async fn one_refusal_stores_nothing_and_says_where() {
    let mut scene = Scene::new().await;
    many(&mut scene).await;
    let exported = all_text(&scene).await;
    let parts: Vec<&str> = exported.split("---\n").filter(|part| !part.is_empty()).collect();
    let renamed = |part: &str, name: &str| {
        part.replacen("displayName: Plain", &format!("displayName: {name}"), 1)
    };
    let plain = parts.iter().find(|part| part.contains("displayName: Plain")).unwrap();
    let good = renamed(plain, "Good");
    let bad = renamed(plain, "Bad").replace("monitor: api", "monitor: nobody");
    let before = listed(&scene).await.len();
    let file = format!("---\n{good}---\n{bad}");
    let why = import(&scene, "", &file).await.refuses(422, "documents[1].spec.indicator");
    assert!(why.contains("nobody"), "{why}");
    assert_eq!(listed(&scene).await.len(), before);
    let fine = renamed(plain, "Fine").replace("0.999", "0.999999999");
    import(&scene, "", &format!("---\n{good}---\n{fine}"))
        .await
        .refuses(422, "documents[1].spec.objectives[0].target");
    let draft = good.replace("openslo/v1", "openslo/v1alpha");
    let why = import(&scene, "", &draft).await.refuses(422, "documents[0].apiVersion");
    assert!(why.contains("openslo/v1"), "{why}");
    import(&scene, "", "a: [").await.is(422);
    import(&scene, "", &good.replace("Good", "\"G\\0d\"")).await.is(422);
    assert_eq!(listed(&scene).await.len(), before);

    // Somebody else's metric is told and left out, a monitor that differs is told and stays.
    let foreign = renamed(plain, "Foreign")
        .replace("type: quorate", "type: Prometheus")
        .replace("budgetingMethod: Timeslices", "budgetingMethod: Occurrences");
    let other = good
        .replace("quorate.dev/slot-ms: '30000'", "quorate.dev/slot-ms: '60000'")
        .replace("quorate.dev/slot-ms: \"30000\"", "quorate.dev/slot-ms: \"60000\"");
    let taken = import(&scene, "", &format!("---\n{foreign}---\n{other}")).await.is(200);
    assert_eq!(taken["left_out"][0]["name"], "Foreign", "{taken}");
    assert_eq!(taken["items"][0]["done"], "created");
    let warnings = taken["warnings"].to_string();
    assert!(warnings.contains("how often it is probed"), "{warnings}");
    assert_eq!(listed(&scene).await.len(), before + 1);
}

#[tokio::test]
async fn files_for_sloth_and_slos_that_have_no_words() {
    let mut scene = Scene::new().await;
    many(&mut scene).await;
    let id_of = async |name: &str| {
        let found = scene.api.get(&format!("slos?search={name}")).await.is(200);
        text(&found["items"][0]["id"])
    };
    let sloth = scene.api.get(&format!("slos/{}/sloth", id_of("Plain").await)).await.is(200);
    let sloth = text(&sloth);
    for words in
        ["version: prometheus/v1", "quorate_monitor_state_seconds_total", "objective: 99.9"]
    {
        assert!(sloth.contains(words), "{words}: {sloth}");
    }
    scene.api.get(&format!("slos/{}/sloth", id_of("Together").await)).await.refuses(422, "source");
    let fixed = json!({"name": "Fixed", "monitor": "api", "target_ppb": 999_000_000,
        "window": {"kind": "fixed", "from": "2026-02-01", "to": "2026-03-01"}});
    let fixed = text(&scene.api.post("slos", fixed).await.is(201)["id"]);
    scene.api.get(&format!("slos/{fixed}/openslo")).await.refuses(422, "window");
    let all = all_text(&scene).await;
    assert!(all.starts_with("# Left out: Fixed: window has fixed bounds"), "{all}");
    assert!(
        import(&scene, "?replace=true", &all).await.is(200)["items"].as_array().unwrap().len() >= 7
    );
    let missing = scene.api.get("slos/01900000-0000-7000-8000-000000000000/openslo").await;
    missing.is(404);
}
