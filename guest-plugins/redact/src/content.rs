//! Where in an answer can a secret stand? In every text of every block, deep in data, and across the end of a block.

use hames_sdk::content::{ContentBlock, ResultBlock, text_block};
use hames_sdk::prelude::*;
use hames_sdk::serde_json::{self, Map};
use regex_lite::{NoExpand, Regex};

/// What secrets look like, and what stands in their place.
pub struct Secrets {
    pub patterns: Vec<Regex>,
    pub replacement: String,
}

impl Secrets {
    /// Replaces what is found; whether anything was.
    pub fn redact(&self, content: &mut [ContentBlock]) -> bool {
        let mut found = false;
        for block in &mut *content {
            found |= self.block(block);
        }
        // A model reads blocks of text on end, whatever cut them.
        let texts = content.iter_mut().filter_map(|block| match block {
            ContentBlock::Text(block) => Some(&mut block.text),
            ContentBlock::Reasoning(_)
            | ContentBlock::ToolCall(_)
            | ContentBlock::ToolResult(_)
            | ContentBlock::Other(_) => None,
        });
        found | self.across(texts.collect())
    }

    fn block(&self, block: &mut ContentBlock) -> bool {
        match block {
            ContentBlock::Text(block) => self.text(&mut block.text) | self.extra(&mut block.extra),
            ContentBlock::Reasoning(block) => self.text(&mut block.text) | self.extra(&mut block.extra),
            ContentBlock::ToolCall(call) => self.json(&mut call.arguments) | self.extra(&mut call.extra),
            ContentBlock::ToolResult(result) => {
                let mut found = self.extra(&mut result.extra);
                for block in &mut result.content {
                    found |= self.inner(block);
                }
                let texts = result.content.iter_mut().filter_map(|block| match block {
                    ResultBlock::Text(block) => Some(&mut block.text),
                    ResultBlock::Reasoning(_) | ResultBlock::ToolCall(_) | ResultBlock::Other(_) => None,
                });
                found | self.across(texts.collect())
            }
            ContentBlock::Other(other) => {
                let found = self.json(&mut other.fields);
                if found {
                    // A kind that is another's can't be written anew, only be left or be left out.
                    *block = text_block(self.replacement.as_str());
                }
                found
            }
        }
    }

    fn inner(&self, block: &mut ResultBlock) -> bool {
        match block {
            ResultBlock::Text(block) => self.text(&mut block.text) | self.extra(&mut block.extra),
            ResultBlock::Reasoning(block) => self.text(&mut block.text) | self.extra(&mut block.extra),
            ResultBlock::ToolCall(call) => self.json(&mut call.arguments) | self.extra(&mut call.extra),
            // A result in a result travels so; the host reads it as what it is.
            ResultBlock::Other(other) => self.json(&mut other.fields),
        }
    }

    fn text(&self, text: &mut String) -> bool {
        let mut found = false;
        for pattern in &self.patterns {
            if pattern.is_match(text) {
                *text = pattern
                    .replace_all(text, NoExpand(&self.replacement))
                    .into_owned();
                found = true;
            }
        }
        found
    }

    fn extra(&self, extra: &mut Option<String>) -> bool {
        extra.as_mut().is_some_and(|extra| self.json(extra))
    }

    /// Text that is JSON, or should be. What is escaped in it is looked at as what it means.
    fn json(&self, text: &mut String) -> bool {
        let Ok(mut value) = serde_json::from_str(text) else {
            return self.text(text);
        };
        let found = self.value(&mut value);
        if found {
            *text = value.to_string();
        }
        found
    }

    fn value(&self, value: &mut Value) -> bool {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items
                .iter_mut()
                .fold(false, |found, item| found | self.value(item)),
            Value::Object(fields) => {
                let mut found = false;
                *fields = std::mem::take(fields)
                    .into_iter()
                    .map(|(mut name, mut value)| {
                        found |= self.text(&mut name) | self.value(&mut value);
                        (name, value)
                    })
                    .collect::<Map<_, _>>();
                found
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Replaces what is found in texts on end but in none alone: the replacement stands where it began.
    fn across(&self, mut texts: Vec<&mut String>) -> bool {
        if texts.len() < 2 {
            return false;
        }
        let mut found = false;
        for pattern in &self.patterns {
            let whole: String = texts.iter().map(|text| text.as_str()).collect();
            let spans: Vec<_> = pattern
                .find_iter(&whole)
                .map(|span| span.range())
                .filter(|span| !span.is_empty() && whole.get(span.clone()) != Some(self.replacement.as_str()))
                .collect();
            // From the back, so that what is ahead keeps its place.
            for span in spans.into_iter().rev() {
                found = true;
                self.cut(&mut texts, span.start, span.end);
            }
        }
        found
    }

    fn cut(&self, texts: &mut [&mut String], start: usize, end: usize) {
        let mut before = 0;
        for text in texts {
            let length = text.len();
            let (from, to) = (start.max(before), end.min(before + length));
            if from < to {
                let instead = if from == start {
                    self.replacement.as_str()
                } else {
                    ""
                };
                text.replace_range(from - before..to - before, instead);
            }
            before += length;
        }
    }
}
