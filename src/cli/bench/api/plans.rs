//! What statements read, from the plans that the server wrote to its log (`EXPLAIN (ANALYZE, BUFFERS)` of
//! each as it ran).

use serde_json::Value;

/// One statement that was run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ran {
    /// Its beginning, on one line.
    pub text: String,
    /// Rows that were read from tables and indexes, those that a filter threw away too.
    pub rows: u64,
    /// Pages of 8 KiB, from memory or from disk.
    pub buffers: u64,
}

/// All statements of a piece of the log, in order.
pub(super) fn read(log: &str) -> Vec<Ran> {
    let mut all = Vec::new();
    let mut lines = log.lines().peekable();
    while let Some(line) = lines.next() {
        if !(line.contains(" LOG:  duration: ") && line.ends_with("plan:")) {
            continue;
        }
        let mut text = String::new();
        // What follows in a message is indented.
        while let Some(more) = lines.next_if(|line| line.starts_with('\t')) {
            text.push_str(more);
            text.push('\n');
        }
        let Ok(value) = serde_json::from_str::<Value>(&text) else { continue };
        let plan = &value["Plan"];
        all.push(Ran {
            text: value["Query Text"].as_str().unwrap_or_default().split_whitespace().fold(
                String::new(),
                |mut line, word| {
                    if !line.is_empty() {
                        line.push(' ');
                    }
                    line.push_str(word);
                    line
                },
            ),
            rows: rows(plan),
            buffers: number(plan, "Shared Hit Blocks") + number(plan, "Shared Read Blocks"),
        });
    }
    all
}

fn rows(node: &Value) -> u64 {
    // Children and what a scan looks at beside them: a bitmap's index rows are those of its table again.
    let parts = node["Plans"].as_array().into_iter().flatten();
    let below: u64 = parts.filter(|part| part["Node Type"] != "Bitmap Index Scan").map(rows).sum();
    let reads = node["Relation Name"].is_string() && node["Node Type"] != "ModifyTable";
    if !reads {
        return below;
    }
    let each = number(node, "Actual Rows")
        + number(node, "Rows Removed by Filter")
        + number(node, "Rows Removed by Index Recheck");
    below + each * number(node, "Actual Loops")
}

/// Newer servers write counts with decimals.
fn number(node: &Value, name: &str) -> u64 {
    node[name].as_f64().map_or(0, |number| number.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_found_in_the_log() {
        let log = "2026-11-30 11:00:00.000 UTC [7] LOG:  database system is ready\n\
            2026-11-30 11:00:01.000 UTC [9] LOG:  duration: 0.100 ms  plan:\n\
            \t{\n\t  \"Query Text\": \"select 1\\n  from monitor\",\n\t  \"Plan\": {\n\t    \"Node Type\": \"Limit\", \"Actual Rows\": 1,\n\
            \t    \"Actual Loops\": 1, \"Shared Hit Blocks\": 5, \"Shared Read Blocks\": 2,\n\t    \"Plans\": [\n\
            \t      {\"Node Type\": \"Index Scan\", \"Relation Name\": \"monitor\", \"Actual Rows\": 2.00, \"Actual Loops\": 3,\n\
            \t       \"Rows Removed by Filter\": 1, \"Shared Hit Blocks\": 5, \"Shared Read Blocks\": 2}]\n\t  }\n\t}\n\
            2026-11-30 11:00:02.000 UTC [9] LOG:  something else\n\tindented\n";
        let ran = read(log);
        let expected = Ran { text: "select 1 from monitor".to_owned(), rows: 9, buffers: 7 };
        assert_eq!(ran, [expected]);
    }
}
