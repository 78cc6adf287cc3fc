//! The command `ulp`.

fn main() {}
