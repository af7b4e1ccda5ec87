//! Token counts of one model call.

use crate::json::record;

record! {
    /// What one call used. The input and cache buckets are disjoint; reasoning is part of the output already.
    TokenUsage {
        /// Input tokens that were neither read from nor written to a cache.
        input_tokens: u64 = "inputTokens",
        /// Output tokens, reasoning included.
        output_tokens: u64 = "outputTokens",
        /// Input tokens read from the provider's cache.
        cache_read_tokens: Option<u64> = "cacheReadTokens",
        /// Input tokens written to the provider's cache.
        cache_write_tokens: Option<u64> = "cacheWriteTokens",
        /// How many of the output tokens were reasoning. Never add this to anything.
        reasoning_tokens: Option<u64> = "reasoningTokens",
    }
}

impl TokenUsage {
    /// Everything the call used, each token once.
    #[must_use]
    pub fn total_tokens(&self) -> u64 {
        [self.cache_read_tokens, self.cache_write_tokens]
            .into_iter()
            .flatten()
            .fold(
                self.input_tokens.saturating_add(self.output_tokens),
                u64::saturating_add,
            )
    }
}
