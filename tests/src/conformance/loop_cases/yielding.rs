//! Listeners that only take their time: they make every await of the loop a place at which it really stops.

use std::sync::Arc;

use async_trait::async_trait;
use hames_agent::Services;
use hames_agent::listeners::{Listeners, Serial, Waterfall};
use hames_log::{Flush, Place, Session};
use hames_types::fault::Fault;
use hames_types::port::listener::{Consult, Decide, Next};
use hames_types::port::seam::{
    CallRequest, Execute, LlmStream, PostExecute, PostStep, PreExecute, PreStep, PromptAssemble,
    PromptSubmit, RequestError, SessionPrefix, StepResult, TurnContinuation, TurnStop,
};

/// How often to let others go first, asked anew each time.
pub type Yields = Arc<dyn Fn() -> usize + Send + Sync>;

/// Takes its time and changes nothing.
struct Idler(Yields);

impl Idler {
    async fn idle(&self) {
        for _ in 0..(self.0)() {
            tokio::task::yield_now().await;
        }
    }
}

#[async_trait]
impl<S: Waterfall> Decide<S> for Idler {
    async fn decide(&self, _: &S::Ask, next: Next<'_, S>) -> Result<S::Answer, Fault> {
        self.idle().await;
        let answer = next.run().await;
        self.idle().await;
        answer
    }
}

#[async_trait]
impl<S: Serial> Consult<S> for Idler {
    async fn consult(&self, _: &S::Ask) -> Result<Option<S::Answer>, Fault> {
        self.idle().await;
        Ok(None)
    }
}

#[async_trait]
impl Flush for Idler {
    async fn flush(&self, _: &Arc<Session>) -> Result<(), Fault> {
        self.idle().await;
        Ok(())
    }
}

/// Lets others go first.
pub(crate) async fn idle(yields: &Yields) {
    Idler(Arc::clone(yields)).idle().await;
}

/// Puts an idler at every seam and every flush.
pub fn everywhere(services: &Services, yields: &Yields) {
    fn around<S: Waterfall>(listeners: &Listeners, yields: &Yields) {
        listeners.add::<S>(None, Place::Last, Arc::new(Idler(Arc::clone(yields))));
    }
    fn before<S: Serial>(listeners: &Listeners, yields: &Yields) {
        listeners.add::<S>(None, Place::Last, Arc::new(Idler(Arc::clone(yields))));
    }
    let to = &*services.listeners;
    around::<PromptSubmit>(to, yields);
    around::<SessionPrefix>(to, yields);
    around::<PromptAssemble>(to, yields);
    around::<CallRequest>(to, yields);
    around::<LlmStream>(to, yields);
    around::<StepResult>(to, yields);
    around::<PreExecute>(to, yields);
    around::<Execute>(to, yields);
    around::<PostExecute>(to, yields);
    around::<RequestError>(to, yields);
    around::<TurnContinuation>(to, yields);
    before::<PreStep>(to, yields);
    before::<PostStep>(to, yields);
    before::<TurnStop>(to, yields);
    services
        .sessions
        .on_flush()
        .add(None, Place::Last, Arc::new(Idler(Arc::clone(yields))));
}
