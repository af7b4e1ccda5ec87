//! One run of a waterfall: listeners around each other, the default in the middle.

use std::future::Future;
use std::sync::Arc;
use std::vec::IntoIter;

use async_trait::async_trait;
use hames_types::fault::Fault;
use hames_types::port::listener::{Decide, Next, Rest};

use super::Waterfall;

/// What is left of a chain.
pub(super) struct Chain<'a, S: Waterfall, F> {
    listeners: IntoIter<Arc<dyn Decide<S>>>,
    ask: &'a S::Ask,
    passed: Option<S::Pass>,
    default: F,
}

impl<'a, S, F, D> Chain<'a, S, F>
where
    S: Waterfall,
    F: FnOnce(Option<S::Pass>) -> D + Send,
    D: Future<Output = Result<S::Answer, Fault>> + Send,
{
    pub(super) fn new(listeners: Vec<Arc<dyn Decide<S>>>, ask: &'a S::Ask, default: F) -> Self {
        Self {
            listeners: listeners.into_iter(),
            ask,
            passed: None,
            default,
        }
    }

    pub(super) async fn run_all(mut self) -> Result<S::Answer, Fault> {
        match self.listeners.next() {
            Some(listener) => listener.decide(self.ask, Next::new(self)).await,
            None => (self.default)(self.passed).await,
        }
    }
}

#[async_trait]
impl<S, F, D> Rest<S> for Chain<'_, S, F>
where
    S: Waterfall,
    F: FnOnce(Option<S::Pass>) -> D + Send,
    D: Future<Output = Result<S::Answer, Fault>> + Send,
{
    async fn run(self: Box<Self>, pass: Option<S::Pass>) -> Result<S::Answer, Fault> {
        // What a listener passes on is what everyone inside it is asked about.
        let changed = pass.as_ref().and_then(|pass| S::passed(self.ask, pass));
        let rest = Chain {
            listeners: self.listeners,
            ask: changed.as_ref().unwrap_or(self.ask),
            passed: pass.or(self.passed),
            default: self.default,
        };
        rest.run_all().await
    }
}
