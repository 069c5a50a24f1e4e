//! The command line of the benchmarks.

use std::{path::PathBuf, process::ExitCode};

use clap::Parser;
use hippocrene_bench::{
    Result, live::Live, machine, plot::Canvas, report, session::Session, tables,
};

/// Times Hippocrene against its papers and its peers.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The table to run, or `list` to list the tables
    table: String,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Also measure the peers that have Python wheels, and Lattigo. They are installed or built
    /// under target/peers-venv
    #[arg(long)]
    peers: bool,
    /// Draw the paper's figure from the measurements, into this PNG file
    #[arg(long, value_name = "FILE.png")]
    plot: Option<PathBuf>,
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
    if arguments.peers && table.live.is_empty() {
        return Err(
            format!("the table {} has no peers that can be measured live", table.name).into()
        );
    }
    if arguments.plot.is_some() && !table.plot {
        return Err(
            format!("the table {} has no figure in its paper, and so no plot", table.name).into()
        );
    }
    let canvas = arguments.plot.as_deref().map(Canvas::create).transpose()?;
    let cores = machine::pin()?;
    if let Some(core) = cores.own().filter(|_| !arguments.json) {
        println!("{}", report::heading(table, &machine::cpu_name(), core));
    }
    let mut session = Session::new()?;
    session.cores = Some(cores);
    if arguments.peers {
        eprintln!(
            "measuring {}, which takes minutes (peers that are missing are installed or built \
             first)",
            table.live.join(" and ")
        );
        session.live = Live::measure(table.live);
    }
    let rows = (table.run)(&mut session)?;
    if let Some(canvas) = canvas {
        canvas.draw(&session.plot)?;
    }
    let report = session.report(table, rows);
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{report}");
    }
    Ok(())
}
