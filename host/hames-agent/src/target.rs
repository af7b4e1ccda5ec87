//! A model that can be switched while an agent lives, without a step that sees two of them (R-LIFE-15).

use std::sync::Arc;

use async_trait::async_trait;
use hames_log::Place;
use hames_types::fault::Fault;
use hames_types::id::{ModelId, ProviderId};
use hames_types::port::listener::{Decide, Next};
use hames_types::port::seam::{CallRequest, RequestAsk};
use hames_types::request::CallConfig;
use parking_lot::Mutex;

use crate::agent::Agent;

/// Which model an agent asks, changeable at any time.
///
/// A step takes the pair when its prompt is assembled: the prompt's variables and the request name the same model,
/// and a switch in the middle of a step concerns the next one.
pub struct ModelTarget {
    pairs: Mutex<Pairs>,
}

struct Pairs {
    selected: (ProviderId, ModelId),
    taken: (ProviderId, ModelId),
}

impl ModelTarget {
    /// Installs a target in an agent's scope; it ends with the agent. Best done in the agent's set-up.
    ///
    /// # Errors
    /// If the scope has ended, or has prompt variables `provider` or `model` of its own already.
    pub fn install(agent: &Agent, provider: ProviderId, model: ModelId) -> Result<Arc<Self>, Fault> {
        let pair = (provider, model);
        let target = Arc::new(Self {
            pairs: Mutex::new(Pairs {
                selected: pair.clone(),
                taken: pair,
            }),
        });
        let (scope, services) = (agent.scope(), &agent.services);
        let (taker, reader) = (Arc::clone(&target), Arc::clone(&target));
        // The first of the two takes the pair, the second reads what was taken.
        services.prompts.variable(Some(scope), "provider", move |_| {
            Ok(Some(taker.take().as_str().into()))
        })?;
        services.prompts.variable(Some(scope), "model", move |_| {
            Ok(Some(reader.pairs.lock().taken.1.as_str().into()))
        })?;
        services
            .listeners
            .add::<CallRequest>(Some(scope.key()), Place::First, Arc::clone(&target) as _);
        Ok(target)
    }

    /// Switches the model, from the next step on.
    pub fn select(&self, provider: ProviderId, model: ModelId) {
        self.pairs.lock().selected = (provider, model);
    }

    /// What is selected now.
    #[must_use]
    pub fn selected(&self) -> (ProviderId, ModelId) {
        self.pairs.lock().selected.clone()
    }

    fn take(&self) -> ProviderId {
        let mut pairs = self.pairs.lock();
        pairs.taken = pairs.selected.clone();
        pairs.taken.0.clone()
    }
}

#[async_trait]
impl Decide<CallRequest> for ModelTarget {
    async fn decide(&self, ask: &RequestAsk, next: Next<'_, CallRequest>) -> Result<CallConfig, Fault> {
        let mut config = next.run().await?;
        // Whoever inside chose a model on purpose has the last word.
        if config.provider == ask.config.provider && config.model == ask.config.model {
            (config.provider, config.model) = self.pairs.lock().taken.clone();
        }
        Ok(config)
    }
}
