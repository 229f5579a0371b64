//! Asking for TLS on a plain connection, in the words of each protocol (RFC 3207, 2595, 4217, 9051; the
//! SSLRequest of PostgreSQL).

use tokio::io::{AsyncRead, AsyncWrite};
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

async fn imap<S>(talk: &mut Talk, stream: &mut S) -> Result<(), Failure>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
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

async fn pop3<S>(talk: &mut Talk, stream: &mut S) -> Result<(), Failure>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
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

async fn ftp<S>(talk: &mut Talk, stream: &mut S) -> Result<(), Failure>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
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

async fn postgres<S>(talk: &mut Talk, stream: &mut S) -> Result<(), Failure>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokio::io::{join, sink};

    /// What good servers say, as a stock of words for bad ones.
    const WORDS: &[&str] = &[
        "220-",
        "220 ",
        "220",
        "250-STARTTLS",
        "250 ",
        "234 ",
        "\r\n",
        "\n",
        "\r",
        "* OK ",
        "* ",
        "* BYE",
        "q1 OK",
        "q1 NO",
        "+OK",
        "-ERR",
        "S",
        "N",
        "E",
        "\0",
        "\u{fffd}",
        "é",
        "9999",
        " ",
    ];

    async fn ask(protocol: Starttls, said: &[u8]) -> Result<(), Failure> {
        let mut talk = Talk::for_tests();
        let mut stream = join(said, sink());
        match protocol {
            Starttls::Smtp => {
                smtp::greeting(&mut talk, &mut stream).await?;
                smtp::ehlo(&mut talk, &mut stream, "[192.0.2.1]").await?;
                smtp::ask_for_tls(&mut talk, &mut stream).await?;
            }
            Starttls::Imap => imap(&mut talk, &mut stream).await?,
            Starttls::Pop3 => pop3(&mut talk, &mut stream).await?,
            Starttls::Ftp => ftp(&mut talk, &mut stream).await?,
            Starttls::Postgres => postgres(&mut talk, &mut stream).await?,
        }
        nothing_left(&talk)
    }

    fn outcomes(said: &[u8]) -> Vec<Result<(), Failure>> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        [Starttls::Smtp, Starttls::Imap, Starttls::Pop3, Starttls::Ftp, Starttls::Postgres]
            .into_iter()
            .map(|protocol| runtime.block_on(ask(protocol, said)))
            .collect()
    }

    #[test]
    fn only_the_right_words_lead_to_tls() {
        for (said, agreed) in [
            ("220 a\r\n250-a\r\n250 STARTTLS\r\n220 go\r\n", 0),
            ("* OK a\r\n* more\r\nq1 OK\r\n", 1),
            ("+OK\r\n+OK\r\n", 2),
            ("220 a\r\n234 go\r\n", 3),
            ("S", 4),
        ] {
            let agreeing: Vec<usize> = (0..)
                .zip(outcomes(said.as_bytes()))
                .filter(|(_, outcome)| outcome.is_ok())
                .map(|(number, _)| number)
                .collect();
            assert_eq!(agreeing, [agreed], "{said}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_said_there_is_an_outcome_in_a_short_sentence(
            words in proptest::collection::vec(proptest::sample::select(WORDS), 0..30),
            noise in proptest::collection::vec(any::<u8>(), 0..40),
            at in any::<proptest::sample::Index>(),
        ) {
            let mut said = words.concat().into_bytes();
            let place = at.index(said.len() + 1);
            said.splice(place..place, noise);
            for failure in outcomes(&said).into_iter().filter_map(Result::err) {
                prop_assert_eq!(failure.class, Class::DialogueRejected);
                prop_assert!(failure.message.chars().count() < 500, "{}", failure.message);
            }
        }
    }
}
