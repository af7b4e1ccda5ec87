//! How does an answer come in? Within its limit, and without the secrets that went out.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName};
use hyper::body::{Body, Frame, Incoming};
use wasmtime_wasi_http::Error;

use crate::grant::Secret;

/// Shortest text that is looked for; shorter ones occur by chance.
const SHORTEST: usize = 8;

/// The texts that must not come back.
#[derive(Debug, Clone, Default)]
pub(crate) struct Needles {
    texts: Vec<Vec<u8>>,
    longest: usize,
}

impl Needles {
    /// The words of each secret; one of letters alone in front of others is a scheme (`Bearer`) and none.
    pub(crate) fn of(secrets: &[Secret]) -> Self {
        let texts: Vec<Vec<u8>> = secrets
            .iter()
            .flat_map(|secret| words(&secret.value))
            .filter(|word| word.len() >= SHORTEST)
            .map(|word| word.as_bytes().to_vec())
            .collect();
        Self {
            longest: texts.iter().map(Vec::len).max().unwrap_or(0),
            texts,
        }
    }

    /// Whether one of them is in these headers, in a name or in a value.
    pub(crate) fn are_among(&self, headers: &HeaderMap) -> bool {
        headers
            .iter()
            .any(|(name, value)| self.are_in(value.as_bytes()) || self.are_in_name(name))
    }

    /// Names come in lower case.
    fn are_in_name(&self, name: &HeaderName) -> bool {
        let name = name.as_str().as_bytes();
        self.texts
            .iter()
            .any(|text| memchr::memmem::find(name, &text.to_ascii_lowercase()).is_some())
    }

    /// Whether one of them is in these bytes.
    pub(crate) fn are_in(&self, bytes: &[u8]) -> bool {
        self.texts
            .iter()
            .any(|text| memchr::memmem::find(bytes, text).is_some())
    }
}

fn repeats() -> Error {
    Error::HttpResponseContentCoding(Some("it repeats a secret".to_owned()))
}

fn words(secret: &str) -> impl Iterator<Item = &str> {
    let last = secret.split_whitespace().count().saturating_sub(1);
    let words = secret.split_whitespace().enumerate();
    words
        .filter(move |(at, word)| *at == last || !word.bytes().all(|byte| byte.is_ascii_alphabetic()))
        .map(|(_, word)| word.trim_end_matches(';'))
}

/// An answer's body that ends with an error where it is too long or says a secret.
///
/// A server that echoes a secret in its own encoding can't be recognised; binding secrets to hosts is what protects
/// them, this only catches the careless.
pub(crate) struct Guarded {
    body: Incoming,
    needles: Needles,
    left: usize,
    /// Bytes held back because a secret may begin in them.
    held: BytesMut,
    trailers: Option<Frame<Bytes>>,
    is_over: bool,
}

impl Guarded {
    pub(crate) fn new(body: Incoming, needles: Needles, max: usize) -> Self {
        Self {
            body,
            needles,
            left: max,
            held: BytesMut::new(),
            trailers: None,
            is_over: false,
        }
    }

    fn take(&mut self, data: Bytes) -> Result<Bytes, Error> {
        self.left = self
            .left
            .checked_sub(data.len())
            .ok_or(Error::HttpResponseBodySize(None))?;
        if self.needles.longest == 0 {
            return Ok(data);
        }
        self.held.extend_from_slice(&data);
        if self.needles.are_in(&self.held) {
            return Err(repeats());
        }
        let free = self.held.len().saturating_sub(self.needles.longest - 1);
        Ok(self.held.split_to(free).freeze())
    }
}

impl Body for Guarded {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        loop {
            if this.is_over {
                return Poll::Ready(this.trailers.take().map(Ok));
            }
            let next = match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => {
                    this.is_over = true;
                    return Poll::Ready(Some(Err(error.into())));
                }
                None => {
                    this.is_over = true;
                    if this.held.is_empty() {
                        continue;
                    }
                    return Poll::Ready(Some(Ok(Frame::data(this.held.split().freeze()))));
                }
            };
            match next.into_data() {
                Ok(data) => match this.take(data) {
                    Ok(free) if free.is_empty() => {}
                    Ok(free) => return Poll::Ready(Some(Ok(Frame::data(free)))),
                    Err(error) => {
                        this.is_over = true;
                        this.held.clear();
                        return Poll::Ready(Some(Err(error)));
                    }
                },
                Err(trailers) => {
                    let repeated = trailers
                        .trailers_ref()
                        .is_some_and(|all| this.needles.are_among(all));
                    if repeated {
                        this.is_over = true;
                        return Poll::Ready(Some(Err(repeats())));
                    }
                    this.trailers = Some(trailers);
                }
            }
        }
    }
}
