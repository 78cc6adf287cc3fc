//! Threads for independent pieces of work, order kept.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};

/// Most threads used unless more are asked for.
const DEFAULT_CAP: usize = 8;

/// A pool of worker threads; with one thread, the caller's own.
pub(crate) struct Pool {
    pool: Option<ThreadPool>,
    threads: usize,
}

impl Pool {
    /// `threads` workers; 0 means one per core, at most 8.
    pub(crate) fn new(threads: usize) -> Result<Self> {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from).min(DEFAULT_CAP);
        let threads = if threads == 0 { cores() } else { threads };
        let pool = if threads > 1 {
            let built = ThreadPoolBuilder::new().num_threads(threads).build();
            Some(built.map_err(|error| Error::Io(std::io::Error::other(error)))?)
        } else {
            None
        };
        Ok(Self { pool, threads })
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// `f` of each item, in order.
    pub(crate) fn map<T: Sync, U: Send>(&self, items: &[T], f: impl Fn(&T) -> U + Sync + Send) -> Vec<U> {
        match &self.pool {
            Some(pool) => pool.install(|| items.par_iter().map(f).collect()),
            None => items.iter().map(f).collect(),
        }
    }

    /// `f` of each item, in order; the items are used up.
    pub(crate) fn turn<T: Send, U: Send>(&self, items: Vec<T>, f: impl Fn(T) -> U + Sync + Send) -> Vec<U> {
        match &self.pool {
            Some(pool) => pool.install(|| items.into_par_iter().map(f).collect()),
            None => items.into_iter().map(f).collect(),
        }
    }

    /// Sums over items: `add` to a `zero` for some, `join` the sums. Must not depend on the order.
    pub(crate) fn sum<T: Sync, U: Send>(
        &self,
        items: &[T],
        zero: impl Fn() -> U + Sync + Send,
        add: impl Fn(U, &T) -> U + Sync + Send,
        join: impl Fn(U, U) -> U + Sync + Send,
    ) -> U {
        match &self.pool {
            // One sum per thread: each may be large.
            Some(pool) => pool.install(|| {
                items
                    .par_chunks(items.len().div_ceil(self.threads).max(1))
                    .map(|part| part.iter().fold(zero(), &add))
                    .reduce(&zero, join)
            }),
            None => items.iter().fold(zero(), add),
        }
    }
}
