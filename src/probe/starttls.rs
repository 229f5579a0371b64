//! Asking for TLS on a plain connection, in the words of each protocol (RFC 3207, 2595, 4217, 9051; the
//! SSLRequest of PostgreSQL).

use tokio::net::TcpStream;

use super::Attempt;
use super::reply::{Dialect, Reply};
use super::smtp;
use super::talk::{Stream, Talk};
use super::trace::Failure;
use crate::domain::check::{Endpoint, Starttls, Tls};
use crate::domain::observation::Class;

/// Lines that an IMAP server may say before it answers.
const MOST_LINES: usize = 100;

/// Length 8, then the code 1234.5679.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Asks for TLS and shakes hands.
pub(super) async fn upgrade(
    protocol: Starttls,
    talk: &mut Talk,
    mut stream: TcpStream,
    attempt: &Attempt<'_>,
    endpoint: &Endpoint,
    tls: &Tls,
) -> Result<Stream, Failure> {
    match protocol {
        Starttls::Smtp => {
            smtp::greeting(talk, &mut stream).await?;
            let name = smtp::own_address(&stream);
            smtp::ehlo(talk, &mut stream, &name).await?;
            smtp::ask_for_tls(talk, &mut stream).await?;
        }
        Starttls::Imap => imap(talk, &mut stream).await?,
        Starttls::Pop3 => pop3(talk, &mut stream).await?,
        Starttls::Ftp => ftp(talk, &mut stream).await?,
        Starttls::Postgres => postgres(talk, &mut stream).await?,
    }
    nothing_left(talk)?;
    talk.secure(attempt, stream, endpoint, tls).await
}

/// What came in plain text together with the consent would be read as if it had come through TLS.
pub(super) fn nothing_left(talk: &Talk) -> Result<(), Failure> {
    match talk.rest().len() {
        0 => Ok(()),
        count => Err(rejected(format!(
            "{count} more bytes came in plain text after the server agreed to TLS; anybody on the way could have put them there."
        ))),
    }
}

fn rejected(message: String) -> Failure {
    Failure::new(Class::DialogueRejected, message)
}

fn not_spoken(name: &str, said: &str) -> Failure {
    rejected(format!("What answers on this port does not speak {name}: it said {said}."))
}

async fn imap(talk: &mut Talk, stream: &mut TcpStream) -> Result<(), Failure> {
    talk.wait_for("STARTTLS waited for the greeting of IMAP");
    let greeting = talk.line(stream).await?;
    let said = talk.quoted(greeting.as_bytes());
    match greeting.to_ascii_uppercase().split(' ').collect::<Vec<_>>().as_slice() {
        ["*", "OK", ..] => {}
        ["*", "BYE" | "PREAUTH", ..] => {
            return Err(rejected(format!("The server does not start with TLS: it said {said}.")));
        }
        _ => return Err(not_spoken("IMAP", &said)),
    }
    talk.wait_for("STARTTLS waited for the consent of IMAP");
    talk.send(stream, b"q1 STARTTLS\r\n").await?;
    for _ in 0..MOST_LINES {
        let line = talk.line(stream).await?;
        let said = talk.quoted(line.as_bytes());
        match line.to_ascii_uppercase().split(' ').collect::<Vec<_>>().as_slice() {
            ["*", ..] => {}
            ["Q1", "OK", ..] => return Ok(()),
            ["Q1", ..] => return Err(not_agreed(&said)),
            _ => return Err(not_spoken("IMAP", &said)),
        }
    }
    Err(rejected(format!("More than {MOST_LINES} lines came instead of an answer to STARTTLS.")))
}

async fn pop3(talk: &mut Talk, stream: &mut TcpStream) -> Result<(), Failure> {
    for (clause, command) in [
        ("STARTTLS waited for the greeting of POP3", Some(&b"STLS\r\n"[..])),
        ("STARTTLS waited for the consent of POP3", None),
    ] {
        talk.wait_for(clause);
        let line = talk.line(stream).await?;
        let said = talk.quoted(line.as_bytes());
        if line.starts_with("-ERR") {
            return Err(not_agreed(&said));
        }
        if !line.starts_with("+OK") {
            return Err(not_spoken("POP3", &said));
        }
        if let Some(command) = command {
            talk.send(stream, command).await?;
        }
    }
    Ok(())
}

async fn ftp(talk: &mut Talk, stream: &mut TcpStream) -> Result<(), Failure> {
    talk.wait_for("STARTTLS waited for the greeting of FTP");
    let greeting = Reply::read(talk, stream, Dialect::Ftp).await?;
    if greeting.code != 220 {
        let said = greeting.shown(talk);
        return Err(rejected(format!("The server did not greet with 220: it said {said}.")));
    }
    talk.wait_for("STARTTLS waited for the consent of FTP");
    talk.send(stream, b"AUTH TLS\r\n").await?;
    let answer = Reply::read(talk, stream, Dialect::Ftp).await?;
    match answer.code {
        234 => Ok(()),
        _ => Err(not_agreed(&answer.shown(talk))),
    }
}

async fn postgres(talk: &mut Talk, stream: &mut TcpStream) -> Result<(), Failure> {
    talk.wait_for("STARTTLS waited for the consent of PostgreSQL");
    talk.send(stream, &SSL_REQUEST).await?;
    match talk.byte(stream).await? {
        b'S' => Ok(()),
        b'N' => Err(rejected("The PostgreSQL server does not offer TLS.".into())),
        first => {
            let said = [&[first], talk.rest()].concat();
            Err(not_spoken("PostgreSQL", &talk.quoted(&said)))
        }
    }
}

/// The failure of a server that was asked for TLS and declined.
pub(super) fn not_agreed(said: &str) -> Failure {
    rejected(format!("The server does not agree to TLS: it said {said}."))
}
