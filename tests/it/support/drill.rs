//! What stops a coordinator at an exact statement, without a word of it in the product: triggers that
//! wait for a lock of the test's, on connections of one coordinator only.

use sqlx::{Connection, PgConnection, PgPool};

use super::{db::TestDb, listeners::Medium, whole::until};

/// Where a coordinator dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// As it begins to take a batch.
    Accept,
    /// Waiting for the monitors' locks.
    Lock,
    /// Incident and notices are written, the monitor's new state is not.
    Decided,
    /// Everything but the raw results is written.
    Copy,
    /// In the commit, which the database completes.
    Commit,
    /// In the commit, which the database gives up.
    CommitLost,
    /// After the commit, while its answer is on the way.
    Answer,
    /// Taking a notice.
    Claim,
    /// The lease on a notice is committed, nothing was sent.
    Claimed,
    /// The receiver has the notice and has not answered.
    Send,
    /// The receiver answered; that is not recorded.
    Settle,
    /// It is recorded, and nobody learns of it.
    Settled,
}

impl Step {
    /// The step is one of delivery, not of deciding.
    pub(crate) fn delivers(self) -> bool {
        matches!(self, Self::Claim | Self::Claimed | Self::Send | Self::Settle | Self::Settled)
    }

    /// What was being taken is stored, although its sender got no answer.
    pub(crate) fn is_stored(self) -> bool {
        matches!(self, Self::Commit | Self::Answer)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Lock => "lock",
            Self::Decided => "decided",
            Self::Copy => "copy",
            Self::Commit | Self::CommitLost => "commit",
            Self::Answer => "answer",
            Self::Claim => "claim",
            Self::Claimed => "claimed",
            Self::Send => "send",
            Self::Settle => "settle",
            Self::Settled => "settled",
        }
    }
}

/// While a row stands in `drill`, its victim stops at its step, and the others find nothing to deliver:
/// so it is the victim who delivers, and every lease there is at its death is its own. A step of delivery
/// is one of delivery by one medium; the other one's notices pass. A deferred trigger runs inside the
/// commit.
const TRIGGERS: &str = "
    create table drill (step text not null, victim text not null, medium text not null);
    create function drill_stop() returns trigger language plpgsql as $$
    begin
        if exists (select from drill where step = tg_argv[0] and victim = current_setting('drill.name', true)) then
            perform pg_advisory_xact_lock(5, 9);
        end if;
        return new;
    end $$;
    create function drill_stop_notice() returns trigger language plpgsql as $$
    begin
        if exists (select from drill d join channel c on c.kind = d.medium
                   where d.step = tg_argv[0] and d.victim = current_setting('drill.name', true)
                     and c.channel_id = new.channel_id) then
            perform pg_advisory_xact_lock(5, 9);
        end if;
        return new;
    end $$;
    create function drill_leave() returns trigger language plpgsql as $$
    begin
        if exists (select from drill where victim <> current_setting('drill.name', true)) then
            return null;
        end if;
        return new;
    end $$;
    create trigger drill_accept before insert on agent_boot
        for each row execute function drill_stop('accept');
    create trigger drill_decided before update on monitor_live
        for each row execute function drill_stop('decided');
    create trigger drill_copy before insert on report
        for each row execute function drill_stop('copy');
    create constraint trigger drill_commit after update on agent_boot deferrable initially deferred
        for each row execute function drill_stop('commit');
    create trigger drill_leave before update on notice
        for each row when (new.lease_owner is not null and new.lease_owner is distinct from old.lease_owner)
        execute function drill_leave();
    create trigger drill_claim before update on notice
        for each row when (new.lease_owner is not null and new.lease_owner is distinct from old.lease_owner)
        execute function drill_stop_notice('claim');
    create constraint trigger drill_claimed after update on notice deferrable initially deferred
        for each row when (new.lease_owner is not null and new.lease_owner is distinct from old.lease_owner)
        execute function drill_stop_notice('claimed');
    create trigger drill_settle before update on notice
        for each row when (new.settled_at is not null and old.settled_at is null)
        execute function drill_stop_notice('settle');
    create constraint trigger drill_settled after update on notice deferrable initially deferred
        for each row when (new.settled_at is not null and old.settled_at is null)
        execute function drill_stop_notice('settled');
";

/// Holds what the victim waits for.
pub(crate) struct Trap {
    holder: PgConnection,
    pid: i32,
    step: Step,
    medium: Medium,
}

/// How the notices of the step's medium stand when the victim's last statement is over and nobody else
/// had a chance yet.
#[derive(Debug)]
pub(crate) struct Notices {
    pub(crate) leased: usize,
    pub(crate) delivered: usize,
}

/// How many notices were delivered by a medium.
pub(crate) async fn delivered(pool: &PgPool, medium: Medium) -> usize {
    let count: i64 = sqlx::query_scalar(
        "select count(*) from notice join channel c using (channel_id)
         where outcome = 'delivered' and c.kind = $1",
    )
    .bind(medium.word())
    .fetch_one(pool)
    .await
    .unwrap();
    usize::try_from(count).unwrap()
}

impl Trap {
    pub(crate) async fn install(pool: &PgPool) {
        sqlx::raw_sql(TRIGGERS).execute(pool).await.unwrap();
    }

    pub(crate) async fn set(db: &TestDb, step: Step, medium: Medium, victim: &str) -> Self {
        let mut holder = PgConnection::connect_with(&db.options()).await.unwrap();
        let pid =
            sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut holder).await.unwrap();
        let hold = match step {
            Step::Lock => "begin; select from monitor_live for update",
            _ => "begin; select pg_advisory_xact_lock(5, 9)",
        };
        sqlx::raw_sql(hold).execute(&mut holder).await.unwrap();
        sqlx::query("insert into drill values ($1, $2, $3)")
            .bind(step.word())
            .bind(victim)
            .bind(medium.word())
            .execute(db.pool())
            .await
            .unwrap();
        Self { holder, pid, step, medium }
    }

    /// Waits until somebody is in the trap.
    pub(crate) async fn sprung(&self, db: &TestDb) {
        db.somebody_waits_for(self.pid).await;
    }

    /// After the victim's death: lets the database finish what it was asked, and opens the way for the
    /// others.
    pub(crate) async fn clear(mut self, db: &TestDb) -> Notices {
        let pool = db.pool();
        let caught = db.waiting_for(self.pid).await;
        if self.step == Step::CommitLost {
            // As when the database's own end of the connection breaks first.
            for pid in &caught {
                sqlx::query("select pg_terminate_backend($1)")
                    .bind(pid)
                    .execute(pool)
                    .await
                    .unwrap();
            }
        }
        sqlx::raw_sql("rollback").execute(&mut self.holder).await.unwrap();
        until("the victim's connections are gone", async || {
            let left: i64 =
                sqlx::query_scalar("select count(*) from pg_stat_activity where pid = any($1)")
                    .bind(&caught)
                    .fetch_one(pool)
                    .await
                    .unwrap();
            (left == 0).then_some(())
        })
        .await;
        // A dead sender's lease runs out after 30 s; this is that time passing.
        let media: Vec<String> = sqlx::query_scalar(
            "update notice n set lease_until = now() - interval '1 second' from channel c
             where n.settled_at is null and n.lease_until is not null and c.channel_id = n.channel_id
             returning c.kind",
        )
        .fetch_all(pool)
        .await
        .unwrap();
        let leased = media.iter().filter(|kind| **kind == self.medium.word()).count();
        let delivered = delivered(pool, self.medium).await;
        sqlx::query("delete from drill").execute(pool).await.unwrap();
        Notices { leased, delivered }
    }
}
