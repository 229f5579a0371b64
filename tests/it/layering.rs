//! The design that no compiler checks: who may know whom, and what may stand where.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

/// What each module of the crate may use. The outside (agent, probe, shipper) and the inside (api,
/// triage, intake, notify, upkeep, store) meet only in `protocol`, `accesslog` and `domain`.
const MAY_USE: &[(&str, &[&str])] = &[
    ("main", &["coordinator", "agent", "shipper", "up", "cli", "config", "process", "clock"]),
    ("cli", &["*"]), // tools; nobody but main may use them
    ("up", &["coordinator", "agent", "store", "config", "process", "clock"]),
    // Wires the parts together, and makes what they share: triage, the guard, the mail server's address.
    (
        "coordinator",
        &[
            "api", "notify", "upkeep", "triage", "store", "net", "domain", "config", "process",
            "clock",
        ],
    ),
    (
        "api",
        &[
            "triage", "intake", "notify", "publish", "store", "protocol", "process", "domain",
            "clock",
        ],
    ),
    ("upkeep", &["triage", "intake", "publish", "store", "net", "domain", "clock"]),
    ("notify", &["publish", "store", "net", "domain", "clock"]),
    ("triage", &["store", "domain"]),
    ("intake", &["store", "accesslog", "domain"]),
    ("agent", &["probe", "uplink", "protocol", "domain", "config", "process", "clock"]),
    ("shipper", &["uplink", "protocol", "domain", "config", "process", "clock"]),
    ("uplink", &["config"]), // requests to the coordinator, for agents and shippers alike
    ("probe", &["net", "domain"]),
    ("net", &["domain"]),
    ("store", &["domain"]),
    ("publish", &["domain"]), // figures as documents
    ("protocol", &["domain"]),
    ("accesslog", &["domain"]),
    ("domain", &[]),
    ("config", &["protocol", "domain"]), // defaults that the link's rhythm fixes
    ("process", &["clock"]),
    ("clock", &[]),
];

/// About 400 lines, tests not counted, are enough for a file; a little more is no reason to tear apart
/// what belongs together. Beyond this it needs a reason to be one.
const LONGEST_FILE: usize = 450;
const MAY_BE_LONG: &[(&str, &str)] = &[
    ("agent/spool/boot.rs", "segments and the mark of what is settled change only together"),
    ("cli/decide/trace.rs", "one table, drawn from top to bottom"),
    ("triage/mod.rs", "the one door, in the order in which a batch passes through it"),
];

/// Statements live in `store`; whoever else wants the database calls a function there.
const SQL: &[&str] =
    &["sqlx::query", "query!(", "query_as!(", "query_scalar!(", "raw_sql", "QueryBuilder"];

/// `domain` is plain data and functions. Whatever smells of waiting, of the world or of the time of
/// day belongs to its callers.
const NOT_IN_DOMAIN: &[&str] = &[
    "async ",
    ".await",
    "tokio",
    "sqlx::",
    "axum",
    "hyper",
    "reqwest",
    "std::fs",
    "std::process",
    "TcpStream",
    "UdpSocket",
    "Instant",
    "SystemTime",
    "now()",
    "rand::",
    "println!",
    "tracing",
];

#[test]
fn modules_use_only_what_the_design_allows() {
    let rules: BTreeMap<_, _> = MAY_USE.iter().copied().collect();
    let mut wrong = String::new();
    for file in sources() {
        let Some(allowed) = rules.get(&*file.module) else {
            let _ = writeln!(wrong, "{}: module {} has no row in MAY_USE", file.path, file.module);
            continue;
        };
        for used in file.uses() {
            let fine = used == file.module || allowed.contains(&"*") || allowed.contains(&&*used);
            if !fine {
                let _ = writeln!(wrong, "{}: {} may not use {used}", file.path, file.module);
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn every_statement_stands_in_store() {
    let outside = sources().into_iter().filter(|file| file.module != "store");
    let wrong = occurrences(outside, SQL);
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn domain_neither_waits_nor_looks_at_the_world() {
    let domain = sources().into_iter().filter(|file| file.module == "domain");
    let wrong = occurrences(domain, NOT_IN_DOMAIN);
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn files_are_short_and_named_after_what_they_hold() {
    let reasons: BTreeMap<_, _> = MAY_BE_LONG.iter().copied().collect();
    let mut wrong = String::new();
    for file in sources() {
        let lines = file.code.lines().count();
        match (lines > LONGEST_FILE, reasons.contains_key(&*file.path)) {
            (true, false) => {
                let _ = writeln!(wrong, "{}: {lines} lines; split it or say why not", file.path);
            }
            (false, true) if lines < LONGEST_FILE / 10 * 9 => {
                let _ = writeln!(wrong, "{}: short again; take it off the list", file.path);
            }
            _ => {}
        }
        let stem = Path::new(&file.path).file_stem().unwrap().to_string_lossy();
        if ["util", "utils", "types", "helpers", "common", "misc"].contains(&&*stem) {
            let _ = writeln!(wrong, "{}: a name that says nothing", file.path);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn the_reader_of_use_lines_sees_every_form() {
    let file = |path: &str, code: &str| Source::new(path.to_owned(), code);
    let uses = |path, code| file(path, code).uses().into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!(uses("api/mod.rs", "use crate::store::{live, boots};"), "store");
    assert_eq!(
        uses("api/mod.rs", "use crate::{\n  clock::Clock, store::{self, live},\n protocol,\n};"),
        "clock protocol store"
    );
    assert_eq!(
        uses("api/mod.rs", "let x = crate::triage::accept(crate::clock::now());"),
        "clock triage"
    );
    assert_eq!(uses("net.rs", "use super::store::live;"), "store");
    assert_eq!(uses("api/auth.rs", "use super::error; use super::super::notify::run;"), "notify");
    assert_eq!(uses("main.rs", "use quorate::{cli::{decide, term}, up};"), "cli up");
    assert_eq!(uses("api/mod.rs", "// use crate::agent;\nuse crate_like::x;"), "");
    assert_eq!(uses("api/mod.rs", "#[cfg(test)]\nmod tests { use crate::agent; }"), "");
}

/// A source file without its comments and without its tests, which may use what they like.
struct Source {
    /// From `src/` on.
    path: String,
    /// The module right below the crate.
    module: String,
    /// How deep the file's own module is: 0 for `main.rs`, 1 for `net.rs`, 2 for `api/auth.rs`.
    depth: usize,
    code: String,
}

impl Source {
    fn new(path: String, text: &str) -> Self {
        let parts: Vec<&str> = path.trim_end_matches(".rs").split('/').collect();
        let own = if parts.last() == Some(&"mod") { &parts[..parts.len() - 1] } else { &parts[..] };
        let depth = if path == "main.rs" { 0 } else { own.len() };
        let module = parts[0].to_owned();
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let code: Vec<&str> =
            code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
        Self { module, depth, code: code.join("\n"), path }
    }

    /// The modules right below the crate that this file names.
    fn uses(&self) -> BTreeSet<String> {
        let supers = "super::".repeat(self.depth);
        let mut roots = vec!["crate::"];
        match self.depth {
            0 => roots.push("quorate::"),
            _ => roots.push(&supers),
        }
        let mut found = BTreeSet::new();
        for root in roots {
            for (at, _) in self.code.match_indices(root) {
                let before = self.code[..at].chars().next_back();
                if before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != ':') {
                    names(&self.code[at + root.len()..], &mut found);
                }
            }
        }
        found
    }
}

/// The first names of what follows `crate::`: one, or those of a group in braces.
fn names(path: &str, found: &mut BTreeSet<String>) {
    let word = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let Some(group) = path.strip_prefix('{') else {
        found.insert(word(path));
        return;
    };
    let (mut depth, mut start) = (0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' | ',' if depth == 0 => {
                found.insert(word(&group[start..at]));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
    found.remove("");
}

fn occurrences(files: impl Iterator<Item = Source>, forbidden: &[&str]) -> String {
    let mut wrong = String::new();
    for file in files {
        for (number, line) in file.code.lines().enumerate() {
            for word in forbidden.iter().filter(|word| line.contains(**word)) {
                let _ = writeln!(wrong, "{}:{}: “{word}”: {}", file.path, number + 1, line.trim());
            }
        }
    }
    wrong
}

/// Every file of the crate but `lib.rs`, which only lists the modules, and files of tests.
fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let source = |path: PathBuf| {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        Source::new(name, &fs::read_to_string(&path).unwrap())
    };
    let tests = |path: &PathBuf| path.to_string_lossy().ends_with("tests.rs");
    let code = files.into_iter().filter(|path| !path.ends_with("lib.rs") && !tests(path));
    code.map(source).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            files.push(path);
        }
    }
}
