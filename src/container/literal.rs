//! The Python literal in the header of an npy file: dictionaries, tuples, lists, strings, whole numbers and names.

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    /// `'…'` or `"…"`.
    Text(String),
    /// A whole number.
    Number(u64),
    /// `True`, `False`, `None`.
    Word(String),
    /// `(…)` or `[…]`.
    List(Vec<Literal>),
    /// `{…}`, in order.
    Dict(Vec<(Literal, Literal)>),
}

impl Literal {
    /// The value of a key of a dictionary.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let Self::Dict(pairs) = self else { return None };
        let found = pairs.iter().find(|(k, _)| matches!(k, Self::Text(k) if k == key));
        found.map(|(_, value)| value)
    }

    /// The members of a tuple or list.
    pub(super) fn list(&self) -> Option<&[Self]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// A whole number.
    pub(super) fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }
}

/// Deepest nesting.
const MAX_DEPTH: usize = 16;

/// Reads a literal that takes up all of `text`, white space aside; `None` for anything else.
pub(super) fn parse(text: &str) -> Option<Literal> {
    let mut parser = Parser { rest: text };
    let value = parser.value(0)?;
    parser.skip_space();
    parser.rest.is_empty().then_some(value)
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes the next character if it is `c`, after white space.
    fn take(&mut self, c: char) -> bool {
        self.skip_space();
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn value(&mut self, depth: usize) -> Option<Literal> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.skip_space();
        match self.rest.chars().next()? {
            '(' => self.list('(', ')', depth),
            '[' => self.list('[', ']', depth),
            '{' => self.dict(depth),
            quote @ ('\'' | '"') => self.text(quote),
            '0'..='9' => {
                let digits = self.span(|c| c.is_ascii_digit());
                // Python 2 wrote long integers with an L.
                self.rest = self.rest.strip_prefix('L').unwrap_or(self.rest);
                digits.parse().ok().map(Literal::Number)
            }
            'A'..='Z' => Some(Literal::Word(self.span(|c| c.is_ascii_alphabetic()))),
            _ => None,
        }
    }

    fn span(&mut self, of: impl Fn(char) -> bool) -> String {
        let end = self.rest.find(|c| !of(c)).unwrap_or(self.rest.len());
        let (front, rest) = self.rest.split_at(end);
        self.rest = rest;
        front.into()
    }

    fn text(&mut self, quote: char) -> Option<Literal> {
        let text = self.rest.strip_prefix(quote)?;
        let (text, rest) = text.split_once(quote)?;
        // Names of fields with escapes are not worth a parser of escapes.
        if text.contains('\\') {
            return None;
        }
        self.rest = rest;
        Some(Literal::Text(text.into()))
    }

    fn list(&mut self, open: char, close: char, depth: usize) -> Option<Literal> {
        let mut list = Vec::new();
        self.take(open).then_some(())?;
        while !self.take(close) {
            list.push(self.value(depth + 1)?);
            if !self.take(',') {
                self.take(close).then_some(())?;
                break;
            }
        }
        Some(Literal::List(list))
    }

    fn dict(&mut self, depth: usize) -> Option<Literal> {
        let mut pairs = Vec::new();
        self.take('{').then_some(())?;
        while !self.take('}') {
            let key = self.value(depth + 1)?;
            self.take(':').then_some(())?;
            pairs.push((key, self.value(depth + 1)?));
            if !self.take(',') {
                self.take('}').then_some(())?;
                break;
            }
        }
        Some(Literal::Dict(pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_numpy_are_literals() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4L,), }   \n";
        let header = parse(header).unwrap();
        assert_eq!(header.get("descr"), Some(&Literal::Text("<f4".into())));
        let shape = header.get("shape").and_then(Literal::list).unwrap();
        let shape: Option<Vec<_>> = shape.iter().map(Literal::number).collect();
        assert_eq!(shape, Some(vec![3, 4]));
        assert_eq!(parse("()"), Some(Literal::List(Vec::new())));
        for broken in ["", "{", "{'a'}", "(1 2)", "('a", "1)", "-1", "{'a': 1} x"] {
            assert_eq!(parse(broken), None, "{broken}");
        }
        assert_eq!(parse(&"(".repeat(100_000)), None);
    }
}
