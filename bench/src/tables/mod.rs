//! The tables, one file each.

mod boot;
mod boot_15;
mod boot_precise;
mod functions;
mod gates;
mod graft_10;
mod graft_12;
mod graft_2;
mod graft_4;
mod graft_4_boot;
mod graft_5;
mod graft_6;
mod graft_7;
mod graft_8;
mod graft_9;
mod graft_c6;
mod graft_d;
mod graft_e;
mod graft_f2;
mod hk20;
mod hk20_7;
mod hk20_cosine;
mod hk20_fig2;
mod integers;
mod key_switch;
mod laks;
mod laks_3;
mod laks_4;
mod laks_5;
mod linear;
mod mg23;
mod mg23_6;
mod mg23_7;
mod mg23_9;
mod mg23_fig1;
mod ntt;
mod ops;
mod order;
mod pairs;
mod pegasus_3;
mod pegasus_4;
mod pegasus_5;
mod pegasus_6;
mod pegasus_7;
mod pegasus_8;
mod pegasus_fig7;
mod pegasus_fig8;
mod pegasus_rings;
mod pegasus_slots;
mod pegasus_threads;
mod planner;
mod second;
mod she;
mod sign;
mod simulate;
mod tables_exact;
mod threads;
mod tuple;
mod twins;
mod word;

use serde::Serialize;

use crate::{Result, report::Row, session::Session};

/// One table: its description, its needs, and the function that measures it.
#[derive(Serialize)]
pub struct Table {
    /// The name on the command line.
    pub name: &'static str,
    /// The measured operations and the figures that they are compared with.
    pub about: &'static str,
    /// The memory that it needs.
    pub memory: &'static str,
    /// The time that it takes.
    pub time: &'static str,
    /// The peers that `--peers` measures in the same run.
    pub live: &'static [&'static str],
    /// True if the paper has a figure, which `--plot` draws.
    pub plot: bool,
    /// Measures the table.
    #[serde(skip)]
    pub run: fn(&mut Session) -> Result<Vec<Row>>,
}

/// All tables.
const ALL: &[Table] = &[
    ntt::TABLE,
    ops::TABLE,
    order::TABLE,
    linear::TABLE,
    threads::TABLE,
    she::TABLE,
    graft_2::TABLE,
    graft_4::TABLE,
    graft_4_boot::TABLE,
    graft_5::TABLE,
    graft_6::TABLE,
    graft_7::TABLE,
    graft_8::TABLE,
    graft_9::TABLE,
    graft_10::TABLE,
    graft_12::TABLE,
    graft_c6::TABLE,
    graft_d::TABLE,
    graft_e::TABLE,
    graft_f2::PREDICTED,
    graft_f2::AT_15,
    graft_f2::AT_16,
    word::TABLE,
    tuple::TABLE,
    hk20_cosine::DEGREES,
    hk20_cosine::PRODUCTS,
    hk20_fig2::TABLE,
    hk20::TABLE,
    hk20_7::TABLE,
    sign::TABLE,
    tables_exact::TABLE,
    functions::TABLE,
    gates::TABLE,
    simulate::TABLE,
    boot::TABLE,
    boot_15::TABLE,
    boot_precise::TABLE,
    integers::TABLE,
    laks_3::TABLE,
    laks_4::TABLE,
    laks_5::TABLE,
    mg23_6::SWITCHING,
    mg23_6::SIZES,
    mg23_7::OMEGA,
    mg23_7::DEGREE,
    mg23_9::TABLE,
    mg23_fig1::TABLE,
    second::TABLE,
    pegasus_3::TABLE,
    pegasus_4::TABLE,
    pegasus_5::TABLE,
    pegasus_slots::TABLE,
    pegasus_6::TABLE,
    pegasus_7::TABLE,
    pegasus_threads::TABLE,
    pegasus_fig7::TABLE,
    pegasus_rings::TABLE,
    pegasus_fig8::TABLE,
    pegasus_8::TABLE,
    planner::TABLE,
];

/// Returns the table with this name.
///
/// # Errors
/// When there is none. The message lists all tables.
pub fn find(name: &str) -> Result<&'static Table> {
    ALL.iter().find(|table| table.name == name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|table| table.name).collect();
        format!("there is no table {name:?}; there are: {} (and list)", names.join(", ")).into()
    })
}

/// Lists every table with its description and needs, as text or as a JSON list.
///
/// # Errors
/// When the list cannot be written as JSON.
pub fn list(json: bool) -> Result<String> {
    if json {
        return Ok(serde_json::to_string_pretty(ALL)? + "\n");
    }
    let width = ALL.iter().map(|table| table.name.len()).max().unwrap_or(0);
    Ok(ALL
        .iter()
        .map(|t| {
            format!(
                "{:width$}  {}\n{:width$}  memory {}, time {}\n",
                t.name, t.about, "", t.memory, t.time
            )
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_by_name_and_others_are_refused_with_the_names() {
        for table in ALL {
            assert_eq!(find(table.name).unwrap().name, table.name);
            assert!(list(false).unwrap().contains(table.about));
        }
        let error = find("nothing").err().unwrap().to_string();
        assert!(error.contains("\"nothing\"") && error.contains("ntt"));
    }
}
