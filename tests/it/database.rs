//! The schema and the tests' own databases.

use sqlx::{Connection, PgConnection};

use crate::support::db::TestDb;

#[tokio::test]
async fn every_test_has_a_migrated_database_of_its_own() {
    let (one, two) = (TestDb::new().await, TestDb::new().await);
    for db in [&one, &two] {
        quorate::store::MIGRATOR.run(db.pool()).await.unwrap();
        let mut own = PgConnection::connect_with(&db.options()).await.unwrap();
        let here: String = sqlx::query_scalar("select current_database()::text")
            .fetch_one(&mut own)
            .await
            .unwrap();
        assert!(db.url().contains(&format!("/{here}?")), "{here} {}", db.url());
    }
    sqlx::query("create table only_here (id int)").execute(one.pool()).await.unwrap();
    let gone = sqlx::query("select id from only_here").execute(two.pool()).await;
    assert!(gone.unwrap_err().to_string().contains("only_here"));
}
