//! Monitors that depend on others: what is held back while a parent is down, and what is told then.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{
    api::{Api, text},
    watch::{Watch, pass, refused},
};

/// `gateway`, and `shop` that depends on it; a channel that hears everything.
struct Scene {
    watch: Watch,
    gateway: Uuid,
    shop: Uuid,
}

impl Scene {
    async fn new() -> Self {
        let mut watch = Watch::new().await;
        watch.channel("sink").await;
        let (gateway, shop) = (watch.monitor("gateway").await, watch.monitor("shop").await);
        sqlx::query("update monitor set depends_on = $2 where uid = $1")
            .bind(shop)
            .bind(json!([gateway]))
            .execute(watch.pool())
            .await
            .unwrap();
        for monitor in [gateway, shop] {
            for location in 0..3 {
                watch.report(location, monitor, 0, pass()).await;
            }
        }
        Self { watch, gateway, shop }
    }

    async fn falls(&mut self, monitor: Uuid, second: i64) {
        for second in [second - 5, second] {
            for location in 0..3 {
                self.watch.report(location, monitor, second, refused()).await;
            }
        }
    }

    /// From one second to another every ten seconds; `fails` keeps failing, `passes` passes.
    async fn lasts(&mut self, seconds: std::ops::Range<i64>, fails: &[Uuid], passes: &[Uuid]) {
        for second in seconds.step_by(10) {
            for location in 0..3 {
                for monitor in fails {
                    self.watch.report(location, *monitor, second, refused()).await;
                }
                for monitor in passes {
                    self.watch.report(location, *monitor, second, pass()).await;
                }
            }
            while self.watch.triage.sweep(self.watch.at(second)).await.unwrap() {}
            let now = self.watch.at(second);
            self.watch.upkeep().look_after_alerts(now).await.unwrap();
        }
    }

    /// Notices about the shop: kind, what holds it back, outcome.
    async fn told(&self) -> Vec<(String, Option<String>, Option<String>)> {
        sqlx::query_as(
            "select n.kind, n.held_for, n.outcome from notice n join monitor m using (monitor_id)
             where m.uid = $1 order by notice_no",
        )
        .bind(self.shop)
        .fetch_all(self.watch.pool())
        .await
        .unwrap()
    }

    async fn open(&self) -> i64 {
        self.watch.count("incident where resolved_at is null and monitor_id > 0").await
    }
}

fn held(kind: &str, why: Option<&str>) -> (String, Option<String>, Option<String>) {
    (kind.to_owned(), why.map(str::to_owned), None)
}

#[tokio::test]
async fn a_child_is_held_back_and_told_when_it_fails_on_without_its_parent() {
    let mut scene = Scene::new().await;
    let (gateway, shop) = (scene.gateway, scene.shop);
    scene.falls(gateway, 20).await;
    scene.falls(shop, 30).await;
    assert_eq!(scene.told().await, [held("opened", Some("gateway is down"))]);
    assert_eq!(scene.open().await, 2, "the incident is there");
    let events = scene.watch.count("incident_event where kind = 'held'").await;
    assert_eq!(events, 1);
    // The gateway comes up; the shop does not.
    scene.lasts(40..180, &[shop], &[gateway]).await;
    assert_eq!(
        scene.told().await,
        [held("opened", Some("gateway is down"))],
        "no votes of its own yet"
    );
    scene.lasts(180..500, &[shop], &[gateway]).await;
    assert_eq!(scene.told().await, [held("opened", None)]);
    let released = scene.watch.count("incident_event where kind = 'released'").await;
    assert_eq!(released, 1);
}

#[tokio::test]
async fn a_child_that_comes_up_with_its_parent_is_told_to_nobody() {
    let mut scene = Scene::new().await;
    let (gateway, shop) = (scene.gateway, scene.shop);
    scene.falls(gateway, 20).await;
    scene.falls(shop, 30).await;
    scene.lasts(40..500, &[], &[gateway, shop]).await;
    let told = scene.told().await;
    let dropped = |kind: &str| (kind.to_owned(), None, Some("dropped".to_owned()));
    assert_eq!(told, [dropped("opened"), dropped("resolved")]);
    assert_eq!(scene.open().await, 0);
}

#[tokio::test]
async fn an_unknown_or_paused_parent_holds_nothing_back() {
    for end in ["unknown", "paused"] {
        let mut scene = Scene::new().await;
        let shop = scene.shop;
        let state = match end {
            "unknown" => quorate::domain::decision::State::Unknown,
            _ => quorate::domain::decision::State::Paused,
        };
        sqlx::query(
            "update monitor_live l set state = $2 from monitor m where m.monitor_id = l.monitor_id and m.uid = $1",
        )
        .bind(scene.gateway)
        .bind(state.code())
        .execute(scene.watch.pool())
        .await
        .unwrap();
        scene.falls(shop, 30).await;
        assert_eq!(scene.told().await, [held("opened", None)], "{end}");
    }
}

#[tokio::test]
async fn a_child_that_fell_first_has_been_told_and_its_end_is_told() {
    let mut scene = Scene::new().await;
    let (gateway, shop) = (scene.gateway, scene.shop);
    scene.falls(shop, 20).await;
    sqlx::query("update notice set settled_at = created_at, outcome = 'delivered', attempts = 1")
        .execute(scene.watch.pool())
        .await
        .unwrap();
    scene.falls(gateway, 30).await;
    scene.lasts(40..500, &[gateway], &[shop]).await;
    let told = scene.told().await;
    assert_eq!(told[1], held("resolved", None), "{told:?}");
}

#[tokio::test]
async fn parents_are_named_and_close_no_circle() {
    let api = Api::start().await;
    for name in ["a", "b", "c"] {
        api.monitor(name).await;
    }
    let list = api.get("monitors").await.is(200);
    let id = |name: &str| {
        let rows = list["items"].as_array().unwrap();
        text(&rows.iter().find(|row| row["name"] == name).unwrap()["id"])
    };
    let depend = async |child: &str, parents: Value| {
        api.patch(&format!("monitors/{}", id(child)), json!({ "depends_on": parents })).await
    };
    let saved = depend("a", json!(["b"])).await.is(200);
    assert_eq!(saved["depends_on"], json!([id("b")]));
    depend("b", json!([id("c")])).await.is(200);
    let refused = depend("c", json!(["a"])).await.is(422);
    assert_eq!(refused["error"]["field"], "depends_on", "{refused}");
    depend("c", json!(["c"])).await.is(422);
    depend("c", json!(["nobody"])).await.is(422);
    depend("b", json!([])).await.is(200);
    depend("c", json!(["a"])).await.is(200);
}
