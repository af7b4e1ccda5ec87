//! What does an answer's body say, without a call? For benchmarks, fuzzing and whoever has recorded one.

use hames_types::chunk::StreamChunk;
use hames_types::failure::LlmFailure;

use crate::call::{Decode, Progress};
use crate::chat::{ChatDecoder, Dialect};
use crate::fail::{code, failure};
use crate::limits::Limits;
use crate::names::Names;
use crate::sse::SseParser;
use crate::{gemini, messages, responses};

/// The protocols an answer may be in.
#[derive(Debug, Clone, Copy)]
pub enum Wire {
    /// Chat completions of a dialect.
    Chat(&'static Dialect),
    /// Anthropic's messages.
    Messages,
    /// OpenAI's responses.
    Responses,
    /// Gemini.
    Gemini,
}

impl Wire {
    fn decoder(self, limits: Limits) -> Box<dyn Decode> {
        let names = Names::default();
        match self {
            Self::Chat(dialect) => Box::new(ChatDecoder::new(dialect, names, limits)),
            Self::Messages => Box::new(messages::Decoder::new(names, limits)),
            Self::Responses => Box::new(responses::Decoder::new(names, limits)),
            Self::Gemini => Box::new(gemini::Decoder::new(names, 0, limits)),
        }
    }

    /// Decodes a whole body from pieces of bytes, as a call would.
    ///
    /// # Errors
    /// The failure the body stands for; the chunks before it were handed to `emit`.
    pub fn decode<'a>(
        self,
        pieces: impl IntoIterator<Item = &'a [u8]>,
        limits: &Limits,
        mut emit: impl FnMut(StreamChunk),
    ) -> Result<(), LlmFailure> {
        let mut decoder = self.decoder(*limits);
        let mut parser = SseParser::new(limits.max_event_bytes);
        for piece in pieces {
            parser.push(piece);
            if drain(decoder.as_mut(), &mut parser, &mut emit)? == Progress::Done {
                return Ok(());
            }
        }
        parser.end();
        if drain(decoder.as_mut(), &mut parser, &mut emit)? == Progress::Done {
            return Ok(());
        }
        decoder.end()?;
        hand_out(decoder.as_mut(), &mut emit);
        Ok(())
    }
}

fn drain(
    decoder: &mut dyn Decode,
    parser: &mut SseParser,
    emit: &mut impl FnMut(StreamChunk),
) -> Result<Progress, LlmFailure> {
    while let Some(event) = parser
        .next()
        .map_err(|too_long| failure(code::MALFORMED_RESPONSE, too_long))?
    {
        let progress = decoder.event(&event);
        hand_out(decoder, emit);
        if progress? == Progress::Done {
            return Ok(Progress::Done);
        }
    }
    Ok(Progress::More)
}

fn hand_out(decoder: &mut dyn Decode, emit: &mut impl FnMut(StreamChunk)) {
    while let Some(chunk) = decoder.blocks().pop() {
        emit(chunk);
    }
}
