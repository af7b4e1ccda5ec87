//! On which thread does a store work? On one of its own behind a bounded queue, or on the caller's.

use std::sync::Arc;

use hames_types::port::store::StoreError;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

/// How many calls may wait for the thread; further ones wait for a place.
const QUEUE: usize = 64;

type Job<B> = Box<dyn FnOnce(&mut B) + Send>;

/// Where a store's blocking work runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Threading {
    /// On threads of the store's own: one that writes and one that reads.
    #[default]
    Own,
    /// On the caller's, before the call returns: for virtual time, which would otherwise jump over a write.
    Inline,
}

/// A queue of work on one backend, done in the order in which it came.
pub(crate) enum Lane<B> {
    Inline(Arc<Mutex<Option<B>>>),
    Thread(Thread<B>),
}

pub(crate) struct Thread<B> {
    jobs: Mutex<Option<mpsc::Sender<Job<B>>>>,
    ended: Mutex<Option<oneshot::Receiver<()>>>,
}

impl<B: Send + 'static> Lane<B> {
    pub(crate) fn inline(backend: B) -> Self {
        Self::Inline(Arc::new(Mutex::new(Some(backend))))
    }

    /// Starts the thread. It ends when the lane is closed or dropped and the queue is worked off.
    pub(crate) fn thread(name: &str, mut backend: B) -> Result<Self, std::io::Error> {
        let (jobs, mut queue) = mpsc::channel::<Job<B>>(QUEUE);
        let (end, ended) = oneshot::channel::<()>();
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            while let Some(job) = queue.blocking_recv() {
                job(&mut backend);
            }
            drop(backend);
            drop(end);
        })?;
        Ok(Self::Thread(Thread {
            jobs: Mutex::new(Some(jobs)),
            ended: Mutex::new(Some(ended)),
        }))
    }

    /// Does `work` and gives what came of it. Dropped while waiting: the work may still be done.
    pub(crate) async fn run<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        F: FnOnce(&mut B) -> Result<T, StoreError> + Send + 'static,
        T: Send + 'static,
    {
        match self {
            Self::Inline(backend) => match &mut *backend.lock() {
                Some(backend) => work(backend),
                None => Err(StoreError::Closed),
            },
            Self::Thread(thread) => {
                let jobs = thread.jobs.lock().clone().ok_or(StoreError::Closed)?;
                let (answer, answered) = oneshot::channel();
                let job: Job<B> = Box::new(move |backend| {
                    // Nobody may be waiting any more; the work counts all the same.
                    let _unheard = answer.send(work(backend));
                });
                jobs.send(job).await.map_err(|_closed| StoreError::Closed)?;
                answered.await.unwrap_or(Err(StoreError::Closed))
            }
        }
    }

    /// Works off what is queued, then lets go of the backend. Later work is refused.
    pub(crate) async fn close(&self) {
        match self {
            Self::Inline(backend) => drop(backend.lock().take()),
            Self::Thread(thread) => {
                drop(thread.jobs.lock().take());
                let ended = thread.ended.lock().take();
                if let Some(ended) = ended {
                    // The sender is dropped, never used: an error is the end.
                    let _ended = ended.await;
                }
            }
        }
    }
}
