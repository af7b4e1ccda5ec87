//! Where does hames differ from the recorded reference on purpose?
//!
//! A rule is a decision, an id and a sentence. Whether a case falls under it is decided by the section's runner from
//! what the case uses, never from its name, so that it holds for data nobody has seen yet.

/// A decision to differ.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its id, as the report counts it.
    pub id: &'static str,
    /// What hames does instead.
    pub what: &'static str,
}

/// Live sessions keep the order of turns (architecture: the log's invariants).
pub static ENCLOSURE: Rule = Rule {
    id: "D-11",
    what: "a live session refuses an event outside a turn",
};

/// Live sessions know who answered.
pub static LIVE_ROUTE: Rule = Rule {
    id: "A-5",
    what: "a live session refuses a header or an answer without provider and model",
};
