use hippocrene_ckks::approximation::ModularReduction;
fn main() {
    for (e, er, arcs) in [(-8.0, -36.0, 3), (-8.0, -36.0, 5), (-10.0, -28.0, 0)] {
        for r in 0..6 {
            match ModularReduction::new(17, e, er, r, arcs) {
                Ok(m) => println!(
                    "{e} {er} {arcs} r={r} deg {} even {} products {} depth {} bits55 {} max coeff {:.3}",
                    m.cosine().degree(),
                    m.cosine().is_even(),
                    m.cosine().products(),
                    m.depth(),
                    m.bits(55.0, 48.0),
                    m.cosine().coefficients().iter().fold(0.0f64, |a, b| a.max(b.abs()))
                ),
                Err(x) => println!("{r} {x}"),
            }
        }
    }
}
