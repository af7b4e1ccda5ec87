//! One POST on its way out: client, proxies, attribution. What comes back is `call`'s and `status`'s.

use std::fmt;
use std::sync::Arc;

use hames_types::port::clock::Clock;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use smol_str::SmolStr;

use crate::ConfigError;
use crate::limits::Limits;

/// Who calls, as providers read it: `product/version (+url)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserAgent {
    /// The program.
    pub product: SmolStr,
    /// Its version.
    pub version: SmolStr,
    /// Where to learn about it.
    pub url: SmolStr,
}

impl Default for UserAgent {
    fn default() -> Self {
        Self {
            product: SmolStr::new_static("hames"),
            version: SmolStr::new_static(env!("CARGO_PKG_VERSION")),
            // Reserved for names that lead nowhere (RFC 2606): there is no page yet.
            url: SmolStr::new_static("https://hames.invalid"),
        }
    }
}

impl fmt::Display for UserAgent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{} (+{})", self.product, self.version, self.url)
    }
}

/// Proxies as the environment names them; whoever reads the environment hands them in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// `HTTPS_PROXY`: for https addresses.
    pub https: Option<String>,
    /// `HTTP_PROXY`: for http addresses.
    pub http: Option<String>,
    /// `NO_PROXY`: hosts reached without either, separated by commas.
    pub no_proxy: Option<String>,
}

/// Everything an HTTP client of ours needs to know.
#[derive(Debug, Clone, Default)]
pub struct HttpSettings {
    /// Whether every server is reached without TLS, as one's own on this machine is. Reading the system's
    /// certificates takes longer than all else before a first request, and here it is left out.
    pub is_plain: bool,
    /// Times and sizes.
    pub limits: Limits,
    /// Ways out.
    pub proxies: Proxies,
    /// Who calls.
    pub user_agent: UserAgent,
}

/// A client that adapters share: its connections are reused by all calls.
#[derive(Clone)]
pub struct Http {
    client: reqwest::Client,
    limits: Limits,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Http {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Http")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Http {
    /// A client; `clock` tells how far a `Retry-After` date is away.
    ///
    /// # Errors
    /// [`ConfigError`] if a limit or a proxy can't be used.
    pub fn new(settings: &HttpSettings, clock: Arc<dyn Clock>) -> Result<Self, ConfigError> {
        settings.limits.check()?;
        // Of two providers of cryptography ring builds in a fraction of the time. One that is set already stays.
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            drop(rustls::crypto::ring::default_provider().install_default());
        }
        let mut builder = reqwest::Client::builder()
            .user_agent(settings.user_agent.to_string())
            .connect_timeout(settings.limits.connect)
            // A redirect would take key and conversation to a host nobody named.
            .redirect(reqwest::redirect::Policy::none())
            // The environment is read in one place, and that is not here.
            .no_proxy();
        if settings.is_plain {
            builder = builder.tls_certs_only([]);
        }
        for proxy in proxies(&settings.proxies)? {
            builder = builder.proxy(proxy);
        }
        Ok(Self {
            client: builder.build()?,
            limits: settings.limits,
            clock,
        })
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    pub(crate) async fn post(&self, outgoing: Outgoing) -> Result<reqwest::Response, reqwest::Error> {
        self.client
            .post(outgoing.url)
            .headers(outgoing.headers)
            .body(outgoing.body)
            .send()
            .await
            .map_err(reqwest::Error::without_url)
    }
}

fn proxies(settings: &Proxies) -> Result<Vec<reqwest::Proxy>, ConfigError> {
    let except = settings
        .no_proxy
        .as_deref()
        .and_then(reqwest::NoProxy::from_string);
    let mut proxies = Vec::new();
    if let Some(url) = settings.https.as_deref().filter(|url| !url.is_empty()) {
        let proxy = reqwest::Proxy::https(url).map_err(|source| ConfigError::Proxy {
            what: "https",
            source,
        })?;
        proxies.push(proxy.no_proxy(except.clone()));
    }
    if let Some(url) = settings.http.as_deref().filter(|url| !url.is_empty()) {
        let proxy =
            reqwest::Proxy::http(url).map_err(|source| ConfigError::Proxy { what: "http", source })?;
        proxies.push(proxy.no_proxy(except));
    }
    Ok(proxies)
}

/// A request ready to be sent.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Outgoing {
    /// JSON to `url`, answered by a stream of events.
    pub(crate) fn json(url: String, body: Vec<u8>) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert("accept", HeaderValue::from_static("text/event-stream"));
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        Self { url, headers, body }
    }

    /// Adds a header; one that HTTP can't carry is left out, for none of ours decides anything.
    pub(crate) fn header(&mut self, name: &'static str, value: &str) {
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
    }

    /// Adds a header that no log may show.
    pub(crate) fn secret_header(&mut self, name: &'static str, value: &str) -> bool {
        let Ok(mut value) = HeaderValue::from_str(value) else {
            return false;
        };
        value.set_sensitive(true);
        self.headers.insert(HeaderName::from_static(name), value);
        true
    }
}

/// A base URL that is one, without a look at what follows.
pub(crate) fn check_base_url(url: &str) -> Result<(), ConfigError> {
    match reqwest::Url::parse(url) {
        Ok(parsed) if matches!(parsed.scheme(), "http" | "https") => Ok(()),
        Ok(_) | Err(_) => Err(ConfigError::BaseUrl {
            found: url.to_owned(),
        }),
    }
}
