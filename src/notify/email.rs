//! E-mail over SMTP: one message per recipient, so that one bad address holds nobody else back.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use lettre::{
    Address, Message as Mail,
    message::{
        Attachment, Mailbox, MultiPart,
        header::{ContentType, HeaderName, HeaderValue},
    },
    transport::smtp::{
        Error as SmtpError,
        authentication::{Credentials, DEFAULT_MECHANISMS},
        client::{AsyncSmtpConnection, Certificate, TlsParameters},
        commands::{Data, Mail as MailFrom, Rcpt, Rset},
        extension::ClientId,
    },
};

use super::{
    Content, Parcel, Sent, Verdict, mail_body,
    message::{Message, Surroundings},
    report, unsubscribe,
};
use crate::{
    domain::channel::{MailServer, MailTls},
    store::{
        seal::Sealer,
        settings::{self, Setting},
    },
};

/// The mail server that the settings page stored, or why it cannot be used.
pub(super) fn server_from_setting(
    setting: &Setting,
    sealer: &Sealer,
) -> Result<MailServer, String> {
    let mut value = setting.value.clone();
    if let (Some(sealed), Some(fields)) = (&setting.sealed, value.as_object_mut()) {
        let password =
            sealer.open_text(settings::place("mail"), sealed).map_err(|e| e.to_string())?;
        fields.insert("password".into(), password.into_exposed().into());
    }
    MailServer::parse(&value, None).map_err(|e| format!("The mail settings cannot be used: {e}."))
}

/// Sends to everyone in `to` who is not reached yet.
pub(super) async fn send(
    server: &MailServer,
    to: &[String],
    parcel: &Parcel<'_>,
    around: &Surroundings,
    sealer: &Sealer,
    limit: Duration,
) -> Sent {
    let mut progress = Progress { reached: parcel.reached.to_vec(), ..Progress::default() };
    let all = deliver_all(server, to, parcel, around, sealer, &mut progress);
    if tokio::time::timeout(limit, all).await.is_err() {
        let trouble = format!("{} did not finish within {} s", server.address(), limit.as_secs());
        progress.trouble.get_or_insert(trouble);
    }
    progress.conclude(to)
}

/// What is known while the recipients are gone through.
#[derive(Default)]
struct Progress {
    reached: Vec<String>,
    /// Refused for good, with the answer.
    refused: Vec<(String, String)>,
    /// What kept the others from having it now.
    trouble: Option<String>,
    /// The last thing the server said to an accepted mail.
    accepted: Option<String>,
}

impl Progress {
    fn settled(&self, address: &str) -> bool {
        self.reached.iter().any(|known| known == address)
            || self.refused.iter().any(|(known, _)| known == address)
    }

    fn conclude(self, to: &[String]) -> Sent {
        let refused: Vec<&str> = self.refused.iter().map(|(_, answer)| answer.as_str()).collect();
        let open = to.iter().any(|address| !self.settled(address));
        let (verdict, answer) = if open {
            let trouble = self.trouble.clone().unwrap_or_else(|| "not sent yet".into());
            (Verdict::Later { after: None }, trouble)
        } else if self.reached.is_empty() {
            (Verdict::Never, refused.join("; "))
        } else {
            let mut answer = self.accepted.clone().unwrap_or_else(|| "accepted".into());
            if !refused.is_empty() {
                answer = format!(
                    "accepted for {} of {} recipients; {}",
                    to.len() - refused.len(),
                    to.len(),
                    refused.join("; ")
                );
            }
            (Verdict::Delivered, answer)
        };
        Sent { verdict, answer, reached: self.reached }
    }
}

async fn deliver_all(
    server: &MailServer,
    to: &[String],
    parcel: &Parcel<'_>,
    around: &Surroundings,
    sealer: &Sealer,
    progress: &mut Progress,
) {
    let mut connection = match connect(server).await {
        Ok(connection) => connection,
        Err(trouble) => {
            progress.trouble = Some(trouble);
            return;
        }
    };
    for address in to {
        if progress.settled(address) {
            continue;
        }
        let link = parcel.channel.and_then(|channel| {
            unsubscribe::link(around.public_url.as_ref(), sealer, channel, address)
        });
        let message = parcel.message_for(around, sealer, address);
        let mail = match build(&server.from, address, parcel, &message, link.as_deref()) {
            Ok(mail) => mail,
            Err(e) => {
                progress.refused.push((address.clone(), format!("{address}: {e}")));
                continue;
            }
        };
        match hand_over(&mut connection, &mail).await {
            Ok(said) => {
                progress.reached.push(address.clone());
                progress.accepted = Some(said);
            }
            Err(error) => {
                let answer = format!("{} {}", server.address(), refusal(&error, address));
                match error.status() {
                    Some(_) if is_final(&error) => progress.refused.push((address.clone(), answer)),
                    Some(_) => progress.trouble = Some(answer),
                    None => {
                        // The connection is gone; the rest waits for the next attempt.
                        progress.trouble = Some(answer);
                        return;
                    }
                }
                if connection.command(Rset).await.is_err() {
                    progress
                        .trouble
                        .get_or_insert(format!("{} closed the connection", server.address()));
                    return;
                }
            }
        }
    }
    // A farewell must not delay the result; the server has everything.
    let _ = tokio::time::timeout(Duration::from_secs(1), connection.quit()).await;
}

/// A connection that is as protected and as logged in as the settings say, or the sentence why not.
async fn connect(server: &MailServer) -> Result<AsyncSmtpConnection, String> {
    let place = server.address();
    let hello = ClientId::default();
    let tls = match server.tls {
        MailTls::None => None,
        MailTls::Starttls | MailTls::Implicit => Some(tls_parameters(server)?),
    };
    let implicit = tls.clone().filter(|_| server.tls == MailTls::Implicit);
    let mut connection = AsyncSmtpConnection::connect_tokio1(
        (server.host.as_str(), server.port),
        Some(Duration::from_secs(10)),
        &hello,
        implicit,
        None,
    )
    .await
    .map_err(|e| connect_trouble(&e, &place))?;
    if let Some(tls) = tls.filter(|_| server.tls == MailTls::Starttls) {
        if !connection.can_starttls() {
            connection.abort().await;
            return Err(format!(
                "{place} does not offer STARTTLS; choose TLS from the first byte, or no encryption for a relay that you trust"
            ));
        }
        connection.starttls(tls, &hello).await.map_err(|e| connect_trouble(&e, &place))?;
    }
    if let Some(login) = &server.login {
        let credentials = Credentials::new(login.user.clone(), login.password.expose().clone());
        let login = connection.auth(DEFAULT_MECHANISMS, &credentials).await;
        login.map_err(|e| login_trouble(&e, &place))?;
    }
    Ok(connection)
}

fn tls_parameters(server: &MailServer) -> Result<TlsParameters, String> {
    let mut builder = TlsParameters::builder(server.host.clone());
    if let Some(pem) = &server.ca_pem {
        // One certificate at a time: that is what the builder takes.
        for block in pem.split_inclusive("-----END CERTIFICATE-----") {
            if block.contains("-----BEGIN CERTIFICATE-----") {
                let root = Certificate::from_pem(block.as_bytes());
                builder = builder.add_root_certificate(
                    root.map_err(|e| format!("The mail server's CA cannot be read: {e}"))?,
                );
            }
        }
    }
    builder.build_rustls().map_err(|e| format!("TLS for the mail server: {e}"))
}

/// MAIL, RCPT, DATA by hand, so that a refused recipient does not cost the connection.
async fn hand_over(connection: &mut AsyncSmtpConnection, mail: &Mail) -> Result<String, SmtpError> {
    let envelope = mail.envelope();
    connection.command(MailFrom::new(envelope.from().cloned(), Vec::new())).await?;
    for to in envelope.to() {
        connection.command(Rcpt::new(to.clone(), Vec::new())).await?;
    }
    connection.command(Data).await?;
    let answer = connection.message(&mail.formatted()).await?;
    let text: Vec<&str> = answer.message().collect();
    Ok(format!("{} {}", answer.code(), one_line(&text.join(" "))))
}

/// One recipient's mail.
fn build(
    from: &str,
    to: &str,
    parcel: &Parcel<'_>,
    message: &Message,
    unsubscribe: Option<&str>,
) -> Result<Mail, String> {
    let from: Mailbox =
        from.parse().map_err(|e| format!("the sender {from:?} cannot be used: {e}"))?;
    let to: Address = to.parse().map_err(|e| format!("is not a mail address: {e}"))?;
    let host = from.email.domain().to_owned();
    let mut builder = Mail::builder()
        .from(from)
        .to(Mailbox::new(None, to))
        .subject(&message.subject)
        .date(system_time(parcel.now))
        .message_id(Some(format!("<{}@{host}>", parcel.id)))
        .raw_header(header("Auto-Submitted", "auto-generated"))
        .raw_header(header("X-Auto-Response-Suppress", "All"));
    if let Content::Notice(notice) = parcel.content {
        let thread = format!("<incident-{}@{host}>", notice.incident.uid);
        builder = builder.in_reply_to(thread.clone()).references(thread);
    }
    if let Some(link) = unsubscribe {
        builder = builder
            .raw_header(header("List-Unsubscribe", &format!("<{link}>")))
            .raw_header(header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"));
    }
    let bodies =
        MultiPart::alternative_plain_html(mail_body::text(message), mail_body::html(message));
    let Content::Report(document) = parcel.content else {
        return builder.multipart(bodies).map_err(|e| e.to_string());
    };
    let mut all = MultiPart::mixed().multipart(bodies);
    for (name, kind, body) in report::files(document) {
        let kind = ContentType::parse(kind).map_err(|e| e.to_string())?;
        all = all.singlepart(Attachment::new(name).body(body, kind));
    }
    builder.multipart(all).map_err(|e| e.to_string())
}

/// A header of our own making, plain ASCII; a link may be longer than a line and must not be broken.
fn header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::dangerous_new_pre_encoded(
        HeaderName::new_from_ascii_str(name),
        value.to_owned(),
        value.to_owned(),
    )
}

fn system_time(at: Timestamp) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(at.as_millisecond()).unwrap_or_default());
    SystemTime::UNIX_EPOCH + since
}

/// 5xx, but not those that a change of settings on either side mends (login, access).
fn is_final(error: &SmtpError) -> bool {
    error.is_permanent() && !error.status().is_some_and(|code| code.to_string().starts_with("53"))
}

fn refusal(error: &SmtpError, address: &str) -> String {
    match error.status() {
        Some(code) => format!("refuses {address} ({code}): {}", said(error)),
        None => format!("failed while it took the mail: {}", said(error)),
    }
}

fn login_trouble(error: &SmtpError, place: &str) -> String {
    match error.status() {
        Some(code) => format!("{place} refuses the user ({code}): {}", said(error)),
        None if error.is_client() => {
            format!(
                "{place} offers no way to log in that we know (PLAIN, LOGIN); leave the user empty if it needs none"
            )
        }
        None => format!("{place} failed during the login: {}", said(error)),
    }
}

fn connect_trouble(error: &SmtpError, place: &str) -> String {
    let said = said(error);
    if let Some(code) = error.status() {
        return format!("{place} refuses us ({code}): {said}");
    }
    if let Some(why) = said.split("invalid peer certificate: ").nth(1) {
        return format!(
            "{place} shows a certificate that is not accepted ({why}); use the name on the certificate, or add its authority"
        );
    }
    if said.contains("Connection refused") {
        return format!("{place} refuses the connection; check host and port");
    }
    if said.contains("lookup") || said.contains("resolve") {
        return format!("{place}: the name is not found");
    }
    if said.contains("elapsed") || said.contains("timed out") {
        return format!("{place} did not answer within 10 s");
    }
    format!("{place} cannot be used: {said}")
}

/// The innermost cause, which is the server's own words when it answered.
fn said(error: &SmtpError) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    one_line(&cause.to_string())
}

fn one_line(text: &str) -> String {
    let flat: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    flat.trim().chars().take(1_000).collect()
}

#[cfg(test)]
mod tests;
