//! How does one call run? Key, request, answer, events, chunks: one attempt, pulled by its reader.
//!
//! Nothing runs in the background. Between two polls the call is a value; dropping it closes the connection.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use hames_types::chunk::StreamChunk;
use hames_types::failure::LlmFailure;
use hames_types::fault::Fault;
use hames_types::port::llm::ChunkStream;
use hames_types::request::Request;
use hames_types::signal::Signal;
use reqwest::{Response, StatusCode, Version};
use smol_str::SmolStr;
use tokio::time::{Duration, Instant, timeout, timeout_at};

use crate::adapter::KnownModel;
use crate::blocks::Blocks;
use crate::fail::{code, failure};
use crate::http::{Http, Outgoing};
use crate::key::{ApiKey, Secret};
use crate::sse::{SseEvent, SseParser};
use crate::status::{ErrorDialect, failure_of};

/// What an event led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// There may be more.
    More,
    /// The answer is whole; whatever follows is not part of it.
    Done,
}

/// Events to chunks, for one answer of one protocol.
pub(crate) trait Decode: Send {
    /// Takes the next event.
    fn event(&mut self, event: &SseEvent<'_>) -> Result<Progress, LlmFailure>;

    /// The stream ended without [`Progress::Done`]: finishes the answer if the protocol has no terminal marker.
    fn end(&mut self) -> Result<(), LlmFailure>;

    /// The chunks made so far.
    fn blocks(&mut self) -> &mut Blocks;
}

/// A provider's protocol: what is sent, and how the answer is read.
pub(crate) trait Protocol: Send + Sync + 'static {
    /// The request on the wire, without the key, and the decoder of its answer.
    fn encode(
        &self,
        request: &Request,
        limits: crate::limits::Limits,
    ) -> Result<(Outgoing, Box<dyn Decode>), LlmFailure>;

    /// Puts the key where the provider looks for it; false if it can't stand there.
    fn authorize(&self, outgoing: &mut Outgoing, key: &Secret) -> bool;

    /// How the provider's errors are read.
    fn errors(&self) -> ErrorDialect;

    /// What a person calls the provider.
    fn name(&self) -> &'static str;

    /// The models known beforehand.
    fn models(&self) -> &'static [KnownModel];
}

/// Begins a call. Nothing is sent before the stream is polled.
pub(crate) fn start(
    protocol: Arc<dyn Protocol>,
    http: Http,
    key: Arc<ApiKey>,
    request: Request,
    signal: Signal,
) -> ChunkStream {
    let parser = SseParser::new(http.limits().max_event_bytes);
    Box::pin(Call {
        stage: Stage::Ready(Box::new(Job {
            protocol,
            http,
            key,
            secret: None,
            request: Some(request),
            answer: None,
            parser,
            waiting_since: None,
            broken: None,
        })),
        signal,
    })
}

struct Call {
    stage: Stage,
    signal: Signal,
}

type Reading = Pin<Box<dyn Future<Output = (Box<Job>, Result<(), Fault>)> + Send>>;

enum Stage {
    /// Between reads.
    Ready(Box<Job>),
    /// Waiting for the provider.
    Reading(Reading),
    /// Nothing will follow.
    Over,
}

impl Stream for Call {
    type Item = Result<StreamChunk, Fault>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Over => return Poll::Ready(None),
                Stage::Ready(mut job) => match job.next() {
                    Next::Chunk(chunk) => {
                        self.stage = Stage::Ready(job);
                        return Poll::Ready(Some(Ok(chunk)));
                    }
                    Next::Failed(fault) => return Poll::Ready(Some(Err(fault))),
                    Next::Over => return Poll::Ready(None),
                    Next::Bytes => self.stage = Stage::Reading(Box::pin(read(job, self.signal.clone()))),
                },
                Stage::Reading(mut reading) => match reading.as_mut().poll(context) {
                    Poll::Pending => {
                        self.stage = Stage::Reading(reading);
                        return Poll::Pending;
                    }
                    Poll::Ready((job, Ok(()))) => self.stage = Stage::Ready(job),
                    Poll::Ready((_, Err(fault))) => return Poll::Ready(Some(Err(fault))),
                },
            }
        }
    }
}

/// The answer being read.
struct Answer {
    response: Response,
    decoder: Box<dyn Decode>,
    /// Where its bytes end, nothing else says so but the connection's end.
    open_ended: bool,
    over: Over,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    /// More bytes may come.
    No,
    /// The bytes are at their end.
    Bytes,
    /// The answer is whole.
    Answer,
}

struct Job {
    protocol: Arc<dyn Protocol>,
    http: Http,
    key: Arc<ApiKey>,
    secret: Option<Secret>,
    request: Option<Request>,
    answer: Option<Answer>,
    parser: SseParser,
    /// When the reader began to wait for the chunk it hasn't got yet.
    waiting_since: Option<Instant>,
    /// What broke the connection.
    broken: Option<reqwest::Error>,
}

enum Next {
    Chunk(StreamChunk),
    Failed(Fault),
    Over,
    Bytes,
}

impl Job {
    /// Decodes what has been read until it gives a chunk, an end, or out.
    fn next(&mut self) -> Next {
        let Some(answer) = &mut self.answer else {
            return Next::Bytes;
        };
        loop {
            if let Some(chunk) = answer.decoder.blocks().pop() {
                self.waiting_since = None;
                return Next::Chunk(chunk);
            }
            if answer.over == Over::Answer {
                return Next::Over;
            }
            match advance(answer, &mut self.parser) {
                Ok(true) => {}
                Ok(false) => return Next::Bytes,
                Err(failure) => return Next::Failed(self.fault(failure)),
            }
        }
    }

    /// A failure of the answer, seen together with what the connection did.
    fn fault(&self, failure: LlmFailure) -> Fault {
        let Some(error) = &self.broken else {
            return self.typed(failure);
        };
        // A body that only the connection's end can end has ended; any other was cut, whatever the piece looked like.
        if self.answer.as_ref().is_some_and(|answer| answer.open_ended) {
            self.typed(failure)
                .with_cause(Fault::of("HttpError", code::TRANSPORT, error))
        } else {
            transport("the connection broke in the middle of the answer", error)
        }
    }

    fn typed(&self, mut failure: LlmFailure) -> Fault {
        if let Some(text) = self
            .secret
            .as_ref()
            .and_then(|secret| secret.redact(&failure.message))
        {
            failure.message = SmolStr::new(text);
        }
        Fault::llm(failure)
    }

    async fn send(&mut self, request: &Request) -> Result<(), Fault> {
        let limits = *self.http.limits();
        let (mut outgoing, decoder) = self
            .protocol
            .encode(request, limits)
            .map_err(|failure| self.typed(failure))?;
        self.secret = self.key.get().await.map_err(|failure| self.typed(failure))?;
        if let Some(secret) = &self.secret
            && !self.protocol.authorize(&mut outgoing, secret)
        {
            let problem = "the provider's key holds characters that no HTTP header can carry";
            return Err(Fault::llm(failure(code::AUTH, problem)));
        }
        let response = self
            .http
            .post(outgoing)
            .await
            .map_err(|error| transport("the request could not be sent", &error))?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        if matches!(
            response.status(),
            StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT
        ) {
            let problem = format_args!("the provider answered {} without a body", response.status());
            return Err(Fault::llm(failure(code::EMPTY_RESPONSE, problem)));
        }
        let open_ended = response.version() < Version::HTTP_2
            && !response.headers().contains_key("content-length")
            && !response.headers().contains_key("transfer-encoding");
        self.answer = Some(Answer {
            response,
            decoder,
            open_ended,
            over: Over::No,
        });
        // From here on it is the first chunk that is waited for.
        self.waiting_since = Some(Instant::now());
        Ok(())
    }

    /// The failure that a refusal stands for. Its body helps, and may be cut, slow or endless.
    async fn refused(&mut self, mut response: Response) -> Fault {
        let limits = *self.http.limits();
        let mut body = Vec::new();
        let read = async {
            while let Ok(Some(piece)) = response.chunk().await {
                let room = limits.max_error_bytes.saturating_sub(body.len());
                body.extend_from_slice(piece.get(..room).unwrap_or(&piece));
                if body.len() >= limits.max_error_bytes {
                    break;
                }
            }
        };
        // Status and headers say enough if the body doesn't come.
        let in_time = timeout(limits.idle.min(ERROR_BODY_WAIT), read).await;
        drop(in_time);
        let failure = failure_of(
            response.status(),
            response.headers(),
            &body,
            &self.protocol.errors(),
            self.http.now_ms(),
        );
        if failure.code == code::AUTH {
            self.key.forget().await;
        }
        self.typed(failure)
    }

    async fn read_bytes(&mut self) {
        let Some(answer) = &mut self.answer else {
            return;
        };
        match answer.response.chunk().await {
            Ok(Some(bytes)) => return self.parser.push(&bytes),
            Ok(None) => {}
            Err(error) => self.broken = Some(error.without_url()),
        }
        self.parser.end();
        answer.over = Over::Bytes;
    }
}

/// How long an error's body is waited for: it only makes the message better.
const ERROR_BODY_WAIT: Duration = Duration::from_secs(5);

/// Decodes one event; false if more bytes are needed for it.
fn advance(answer: &mut Answer, parser: &mut SseParser) -> Result<bool, LlmFailure> {
    match parser.next() {
        Ok(Some(event)) => {
            if answer.decoder.event(&event)? == Progress::Done {
                answer.over = Over::Answer;
            }
            Ok(true)
        }
        Ok(None) if answer.over == Over::Bytes => {
            answer.over = Over::Answer;
            answer.decoder.end()?;
            Ok(true)
        }
        Ok(None) => Ok(false),
        Err(too_long) => Err(failure(code::MALFORMED_RESPONSE, too_long)),
    }
}

/// One step towards the next chunk: the request and the answer's head, or more bytes of its body.
async fn read(mut job: Box<Job>, signal: Signal) -> (Box<Job>, Result<(), Fault>) {
    let since = *job.waiting_since.get_or_insert_with(Instant::now);
    let limits = *job.http.limits();
    let sending = job.answer.is_none();
    let (wait, what) = if sending {
        (limits.headers, "the head of its answer")
    } else {
        (limits.idle, "the next piece of its answer")
    };
    let work = async {
        match job.request.take() {
            Some(request) => job.send(&request).await,
            None => {
                job.read_bytes().await;
                Ok(())
            }
        }
    };
    let outcome = signal.unless_raised(timeout_at(since + wait, work)).await;
    let result = match outcome {
        Some(Ok(result)) => result,
        Some(Err(_elapsed)) => {
            let waited = format_args!(
                "the provider sent nothing for {} ms; {what} was due",
                wait.as_millis()
            );
            Err(Fault::llm(failure(code::TIMEOUT, waited)))
        }
        None => Err(crate::items::aborted()),
    };
    (job, result)
}

fn transport(problem: &str, error: &reqwest::Error) -> Fault {
    let connecting_took_too_long = error.is_timeout();
    let code = if connecting_took_too_long {
        code::TIMEOUT
    } else {
        code::TRANSPORT
    };
    Fault::llm(failure(code, problem)).with_cause(Fault::of("HttpError", code, error))
}
