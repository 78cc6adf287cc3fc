//! Pickles, walked without being executed: opcodes of protocols 0 to 5 (Python's pickletools), values only where names, shapes and sizes depend on them.

use super::pickle_argument::{Argument, argument};
use super::pickle_values::{Kind, Value, Values};
use super::walk::{Advance, Walk};

/// Numbers of the memo may leave out so many.
const MAX_MEMO_GAP: usize = 4096;

/// What walking on has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PickleStep {
    /// So many bytes of opcodes.
    Opcodes(u64),
    /// So many bytes of a long string, which may hold anything: arrays of numpy are stored so.
    Payload(u64),
    /// So many bytes must be at hand.
    Need(usize),
    /// The last so many bytes.
    Done(u64),
    /// This is no pickle, or one that takes too much memory.
    Surprise,
}

/// The machine.
pub(super) struct Pickle {
    walk: Walk,
    stack: Vec<Value>,
    memo: Vec<Value>,
    /// Places of the marks on the stack.
    marks: Vec<usize>,
    /// Bytes of the long string that comes next.
    payload: u64,
    /// Most memory to use, in bytes.
    held: usize,
    pub(super) values: Values,
    /// What the pickle is, once it is done.
    pub(super) root: Value,
}

impl Pickle {
    /// A machine at the start of a pickle; see [`Values::new`].
    pub(super) fn new(held: usize, keep_edges: bool) -> Self {
        Self {
            walk: Walk::default(),
            stack: Vec::new(),
            memo: Vec::new(),
            marks: Vec::new(),
            payload: 0,
            held,
            values: Values::new(keep_edges),
            root: Value::Other,
        }
    }

    /// Walks on over `input`, the bytes behind those it took before.
    pub(super) fn step(&mut self, input: &[u8]) -> PickleStep {
        if self.payload > 0 {
            return PickleStep::Payload(std::mem::take(&mut self.payload));
        }
        let mut walk = std::mem::take(&mut self.walk);
        let advance = walk.step(input, usize::MAX, |rest| self.look(rest));
        self.walk = walk;
        match advance {
            Advance::Done(n) if self.payload == 0 => PickleStep::Done(n),
            Advance::Done(n) | Advance::Took(n) => PickleStep::Opcodes(n),
            Advance::Need(n) => PickleStep::Need(n),
            Advance::Surprise => PickleStep::Surprise,
        }
    }

    /// One opcode.
    fn look(&mut self, input: &[u8]) -> Advance {
        let Some((&code, rest)) = input.split_first() else {
            return Advance::Need(1);
        };
        let (argument, length) = match argument(code, rest) {
            Ok(found) => found,
            Err(advance) => return advance,
        };
        if code == b'.' {
            self.root = self.pop().unwrap_or_default();
            self.stack = Vec::new();
            self.memo = Vec::new();
            return Advance::Done(1);
        }
        let held = (self.stack.len() + self.memo.len()) * size_of::<Value>()
            + self.marks.len() * size_of::<usize>()
            + self.values.held();
        if held > self.held || self.execute(code, argument).is_none() {
            return Advance::Surprise;
        }
        match argument {
            Argument::Payload(n) if n > 0 => {
                self.payload = n;
                Advance::Done(1 + length)
            }
            _ => Advance::Took(1 + length),
        }
    }

    fn execute(&mut self, code: u8, argument: Argument<'_>) -> Option<()> {
        let number = match argument {
            Argument::Int(n) => Some(n),
            _ => None,
        };
        match code {
            // PROTO, FRAME, READONLY_BUFFER
            0x80 | 0x95 | 0x98 => {}
            b'(' => {
                self.marks.push(self.stack.len());
                self.push(Value::Mark);
            }
            // POP: a mark too
            b'0' => {
                if self.stack.pop()? == Value::Mark {
                    self.marks.pop();
                }
            }
            // POP_MARK
            b'1' => {
                self.pop_mark()?;
            }
            // DUP
            b'2' => self.push(self.top()?),
            b'N' => self.push(Value::None),
            // INT, LONG, BININT, BININT1, BININT2, LONG1, LONG4
            b'I' | b'L' | b'J' | b'K' | b'M' | 0x8a | 0x8b => {
                self.push(number.map_or(Value::Other, Value::Int));
            }
            // STRING, UNICODE, BINSTRING, SHORT_BINSTRING, BINUNICODE, SHORT_BINUNICODE, BINUNICODE8
            b'S' | b'V' | b'T' | b'U' | b'X' | 0x8c | 0x8d => {
                let value = match argument {
                    Argument::Text(text) => Value::Text(self.values.add_text(&[text])?),
                    _ => Value::Other,
                };
                self.push(value);
            }
            // NEWTRUE, NEWFALSE
            0x88 => self.push(Value::Int(1)),
            0x89 => self.push(Value::Int(0)),
            // FLOAT, BINFLOAT, BINBYTES, SHORT_BINBYTES, BINBYTES8, BYTEARRAY8, PERSID, EXT1, EXT2, EXT4, NEXT_BUFFER
            b'F' | b'G' | b'B' | b'C' | 0x8e | 0x96 | b'P' | 0x82..=0x84 | 0x97 => {
                self.push(Value::Other);
            }
            // EMPTY_LIST, EMPTY_SET, EMPTY_TUPLE, EMPTY_DICT
            b']' | 0x8f => self.push_node(Kind::List, &[])?,
            b')' => self.push_node(Kind::Tuple, &[])?,
            b'}' => self.push_node(Kind::Dict, &[])?,
            // TUPLE, TUPLE1, TUPLE2, TUPLE3
            b't' => {
                let items = self.pop_mark()?;
                self.push_node(Kind::Tuple, &items)?;
            }
            0x85 => {
                let items = self.pop_array::<1>()?;
                self.push_node(Kind::Tuple, &items)?;
            }
            0x86 => {
                let items = self.pop_array::<2>()?;
                self.push_node(Kind::Tuple, &items)?;
            }
            0x87 => {
                let items = self.pop_array::<3>()?;
                self.push_node(Kind::Tuple, &items)?;
            }
            // LIST, FROZENSET, DICT
            b'l' | 0x91 => {
                let items = self.pop_mark()?;
                self.push_node(Kind::List, &[])?;
                self.append(&items)?;
            }
            b'd' => {
                let items = self.pop_mark()?;
                self.push_node(Kind::Dict, &[])?;
                self.set(&items)?;
            }
            // APPEND, APPENDS, ADDITEMS, SETITEM, SETITEMS
            b'a' => {
                let items = self.pop_array::<1>()?;
                self.append(&items)?;
            }
            b'e' | 0x90 => {
                let items = self.pop_mark()?;
                self.append(&items)?;
            }
            b's' => {
                let items = self.pop_array::<2>()?;
                self.set(&items)?;
            }
            b'u' => {
                let items = self.pop_mark()?;
                self.set(&items)?;
            }
            // PUT, BINPUT, LONG_BINPUT, MEMOIZE
            b'p' | b'q' | b'r' => self.memoize(usize::try_from(number?).ok()?)?,
            0x94 => self.memoize(self.memo.len())?,
            // GET, BINGET, LONG_BINGET
            b'g' | b'h' | b'j' => {
                let value = *self.memo.get(usize::try_from(number?).ok()?)?;
                self.push(value);
            }
            // GLOBAL, INST, STACK_GLOBAL
            b'c' | b'i' => {
                let Argument::Lines(module, name) = argument else {
                    return None;
                };
                let class = Value::Global(self.values.add_text(&[module, b" ", name])?);
                if code == b'c' {
                    self.push(class);
                } else {
                    let items = self.pop_mark()?;
                    self.push_object(class, &items)?;
                }
            }
            0x93 => {
                let [module, name] = self.pop_array()?;
                let (module, name) = (self.values.str(module)?, self.values.str(name)?);
                let name = format!("{module} {name}");
                let name = self.values.add_text(&[name.as_bytes()])?;
                self.push(Value::Global(name));
            }
            // OBJ
            b'o' => {
                let items = self.pop_mark()?;
                let (class, arguments) = items.split_first()?;
                self.push_object(*class, arguments)?;
            }
            // REDUCE, NEWOBJ, NEWOBJ_EX
            b'R' | 0x81 => {
                let [class, arguments] = self.pop_array()?;
                self.push_node(Kind::Object(class), &[arguments])?;
            }
            0x92 => {
                let [class, arguments, _] = self.pop_array()?;
                self.push_node(Kind::Object(class), &[arguments])?;
            }
            // BUILD
            b'b' => {
                let state = self.pop()?;
                self.values.put(self.top()?, Value::None, state);
            }
            // BINPERSID
            b'Q' => {
                let id = self.pop()?;
                self.push_node(Kind::Persistent, &[id])?;
            }
            _ => return None,
        }
        Some(())
    }

    fn push(&mut self, value: Value) {
        self.stack.push(value);
    }

    fn push_node(&mut self, kind: Kind, items: &[Value]) -> Option<()> {
        let node = self.values.add_node(kind, items)?;
        self.push(Value::Node(node));
        Some(())
    }

    fn push_object(&mut self, class: Value, arguments: &[Value]) -> Option<()> {
        let arguments = self.values.add_node(Kind::Tuple, arguments)?;
        self.push_node(Kind::Object(class), &[Value::Node(arguments)])
    }

    /// The value on top; `None` also for a mark.
    fn top(&self) -> Option<Value> {
        self.stack.last().copied().filter(|v| *v != Value::Mark)
    }

    fn pop(&mut self) -> Option<Value> {
        let top = self.top();
        if top.is_some() {
            self.stack.pop();
        }
        top
    }

    /// The topmost `N` values, in the order they were pushed.
    fn pop_array<const N: usize>(&mut self) -> Option<[Value; N]> {
        let mut values = [Value::Other; N];
        for value in values.iter_mut().rev() {
            *value = self.pop()?;
        }
        Some(values)
    }

    /// The values above the topmost mark; the mark goes too.
    fn pop_mark(&mut self) -> Option<Vec<Value>> {
        let mark = self.marks.pop()?;
        let items = self.stack.split_off((mark + 1).min(self.stack.len()));
        self.stack.truncate(mark);
        Some(items)
    }

    /// Puts values into the list on top.
    fn append(&mut self, items: &[Value]) -> Option<()> {
        let list = self.top()?;
        for item in items {
            self.values.append(list, *item);
        }
        Some(())
    }

    /// Puts keys and values into the dictionary on top.
    fn set(&mut self, items: &[Value]) -> Option<()> {
        let dict = self.top()?;
        for pair in items.chunks_exact(2) {
            if let [key, value] = pair {
                self.values.put(dict, *key, *value);
            }
        }
        Some(())
    }

    fn memoize(&mut self, at: usize) -> Option<()> {
        let value = self.top()?;
        if at >= self.memo.len() {
            if at - self.memo.len() > MAX_MEMO_GAP {
                return None;
            }
            self.memo.resize(at + 1, Value::Other);
        }
        *self.memo.get_mut(at)? = value;
        Some(())
    }
}
