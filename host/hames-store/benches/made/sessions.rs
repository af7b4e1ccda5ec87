//! Sessions made for measuring: streams of equal deltas, and one with varied text and tools.

#![expect(dead_code, reason = "each benchmark measures some of them")]

use std::sync::Arc;

use hames_types::chunk::{FinishReason, StreamChunk};
use hames_types::content::{Content, ContentBlock};
use hames_types::event::{
    AssistantChunk, AssistantMessage, Event, EventBody, EventData, Placement, StepMark, SurfaceOp,
    ToolCallEvent, ToolResultEvent, TurnEnd, TurnStart, UserMessage,
};
use hames_types::id::{CallId, ModelId, ProviderId, Seq, StepNo, TurnNo};
use hames_types::json::Extra;
use hames_types::message::{MessageSource, Plain, Provenance};
use hames_types::turn::{TurnEndReason, TurnTrigger};

/// A log as it grows.
#[derive(Default)]
pub(crate) struct Growing {
    pub(crate) events: Vec<Arc<Event>>,
}

impl Growing {
    pub(crate) fn push(&mut self, body: EventBody, placement: Option<Placement>) -> Seq {
        let seq = Seq::at(self.events.len());
        self.events.push(Arc::new(Event {
            seq,
            time_ms: 1_700_000_000_000 + seq.get() * 7,
            data: EventData::Typed(body),
            placement: placement.map(Box::new),
        }));
        seq
    }

    pub(crate) fn chunk(&mut self, turn: TurnNo, step: StepNo, chunk: StreamChunk) -> Seq {
        let body = AssistantChunk {
            turn,
            step,
            chunk,
            extra: Extra::NONE,
        };
        self.push(EventBody::AssistantChunk(body), None)
    }

    pub(crate) fn begin(&mut self, turn: TurnNo, prompt: &str) {
        let start = TurnStart {
            turn,
            trigger: TurnTrigger::message(MessageSource::User(Plain::NEW)),
            extra: Extra::NONE,
        };
        self.push(EventBody::TurnStart(start), None);
        let message = UserMessage {
            content: Content::text(prompt),
            source: MessageSource::User(Plain::NEW),
            envelope: None,
            extra: Extra::NONE,
        };
        self.push(EventBody::UserMessage(message), Some(appended(None)));
    }

    pub(crate) fn mark(turn: TurnNo, step: StepNo) -> StepMark {
        StepMark {
            turn,
            step,
            extra: Extra::NONE,
        }
    }

    /// One block of text, streamed in these pieces; gives the chunks' numbers.
    pub(crate) fn text(&mut self, turn: TurnNo, step: StepNo, index: u64, pieces: &[String]) -> Vec<Seq> {
        let mut sources = vec![self.chunk(turn, step, StreamChunk::block_start(index, "text"))];
        for piece in pieces {
            sources.push(self.chunk(turn, step, StreamChunk::text_delta(index, piece.as_str())));
        }
        let block = ContentBlock::text(pieces.concat());
        sources.push(self.chunk(turn, step, StreamChunk::block_end(index, block)));
        sources
    }

    pub(crate) fn answer(&mut self, turn: TurnNo, step: StepNo, content: Content, mut sources: Vec<Seq>) {
        sources.push(self.chunk(turn, step, StreamChunk::finish(FinishReason::STOP, None)));
        let message = AssistantMessage {
            turn,
            step,
            content,
            provenance: Arc::new(Provenance::of(ProviderId::new("mock"), ModelId::new("m1"))),
            usage: None,
            extra: Extra::NONE,
        };
        self.push(
            EventBody::AssistantMessage(Box::new(message)),
            Some(appended(Some(sources))),
        );
    }

    pub(crate) fn end(&mut self, turn: TurnNo) {
        let end = TurnEnd {
            turn,
            reason: TurnEndReason::Completed(Plain::NEW),
            extra: Extra::NONE,
        };
        self.push(EventBody::TurnEnd(end), None);
    }

    /// A turn of one step whose answer is text in these pieces.
    pub(crate) fn turn(&mut self, turn: TurnNo, prompt: &str, pieces: &[String]) {
        self.begin(turn, prompt);
        let step = StepNo::FIRST;
        self.push(EventBody::StepStart(Self::mark(turn, step)), None);
        let sources = self.text(turn, step, 0, pieces);
        self.answer(turn, step, Content::text(pieces.concat()), sources);
        self.push(EventBody::StepEnd(Self::mark(turn, step)), None);
        self.end(turn);
    }
}

pub(crate) fn appended(sources: Option<Vec<Seq>>) -> Placement {
    Placement {
        op: SurfaceOp::Append,
        sources: sources.map(Vec::into_boxed_slice),
    }
}

/// One turn with a stream of `chunks` deltas of four characters.
pub(crate) fn stream(chunks: usize) -> Vec<Arc<Event>> {
    let mut log = Growing::default();
    log.turn(TurnNo::FIRST, "say much", &vec!["abcd".to_owned(); chunks]);
    log.events
}

/// Turns of fifty events, most of them deltas.
pub(crate) fn chunky(turns: usize) -> Vec<Arc<Event>> {
    let mut log = Growing::default();
    let pieces = vec!["abcd".to_owned(); 41];
    for turn in 1..=turns as u64 {
        log.turn(TurnNo::new(turn), "say a little", &pieces);
    }
    log.events
}

/// Words as a person and a model use them: few of them often, most of them seldom.
struct Words(u64);

impl Words {
    fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn word(&mut self) -> String {
        const PARTS: [&str; 24] = [
            "the", "in", "re", "con", "file", "an", "to", "er", "ing", "test", "al", "is", "on", "ver",
            "line", "or", "at", "ion", "ex", "of", "per", "code", "un", "st",
        ];
        // The product of two draws favours small numbers, so that words repeat as in speech.
        let rank = (self.draw() % 60) * (self.draw() % 60);
        let mut word = String::new();
        let mut rest = rank;
        while word.is_empty() || rest > 0 {
            word.push_str(PARTS.get(usize::try_from(rest % 24).unwrap_or(0)).unwrap_or(&"a"));
            rest /= 24;
        }
        word
    }

    /// Pieces of a few characters, as models stream.
    fn pieces(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| format!("{} ", self.word())).collect()
    }

    fn prose(&mut self, words: usize) -> String {
        self.pieces(words).concat()
    }
}

/// Turns of three steps: two with a tool call whose result is a page of text, one with an answer.
pub(crate) fn realistic(turns: usize) -> Vec<Arc<Event>> {
    let mut words = Words(0x9e37_79b9_7f4a_7c15);
    let mut log = Growing::default();
    for turn in 1..=turns as u64 {
        let turn = TurnNo::new(turn);
        log.begin(turn, &words.prose(30));
        for number in 1..=2_u64 {
            let step = StepNo::new(number);
            log.push(EventBody::StepStart(Growing::mark(turn, step)), None);
            let pieces = words.pieces(25);
            let mut sources = log.text(turn, step, 0, &pieces);
            let id = CallId::new(format!("call-{turn}-{number}"));
            let arguments = words.pieces(12);
            sources.push(log.chunk(turn, step, StreamChunk::block_start(1, "tool-call")));
            for piece in &arguments {
                let delta = StreamChunk::tool_call_delta(1, id.clone(), Some("read".into()), piece.as_str());
                sources.push(log.chunk(turn, step, delta));
            }
            let call = ContentBlock::tool_call(id.clone(), "read", arguments.concat());
            sources.push(log.chunk(turn, step, StreamChunk::block_end(1, call.clone())));
            let content = Content::from(vec![ContentBlock::text(pieces.concat()), call]);
            log.answer(turn, step, content, sources);
            log.tool((turn, step), id, &arguments.concat(), &words.prose(250));
            log.push(EventBody::StepEnd(Growing::mark(turn, step)), None);
        }
        let step = StepNo::new(3);
        log.push(EventBody::StepStart(Growing::mark(turn, step)), None);
        let pieces = words.pieces(150);
        let sources = log.text(turn, step, 0, &pieces);
        log.answer(turn, step, Content::text(pieces.concat()), sources);
        log.push(EventBody::StepEnd(Growing::mark(turn, step)), None);
        log.end(turn);
    }
    log.events
}

impl Growing {
    fn tool(&mut self, (turn, step): (TurnNo, StepNo), call_id: CallId, arguments: &str, result: &str) {
        let call = ToolCallEvent {
            turn,
            step,
            call_id: call_id.clone(),
            name: "read".into(),
            arguments: arguments.into(),
            extra: Extra::NONE,
        };
        let seq = self.push(EventBody::ToolCall(Box::new(call)), None);
        let result = ToolResultEvent {
            turn,
            step,
            call_id,
            content: Content::text(result),
            is_error: false,
            error: None,
            meta: None,
            extra: Extra::NONE,
        };
        self.push(
            EventBody::ToolResult(Box::new(result)),
            Some(appended(Some(vec![seq]))),
        );
    }
}
