//! The pure core: numbers to symbols and symbols to bits. Slices in, slices out; no I/O, no threads, no globals, no policy.

pub mod element;
