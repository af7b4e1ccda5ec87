//! Where do zstd frames begin and end, and what text is in them (R-JSONL-9)? Pure.
//!
//! ```text
//! | frame: header line | frame: batch | frame: batch | … | perhaps a torn frame |
//! ```
//! A torn frame is the mark of a death while writing; a frame that is whole and wrong is damage.

use std::io::Read;

/// Longest text of one session that is read: bounds what a small file can blow up to.
const MAX_TEXT_BYTES: u64 = 8 * 1024 * 1024 * 1024;

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Why compressed bytes are damaged.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    #[error("no frame begins at byte {0}")]
    NoFrame(usize),
    #[error("the frame at byte {at} is whole but can't be decoded")]
    Undecodable {
        at: usize,
        #[source]
        source: std::io::Error,
    },
    #[error("the frame at byte {0} is whole but ends inside a record")]
    TornRecord(usize),
}

/// What begins at some place.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// A frame of that many bytes.
    Whole(usize),
    /// The beginning of one.
    Torn,
    /// Something else.
    Not,
}

/// The text of a sequence of frames.
#[derive(Debug, Default)]
pub(super) struct Text {
    /// What is in whole frames: complete lines.
    pub(super) whole: Vec<u8>,
    /// Where the whole frames end.
    pub(super) end: usize,
    /// What could be decoded of a torn frame behind them; its last line may be torn, too.
    pub(super) torn: Option<Vec<u8>>,
}

/// Looks at the frame in front of `bytes`, which isn't empty.
pub(super) fn frame(bytes: &[u8]) -> Frame {
    let known = bytes.len().min(MAGIC.len());
    if bytes.get(..known) != MAGIC.get(..known) {
        return Frame::Not;
    }
    match walk(bytes) {
        Some(Some(length)) => Frame::Whole(length),
        Some(None) => Frame::Not,
        None => Frame::Torn,
    }
}

/// The frame's length; the inner `None` if it is no valid frame, the outer one if it ends too early.
fn walk(bytes: &[u8]) -> Option<Option<usize>> {
    let descriptor = *bytes.get(4)?;
    if descriptor & 0b1000 != 0 {
        return Some(None);
    }
    let single = descriptor & 0b10_0000 != 0;
    let dictionary = match descriptor & 0b11 {
        0 => 0,
        1 => 1,
        2 => 2,
        _ => 4,
    };
    let size = match descriptor >> 6 {
        0 => usize::from(single),
        1 => 2,
        2 => 4,
        _ => 8,
    };
    let mut at = 5 + usize::from(!single) + dictionary + size;
    loop {
        let [a, b, c] = *bytes.get(at..at + 3)?.first_chunk()?;
        let block = u32::from_le_bytes([a, b, c, 0]);
        let content = match (block >> 1) & 0b11 {
            1 => 1,
            3 => return Some(None),
            _ => block >> 3,
        };
        at += 3 + usize::try_from(content).ok()?;
        if block & 1 == 1 {
            break;
        }
    }
    if descriptor & 0b100 != 0 {
        at += 4;
    }
    (at <= bytes.len()).then_some(Some(at))
}

/// Decodes all frames.
///
/// # Errors
/// [`FrameError`] if something before the end is damaged.
pub(super) fn text(bytes: &[u8]) -> Result<Text, FrameError> {
    let mut text = Text::default();
    while let Some(rest) = bytes.get(text.end..).filter(|rest| !rest.is_empty()) {
        let at = text.end;
        match frame(rest) {
            Frame::Whole(length) => {
                decode(rest.get(..length).unwrap_or(rest), &mut text.whole)
                    .map_err(|source| FrameError::Undecodable { at, source })?;
                if text.whole.last() != Some(&b'\n') {
                    return Err(FrameError::TornRecord(at));
                }
                text.end += length;
            }
            Frame::Torn => {
                let mut torn = Vec::new();
                // It ends too early, so decoding fails at some point; what came before counts.
                let _torn = decode(rest, &mut torn);
                text.torn = Some(torn);
                break;
            }
            Frame::Not => return Err(FrameError::NoFrame(at)),
        }
    }
    Ok(text)
}

/// Decodes one frame behind what `text` holds.
pub(super) fn decode(frame: &[u8], text: &mut Vec<u8>) -> std::io::Result<()> {
    let room = MAX_TEXT_BYTES.saturating_sub(text.len() as u64);
    let mut decoder = zstd::stream::read::Decoder::with_buffer(frame)?.single_frame();
    let read = decoder.by_ref().take(room).read_to_end(text)?;
    if read as u64 == room {
        return Err(std::io::Error::new(
            std::io::ErrorKind::FileTooLarge,
            "the text is longer than a session may be",
        ));
    }
    Ok(())
}

/// One frame around a text, with a check sum.
pub(super) fn encode(text: &[u8], level: i32) -> std::io::Result<Vec<u8>> {
    let mut compressor = zstd::bulk::Compressor::new(level)?;
    compressor.include_checksum(true)?;
    compressor.compress(text)
}
