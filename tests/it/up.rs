//! `quorate up` as a newcomer meets it: the real program, an empty folder, a signal at the end.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::support::{db::TestDb, scratch::Scratch};

#[tokio::test]
async fn the_first_start_leads_to_a_sign_in_link_and_the_second_finds_the_data() {
    let scratch = Scratch::new("up");
    let dir = scratch.path().join("d");
    let mut first = Up::start(&dir, &[]);
    let page = first.page.clone();
    assert!(page.contains("started, on a local socket, not on the network"), "{page}");
    assert!(page.contains("schema     created, "), "{page}");
    assert!(page.contains("eu-sim, us-sim, ap-sim: simulated, all on this machine"), "{page}");
    let link = page.lines().find(|line| line.contains("/setup/")).unwrap().trim().to_owned();
    assert!(link.starts_with(&format!("{}setup/qrl_", first.url)), "{link}");
    assert_eq!(get(&format!("{}readyz", first.url)).await, (200, "ok\n".to_owned()));
    assert_eq!(get(&format!("{}livez", first.url)).await.0, 200);
    assert_eq!(get(&format!("{}startupz", first.url)).await.0, 200);

    let token = dir.join("admin.token");
    assert_eq!(fs::metadata(&token).unwrap().permissions().mode() & 0o777, 0o600);
    let token = fs::read_to_string(&token).unwrap();
    assert!(token.starts_with("qrt_"));
    assert_eq!(fs::metadata(dir.join("secret.key")).unwrap().permissions().mode() & 0o777, 0o600);

    // What readiness rests on is told to those who are signed in.
    let verbose = format!("{}readyz?verbose", first.url);
    assert_eq!(get(&verbose).await.1, "ok\n");
    let client = client();
    let told = client.get(&verbose).bearer_auth(token.trim()).send().await.unwrap();
    assert_eq!(told.headers()["cache-control"], "no-store");
    let told = told.text().await.unwrap();
    assert!(told.contains("ok database pool: connections are free"), "{told}");

    // The owner of the machine may have another link while it runs.
    let (code, out, err) = quorate(&["admin", "link", "--data-dir", dir.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains(&format!("{}setup/qrl_", first.url)), "{out}");
    assert!(!out.contains(&link), "each link is another");

    let end = first.stop(Signal::SIGINT);
    assert!(end.contains("Stopping: agents told, 0 notices settled, database closed."), "{end}");

    let mut second = Up::start(&dir, &[]);
    assert!(second.page.contains("started, last stop was clean"), "{}", second.page);
    assert!(second.page.contains("schema     up to date"), "{}", second.page);
    assert!(second.page.contains("eu-sim, us-sim, ap-sim: simulated"), "{}", second.page);
    assert_eq!(fs::read_to_string(dir.join("admin.token")).unwrap(), token, "the key is kept");
    second.stop(Signal::SIGTERM);
}

#[tokio::test]
async fn a_link_is_given_while_nothing_runs_too() {
    let scratch = Scratch::new("up-link");
    let dir = scratch.path().join("d");
    let (code, _, err) = quorate(&["admin", "link", "--data-dir", dir.to_str().unwrap()]);
    assert_eq!(code, Some(3));
    assert!(err.contains("there is no database in") && err.contains("quorate up"), "{err}");
    Up::start(&dir, &["--location", "here:eu:line-1"]).stop(Signal::SIGINT);
    let (code, out, err) = quorate(&["admin", "link", "--data-dir", dir.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("/setup/qrl_"), "{out}");
}

#[tokio::test]
async fn killed_without_mercy_it_starts_again() {
    let scratch = Scratch::new("up-kill");
    let dir = scratch.path().join("d");
    let mut first = Up::start(&dir, &["--location", "one"]);
    first.process.kill().unwrap();
    first.process.wait().unwrap();
    let mut second = Up::start(&dir, &[]);
    assert!(second.page.contains("locations  one: simulated"), "{}", second.page);
    second.stop(Signal::SIGINT);
}

#[tokio::test]
async fn a_taken_address_and_a_taken_folder_say_who_has_them() {
    let scratch = Scratch::new("up-taken");
    let dir = scratch.path().join("d");
    let mut first = Up::start(&dir, &["--location", "one"]);
    let address = first.url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let pid = first.process.id();
    let other = scratch.path().join("other");
    let (code, _, err) =
        quorate(&["up", "--data-dir", other.to_str().unwrap(), "--listen", &address]);
    assert_eq!(code, Some(3));
    assert!(err.contains(&format!("{address} is taken by another program")), "{err}");
    assert!(err.contains("quorate up --listen 127.0.0.1:"), "{err}");
    let (code, _, err) =
        quorate(&["up", "--data-dir", dir.to_str().unwrap(), "--listen", "127.0.0.1:0"]);
    assert_eq!(code, Some(3));
    assert!(err.contains(&format!("is in use by another quorate (process {pid})")), "{err}");
    first.stop(Signal::SIGINT);
}

#[tokio::test]
async fn a_database_that_runs_already_is_used_instead() {
    let scratch = Scratch::new("up-other");
    let db = TestDb::new().await;
    let dir = scratch.path().join("d");
    let mut up = Up::start(&dir, &["--location", "one", "--database-url", &db.url()]);
    assert!(up.page.contains("the one that QUORATE_DATABASE_URL names"), "{}", up.page);
    let names: Vec<String> = sqlx::query_scalar("select name from location where simulated")
        .fetch_all(db.pool())
        .await
        .unwrap();
    assert_eq!(names, ["one"]);
    assert!(!dir.join("pg").exists());
    up.stop(Signal::SIGINT);
}

#[tokio::test]
async fn a_location_that_comes_later_joins_the_monitors_that_look_from_everywhere() {
    let scratch = Scratch::new("up-later");
    let dir = scratch.path().join("d");
    let mut up = Up::start(&dir, &["--location", "one"]);
    let token = fs::read_to_string(dir.join("admin.token")).unwrap();
    let call = async |up: &Up, path: String, body: Option<serde_json::Value>| {
        let url = format!("{}api/v1/monitors{path}", up.url);
        let request = match body {
            Some(body) => client().post(url).json(&body),
            None => client().get(url),
        };
        let answer = request.bearer_auth(token.trim()).send().await.unwrap();
        let shown: serde_json::Value = answer.json().await.unwrap();
        let looks_from = shown["looks_from"].as_array().unwrap();
        let names = looks_from.iter().map(|l| l["name"].as_str().unwrap().to_owned());
        (shown["id"].as_str().unwrap().to_owned(), names.collect::<Vec<_>>())
    };
    let check = serde_json::json!({"kind": "http", "url": "https://shop.example/"});
    let body = serde_json::json!({"name": "shop", "check": check});
    let (id, names) = call(&up, String::new(), Some(body)).await;
    assert_eq!(names, ["one"]);
    up.stop(Signal::SIGINT);
    let mut up = Up::start(&dir, &["--location", "one", "--location", "two"]);
    assert_eq!(call(&up, format!("/{id}"), None).await.1, ["one", "two"]);
    up.stop(Signal::SIGINT);
}

#[tokio::test]
async fn bad_usage_names_the_option() {
    for (arguments, named) in [
        (["up", "--listen", "8080"], "--listen"),
        (["up", "--location", "a:b:c:d"], "--location"),
        (["up", "--allow-net", "10.0.0.0/40"], "--allow-net"),
        (["up", "--database-url", "mysql://x/y"], "--database-url"),
        (["up", "--log", "a=b=c"], "--log"),
    ] {
        let (code, _, err) = quorate(&arguments);
        assert_eq!(code, Some(2), "{arguments:?}");
        assert!(err.contains(named), "{arguments:?}: {err}");
    }
}

#[test]
fn bad_usage_says_what_is_expected_with_an_example() {
    for (arguments, example) in [
        (["up", "--listen", "8123"], "127.0.0.1:8123"),
        (["coordinator", "--listen", "here"], "such as 127.0.0.1:8080"),
        (["up", "--allow-net", "1.2.3"], "such as 10.9.0.0/16"),
        (["agent", "--allow-net", "1.2.3"], "such as 10.9.0.0/16"),
    ] {
        let (code, _, err) = quorate(&arguments);
        assert_eq!(code, Some(2), "{arguments:?}");
        assert!(err.contains(example), "{arguments:?}: {err}");
    }
}

#[test]
fn what_the_system_says_is_said_once() {
    let (code, _, err) = quorate(&["up", "--listen", "127.0.0.1:0", "--data-dir", "/proc/x"]);
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("/proc/x"), "{err}");
    assert_eq!(err.matches("os error").count(), 1, "{err}");
}

#[test]
fn an_empty_variable_counts_as_not_set() {
    let run = |value: &str| {
        let output = command()
            .args(["coordinator", "--log", "a=b=c"])
            .env("QUORATE_DATABASE_URL", "postgres:///nothing?host=/nowhere")
            .env("QUORATE_PUBLIC_URL", value)
            .output()
            .unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(run("").contains("--log a=b=c"), "{}", run(""));
    assert!(run("nonsense").contains("--public-url"), "{}", run("nonsense"));
}

/// A running `quorate up`, and the page it printed.
struct Up {
    process: Child,
    out: BufReader<ChildStdout>,
    page: String,
    url: String,
}

impl Up {
    fn start(dir: &Path, more: &[&str]) -> Self {
        let mut process = command()
            .args(["up", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(dir)
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        let mut page = String::new();
        while !page.contains("\nReady after ") {
            assert_ne!(out.read_line(&mut page).unwrap(), 0, "it did not start:\n{page}");
        }
        let url = page.lines().find_map(|line| line.trim().strip_prefix("listening"));
        let url = url.unwrap().split_whitespace().next().unwrap();
        Self { url: format!("{url}/"), process, out, page }
    }

    /// Sends the signal, and returns what it printed until it ended, well.
    fn stop(&mut self, signal: Signal) -> String {
        kill(Pid::from_raw(self.process.id().cast_signed()), signal).unwrap();
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        assert_eq!(self.process.wait().unwrap().code(), Some(0), "{rest}");
        rest
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // Only if the test failed before it stopped it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quorate"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("QUORATE_")) {
        command.env_remove(name);
    }
    command
}

fn quorate(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = command().args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

async fn get(url: &str) -> (u16, String) {
    let response = client().get(url).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

fn client() -> reqwest::Client {
    // An error means that another test of this process was first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().build().unwrap()
}
