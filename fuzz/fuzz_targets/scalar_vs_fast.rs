#![no_main]
#[path = "../bodies/mod.rs"]
#[allow(dead_code)]
mod bodies;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::scalar_vs_fast(data));
