//! Messages, where they came from, and histories of them.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use smol_str::SmolStr;

use crate::content::Content;
use crate::id::{ModelId, ProviderId};
use crate::json::{DecodeError, Extra, FromJson, Json, NotLossless, check_items, record, words};
use crate::open::open_sum;

words! {
    /// Who speaks. Tool results travel in user messages.
    Role("a message's role") {
        /// Instructions.
        System = "system",
        /// The person, a plugin on the person's behalf, or a tool.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}

record! {
    /// Which route produced an assistant message.
    Provenance {
        /// The provider route.
        provider: ProviderId = "provider",
        /// The model asked for.
        model: ModelId = "model",
        /// What the adapter needs to send this message back unchanged. Shown only to that adapter.
        replay_state: Option<Json> = "replayState",
    }
}

impl Provenance {
    /// Provenance without replay state.
    #[must_use]
    pub fn of(provider: ProviderId, model: ModelId) -> Self {
        Self {
            provider,
            model,
            replay_state: None,
            extra: Extra::NONE,
        }
    }
}

record! {
    /// One message of a conversation.
    Message {
        /// Who speaks.
        role: Role = "role",
        /// What is said.
        content: Content = "content",
        /// Present on assistant messages that an adapter produced.
        provenance: Option<Arc<Provenance>> = "provenance",
    }
}

impl Message {
    /// A user message.
    #[must_use]
    pub fn user(content: Content) -> Self {
        Self {
            role: Role::User,
            content,
            provenance: None,
            extra: Extra::NONE,
        }
    }

    /// What the adapter that produced it needs to send it back unchanged.
    #[must_use]
    pub fn replay_state(&self) -> Option<&Json> {
        self.provenance
            .as_ref()
            .and_then(|provenance| provenance.replay_state.as_ref())
    }

    /// An assistant message.
    #[must_use]
    pub fn assistant(content: Content, provenance: Option<Arc<Provenance>>) -> Self {
        Self {
            role: Role::Assistant,
            content,
            provenance,
            extra: Extra::NONE,
        }
    }
}

record! {
    /// No fields of its own: a kind that says everything by its tag.
    Plain {}
}

impl Plain {
    /// Without unknown fields.
    pub const NEW: Self = Self { extra: Extra::NONE };
}

record! {
    /// The plugin a message came from.
    PluginSource {
        /// The plugin's name.
        plugin: SmolStr = "plugin",
    }
}

open_sum! {
    /// Where a message or an injected context came from.
    MessageSource("message source", "kind") {
        /// A person, directly. Policies may take this as authority, so nothing else may say it.
        User(Plain) = "user",
        /// A plugin.
        Plugin(PluginSource) = "plugin",
    }
}

impl MessageSource {
    /// A person, directly.
    pub const USER: Self = Self::User(Plain::NEW);

    /// A plugin.
    #[must_use]
    pub fn plugin(name: impl Into<SmolStr>) -> Self {
        Self::Plugin(PluginSource {
            plugin: name.into(),
            extra: Extra::NONE,
        })
    }
}

/// A conversation's messages, shared: a clone costs the same however long the history is, and so does a push.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    messages: imbl::Vector<Arc<Message>>,
    /// How many of them carry replay state, so that asking needs no walk.
    replayable: usize,
}

impl History {
    /// No messages.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the newest message.
    pub fn push(&mut self, message: Arc<Message>) {
        self.replayable += usize::from(message.replay_state().is_some());
        self.messages.push_back(message);
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Message>> + ExactSizeIterator {
        self.messages.iter()
    }

    /// The message at `index`, oldest first.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&Arc<Message>> {
        self.messages.get(index)
    }

    /// This history with `tail` behind it.
    #[must_use]
    pub fn followed_by(mut self, tail: &Self) -> Self {
        self.messages.append(tail.messages.clone());
        self.replayable += tail.replayable;
        self
    }

    /// This history with the replay state of every message removed to which `keeps` says no. Free of charge when
    /// none carries any.
    #[must_use]
    pub fn without_replay_state(mut self, keeps: impl Fn(&Provenance) -> bool) -> Self {
        if self.replayable == 0 {
            return self;
        }
        for message in &mut self.messages {
            let Some(provenance) = message
                .provenance
                .as_ref()
                .filter(|from| from.replay_state.is_some())
            else {
                continue;
            };
            if !keeps(provenance) {
                let mut bare = Message::clone(message);
                bare.provenance = Some(Arc::new(Provenance {
                    replay_state: None,
                    ..Provenance::clone(provenance)
                }));
                *message = Arc::new(bare);
                self.replayable -= 1;
            }
        }
        self
    }
}

impl FromIterator<Arc<Message>> for History {
    fn from_iter<I: IntoIterator<Item = Arc<Message>>>(messages: I) -> Self {
        let messages: imbl::Vector<_> = messages.into_iter().collect();
        let replayable = messages
            .iter()
            .filter(|message| message.replay_state().is_some())
            .count();
        Self { messages, replayable }
    }
}

impl Serialize for History {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.messages.iter())
    }
}

impl FromJson for History {
    fn from_json(value: Json) -> Result<Self, DecodeError> {
        Vec::<Arc<Message>>::from_json(value).map(|messages| messages.into_iter().collect())
    }

    fn check_lossless_at(&self, depth: usize) -> Result<(), NotLossless> {
        check_items(self.messages.iter(), depth)
    }
}
