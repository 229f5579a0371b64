//! The data folder beyond the database: keys on disk, readable by their owner alone.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use anyhow::Context;

/// Where everything is kept unless somebody says otherwise.
pub(super) fn default_dir() -> anyhow::Result<PathBuf> {
    if nix::unistd::geteuid().is_root() {
        return Ok(PathBuf::from("/var/lib/quorate"));
    }
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = set("XDG_DATA_HOME").or_else(|| Some(set("HOME")?.join(".local/share")));
    let data = data.context("HOME is not set, so there is no usual place for the data.\nChoose a folder with --data-dir.")?;
    Ok(data.join("quorate"))
}

/// The text in a file of ours, if there is one.
pub(super) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Writes a file that only its owner may read (0600), as a whole or not at all.
pub(super) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let scratch = path.with_extension("new");
    let write = || -> std::io::Result<()> {
        // Left over from a start that was cut off, perhaps with another mode.
        if let Err(error) = fs::remove_file(&scratch)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&scratch)?;
        writeln!(file, "{text}")?;
        file.sync_all()?;
        fs::rename(&scratch, path)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Makes a folder that only its owner may enter, and its parents.
pub(super) fn make_dir(path: &Path) -> anyhow::Result<()> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.with_context(|| format!("cannot make {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_file_is_for_its_owner_alone_even_if_the_old_one_was_not() {
        let dir = std::env::temp_dir().join(format!("quorate-data-{}", std::process::id()));
        make_dir(&dir.join("deep")).unwrap();
        let path = dir.join("deep/admin.token");
        assert_eq!(read(&path).unwrap(), None);
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        write(&path, "qrt_x").unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some("qrt_x"));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::remove_dir_all(&dir).unwrap();
    }
}
