//! A model call's failure as facts: what a policy decides on, and what the log keeps.

use serde_json::Number;
use smol_str::SmolStr;

use crate::json::{DecodeError, Extra, record};

record! {
    /// Why a model call failed.
    LlmFailure {
        /// For people; never parsed.
        message: SmolStr = "message",
        /// For machines: a stable word (R-ERRC, R-DS-9).
        code: SmolStr = "code",
        /// The HTTP status, 100 to 599.
        status: Option<u64> = "status",
        /// How long the provider asks to wait, in milliseconds; finite and above zero.
        provider_retry_after_ms: Option<Number> = "providerRetryAfterMs",
        /// The provider's id of the request, for its support.
        request_id: Option<SmolStr> = "requestId",
    }
}

impl LlmFailure {
    /// A failure with a code and a message only.
    #[must_use]
    pub fn new(code: impl Into<SmolStr>, message: impl Into<SmolStr>) -> Self {
        Self {
            message: message.into(),
            code: code.into(),
            status: None,
            provider_retry_after_ms: None,
            request_id: None,
            extra: Extra::NONE,
        }
    }

    /// The wait the provider asked for, in milliseconds.
    #[must_use]
    pub fn retry_after_ms(&self) -> Option<f64> {
        self.provider_retry_after_ms.as_ref().and_then(Number::as_f64)
    }

    /// Checks the constraints of the fields (§2.4 of the behaviour rules); shapes alone are checked on decoding.
    ///
    /// # Errors
    /// [`DecodeError`] naming the first field outside its range.
    pub fn validate(&self) -> Result<(), DecodeError> {
        let fault = |field: &str, problem: &str| Err(DecodeError::refused(problem).in_field(field));
        if self.message.is_empty() {
            return fault("message", "must not be empty");
        }
        if self.code.is_empty() {
            return fault("code", "must not be empty");
        }
        if self.status.is_some_and(|status| !(100..=599).contains(&status)) {
            return fault("status", "must be from 100 to 599");
        }
        if self.provider_retry_after_ms.is_some()
            && !self
                .retry_after_ms()
                .is_some_and(|wait_ms| wait_ms.is_finite() && wait_ms > 0.0)
        {
            return fault("providerRetryAfterMs", "must be finite and above zero");
        }
        if self.request_id.as_ref().is_some_and(SmolStr::is_empty) {
            return fault("requestId", "must not be empty");
        }
        Ok(())
    }
}
