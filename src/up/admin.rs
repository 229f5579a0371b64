//! What the owner of the machine may do without a login: keys and one-time links.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use jiff::{SignedDuration, Timestamp};
use sqlx::{Connection, PgConnection};
use url::Url;

use super::{
    data, id,
    postgres::{self, Postgres},
    random,
};
use crate::{
    clock::Clock,
    config::AdminLinkConfig,
    store::{self, local},
};

/// How long a one-time link is good for.
const LINK_LASTS: SignedDuration = SignedDuration::from_hours(24);

/// The name of the API key that `up` keeps on disk.
const TOKEN_NAME: &str = "admin.token";

/// Makes a one-time link for `quorate admin link`. Works while `up` runs and while it does not.
pub async fn link(config: &AdminLinkConfig, clock: &Clock) -> anyhow::Result<Url> {
    if let Some(url) = &config.database_url {
        let mut connection = PgConnection::connect_with(&url.options())
            .await
            .context("cannot connect to the database")?;
        let base = base(config, None)?;
        return make(&mut connection, config.email.as_deref(), &base, clock.now()).await;
    }
    let dir = config.data_dir.clone().map_or_else(data::default_dir, Ok)?;
    if !dir.join("pg/data").exists() {
        bail!(
            "there is no database in {}.\nStart one with quorate up, or say where it is with --data-dir or QUORATE_DATABASE_URL.",
            dir.display()
        );
    }
    let base = base(config, Some(&dir))?;
    if let Ok(mut connection) = PgConnection::connect_with(&postgres::options_in(&dir)).await {
        return make(&mut connection, config.email.as_deref(), &base, clock.now()).await;
    }
    let settings = postgres::Settings { dir, bin_dir: None, server: Vec::new() };
    let server = Postgres::start(settings).await?;
    let made = async {
        let mut connection =
            PgConnection::connect_with(&server.options(postgres::DATABASE)).await?;
        store::migrate(&mut connection).await?;
        make(&mut connection, config.email.as_deref(), &base, clock.now()).await
    };
    let made = made.await;
    server.stop().await;
    made
}

fn base(config: &AdminLinkConfig, dir: Option<&Path>) -> anyhow::Result<Url> {
    if let Some(url) = &config.public_url {
        return Ok(url.clone());
    }
    let kept = dir.map(|dir| data::read(&dir.join("url"))).transpose()?.flatten();
    let text = kept.as_deref().unwrap_or("http://127.0.0.1:8080");
    text.parse().context("the address of the page; give it with --public-url")
}

async fn make(
    connection: &mut PgConnection,
    email: Option<&str>,
    base: &Url,
    now: Timestamp,
) -> anyhow::Result<Url> {
    let mut transaction = connection.begin().await?;
    let user = match email {
        Some(email) => local::user_by_email(&mut transaction, email).await?,
        None => None,
    };
    if user.is_none() && local::has_admin(&mut transaction).await? {
        match email {
            Some(email) => bail!(
                "nobody here has the address {email}.\nAn administrator can invite them under Settings, Users."
            ),
            None => bail!(
                "there is an administrator already.\nSay who wants to get back in:  quorate admin link EMAIL"
            ),
        }
    }
    let new =
        local::NewLink { id: id(now), user, email, random: random(), expires_at: now + LINK_LASTS };
    let key = local::make_link(&mut transaction, &new, now).await?;
    transaction.commit().await?;
    let mut link = base.clone();
    link.path_segments_mut()
        .map_err(|()| anyhow::anyhow!("{base} cannot be the address of a page"))?
        .pop_if_empty()
        .extend(["setup", key.expose()]);
    Ok(link)
}

/// A link for the first administrator, if there is none yet.
pub(super) async fn first_link(
    connection: &mut PgConnection,
    base: &Url,
    now: Timestamp,
) -> anyhow::Result<Option<Url>> {
    if local::has_admin(connection).await? {
        return Ok(None);
    }
    make(connection, None, base, now).await.map(Some)
}

/// Sees to it that the data folder has a valid API key for scripts, and says where.
pub(super) async fn write_token(
    connection: &mut PgConnection,
    dir: &Path,
    now: Timestamp,
) -> anyhow::Result<PathBuf> {
    let file = dir.join("admin.token");
    if let Some(key) = data::read(&file)?
        && local::is_admin_key(connection, &key, now).await?
    {
        return Ok(file);
    }
    let mut transaction = connection.begin().await?;
    let key =
        local::replace_admin_key(&mut transaction, id(now), TOKEN_NAME, random(), now).await?;
    // Before the commit: a key that is on disk and not in the database is replaced at the next start,
    // the other way round it would be valid and lost.
    data::write(&file, key.expose())?;
    transaction.commit().await?;
    Ok(file)
}
