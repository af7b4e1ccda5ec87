//! A plugin that fetches what it is told to, with whatever a request can be made of.

use hames_sdk::prelude::*;
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, IncomingBody, Method, OutgoingBody, OutgoingRequest, Scheme};
use wasip2::io::streams::StreamError;

/// Fetches.
#[arguments]
struct Fetch {
    /// `http` or `https`.
    scheme: String,
    /// Host and port.
    authority: String,
    /// Path and query.
    #[serde(default)]
    path: String,
    /// The method.
    #[serde(default)]
    method: String,
    /// Headers.
    #[serde(default)]
    headers: Vec<(String, String)>,
    /// The body.
    #[serde(default)]
    body: String,
    /// How many redirects to follow.
    #[serde(default)]
    follow: u32,
}

impl Tool for Fetch {
    fn run(self, _call: &Call) -> Answer {
        let mut next = self;
        loop {
            let (status, location, body) = next.fetch()?;
            match location {
                Some(location) if (300..400).contains(&status) && next.follow > 0 => {
                    next = next.to(&location)?
                }
                _ => return Ok(format!("{status} {body}").into()),
            }
        }
    }
}

type Fetched = (u16, Option<String>, String);

impl Fetch {
    fn to(self, location: &str) -> Result<Self, Error> {
        let (scheme, rest) = location
            .split_once("://")
            .ok_or_else(|| Error::new("a relative redirect"))?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(Self {
            scheme: scheme.to_owned(),
            authority: authority.to_owned(),
            path: format!("/{path}"),
            follow: self.follow - 1,
            ..self
        })
    }

    fn fetch(&self) -> Result<Fetched, Error> {
        let headers = Fields::new();
        for (name, value) in &self.headers {
            headers
                .append(name, value.as_bytes())
                .map_err(|error| Error::coded("Denied", "HEADER", format!("{error:?}")))?;
        }
        let request = OutgoingRequest::new(headers);
        let bad = |what: &'static str| move |()| Error::coded("Denied", "MALFORMED", what);
        let scheme = match self.scheme.as_str() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            other => Scheme::Other(other.to_owned()),
        };
        request.set_scheme(Some(&scheme)).map_err(bad("scheme"))?;
        request
            .set_authority(Some(&self.authority))
            .map_err(bad("authority"))?;
        request
            .set_path_with_query(Some(&self.path))
            .map_err(bad("path"))?;
        let method = match self.method.as_str() {
            "" | "GET" => Method::Get,
            "POST" => Method::Post,
            "CONNECT" => Method::Connect,
            other => Method::Other(other.to_owned()),
        };
        request.set_method(&method).map_err(bad("method"))?;
        if !self.body.is_empty() {
            let body = request.body().map_err(bad("body"))?;
            let stream = body.write().map_err(bad("body"))?;
            stream
                .blocking_write_and_flush(self.body.as_bytes())
                .map_err(|error| Error::new(format!("{error:?}")))?;
            drop(stream);
            OutgoingBody::finish(body, None).map_err(coded)?;
        }
        let future = handle(request, None).map_err(coded)?;
        future.subscribe().block();
        let answer = future
            .get()
            .ok_or_else(|| Error::new("no answer"))?
            .map_err(|()| Error::new("taken twice"))?
            .map_err(coded)?;
        let location = answer
            .headers()
            .get("location")
            .first()
            .map(|value| String::from_utf8_lossy(value).into_owned());
        let body = answer.consume().map_err(bad("answer"))?;
        let text = read(&body)?;
        Ok((answer.status(), location, text + &trailers(body)?))
    }
}

fn coded(error: wasip2::http::types::ErrorCode) -> Error {
    let text = format!("{error:?}");
    let code = text.trim_start_matches("ErrorCode::").to_owned();
    Error::coded("HttpError", code, text)
}

fn read(body: &IncomingBody) -> Result<String, Error> {
    let stream = body.stream().map_err(|()| Error::new("no body"))?;
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(64 << 10) {
            Ok(piece) => bytes.extend(piece),
            Err(StreamError::Closed) => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(StreamError::LastOperationFailed(error)) => {
                return Err(Error::coded("HttpError", "BODY", error.to_debug_string()));
            }
        }
    }
}

/// What stands behind a body, a line each.
fn trailers(body: IncomingBody) -> Result<String, Error> {
    let future = IncomingBody::finish(body);
    future.subscribe().block();
    let fields = future
        .get()
        .ok_or_else(|| Error::new("no end"))?
        .map_err(|()| Error::new("taken twice"))?
        .map_err(coded)?;
    let all = fields.map(|fields| fields.entries()).unwrap_or_default();
    let line = |(name, value): &(String, Vec<u8>)| format!("\n{name}: {}", String::from_utf8_lossy(value));
    Ok(all.iter().map(line).collect())
}

export_plugin!(Fetch; manifest = "../manifest.json");
