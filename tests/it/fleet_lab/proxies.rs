//! The real nginx and HAProxy, each in front of all back ends.

use std::{
    fmt::Write as _,
    fs::File,
    io::{Read, Write as _},
    net::TcpListener,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use nix::{sys::signal::Signal, unistd::Pid};

/// What nginx writes; read back with `--log-format`.
pub(super) const LOG_FORMAT: &str = "$remote_addr - $remote_user [$time_local] \"$request\" $status \
    $body_bytes_sent \"$http_referer\" \"$http_user_agent\" $msec $request_time \"$upstream_addr\" \
    \"$upstream_status\" \"$upstream_response_time\" \"$upstream_response_length\" \
    \"$upstream_http_x_version\"";

pub(super) struct Proxies {
    nginx: Child,
    haproxy: Child,
    nginx_port: u16,
    haproxy_port: u16,
    admin: PathBuf,
}

impl Proxies {
    /// Starts both and waits until they answer. `skewed`: b3 gets most requests for /report.
    pub(super) async fn start(dir: &Path, backends: &[String], skewed: bool) -> Self {
        let (nginx_port, haproxy_port) = (free_port(), free_port());
        let admin = dir.join("haproxy.sock");
        let haproxy_conf = dir.join("haproxy.cfg");
        std::fs::write(&haproxy_conf, haproxy_config(haproxy_port, &admin, backends, skewed))
            .unwrap();
        let nginx_conf = dir.join("nginx.conf");
        std::fs::write(&nginx_conf, nginx_config(dir, nginx_port, backends, skewed)).unwrap();
        let haproxy = Command::new("haproxy")
            .arg("-db")
            .arg("-f")
            .arg(&haproxy_conf)
            .stdout(File::create(dir.join("haproxy.log")).unwrap())
            .stderr(File::create(dir.join("haproxy_stderr.log")).unwrap())
            .stdin(Stdio::null())
            .spawn()
            .expect("haproxy is an apt package; `make drill` installs it");
        let nginx = Command::new("/usr/sbin/nginx")
            .arg("-c")
            .arg(&nginx_conf)
            .arg("-p")
            .arg(dir)
            .stderr(File::create(dir.join("nginx_stderr.log")).unwrap())
            .stdin(Stdio::null())
            .spawn()
            .expect("nginx is an apt package; `make drill` installs it");
        let proxies = Self { nginx, haproxy, nginx_port, haproxy_port, admin };
        for port in [nginx_port, haproxy_port] {
            proxies.answers(port).await;
        }
        proxies
    }

    pub(super) fn urls(&self) -> [String; 2] {
        [self.nginx_port, self.haproxy_port].map(|port| format!("http://127.0.0.1:{port}"))
    }

    /// A command to HAProxy's runtime interface.
    pub(super) fn tell_haproxy(&self, command: &str) {
        let mut socket = UnixStream::connect(&self.admin).unwrap();
        writeln!(socket, "{command}").unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        assert!(answer.trim().is_empty(), "{command}: {answer}");
    }

    pub(super) async fn stop(mut self) {
        for child in [&mut self.nginx, &mut self.haproxy] {
            let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
            let _ = nix::sys::signal::kill(pid, Signal::SIGTERM);
            while child.try_wait().unwrap().is_none() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }

    async fn answers(&self, port: u16) {
        for _ in 0..500 {
            if tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("nothing listens on {port}");
    }
}

impl Drop for Proxies {
    fn drop(&mut self) {
        let _ = self.nginx.kill();
        let _ = self.haproxy.kill();
    }
}

fn haproxy_config(port: u16, admin: &Path, backends: &[String], skewed: bool) -> String {
    let mut config = format!(
        "global\n  log stdout format rfc5424 local0\n  stats socket {} mode 600 level admin\n\
         defaults\n  mode http\n  log global\n  option httplog\n  option log-health-checks\n\
         \x20 timeout connect 1s\n  timeout client 10s\n  timeout server 5s\n  retries 2\n  option redispatch\n\
         frontend web\n  bind 127.0.0.1:{port}\n  default_backend app\n\
         backend app\n  balance roundrobin\n  option httpchk GET /ready\n",
        admin.display()
    );
    if skewed {
        config.push_str("  use-server b3 if { path_beg /report } { rand(100) lt 50 }\n");
    }
    for (n, address) in backends.iter().enumerate() {
        let _ = writeln!(config, "  server b{} {address} check inter 500ms fall 2 rise 2", n + 1);
    }
    config
}

fn nginx_config(dir: &Path, port: u16, backends: &[String], skewed: bool) -> String {
    let dir = dir.display();
    let user = if nix::unistd::Uid::effective().is_root() { "user root;\n" } else { "" };
    let servers = |weight_of_third: u32| -> String {
        let line = |(n, address): (usize, &String)| {
            let weight = if n == 2 { weight_of_third } else { 1 };
            format!("    server {address} weight={weight};\n")
        };
        backends.iter().enumerate().map(line).collect()
    };
    let temp: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|what| format!("  {what}_temp_path {dir}/{what};\n"))
        .concat();
    let format = LOG_FORMAT;
    let proxy = "proxy_http_version 1.1; proxy_set_header Connection \"\"; \
                 proxy_connect_timeout 1s; proxy_read_timeout 5s;";
    let report = if skewed {
        format!("    location /report {{ proxy_pass http://report; {proxy} }}\n")
    } else {
        String::new()
    };
    format!(
        "{user}daemon off;\nworker_processes 1;\npid {dir}/nginx.pid;\n\
         error_log {dir}/nginx_error.log warn;\nevents {{ worker_connections 512; }}\n\
         http {{\n{temp}  log_format lab '{format}';\n  access_log {dir}/nginx.log lab;\n\
         \x20 upstream app {{\n{}  }}\n  upstream report {{\n{}  }}\n\
         \x20 server {{\n    listen 127.0.0.1:{port};\n\
         \x20   location / {{ proxy_pass http://app; {proxy} }}\n{report}  }}\n}}\n",
        servers(1),
        servers(5)
    )
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
