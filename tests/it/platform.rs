//! Incidents about Quorate itself: one for each cause, told once, changed in place, closed by hand.

use quorate::{
    domain::{
        incident::Severity,
        platform::{Cause, Trouble},
    },
    triage::platform,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::api::{Api, text};

/// The interface, and a channel that hears everything.
async fn start() -> Api {
    let api = Api::start().await;
    let hook = json!({"name": "hook", "kind": "webhook", "min_severity": "degraded",
        "config": {"url": "https://hook.example/q"}});
    api.post("channels", hook).await.is(201);
    api
}

/// One look at a cause.
async fn look(api: &Api, cause: Cause, found: &[Trouble]) {
    let mut tx = api.db.pool().begin().await.unwrap();
    platform::settle(&mut tx, cause, found, api.clock.now()).await.unwrap();
    tx.commit().await.unwrap();
}

async fn list(api: &Api, query: &str) -> Vec<Value> {
    api.get(&format!("incidents{query}")).await.is(200)["items"].as_array().unwrap().clone()
}

/// Kinds of the notices of an incident, in order.
async fn told(api: &Api, id: &Value) -> Vec<String> {
    let one = api.get(&format!("incidents/{}", text(id))).await.is(200);
    one["notices"].as_array().unwrap().iter().map(|notice| text(&notice["kind"])).collect()
}

fn blind(names: &[&str]) -> Trouble {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    Trouble::blind(&names, names.len(), 3)
}

#[tokio::test]
async fn one_cause_is_one_incident_that_changes_in_place() {
    let api = start().await;
    for found in [vec![blind(&["a"])], vec![blind(&["a", "b"])], vec![blind(&["a", "b"])]] {
        look(&api, Cause::BlindMonitors, &found).await;
        api.later(5);
    }
    let rows = list(&api, "?kind=platform").await;
    assert_eq!(rows.len(), 1, "{rows:?}");
    let row = &rows[0];
    assert_eq!(row["subject"], "platform:blind_monitors");
    assert_eq!((&row["kind"], &row["monitor"]), (&json!("platform"), &Value::Null));
    assert!(
        text(&row["sentence"]).starts_with("Too few locations report on 2 of 3 monitors: a, b.")
    );
    assert_eq!(told(&api, &row["id"]).await, ["opened"], "a sentence that changes is no news");
    assert_eq!(list(&api, "?kind=monitor").await, Vec::<Value>::new());
    // All of them is graver.
    look(&api, Cause::BlindMonitors, &[blind(&["a", "b", "c"])]).await;
    assert_eq!(told(&api, &row["id"]).await, ["opened", "moved"]);
    api.later(5);
    look(&api, Cause::BlindMonitors, &[]).await;
    assert_eq!(told(&api, &row["id"]).await, ["opened", "moved", "resolved"]);
    // The same again within ten minutes is the same incident.
    api.later(300);
    look(&api, Cause::BlindMonitors, &[blind(&["a"])]).await;
    let rows = list(&api, "?kind=platform&state=open").await;
    assert_eq!((rows.len(), &rows[0]["id"]), (1, &row["id"]));
    assert_eq!(told(&api, &row["id"]).await, ["opened", "moved", "resolved", "reopened"]);
}

#[tokio::test]
async fn each_location_has_its_own_and_other_causes_are_left_alone() {
    let api = start().await;
    let of = |n: u128, name: &str| {
        Trouble::quarantined(Uuid::from_u128(n), name, "It fails its self-checks.")
    };
    look(&api, Cause::OverCap, &[Trouble::over_cap(&["fra".to_owned()], 0, 2)]).await;
    look(&api, Cause::Quarantined, &[of(1, "fra"), of(2, "iad")]).await;
    api.later(5);
    look(&api, Cause::Quarantined, &[of(2, "iad")]).await;
    let rows = list(&api, "?state=open").await;
    let mut subjects: Vec<String> = rows.iter().map(|row| text(&row["subject"])).collect();
    subjects.sort();
    let iad = format!("platform:quarantined:{}", Uuid::from_u128(2));
    assert_eq!(subjects, ["platform:over_cap".to_owned(), iad]);
    let over = list(&api, "?state=resolved").await;
    assert_eq!(over[0]["title"], "does not believe fra");
    assert_eq!(over[0]["resolve_reason"], "recovered");
}

#[tokio::test]
async fn what_was_closed_by_hand_stays_closed_until_its_cause_was_gone() {
    let api = start().await;
    let found = [blind(&["a"])];
    look(&api, Cause::BlindMonitors, &found).await;
    let id = text(&list(&api, "?state=open").await[0]["id"]);
    let closed = api.post(&format!("incidents/{id}/resolve"), Value::Null).await.is(200);
    assert_eq!(closed["resolve_reason"], "closed by hand", "{closed}");
    api.post(&format!("incidents/{id}/resolve"), Value::Null).await.is(409);
    api.later(5);
    look(&api, Cause::BlindMonitors, &found).await;
    assert_eq!(list(&api, "?state=open").await, Vec::<Value>::new(), "it lasts, but is closed");
    look(&api, Cause::BlindMonitors, &[]).await;
    api.later(5);
    look(&api, Cause::BlindMonitors, &found).await;
    let open = list(&api, "?state=open").await;
    assert_eq!(open.len(), 1, "it had been gone");
    assert_ne!(open[0]["id"], id, "what a hand closed is not opened again");
}

/// Two coordinators that find the same at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_coordinators_open_one_incident_and_tell_it_once() {
    let api = start().await;
    for round in 0..10 {
        let found = [Trouble { severity: Severity::Down, ..blind(&["a"]) }];
        let list: &[Trouble] = if round % 2 == 0 { &found } else { &[] };
        tokio::join!(
            look(&api, Cause::BlindMonitors, list),
            look(&api, Cause::BlindMonitors, list),
            look(&api, Cause::BlindMonitors, list),
        );
        let open: i64 =
            sqlx::query_scalar("select count(*) from incident where resolved_at is null")
                .fetch_one(api.db.pool())
                .await
                .unwrap();
        assert_eq!(open, i64::from(round % 2 == 0));
        let told: i64 = sqlx::query_scalar("select count(*) from notice")
            .fetch_one(api.db.pool())
            .await
            .unwrap();
        assert_eq!(told, round + 1, "one notice for each change");
    }
}
