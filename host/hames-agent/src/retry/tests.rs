//! Tests of the policy's arithmetic and refusals; under a loop it runs with the recorded cases.

use proptest::prelude::*;

use super::{RetryConfig, RetryConfigError};

#[test]
fn what_can_not_hold_is_refused() {
    let refused = |edit: fn(&mut RetryConfig)| {
        let mut config = RetryConfig::default();
        edit(&mut config);
        config.check().unwrap_err()
    };
    assert_eq!(RetryConfig::default().check(), Ok(()));
    assert!(matches!(
        refused(|config| config.initial_delay_ms = f64::NAN),
        RetryConfigError::Delay { .. }
    ));
    assert!(matches!(
        refused(|config| config.max_delay_ms = 1e12),
        RetryConfigError::Delay { .. }
    ));
    assert!(matches!(
        refused(|config| config.max_delay_ms = 1.0),
        RetryConfigError::Order { .. }
    ));
    assert_eq!(
        refused(|config| config.jitter_ratio = 1.5),
        RetryConfigError::Jitter(1.5)
    );
    assert_eq!(
        refused(|config| config.retryable_codes.clear()),
        RetryConfigError::NoCodes
    );
    assert_eq!(
        refused(|config| config.retryable_codes.push(" ".into())),
        RetryConfigError::BlankCode
    );
    let twice = refused(|config| config.retryable_codes.push("SERVER".into()));
    assert_eq!(twice, RetryConfigError::DuplicateCode("SERVER".into()));
}

proptest! {
    #[test]
    fn a_delay_is_never_below_nothing_nor_above_the_longest(
        number in 1_u32..,
        drawn in 0.0..=1.0,
        jitter in 0.0..=1.0,
        initial in 0.001..1e9_f64,
    ) {
        let config = RetryConfig {
            initial_delay_ms: initial,
            max_delay_ms: 2e9,
            jitter_ratio: jitter,
            ..RetryConfig::default()
        };
        let delay_ms = config.delay_ms(number, drawn);
        prop_assert!((0.0..=2e9).contains(&delay_ms), "{}", delay_ms);
    }
}
