//! Kind `tcp`: a connection, TLS if asked, then the dialogue step by step.

use tokio::io::AsyncWriteExt;
use tokio_util::either::Either;

use super::Attempt;
use super::conclude::Facts;
use super::talk::{Stream, Talk};
use super::trace::Failure;
use super::{starttls, talk};
use crate::domain::check::{Step, TcpCheck};
use crate::domain::observation::{Class, Observation};
use crate::domain::pattern::Pattern;

pub(super) async fn run(
    attempt: &Attempt<'_>,
    check: &TcpCheck,
    cancelled: impl Future<Output = ()>,
) -> Observation {
    let mut talk = Talk::begin(attempt);
    let mut facts = Facts::default();
    let work = work(attempt, check, &mut talk, &mut facts);
    let ended = attempt.bounded(cancelled, work).await;
    facts.banner = talk.banner();
    if let Some(banner) = &facts.banner {
        facts.shown.insert(0, talk.fact("banner", banner));
    }
    talk.conclude(attempt, &check.endpoint.host.to_string(), facts, ended)
}

async fn work(
    attempt: &Attempt<'_>,
    check: &TcpCheck,
    talk: &mut Talk,
    facts: &mut Facts,
) -> Result<(), Failure> {
    let endpoint = &check.endpoint;
    let plain = talk.connect(attempt, endpoint, check.ip_family).await?;
    let mut stream: Stream = match check.starttls {
        Some(protocol) => {
            starttls::upgrade(protocol, talk, plain, attempt, endpoint, &check.tls).await?
        }
        None if check.secure() => talk.secure(attempt, plain, endpoint, &check.tls).await?,
        None => Either::Left(plain),
    };
    dialogue(&check.dialogue, talk, &mut stream, facts).await?;
    if check.wants_banner() {
        talk.wait_for("the probe waited for the end of the server's first line");
        talk.first_line(&mut stream).await?;
    }
    talk.done();
    match check.dialogue.last() {
        // The last words must arrive, and an early end could take them along.
        Some(Step::Send(_)) => talk::farewell(&mut stream, b"").await,
        _ => _ = tokio::time::timeout(talk::FAREWELL, stream.shutdown()).await,
    }
    Ok(())
}

async fn dialogue(
    steps: &[Step],
    talk: &mut Talk,
    stream: &mut Stream,
    facts: &mut Facts,
) -> Result<(), Failure> {
    let mut watched: Vec<(usize, &Pattern)> = Vec::new();
    for (number, step) in (1..).zip(steps) {
        match step {
            Step::Send(sent) => {
                talk.wait_for(format!("step {number} was being sent"));
                talk.send(stream, sent.bytes()).await?;
            }
            Step::Reject(pattern) => watched.push((number, pattern)),
            Step::Expect(pattern) => {
                talk.wait_for(format!("step {number} waited for /{}/", pattern.as_str()));
                // What is rejected wins, wherever in the rest it stands.
                refuse(&watched, talk)?;
                let found = loop {
                    if let Some(found) = talk.find(pattern) {
                        break found;
                    }
                    if talk.ended() {
                        return Err(talk.closed());
                    }
                    talk.more(stream).await?;
                    refuse(&watched, talk)?;
                };
                facts.show(&format!("step {number}"), talk.take(&found));
            }
        }
    }
    Ok(())
}

fn refuse(watched: &[(usize, &Pattern)], talk: &mut Talk) -> Result<(), Failure> {
    match watched.iter().find_map(|(number, pattern)| Some((number, pattern, talk.find(pattern)?)))
    {
        None => Ok(()),
        Some((number, pattern, _)) => Err(Failure::new(
            Class::DialogueRejected,
            format!(
                "Step {number} rejects /{}/, and the server said {}.",
                pattern.as_str(),
                talk.quoted(talk.rest())
            ),
        )),
    }
}
