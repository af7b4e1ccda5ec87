//! Listeners: who decides at a seam and who is told.
//!
//! **Seams are asynchronous, observers synchronous**, natively and in the sandbox alike (architecture §6).

use std::sync::Arc;

use async_trait::async_trait;
use smol_str::SmolStr;

use crate::fault::Fault;

/// A point at which the loop asks. [`crate::port::seam`] has them all.
pub trait Seam: Send + Sync + 'static {
    /// The seam's name in the log, in errors and in configuration (`agent/prompt-submit`).
    const NAME: &'static str;
    /// What is asked about.
    type Ask: Send + Sync;
    /// What is decided.
    type Answer: Send;
    /// What a listener may change for the rest of the chain when it delegates; `()` at most seams.
    type Pass: Send;
}

/// A listener around the rest of a chain. The first registered is outermost (R-DISP-7).
#[async_trait]
pub trait Decide<S: Seam>: Send + Sync {
    /// Answers, or delegates with `next` and answers with what came back, altered or not.
    ///
    /// A listener that drops `next` answers alone: nothing inside it is asked.
    ///
    /// # Errors
    /// What an error means is the seam's to say (§24.2 of the behaviour rules). A fault that came out of `next` is
    /// handed on as the same fault, so that a delegated failure keeps its identity.
    async fn decide(&self, ask: &S::Ask, next: Next<'_, S>) -> Result<S::Answer, Fault>;
}

/// The rest of a chain, to be run at most once.
pub struct Next<'a, S: Seam>(Box<dyn Rest<S> + Send + 'a>);

/// How a chain continues; implemented by whoever folds the chain.
#[async_trait]
pub trait Rest<S: Seam>: Send {
    /// Runs it. `pass` replaces what the seam lets a listener change; `None` leaves it.
    ///
    /// # Errors
    /// Those of the rest of the chain.
    async fn run(self: Box<Self>, pass: Option<S::Pass>) -> Result<S::Answer, Fault>;
}

impl<'a, S: Seam> Next<'a, S> {
    /// Wraps the rest of a chain.
    pub fn new(rest: impl Rest<S> + 'a) -> Self {
        Self(Box::new(rest))
    }

    /// Asks the rest of the chain.
    ///
    /// # Errors
    /// Those of the rest of the chain.
    pub async fn run(self) -> Result<S::Answer, Fault> {
        self.0.run(None).await
    }

    /// Asks the rest of the chain with something changed.
    ///
    /// # Errors
    /// Those of the rest of the chain.
    pub async fn run_with(self, pass: S::Pass) -> Result<S::Answer, Fault> {
        self.0.run(Some(pass)).await
    }
}

/// A listener of a serial seam: asked in order, the first answer ends the chain (R-DISP-1).
#[async_trait]
pub trait Consult<S: Seam>: Send + Sync {
    /// Answers or abstains.
    ///
    /// # Errors
    /// What an error means is the seam's to say.
    async fn consult(&self, ask: &S::Ask) -> Result<Option<S::Answer>, Fault>;
}

/// Something that happened. [`crate::port::notice`] has them all.
pub trait Notice: Send + Sync + 'static {
    /// The notice's name in errors and in configuration (`session/event`).
    const NAME: &'static str;
}

/// Is told and can't answer.
pub trait Observe<N: Notice>: Send + Sync {
    /// Of session events: the kinds it wants to be told of; `None` is all of them. The same for as long as it is
    /// registered.
    fn kinds(&self) -> Option<Vec<SmolStr>> {
        None
    }

    /// Told once, on the thread on which it happened; returns soon.
    ///
    /// # Errors
    /// A fault is reported as a warning and hurts nobody else (R-DISP-4), except at the two notices that may veto
    /// (`session/created`, `agent/created`).
    fn observe(&self, notice: &N) -> Result<(), Fault>;
}

impl<N: Notice, T: Observe<N> + ?Sized> Observe<N> for Arc<T> {
    fn kinds(&self) -> Option<Vec<SmolStr>> {
        (**self).kinds()
    }

    fn observe(&self, notice: &N) -> Result<(), Fault> {
        (**self).observe(notice)
    }
}
