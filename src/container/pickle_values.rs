//! Values that a pickle makes, as far as names and shapes depend on them, in flat pools: nothing here is nested, so nothing recurses.

/// Most keys of a path that are looked at; a pickle may contain itself.
const MAX_PATH: usize = 256;
/// Longest path in bytes; keys before that are left out.
const MAX_NAME: usize = 4096;

/// A value on the pickle machine's stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Value {
    /// Something that no name or shape depends on.
    #[default]
    Other,
    /// `None`.
    None,
    /// A whole number.
    Int(i64),
    /// A string.
    Text(Text),
    /// `module name`, joined with a space.
    Global(Text),
    /// A tuple, list, dictionary, object, or what a persistent id stands for.
    Node(u32),
    /// The mark below the members of a tuple, list or dictionary in the making.
    Mark,
}

/// A string of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Text {
    start: u32,
    length: u32,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A tuple; its members are `Node::items`.
    Tuple,
    /// A list or set.
    List,
    /// A dictionary.
    Dict,
    /// What a call of, or a new object of, this class gives; its only member is the tuple of arguments.
    Object(Value),
    /// What a persistent id stands for; its only member is the id.
    Persistent,
}

/// A node: its members, and where it was first put.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// What it is.
    pub(super) kind: Kind,
    items: (u32, u32),
    /// Members appended to a list.
    appended: u32,
    /// The node it belongs to, and its key there (`None` where it has no name of its own there).
    pub(super) parent: Option<(u32, Value)>,
}

/// A member of a dictionary or list, or the state of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// The dictionary, list or object.
    pub(super) parent: u32,
    /// Key; `None` for states.
    pub(super) key: Value,
    /// The member.
    pub(super) value: Value,
}

/// All values of a pickle.
#[derive(Debug, Default)]
pub(super) struct Values {
    texts: String,
    items: Vec<Value>,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    keep_edges: bool,
}

impl Values {
    /// With `keep_edges` the members of dictionaries, lists and objects are kept; names of tensors do not need them.
    pub(super) fn new(keep_edges: bool) -> Self {
        Self { keep_edges, ..Self::default() }
    }

    /// Memory in use, in bytes.
    pub(super) fn held(&self) -> usize {
        self.texts.len()
            + self.items.len() * size_of::<Value>()
            + self.nodes.len() * size_of::<Node>()
            + self.edges.len() * size_of::<Edge>()
    }

    /// Adds a string; bytes that are not UTF-8 are replaced.
    pub(super) fn add_text(&mut self, parts: &[&[u8]]) -> Option<Text> {
        let start = u32::try_from(self.texts.len()).ok()?;
        for part in parts {
            self.texts.push_str(&String::from_utf8_lossy(part));
        }
        let length = u32::try_from(self.texts.len()).ok()? - start;
        Some(Text { start, length })
    }

    /// The string.
    pub(super) fn text(&self, text: Text) -> &str {
        let start = text.start as usize;
        let end = start.saturating_add(text.length as usize);
        self.texts.get(start..end).unwrap_or_default()
    }

    /// The string that a value is.
    pub(super) fn str(&self, value: Value) -> Option<&str> {
        match value {
            Value::Text(text) => Some(self.text(text)),
            _ => None,
        }
    }

    /// The `module name` that a value is.
    pub(super) fn global(&self, value: Value) -> Option<&str> {
        match value {
            Value::Global(text) => Some(self.text(text)),
            _ => None,
        }
    }

    /// Adds a node with these members, and makes it the parent of those that have none. The members of tuples have their index as key, others none.
    pub(super) fn add_node(&mut self, kind: Kind, items: &[Value]) -> Option<u32> {
        let index = u32::try_from(self.nodes.len()).ok()?;
        let start = u32::try_from(self.items.len()).ok()?;
        let length = u32::try_from(items.len()).ok()?;
        for (i, item) in items.iter().enumerate() {
            let key = match kind {
                Kind::Tuple => Value::Int(i64::try_from(i).ok()?),
                _ => Value::None,
            };
            self.adopt(index, key, *item);
        }
        self.items.extend_from_slice(items);
        self.nodes.push(Node { kind, items: (start, length), appended: 0, parent: None });
        Some(index)
    }

    /// Makes a node the parent of a value, unless that has one.
    fn adopt(&mut self, parent: u32, key: Value, value: Value) {
        if let Value::Node(child) = value
            && let Some(child) = self.nodes.get_mut(child as usize)
            && child.parent.is_none()
        {
            child.parent = Some((parent, key));
        }
    }

    /// Puts a value into a dictionary, list or object.
    pub(super) fn put(&mut self, parent: Value, key: Value, value: Value) {
        if let Value::Node(parent) = parent {
            self.adopt(parent, key, value);
            if self.keep_edges {
                self.edges.push(Edge { parent, key, value });
            }
        }
    }

    /// Puts a value behind the members of a list.
    pub(super) fn append(&mut self, list: Value, value: Value) {
        let mut key = Value::None;
        if let Value::Node(list) = list
            && let Some(node) = self.nodes.get_mut(list as usize)
        {
            key = Value::Int(node.appended.into());
            node.appended = node.appended.wrapping_add(1);
        }
        self.put(list, key, value);
    }

    /// The node that a value is.
    pub(super) fn node(&self, value: Value) -> Option<&Node> {
        match value {
            Value::Node(index) => self.nodes.get(index as usize),
            _ => None,
        }
    }

    /// The nodes, in the order they were made.
    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// What dictionaries, lists and objects hold, in the order it was put there.
    pub(super) fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The members of a node.
    pub(super) fn items(&self, node: &Node) -> &[Value] {
        let start = node.items.0 as usize;
        let end = start.saturating_add(node.items.1 as usize);
        self.items.get(start..end).unwrap_or_default()
    }

    /// The members of a tuple.
    pub(super) fn tuple(&self, value: Value) -> Option<&[Value]> {
        let node = self.node(value)?;
        (node.kind == Kind::Tuple).then(|| self.items(node))
    }

    /// The arguments of an object, or the members of a persistent id.
    pub(super) fn arguments(&self, node: &Node) -> &[Value] {
        match (node.kind, self.items(node)) {
            (Kind::Object(_) | Kind::Persistent, [tuple]) => self.tuple(*tuple).unwrap_or_default(),
            _ => &[],
        }
    }

    /// The numbers of a tuple, also of one inside a `torch.Size`.
    pub(super) fn numbers(&self, value: Value) -> Option<Vec<u64>> {
        let node = self.node(value)?;
        let items = match (node.kind, self.arguments(node)) {
            (Kind::Tuple, _) => self.items(node),
            (Kind::Object(_), [tuple]) => self.tuple(*tuple)?,
            _ => return None,
        };
        let numbers = items.iter().map(|item| match item {
            Value::Int(n) => u64::try_from(*n).ok(),
            _ => None,
        });
        numbers.collect()
    }

    /// The keys that lead from the root to a node, joined with dots.
    ///
    /// Arguments of calls have no key of their own, and a module's `_modules`, `_parameters` and `_buffers` do not count.
    pub(super) fn path(&self, node: u32) -> String {
        let mut keys = Vec::new();
        let mut length = 0;
        let mut at = self.nodes.get(node as usize).and_then(|node| node.parent);
        for _ in 0..MAX_PATH {
            let Some((parent, key)) = at else { break };
            let parent = self.nodes.get(parent as usize);
            at = parent.and_then(|node| node.parent);
            let arguments = parent.is_some_and(|node| node.kind == Kind::Tuple) && matches!(at, Some((_, Value::None)));
            let key = match key {
                Value::Text(text) => match self.text(text) {
                    "_modules" | "_parameters" | "_buffers" => continue,
                    text => text.to_string(),
                },
                Value::Int(n) if !arguments => n.to_string(),
                _ => continue,
            };
            length += key.len() + 1;
            if length > MAX_NAME {
                break;
            }
            keys.push(key);
        }
        keys.reverse();
        keys.join(".")
    }
}
