//! A store that lasts as long as the process: for tests and dry runs.

use std::collections::HashMap;
use std::sync::Arc;

use hames_types::header::SessionHeader;
use hames_types::id::SessionId;
use hames_types::port::store::{OpenedSession, StoreError, StoredSession, WriterEpoch};
use parking_lot::Mutex;

use crate::backend::{Backend, Batch};
use crate::home::Home;
use crate::lane::Threading;
use crate::transfer::{self, Form};

/// Sessions in memory.
pub type MemoryStore = Home<Memory>;

/// The memory behind a [`MemoryStore`].
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Shelf>>);

#[derive(Default)]
struct Shelf {
    sessions: HashMap<SessionId, (StoredSession, WriterEpoch)>,
    epochs: u64,
}

impl Shelf {
    fn next_epoch(&mut self) -> WriterEpoch {
        self.epochs += 1;
        WriterEpoch(self.epochs)
    }
}

impl MemoryStore {
    /// An empty one.
    ///
    /// # Errors
    /// None: memory needs no thread.
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::new(Memory::default(), Threading::Inline)
    }
}

impl Backend for Memory {
    fn twin(&self) -> Result<Self, StoreError> {
        Ok(self.clone())
    }

    fn create(&mut self, header: &SessionHeader) -> Result<WriterEpoch, StoreError> {
        let mut shelf = self.0.lock();
        if shelf.sessions.contains_key(&header.id) {
            return Err(StoreError::Exists(header.id.clone()));
        }
        Ok(shelf.next_epoch())
    }

    fn claim(&mut self, id: &SessionId) -> Result<OpenedSession, StoreError> {
        let mut shelf = self.0.lock();
        let raised = shelf.next_epoch();
        let (stored, epoch) = shelf
            .sessions
            .get_mut(id)
            .ok_or_else(|| StoreError::NotFound(id.clone()))?;
        *epoch = raised;
        Ok(OpenedSession {
            stored: stored.clone(),
            epoch: raised,
        })
    }

    fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        let id = &batch.header.id;
        let mut shelf = self.0.lock();
        if let Some((stored, epoch)) = shelf.sessions.get_mut(id) {
            batch.follows(epoch.0, stored.events.len() as u64)?;
            stored.events.extend(batch.events.iter().cloned());
            return Ok(());
        }
        if batch.expected.get() != 0 {
            return Err(StoreError::NotFound(id.clone()));
        }
        let stored = StoredSession {
            header: batch.header.clone(),
            events: batch.events.to_vec(),
        };
        shelf.sessions.insert(id.clone(), (stored, batch.epoch));
        Ok(())
    }

    fn load(&mut self, id: &SessionId) -> Result<StoredSession, StoreError> {
        let shelf = self.0.lock();
        let (stored, _) = shelf
            .sessions
            .get(id)
            .ok_or_else(|| StoreError::NotFound(id.clone()))?;
        Ok(stored.clone())
    }

    fn list(&mut self) -> Result<Vec<SessionHeader>, StoreError> {
        let shelf = self.0.lock();
        Ok(shelf
            .sessions
            .values()
            .map(|(stored, _)| stored.header.clone())
            .collect())
    }

    fn delete(&mut self, id: &SessionId) -> Result<(), StoreError> {
        match self.0.lock().sessions.remove(id) {
            Some(_) => Ok(()),
            None => Err(StoreError::NotFound(id.clone())),
        }
    }

    fn import(&mut self, log: &[u8]) -> Result<SessionHeader, StoreError> {
        let log = transfer::read(log)?;
        let header = log.header.clone();
        let epoch = self.create(&header)?;
        let stored = StoredSession {
            header: log.header,
            events: log.events,
        };
        let mut shelf = self.0.lock();
        shelf.sessions.insert(header.id.clone(), (stored, epoch));
        Ok(header)
    }

    fn export(&mut self, id: &SessionId, form: Form) -> Result<Vec<u8>, StoreError> {
        transfer::write(&self.load(id)?, form)
    }
}
