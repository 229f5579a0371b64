//! A real mail server that was not written by us (aiosmtpd), for one test.

use std::process::Stdio;

use quorate::domain::channel::MailServer;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, Command},
    sync::mpsc,
};

use super::scratch::Scratch;

/// Runs until it is dropped.
pub(crate) struct MailSink {
    /// Its standard input is the server's life line.
    process: Child,
    /// Read as it comes: a full pipe would stop the server.
    said: mpsc::UnboundedReceiver<Value>,
    port: u16,
    ca_pem: String,
    folder: Scratch,
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
        let (say, mut said) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                let _ = say.send(serde_json::from_str(&line).unwrap());
            }
        });
        let first: Value = said.recv().await.expect("the mail server starts");
        let port = first["port"].as_u64().unwrap().try_into().unwrap();
        Self { process, said, port, ca_pem: made.cert.pem(), folder }
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

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Where its certificate's authority is, for a coordinator's arguments.
    pub(crate) fn ca_file(&self) -> std::path::PathBuf {
        self.folder.path().join("cert.pem")
    }

    /// The next mail, waiting for it.
    pub(crate) async fn next(&mut self) -> Taken {
        Taken::read(&self.said.recv().await.expect("the mail server lives"))
    }

    /// The mails that came until now and were not looked at; the server must be done with all of them.
    pub(crate) async fn drain(&mut self) -> Vec<Taken> {
        self.order("mark").await;
        let mut rest = Vec::new();
        loop {
            let said = self.said.recv().await.expect("the mail server lives");
            if said["mark"] == true {
                return rest;
            }
            rest.push(Taken::read(&said));
        }
    }

    /// The same, and then it is over.
    pub(crate) async fn rest(mut self) -> Vec<Taken> {
        self.drain().await
    }

    /// From now on it takes mails and does not answer.
    pub(crate) async fn hold(&mut self) {
        self.order("hold").await;
    }

    /// Answers again, also what it kept waiting.
    pub(crate) async fn go(&mut self) {
        self.order("go").await;
    }

    async fn order(&mut self, word: &str) {
        let input = self.process.stdin.as_mut().unwrap();
        input.write_all(format!("{word}\n").as_bytes()).await.unwrap();
    }
}

impl Taken {
    fn read(said: &Value) -> Self {
        Self {
            to: serde_json::from_value(said["to"].clone()).unwrap(),
            tls: said["tls"].as_bool().unwrap(),
            user: said["user"].as_str().map(str::to_owned),
            raw: said["raw"].as_str().unwrap().replace("\r\n", "\n"),
        }
    }

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
