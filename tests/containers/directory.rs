//! References of several files: shards, indices, checkpoints of `torch.distributed.checkpoint`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ulpack::container::directory::{FileLayout, files, layouts};

use crate::archive::{Archive, Pickle, Sizes};
use crate::common::{Random, sample_path};

fn sample_directory(name: &str) -> Option<PathBuf> {
    let path = sample_path(name);
    if !path.is_dir() {
        println!("skipped: no {}", path.display());
        return None;
    }
    Some(path)
}

fn names(layouts: &[FileLayout]) -> BTreeSet<String> {
    let tensors = layouts.iter().flat_map(|file| file.layout.tensors());
    tensors.filter_map(|span| span.tensor.as_ref().map(|t| t.to_string())).collect()
}

/// transformers#42734: the same tensors in other shards.
#[test]
fn shards_of_a_directory_and_of_its_index_are_the_same() {
    let Some(prev) = sample_directory("sharded-prev") else { return };
    let Some(next) = sample_directory("sharded-next") else { return };
    let all = files(&next).unwrap();
    assert_eq!(all.len(), 4);
    assert!(all[3].ends_with("model.safetensors.index.json"));
    let listed = files(&next.join("model.safetensors.index.json")).unwrap();
    assert_eq!(listed, all[..3]);
    let next = names(&layouts(&all).unwrap());
    assert_eq!(next.len(), 12);
    assert_eq!(names(&layouts(&listed).unwrap()), next);
    assert_eq!(names(&layouts(&files(&prev).unwrap()).unwrap()), next);
}

/// The names of a DCP checkpoint are in its `.metadata` only.
#[test]
fn parts_of_a_dcp_checkpoint_have_names() {
    for name in ["dcp-prev", "dcp-next"] {
        let Some(directory) = sample_directory(name) else { return };
        let layouts = layouts(&files(&directory).unwrap()).unwrap();
        let names = names(&layouts);
        assert_eq!(names.len(), 12, "{names:?}");
        assert!(names.contains("model.wte.weight"), "{names:?}");
        let file = layouts.iter().find(|file| file.path.ends_with("__0_0.distcp")).unwrap();
        let wte = file.layout.tensors().find(|s| s.length == 65536).unwrap();
        assert_eq!(wte.tensor.as_ref().unwrap().to_string(), "model.wte.weight");
    }
}

/// A `.metadata` that places the parts of a tensor.
fn metadata(parts: &[(&str, &[u32], &str, u32, u32)]) -> Vec<u8> {
    let mut pickle = Pickle::new();
    pickle.op(b"cm\nMetadata\n)\x81}(").text("storage_data").op(b"}(");
    for (fqn, place, file, offset, length) in parts {
        pickle.op(b"cm\nMetadataIndex\n)\x81}(").text("fqn").text(fqn);
        pickle.text("offset").op(b"ctorch\nSize\n").ints(place).op(b"\x85Rub");
        pickle.op(b"cm\n_StorageInfo\n)\x81N}(").text("relative_path").text(file);
        pickle.text("offset").int(*offset).text("length").int(*length).op(b"u\x86b");
    }
    pickle.op(b"uub.");
    pickle.0
}

fn part(values: &[u8]) -> Vec<u8> {
    let mut pickle = Pickle::new();
    pickle.vector("0", values.len() as u32 / 4).op(b".");
    let mut archive = Archive::new(Sizes::Descriptor);
    archive.add("archive/data.pkl", &pickle.0);
    archive.add("archive/data/0", values);
    archive.finish()
}

#[test]
fn parts_of_one_tensor_have_their_place_in_the_name() {
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (part(&[1; 40]), part(&[2; 80]));
    let n = a.len() as u32;
    let both = [a.clone(), b.clone()].concat();
    fs::write(directory.path().join("__0_0.distcp"), &both).unwrap();
    fs::write(directory.path().join("__1_0.distcp"), &a).unwrap();
    let parts = metadata(&[
        ("w", &[10, 0], "__0_0.distcp", n, b.len() as u32),
        ("v", &[0], "__0_0.distcp", 0, n),
        ("w", &[0, 0], "__1_0.distcp", 0, n),
    ]);
    fs::write(directory.path().join(".metadata"), &parts).unwrap();
    let files = files(directory.path()).unwrap();
    let found: Vec<String> = layouts(&files).unwrap().iter().flat_map(|f| names(std::slice::from_ref(f))).collect();
    assert_eq!(found, ["v", "w[10,0]", "w[0,0]"]);

    // Damage of the metadata costs names, nothing else.
    let mut random = Random(7);
    for _ in 0..500 {
        let mut broken = parts.clone();
        let at = random.below(broken.len());
        broken[at] = random.next() as u8;
        broken.truncate(broken.len() - random.below(3));
        fs::write(directory.path().join(".metadata"), &broken).unwrap();
        assert_eq!(layouts(&files).unwrap().len(), 3);
    }
}

#[test]
fn files_are_listed_whatever_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("sub/deeper")).unwrap();
    for name in ["b", "a", "sub/c", "sub/deeper/d", "z.safetensors", "-", "new\nline"] {
        fs::write(at(name), name).unwrap();
    }
    let index =
        r#"{"metadata": {}, "weight_map": {"x": "z.safetensors", "y": "../outside", "z": "/etc/passwd", "w": "none"}}"#;
    fs::write(at("model.safetensors.index.json"), index).unwrap();
    let all = files(directory.path()).unwrap();
    assert_eq!(all.len(), 8);
    assert_eq!(all[0], at("z.safetensors"));
    assert_eq!(layouts(&all).unwrap().len(), 8);
    assert_eq!(files(&at("model.safetensors.index.json")).unwrap(), [at("z.safetensors")]);
    assert_eq!(files(&at("a")).unwrap(), [at("a")]);
    for broken in ["", "{", "[]", "{\"weight_map\": {\"a\": 7}}"] {
        fs::write(at("model.safetensors.index.json"), broken).unwrap();
        assert_eq!(files(&at("model.safetensors.index.json")).unwrap(), [at("model.safetensors.index.json")]);
        assert_eq!(files(directory.path()).unwrap().len(), 8);
    }
    assert!(layouts(&[at("missing")]).is_err());
}

/// Links to files are followed, as caches of model hubs need; links to directories are not: they may lead back.
#[cfg(unix)]
#[test]
fn links_to_directories_are_not_followed() {
    use std::ffi::OsStr;
    use std::os::unix::{ffi::OsStrExt, fs::symlink};
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("sub")).unwrap();
    fs::write(at("blob"), "x").unwrap();
    symlink(directory.path(), at("sub/loop")).unwrap();
    symlink(at("blob"), at("sub/link")).unwrap();
    symlink(at("missing"), at("sub/broken")).unwrap();
    let odd = Path::new(OsStr::from_bytes(b"\xff\xfe"));
    fs::write(directory.path().join(odd), "x").unwrap();
    assert_eq!(files(directory.path()).unwrap().len(), 3);
}
