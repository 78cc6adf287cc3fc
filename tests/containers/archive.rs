//! Writers of small zip archives and pickles, with all the ways in which the real ones differ.

/// How records are written.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Sizes {
    /// In the local header.
    Header,
    /// In the extra field of the local header.
    Extra,
    /// In a descriptor behind the contents.
    Descriptor,
    /// In a descriptor with numbers of 64 bits.
    WideDescriptor,
}

/// A zip archive in the making.
pub(crate) struct Archive {
    pub(crate) bytes: Vec<u8>,
    directory: Vec<u8>,
    records: u16,
    pub(crate) sizes: Sizes,
    /// Align contents to 64 bytes, as torch does.
    pub(crate) align: bool,
}

impl Archive {
    pub(crate) fn new(sizes: Sizes) -> Self {
        Self { bytes: Vec::new(), directory: Vec::new(), records: 0, sizes, align: true }
    }

    pub(crate) fn add(&mut self, name: &str, data: &[u8]) {
        self.add_as(name, 0, data);
    }

    /// Adds a record with that compression method.
    pub(crate) fn add_as(&mut self, name: &str, method: u16, data: &[u8]) {
        let size = data.len() as u64;
        self.start(name, method, size);
        self.bytes.extend(data);
        self.end(size);
    }

    /// Writes the local header, and the entry of the directory.
    pub(crate) fn start(&mut self, name: &str, method: u16, size: u64) {
        let descriptor = matches!(self.sizes, Sizes::Descriptor | Sizes::WideDescriptor);
        let mut extra = Vec::new();
        if matches!(self.sizes, Sizes::Extra | Sizes::WideDescriptor) {
            let size = if descriptor { 0 } else { size };
            extra.extend([1, 0, 16, 0]);
            extra.extend(size.to_le_bytes().repeat(2));
        }
        if self.align {
            let end = self.bytes.len() + 30 + name.len() + extra.len() + 4;
            let pad = (end.next_multiple_of(64) - end) as u16;
            extra.extend(b"FB");
            extra.extend(pad.to_le_bytes());
            extra.extend(vec![b'Z'; pad.into()]);
        }
        let flags: u16 = if descriptor { 0x0808 } else { 0x0800 };
        let small = match self.sizes {
            Sizes::Header => size as u32,
            Sizes::Descriptor => 0,
            _ => u32::MAX,
        };
        let mut header = b"PK\x03\x04\0\0".to_vec();
        header.extend(flags.to_le_bytes());
        header.extend(method.to_le_bytes());
        header.extend([0; 8]);
        header.extend(small.to_le_bytes().repeat(2));
        header.extend((name.len() as u16).to_le_bytes());
        header.extend((extra.len() as u16).to_le_bytes());
        self.directory.extend(b"PK\x01\x02\0\0");
        self.directory.extend(&header[4..28]);
        self.directory.extend([0; 16]);
        self.directory.extend(name.as_bytes());
        self.records += 1;
        self.bytes.extend(header);
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(extra);
    }

    /// Writes the descriptor.
    pub(crate) fn end(&mut self, size: u64) {
        match self.sizes {
            Sizes::Descriptor => {
                self.bytes.extend(b"PK\x07\x08crc!");
                self.bytes.extend((size as u32).to_le_bytes().repeat(2));
            }
            Sizes::WideDescriptor => {
                self.bytes.extend(b"PK\x07\x08crc!");
                self.bytes.extend(size.to_le_bytes().repeat(2));
            }
            _ => {}
        }
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.extend(&self.directory);
        let mut end = b"PK\x06\x06".to_vec();
        end.extend(44u64.to_le_bytes());
        end.extend([0; 44]);
        end.extend(b"PK\x06\x07");
        end.extend([0; 16]);
        end.extend(b"PK\x05\x06\0\0\0\0");
        end.extend(self.records.to_le_bytes().repeat(2));
        end.extend([0; 8]);
        end.extend([3, 0]);
        end.extend(b"end");
        self.bytes.extend(end);
        self.bytes
    }
}

/// A pickle in the making, of protocol 2.
pub(crate) struct Pickle(pub(crate) Vec<u8>);

/// A tensor in a pickle: storage class, key, items of the storage, then offset, shape and strides of the tensor.
pub(crate) struct Tensor<'a> {
    pub(crate) class: &'a str,
    pub(crate) key: &'a str,
    pub(crate) count: u32,
    pub(crate) offset: u32,
    pub(crate) shape: &'a [u32],
    pub(crate) strides: &'a [u32],
}

impl Pickle {
    pub(crate) fn new() -> Self {
        Self(vec![0x80, 2])
    }

    pub(crate) fn op(&mut self, code: &[u8]) -> &mut Self {
        self.0.extend(code);
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.op(b"X").op(&(text.len() as u32).to_le_bytes());
        self.op(text.as_bytes())
    }

    pub(crate) fn int(&mut self, n: u32) -> &mut Self {
        self.op(b"J").op(&n.to_le_bytes())
    }

    pub(crate) fn ints(&mut self, numbers: &[u32]) -> &mut Self {
        self.op(b"(");
        for n in numbers {
            self.int(*n);
        }
        self.op(b"t")
    }

    pub(crate) fn tensor(&mut self, tensor: &Tensor<'_>) -> &mut Self {
        self.op(b"ctorch._utils\n_rebuild_tensor_v2\n((");
        self.text("storage");
        self.op(format!("ctorch\n{}\n", tensor.class).as_bytes());
        self.text(tensor.key).text("cpu").int(tensor.count);
        self.op(b"tQ").int(tensor.offset);
        self.ints(tensor.shape).ints(tensor.strides);
        self.op(b"\x89ccollections\nOrderedDict\n)RtR")
    }

    /// A float vector that is all of its storage.
    pub(crate) fn vector(&mut self, key: &str, count: u32) -> &mut Self {
        self.tensor(&Tensor { class: "FloatStorage", key, count, offset: 0, shape: &[count], strides: &[1] })
    }
}

/// A dictionary with one float vector for each name, in storages 0, 1, ….
pub(crate) fn vectors(names: &[(&str, u32)]) -> Vec<u8> {
    let mut pickle = Pickle::new();
    pickle.op(b"}(");
    for (i, (name, count)) in names.iter().enumerate() {
        pickle.text(name).vector(&i.to_string(), *count);
    }
    pickle.op(b"u.");
    pickle.0
}
