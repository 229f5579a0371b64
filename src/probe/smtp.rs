//! Kind `smtp`: greeting, EHLO, TLS and EHLO again, then a polite end.

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_util::either::Either;

use super::Attempt;
use super::conclude::Facts;
use super::reply::{Dialect, Reply};
use super::starttls::{not_agreed, nothing_left};
use super::talk::{self, Stream, Talk};
use super::trace::Failure;
use crate::domain::check::{SmtpCheck, When};
use crate::domain::observation::{Class, Observation};

pub(super) async fn run(
    attempt: &Attempt<'_>,
    check: &SmtpCheck,
    cancelled: impl Future<Output = ()>,
) -> Observation {
    let mut talk = Talk::begin(attempt);
    let mut facts = Facts::default();
    let work = work(attempt, check, &mut talk, &mut facts);
    let ended = attempt.bounded(cancelled, work).await;
    talk.conclude(attempt, &check.endpoint.host.to_string(), facts, ended)
}

async fn work(
    attempt: &Attempt<'_>,
    check: &SmtpCheck,
    talk: &mut Talk,
    facts: &mut Facts,
) -> Result<(), Failure> {
    let endpoint = &check.endpoint;
    let plain = talk.connect(attempt, endpoint, check.ip_family).await?;
    let name = check.ehlo_name.clone().unwrap_or_else(|| own_address(&plain));
    let mut stream: Stream = match check.secure() {
        true => talk.secure(attempt, plain, endpoint, &check.tls).await?,
        false => Either::Left(plain),
    };
    let banner = greeting(talk, &mut stream).await?;
    facts.shown.push(talk.fact("banner", &banner));
    facts.banner = Some(banner);
    let mut offers = ehlo(talk, &mut stream, &name).await?;
    let offered = offers.iter().any(|offer| offer.eq_ignore_ascii_case("STARTTLS"));
    if let Either::Left(mut plain) = stream {
        let wanted =
            check.starttls == When::Required || (check.starttls == When::IfOffered && offered);
        if wanted && !offered {
            facts.shown.push(talk.fact("extensions", &offers.join(", ")));
            return Err(Failure::new(
                Class::DialogueRejected,
                "The server does not offer STARTTLS, and this monitor requires it.",
            ));
        }
        stream = if wanted {
            ask_for_tls(talk, &mut plain).await?;
            nothing_left(talk)?;
            let mut secured = talk.secure(attempt, plain, endpoint, &check.tls).await?;
            // What was offered in plain text counts no longer (RFC 3207, 4.2).
            offers = ehlo(talk, &mut secured, &name).await?;
            secured
        } else {
            Either::Left(plain)
        };
    }
    facts.shown.push(talk.fact("extensions", &offers.join(", ")));
    talk.done();
    talk::farewell(&mut stream, b"QUIT\r\n").await;
    Ok(())
}

/// Waits for 220 and gives its text.
pub(super) async fn greeting<S>(talk: &mut Talk, stream: &mut S) -> Result<String, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    talk.wait_for("the probe waited for the greeting of SMTP");
    let reply = Reply::read(talk, stream, Dialect::Smtp).await?;
    match reply.code {
        220 => Ok(reply.text()),
        _ => Err(Failure::new(
            Class::DialogueRejected,
            format!("The server did not greet with 220: it said {}.", reply.shown(talk)),
        )),
    }
}

/// Says who is calling and gives what the server offers.
pub(super) async fn ehlo<S>(
    talk: &mut Talk,
    stream: &mut S,
    name: &str,
) -> Result<Vec<String>, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    talk.wait_for("the probe waited for the answer to EHLO");
    talk.send(stream, format!("EHLO {name}\r\n").as_bytes()).await?;
    let reply = Reply::read(talk, stream, Dialect::Smtp).await?;
    if reply.code != 250 {
        return Err(Failure::new(
            Class::DialogueRejected,
            format!(
                "EHLO {name} was not answered with 250: the server said {}.",
                reply.shown(talk)
            ),
        ));
    }
    // The first line is the server's name.
    Ok(reply.lines.into_iter().skip(1).map(|line| line.trim().to_owned()).collect())
}

/// Asks for TLS, which the server has offered or not.
pub(super) async fn ask_for_tls<S>(talk: &mut Talk, stream: &mut S) -> Result<(), Failure>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    talk.wait_for("the probe waited for the answer to STARTTLS");
    talk.send(stream, b"STARTTLS\r\n").await?;
    let reply = Reply::read(talk, stream, Dialect::Smtp).await?;
    match reply.code {
        220 => Ok(()),
        _ => Err(not_agreed(&reply.shown(talk))),
    }
}

/// What a client without a name says who it is: its address in brackets (RFC 5321, 4.1.3).
pub(super) fn own_address(stream: &TcpStream) -> String {
    match stream.local_addr().map(|address| address.ip().to_canonical()) {
        Ok(std::net::IpAddr::V6(ip)) => format!("[IPv6:{ip}]"),
        Ok(std::net::IpAddr::V4(ip)) => format!("[{ip}]"),
        Err(_) => "[127.0.0.1]".to_owned(),
    }
}
