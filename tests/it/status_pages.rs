//! Status pages as editors set them up: shapes, refusals, revisions, roles, and the log of who did what.

use axum::http::Method;
use quorate::api::auth::Role;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::api::{Api, text};

async fn shop(api: &Api) -> Value {
    api.monitor("internal checkout").await;
    let form = json!({
        "name": "Shop", "slug": "shop", "timezone": "Europe/Berlin", "domain": "Status.Shop.Example",
        "links": [{ "text": "Help", "url": "https://shop.example/help" }],
        "groups": [{ "name": "Sales", "parts": [{ "name": "Check out", "monitor": "internal checkout" }] }],
    });
    api.post("status-pages", form).await.is(201)
}

fn path(page: &Value) -> String {
    format!("status-pages/{}", page["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_page_is_made_changed_and_deleted() {
    let api = Api::start().await;
    let page = shop(&api).await;
    assert_eq!(
        (&page["domain"], &page["url"], &page["published"], &page["days"]),
        (
            &json!("status.shop.example"),
            &json!("http://status.shop.example/"),
            &json!(false),
            &json!(90)
        )
    );
    let part = &page["groups"][0]["parts"][0];
    assert_eq!((&part["slug"], &part["slo"]), (&json!("check-out"), &Value::Null));
    assert_eq!(part["monitor"]["name"], "internal checkout");
    let own = path(&page);
    assert_eq!(api.get(&own).await.is(200), page);
    // What was read can be written: ids stay, and what is new gets one.
    let slo = json!({ "name": "fast", "monitor": "internal checkout", "target_ppb": 990_000_000,
        "window": { "kind": "rolling", "duration": "30d" } });
    api.post("slos", slo).await.is(201);
    let groups = json!([
        { "parts": [{ "name": "Pages", "slo": "fast" }] },
        { "id": page["groups"][0]["id"], "name": "Sales",
          "parts": [{ "id": part["id"], "name": "Paying", "description": "With cards", "monitor": part["monitor"]["id"] }] },
    ]);
    let change = json!({ "groups": groups, "domain": null, "published": true, "days": 30 });
    let changed = api.patch(&own, change).await.is(200);
    assert_eq!(changed["groups"][1]["parts"][0]["id"], part["id"]);
    assert_eq!(changed["groups"][1]["parts"][0]["slug"], "paying");
    assert_eq!(changed["groups"][0]["parts"][0]["slo"]["name"], "fast");
    assert_eq!(
        (&changed["domain"], &changed["url"]),
        (&Value::Null, &json!("http://q.test/status/shop"))
    );
    assert_eq!((&changed["revision"], &changed["links"]), (&json!(2), &page["links"]));
    // Somebody who has read the first one must not write over it.
    let key = format!("Bearer {}", crate::support::api::key_of(Role::Editor));
    let stale = [("authorization", key.as_str()), ("if-match", "\"1\"")];
    let late = api.plain(Method::PATCH, &own, json!({ "name": "x" }), &stale).await;
    assert_eq!(late.is(409)["error"]["code"], "revision");
    api.plain(Method::DELETE, &own, Value::Null, &stale).await.is(409);
    let list = api.get("status-pages").await.is(200);
    assert_eq!((list["items"].as_array().unwrap().len(), &list["items"][0]), (1, &changed));
    api.delete(&own).await.is(204);
    api.get(&own).await.is(404);
    let log = api.get(&format!("audit?subject=status_page:{}", text(&page["id"]))).await.is(200);
    let actions: Vec<&str> = log["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["action"].as_str().unwrap())
        .collect();
    assert_eq!(actions, ["status_page.delete", "status_page.change", "status_page.create"]);
    assert_eq!(log["items"][1]["detail"]["before"]["domain"], "status.shop.example");
}

#[tokio::test]
async fn pages_are_listed_by_name_a_few_at_a_time() {
    let api = Api::start().await;
    for (name, slug) in [("b", "two"), ("A", "one"), ("c", "three"), ("a", "four")] {
        api.post("status-pages", json!({ "name": name, "slug": slug })).await.is(201);
    }
    let first = api.get("status-pages?limit=3").await.is(200);
    let rest =
        api.get(&format!("status-pages?limit=3&cursor={}", text(&first["next"]))).await.is(200);
    let slugs: Vec<String> = [&first, &rest]
        .iter()
        .flat_map(|list| list["items"].as_array().unwrap())
        .map(|page| text(&page["slug"]))
        .collect();
    assert_eq!(
        (slugs, &rest["next"]),
        (vec!["one", "four", "two", "three"].into_iter().map(String::from).collect(), &Value::Null)
    );
}

#[tokio::test]
async fn what_is_wrong_with_a_page_is_told_at_its_field() {
    let api = Api::start().await;
    let page = shop(&api).await;
    let own = path(&page);
    let part = |more: Value| {
        let mut part = json!({ "name": "P", "monitor": "internal checkout" });
        part.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "groups": [{ "parts": [part] }] })
    };
    let stranger = Uuid::from_u128(7).to_string();
    let wrong = [
        (json!({ "name": " " }), "name"),
        (json!({ "slug": "Shop" }), "slug"),
        (json!({ "slug": "api" }), "slug"),
        (json!({ "timezone": "Mars/Olympus" }), "timezone"),
        (json!({ "domain": "https://status.shop.example" }), "domain"),
        (json!({ "domain": "q.test" }), "domain"),
        (json!({ "days": 91 }), "days"),
        (json!({ "days": null }), "days"),
        (json!({ "headline": "two\nlines" }), "headline"),
        (json!({ "links": [{ "text": "x", "url": "javascript:alert(1)" }] }), "links[0].url"),
        (part(json!({ "monitor": "nobody" })), "groups[0].parts[0].monitor"),
        (part(json!({ "monitor": null })), "groups[0].parts[0].monitor"),
        (part(json!({ "slo": "any" })), "groups[0].parts[0].slo"),
        (part(json!({ "monitor": null, "slo": "none" })), "groups[0].parts[0].slo"),
        (part(json!({ "id": stranger })), "groups[0].parts[0].id"),
        (part(json!({ "colour": "red" })), "groups[0].parts[0].colour"),
    ];
    for (change, field) in wrong {
        api.patch(&own, change).await.refuses(422, field);
    }
    assert_eq!(api.get(&own).await.is(200), page, "nothing was stored");
    let twin = |more: (&str, Value)| {
        let mut form = json!({ "name": "Twin", "slug": "twin" });
        form[more.0] = more.1;
        form
    };
    api.post("status-pages", twin(("slug", json!("shop")))).await.refuses(409, "slug");
    api.post("status-pages", twin(("domain", json!("status.shop.example"))))
        .await
        .refuses(409, "domain");
    api.post("status-pages", json!({ "slug": "x" })).await.refuses(422, "name");
}

#[tokio::test]
async fn posts_tell_what_people_write_and_remember_who_did() {
    let api = Api::start().await;
    let page = shop(&api).await;
    let part = &page["groups"][0]["parts"][0]["id"];
    let posts = format!("{}/posts", path(&page));
    let form = json!({ "title": "Paying fails", "impact": "major", "parts": [part],
        "update": { "text": " We look\r\ninto it. " } });
    let post = api.post(&posts, form).await.is(201);
    assert_eq!((&post["status"], &post["resolved_at"]), (&json!("investigating"), &Value::Null));
    assert_eq!(post["updates"][0]["text"], "We look\ninto it.");
    assert_eq!(post["updates"][0]["by"], "token:admin");
    assert_eq!(post["started_at"], post["updates"][0]["at"]);
    let own = format!("{posts}/{}", text(&post["id"]));
    assert_eq!(
        text(&post["url"]),
        format!("http://status.shop.example/posts/{}", text(&post["id"]))
    );
    assert_eq!(api.get(&path(&page)).await.is(200)["open_posts"], 1);
    api.later(60);
    let more = json!({ "status": "resolved", "text": "It works again." });
    let post = api.post(&format!("{own}/updates"), more).await.is(201);
    assert_eq!(
        (&post["status"], &post["resolved_at"]),
        (&json!("resolved"), &post["updates"][0]["at"])
    );
    assert_eq!(api.get(&format!("{posts}?state=open")).await.is(200)["items"], json!([]));
    // Written too early: what is left decides how it stands.
    let last = format!("{own}/updates/{}", text(&post["updates"][0]["id"]));
    let edited =
        api.as_role(Role::Editor, Method::PATCH, &last, json!({ "text": "Better." })).await.is(200);
    assert_eq!(edited["updates"][0]["edited_by"], "token:editor");
    let open = api.delete(&last).await.is(200);
    assert_eq!((&open["status"], &open["resolved_at"]), (&json!("investigating"), &Value::Null));
    let only = format!("{own}/updates/{}", text(&open["updates"][0]["id"]));
    api.delete(&only).await.is(409);
    let change = json!({ "title": "Paying by card fails", "impact": "minor", "parts": [] });
    let changed = api.patch(&own, change).await.is(200);
    assert_eq!(
        (&changed["title"], &changed["impact"]),
        (&json!("Paying by card fails"), &json!("minor"))
    );
    let key = format!("Bearer {}", crate::support::api::key_of(Role::Editor));
    let stale = [("authorization", key.as_str()), ("if-match", "\"1\"")];
    api.plain(Method::PATCH, &own, json!({ "title": "x" }), &stale).await.is(409);
    let future = api.clock.now() + jiff::SignedDuration::from_secs(1);
    api.patch(&own, json!({ "started_at": future })).await.refuses(422, "started_at");
    api.patch(&own, json!({ "parts": [Uuid::nil()] })).await.refuses(422, "parts[0]");
    api.patch(&own, json!({ "incident": Uuid::nil() })).await.refuses(422, "incident");
    api.post(&posts, json!({ "title": "x", "update": { "text": " " } }))
        .await
        .refuses(422, "update.text");
    api.post(&posts, json!({ "title": "x", "update": { "text": "y", "status": "gone" } }))
        .await
        .refuses(422, "update.status");
    api.delete(&own).await.is(204);
    api.get(&own).await.is(404);
    let log = api.get(&format!("audit?subject=status_page:{}", text(&page["id"]))).await.is(200);
    let all = log.to_string();
    for said in
        ["We look", "It works again.", "Better.", "status_update.delete", "status_post.delete"]
    {
        assert!(all.contains(said), "{said}: {all}");
    }
}

#[tokio::test]
async fn posts_are_listed_a_few_at_a_time_the_latest_first() {
    let api = Api::start().await;
    let page = shop(&api).await;
    let posts = format!("{}/posts", path(&page));
    for title in ["one", "two", "three"] {
        api.post(&posts, json!({ "title": title, "update": { "text": "x" } })).await.is(201);
        api.later(60);
    }
    let first = api.get(&format!("{posts}?limit=2")).await.is(200);
    let rest = api.get(&format!("{posts}?limit=2&cursor={}", text(&first["next"]))).await.is(200);
    let titles = |list: &Value| -> Vec<String> {
        list["items"].as_array().unwrap().iter().map(|post| text(&post["title"])).collect()
    };
    assert_eq!(
        (titles(&first), titles(&rest)),
        (vec!["three".into(), "two".into()], vec!["one".into()])
    );
    // A post is one of its page alone.
    let other = api.post("status-pages", json!({ "name": "Other", "slug": "other" })).await.is(201);
    let id = text(&first["items"][0]["id"]);
    api.get(&format!("{}/posts/{id}", path(&other))).await.is(404);
}
