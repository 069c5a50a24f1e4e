//! Tests of the command line, run as by a user.

use std::process::{Command, Output};

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hippocrene-bench")).args(arguments).output().unwrap()
}

#[test]
fn list_shows_every_table_with_its_requirements() {
    let out = bench(&["list"]);
    assert!(out.status.success());
    let words = String::from_utf8(out.stdout).unwrap();
    assert!(words.contains("ntt") && words.contains("memory") && words.contains("minute"));

    let out = bench(&["list", "--json"]);
    let tables: Vec<serde_json::Value> = serde_json::from_slice(&out.stdout).unwrap();
    for table in tables {
        assert!(words.contains(table["name"].as_str().unwrap()));
        assert!(words.contains(table["time"].as_str().unwrap()));
    }
}

#[test]
fn an_unknown_table_is_an_error_that_names_the_tables() {
    let out = bench(&["no-such-table"]);
    assert!(!out.status.success() && out.stdout.is_empty());
    let message = String::from_utf8(out.stderr).unwrap();
    assert!(message.contains("no-such-table") && message.contains("ntt"), "{message}");
}

#[test]
fn a_table_without_live_peers_is_an_error() {
    let out = bench(&["ntt", "--peers"]);
    assert!(!out.status.success() && out.stdout.is_empty());
    assert!(String::from_utf8(out.stderr).unwrap().contains("no peers that can be measured live"));
}

#[test]
fn an_unknown_kernel_is_refused() {
    let out = Command::new(env!("CARGO_BIN_EXE_hippocrene-bench"))
        .args(["ntt", "--json"])
        .env("HIPPOCRENE_KERNEL", "avx1024")
        .output()
        .unwrap();
    assert!(!out.status.success() && out.stdout.is_empty());
    assert!(String::from_utf8(out.stderr).unwrap().contains("avx1024"));
}

#[test]
fn a_table_without_a_figure_is_not_plotted() {
    let out = bench(&["ntt", "--plot", "plot.png"]);
    assert!(!out.status.success() && out.stdout.is_empty());
    assert!(String::from_utf8(out.stderr).unwrap().contains("has no figure"));
    assert!(!std::path::Path::new("plot.png").exists());
}

/// Tests a table that encrypts nothing. All tables have the same JSON format.
#[test]
fn json_is_one_object_whose_targets_are_judged_by_their_ratios() {
    let out = bench(&["graft-7", "--json"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let keys = |value: &serde_json::Value| -> Vec<String> {
        let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(&report), ["cpu", "kernel", "rows", "table", "threads", "yardstick"]);
    assert_eq!((report["table"].as_str(), report["threads"].as_u64()), (Some("graft-7"), Some(1)));
    assert!(
        report["yardstick"].is_object()
            && report["cpu"].is_string()
            && report["kernel"].is_string()
    );
    let rows = report["rows"].as_array().unwrap();
    let mut judged = 0;
    for row in rows {
        assert_eq!(
            keys(row),
            ["against", "met", "paper", "ratio", "row", "target", "unit", "value"]
        );
        assert!(row["row"].is_string() && row["unit"].is_string() && row["value"].is_number());
        for figure in [&row["against"], &row["paper"]] {
            assert!(figure.is_null() || keys(figure) == ["name", "source", "value"]);
        }
        assert_eq!(row["against"].is_null(), row["ratio"].is_null());
        match (row["ratio"].as_f64(), row["target"].as_f64()) {
            (Some(ratio), Some(target)) => {
                assert_eq!(row["met"], ratio >= target, "{row}");
                judged += 1;
            }
            _ => assert!(row["met"].is_null(), "{row}"),
        }
    }
    assert!(judged > 0, "the table has targets");
}
