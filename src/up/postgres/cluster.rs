//! The files of the cluster: who owns them, and making them the first time.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{Read, Seek, Write},
    os::unix::{
        fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tokio::io::AsyncWriteExt;

use super::{Before, DATABASE, ROLE, Settings, StartError, binaries, binaries::Binaries};

/// A socket's path has at most 107 bytes on Linux and 103 on macOS; ours is D plus
/// `/pg/sock/.s.PGSQL.5432`.
pub(super) const LONGEST_DIR: usize = 103 - "/pg/sock/.s.PGSQL.5432".len();

/// Where the cluster is, which programs run it and as whom. All paths are absolute.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) dir: PathBuf,
    pub(super) data: PathBuf,
    pub(super) socket_dir: PathBuf,
    pub(super) log: PathBuf,
    pub(super) server: Vec<String>,
    binaries: Binaries,
    /// As root: whom the server runs as. Otherwise it runs as ourselves.
    owner: Option<Owner>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Owner {
    uid: u32,
    gid: u32,
    name: String,
}

impl Cluster {
    /// Makes the folders, takes the lock and finds the programs. The lock is free again when the file
    /// is closed, by us or by the kernel.
    pub(super) fn claim(settings: Settings) -> Result<(Self, File), StartError> {
        let root = nix::unistd::geteuid().is_root();
        let (dir, lock) = claim_dir(&settings.dir, root)?;
        if dir.as_os_str().len() > LONGEST_DIR {
            return Err(StartError::TooLong { dir });
        }
        let pg = dir.join("pg");
        let data = pg.join("data");
        let owner = owner(&data, root)?;
        if let Some(owner) = &owner {
            check_way(&dir, owner)?;
        }
        let socket_dir = socket_dir(&dir);
        for folder in [&pg, &socket_dir] {
            make_private(folder, owner.as_ref())?;
        }
        let major = fs::read_to_string(data.join("PG_VERSION"));
        let major = major.ok().and_then(|text| text.trim().parse().ok());
        let binaries = binaries::find(settings.bin_dir.as_deref(), major, &data)?;
        let log = dir.join("postgres.log");
        let cluster = Self { dir, data, socket_dir, log, server: settings.server, binaries, owner };
        Ok((cluster, lock))
    }

    /// A program of the server's, to be run as its user, with nothing of our environment.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.binaries.program(program));
        command.current_dir("/").env_clear().stdin(Stdio::null());
        command.envs([("PATH", "/usr/bin:/bin"), ("LC_ALL", "C"), ("TZ", "UTC")]);
        if let Some(owner) = &self.owner {
            // Setting the user as root drops the supplementary groups too.
            command.gid(owner.gid).uid(owner.uid);
        }
        command
    }

    /// Makes the cluster if there is none, and says how it was found. A new one is made under another
    /// name and renamed when it is complete, so a start that was cut off leaves no half of one.
    pub(super) async fn initialise(&self) -> Result<Before, StartError> {
        if self.data.join("PG_VERSION").exists() {
            return Ok(if self.was_shut_down().await { Before::Stopped } else { Before::CutOff });
        }
        let scratch = self.data.with_extension("new");
        if scratch.exists() {
            fs::remove_dir_all(&scratch).map_err(files("cannot remove", &scratch))?;
        }
        let mut initdb = self.command("initdb");
        initdb.args(["-U", ROLE, "-E", "UTF8", "--locale=C", "--data-checksums"]);
        // The socket's folder is the door; whoever may enter it is the owner of the data.
        initdb.args(["--auth-local=trust", "--auth-host=reject", "--no-instructions", "-D"]);
        initdb.arg(&scratch);
        self.run(initdb, "").await?;
        let mut single = self.command("postgres");
        single.args(["--single", "-D"]).arg(&scratch).arg("postgres");
        self.run(single, &format!("create database {DATABASE}\n")).await?;
        fs::rename(&scratch, &self.data).map_err(files("cannot rename", &scratch))?;
        Ok(Before::New)
    }

    /// The log, opened for the server to write to, and how long it is already.
    pub(super) fn open_log(&self) -> Result<(File, u64), StartError> {
        const LARGE: u64 = 16 << 20;
        if fs::metadata(&self.log).is_ok_and(|meta| meta.len() > LARGE) {
            let old = self.log.with_extension("log.old");
            fs::rename(&self.log, &old).map_err(files("cannot rename", &self.log))?;
        }
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.log);
        let file = file.map_err(files("cannot write", &self.log))?;
        let length = file.metadata().map_or(0, |meta| meta.len());
        Ok((file, length))
    }

    /// The last lines that were logged after `start`.
    pub(super) fn last_words(&self, start: u64) -> String {
        let mut bytes = Vec::new();
        if let Ok(mut file) = File::open(&self.log) {
            // What cannot be read is not worth a second error: this text only explains the first.
            let _ = file.seek(std::io::SeekFrom::Start(start));
            let _ = file.read_to_end(&mut bytes);
        }
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(12)..].join("\n")
    }

    async fn was_shut_down(&self) -> bool {
        let mut command = tokio::process::Command::from(self.command("pg_controldata"));
        let output = command.arg(&self.data).output().await;
        output.is_ok_and(|output| {
            let text = String::from_utf8_lossy(&output.stdout);
            let state = text.lines().find_map(|line| line.strip_prefix("Database cluster state:"));
            state.is_some_and(|state| state.trim() == "shut down")
        })
    }

    async fn run(&self, mut command: Command, input: &str) -> Result<(), StartError> {
        let program = PathBuf::from(command.get_program());
        let failed = |source| StartError::Run { program: program.clone(), source };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = tokio::process::Command::from(command).spawn().map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes()).await.map_err(failed)?;
        }
        let output = child.wait_with_output().await.map_err(failed)?;
        if output.status.success() {
            return Ok(());
        }
        let said = [output.stdout, output.stderr].concat();
        Err(StartError::Init { output: String::from_utf8_lossy(&said).trim().to_owned() })
    }
}

/// Turns an I/O error on `path` into ours.
pub(super) fn files(
    what: &'static str,
    path: &Path,
) -> impl FnOnce(std::io::Error) -> StartError + use<> {
    let path = path.to_owned();
    move |source| StartError::Files { what, path, source }
}

pub(super) fn socket_dir(dir: &Path) -> PathBuf {
    dir.join("pg/sock")
}

/// Makes the data folder and takes its lock. `passable`: for the user that runs the server, too.
pub(super) fn claim_dir(dir: &Path, passable: bool) -> Result<(PathBuf, File), StartError> {
    let dir = make_data_dir(dir, passable)?;
    let lock = lock(&dir)?;
    Ok((dir, lock))
}

fn make_data_dir(dir: &Path, passable: bool) -> Result<PathBuf, StartError> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent).map_err(files("cannot make", parent))?;
    }
    match DirBuilder::new().mode(if passable { 0o711 } else { 0o700 }).create(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => (),
        made => made.map_err(files("cannot make", dir))?,
    }
    let dir = fs::canonicalize(dir).map_err(files("cannot use", dir))?;
    let meta = fs::metadata(&dir).map_err(files("cannot use", &dir))?;
    if passable && meta.mode() & 0o001 == 0 {
        // Passing through, not looking around: the server's user needs nothing more.
        let mode = fs::Permissions::from_mode(meta.mode() & 0o7777 | 0o011);
        fs::set_permissions(&dir, mode).map_err(files("cannot open to its user", &dir))?;
    }
    Ok(dir)
}

fn lock(dir: &Path) -> Result<File, StartError> {
    let path = dir.join("lock");
    let open = OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(&path);
    let mut file = open.map_err(files("cannot write", &path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.read_to_string(&mut holder);
            let process = holder.trim().parse().ok();
            return Err(StartError::InUse { dir: dir.to_owned(), process });
        }
        Err(fs::TryLockError::Error(source)) => {
            return Err(StartError::Files { what: "cannot lock", path, source });
        }
    }
    // Only for the message above: who holds it. The lock itself is what counts.
    let note = file.set_len(0).and_then(|()| write!(file, "{}", std::process::id()));
    note.map_err(files("cannot write", &path))?;
    Ok(file)
}

/// As root: whom the server is to run as, which is whoever has the data already. As anybody else the
/// data must be our own.
fn owner(data: &Path, root: bool) -> Result<Option<Owner>, StartError> {
    let existing = fs::metadata(data).ok().map(|meta| meta.uid());
    let us = nix::unistd::geteuid().as_raw();
    match existing {
        Some(uid) if !root && uid != us => {
            return Err(StartError::NotOurs { path: data.to_owned(), uid });
        }
        Some(0) => return Err(StartError::NotOurs { path: data.to_owned(), uid: 0 }),
        _ if !root => return Ok(None),
        _ => {}
    }
    let user = match existing {
        Some(uid) => nix::unistd::User::from_uid(uid.into()).ok().flatten(),
        None => ["postgres", "nobody"]
            .iter()
            .find_map(|name| nix::unistd::User::from_name(name).ok().flatten()),
    };
    let user = user.ok_or(StartError::NoUser)?;
    Ok(Some(Owner { uid: user.uid.as_raw(), gid: user.gid.as_raw(), name: user.name }))
}

/// Every folder above the cluster must let its user through.
fn check_way(dir: &Path, owner: &Owner) -> Result<(), StartError> {
    for folder in dir.ancestors() {
        let meta = fs::metadata(folder).map_err(files("cannot use", folder))?;
        let enters = match (meta.uid() == owner.uid, meta.gid() == owner.gid) {
            (true, _) => meta.mode() & 0o100,
            (false, true) => meta.mode() & 0o010,
            (false, false) => meta.mode() & 0o001,
        };
        if enters == 0 {
            let user = owner.name.clone();
            return Err(StartError::NoWay { folder: folder.to_owned(), user });
        }
    }
    Ok(())
}

fn make_private(folder: &Path, owner: Option<&Owner>) -> Result<(), StartError> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => (),
        made => made.map_err(files("cannot make", folder))?,
    }
    if let Some(owner) = owner {
        let given = chown(folder, Some(owner.uid), Some(owner.gid));
        given.map_err(files("cannot hand over", folder))?;
    }
    Ok(())
}
