//! Which tensor of a reference a tensor of the content continues: by name, else by type, shape and order.
//!
//! It only proposes: the encoder believes a match when it saves bits, and the stream records offsets, so a decoder knows nothing of names.

mod catalog;

pub use catalog::{Candidate, Catalog, Matcher};
