//! Kind `tls`: connect and shake hands; the certificate is judged on the way.

use tokio::io::AsyncWriteExt;

use super::Attempt;
use super::conclude::Facts;
use super::starttls;
use super::talk::{self, Talk};
use super::trace::Failure;
use crate::domain::check::TlsCheck;
use crate::domain::observation::Observation;

pub(super) async fn run(
    attempt: &Attempt<'_>,
    check: &TlsCheck,
    cancelled: impl Future<Output = ()>,
) -> Observation {
    let mut talk = Talk::begin(attempt);
    let work = work(attempt, check, &mut talk);
    let ended = attempt.bounded(cancelled, work).await;
    talk.conclude(attempt, &check.endpoint.host.to_string(), Facts::default(), ended)
}

async fn work(attempt: &Attempt<'_>, check: &TlsCheck, talk: &mut Talk) -> Result<(), Failure> {
    let endpoint = &check.endpoint;
    let plain = talk.connect(attempt, endpoint, check.ip_family).await?;
    let mut stream = match check.starttls {
        Some(protocol) => {
            starttls::upgrade(protocol, talk, plain, attempt, endpoint, &check.tls).await?
        }
        None => talk.secure(attempt, plain, endpoint, &check.tls).await?,
    };
    talk.done();
    let _ = tokio::time::timeout(talk::FAREWELL, stream.shutdown()).await;
    Ok(())
}
