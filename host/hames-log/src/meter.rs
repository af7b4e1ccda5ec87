//! How many tokens does a log's next request cost? A fold over the log, anchored at what providers counted (R-TOK).
//!
//! Texts are priced by a rule of thumb (`price`). After an answer with usage the provider's own count is the baseline,
//! and only what came or went since is estimated.

mod price;

use std::sync::Arc;

use hames_types::event::{AssistantMessage, Event, EventBody, StepMark};
use hames_types::id::{Seq, StepNo, TurnNo};
use hames_types::json::DecodeError;
use hames_types::message::Message;
use hames_types::request::RequestHeader;
use hames_types::usage::TokenUsage;

use crate::assemble::{BlockAssembler, UnclosedBlock};
use crate::error::SurfaceFault;
use crate::header::{HeaderFold, same_header};
use crate::project::message_of;
use crate::surface::{Change, Surface};

pub use price::{content_tokens, header_tokens, message_tokens};

#[cfg(test)]
mod tests;

/// Where a measurement starts from.
#[derive(Debug, Clone, PartialEq)]
pub enum Baseline {
    /// There is nothing to count.
    None,
    /// The rule of thumb, over everything.
    Estimated {
        /// Its result.
        tokens: u64,
    },
    /// A provider's count.
    Usage {
        /// Everything it counted, each token once.
        tokens: u64,
        /// As it was logged.
        usage: TokenUsage,
    },
}

impl Baseline {
    /// The tokens it starts from.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Estimated { tokens } | Self::Usage { tokens, .. } => *tokens,
        }
    }
}

/// One node of the surface and its price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeTokens {
    /// The event.
    pub seq: Seq,
    /// What it costs by the rule of thumb; 0 if it shows nothing to the model.
    pub tokens: u64,
}

/// What a log's next request costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// How many events were counted.
    pub log_revision: usize,
    /// Where the count starts from.
    pub baseline: Baseline,
    /// What came (or, below zero, went) since the baseline, by the rule of thumb.
    pub surface_delta_tokens: i64,
    /// Baseline and difference; never below zero.
    pub total_tokens: u64,
    /// The whole surface by the rule of thumb.
    pub surface_tokens: u64,
    /// The surface, node by node.
    pub nodes: Vec<NodeTokens>,
}

/// Why a log can't be measured. Measuring it again gives the same.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MeterError {
    /// Steps begin inside each other, or end without having begun.
    #[error("event {seq}: {problem}")]
    Step {
        /// The event.
        seq: Seq,
        /// What is wrong.
        problem: &'static str,
    },
    /// An answer names sources that aren't its stream.
    #[error("event {seq} names event {source_seq} as a source, which {problem}")]
    Source {
        /// The answer.
        seq: Seq,
        /// The source.
        source_seq: Seq,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// An answer's stream can't be put together.
    #[error("event {seq}: {fault}")]
    Unclosed {
        /// The answer.
        seq: Seq,
        /// What is missing.
        fault: UnclosedBlock,
    },
    /// An event doesn't fit the surface.
    #[error("event {seq}: {fault}")]
    Surface {
        /// The event.
        seq: Seq,
        /// Why.
        fault: SurfaceFault,
    },
    /// An event's payload isn't what its kind says.
    #[error("event {seq}: {fault}")]
    Payload {
        /// The event.
        seq: Seq,
        /// Why.
        fault: DecodeError,
    },
}

#[derive(Debug, Clone)]
struct OpenStep {
    at: (TurnNo, StepNo),
    /// What the surface cost when it began: the request's share of it.
    surface_tokens: u64,
}

/// The last answer.
#[derive(Debug, Clone)]
struct Anchor {
    header: Option<Arc<RequestHeader>>,
    baseline: Baseline,
    /// The surface that the baseline covers.
    surface_tokens: u64,
}

/// Follows one growing log.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    followed: usize,
    surface: Surface,
    /// Prices of the surface's nodes, in its order.
    prices: Vec<u64>,
    surface_tokens: u64,
    header: HeaderFold,
    step: Option<OpenStep>,
    anchor: Option<Anchor>,
}

impl Meter {
    /// A meter at the beginning of a log.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts the events that are new since the last time. `events` is the whole log from its first event.
    ///
    /// # Errors
    /// [`MeterError`] of the first event that can't be counted; nothing from it on is.
    pub fn follow(&mut self, events: &[Arc<Event>]) -> Result<(), MeterError> {
        for event in events.get(self.followed..).unwrap_or_default() {
            self.take(event, events)?;
            self.followed += 1;
        }
        Ok(())
    }

    /// What the next request costs; with `header` in place of the log's, if one is given.
    ///
    /// # Errors
    /// [`MeterError::Payload`] if the log's header event isn't one.
    pub fn measure(&self, header: Option<&RequestHeader>) -> Result<Measurement, MeterError> {
        let logged = self.logged_header()?;
        let header = header
            .map(|header| Arc::new(header.clone().canonical()))
            .or_else(|| logged.cloned());
        let (baseline, covered) = self.baseline(header.as_deref());
        let delta = signed(self.surface_tokens).saturating_sub(signed(covered));
        let nodes = self.surface.nodes().iter().zip(&self.prices);
        Ok(Measurement {
            log_revision: self.followed,
            total_tokens: baseline.tokens().saturating_add_signed(delta),
            baseline,
            surface_delta_tokens: delta,
            surface_tokens: self.surface_tokens,
            nodes: nodes
                .map(|(seq, tokens)| NodeTokens {
                    seq: *seq,
                    tokens: *tokens,
                })
                .collect(),
        })
    }

    /// Where to start, and how much of the surface that covers.
    fn baseline(&self, header: Option<&RequestHeader>) -> (Baseline, u64) {
        if let Some(anchor) = &self.anchor
            && same(anchor.header.as_deref(), header)
        {
            return (anchor.baseline.clone(), anchor.surface_tokens);
        }
        let baseline = match header {
            None if self.prices.is_empty() => Baseline::None,
            None => Baseline::Estimated {
                tokens: self.surface_tokens,
            },
            Some(header) => Baseline::Estimated {
                tokens: header_tokens(header).saturating_add(self.surface_tokens),
            },
        };
        (baseline, self.surface_tokens)
    }

    fn logged_header(&self) -> Result<Option<&Arc<RequestHeader>>, MeterError> {
        self.header.header().map_err(|(seq, fault)| MeterError::Payload {
            seq: *seq,
            fault: fault.clone(),
        })
    }

    /// Counts one event: looks first, changes after, so that an event that can't be counted changes nothing.
    fn take(&mut self, event: &Arc<Event>, events: &[Arc<Event>]) -> Result<(), MeterError> {
        let seq = event.seq;
        let change = self
            .surface
            .check(event.placement.as_deref(), &event.data, seq, events)
            .map_err(|fault| MeterError::Surface { seq, fault })?;
        let price = match change {
            Change::None => 0,
            Change::Push | Change::Splice { .. } => node_tokens(event)?,
        };
        let step = self.next_step(event)?;
        let anchor = match event.body() {
            Some(EventBody::AssistantMessage(message)) => {
                Some(self.anchor_at(event, message, price, events)?)
            }
            Some(_) | None => None,
        };
        self.place(&change, price);
        self.surface.commit(change, seq);
        self.header.follow(event);
        self.step = step;
        self.anchor = anchor.or(self.anchor.take());
        Ok(())
    }

    fn place(&mut self, change: &Change, price: u64) {
        match change {
            Change::None => return,
            Change::Push => self.prices.push(price),
            Change::Splice { from, to } => {
                let gone: u64 = self.prices.splice(*from..=*to, [price]).sum();
                self.surface_tokens = self.surface_tokens.saturating_sub(gone);
            }
        }
        self.surface_tokens = self.surface_tokens.saturating_add(price);
    }

    /// The step that is open after the event.
    fn next_step(&self, event: &Event) -> Result<Option<OpenStep>, MeterError> {
        let fault = |problem| {
            Err(MeterError::Step {
                seq: event.seq,
                problem,
            })
        };
        match event.body() {
            Some(EventBody::StepStart(_)) if self.step.is_some() => fault("a step begins inside another"),
            Some(EventBody::StepStart(mark)) => Ok(Some(OpenStep {
                at: place_of(mark),
                surface_tokens: self.surface_tokens,
            })),
            Some(EventBody::StepEnd(mark)) => match &self.step {
                Some(open) if open.at == place_of(mark) => Ok(None),
                Some(_) => fault("another step ends than the one that is open"),
                None => fault("a step ends that didn't begin"),
            },
            Some(_) | None => Ok(self.step.clone()),
        }
    }

    /// The anchor an answer sets (R-TOK-3, R-TOK-4).
    fn anchor_at(
        &self,
        event: &Event,
        message: &AssistantMessage,
        durable_tokens: u64,
        events: &[Arc<Event>],
    ) -> Result<Anchor, MeterError> {
        let step = self
            .step
            .as_ref()
            .filter(|open| open.at == (message.turn, message.step));
        let Some(step) = step else {
            return Err(MeterError::Step {
                seq: event.seq,
                problem: "an answer stands outside of its step",
            });
        };
        let header = self.logged_header()?.cloned();
        let usage = message.usage.as_ref().filter(|_| header.is_some());
        // Without a count to compare with, the message as it is stored is all there is to price.
        let answer_tokens = match usage {
            Some(_) => provider_tokens(event, step, durable_tokens, events)?,
            None => durable_tokens,
        };
        let surface_tokens = step.surface_tokens.saturating_add(answer_tokens);
        let estimated = header
            .as_deref()
            .map_or(0, header_tokens)
            .saturating_add(surface_tokens);
        let baseline = match usage {
            Some(usage) if usage.total_tokens() >= estimated => Baseline::Usage {
                tokens: usage.total_tokens(),
                usage: usage.clone(),
            },
            Some(_) | None => Baseline::Estimated { tokens: estimated },
        };
        Ok(Anchor {
            header,
            baseline,
            surface_tokens,
        })
    }
}

/// What the provider's answer costs as it was streamed: that is what its count is about, whatever was stored.
fn provider_tokens(
    event: &Event,
    step: &OpenStep,
    durable_tokens: u64,
    events: &[Arc<Event>],
) -> Result<u64, MeterError> {
    let sources = event
        .placement
        .as_deref()
        .and_then(|placement| placement.sources.as_deref());
    let Some(sources) = sources else {
        return Ok(durable_tokens);
    };
    let mut assembler = BlockAssembler::new();
    for source in sources {
        let fault = |problem| MeterError::Source {
            seq: event.seq,
            source_seq: *source,
            problem,
        };
        // That it is named once and stands earlier was asked when the event was placed.
        match events.get(source.index()).and_then(|source| source.body()) {
            Some(EventBody::AssistantChunk(chunk)) if step.at == (chunk.turn, chunk.step) => {
                assembler.push(&chunk.chunk);
            }
            Some(EventBody::AssistantChunk(_)) => return Err(fault("belongs to another step")),
            Some(_) | None => return Err(fault("is no piece of a stream")),
        }
    }
    let assembled = assembler.finish().map_err(|fault| MeterError::Unclosed {
        seq: event.seq,
        fault,
    })?;
    // Nothing said is nothing sent, as on the surface.
    let message = Message::assistant(assembled.content, None);
    Ok(if message.content.is_empty() {
        0
    } else {
        message_tokens(&message)
    })
}

fn node_tokens(event: &Event) -> Result<u64, MeterError> {
    match message_of(event) {
        Ok(message) => Ok(message.map_or(0, |message| message_tokens(&message))),
        Err(fault) => Err(MeterError::Payload {
            seq: event.seq,
            fault,
        }),
    }
}

fn place_of(mark: &StepMark) -> (TurnNo, StepNo) {
    (mark.turn, mark.step)
}

fn same(a: Option<&RequestHeader>, b: Option<&RequestHeader>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => same_header(a, b),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn signed(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}
