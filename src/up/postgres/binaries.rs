//! Where the server's programs are. Distributions put them outside PATH, one folder per version.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::StartError;

/// The oldest major version the schema is written for.
pub(super) const OLDEST: u32 = 15;

/// A folder that holds `postgres` and `initdb` of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Binaries {
    pub(super) dir: PathBuf,
    pub(super) major: u32,
}

impl Binaries {
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

/// Finds the programs of version `wanted` (that of an existing cluster in `data`), or of the newest
/// version on this machine. An explicit folder is the only one looked at.
pub(super) fn find(
    explicit: Option<&Path>,
    wanted: Option<u32>,
    data: &Path,
) -> Result<Binaries, StartError> {
    let folders = match explicit {
        Some(dir) => vec![dir.to_owned()],
        None => candidates(std::env::var_os("PATH").as_deref()),
    };
    let mut found: Vec<Binaries> = folders.into_iter().filter_map(inspect).collect();
    // Stable: of two folders with the same version the one that was listed first stays first.
    found.sort_by_key(|binaries| std::cmp::Reverse(binaries.major));
    match wanted {
        Some(major) => {
            let all = found.iter().map(|binaries| binaries.major).collect();
            found
                .into_iter()
                .find(|binaries| binaries.major == major)
                .ok_or(StartError::OtherMajor { data: data.to_owned(), major, found: all })
        }
        None => match found.into_iter().next() {
            None => Err(StartError::NoBinaries),
            Some(newest) if newest.major < OLDEST => Err(StartError::TooOld(newest.major)),
            Some(newest) => Ok(newest),
        },
    }
}

/// The folders worth looking into: PATH first (through symbolic links, since a link in /usr/bin has
/// no `initdb` beside it), then where packages and installers put them.
fn candidates(path: Option<&OsStr>) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::split_paths(path.unwrap_or_default())
        .filter_map(|dir| fs::canonicalize(dir.join("postgres")).ok())
        .filter_map(|program| program.parent().map(Path::to_owned))
        .collect();
    let per_version = [
        "/usr/lib/postgresql", // Debian, Ubuntu, SUSE
        "/opt/homebrew/opt",   // Homebrew on Apple silicon
        "/usr/local/opt",      // Homebrew on Intel
        "/Applications/Postgres.app/Contents/Versions",
    ];
    for parent in per_version {
        let versions = fs::read_dir(parent).into_iter().flatten().flatten();
        folders.extend(versions.map(|version| version.path().join("bin")));
    }
    // Red Hat keeps /usr/pgsql-16/bin and, for its own build, /usr/bin, which PATH covers.
    let red_hat = fs::read_dir("/usr").into_iter().flatten().flatten();
    folders.extend(
        red_hat
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("pgsql-"))
            .map(|entry| entry.path().join("bin")),
    );
    folders
}

fn inspect(dir: PathBuf) -> Option<Binaries> {
    if !dir.join("initdb").is_file() || !dir.join("postgres").is_file() {
        return None;
    }
    // Asking for the version is the one thing the server does even as root.
    let output = Command::new(dir.join("postgres")).arg("--version").output().ok()?;
    let major = major_version(&String::from_utf8_lossy(&output.stdout))?;
    Some(Binaries { dir, major })
}

/// `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)` is 15; `17beta1` is 17.
fn major_version(output: &str) -> Option<u32> {
    let version = output.split_whitespace().nth(2)?;
    let digits = version.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// The command that installs a server on this kind of machine.
pub(super) fn install_hint(major: Option<u32>) -> String {
    let version = major.map(|major| format!("-{major}")).unwrap_or_default();
    if cfg!(target_os = "macos") {
        return match major {
            Some(major) => format!("brew install postgresql@{major}"),
            None => "brew install postgresql@17".to_owned(),
        };
    }
    let has = |program: &str| Path::new("/usr/bin").join(program).exists();
    if has("dnf") {
        return "sudo dnf install -y postgresql-server".to_owned();
    }
    if has("apk") || Path::new("/sbin/apk").exists() {
        return format!("sudo apk add postgresql{}", version.replace('-', ""));
    }
    if has("pacman") {
        return "sudo pacman -S postgresql".to_owned();
    }
    format!("sudo apt-get install -y postgresql{version}")
}

pub(super) fn found_hint(found: &[u32]) -> String {
    match found {
        [] => String::new(),
        [one] => format!(" ({one} is)"),
        many => {
            let list: Vec<String> = many.iter().map(u32::to_string).collect();
            format!(" ({} are)", list.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_version_that_servers_print() {
        assert_eq!(
            major_version("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"),
            Some(15)
        );
        assert_eq!(major_version("postgres (PostgreSQL) 19beta2"), Some(19));
        assert_eq!(major_version("postgres (PostgreSQL)"), None);
        assert_eq!(major_version("command not found: x"), None);
    }

    #[test]
    fn a_folder_without_a_server_says_what_to_install() {
        let error = find(Some(Path::new("/nowhere")), None, Path::new("/d")).unwrap_err();
        assert!(matches!(error, StartError::NoBinaries));
        assert!(error.to_string().contains("QUORATE_DATABASE_URL"), "{error}");
    }

    #[test]
    fn a_cluster_of_a_version_that_is_gone_names_it() {
        let error =
            find(Some(Path::new("/nowhere")), Some(9), Path::new("/d/pg/data")).unwrap_err();
        assert!(error.to_string().contains("made by Postgres 9,"), "{error}");
    }
}
