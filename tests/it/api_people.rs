//! Signing in, one-time links, people and tokens.

use axum::http::{Method, StatusCode, header};
use quorate::{
    domain::token::KeyKind,
    store::{self, links},
};
use serde_json::{Value, json};

use crate::support::api::{Answer, Api, text};

const PASSWORD: &str = "correct horse battery";

/// A link for the first administrator, as the start prints it.
async fn first_link(api: &Api, chance: u8) -> String {
    let key = KeyKind::Link.key([chance; 32]).into_exposed();
    let now = api.clock.now();
    let link = links::NewLink {
        id: store::id_at(now),
        hash: KeyKind::Link.hash(&key).unwrap(),
        purpose: "first_admin",
        email: None,
        role: None,
        user: None,
        expires_at: now + jiff::SignedDuration::from_hours(24),
    };
    links::insert(&mut api.db.pool().acquire().await.unwrap(), &link, now).await.unwrap();
    format!("setup/{key}")
}

async fn anybody(api: &Api, method: Method, path: &str, body: Value) -> Answer {
    api.plain(method, path, body, &[]).await
}

async fn with_cookie(api: &Api, method: Method, path: &str, body: Value, cookie: &str) -> Answer {
    api.plain(method, path, body, &[("cookie", cookie), ("origin", "http://q.test")]).await
}

/// The first administrator, signed in: the cookie.
async fn first_admin(api: &Api) -> String {
    let link = first_link(api, 1).await;
    let body = json!({ "email": "ann@example.com", "name": "Ann", "password": PASSWORD });
    let answer = anybody(api, Method::POST, &link, body).await;
    let cookie = answer.cookie();
    answer.is(201);
    cookie
}

async fn sign_in(api: &Api, email: &str, password: &str) -> Answer {
    anybody(api, Method::POST, "session", json!({ "email": email, "password": password })).await
}

#[tokio::test]
async fn the_first_administrator_comes_by_a_link_that_works_once() {
    let api = Api::start().await;
    assert_eq!(
        anybody(&api, Method::GET, "setup", Value::Null).await.is(200)["needs_first_admin"],
        true
    );
    let (link, other) = (first_link(&api, 1).await, first_link(&api, 2).await);
    let info = anybody(&api, Method::GET, &link, Value::Null).await.is(200);
    assert_eq!((&info["purpose"], &info["role"]), (&json!("first_admin"), &json!("admin")));

    let form = |email: &str, password: &str| json!({ "email": email, "password": password });
    let post = |body| anybody(&api, Method::POST, &link, body);
    post(form("ann", PASSWORD)).await.refuses(422, "email");
    post(form("ann@example.com", "short")).await.refuses(422, "password");
    let answer = post(form("ann@example.com", PASSWORD)).await;
    let cookie = answer.headers[header::SET_COOKIE].to_str().unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    assert_eq!(answer.is(201)["role"], "admin");

    assert_eq!(
        anybody(&api, Method::GET, "setup", Value::Null).await.is(200)["needs_first_admin"],
        false
    );
    for gone in [&link, &other, &"setup/qrl_x".to_owned()] {
        anybody(&api, Method::GET, gone, Value::Null).await.is(404);
        anybody(&api, Method::POST, gone, form("eve@example.com", PASSWORD)).await.is(404);
    }
}

#[tokio::test]
async fn two_first_links_at_once_make_one_administrator() {
    let api = Api::start().await;
    let (one, two) = (first_link(&api, 1).await, first_link(&api, 2).await);
    let form = |email: &str| json!({ "email": email, "password": PASSWORD });
    let (a, b) = tokio::join!(
        anybody(&api, Method::POST, &one, form("ann@example.com")),
        anybody(&api, Method::POST, &two, form("eve@example.com"))
    );
    let mut statuses = [a.status.as_u16(), b.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 404]);
    assert_eq!(api.get("users").await.is(200)["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_link_ends_when_its_time_is_over() {
    let api = Api::start().await;
    let link = first_link(&api, 1).await;
    api.later(24 * 3_600);
    anybody(&api, Method::GET, &link, Value::Null).await.is(404);
}

#[tokio::test]
async fn signing_in_and_out() {
    let api = Api::start().await;
    let cookie = first_admin(&api).await;
    let me = with_cookie(&api, Method::GET, "session", Value::Null, &cookie).await.is(200);
    assert_eq!(me["user"]["email"], "ann@example.com");
    assert_eq!(me["user"]["name"], "Ann");

    for (email, password) in
        [("ann@example.com", "wrong password"), ("nobody@example.com", PASSWORD)]
    {
        let refused = sign_in(&api, email, password).await;
        assert!(!refused.headers.contains_key(header::SET_COOKIE));
        assert_eq!(refused.is(401)["error"]["message"], "Address or password is wrong.");
    }
    let answer = sign_in(&api, " ANN@example.com", PASSWORD).await;
    let second = answer.cookie();
    answer.is(201);
    let sessions =
        with_cookie(&api, Method::GET, "users/me/sessions", Value::Null, &second).await.is(200);
    assert_eq!(sessions["items"].as_array().unwrap().len(), 2);

    with_cookie(&api, Method::DELETE, "session", Value::Null, &second).await.is(204);
    with_cookie(&api, Method::GET, "session", Value::Null, &second).await.is(401);
    with_cookie(&api, Method::GET, "session", Value::Null, &cookie).await.is(200);
    anybody(&api, Method::GET, "session", Value::Null).await.is(401);
}

#[tokio::test]
async fn a_sign_in_lives_on_by_use() {
    let api = Api::start().await;
    let cookie = first_admin(&api).await;
    let day = 24 * 3_600;
    for _ in 0..6 {
        api.later(13 * day);
        with_cookie(&api, Method::GET, "session", Value::Null, &cookie).await.is(200);
    }
    api.later(13 * day); // 91 days: even one in use ends.
    with_cookie(&api, Method::GET, "session", Value::Null, &cookie).await.is(401);
    let cookie = sign_in(&api, "ann@example.com", PASSWORD).await.cookie();
    api.later(14 * day);
    with_cookie(&api, Method::GET, "session", Value::Null, &cookie).await.is(401);
}

#[tokio::test]
async fn guessing_is_slowed_down_for_the_address_that_is_guessed() {
    let api = Api::start().await;
    first_admin(&api).await;
    let mut limited = None;
    for _ in 0..11 {
        let answer = sign_in(&api, "ann@example.com", "guess guess guess").await;
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            limited = Some(answer);
        }
    }
    let limited = limited.expect("the eleventh attempt at once is too many");
    let wait: u64 = limited.headers[header::RETRY_AFTER].to_str().unwrap().parse().unwrap();
    assert!((1..=10).contains(&wait), "{wait}");
    assert_eq!(limited.body["error"]["code"], "rate_limited");
    sign_in(&api, "bob@example.com", "guess guess guess").await.is(401);
}

#[tokio::test]
async fn another_site_cannot_act_with_a_visitors_cookie() {
    let api = Api::start().await;
    let cookie = first_admin(&api).await;
    let invite = || json!({ "email": "eve@example.com", "role": "admin" });
    for foreign in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "http://q.test:8081"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let headers = [("cookie", cookie.as_str()), foreign];
        api.plain(Method::POST, "users/invite", invite(), &headers).await.is(403);
        api.plain(Method::POST, "session", json!({"email": "a@b", "password": "x"}), &headers)
            .await
            .is(403);
    }
    let own = [
        ("cookie", cookie.as_str()),
        ("origin", "http://q.test"),
        ("sec-fetch-site", "same-origin"),
    ];
    api.plain(Method::POST, "users/invite", invite(), &own).await.is(201);
    // A form cannot send JSON.
    let form = [("cookie", cookie.as_str()), ("content-type", "text/plain")];
    api.plain(Method::DELETE, "session", Value::Null, &form).await.is(204);
}

#[tokio::test]
async fn people_are_invited_changed_and_recovered() {
    let api = Api::start().await;
    first_admin(&api).await;
    let link = |answer: &Value| {
        let url = text(&answer["url"]);
        let key = url.strip_prefix("http://q.test/setup/").unwrap();
        format!("setup/{key}")
    };
    api.post("users/invite", json!({"email": "ann@example.com", "role": "viewer"}))
        .await
        .refuses(409, "email");
    api.post("users/invite", json!({"email": "bob", "role": "viewer"})).await.refuses(422, "email");
    api.post("users/invite", json!({"email": "bob@example.com", "role": "king"}))
        .await
        .refuses(422, "role");
    let first = api
        .post("users/invite", json!({"email": "bob@example.com", "role": "viewer"}))
        .await
        .is(201);
    let again = api
        .post("users/invite", json!({"email": "bob@example.com", "role": "editor"}))
        .await
        .is(201);
    anybody(&api, Method::GET, &link(&first), Value::Null).await.is(404);
    let other = json!({"email": "eve@example.com", "password": PASSWORD});
    anybody(&api, Method::POST, &link(&again), other).await.refuses(422, "email");
    let joined =
        anybody(&api, Method::POST, &link(&again), json!({"password": PASSWORD, "name": "Bob"}))
            .await;
    let bob_cookie = joined.cookie();
    let joined = joined.is(201);
    assert_eq!((&joined["role"], &joined["name"]), (&json!("editor"), &json!("bob@example.com")));
    let bob = format!("users/{}", text(&joined["user"]["id"]));

    // An editor is none who manages people.
    with_cookie(&api, Method::GET, "users", Value::Null, &bob_cookie).await.is(403);
    api.patch(&bob, json!({"role": "viewer"})).await.is(200);
    let me = with_cookie(&api, Method::GET, "session", Value::Null, &bob_cookie).await.is(200);
    assert_eq!(me["role"], "viewer");

    let recovery = api.post(&format!("{bob}/recovery"), Value::Null).await.is(201);
    anybody(&api, Method::POST, &link(&recovery), json!({"password": "another good one"}))
        .await
        .is(201);
    with_cookie(&api, Method::GET, "session", Value::Null, &bob_cookie).await.is(401);
    sign_in(&api, "bob@example.com", PASSWORD).await.is(401);
    let answer = sign_in(&api, "bob@example.com", "another good one").await;
    let bob_cookie = answer.cookie();
    answer.is(201);

    let change = |current: &str, new: &str| json!({"current": current, "new": new});
    let password = |body| with_cookie(&api, Method::POST, "users/me/password", body, &bob_cookie);
    password(change("wrong", "third password")).await.refuses(422, "current");
    password(change("another good one", "short")).await.refuses(422, "new");
    password(change("another good one", "third password")).await.is(204);

    api.patch(&bob, json!({"disabled": true})).await.is(200);
    with_cookie(&api, Method::GET, "session", Value::Null, &bob_cookie).await.is(401);
    sign_in(&api, "bob@example.com", "third password").await.is(401);
    api.post(&format!("{bob}/recovery"), Value::Null).await.is(409);

    let actions: Vec<Value> = api.get("audit").await.is(200)["items"].as_array().unwrap().clone();
    let said = actions.iter().map(|row| text(&row["action"])).collect::<Vec<_>>();
    for action in [
        "link.first_admin",
        "user.invite",
        "link.invite",
        "user.change",
        "user.recovery",
        "link.recovery",
        "user.password",
    ] {
        assert!(said.iter().any(|one| one == action), "{action} is missing in {said:?}");
    }
    assert!(!api.get("audit").await.body.to_string().contains("password\":\""));
}

#[tokio::test]
async fn the_last_administrator_stays_one() {
    let api = Api::start().await;
    first_admin(&api).await;
    let users = api.get("users").await.is(200);
    let ann = format!("users/{}", text(&users["items"][0]["id"]));
    api.patch(&ann, json!({"role": "editor"})).await.is(409);
    api.patch(&ann, json!({"disabled": true})).await.is(409);
    api.patch(&ann, json!({"name": "Ann B."})).await.is(200);
    api.patch("users/01900000-0000-7000-8000-000000000000", json!({"name": "x"})).await.is(404);
}

#[tokio::test]
async fn tokens_are_shown_once_and_revoked_at_once() {
    let api = Api::start().await;
    api.post("tokens", json!({"name": "", "role": "viewer"})).await.refuses(422, "name");
    api.post("tokens", json!({"name": "ci", "role": "root"})).await.refuses(422, "role");
    api.post(
        "tokens",
        json!({"name": "ci", "role": "viewer", "expires_at": "2020-01-01T00:00:00Z"}),
    )
    .await
    .refuses(422, "expires_at");
    api.post("tokens", json!({"name": "ci", "role": "viewer", "expires_at": "soon"}))
        .await
        .refuses(422, "expires_at");
    let expires = "2026-03-02T12:00:00.000Z";
    let made = api
        .post("tokens", json!({"name": "ci", "role": "viewer", "expires_at": expires}))
        .await
        .is(201);
    assert_eq!(made["token"]["expires_at"], expires);
    api.post("tokens", json!({"name": "ci", "role": "viewer"})).await.refuses(409, "name");
    let secret = text(&made["secret"]);
    assert!(!api.get("tokens").await.body.to_string().contains(&secret));

    let list = async |secret: &str| {
        let bearer = format!("Bearer {secret}");
        api.plain(Method::GET, "monitors", Value::Null, &[("authorization", &bearer)]).await
    };
    list(&secret).await.is(200);
    api.later(24 * 3_600);
    list(&secret).await.is(401);

    let made = api.post("tokens", json!({"name": "ci2", "role": "viewer"})).await.is(201);
    let secret = text(&made["secret"]);
    list(&secret).await.is(200);
    let path = format!("tokens/{}", text(&made["token"]["id"]));
    api.delete(&path).await.is(204);
    list(&secret).await.is(401);
    api.delete(&path).await.is(404);
    // The name is free again, and a token has no account.
    api.post("tokens", json!({"name": "ci2", "role": "viewer"})).await.is(201);
    api.get("users/me/sessions").await.is(403);
}
