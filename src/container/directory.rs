//! References of several files: directories of shards, an index of shards, a checkpoint of `torch.distributed.checkpoint`.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use super::dcp::{self, Part};
use super::layout::Layout;
use super::{MAX_FILES, MAX_HELD};

/// Deepest nesting of directories that is looked into.
const MAX_DIRECTORIES: usize = 16;
/// What the names of indices of shards end with.
const INDEX: &str = ".index.json";
/// Name of the file that says what is where in a checkpoint of `torch.distributed.checkpoint`.
const DCP: &str = ".metadata";

/// A file and its layout.
#[derive(Clone, Debug)]
pub struct FileLayout {
    /// The file.
    pub path: PathBuf,
    /// Its layout.
    pub layout: Layout,
}

/// The files that a reference stands for: of a directory, all regular files in it and below, at most [`MAX_FILES`]; of an index of shards, the shards;
/// else the file itself.
///
/// Shards that an index in their directory lists come first, then the others, by name: the order does not depend on the file system.
///
/// # Errors
/// Those of reading directories. An index that cannot be read lists nothing.
pub fn files(reference: &Path) -> io::Result<Vec<PathBuf>> {
    if reference.is_dir() {
        let mut found = Vec::new();
        walk(reference, 0, &mut found)?;
        found.sort();
        let listed: BTreeSet<PathBuf> =
            found.iter().filter(|path| is_index(path)).flat_map(|path| shards(path)).collect();
        found.sort_by_key(|path| !listed.contains(path));
        return Ok(found);
    }
    let shards: Vec<PathBuf> = if is_index(reference) {
        let shards = shards(reference).into_iter();
        shards.filter(|path| path.is_file()).collect()
    } else {
        Vec::new()
    };
    Ok(if shards.is_empty() { vec![reference.into()] } else { shards })
}

/// The layouts of these files, with the names that a `.metadata` beside them gives to parts of them.
///
/// # Errors
/// Those of opening and reading files.
pub fn layouts(files: &[PathBuf]) -> io::Result<Vec<FileLayout>> {
    let mut parts: HashMap<PathBuf, HashMap<String, Vec<Part>>> = HashMap::new();
    let mut layouts = Vec::new();
    for path in files {
        let mut layout = Layout::of_file(&mut File::open(path)?)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let parts = parts.entry(folder.into()).or_insert_with(|| parts_of(&folder.join(DCP)));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(parts) = parts.get(&*name) {
            layout.name_parts(parts);
        }
        layouts.push(FileLayout { path: path.clone(), layout });
    }
    Ok(layouts)
}

/// Regular files in a directory and below; links to files count, links to directories do not.
fn walk(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if depth < MAX_DIRECTORIES {
                walk(&path, depth + 1, found)?;
            }
        } else if path.is_file() && found.len() < MAX_FILES {
            found.push(path);
        }
    }
    Ok(())
}

fn is_index(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(INDEX))
}

/// The shards that an index lists, in its directory; other places are not looked at.
fn shards(index: &Path) -> BTreeSet<PathBuf> {
    #[derive(Deserialize)]
    struct Index {
        weight_map: HashMap<String, String>,
    }
    let folder = index.parent().unwrap_or(Path::new(""));
    let index = read(index).and_then(|bytes| serde_json::from_slice::<Index>(&bytes).ok());
    let shards = index.into_iter().flat_map(|index| index.weight_map.into_values());
    shards
        .filter(|shard| Path::new(shard).components().all(|component| matches!(component, Component::Normal(_))))
        .map(|shard| folder.join(shard))
        .collect()
}

/// What a `.metadata` says, by file.
fn parts_of(metadata: &Path) -> HashMap<String, Vec<Part>> {
    let mut files: HashMap<String, Vec<Part>> = HashMap::new();
    for part in read(metadata).map_or_else(Vec::new, |bytes| dcp::parts(&bytes, MAX_HELD)) {
        files.entry(part.file.clone()).or_default().push(part);
    }
    for parts in files.values_mut() {
        parts.sort_by_key(|part| part.offset);
    }
    files
}

/// The contents of a file, if it is there and not too long to be held.
fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = MAX_HELD as u64;
    let file = File::open(path).ok()?;
    file.take(most + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= most).then_some(bytes)
}
