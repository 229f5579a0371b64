//! `quorate decide`: replays recorded observations through the rules and says why each decision fell.

mod scenario;
mod settings;
mod trace;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use serde_json::Value;

use self::scenario::{Case, File, Outcomes, Scenario};
use super::term::{Term, TermOptions};
use crate::domain::Invalid;

/// Replays scenarios of observations through the decision rules, without a server.
#[derive(Debug, clap::Args)]
pub struct DecideArgs {
    /// Scenarios, shaped like decision-vectors.json; `-` reads standard input.
    pub file: PathBuf,
    /// One JSON document: `[{"id":1,"result":{…}}]`.
    #[arg(long)]
    pub json: bool,
}

/// Exit code 0 when every scenario gives what it expects, 1 when one differs, 2 when the file is not
/// a list of scenarios, 3 when it cannot be read.
pub fn run(args: &DecideArgs, options: TermOptions) -> ExitCode {
    let term = Term::detect(options);
    let name = args.file.display();
    let text = match read(&args.file) {
        Ok(text) => text,
        Err(error) => {
            term.warn(&format!("quorate decide: {name} cannot be read: {error}."));
            return ExitCode::from(3);
        }
    };
    let file = match scenario::parse(&text) {
        Ok(file) => file,
        Err(invalid) => {
            let field = if invalid.field.is_empty() {
                String::new()
            } else {
                format!(" {}:", invalid.field)
            };
            term.warn(&format!("{name}:{field} {}. Nothing was replayed.", invalid.message));
            return ExitCode::from(2);
        }
    };
    let (output, well) = if args.json { json(&file) } else { text_of(&file, &term) };
    match term.print(&output) {
        Ok(()) if well => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
        Err(error) => {
            term.warn(&format!("quorate decide: the output cannot be written: {error}."));
            ExitCode::from(3)
        }
    }
}

/// What `--json` prints for a text, without printing: `{"id":1,"result":{…}}` for each scenario. Refuses
/// what is not a file of scenarios.
pub fn replay(text: &str) -> Result<Vec<Value>, Invalid> {
    let file = scenario::parse(text)?;
    Ok(replayed(&file).iter().map(|one| serde_json::to_value(one).unwrap_or_default()).collect())
}

fn read(path: &Path) -> std::io::Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(path)
}

#[derive(Serialize)]
struct Replayed<'a> {
    id: &'a Value,
    result: Outcomes,
}

fn replayed(file: &File) -> Vec<Replayed<'_>> {
    let replay = |scenario: &Scenario| scenario.replay(|_, _, _| {});
    file.scenarios.iter().map(|one| Replayed { id: &one.id, result: replay(one) }).collect()
}

/// The document, and whether everything is as expected.
fn json(file: &File) -> (String, bool) {
    let all = replayed(file);
    let well = file.cases.iter().all(holds)
        && file
            .scenarios
            .iter()
            .zip(&all)
            .all(|(one, got)| differences(&got.result, one.expect.as_ref()).is_empty());
    let text = serde_json::to_string(&all).unwrap_or_default();
    (text + "\n", well)
}

fn text_of(file: &File, term: &Term) -> (String, bool) {
    let mut text = String::new();
    let mut differing = Vec::new();
    for (index, scenario) in file.scenarios.iter().enumerate() {
        let (drawn, holds) = trace::draw(scenario, index, file.scenarios.len(), term);
        text.push_str(&drawn);
        text.push('\n');
        if !holds {
            differing.push(trace::label(scenario, index));
        }
    }
    let failed: Vec<&Case> = file.cases.iter().filter(|case| !holds(case)).collect();
    text.push_str(&trace::closing(file, &differing, &failed, term));
    (text, differing.is_empty() && failed.is_empty())
}

fn holds(case: &Case) -> bool {
    same(&case.expected, &case.got)
}

/// Expected fields that came out differently: name, expected, got.
fn differences(result: &Outcomes, expect: Option<&Value>) -> Vec<(String, Value, Value)> {
    let Some(Value::Object(expect)) = expect else { return Vec::new() };
    let got = serde_json::to_value(result).unwrap_or_default();
    expect
        .iter()
        .filter_map(|(field, expected)| {
            let got = got.get(field).unwrap_or(&Value::Null);
            (!same(expected, got)).then(|| (field.clone(), expected.clone(), got.clone()))
        })
        .collect()
}

/// Equal as JSON; numbers by value, so that `139` and `139.0` agree.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}
