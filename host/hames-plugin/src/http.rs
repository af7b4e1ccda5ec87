//! How does a plugin's request get out? Checked against its rules, resolved and checked again, sent to exactly the
//! address that was checked, and its answer bounded.
//!
//! A redirect isn't followed: the guest sees it, and what it asks then is checked like any other request.

mod address;
mod answer;
mod rules;
mod send;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use http::HeaderName;
use http::header::HOST;
use rustls::{ClientConfig, RootCertStore};
use wasmtime_wasi_http::{DEFAULT_FORBIDDEN_HEADERS, Error, RequestOptions, WasiBody, WasiHttpHooks};

use crate::grant::Secret;
use crate::meter::Budget;
use crate::who::Who;

/// Finds addresses for names.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// The addresses of a host. What they are is checked by the caller.
    ///
    /// # Errors
    /// If there are none or nobody could be asked.
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}

/// The system's resolver.
#[derive(Debug, Clone, Copy, Default)]
struct System;

#[async_trait]
impl Resolve for System {
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((host, port)).await?.collect())
    }
}

/// The way out, shared by all plugins.
#[derive(Clone)]
pub struct Network {
    resolver: Arc<dyn Resolve>,
    tls: Arc<ClientConfig>,
}

impl Network {
    /// The system's resolver, and the authorities Mozilla trusts.
    ///
    /// # Errors
    /// If the TLS library has no usable cipher, which is a mistake in how it was built.
    pub fn system() -> Result<Self, rustls::Error> {
        Self::with_resolver(Arc::new(System))
    }

    /// Another resolver.
    ///
    /// # Errors
    /// As [`Network::system`].
    pub fn with_resolver(resolver: Arc<dyn Resolve>) -> Result<Self, rustls::Error> {
        let roots = RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.into(),
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            resolver,
            tls: Arc::new(tls),
        })
    }
}

/// One call's requests.
pub(crate) struct Outgoing {
    who: Arc<Who>,
    reaches: bool,
    requests: Budget,
}

impl Outgoing {
    pub(crate) fn new(who: &Arc<Who>, reaches: bool) -> Self {
        Self {
            requests: Budget::of(who.limits.requests),
            who: Arc::clone(who),
            reaches,
        }
    }

    fn admit(&mut self, request: http::Request<WasiBody>) -> Result<send::Admitted, Error> {
        if !self.reaches || !self.requests.take(1) {
            return Err(Error::HttpRequestDenied);
        }
        let target = rules::check(&self.who.grant.http, request.method(), request.uri())
            .inspect_err(|reason| {
                tracing::debug!(plugin = %self.who.id, uri = %request.uri(), reason, "a request is denied");
            })
            .map_err(denied)?;
        let secrets: Vec<Secret> = self
            .who
            .grant
            .secrets
            .iter()
            .filter(|secret| {
                secret
                    .hosts
                    .iter()
                    .any(|host| host.eq_ignore_ascii_case(&target.host))
            })
            .cloned()
            .collect();
        if !secrets.is_empty() && !target.may_carry_secrets() {
            return Err(Error::HttpRequestDenied);
        }
        Ok(send::Admitted {
            request,
            target,
            secrets,
            network: self.who.services.network.clone(),
            max_answer: self.who.limits.response_bytes,
        })
    }
}

/// A guest learns that it was denied, not by which rule.
fn denied(_reason: &'static str) -> Error {
    Error::HttpRequestDenied
}

type Sent = (
    http::Response<WasiBody>,
    Box<dyn Future<Output = Result<(), Error>> + Send>,
);

impl WasiHttpHooks for Outgoing {
    fn is_forbidden_header(&mut self, name: &HeaderName) -> bool {
        (self.forbidden_header_filter())(name)
    }

    fn forbidden_header_filter(&mut self) -> Arc<dyn Fn(&HeaderName) -> bool + Send + Sync> {
        let who = Arc::clone(&self.who);
        Arc::new(move |name| {
            let is_secret = who
                .grant
                .secrets
                .iter()
                .any(|secret| secret.header.eq_ignore_ascii_case(name.as_str()));
            // The proxy's and the framing's headers are the host's alone.
            is_secret || DEFAULT_FORBIDDEN_HEADERS.contains(name) || *name == HOST || rules::is_framing(name)
        })
    }

    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _done: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Result<Sent, Error>> + Send> {
        match self.admit(request) {
            Ok(admitted) => Box::new(admitted.send(options)),
            Err(error) => Box::new(std::future::ready(Err(error))),
        }
    }
}
