//! The layers of the library: no file imports a higher one, decoding never imports what encoders decide, and only kernels are unsafe.
//!
//! The test reads the sources as tokens, so that comments and strings do not count, and resolves every path that begins with
//! `crate`, `super` or `self`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};

/// What each layer may import besides itself. A layer is a file or a directory of `src`.
const LAYERS: [(&str, &[&str]); 12] = [
    ("limits", &[]),
    ("error", &["limits"]),
    ("core", &["error", "limits"]),
    ("wire", &["error", "limits", "core"]),
    ("kernel", &["error", "limits", "core", "wire"]),
    ("decode", &["error", "limits", "core", "wire", "kernel"]),
    ("encode", &["error", "limits", "core", "wire", "kernel", "decode"]),
    ("container", &["error", "limits", "core"]),
    ("matching", &["error", "limits", "core", "container"]),
    ("stream", &["error", "limits", "core", "wire", "kernel", "decode", "encode", "container", "matching"]),
    ("stat", &["error", "limits", "core", "container", "matching", "stream"]),
    // The command is another crate: it names the library `ulpack`, through the public face.
    ("cli", &[]),
];

/// Files that stand above all layers: the face of the library and the entry of the command.
const ROOTS: [&str; 2] = ["lib", "main"];

/// Macros of `core`, which the language puts at the root.
const MACROS: [&str; 1] = ["with_word"];

/// The only layer with unsafe code.
const UNSAFE: &str = "kernel";

struct Source {
    path: PathBuf,
    /// Modules from the root of the crate: `["wire", "layout"]`.
    module: Vec<String>,
    tokens: TokenStream,
}

fn sources() -> Vec<Source> {
    fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, files);
            } else if path.extension().is_some_and(|e| e == "rs") {
                files.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let source = |path: PathBuf| {
        let mut module: Vec<String> = path
            .strip_prefix(&root)
            .unwrap()
            .with_extension("")
            .iter()
            .map(|part| part.to_str().unwrap().to_owned())
            .collect();
        if module.last().is_some_and(|m| m == "mod") {
            module.pop();
        }
        let tokens = fs::read_to_string(&path).unwrap().parse().unwrap();
        Source { path, module, tokens }
    };
    files.into_iter().map(source).collect()
}

/// Calls `f` with every token, those inside groups too.
fn each_token(tokens: &TokenStream, f: &mut impl FnMut(&TokenTree)) {
    for token in tokens.clone() {
        f(&token);
        if let TokenTree::Group(group) = &token {
            each_token(&group.stream(), f);
        }
    }
}

/// The first modules, from the root of the crate, of all paths in `tokens` that begin with `crate`, `super` or `self`.
fn first_modules(tokens: &TokenStream, module: &[String], found: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    // The name of an inline `mod name { … }` whose group is to come.
    let mut inline: Option<String> = None;
    let mut i = 0;
    while let Some(token) = tokens.get(i) {
        match token {
            TokenTree::Ident(ident) if *ident == "mod" => inline = tokens.get(i + 1).map(ToString::to_string),
            TokenTree::Ident(_) => {
                let (path, end) = path(&tokens, i);
                i = end;
                if ["crate", "super", "self"].contains(&path[0].as_str()) {
                    let mut absolute = module.to_vec();
                    for name in path {
                        match name.as_str() {
                            "crate" => absolute.clear(),
                            "self" => {}
                            "super" => drop(absolute.pop()),
                            _ => absolute.push(name),
                        }
                    }
                    match (absolute.first(), tokens.get(i)) {
                        (Some(first), _) => found.push(first.clone()),
                        (None, Some(TokenTree::Group(group))) => found.extend(heads(&group.stream())),
                        // `pub(crate)` and the like.
                        (None, _) => {}
                    }
                }
                continue;
            }
            TokenTree::Group(group) => {
                let mut inner = module.to_vec();
                inner.extend(inline.take());
                first_modules(&group.stream(), &inner, found);
            }
            TokenTree::Punct(p) if p.as_char() == ';' => inline = None,
            _ => {}
        }
        i += 1;
    }
}

/// The path that begins with the identifier at `i`, and where it ends: at its group, if it has one.
fn path(tokens: &[TokenTree], mut i: usize) -> (Vec<String>, usize) {
    let colon = |i: usize| matches!(tokens.get(i), Some(TokenTree::Punct(p)) if p.as_char() == ':');
    let mut path = Vec::new();
    while let Some(TokenTree::Ident(ident)) = tokens.get(i) {
        path.push(ident.to_string());
        i += 1;
        if !(colon(i) && colon(i + 1)) {
            break;
        }
        i += 2;
    }
    (path, i)
}

/// The first identifiers of the paths of a use group.
fn heads(group: &TokenStream) -> Vec<String> {
    let mut heads = Vec::new();
    let mut expected = true;
    for token in group.clone() {
        match token {
            TokenTree::Ident(ident) if expected => {
                heads.push(ident.to_string());
                expected = false;
            }
            TokenTree::Punct(p) if p.as_char() == ',' => expected = true,
            _ => {}
        }
    }
    heads
}

/// Imports that break the order, as text.
fn upward(sources: &[Source]) -> Vec<String> {
    let allowed: BTreeMap<&str, &[&str]> = LAYERS.into();
    let mut wrong = Vec::new();
    for source in sources {
        let layer = source.module[0].as_str();
        if ROOTS.contains(&layer) {
            continue;
        }
        let Some(allowed) = allowed.get(layer) else {
            wrong.push(format!("{}: no layer is named {layer}", source.path.display()));
            continue;
        };
        let mut found = Vec::new();
        first_modules(&source.tokens, &source.module, &mut found);
        for module in found {
            let own = module == layer || allowed.contains(&module.as_str()) || MACROS.contains(&module.as_str());
            if !own {
                wrong.push(format!("{} ({layer}) imports {module}", source.path.display()));
            }
        }
    }
    wrong
}

#[test]
fn no_file_imports_a_higher_layer() {
    let sources = sources();
    assert!(sources.len() > 50, "the sources were not found");
    let wrong = upward(&sources);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn decoding_does_not_import_encoder_policy() {
    for source in sources().iter().filter(|s| ["core", "wire", "kernel", "decode"].contains(&s.module[0].as_str())) {
        let mut found = Vec::new();
        first_modules(&source.tokens, &source.module, &mut found);
        assert!(!found.iter().any(|m| m == "encode" || m == "container"), "{}", source.path.display());
    }
}

#[test]
fn only_kernels_are_unsafe() {
    for source in sources().iter().filter(|s| s.module[0] != UNSAFE) {
        each_token(&source.tokens, &mut |token| {
            let text = token.to_string();
            assert!(text != "unsafe" && text != "unsafe_code", "{}: {text}", source.path.display());
        });
    }
}

#[test]
fn the_library_does_not_name_the_packages_of_the_command() {
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let manifest: toml::Table = manifest.parse().unwrap();
    let packages: Vec<String> = manifest["features"]["cli"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p.as_str().unwrap().strip_prefix("dep:").unwrap().replace('-', "_"))
        .collect();
    assert!(packages.iter().any(|p| p == "clap"));
    for source in sources().iter().filter(|s| s.module[0] != "cli" && s.module[0] != "main") {
        each_token(&source.tokens, &mut |token| {
            let text = token.to_string();
            assert!(!packages.contains(&text), "{}: {text}", source.path.display());
        });
    }
}

/// A source of module `path` with this text.
fn example(path: &str, text: &str) -> Source {
    Source {
        path: path.into(),
        module: path.split("::").map(ToOwned::to_owned).collect(),
        tokens: text.parse().unwrap(),
    }
}

#[test]
fn upward_imports_are_found_in_every_form() {
    let wrong = [
        ("decode::chunk", "use crate::encode::plan::Plan;"),
        ("decode::chunk", "use crate::{core::bank, encode};"),
        ("decode::chunk", "fn f() { crate::encode::plan::f(); }"),
        ("decode::chunk", "use super::super::encode::plan;"),
        ("decode", "use super::encode::plan;"),
        ("decode::chunk", "mod tests { fn f() { super::super::super::encode::f() } }"),
        ("decode::chunk", "macro_rules! m { () => { $crate::stream::f() } }"),
        ("core::word", "pub(crate) use crate::wire::bits;"),
        ("container::npy", "use crate::stream::Encoder;"),
        ("stream::encoder", "use crate::cli;"),
        ("other::thing", ""),
    ];
    for (path, text) in wrong {
        assert_eq!(upward(&[example(path, text)]).len(), 1, "{path}: {text}");
    }
    let right = [
        ("decode::chunk", "use crate::{core::bank::{self, Bank}, error::{Error, Result}};"),
        ("decode::chunk", "pub(crate) struct A; pub(super) fn f() { super::parts::f() }"),
        ("decode::chunk", "mod tests { use super::*; use super::super::parts; }"),
        ("decode::chunk", "/// Unlike crate::encode::plan.\nfn f() { \"crate::encode\"; }"),
        ("stream::encoder", "use crate::encode::plan::Plan;"),
    ];
    for (path, text) in right {
        assert!(upward(&[example(path, text)]).is_empty(), "{path}: {text}");
    }
}
