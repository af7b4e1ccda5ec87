//! How is an admitted request sent? Resolved, checked, connected to what was checked.

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::HOST;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use http_body_util::BodyExt;
use hyper::client::conn::http1;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use wasmtime_wasi_http::io::TokioIo;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use super::address::is_special;
use super::answer::{Guarded, Needles};
use super::rules::{Target, is_framing, is_single};
use super::{Network, Sent};
use crate::grant::{Scheme, Secret};

/// How long connecting may take if the guest doesn't say, and at most.
const CONNECT: Duration = Duration::from_secs(10);

/// How long the first byte of an answer may take if the guest doesn't say; the call's deadline holds anyway.
const FIRST_BYTE: Duration = Duration::from_secs(600);

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A request that the rules allow.
pub(crate) struct Admitted {
    pub(crate) request: http::Request<WasiBody>,
    pub(crate) target: Target,
    pub(crate) secrets: Vec<Secret>,
    pub(crate) network: Network,
    pub(crate) max_answer: usize,
}

impl Admitted {
    /// Sends it and gives the answer's head, with its body still to come.
    pub(crate) async fn send(mut self, options: Option<RequestOptions>) -> Result<Sent, Error> {
        let connect = options
            .as_ref()
            .and_then(|options| options.connect_timeout)
            .map_or(CONNECT, |limit| limit.min(CONNECT));
        let first_byte = options
            .and_then(|options| options.first_byte_timeout)
            .unwrap_or(FIRST_BYTE);
        self.prepare()?;
        let stream = tokio::time::timeout(connect, open(self.target, self.network))
            .await
            .unwrap_or(Err(Error::ConnectionTimeout))?;
        let (needles, max) = (Needles::of(&self.secrets), self.max_answer);
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let connection = Box::pin(async move { connection.await.map_err(Error::from) });
        let (answer, connection) = drive(first_byte, sender.send_request(self.request), connection).await?;
        if needles.are_among(answer.headers()) {
            return Err(Error::HttpResponseHeaderSectionSize(None));
        }
        let answer = answer.map(|body| Guarded::new(body, needles, max).boxed_unsync());
        // The sender goes with the request: one connection, one request.
        drop(sender);
        Ok((answer, connection))
    }

    /// The request as it goes out: origin form, one host header, the secrets.
    fn prepare(&mut self) -> Result<(), Error> {
        let path = self
            .request
            .uri()
            .path_and_query()
            .map_or("/", |path| path.as_str())
            .to_owned();
        let authority = match (self.target.scheme, self.target.port) {
            (Scheme::Http, 80) | (Scheme::Https, 443) => self.target.host.clone(),
            (Scheme::Http | Scheme::Https, port) => format!("{}:{port}", self.target.host),
        };
        *self.request.uri_mut() = Uri::try_from(path).map_err(invalid)?;
        let headers = self.request.headers_mut();
        clean(headers)?;
        headers.insert(
            HOST,
            HeaderValue::from_str(&authority).map_err(|_invalid| Error::HttpRequestUriInvalid)?,
        );
        for secret in &self.secrets {
            let name =
                HeaderName::try_from(secret.header.as_str()).map_err(|_bad| Error::ConfigurationError)?;
            let mut value = HeaderValue::from_str(&secret.value).map_err(|_bad| Error::ConfigurationError)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(())
    }
}

async fn open(target: Target, network: Network) -> Result<Box<dyn Stream>, Error> {
    let address = find(&target, &network).await?;
    let stream = TcpStream::connect(address).await.map_err(Error::Connect)?;
    if target.scheme == Scheme::Http {
        return Ok(Box::new(stream));
    }
    let name = ServerName::try_from(bare(&target.host).to_owned())
        .map_err(|_invalid| Error::HttpRequestUriInvalid)?;
    let stream = TlsConnector::from(Arc::clone(&network.tls))
        .connect(name, stream)
        .await
        .map_err(Error::Tls)?;
    Ok(Box::new(stream))
}

/// A host without the brackets of an IPv6 address.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// The address to connect to. One forbidden address among several is enough to refuse: which one a later connection
/// would take is not ours to say.
async fn find(target: &Target, network: &Network) -> Result<SocketAddr, Error> {
    let found = match bare(&target.host).parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, target.port)],
        Err(_not_an_address) => network
            .resolver
            .resolve(&target.host, target.port)
            .await
            .map_err(|_unknown| Error::DestinationNotFound)?,
    };
    if !target.allow_private && found.iter().any(|address| is_special(address.ip())) {
        return Err(Error::DestinationIpProhibited);
    }
    found.into_iter().next().ok_or(Error::DestinationNotFound)
}

fn invalid(_error: http::uri::InvalidUri) -> Error {
    Error::HttpRequestUriInvalid
}

/// Takes out what the guest's side may not say about framing.
fn clean(headers: &mut HeaderMap) -> Result<(), Error> {
    let framing: Vec<HeaderName> = headers.keys().filter(|name| is_framing(name)).cloned().collect();
    for name in framing {
        headers.remove(name);
    }
    let doubled = headers
        .keys()
        .any(|name| is_single(name) && headers.get_all(name).iter().count() > 1);
    if doubled {
        return Err(Error::HttpRequestHeaderSize {
            field_name: None,
            field_size: None,
        });
    }
    Ok(())
}

type Connection = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;
type Driver = Box<dyn Future<Output = Result<(), Error>> + Send>;

/// Waits for the answer's head while the connection is driven, then hands the connection on.
async fn drive(
    limit: Duration,
    answer: impl Future<Output = hyper::Result<http::Response<hyper::body::Incoming>>>,
    mut connection: Connection,
) -> Result<(http::Response<hyper::body::Incoming>, Driver), Error> {
    let mut answer = std::pin::pin!(answer);
    let wait = async {
        tokio::select! {
            biased;
            head = &mut answer => Ok((head?, None)),
            ended = &mut connection => {
                // The head may have come with the end.
                ended?;
                Ok((answer.await?, Some(())))
            }
        }
    };
    let (head, ended) = tokio::time::timeout(limit, wait)
        .await
        .unwrap_or(Err(Error::HttpResponseTimeout))?;
    let driver: Driver = match ended {
        Some(()) => Box::new(std::future::ready(Ok(()))),
        None => Box::new(connection),
    };
    Ok((head, driver))
}
