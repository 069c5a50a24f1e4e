//! The command line of the benchmarks.

use std::process::ExitCode;

use clap::Parser;
use hippocrene_bench::{Result, live::Live, machine, report, session::Session, tables};

/// Times Hippocrene against its papers and its peers.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The table to run, or `list` for what there is
    table: String,
    /// Print one JSON object instead of words
    #[arg(long)]
    json: bool,
    /// Measure the openfhe and tenseal wheels too, in virtual environments under target/peers-venv
    #[arg(long)]
    peers: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hippocrene-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    if arguments.table == "list" {
        print!("{}", tables::list(arguments.json)?);
        return Ok(());
    }
    let table = tables::find(&arguments.table)?;
    if arguments.peers && !table.live {
        return Err(format!("the table {} has no peers that can be measured live", table.name).into());
    }
    let core = machine::pin()?;
    if !arguments.json {
        println!("{}", report::heading(table, &machine::cpu_name(), core));
    }
    let mut session = Session::new()?;
    if arguments.peers {
        eprintln!(
            "measuring the wheels openfhe and tenseal (installed first where they are not): about 2 minutes"
        );
        session.live = Live::measure();
    }
    let rows = (table.run)(&mut session)?;
    let report = session.report(table, rows);
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{report}");
    }
    Ok(())
}
