//! The pure core: numbers to symbols and symbols to bits. Slices in, slices out; no I/O, no threads, no globals, no policy.

pub mod bank;
pub mod convert;
pub mod element;
pub mod lambda;
pub mod lanes;
pub mod model;
pub mod pairs;
pub mod plain;
pub mod residual;
pub mod table;
pub mod thresholds;
pub mod token;
pub mod word;
