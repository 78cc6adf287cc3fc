#![no_main]
#[path = "../bodies/mod.rs"]
#[allow(dead_code)]
mod bodies;
libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::bank_file(data));
