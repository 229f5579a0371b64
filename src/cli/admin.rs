//! `quorate admin` and `quorate migrate`: what the owner of the database does at the machine.

use std::process::ExitCode;

use anyhow::Context;
use sqlx::{Connection, PgConnection};

use super::term::{Ink, Term, TermOptions, counted};
use crate::{
    clock::Clock,
    config::{AdminCommand, MigrateConfig},
    store, up,
};

/// Prints a one-time link. 0, or 3 if there is none to give.
pub async fn run(command: AdminCommand, options: TermOptions) -> ExitCode {
    let term = Term::detect(options);
    let AdminCommand::Link(config) = command;
    let text = match up::admin::link(&config, &Clock::system()).await {
        Ok(link) => {
            let link = term.paint(Ink::Link, link.as_str());
            Ok(format!("Sign in, once, within 24 h:\n\n  {link}\n"))
        }
        Err(error) => Err(error),
    };
    finish(&term, "admin link", text)
}

/// Brings the schema up to date. 0, or 3 if it could not.
pub async fn migrate(config: MigrateConfig, options: TermOptions) -> ExitCode {
    let term = Term::detect(options);
    let work = async {
        let mut connection = PgConnection::connect_with(&config.database_url.options())
            .await
            .context("cannot connect to the database")?;
        let done = store::migrate(&mut connection).await.context("the schema is as it was")?;
        let steps = counted(done.taken, "step", "steps");
        anyhow::Ok(match (done.before, done.taken) {
            (_, 0) => "The schema is up to date.\n".to_owned(),
            (0, _) => format!("The schema is created, {steps}.\n"),
            _ => format!("The schema is brought up to date, {steps}.\n"),
        })
    };
    finish(&term, "migrate", work.await)
}

fn finish(term: &Term, command: &str, text: anyhow::Result<String>) -> ExitCode {
    match text.and_then(|text| Ok(term.print(&term.text(&text))?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            term.warn(&format!("quorate {command}: {}", crate::process::log::reasons(&error)));
            ExitCode::from(3)
        }
    }
}
