//! What is deleted when its time is over, and what is not.

use quorate::{clock::Clock, store, upkeep::Upkeep};

use crate::support::db::TestDb;

#[tokio::test]
async fn notices_go_400_days_after_their_incident_was_over() {
    let db = TestDb::new().await;
    let now = "2026-03-01T12:00:00Z".parse().unwrap();
    let rows = "
        insert into channel (channel_id, name, kind, config, min_severity, created_at, updated_at)
        values ('01900000-0000-7000-8000-00000000000c', 'ops', 'email', '{}', 'degraded', now(), now());
        insert into incident (monitor_id, incident_id, subject, severity, peak, started_at, opened_at, resolved_at, sentence, evidence)
        select n, ('01900000-0000-7000-8000-00000000010' || n)::uuid, 'monitor', 'down', 'down', at, at, over_at, '', '{}'
        from (values (1, '2024-12-01Z'::timestamptz, '2024-12-02Z'::timestamptz),
                     (2, '2024-12-01Z', '2025-06-01Z'),
                     (3, '2024-12-01Z', null)) incident (n, at, over_at);
        insert into notice (monitor_id, notice_id, incident_id, channel_id, kind, severity, payload, created_at, due_at, settled_at, outcome)
        select monitor_id, gen_random_uuid(), incident_id, channel_id, 'opened', 'down', '{}', opened_at, opened_at, opened_at, 'delivered'
        from incident, channel;
        insert into notice (monitor_id, notice_id, incident_id, channel_id, kind, severity, payload, created_at, due_at)
        select monitor_id, gen_random_uuid(), incident_id, channel_id, 'resolved', 'down', '{}', opened_at, opened_at
        from incident, channel where monitor_id = 1";
    sqlx::raw_sql(rows).execute(db.pool()).await.unwrap();
    Upkeep::new(db.pool().clone(), Clock::manual(now)).forget(now).await.unwrap();
    let kept: Vec<(i32, String)> =
        sqlx::query_as("select monitor_id, kind from notice order by monitor_id")
            .fetch_all(db.pool())
            .await
            .unwrap();
    let expected = [(1, "resolved"), (2, "opened"), (3, "opened")];
    assert_eq!(kept, expected.map(|(monitor, kind)| (monitor, kind.to_owned())));
}

#[tokio::test]
async fn the_database_sees_the_name_that_the_operator_gave() {
    let db = TestDb::new().await;
    let name = async |url: String| -> String {
        let pool = store::pool(url.parse().unwrap(), 1);
        sqlx::query_scalar("show application_name").fetch_one(&pool).await.unwrap()
    };
    let url = db.url();
    let joint = if url.contains('?') { '&' } else { '?' };
    assert_eq!(name(url.clone()).await, "quorate");
    assert_eq!(name(format!("{url}{joint}application_name=watch-eu")).await, "watch-eu");
}
