//! Hearing at once that something is to be sent.

use std::{sync::Arc, time::Duration};

use sqlx::{PgPool, postgres::PgListener};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::store;

/// Passes wake-ups on. A lost connection is made again; until then the poll does the work.
pub(super) async fn wake(pool: PgPool, again: Arc<Notify>, shutdown: CancellationToken) {
    let forward = async {
        loop {
            if let Err(error) = forward(&pool, &again).await {
                tracing::debug!(%error, "listening for notices is tried again");
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::select! {
        () = shutdown.cancelled() => {}
        () = forward => {}
    }
}

async fn forward(pool: &PgPool, again: &Notify) -> sqlx::Result<()> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(store::WAKE_CHANNEL).await?;
    // Whatever was queued before we listened.
    again.notify_one();
    loop {
        if listener.recv().await?.payload() == "notice" {
            again.notify_one();
        }
    }
}
