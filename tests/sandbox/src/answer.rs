//! What does an answer look like in a guest's memory? Built byte by byte, so that it can lie.

/// Where built answers stand.
const BASE: usize = 16_384;

/// Bytes of a block, of a context.
const BLOCK: usize = 40;
const CONTEXT: usize = 60;

/// Memory from `BASE` on.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    bytes: Vec<u8>,
}

/// Who a context says it is from.
#[derive(Debug, Clone, Copy)]
pub enum From {
    /// The person.
    User,
    /// A plugin.
    Plugin(&'static str),
}

/// Address and length.
pub type Slice = (u32, u32);

impl Answer {
    /// Puts bytes somewhere.
    pub fn put(&mut self, bytes: &[u8]) -> Slice {
        while !self.bytes.len().is_multiple_of(8) {
            self.bytes.push(0);
        }
        let at = BASE + self.bytes.len();
        self.bytes.extend(bytes);
        (number(at), number(bytes.len()))
    }

    /// A text block.
    pub fn text(&mut self, text: &[u8]) -> Vec<u8> {
        let text = self.put(text);
        block(0, &[pair(text), none()])
    }

    /// A text block with unknown fields.
    pub fn text_with(&mut self, text: &[u8], extra: &[u8]) -> Vec<u8> {
        let (text, extra) = (self.put(text), self.put(extra));
        block(0, &[pair(text), some(extra)])
    }

    /// A block of an unknown kind.
    pub fn other(&mut self, kind: &str, fields: &str) -> Vec<u8> {
        let (kind, fields) = (self.put(kind.as_bytes()), self.put(fields.as_bytes()));
        block(4, &[pair(kind), pair(fields)])
    }

    /// A context.
    pub fn context(&mut self, from: From, meta: Option<&str>) -> Vec<u8> {
        let text = self.text(b"context");
        let content = self.list(&[text]);
        let mut bytes = pair(content);
        match from {
            From::User => {
                bytes.extend([0, 0, 0, 0]);
                bytes.extend(none());
                bytes.extend([0; 8]);
            }
            From::Plugin(name) => {
                let name = self.put(name.as_bytes());
                bytes.extend([1, 0, 0, 0]);
                bytes.extend(pair(name));
                bytes.extend(none());
            }
        }
        // No placement.
        bytes.extend([0, 0, 0, 0]);
        match meta {
            Some(meta) => bytes.extend(some(self.put(meta.as_bytes()))),
            None => bytes.extend(none()),
        }
        bytes.extend(none());
        debug_assert_eq!(bytes.len(), CONTEXT, "a context has a fixed size");
        bytes
    }

    /// A list of values.
    pub fn list(&mut self, values: &[Vec<u8>]) -> Slice {
        let (at, _) = self.put(&values.concat());
        (at, number(values.len()))
    }

    /// A success. Gives the address.
    pub fn success(&mut self, content: Slice, meta: Option<Slice>, contexts: Slice) -> u32 {
        let mut bytes = vec![0; 8];
        bytes.extend(pair(content));
        bytes.extend(meta.map_or_else(none, some));
        bytes.extend(pair(contexts));
        self.put(&bytes).0
    }

    /// A success with these blocks.
    pub fn blocks(&mut self, blocks: &[Vec<u8>]) -> u32 {
        let content = self.list(blocks);
        self.success(content, None, (0, 0))
    }

    /// A success with private state.
    pub fn with_meta(&mut self, meta: &[u8]) -> u32 {
        let meta = self.put(meta);
        self.success((0, 0), Some(meta), (0, 0))
    }

    /// The memory as a data segment.
    #[must_use]
    pub fn data(&self) -> String {
        let bytes: String = self.bytes.iter().map(|byte| format!("\\{byte:02x}")).collect();
        format!("(data (i32.const {BASE}) \"{bytes}\")")
    }
}

fn number(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

fn block(case: u8, parts: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![case, 0, 0, 0];
    bytes.extend(parts.concat());
    bytes.resize(BLOCK, 0);
    bytes
}

fn pair((at, len): Slice) -> Vec<u8> {
    [at.to_le_bytes(), len.to_le_bytes()].concat()
}

fn none() -> Vec<u8> {
    vec![0; 12]
}

fn some(slice: Slice) -> Vec<u8> {
    let mut bytes = vec![1, 0, 0, 0];
    bytes.extend(pair(slice));
    bytes
}
