//! A real mail server that was not written by us (aiosmtpd), for one test.

use std::process::Stdio;

use quorate::domain::channel::MailServer;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use super::scratch::Scratch;

/// Runs until it is dropped.
pub(crate) struct MailSink {
    /// Its standard input is the server's life line.
    _process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    port: u16,
    ca_pem: String,
    _folder: Scratch,
}

/// A mail as the server took it.
#[derive(Debug, Clone)]
pub(crate) struct Taken {
    pub(crate) to: Vec<String>,
    pub(crate) tls: bool,
    pub(crate) user: Option<String>,
    /// Head and body as they came.
    pub(crate) raw: String,
}

impl MailSink {
    /// `options` as `tests/support/smtp_sink.py` takes them.
    pub(crate) async fn start(name: &str, options: Value) -> Self {
        let root = env!("CARGO_MANIFEST_DIR");
        let python = format!("{root}/.venv/bin/python");
        assert!(
            std::path::Path::new(&python).exists(),
            "no Python with aiosmtpd in .venv: run `scripts/setup test`"
        );
        let folder = Scratch::new(&format!("mail-{name}"));
        let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
        let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
        std::fs::write(&cert, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let mut process = Command::new(python)
            .arg(format!("{root}/tests/support/smtp_sink.py"))
            .args([&cert, &key])
            .arg(options.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let said: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        let port = said["port"].as_u64().unwrap().try_into().unwrap();
        Self { _process: process, lines, port, ca_pem: made.cert.pem(), _folder: folder }
    }

    /// How to reach it: STARTTLS, the right login and the right authority unless `change` says otherwise.
    pub(crate) fn server(&self, change: Value) -> MailServer {
        let mut settings = json!({
            "host": "localhost", "port": self.port, "security": "starttls", "username": "svc",
            "password": "secret", "from": "Quorate <quorate@example.com>", "ca_pem": self.ca_pem,
        });
        for (name, value) in change.as_object().unwrap() {
            settings[name] = value.clone();
        }
        MailServer::parse(&settings, None).unwrap()
    }

    /// The next mail, waiting for it.
    pub(crate) async fn next(&mut self) -> Taken {
        let line = self.lines.next_line().await.unwrap().expect("the mail server lives");
        let taken: Value = serde_json::from_str(&line).unwrap();
        Taken {
            to: serde_json::from_value(taken["to"].clone()).unwrap(),
            tls: taken["tls"].as_bool().unwrap(),
            user: taken["user"].as_str().map(str::to_owned),
            raw: taken["raw"].as_str().unwrap().replace("\r\n", "\n"),
        }
    }

    /// The mails that came until now; the server must be done with all of them.
    pub(crate) async fn rest(mut self) -> Vec<Taken> {
        drop(self._process.stdin.take());
        let mut rest = Vec::new();
        while let Some(line) = self.lines.next_line().await.unwrap() {
            let taken: Value = serde_json::from_str(&line).unwrap();
            rest.push(Taken {
                to: serde_json::from_value(taken["to"].clone()).unwrap(),
                tls: taken["tls"].as_bool().unwrap(),
                user: taken["user"].as_str().map(str::to_owned),
                raw: taken["raw"].as_str().unwrap().replace("\r\n", "\n"),
            });
        }
        rest
    }
}

impl Taken {
    /// A header's value, unfolded.
    #[track_caller]
    pub(crate) fn header(&self, name: &str) -> String {
        let (head, _) = self.raw.split_once("\n\n").unwrap();
        let head = head.replace("\n ", " ");
        let start = format!("{}:", name.to_ascii_lowercase());
        let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(&start));
        line.unwrap_or_else(|| panic!("no {name} in\n{head}"))[start.len()..].trim().to_owned()
    }
}
